//! `ibid check FILE`: checks the claims of a text against the sources it cites.
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use unicode_width::UnicodeWidthStr as _;

use crate::args::CheckArgs;
use crate::console::{Console, Palette, columns_of};
use crate::exit::{CommandResult, ExitStatus};
use crate::indexing;
use crate::progress::clip;
use crate::runtime::with_app;
use crate::signals::unless_stopped;
use crate::sources::all_folders;
use ibid::app::audit::{AuditVerdict, AuditedClaim, CitedSource, SourceLookup, SourceVerdict};
use ibid::app::spending::SpendGrant;
use ibid::app::{Audit, AuditTask, NamedFiles};
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::audit::{AuditCounts, to_json};
use ibid_report::escape::single_line;
use ibid_report::markdown::pluralize;

/// Maximum size of the text.
const MAX_BYTES: u64 = 1 << 20;
/// Bytes at the beginning of a file that are searched for signs of a binary format.
const HEAD_BYTES: usize = 8192;
/// Width of a table in a file, in columns.
const TABLE_COLUMNS: usize = 120;
/// Columns of the number, the verdict and the source.
const FIXED_COLUMNS: usize = 4 + 13 + 7;

/// `ibid check FILE`.
pub(super) fn check(
    args: &CheckArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let shown = args.file.as_deref().unwrap_or(Path::new("-"));
    let path = env.cwd.join(shown);
    let text = read_text(shown, &path)?;
    let base = match (shown.as_os_str() == "-", path.parent()) {
        (false, Some(parent)) => parent.to_owned(),
        _ => env.cwd.clone(),
    };
    let folders = all_folders(&args.folder, loaded, env)?;
    let folders: Vec<PathBuf> = folders.into_iter().map(PathBuf::from).collect();
    with_app(loaded, async |app| {
        let progress = indexing::progress_fn(console);
        let files = NamedFiles::Below(&base);
        let task = AuditTask { text, files, folders: &folders, web: args.web };
        let grant = SpendGrant::for_operator(&loaded.settings.budget);
        let work = async { Ok(app.check(task, &progress, grant).await?) };
        let audit = unless_stopped(console, work).await?;
        drop(progress);
        deliver(&audit, args, shown, env, console)
    })
}

/// Prints or writes the audit and returns the exit code.
fn deliver(
    audit: &Audit,
    args: &CheckArgs,
    shown: &Path,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let counts = AuditCounts::from_audit(audit);
    let render = |paint: Palette, width: usize| {
        if args.json {
            format!("{}\n", to_json(&shown.to_string_lossy(), audit))
        } else {
            page(audit, &counts, paint, width, console.verbose)
        }
    };
    match &args.output {
        None => {
            let width = if console.read { columns_of(std::io::stdout()) } else { TABLE_COLUMNS };
            console.print(&render(console.out, width))?;
        }
        Some(output) => {
            let path = env.cwd.join(output);
            std::fs::write(&path, render(Palette(false), TABLE_COLUMNS)).map_err(|fault| {
                Error::new(ErrorKind::Setup, format!("writing -o {}", output.display()))
                    .with_source(fault)
                    .with_hint("name a writable file")
            })?;
            if !console.quiet {
                console.eprint_line(&format!("{} → {}", counts.summary_line(), output.display()));
            }
        }
    }
    print_summary(audit, console);
    if !args.strict || counts.passes() {
        return Ok(ExitStatus::Delivered);
    }
    console.eprint_line(&format!(
        "{} --strict: a claim is not supported or a source was not found",
        console.err.red("✗")
    ));
    Ok(ExitStatus::Strict)
}

/// Prints warnings, the cost of the model, and a hint if sources were not found.
fn print_summary(audit: &Audit, console: Console) {
    if let Some(fault) = &audit.fault {
        console.eprint_line(&format!(
            "{} the model failed; claims it did not decide are decided without a model: {}",
            console.err.yellow("warning:"),
            single_line(fault)
        ));
    }
    if console.quiet {
        return;
    }
    if let Some(model) = audit.model.as_ref().filter(|_| audit.usage.model_calls > 0) {
        let money = audit.usage.usd.map_or_else(String::new, |usd| format!(", ${usd:.2}"));
        console.eprint_line(&format!(
            "decided by {}: {}{money}",
            single_line(model),
            pluralize(audit.usage.model_calls, "call")
        ));
    }
    let missing = audit.sources.iter().any(|(source, found)| {
        matches!(found, SourceLookup::NotFound(_)) && !source.is_unexplained()
    });
    if missing {
        console.eprint_line(&format!(
            "{} put the sources that were not found into a folder and name it with --folder DIR",
            console.err.style("1;36", "hint:")
        ));
    }
}

