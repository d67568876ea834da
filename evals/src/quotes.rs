//! The independent check: is every quote, in every report, exactly what stands in the stored page?
//!
//! It shares no code with the program. It reads the final object of each run, opens the store file
//! itself, cuts the page's text at the code points the citation gives and compares. Where the
//! original document is plain text or JSON lines, it also looks for the quote's letters and digits there,
//! so that the stored page itself is not just taken on trust.
//!
//! `evals quotes [--set NAME] [--limit N] [--ibid PATH]`
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::program::{Home, binary, flag, number, with};
use super::sets::{self, Set};
use super::{Fault, Measured, Outcome};

#[derive(Default)]
struct QuoteCounts {
    runs: usize,
    answered: usize,
    unanswered: usize,
    quotes: usize,
    exact: usize,
    traceable: usize,
    traced: usize,
    faults: Vec<String>,
}

/// Asks the questions of every set and checks every quote.
pub(crate) fn run(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let limit = number(args, "--limit", 50)?;
    let sets = match flag(args, "--set") {
        Some(name) => vec![sets::one(name)?],
        None => sets::all()?,
    };
    let mut whole = QuoteCounts::default();
    for set in &sets {
        let one = check(set, limit, &binary)?;
        println!("{}", line(set.name, &one));
        whole.runs += one.runs;
        whole.answered += one.answered;
        whole.unanswered += one.unanswered;
        whole.quotes += one.quotes;
        whole.exact += one.exact;
        whole.traceable += one.traceable;
        whole.traced += one.traced;
        whole.faults.extend(one.faults);
        if one.quotes == 0 {
            whole.faults.push(format!("{}: no quote was checked", set.name));
        }
    }
    println!("{}", line("all", &whole));
    for fault in &whole.faults {
        println!("  {fault}");
    }
    if whole.faults.is_empty() {
        Ok(Measured::new(whole.quotes, "quotes"))
    } else {
        Err(format!("{} faults", whole.faults.len()).into())
    }
}

/// Two questions about the sample library.
pub(crate) fn small(args: &[String]) -> Outcome {
    run(&with(args, &["--set", "library", "--limit", "2"]))
}

fn line(name: &str, it: &QuoteCounts) -> String {
    format!(
        "{name:9} {} runs ({} answered, {} without an answer) · {}/{} quotes exact in the stored page · {}/{} found in the original file",
        it.runs, it.answered, it.unanswered, it.exact, it.quotes, it.traced, it.traceable
    )
}

fn check(set: &Set, limit: usize, binary: &Path) -> Result<QuoteCounts, Fault> {
    let home = Home::new(binary)?;
    let folder = set.folder.to_str().ok_or("the folder's path is not UTF-8")?;
    let mut tally = QuoteCounts::default();
    let mut cited: Vec<(String, Value)> = Vec::new();
    for question in set.questions.iter().take(limit) {
        tally.runs += 1;
        let (code, object) = home.ask(question, folder)?;
        let citations = object["citations"].as_array().cloned().unwrap_or_default();
        match code {
            0 if !citations.is_empty() => tally.answered += 1,
            3 => tally.unanswered += 1,
            _ => tally
                .faults
                .push(format!("`{question}`: exit {code}, {} citations", citations.len())),
        }
        let counted = &object["checks"]["quotes"];
        if code == 0 && counted["verified"] != counted["total"] {
            tally.faults.push(format!("`{question}`: the report itself says {counted}"));
        }
        cited.extend(citations.into_iter().map(|citation| (question.clone(), citation)));
    }
    let pages = pages(&home)?;
    let originals = originals(&set.folder)?;
    for (question, citation) in cited {
        tally.quotes += 1;
        match verify(&citation, &pages) {
            Ok(()) => tally.exact += 1,
            Err(why) => tally.faults.push(format!("`{question}`: {why}: {citation}")),
        }
        if let Some(found) = trace(&citation, &pages, &originals) {
            tally.traceable += 1;
            tally.traced += usize::from(found);
            if !found {
                let why = "the quote is not in the original document";
                tally.faults.push(format!("`{question}`: {why}: {citation}"));
            }
        }
    }
    Ok(tally)
}

