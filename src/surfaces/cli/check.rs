//! `ibid check FILE`: the claims of a text held against what it cites.
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use unicode_width::UnicodeWidthStr as _;

use super::args::Check;
use super::ask::folders;
use super::console::{Console, Paint};
use super::exit::{Done, Exit};
use super::follow::columns_of;
use super::progress::clip;
use super::signals::unless_stopped;
use super::{indexing, with_app};
use crate::app::audit::{Heard, Reference, Ruled, Ruling, Sought};
use crate::app::spending::SpendGrant;
use crate::app::{Audit, NamedFiles};
use crate::config::{Loaded, Surroundings};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::audit::{Counts, json};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::counted;

/// A text longer than this is no report.
const MOST: u64 = 1 << 20;
/// Bytes that tell a text from other files.
const HEAD: usize = 8192;

/// `ibid check FILE`.
pub(super) fn check(
    args: &Check,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let shown = args.file.as_deref().unwrap_or(Path::new("-"));
    let path = surroundings.cwd.join(shown);
    let text = text(shown, &path)?;
    let base = match (shown.as_os_str() == "-", path.parent()) {
        (false, Some(parent)) => parent.to_owned(),
        _ => surroundings.cwd.clone(),
    };
    let folders = folders(&args.folder, loaded, surroundings)?;
    let folders: Vec<PathBuf> = folders.into_iter().map(PathBuf::from).collect();
    with_app(loaded, async |app| {
        let heard = indexing::told(console);
        let files = NamedFiles::Below(&base);
        let grant = SpendGrant::of_operator(&loaded.settings.budget);
        let working = async {
            let checked = app.check(text, files, &folders, args.web, &heard, grant);
            Ok(checked.await?)
        };
        let audit = unless_stopped(console, working).await?;
        drop(heard);
        deliver(&audit, args, shown, surroundings, console)
    })
}

/// Prints or writes the audit, and says how it ended.
fn deliver(
    audit: &Audit,
    args: &Check,
    shown: &Path,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let counts = Counts::of(audit);
    let out = |paint: Paint, width: usize| match args.json {
        true => format!("{}\n", json(&shown.to_string_lossy(), audit)),
        false => page(audit, &counts, paint, width, console.verbose),
    };
    match &args.output {
        None => {
            let width = match console.read {
                true => columns_of(std::io::stdout()),
                false => WIDE,
            };
            console.print(&out(console.out, width))?;
        }
        Some(to) => {
            let path = surroundings.cwd.join(to);
            std::fs::write(&path, out(Paint(false), WIDE)).map_err(|fault| {
                Error::new(Kind::Setup, format!("writing -o {}", to.display()))
                    .because(fault)
                    .hint("name a file that you may write")
            })?;
            if !console.quiet {
                console.tell(&format!("{} → {}", counts.line(), to.display()));
            }
        }
    }
    tell(audit, console);
    if !args.strict || counts.holds() {
        return Ok(Exit::Delivered);
    }
    console.tell(&format!(
        "{} --strict: not every claim is supported by a source that was found",
        console.err.red("✗")
    ));
    Ok(Exit::Strict)
}

/// What a person should know of how it went.
fn tell(audit: &Audit, console: Console) {
    if let Some(fault) = &audit.fault {
        console.tell(&format!(
            "{} the model was not heard to the end, there the words decide: {}",
            console.err.yellow("warning:"),
            line(fault)
        ));
    }
    if console.quiet {
        return;
    }
    if let Some(model) = audit.model.as_ref().filter(|_| audit.usage.model_calls > 0) {
        let money = audit
            .usage
            .usd
            .map_or_else(String::new, |it| format!(", ${it:.2}"));
        console.tell(&format!(
            "decided by {}: {}{money}",
            line(model),
            counted(audit.usage.model_calls, "call")
        ));
    }
    let missing = audit
        .sources
        .iter()
        .any(|it| matches!(it.1, Sought::Nowhere(_)) && !it.0.unexplained());
    if missing {
        console.tell(&format!(
            "{} put the pages that were not found into a folder and name it with --folder DIR",
            console.err.on("1;36", "hint:")
        ));
    }
}

