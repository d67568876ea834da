//! Reads one page for one task, and returns what it says about it in sentences with quotes, or why it could
//! not be read.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ibid_core::domain::{
    ChecklistItem, Evidence, EvidenceStore, Hit, Page, Plan, Question, Source, SourceId, SourceKind,
};
use ibid_core::ports::{EventLog, PageReader, RoleModels};
use ibid_core::{Error, ErrorKind, Result};

use super::heuristic::score::RelevanceScorer;
use super::llm_session::LlmSession;
use super::page_set::PageSet;
use super::read::read_with_fallback;
use super::{intake, plan, weigh};

/// The result of reading a page for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageSummary {
    /// The address requested.
    pub url: String,
    /// The task.
    pub task: String,
    /// The title; empty where the page could not be read.
    pub title: String,
    /// What the page says about the task, in its order; empty where it says nothing.
    pub summary: String,
    /// `ok`; `nothing` where the page says nothing about the task; otherwise the
    /// [`ReadFailure`](ibid_core::ReadFailure) for which it could not be read: `paywall`, `not_found`,
    /// …
    pub status: String,
    /// Where the text was read, if elsewhere: an open version of a paywalled page, or the end of a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
    /// The sentences of the summary with their quotes.
    pub findings: Vec<SummarySentence>,
    /// Why the configured model did not read it, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaided: Option<String>,
    /// Why the page could not be read, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One sentence of the summary with its quote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummarySentence {
    /// The sentence.
    pub text: String,
    /// The quote, verbatim.
    pub quote: String,
    /// Its start in the text of the page, in code points.
    pub start: usize,
    /// Its end.
    pub end: usize,
}

/// Reads the page at `url` for the text of `task`. Like a run, it uses the first of `readers` that can, so
/// that an open version is found for a paywalled page.
///
/// # Errors
/// `Usage` for a task without words; `Cancelled` when stopped. A page that cannot be read is reported in the
/// status.
pub async fn summarize_url(
    readers: &[Arc<dyn PageReader>],
    models: &RoleModels,
    log: &EventLog,
    task: &Question,
    url: &str,
) -> Result<PageSummary> {
    match read_with_fallback(readers, &Hit::new("given", url, "", "")).await.0 {
        Ok(page) => summarize_page(models, log, task, url, &page).await,
        Err(stopped) if stopped.kind() == ErrorKind::Cancelled => Err(stopped),
        Err(fault) => Ok(PageSummary::failed(url, task, &fault)),
    }
}

/// The same for a page that was already read.
///
/// # Errors
/// `Usage` for a task without words.
pub async fn summarize_page(
    models: &RoleModels,
    log: &EventLog,
    task: &Question,
    url: &str,
    page: &Page,
) -> Result<PageSummary> {
    let brief = intake::refine_by_heuristics(task)?;
    let all = plan::build_heuristic_plan(&brief)?;
    // Only the task itself and its parts; side items of a report were not asked for.
    let parts = all.items().iter().filter(|item| brief.question.contains(&item.asks));
    let mut parts: Vec<ChecklistItem> = parts.cloned().collect();
    if parts.is_empty() {
        parts.extend(all.items().first().cloned());
    }
    let plan = Plan::new(parts, all.complexity, all.writing.clone()).unwrap_or(all);
    let mut scorer = RelevanceScorer::new(&brief, &plan)?;
    let mut notes = EvidenceStore::new(plan);
    let mut pages = PageSet::default();
    let id = SourceId::new(1);
    let source = Source::from_page(id, SourceKind::Web, page, None);
    pages.add_known(&source, page);
    notes.sources.push(source);
    let mut llm = LlmSession::new(models, log);
    let round = weigh::WeighContext {
        log,
        question: task,
        brief: &brief,
        fresh: &[id],
        round: 1,
        chunks: None,
        ranker: None,
    };
    let found = weigh::find_evidence(&mut llm, &round, &mut scorer, &notes, &pages).await?;
    let kept = fit_tokens(found, task.method.summary_tokens as usize);
    let findings: Vec<SummarySentence> = kept.iter().map(|it| to_sentence(it, page)).collect();
    let sentences: Vec<&str> = findings.iter().map(|finding| finding.text.as_str()).collect();
    Ok(PageSummary {
        title: page.title.clone(),
        summary: sentences.join(" "),
        status: if findings.is_empty() { "nothing" } else { "ok" }.to_owned(),
        read_at: Some(page.url.clone()).filter(|it| it != url),
        unaided: llm.fallback_reasons().first().map(|fallback_reason| fallback_reason.1.clone()),
        findings,
        ..PageSummary::empty(url, task)
    })
}

/// The findings that fit into `tokens`, chosen best first, in the order of the page.
fn fit_tokens(mut found: Vec<Evidence>, tokens: usize) -> Vec<Evidence> {
    found.sort_by(|a, b| {
        let place = |evidence: &Evidence| evidence.passage.first();
        b.score.total_cmp(&a.score).then(place(a).cmp(&place(b)))
    });
    let mut spent = 0;
    found.retain(|evidence| {
        // Four tokens for three words, as everywhere.
        let own = evidence.claim.split_whitespace().count() * 4 / 3;
        let fits = spent == 0 || spent + own <= tokens;
        spent += if fits { own } else { 0 };
        fits
    });
    found.sort_by_key(|evidence| evidence.passage.first());
    found
}

fn to_sentence(it: &Evidence, page: &Page) -> SummarySentence {
    let place = it.passage.code_point_range(page);
    SummarySentence {
        text: it.claim.clone(),
        quote: it.passage.text().expose().to_owned(),
        start: place.start,
        end: place.end,
    }
}

impl PageSummary {
    /// The result for a page that could not be read.
    pub fn failed(url: &str, task: &Question, fault: &Error) -> PageSummary {
        PageSummary {
            status: fault.read_failure().as_str().to_owned(),
            message: Some(fault.chain()),
            ..PageSummary::empty(url, task)
        }
    }

    fn empty(url: &str, task: &Question) -> PageSummary {
        PageSummary {
            url: url.to_owned(),
            task: task.text.clone(),
            title: String::new(),
            summary: String::new(),
            status: String::new(),
            read_at: None,
            findings: Vec::new(),
            unaided: None,
            message: None,
        }
    }
}
