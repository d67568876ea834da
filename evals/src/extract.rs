//! Main-content extraction against gold pages, beside the page's whole text and other extractors.
//!
//! Each DIR holds `gold.jsonl[.gz]`, one page a row: `html` (a path beside it, gzipped or not, or the
//! page itself) and what it is measured by, as its set defines it:
//! - `main_content`: word F1, multiset overlap of `\w+` in lower case, mean over pages (WCXB);
//! - `article_body`: F1 over shingles of four words, mean over pages (Zyte);
//! - `must_contain` and `must_not_contain`: a piece found is a true or a false positive (trafilatura);
//! - `canary` with `rendered_visible`: which hidden texts survive.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ibid_extract::{DocumentOrigin, ExtractLimits, decode_page, describe_blocks, read_bytes};
use serde_json::Value;

use crate::generated::{self, Gold};
use crate::overlap::{self, Score};
use crate::peers::{self, PeerResult};
use crate::program::flag;
use crate::{Fault, Measured, Outcome};

/// The sets measured where no DIR is given, and the figure asked of each.
const SETS: [(&str, f64); 3] =
    [("extract-wcxb/dev", 0.86), ("extract-zyte/dev", 0.97), ("extract-trafilatura/dev", 0.934)];

/// Runs `evals extract [--python PATH] [--pages] [DIR…]`; `--pages` also prints each page's score,
/// worst first.
pub(crate) fn run(args: &[String]) -> Outcome {
    let python = flag(args, "--python");
    let pages = args.iter().any(|arg| arg == "--pages");
    let named = args.iter().filter(|arg| !arg.starts_with("--") && Some(arg.as_str()) != python);
    let mut dirs: Vec<(PathBuf, Option<f64>)> = named.map(|it| (it.into(), None)).collect();
    if dirs.is_empty() {
        let here = SETS.map(|(name, asked)| (crate::sets::shared(name), Some(asked)));
        dirs.extend(here.into_iter().filter(|pair| pair.0.is_dir()));
    }
    if dirs.is_empty() {
        return Err(
            format!("none of {} is in the shared data", SETS.map(|set| set.0).join(", ")).into()
        );
    }
    let mut out = String::new();
    let mut read = 0;
    for (dir, asked) in dirs {
        read += measure(&dir, asked, python, pages, &mut out)?.0;
    }
    if python.is_none() {
        let _ = writeln!(out, "{}", peers::HOW);
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(Measured::new(read, "pages"))
}

/// Generated articles by the measure of each set; of such, nearly everything must be found.
pub(crate) fn small(_: &[String]) -> Outcome {
    let dir = tempfile::tempdir()?;
    let (mut out, mut read, mut least) = (String::new(), 0, 1.0_f64);
    for gold in [Gold::Words, Gold::Shingles, Gold::Pieces] {
        generated::pages(dir.path(), &gold)?;
        let (pages, figure) = measure(dir.path(), None, None, false, &mut out)?;
        read += pages;
        least = least.min(figure);
    }
    std::io::stdout().write_all(out.as_bytes())?;
    if least < 0.9 {
        Err(format!("the main text of plain articles is found to {least:.3} only").into())
    } else {
        Ok(Measured::new(read, "pages"))
    }
}

/// The rows of `DIR/gold.jsonl[.gz]`, `cases.jsonl` or `pages.jsonl`.
pub(crate) fn gold(dir: &Path) -> Result<Vec<Value>, String> {
    let names = ["gold.jsonl.gz", "gold.jsonl", "cases.jsonl", "pages.jsonl"];
    let path = names
        .iter()
        .map(|name| dir.join(name))
        .find(|it| it.exists())
        .ok_or_else(|| format!("no gold.jsonl in {}", dir.display()))?;
    let bytes = read(&path)?;
    String::from_utf8_lossy(&bytes)
        .lines()
        .map(|line| {
            serde_json::from_str(&line.replace(": NaN", ": null"))
                .map_err(|why| format!("{}: {why}", path.display()))
        })
        .collect()
}

/// The bytes of a file, unpacked where it is gzipped.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice())
            .read_to_end(&mut plain)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        return Ok(plain);
    }
    Ok(bytes)
}

/// The text of a field.
pub(crate) fn text<'a>(row: &'a Value, name: &str) -> Option<&'a str> {
    row.get(name).and_then(Value::as_str)
}