/// The words of the text to be checked.
fn text(shown: &Path, path: &Path) -> Result<String> {
    let doing = || format!("reading FILE {}", shown.display());
    let wrong = |what: &str, hint: &str| {
        Err(Error::new(Kind::Usage, doing())
            .because(what.to_owned())
            .hint(hint))
    };
    let mut bytes = Vec::new();
    let read = if shown.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(MOST + 1)
            .read_to_end(&mut bytes)
    } else if path.is_dir() {
        return wrong(
            "this is a folder",
            "name one Markdown file; folders of sources go with --folder",
        );
    } else {
        std::fs::File::open(path).and_then(|it| it.take(MOST + 1).read_to_end(&mut bytes))
    };
    if let Err(fault) = read {
        return Err(Error::new(Kind::Usage, doing())
            .because(fault)
            .hint("name a Markdown file that you may read, or `-` for stdin"));
    }
    if bytes.len() as u64 > MOST {
        return wrong(
            &format!("it is longer than {} MiB", MOST >> 20),
            "check its parts one by one",
        );
    }
    const OTHERS: &str =
        "name a Markdown file in UTF-8; `ibid read FILE` makes Markdown of other documents";
    if bytes[..bytes.len().min(HEAD)].contains(&0) || bytes.starts_with(b"%PDF-") {
        return wrong("this is no text", OTHERS);
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return wrong("this is no UTF-8 text", OTHERS);
    };
    if text.trim().is_empty() {
        return wrong("it is empty", "name a Markdown text with citations");
    }
    Ok(text)
}

/// Columns of a table in a file.
const WIDE: usize = 120;
/// Columns of the number, the verdict and the source.
const FIXED: usize = 4 + 13 + 7;

/// The table, its sum, and with `all` what stands beside the claims.
fn page(audit: &Audit, counts: &Counts, paint: Paint, width: usize, all: bool) -> String {
    let mut out = String::new();
    if audit.claims.is_empty() {
        out += "no sentence of it has a citation\n";
    } else {
        table(&mut out, audit, paint, width);
    }
    unfound(&mut out, audit, paint, width);
    if all {
        aside(&mut out, audit, paint, width);
    }
    let _ = writeln!(out, "{}", paint.bold(&counts.line()));
    let remarks = counts.remarks();
    if !remarks.is_empty() {
        let more = if all || audit.uncited.is_empty() {
            ""
        } else {
            " (-v lists them)"
        };
        let _ = writeln!(
            out,
            "{}",
            paint.dim(&format!("{}{more}", remarks.join(" · ")))
        );
    }
    out
}

fn table(out: &mut String, audit: &Audit, paint: Paint, width: usize) {
    let mut set = Set { out, paint, width };
    set.row(
        ["#", "verdict", "source", "claim", "what the source says"],
        None,
    );
    for (nth, it) in audit.claims.iter().enumerate() {
        for (at, heard) in shown(it, it.deciding()).into_iter().enumerate() {
            let source = audit.sources.get(heard.source);
            let source = source.map_or_else(String::new, |it| format!("[{}]", it.0.n));
            let n = (nth + 1).to_string();
            let (n, claim) = match at {
                0 => (n.as_str(), it.text.as_str()),
                _ => ("", ""),
            };
            let ruling = heard.held.ruling;
            set.row(
                [n, ruling.word(), &source, claim, &says(heard)],
                Some(ruling),
            );
        }
    }
}

/// A table being set: claim and source side by side where there is room, else one below the other.
struct Set<'a> {
    out: &'a mut String,
    paint: Paint,
    width: usize,
}

impl Set<'_> {
    fn row(&mut self, cells: [&str; 5], ruling: Option<Ruling>) {
        let [n, verdict, source, claim, said] = cells;
        let verdict = padded(verdict, 12);
        let head = match ruling {
            Some(it) => format!("{n:>3} {} {source:<6}", painted(it, &verdict, self.paint)),
            None => self.paint.dim(&format!("{n:>3} {verdict} {source:<6}")),
        };
        let quiet = |text: &str| match ruling {
            Some(_) => text.to_owned(),
            None => self.paint.dim(text),
        };
        let room = self.width.clamp(60, 160) - FIXED;
        let lines = if self.width >= WIDE.min(100) {
            let half = room / 2;
            let said = clip(said, room - half - 1);
            format!(
                "{head} {}",
                quiet(format!("{} {said}", padded(claim, half)).trim_end())
            )
        } else {
            let claim = clip(&line(claim), room);
            let said = self.paint.dim(&clip(said, room));
            let below = format!("{:FIXED$}{said}", "");
            match claim.is_empty() {
                true => format!("{head} {said}"),
                false => format!("{head} {}\n{}", quiet(&claim), below.trim_end()),
            }
        };
        let _ = writeln!(self.out, "{}", lines.trim_end());
    }
}

