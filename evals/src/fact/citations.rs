//! The statements of a report with the pages that they cite, what the judge is asked about them, and what it says.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ibid_core::ports::Prompt;
use ibid_research::audit::{CitedText, parse_citations};
use serde_json::json;

use super::pages::PageTexts;
use crate::judge::Judge;
use crate::judge::answer_json::{answer_list, number_of};
use crate::judge::prompt_text::{fill, list_prompt};
use crate::judged::shorten::{shorten_to_matter, tokens};

/// The most statements in one question.
const MOST_STATEMENTS: usize = 20;
/// The share of a window that statements may take; the rest is for the page.
const STATEMENT_SHARE: u64 = 4;
/// Tokens of a page without which a verdict says nothing.
const LEAST_TOKENS: u64 = 200;
/// The least characters of a sentence that is counted by DeepScholar-Bench.
const SENTENCE_CHARS: usize = 50;

/// What a page says to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CitationVerdict {
    Supported,
    Unsupported,
    /// The page has no content, its text is not here, or no answer of the judge is usable.
    Unknown,
}

/// The statements of a report that cite one page.
pub(crate) struct PageStatements {
    /// The key of the page.
    pub(crate) page: String,
    /// Each once.
    pub(crate) statements: Vec<String>,
}

/// A report with its citations.
pub(crate) struct ReportCitations {
    pub(crate) cited: CitedText,
    pub(crate) pages: Vec<PageStatements>,
    /// Pairs of a statement and a source whose text is not here.
    pub(crate) without_page: usize,
}

/// The citations of `article`, each statement once for each page.
pub(crate) fn report_citations(article: &str, texts: &PageTexts) -> ReportCitations {
    let cited = parse_citations(article);
    let mut pages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut missing: BTreeSet<(usize, String)> = BTreeSet::new();
    for claim in &cited.claims {
        for source in &claim.sources {
            match cited.sources.get(*source).and_then(|source| texts.find(source)) {
                None => {
                    missing.insert((*source, same_words(&claim.text)));
                }
                Some((key, _)) => {
                    let statements = pages.entry(key.to_owned()).or_default();
                    let key = same_words(&claim.text);
                    if !statements.iter().any(|statement| same_words(statement) == key) {
                        statements.push(claim.text.clone());
                    }
                }
            }
        }
    }
    let pages = pages.into_iter().map(|(page, statements)| PageStatements { page, statements });
    ReportCitations { pages: pages.collect(), cited, without_page: missing.len() }
}