/// The page of a row: its bytes, and where they came from.
pub(crate) fn page(dir: &Path, row: &Value) -> Result<Option<(Vec<u8>, DocumentOrigin)>, String> {
    let Some(html) = text(row, "html") else {
        return Ok(None);
    };
    let bytes = if html.contains(['<', '\n', '{']) {
        html.as_bytes().to_vec()
    } else {
        read(&dir.join(html))?
    };
    let name = text(row, "url").filter(|text| text.contains("://"));
    let name = name.unwrap_or("https://page.example/");
    let origin = DocumentOrigin::from_url(name, Some("text/html".to_owned()));
    Ok(Some((bytes, origin)))
}

/// What the peers are to read: the file and the address of each page.
pub(crate) fn for_peers(dir: &Path, rows: &[Value]) -> Vec<(String, String)> {
    let place = |row: &Value| {
        let path = dir.join(text(row, "html").unwrap_or_default());
        let url = text(row, "url").unwrap_or_default().to_owned();
        (path.to_string_lossy().into_owned(), url)
    };
    rows.iter().map(place).collect()
}

/// Adds the table of a set to `out`; how many pages it has, and our figure by the set's own measure.
fn measure(
    dir: &Path,
    asked: Option<f64>,
    python: Option<&str>,
    pages: bool,
    out: &mut String,
) -> Result<(usize, f64), Fault> {
    let rows = gold(dir)?;
    if rows.is_empty() {
        return Err(format!("there are no pages in {}", dir.display()).into());
    }
    let (mut ours, mut floor) = (PeerResult::default(), PeerResult::default());
    for row in &rows {
        let (bytes, origin) = page(dir, row)?.unwrap_or_default();
        let begun = Instant::now();
        let before = peers::processor_seconds(begun);
        let draft = read_bytes(&bytes, &origin, &ExtractLimits::default()).unwrap_or_default();
        ours.seconds += peers::processor_seconds(begun) - before;
        let texts: Vec<&str> = draft.blocks.iter().map(|block| block.text.as_str()).collect();
        ours.said.push(texts.join("\n"));
        let all = describe_blocks(&decode_page(&bytes));
        let all: Vec<String> = all.into_iter().map(|pair| pair.0).collect();
        floor.said.push(all.join("\n"));
    }
    let mut lines = vec![
        ("ibid".to_owned(), tally(&rows, &ours), ours.seconds),
        ("all visible text".to_owned(), tally(&rows, &floor), 0.0),
    ];
    if let Some(python) = python.filter(|_| rows.iter().all(|row| row.get("canary").is_none())) {
        for (name, peer) in peers::ask(python, "text", &for_peers(dir, &rows))? {
            lines.push((name, tally(&rows, &peer), peer.seconds));
        }
    }
    table(dir, rows.len(), asked, &lines, out);
    if pages {
        each_page(&rows, &ours, out);
    }
    // A set of hidden texts has no figure.
    let figure = lines[0].1.figures().first().map_or(0.0, |figure| figure.1);
    Ok((rows.len(), figure))
}

/// What one extractor reached over all pages.
#[derive(Default)]
pub(crate) struct ExtractionCounts {
    /// By page type; `all` where pages have none.
    words: BTreeMap<String, Vec<f64>>,
    shingles: Vec<Score>,
    wanted: (u32, u32),
    unwanted: (u32, u32),
    hidden: BTreeMap<String, (u32, u32)>,
}

