//! The publication date of web pages against gold dates: `gold.jsonl` with `html`, `url` and `date`.
//!
//! A page is right when the day is the gold one. F as in htmldate's `tests/evaluation.py`: a wrong
//! date is a false positive, no date a false negative. The floor is the date in the page's address,
//! else the first ISO date in its source.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ibid_extract::{ExtractLimits, read_bytes};

use crate::extract::{for_peers, gold, page, text};
use crate::generated::{self, Gold};
use crate::overlap::Score;
use crate::peers;
use crate::program::flag;
use crate::{Fault, Measured, Outcome};

/// Right days asked of the set.
const ASKED: f64 = 0.93;

/// Runs `evals dates [--python PATH] [--pages] [DIR]`; `--pages` also prints the pages that are wrong.
pub(crate) fn run(args: &[String]) -> Outcome {
    let python = flag(args, "--python");
    let mut named =
        args.iter().filter(|arg| !arg.starts_with("--") && Some(arg.as_str()) != python);
    let named = named.next().map(PathBuf::from);
    let dir = named.unwrap_or_else(|| crate::sets::shared("dates-htmldate/dev"));
    let (pages, _) = measure(&dir, python, args.iter().any(|arg| arg == "--pages"))?;
    Ok(Measured::new(pages, "pages with a date"))
}

/// Generated pages, each of which says its day.
pub(crate) fn small(_: &[String]) -> Outcome {
    let dir = tempfile::tempdir()?;
    generated::pages(dir.path(), &Gold::Words)?;
    match measure(dir.path(), None, false)? {
        (pages, right) if pages == right => Ok(Measured::new(pages, "pages with a date")),
        (pages, right) => Err(format!("{right} of {pages} days are right").into()),
    }
}

/// Prints the table; how many pages have a date, and of how many we found it.
fn measure(dir: &Path, python: Option<&str>, pages: bool) -> Result<(usize, usize), Fault> {
    let rows: Vec<_> = gold(dir)?.into_iter().filter(|value| wanted(value).is_some()).collect();
    let want: Vec<&str> = rows.iter().filter_map(wanted).collect();
    let (mut ours, mut floor, mut seconds) = (Vec::new(), Vec::new(), 0.0);
    let mut sources: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let mut wrong = String::new();
    for (row, want) in rows.iter().zip(&want) {
        let (bytes, origin) = page(dir, row)?.unwrap_or_default();
        let address = row["url"].as_str().unwrap_or_default();
        let begun = Instant::now();
        let before = peers::processor_seconds(begun);
        let draft = read_bytes(&bytes, &origin, &ExtractLimits::default()).unwrap_or_default();
        seconds += peers::processor_seconds(begun) - before;
        let said = draft.date.unwrap_or_default();
        if let Some(source) = draft.date_source {
            let entry = sources.entry(source).or_default();
            entry.0 += u32::from(said == *want);
            entry.1 += 1;
        }
        if said != *want {
            let _ = writeln!(wrong, "  {want} is {said:10} {address}");
        }
        ours.push(said);
        let source = String::from_utf8_lossy(&bytes);
        let found = iso_date(&address.replace('/', "-")).or_else(|| iso_date(&source));
        floor.push(found.unwrap_or_default());
    }
    let right = ours.iter().zip(&want).filter(|(a, b)| a == b).count();
    let mut lines = vec![
        ("ibid".to_owned(), ours, seconds),
        ("address or first in source".to_owned(), floor, 0.0),
    ];
    if let Some(python) = python {
        for (name, peer) in peers::ask(python, "dates", &for_peers(dir, &rows))? {
            lines.push((name, peer.said, peer.seconds));
        }
    }
    let mut out = table(&want, &lines);
    for (source, (right, all)) in sources {
        let _ = writeln!(out, "  from {source}: {right} of {all} right");
    }
    if pages {
        out.push_str(&wrong);
    }
    if python.is_none() {
        let _ = writeln!(out, "{}", peers::HOW);
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok((want.len(), right))
}

fn table(want: &[&str], lines: &[(String, Vec<String>, f64)]) -> String {
    let mut out = format!("{} pages with a date\n", want.len());
    let _ = writeln!(out, "  {:28}{:>7} {:>7} {:>7} {:>9}", "", "right", "F", "given", "pages/s");
    let _ = writeln!(out, "  {:28}{ASKED:>7.3}", "asked");
    for (name, said, seconds) in lines {
        let right = said.iter().zip(want).filter(|(a, b)| a == b).count() as f64;
        let given = said.iter().filter(|it| !it.is_empty()).count() as f64;
        let all = want.len() as f64;
        let f = Score::of(right, given - right, all - given).f1;
        let _ = write!(out, "  {name:28}{:>7.3} {f:>7.3} {given:>7}", right / all);
        if *seconds > 0.0 {
            let _ = write!(out, " {:>9.1}", all / seconds);
        }
        let _ = writeln!(out);
    }
    out
}

/// The gold day of a row that has one.
fn wanted(row: &serde_json::Value) -> Option<&str> {
    let said = text(row, "date").or_else(|| text(row, "publish_date"))?;
    said.get(..10)
}

/// The first `YYYY-MM-DD` of the years 1995 to 2029.
fn iso_date(text: &str) -> Option<String> {
    let fits = |it: &[u8]| {
        it.iter().enumerate().all(|(nth, byte)| match nth {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        }) && (b"1995"..=b"2029").contains(&&[it[0], it[1], it[2], it[3]])
    };
    let found = text.as_bytes().windows(10).find(|window| fits(window))?;
    Some(String::from_utf8_lossy(found).into_owned())
}
