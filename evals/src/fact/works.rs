//! The works that a report cites beside the bibliography of the survey that the task was made from (ReportBench).
use std::collections::BTreeSet;

use ibid_research::audit::CitedText;
use serde_json::Value;

/// Words of a title that is also looked for inside the entry of a source.
const TITLE_WORDS: usize = 4;

/// How the cited works compare with a bibliography.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WorkFigures {
    pub(crate) precision: f64,
    pub(crate) recall: f64,
    pub(crate) cited: usize,
}

/// Compares the sources of `cited` with the `gold_references` of a task; `None` if the task has none.
pub(crate) fn work_figures(cited: &CitedText, gold: &Value) -> Option<WorkFigures> {
    let titles: BTreeSet<String> = gold
        .as_array()?
        .iter()
        .filter_map(|row| row["title"].as_str())
        .map(plain_title)
        .filter(|title| !title.is_empty())
        .collect();
    if titles.is_empty() {
        return None;
    }
    // An entry without a title counts as a work of its own.
    let entries: BTreeSet<(String, String)> = cited
        .sources
        .iter()
        .filter(|source| source.cited)
        .map(|source| {
            let title = plain_title(source.title.as_deref().unwrap_or_default());
            let text = format!(" {} ", plain_title(&source.text));
            (title, text)
        })
        .collect();
    let mut found: BTreeSet<&String> = BTreeSet::new();
    let mut right = 0;
    for (title, text) in &entries {
        let same = |gold: &&String| {
            *gold == title
                || gold.split(' ').count() >= TITLE_WORDS && text.contains(&format!(" {gold} "))
        };
        if let Some(gold) = titles.iter().find(same) {
            right += 1;
            found.insert(gold);
        }
    }
    let precision = if entries.is_empty() { 0.0 } else { f64::from(right) / entries.len() as f64 };
    let recall = found.len() as f64 / titles.len() as f64;
    Some(WorkFigures { precision, recall, cited: entries.len() })
}

/// A title in lower case, without punctuation and further blanks.
fn plain_title(title: &str) -> String {
    let kept: String = title.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}