/// What statements that say the same in the same words share.
fn same_words(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A question about some statements of one report on one page.
pub(crate) struct StatementQuestion {
    pub(crate) page: String,
    pub(crate) statements: Vec<String>,
    pub(crate) prompt: Prompt,
    /// Whether a part of the page was left out.
    pub(crate) is_cut: bool,
}

/// The questions about the statements on one page.
pub(crate) fn page_questions(
    judge: &Judge,
    of: &PageStatements,
    text: &str,
) -> Result<Vec<StatementQuestion>, String> {
    let mut questions = Vec::new();
    let mut rest = of.statements.as_slice();
    while !rest.is_empty() {
        let most = judge.window / STATEMENT_SHARE;
        let mut used = 0;
        let fitting = rest.iter().take(MOST_STATEMENTS).take_while(|statement| {
            used += tokens(statement);
            used <= most
        });
        let (now, later) = rest.split_at(fitting.count().max(1));
        rest = later;
        let room = judge.room(&prompt("", now));
        if room < LEAST_TOKENS {
            return Err(format!(
                "a window of {} tokens is too small for its statements",
                judge.window
            ));
        }
        let page = shorten_to_matter(text, &now.join("\n"), room);
        questions.push(StatementQuestion {
            page: of.page.clone(),
            prompt: prompt(&page.text, now),
            statements: now.to_vec(),
            is_cut: page.is_cut,
        });
    }
    Ok(questions)
}

fn prompt(page: &str, statements: &[String]) -> Prompt {
    let mut list = String::new();
    for (at, statement) in statements.iter().enumerate() {
        let _ = writeln!(list, "{}. {statement}", at + 1);
    }
    let count = statements.len().to_string();
    let values = [("page", page), ("statements", list.trim_end()), ("count", &count)];
    let results = json!({"type": "string", "enum": ["supported", "unsupported", "unknown"]});
    let fields = [("statement", json!({"type": "integer"})), ("result", results)];
    let most = (statements.len() * 30 + 100) as u32;
    list_prompt(fill(include_str!("verify.md"), &values), "results", &fields, most)
}

/// Reads a verdict for each of `count` statements.
pub(crate) fn read_verdicts(answer: &str, count: usize) -> Result<Vec<CitationVerdict>, String> {
    let rows = answer_list(answer, "results")?;
    let verdict = |nth: usize| {
        let row = rows.iter().find(|row| number_of(&row["statement"]) == Some(nth as f64));
        match row.and_then(|row| row["result"].as_str()) {
            Some("supported") => Ok(CitationVerdict::Supported),
            Some("unsupported") => Ok(CitationVerdict::Unsupported),
            Some("unknown") => Ok(CitationVerdict::Unknown),
            _ => Err(format!("there is no verdict on statement {nth}")),
        }
    };
    (1..=count).map(verdict).collect()
}

/// The verdicts on a report, by page and statement.
#[derive(Debug, Default)]
pub(crate) struct ReportVerdicts(BTreeMap<(String, String), CitationVerdict>);

/// What DeepScholar-Bench measures of the sentences of a report, each with 50 characters or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SentenceFigures {
    /// The mean share of a sentence's citations that support it; 0 for a sentence without citations.
    pub(crate) precision: f64,
    /// The share of sentences that one of their citations supports.
    pub(crate) coverage: f64,
}

impl ReportVerdicts {
    /// Adds the verdicts on the statements of a question.
    pub(crate) fn add(&mut self, question: &StatementQuestion, verdicts: &[CitationVerdict]) {
        for (statement, verdict) in question.statements.iter().zip(verdicts) {
            self.0.insert((question.page.clone(), same_words(statement)), *verdict);
        }
    }

    /// How many pairs have this verdict.
    pub(crate) fn count(&self, verdict: CitationVerdict) -> usize {
        self.0.values().filter(|it| **it == verdict).count()
    }

    /// The figures of the report's sentences; `None` if it has none. Citations with an unknown verdict do not count, nor does a sentence
    /// with no others.
    pub(crate) fn sentences(
        &self,
        cited: &CitedText,
        texts: &PageTexts,
    ) -> Option<SentenceFigures> {
        let is_long = |text: &str| text.chars().count() >= SENTENCE_CHARS;
        let uncited = cited.uncited.iter().filter(|sentence| is_long(&sentence.text)).count();
        let (mut precision, mut covered, mut counted) = (0.0, 0.0, uncited as f64);
        for claim in cited.claims.iter().filter(|claim| is_long(&claim.text)) {
            let verdict = |source: &usize| {
                let (key, _) = cited.sources.get(*source).and_then(|source| texts.find(source))?;
                self.0.get(&(key.to_owned(), same_words(&claim.text))).copied()
            };
            let known: Vec<CitationVerdict> = claim
                .sources
                .iter()
                .filter_map(verdict)
                .filter(|verdict| *verdict != CitationVerdict::Unknown)
                .collect();
            if known.is_empty() {
                continue;
            }
            let supported =
                known.iter().filter(|verdict| **verdict == CitationVerdict::Supported).count();
            precision += supported as f64 / known.len() as f64;
            covered += f64::from(u8::from(supported > 0));
            counted += 1.0;
        }
        (counted > 0.0).then(|| SentenceFigures {
            precision: precision / counted,
            coverage: covered / counted,
        })
    }
}