/// Reads the text to check.
fn read_text(shown: &Path, path: &Path) -> Result<String> {
    let doing = || format!("reading FILE {}", shown.display());
    let wrong = |what: &str, hint: &str| {
        Err(Error::new(ErrorKind::Usage, doing()).with_source(what.to_owned()).with_hint(hint))
    };
    let mut bytes = Vec::new();
    let read = if shown.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else if path.is_dir() {
        return wrong(
            "this is a folder",
            "name one Markdown file; name folders of sources with --folder",
        );
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    if let Err(fault) = read {
        return Err(Error::new(ErrorKind::Usage, doing())
            .with_source(fault)
            .with_hint("name a readable Markdown file, or `-` for stdin"));
    }
    if bytes.len() as u64 > MAX_BYTES {
        return wrong(
            &format!("it is longer than {} MiB", MAX_BYTES >> 20),
            "split it and check the parts",
        );
    }
    const OTHERS: &str =
        "name a Markdown file in UTF-8; `ibid read FILE` makes Markdown of other documents";
    if bytes[..bytes.len().min(HEAD_BYTES)].contains(&0) || bytes.starts_with(b"%PDF-") {
        return wrong("this is not a text file", OTHERS);
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return wrong("this is not UTF-8 text", OTHERS);
    };
    if text.trim().is_empty() {
        return wrong("it is empty", "name a Markdown text with citations");
    }
    Ok(text)
}

/// The table and the totals; with `all` also sentences without a citation and sources that are never cited.
fn page(audit: &Audit, counts: &AuditCounts, paint: Palette, width: usize, all: bool) -> String {
    let mut out = String::new();
    if audit.claims.is_empty() {
        out += "no sentence has a citation\n";
    } else {
        table(&mut out, audit, paint, width);
    }
    missing_sources(&mut out, audit, paint, width);
    if all {
        uncited_notes(&mut out, audit, paint, width);
    }
    let _ = writeln!(out, "{}", paint.bold(&counts.summary_line()));
    let remarks = counts.remarks();
    if !remarks.is_empty() {
        let more = if all || audit.uncited.is_empty() { "" } else { " (-v lists them)" };
        let _ = writeln!(out, "{}", paint.dim(&format!("{}{more}", remarks.join(" · "))));
    }
    out
}

fn table(out: &mut String, audit: &Audit, paint: Palette, width: usize) {
    let mut writer = TableWriter { out, paint, width };
    writer.row(["#", "verdict", "source", "claim", "what the source says"], None);
    for (nth, claim) in audit.claims.iter().enumerate() {
        for (at, verdict) in deciding_first(claim, claim.deciding_verdict()).into_iter().enumerate()
        {
            let source = audit.sources.get(verdict.source);
            let source = source.map_or_else(String::new, |(source, _)| format!("[{}]", source.n));
            let n = (nth + 1).to_string();
            let (n, text) = match at {
                0 => (n.as_str(), claim.text.as_str()),
                _ => ("", ""),
            };
            let result = verdict.check.verdict;
            writer.row([n, result.as_str(), &source, text, &source_text(verdict)], Some(result));
        }
    }
}

/// Writes a table: claim and source text side by side if there is room, else one below the other.
struct TableWriter<'a> {
    out: &'a mut String,
    paint: Palette,
    width: usize,
}

impl TableWriter<'_> {
    fn row(&mut self, cells: [&str; 5], result: Option<AuditVerdict>) {
        let [n, verdict, source, claim, quote] = cells;
        let verdict = padded(verdict, 12);
        let head = match result {
            Some(result) => {
                format!("{n:>3} {} {source:<6}", paint_verdict(result, &verdict, self.paint))
            }
            None => self.paint.dim(&format!("{n:>3} {verdict} {source:<6}")),
        };
        let dim_header = |text: &str| match result {
            Some(_) => text.to_owned(),
            None => self.paint.dim(text),
        };
        let room = self.width.clamp(60, 160) - FIXED_COLUMNS;
        let lines = if self.width >= TABLE_COLUMNS.min(100) {
            let half = room / 2;
            let quote = clip(quote, room - half - 1);
            format!("{head} {}", dim_header(format!("{} {quote}", padded(claim, half)).trim_end()))
        } else {
            let claim = clip(&single_line(claim), room);
            let quote = self.paint.dim(&clip(quote, room));
            let below = format!("{:FIXED_COLUMNS$}{quote}", "");
            if claim.is_empty() {
                format!("{head} {quote}")
            } else {
                format!("{head} {}\n{}", dim_header(&claim), below.trim_end())
            }
        };
        let _ = writeln!(self.out, "{}", lines.trim_end());
    }
}

