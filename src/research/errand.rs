//! One page read for one task (row E6): what it says to it, in sentences that each stand in it, or why it could not be read.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{
    Evidence, Hit, Item, Notes, Page, Plan, Question, Source, SourceId, SourceKind,
};
use crate::error::{Error, Kind, Result};
use crate::seams::{Log, Models, PageReader};

use super::aid::Aid;
use super::read::{by_any, reason_of};
use super::shelf::Shelf;
use super::unaided::score::Scale;
use super::{intake, plan, weigh};

/// What came of a task: the page's own words to it, or a reason in the status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Errand {
    /// The page that was asked for.
    pub url: String,
    /// What it was to be read for.
    pub task: String,
    /// What it is called; empty where it could not be read.
    pub title: String,
    /// What it says to the task, in its order; empty where it says nothing.
    pub summary: String,
    /// `ok`; `nothing` where it was read and does not speak to the task; else the reason of
    /// [`FailReason`](crate::record::FailReason) for which it could not be read: `paywall`, `not_found`, …
    pub status: String,
    /// Where the text was read, if elsewhere: an open version of a page behind a wall, the end of a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
    /// What the summary rests on, sentence by sentence.
    pub findings: Vec<Told>,
    /// Why a model that was named did not read it, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaided: Option<String>,
    /// What stood in the way, in one sentence, where the page could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One sentence of the summary and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The sentence.
    pub text: String,
    /// The words of the page, as they stand in it.
    pub quote: String,
    /// Where they begin in the text of the page, in code points.
    pub start: usize,
    /// Where they end.
    pub end: usize,
}

/// Reads the page at `url` for what `task` asks, whose text is the task: by the first of `readers` that can, as a run does, so that
/// what is behind a wall is looked for where it is open.
///
/// # Errors
/// `Usage` for a task without words, `Cancelled` when stopped; a page that cannot be read is no error but a status.
pub async fn errand(
    readers: &[Arc<dyn PageReader>],
    models: &Models,
    log: &Log,
    task: &Question,
    url: &str,
) -> Result<Errand> {
    match by_any(readers, &Hit::new("given", url, "", "")).await.0 {
        Ok(page) => read_for(models, log, task, url, &page).await,
        Err(stopped) if stopped.kind() == Kind::Cancelled => Err(stopped),
        Err(fault) => Ok(Errand::failed(url, task, &fault)),
    }
}

/// The same of a page that was read already.
///
/// # Errors
/// `Usage` for a task without words.
pub async fn read_for(
    models: &Models,
    log: &Log,
    task: &Question,
    url: &str,
    page: &Page,
) -> Result<Errand> {
    let brief = intake::unaided(task)?;
    let all = plan::unaided(&brief)?;
    // The task itself and its parts; what a report would tell beside them was not asked for.
    let parts = all
        .items()
        .iter()
        .filter(|it| brief.question.contains(&it.asks));
    let mut parts: Vec<Item> = parts.cloned().collect();
    if parts.is_empty() {
        parts.extend(all.items().first().cloned());
    }
    let plan = Plan::new(parts, all.complexity, all.writing.clone()).unwrap_or(all);
    let mut scale = Scale::new(&brief, &plan)?;
    let mut notes = Notes::new(plan);
    let mut shelf = Shelf::default();
    let id = SourceId::new(1);
    let source = Source::of(id, SourceKind::Web, page, None);
    shelf.know(&source, page);
    notes.sources.push(source);
    let mut aid = Aid::new(models, log);
    let round = weigh::Round {
        question: task,
        brief: &brief,
        fresh: &[id],
        wave: 1,
        chunks: None,
    };
    let found = weigh::found(log, &mut aid, &round, &mut scale, &notes, &shelf).await?;
    let kept = within(found, task.method.summary_tokens as usize);
    let findings: Vec<Told> = kept.iter().map(|it| told(it, page)).collect();
    let said: Vec<&str> = findings.iter().map(|it| it.text.as_str()).collect();
    Ok(Errand {
        title: page.title.clone(),
        summary: said.join(" "),
        status: if findings.is_empty() { "nothing" } else { "ok" }.to_owned(),
        read_at: Some(page.url.clone()).filter(|it| it != url),
        unaided: aid.unaided_because().first().map(|it| it.1.clone()),
        findings,
        ..Errand::empty(url, task)
    })
}

/// The findings that fit in so many tokens, best first, then in the order of the page.
fn within(mut found: Vec<Evidence>, tokens: usize) -> Vec<Evidence> {
    found.sort_by(|a, b| {
        let place = |it: &Evidence| it.passage.first();
        b.score.total_cmp(&a.score).then(place(a).cmp(&place(b)))
    });
    let mut spent = 0;
    found.retain(|it| {
        // Four tokens to three words, as everywhere.
        let own = it.claim.split_whitespace().count() * 4 / 3;
        let fits = spent == 0 || spent + own <= tokens;
        spent += if fits { own } else { 0 };
        fits
    });
    found.sort_by_key(|it| it.passage.first());
    found
}

fn told(it: &Evidence, page: &Page) -> Told {
    let place = it.passage.code_points(page);
    Told {
        text: it.claim.clone(),
        quote: it.passage.text().expose().to_owned(),
        start: place.start,
        end: place.end,
    }
}

impl Errand {
    /// What comes of a page that could not be read.
    pub(crate) fn failed(url: &str, task: &Question, fault: &Error) -> Errand {
        Errand {
            status: reason_of(fault).word().to_owned(),
            message: Some(fault.chain()),
            ..Errand::empty(url, task)
        }
    }

    fn empty(url: &str, task: &Question) -> Errand {
        Errand {
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