/// What decides, then every source that says otherwise.
fn shown<'a>(claim: &'a Ruled, deciding: Option<&'a Heard>) -> Vec<&'a Heard> {
    let mut out: Vec<&Heard> = deciding.into_iter().collect();
    for it in &claim.heard {
        let known = out.iter().any(|had| had.source == it.source);
        if !known && it.held.ruling == Ruling::Contradicted {
            out.push(it);
        }
    }
    out
}

/// The words of the source, else why there are none.
fn says(heard: &Heard) -> String {
    match (&heard.held.quote, &heard.reason) {
        (Some(quote), _) => format!("“{}”", line(&quote.text)),
        (None, Some(why)) => line(why),
        (None, None) => String::new(),
    }
}

fn painted(ruling: Ruling, text: &str, paint: Paint) -> String {
    match ruling {
        Ruling::Supported => paint.green(text),
        Ruling::Partly => paint.yellow(text),
        Ruling::Contradicted => paint.magenta(text),
        Ruling::Unreadable | Ruling::Unsupported => paint.red(text),
    }
}

/// `text` in exactly `columns`.
fn padded(text: &str, columns: usize) -> String {
    let text = clip(&line(text), columns);
    let gap = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(gap))
}

/// The sources that were not found, with the reason.
fn unfound(out: &mut String, audit: &Audit, paint: Paint, width: usize) {
    let mut lines = Vec::new();
    for (said, sought) in &audit.sources {
        if let Sought::Nowhere(why) = sought {
            let text = match name(said) {
                it if it.is_empty() => format!("[{}] {}", said.n, line(why)),
                it => format!("[{}] {it} — {}", said.n, line(why)),
            };
            lines.push(clip(&text, width.max(60)));
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "\n{}", paint.bold("Sources not found"));
        let _ = writeln!(out, "{}", lines.join("\n"));
    }
    out.push('\n');
}

/// A source as a person knows it.
fn name(it: &Reference) -> String {
    let said = it
        .address
        .as_deref()
        .or(it.path.as_deref())
        .or(it.title.as_deref());
    clip(&line(said.unwrap_or_default()), 56)
}

/// Sentences without a citation, and sources that nothing cites.
fn aside(out: &mut String, audit: &Audit, paint: Paint, width: usize) {
    let width = width.max(60);
    if !audit.uncited.is_empty() {
        let _ = writeln!(out, "{}", paint.bold("Without a citation"));
        for it in &audit.uncited {
            let text = format!("line {:<4} {}", it.line, line(&it.text));
            let _ = writeln!(out, "{}", clip(&text, width));
        }
        out.push('\n');
    }
    let idle: Vec<&Reference> = audit
        .sources
        .iter()
        .map(|it| &it.0)
        .filter(|it| it.listed && !it.cited)
        .collect();
    if !idle.is_empty() {
        let _ = writeln!(out, "{}", paint.bold("Listed and never cited"));
        for it in idle {
            let _ = writeln!(out, "{}", clip(&format!("[{}] {}", it.n, name(it)), width));
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::audit::{by_words, read};
    use crate::surfaces::cli::console::bare;

    #[test]
    fn the_table_fits_its_width_also_with_wide_letters() {
        let text = "屋上緑化は年間降水量の半分を保持すると報告されている [1](https://a.example/)。 \
            Roofs keep a great deal of the rain that falls on them in every year [2](https://b.example/).\n";
        let cited = read(text);
        let nowhere = Sought::Nowhere("not in the folder\u{1b}[31m".to_owned());
        let sought = cited.sources.iter().map(|_| nowhere.clone()).collect();
        let audit = by_words(cited, sought);
        let counts = Counts::of(&audit);
        for width in [60, 72, 79, 100, 132, 160] {
            let all = page(&audit, &counts, Paint(true), width, true);
            let plain = bare(&all);
            assert!(!plain.contains('\u{1b}'));
            let (table, _) = plain.split_once("Sources not found").unwrap();
            for it in table.lines() {
                assert!(it.width() <= width, "{width}: {it}");
            }
        }
    }
}