/// The verdict that decides, then one per other source that contradicts the claim.
fn deciding_first<'a>(
    claim: &'a AuditedClaim,
    deciding: Option<&'a SourceVerdict>,
) -> Vec<&'a SourceVerdict> {
    let mut out: Vec<&SourceVerdict> = deciding.into_iter().collect();
    for verdict in &claim.source_verdicts {
        let known = out.iter().any(|earlier| earlier.source == verdict.source);
        if !known && verdict.check.verdict == AuditVerdict::Contradicted {
            out.push(verdict);
        }
    }
    out
}

/// The quote from the source, or why there is none.
fn source_text(verdict: &SourceVerdict) -> String {
    match (&verdict.check.quote, &verdict.reason) {
        (Some(quote), _) => format!("“{}”", single_line(&quote.text)),
        (None, Some(why)) => single_line(why),
        (None, None) => String::new(),
    }
}

fn paint_verdict(verdict: AuditVerdict, text: &str, paint: Palette) -> String {
    match verdict {
        AuditVerdict::Supported => paint.green(text),
        AuditVerdict::Partly => paint.yellow(text),
        AuditVerdict::Contradicted => paint.magenta(text),
        AuditVerdict::Unreadable | AuditVerdict::Unsupported => paint.red(text),
    }
}

/// `text`, clipped or filled to exactly `columns`.
fn padded(text: &str, columns: usize) -> String {
    let text = clip(&single_line(text), columns);
    let gap = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(gap))
}

/// Lists the sources that were not found, with the reason.
fn missing_sources(out: &mut String, audit: &Audit, paint: Palette, width: usize) {
    let mut lines = Vec::new();
    for (source, found) in &audit.sources {
        if let SourceLookup::NotFound(why) = found {
            let text = match source_name(source) {
                name if name.is_empty() => format!("[{}] {}", source.n, single_line(why)),
                name => format!("[{}] {name} — {}", source.n, single_line(why)),
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

/// The address, path or title of a source.
fn source_name(source: &CitedSource) -> String {
    let name = source.address.as_deref().or(source.path.as_deref()).or(source.title.as_deref());
    clip(&single_line(name.unwrap_or_default()), 56)
}

/// Lists sentences without a citation, and sources that are never cited.
fn uncited_notes(out: &mut String, audit: &Audit, paint: Palette, width: usize) {
    let width = width.max(60);
    if !audit.uncited.is_empty() {
        let _ = writeln!(out, "{}", paint.bold("Without a citation"));
        for sentence in &audit.uncited {
            let text = format!("line {:<4} {}", sentence.line, single_line(&sentence.text));
            let _ = writeln!(out, "{}", clip(&text, width));
        }
        out.push('\n');
    }
    let unused: Vec<&CitedSource> = audit
        .sources
        .iter()
        .map(|(source, _)| source)
        .filter(|source| source.listed && !source.cited)
        .collect();
    if !unused.is_empty() {
        let _ = writeln!(out, "{}", paint.bold("Listed and never cited"));
        for source in unused {
            let _ = writeln!(
                out,
                "{}",
                clip(&format!("[{}] {}", source.n, source_name(source)), width)
            );
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::strip_ansi;
    use ibid::app::audit::{audit_by_code, parse_citations};

    #[test]
    fn the_table_fits_its_width_also_with_wide_letters() {
        let text = "屋上緑化は年間降水量の半分を保持すると報告されている [1](https://a.example/)。 \
            Roofs keep a great deal of the rain that falls on them in every year [2](https://b.example/).\n";
        let cited = parse_citations(text);
        let nowhere = SourceLookup::NotFound("not in the folder\u{1b}[31m".to_owned());
        let sought = cited.sources.iter().map(|_| nowhere.clone()).collect();
        let audit = audit_by_code(cited, sought, None);
        let counts = AuditCounts::from_audit(&audit);
        for width in [60, 72, 79, 100, 132, 160] {
            let all = page(&audit, &counts, Palette(true), width, true);
            let plain = strip_ansi(&all);
            assert!(!plain.contains('\u{1b}'));
            let (table, _) = plain.split_once("Sources not found").unwrap();
            for it in table.lines() {
                assert!(it.width() <= width, "{width}: {it}");
            }
        }
    }
}