pub(crate) fn tally(rows: &[Value], peer: &PeerResult) -> ExtractionCounts {
    let mut tally = ExtractionCounts::default();
    for (row, said) in rows.iter().zip(&peer.said) {
        if let Some(want) = text(row, "main_content") {
            let kind = text(row, "page_type").unwrap_or("all").to_owned();
            let f1 = overlap::by_words(said, want).f1;
            tally.words.entry(kind).or_default().push(f1);
        }
        if let Some(want) = text(row, "article_body") {
            tally.shingles.push(overlap::by_shingles(said, want));
        }
        let folded = overlap::folded(said);
        let count = |name: &str| {
            let pieces = row.get(name).and_then(Value::as_array);
            let pieces = pieces.into_iter().flatten().filter_map(Value::as_str);
            overlap::pieces(&folded, pieces)
        };
        let add = |sum: &mut (u32, u32), it: (u32, u32)| *sum = (sum.0 + it.0, sum.1 + it.1);
        add(&mut tally.wanted, count("must_contain"));
        add(&mut tally.unwanted, count("must_not_contain"));
        if let Some(canary) = text(row, "canary") {
            let yes = |name: &str, value| row.get(name).and_then(Value::as_bool) == Some(value);
            let hidden = yes("rendered_visible", false) || yes("extract_must_drop", true);
            let kind = text(row, "placement").or(text(row, "technique"));
            let label = if hidden { "hidden" } else { "shown" };
            let entry = tally.hidden.entry(format!("{label} {}", kind.unwrap_or("?")));
            add(entry.or_default(), (u32::from(said.contains(canary)), 1));
        }
    }
    tally
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

impl ExtractionCounts {
    fn pieces(&self) -> Score {
        let (found, wanted) = self.wanted;
        Score::of(found.into(), self.unwanted.0.into(), (wanted - found).into())
    }

    /// The figures of one line, the set's own first.
    pub(crate) fn figures(&self) -> Vec<(String, f64)> {
        let mut all = Vec::new();
        if !self.words.is_empty() {
            let every: Vec<f64> = self.words.values().flatten().copied().collect();
            all.push(("word F1".to_owned(), mean(&every)));
        }
        if !self.shingles.is_empty() {
            let of = |it: fn(&Score) -> f64| self.shingles.iter().map(it).collect::<Vec<_>>();
            let said: Vec<f64> = self
                .shingles
                .iter()
                .filter(|shingle| shingle.f1 > 0.0 || shingle.precision > 0.0)
                .map(|shingle| shingle.precision)
                .collect();
            let (p, r) = (mean(&said), mean(&of(|it| it.recall)));
            all.push(("4-gram F1".to_owned(), mean(&of(|it| it.f1))));
            all.push(("of means".to_owned(), 2.0 * p * r / (p + r).max(1e-9)));
        }
        if self.wanted.1 > 0 {
            let score = self.pieces();
            all.push(("pieces F".to_owned(), score.f1));
            all.push(("P".to_owned(), score.precision));
            all.push(("R".to_owned(), score.recall));
        }
        for (kind, f1) in self.words.iter().filter(|_| self.words.len() > 1) {
            all.push((kind.chars().take(8).collect(), mean(f1)));
        }
        all
    }
}

/// One line an extractor: its figures, and the pages it reads in a second of processor time.
fn table(
    dir: &Path,
    pages: usize,
    asked: Option<f64>,
    lines: &[(String, ExtractionCounts, f64)],
    out: &mut String,
) {
    let _ = writeln!(out, "{}: {pages} pages", dir.display());
    let heads = lines.first().map(|line| line.1.figures()).unwrap_or_default();
    let _ = write!(out, "  {:24}{:>9}", "", "pages/s");
    for (head, _) in &heads {
        let _ = write!(out, " {head:>9}");
    }
    let _ = writeln!(out);
    if let Some(asked) = asked {
        let _ = writeln!(out, "  {:24}{:>9} {asked:>9.3}", "asked", "");
    }
    for (name, tally, seconds) in lines {
        let speed = pages as f64 / seconds;
        let speed = if speed.is_finite() { format!("{speed:.1}") } else { String::new() };
        let _ = write!(out, "  {name:24}{speed:>9}");
        for (_, figure) in tally.figures() {
            let _ = write!(out, " {figure:>9.4}");
        }
        let _ = writeln!(out);
    }
    let named = lines.iter().filter(|line| line.0.starts_with("trafilatura"));
    for ((_, _, ours), (_, _, theirs)) in lines.iter().zip(named) {
        let _ = writeln!(out, "  {:.1} times as fast as trafilatura on one core", theirs / ours);
    }
    for (kind, (left, all)) in lines.iter().take(1).flat_map(|line| &line.1.hidden) {
        let _ = writeln!(out, "  {kind}: {left}/{all} in the text");
    }
}

fn each_page(rows: &[Value], ours: &PeerResult, out: &mut String) {
    let mut lines = Vec::new();
    for (row, said) in rows.iter().zip(&ours.said) {
        let score = match (text(row, "main_content"), text(row, "article_body")) {
            (Some(want), _) => overlap::by_words(said, want),
            (_, Some(want)) => overlap::by_shingles(said, want),
            _ => continue,
        };
        let about = ["page_type", "id", "url"].map(|it| text(row, it).unwrap_or_default());
        let Score { precision, recall, f1 } = score;
        let line = format!("{f1:.3} P {precision:.3} R {recall:.3} {}", about.join(" "));
        lines.push((f1, line));
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (_, line) in lines {
        let _ = writeln!(out, "  {line}");
    }
}
