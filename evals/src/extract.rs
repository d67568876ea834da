//! Main-content extraction against gold pages.
//!
//! Each DIR holds `gold.jsonl[.gz]`, one page a row: `html` (a path beside it, gzipped or not, or the
//! page itself) and one of `main_content` or `article_body` (word-level F1, multiset overlap of
//! `\w+` in lower case, averaged over pages), and where given `must_contain` / `must_not_contain`
//! (share of pieces found / absent), `date` or `publish_date` (exact match), `canary` with
//! `rendered_visible` (share of hidden texts that survive).
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use ibid::adapters::documents::{Limits, Origin, read_bytes};
use serde_json::Value;

/// Runs `evals extract [--pages] DIR…`; `--pages` also prints each page's score, worst first.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let pages = args.iter().any(|it| it == "--pages");
    let mut out = String::new();
    for dir in args.iter().filter(|it| !it.starts_with("--")) {
        measure(Path::new(dir), pages, &mut out)?;
    }
    std::io::stdout()
        .write_all(out.as_bytes())
        .map_err(|it| it.to_string())
}

#[derive(Default)]
struct Sums {
    f1: Vec<(f64, String)>,
    by_type: BTreeMap<String, (f64, u32)>,
    must: (u32, u32),
    must_not: (u32, u32),
    dates: (u32, u32, u32),
    hidden: BTreeMap<String, (u32, u32)>,
    spent: Duration,
    pages: u32,
}

fn measure(dir: &Path, pages: bool, out: &mut String) -> Result<(), String> {
    let rows = gold(dir)?;
    let mut sums = Sums::default();
    for row in &rows {
        page(dir, row, &mut sums)?;
    }
    report(dir, sums, pages, out);
    Ok(())
}

/// The rows of `DIR/gold.jsonl[.gz]`, `cases.jsonl` or `pages.jsonl`.
fn gold(dir: &Path) -> Result<Vec<Value>, String> {
    let names = ["gold.jsonl.gz", "gold.jsonl", "cases.jsonl", "pages.jsonl"];
    let path = names
        .iter()
        .map(|it| dir.join(it))
        .find(|it| it.exists())
        .ok_or_else(|| format!("no gold.jsonl in {}", dir.display()))?;
    let bytes = read(&path)?;
    String::from_utf8_lossy(&bytes)
        .lines()
        .map(|it| {
            serde_json::from_str(&it.replace(": NaN", ": null"))
                .map_err(|why| format!("{}: {why}", path.display()))
        })
        .collect()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(path).map_err(|it| format!("{}: {it}", path.display()))?;
    if path.extension().is_some_and(|it| it == "gz") {
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice())
            .read_to_end(&mut plain)
            .map_err(|it| format!("{}: {it}", path.display()))?;
        return Ok(plain);
    }
    Ok(bytes)
}