/// Every stored page by its hash.
fn pages(home: &Home) -> Result<BTreeMap<String, Value>, Fault> {
    let mut found = BTreeMap::new();
    for row in home.rows("select hash, body from pages")? {
        found.insert(row[0].clone(), serde_json::from_str(&row[1])?);
    }
    Ok(found)
}

/// Whether the quote stands in its page from `start` to `end`, counted in code points.
fn verify(citation: &Value, pages: &BTreeMap<String, Value>) -> Result<(), String> {
    let text = |name: &str| citation[name].as_str().ok_or(format!("no `{name}`"));
    let place = |name: &str| {
        citation[name].as_u64().ok_or(format!("no `{name}`")).map(|number| number as usize)
    };
    let quote = text("quote")?;
    let page = pages.get(text("page")?).ok_or("no page with this hash is in the store")?;
    let words = page["text"].as_str().ok_or("the stored page has no text")?;
    if quote.trim().is_empty() {
        return Err("the quote is empty".to_owned());
    }
    if page["url"] != citation["url"] {
        return Err(format!("the page was read at {}", page["url"]));
    }
    let (start, end) = (place("start")?, place("end")?);
    let there: String = words.chars().skip(start).take(end.saturating_sub(start)).collect();
    if there == quote { Ok(()) } else { Err(format!("at [{start},{end}) stands {there:?}")) }
}

/// The letters and digits of every original that has no markup: text files by their path, rows of
/// JSON lines by their id.
fn originals(folder: &Path) -> Result<BTreeMap<String, String>, Fault> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
            continue;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => {
                let text = bare(&String::from_utf8_lossy(&fs::read(&path)?));
                found.insert(format!("file://{}", path.display()), text);
            }
            Some("jsonl") => {
                for line in fs::read_to_string(&path)?.lines() {
                    let row: Value = serde_json::from_str(line)?;
                    let id = row["_id"].as_str().or(row["id"].as_str());
                    let words = [&row["title"], &row["text"]].map(|it| it.as_str().unwrap_or(""));
                    if let Some(id) = id {
                        found.insert(id.to_owned(), bare(&words.join(" ")));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether the original holds the quote; `None` where there is no original without markup.
fn trace(
    citation: &Value,
    pages: &BTreeMap<String, Value>,
    originals: &BTreeMap<String, String>,
) -> Option<bool> {
    let page = pages.get(citation["page"].as_str()?)?;
    let key = page["doc_id"].as_str().or(page["url"].as_str())?;
    let original = originals.get(key)?;
    Some(original.contains(&bare(citation["quote"].as_str()?)))
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn citation(quote: &str, start: u64, end: u64) -> Value {
        json!({"page": "sha256:1", "url": "file:///a.txt", "quote": quote, "start": start, "end": end})
    }

    fn stored() -> BTreeMap<String, Value> {
        let page = json!({"url": "file:///a.txt", "text": "Ünï. It rains. It snows."});
        BTreeMap::from([("sha256:1".to_owned(), page)])
    }

    #[test]
    fn only_the_exact_words_at_the_exact_place_pass() {
        assert!(verify(&citation("It rains.", 5, 14), &stored()).is_ok());
        for wrong in [
            citation("It rains.", 6, 15),
            citation("It rains", 5, 14),
            citation("It snows.", 5, 14),
            citation("", 5, 5),
            json!({"page": "sha256:2", "url": "file:///a.txt", "quote": "It rains.", "start": 5, "end": 14}),
            json!({"page": "sha256:1", "url": "file:///b.txt", "quote": "It rains.", "start": 5, "end": 14}),
            json!({"page": "sha256:1", "url": "file:///a.txt", "quote": "It rains."}),
        ] {
            assert!(verify(&wrong, &stored()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_quote_that_the_original_does_not_hold_is_noticed() {
        let originals =
            BTreeMap::from([("file:///a.txt".to_owned(), bare("It\nrains. It\nsnows."))]);
        let found = |quote| trace(&citation(quote, 0, 0), &stored(), &originals);
        assert_eq!(found("It rains."), Some(true));
        assert_eq!(found("It hails."), Some(false));
        assert_eq!(trace(&citation("It rains.", 0, 0), &stored(), &BTreeMap::new()), None);
    }
}