fn page(dir: &Path, row: &Value, sums: &mut Sums) -> Result<(), String> {
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let Some(html) = text("html") else {
        return Ok(());
    };
    let bytes = if html.contains(['<', '\n', '{']) {
        html.as_bytes().to_vec()
    } else {
        read(&dir.join(html))?
    };
    let origin = Origin {
        name: text("url").unwrap_or("https://page.example/").to_owned(),
        content_type: Some("text/html".to_owned()),
    };
    let begun = Instant::now();
    let draft = read_bytes(&bytes, &origin, &Limits::default());
    sums.spent += begun.elapsed();
    sums.pages += 1;
    let draft = draft.unwrap_or_default();
    let found = draft
        .blocks
        .iter()
        .map(|it| it.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    if let Some(want) = text("main_content").or(text("article_body")) {
        let score = word_f1(&found, want);
        let kind = text("page_type").unwrap_or("all");
        let id = text("id").unwrap_or_default();
        sums.f1.push((
            score.0,
            format!(
                "{:.3} P {:.3} R {:.3} {kind} {id} {}",
                score.0, score.1, score.2, origin.name
            ),
        ));
        let entry = sums.by_type.entry(kind.to_owned()).or_default();
        entry.0 += score.0;
        entry.1 += 1;
    }
    let flat = squeeze(&found);
    for (name, tally) in [("must_contain", 0), ("must_not_contain", 1)] {
        for piece in row
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let present = flat.contains(&squeeze(piece.as_str().unwrap_or_default()));
            let slot = if tally == 0 {
                &mut sums.must
            } else {
                &mut sums.must_not
            };
            slot.0 += u32::from(present);
            slot.1 += 1;
        }
    }
    if let Some(want) = text("date")
        .or(text("publish_date"))
        .filter(|it| !it.is_empty())
    {
        sums.dates.2 += 1;
        sums.dates.1 += u32::from(draft.date.is_some());
        sums.dates.0 += u32::from(draft.date.as_deref() == want.get(..10));
    }
    if let Some(canary) = text("canary") {
        let visible = row.get("rendered_visible").and_then(Value::as_bool);
        let dropped = row.get("extract_must_drop").and_then(Value::as_bool);
        let hidden = visible == Some(false) || dropped == Some(true);
        let kind = text("placement").or(text("technique")).unwrap_or("?");
        let label = format!("{}{kind}", if hidden { "hidden " } else { "shown " });
        let entry = sums.hidden.entry(label).or_default();
        entry.0 += u32::from(found.contains(canary));
        entry.1 += 1;
    }
    Ok(())
}

fn squeeze(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Word-level F1, precision and recall.
fn word_f1(found: &str, want: &str) -> (f64, f64, f64) {
    let count = |text: &str| {
        let mut bag: HashMap<String, u32> = HashMap::new();
        for word in text
            .to_lowercase()
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|it| !it.is_empty())
        {
            *bag.entry(word.to_owned()).or_default() += 1;
        }
        bag
    };
    let (found, want) = (count(found), count(want));
    let both: u32 = found
        .iter()
        .map(|(word, n)| (*n).min(want.get(word).copied().unwrap_or(0)))
        .sum();
    let (n, m) = (found.values().sum::<u32>(), want.values().sum::<u32>());
    if both == 0 {
        return (0.0, 0.0, 0.0);
    }
    let (p, r) = (
        f64::from(both) / f64::from(n),
        f64::from(both) / f64::from(m),
    );
    (2.0 * p * r / (p + r), p, r)
}

fn report(dir: &Path, mut sums: Sums, pages: bool, out: &mut String) {
    let _ = writeln!(out, "{}: {} pages", dir.display(), sums.pages);
    if !sums.f1.is_empty() {
        let mean = sums.f1.iter().map(|it| it.0).sum::<f64>() / sums.f1.len() as f64;
        let _ = writeln!(out, "  word F1 {mean:.4}");
        for (kind, (sum, n)) in &sums.by_type {
            let _ = writeln!(out, "    {kind:14} {:.3} ({n})", sum / f64::from(*n));
        }
    }
    if sums.must.1 > 0 {
        let (tp, wanted) = (f64::from(sums.must.0), f64::from(sums.must.1));
        let fp = f64::from(sums.must_not.0);
        let f = 2.0 * tp / (tp + fp + wanted);
        let _ = writeln!(
            out,
            "  pieces: {}/{} found, {}/{} unwanted present, F {f:.3}",
            sums.must.0, sums.must.1, sums.must_not.0, sums.must_not.1
        );
    }
    if sums.dates.2 > 0 {
        let _ = writeln!(
            out,
            "  dates: {}/{} right, {} given",
            sums.dates.0, sums.dates.2, sums.dates.1
        );
    }
    for (kind, (left, all)) in &sums.hidden {
        let _ = writeln!(out, "  {kind}: {left}/{all} in the text");
    }
    let seconds = sums.spent.as_secs_f64();
    let _ = writeln!(
        out,
        "  {:.1} pages/s",
        f64::from(sums.pages) / seconds.max(1e-9)
    );
    if pages {
        sums.f1.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, line) in sums.f1 {
            let _ = writeln!(out, "  {line}");
        }
    }
}
