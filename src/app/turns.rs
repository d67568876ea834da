//! One question after another, and the person's own plan.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use super::App;
use super::models;
use super::spending::SpendGrant;
use crate::adapters::journal::{Journal, known_of};
use crate::domain::work::registrable_domain;
use crate::domain::{
    Brief, Follows, ModelRole, Owner, Page, PageHash, Plan, Question, RunId, Source, SourceKind,
    Topic, Turn, Usage, Witness,
};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, Run};
use crate::research;
use crate::seams::{Egress, RunRow, Step, Store};

/// Turns of a thread that a follow-up is told of, the last ones.
const TURNS: usize = 6;
/// Longest question and answer of such a turn, characters.
const SAID: (usize, usize) = (600, 300);
/// Pages that a follow-up knows at most, those cited last first.
const PAGES: usize = 60;
/// Runs that are looked through for one that was asked nearly the same, the newest.
const LATEST: u32 = 200;

/// A plan that the planner was asked for, without a run.
#[derive(Debug)]
pub struct Planned {
    /// The refined question.
    pub brief: Brief,
    /// The plan.
    pub plan: Plan,
    /// Why the plan was made without a model after all, where it was.
    pub unaided: Option<String>,
    /// What that came to.
    pub usage: Usage,
}

impl App {
    /// The question `text` as one that follows `run`: in its folders and engines, with its filters, models, method, budget
    /// and mode, all of which the caller may change before it is started.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended.
    pub async fn follow_up(&self, run: &RunId, text: &str, today: &str) -> Result<Question> {
        let before = self.run(run).await?;
        let Some(asked) = before.question.clone() else {
            return Err(Error::new(
                Kind::Internal,
                format!("run {run} does not begin with its question"),
            ));
        };
        if !before.status.ended() {
            return Err(
                Error::new(Kind::Usage, format!("run {run} has not ended yet")).hint(format!(
                    "wait for its end, or go on with it first: ibid resume {run}"
                )),
            );
        }
        let follows = Follows {
            run: run.clone(),
            turns: turns(&before, &asked),
        };
        Ok(Question {
            text: text.to_owned(),
            asked_on: today.to_owned(),
            dialogue: Vec::new(),
            clarify: false,
            given: None,
            approve: false,
            follows: Some(follows),
            resembles: None,
            ..asked
        })
    }

    /// The brief and the plan by the planner, whose calls are paid for out of `grant`.
    ///
    /// # Errors
    /// `Setup` where no planner is set, or it cannot be opened.
    pub async fn plan_by_model(&self, question: &Question, grant: &SpendGrant) -> Result<Planned> {
        let role = ModelRole::Planner;
        let Some(spec) = question.models.get(&role) else {
            return Err(Error::new(Kind::Setup, "no model is set to make the plan")
                .hint("name one with --model PROVIDER:MODEL, or leave --model-plan out"));
        };
        let named = [(role, spec.clone())].into();
        let (minds, _) = models::open(
            &self.settings,
            &named,
            grant,
            Default::default(),
            &Egress::default(),
        )?;
        let run = RunId::new(self.parts.clock.unix_ms(), self.parts.chance.bits());
        // Never flushed: there is no run to keep this for.
        let log = self.log(&run, &self.store().await?, &[]);
        let mut told = log.follow();
        let question = Question {
            clarify: false,
            ..question.clone()
        };
        let (brief, plan) = research::plan_by_model(&minds, &log, &question).await?;
        let mut planned = Planned {
            brief,
            plan,
            unaided: None,
            usage: Usage {
                usd: Some(0.0),
                ..Usage::default()
            },
        };
        while let Ok(it) = told.try_recv() {
            match it.event {
                Event::StepUnaided { step, reason, .. } if step == "plan" => {
                    planned.unaided = Some(reason);
                }
                Event::LlmCompleted { r#in, out, usd, .. } => {
                    let sum = &mut planned.usage;
                    sum.model_calls += 1;
                    sum.tokens_in += r#in.unwrap_or(0);
                    sum.tokens_out += out.unwrap_or(0);
                    sum.usd = sum.usd.zip(usd).map(|(a, b)| a + b);
                }
                _ => {}
            }
        }
        Ok(planned)
    }

    /// The newest run that was asked nearly the same as `question`, of the same engines and with the same filters, by the same
    /// person, within the hours that answers are used again; none for a follow-up, which has its thread, and none where
    /// everything is to be asked anew.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn resembled(
        &self,
        question: &Question,
        owner: Option<&Owner>,
    ) -> Result<Option<RunId>> {
        let web = &self.settings.web;
        let kept = web.search_cache.min(web.page_cache);
        if web.fresh || kept.is_zero() || question.engines.is_empty() || question.follows.is_some()
        {
            return Ok(None);
        }
        let Some(store) = self.store_if_any().await? else {
            return Ok(None);
        };
        let since = self
            .parts
            .clock
            .unix_ms()
            .saturating_sub(kept.as_millis() as u64);
        let late = |it: &RunRow| {
            let at = it.updated_at.parse::<jiff::Timestamp>();
            at.is_ok_and(|it| it.as_millisecond() >= since as i64)
        };
        for row in store.latest(LATEST).await? {
            let mine = row.owner.as_ref() == owner && row.follows.is_none();
            let near = mine && row.status.ended() && late(&row);
            if !near || !research::alike(&row.question, &question.text)? {
                continue;
            }
            let asked = Run::of(row.run_id.clone(), &store.events(&row.run_id, 0).await?).question;
            if asked.is_some_and(|it| same_places(&it, question)) {
                return Ok(Some(row.run_id));
            }
        }
        Ok(None)
    }

    /// The pages that `run` knew from the runs before it.
    pub(super) async fn known_pages(&self, steps: &[Step]) -> Result<Vec<(PageHash, Page)>> {
        let mut pages = Vec::new();
        for source in known_of(steps) {
            let page = self.page(&source.page).await?.ok_or_else(|| {
                let what = format!("page {} is not in the store", source.page);
                Error::new(Kind::Internal, what)
            })?;
            pages.push((source.page, page));
        }
        Ok(pages)
    }
}

/// Whether both may find the same pages.
fn same_places(a: &Question, b: &Question) -> bool {
    let places = |it: &Question| {
        let engines: BTreeSet<String> = it.engines.iter().cloned().collect();
        let (only, never) = (it.domains.clone(), it.not_domains.clone());
        (engines, only, never, it.since.clone(), it.until.clone())
    };
    places(a) == places(b)
}

/// What earlier runs of the thread have read, where `question` goes on with them, or a run that it resembles.
pub(super) async fn known(
    question: &Question,
    journal: &Journal,
    store: &dyn Store,
) -> Result<Vec<(Source, Page)>> {
    match (&question.follows, research::topic(question)?) {
        (Some(it), Topic::Same) => {
            let before = async {
                let mut before = read_before(store, &it.run).await?;
                // Where no folder was ever searched, documents are of doors of the program's own.
                let had_folders = !folders_of(store, &it.run).await?.is_empty();
                before.retain(|it| !had_folders || is_searched(it, &question.folders));
                Ok(before)
            };
            journal.known(before).await
        }
        _ => match &question.resembles {
            Some(run) => journal.known(read_outside(store, run)).await,
            None => Ok(Vec::new()),
        },
    }
}

/// The `file:` address that a source was read at, where it is a document of a folder.
fn file_of(it: &Source) -> Option<&str> {
    let url = Some(it.url.as_str()).filter(|it| it.starts_with("file:"));
    it.file.as_deref().or(url)
}

/// The folders that `run` searched.
async fn folders_of(store: &dyn Store, run: &RunId) -> Result<Vec<String>> {
    let asked = Run::of(run.clone(), &store.events(run, 0).await?).question;
    Ok(asked.map(|it| it.folders).unwrap_or_default())
}

/// Whether a source that was read before may be used where these folders are searched: what lies in a folder that is searched no
/// more is not used again, for it may not be served any longer.
fn is_searched(it: &Source, folders: &[String]) -> bool {
    let Some(file) = file_of(it) else {
        return it.kind != SourceKind::Local;
    };
    let path = url::Url::parse(file)
        .ok()
        .and_then(|it| it.to_file_path().ok());
    path.is_some_and(|path| {
        folders.iter().map(Path::new).any(|it| {
            let real = it.canonicalize();
            path.starts_with(it) || real.is_ok_and(|it| path.starts_with(it))
        })
    })
}

/// What `run` has read outside, as far as it is still there: of folders what they hold now is found again.
async fn read_outside(store: &dyn Store, run: &RunId) -> Result<Vec<Source>> {
    let before = match read_before(store, run).await {
        Err(fault) if fault.kind() == Kind::NotFound => return Ok(Vec::new()),
        it => it?,
    };
    let mut there = Vec::new();
    for it in before {
        if file_of(&it).is_none() && store.page(&it.page).await?.is_some() {
            there.push(it);
        }
    }
    Ok(there)
}

/// What `run` and those before it have read: what it cites first, then in the order it was read.
async fn read_before(store: &dyn Store, run: &RunId) -> Result<Vec<Source>> {
    let events = store.events(run, 0).await?;
    let before = known_of(&store.steps(run).await?);
    let cited = Run::of(run.clone(), &events).report;
    let cited = cited.iter().flat_map(|it| it.sources.iter().cloned());
    let mut seen = BTreeSet::new();
    let all = cited.chain(read_in(&events)).chain(before);
    let fresh = all.filter(|it| it.work.retracted.is_none() && seen.insert(it.page.clone()));
    let sources = fresh.map(|it| Source {
        trust: None,
        copy_of: None,
        ..it
    });
    let asked = asked_for(&events);
    let mut vouched = Vec::new();
    for it in sources.take(PAGES) {
        if is_vouched(store, &it, asked.get(&it.page)).await? {
            vouched.push(it);
        }
    }
    Ok(vouched)
}

/// Whether it is known who served the page of `source`. One that an earlier version wrote, which believed some pages what they
/// said of their address, counts only if it has the site that was `asked` for.
async fn is_vouched(store: &dyn Store, source: &Source, asked: Option<&String>) -> Result<bool> {
    if source.kind == SourceKind::Local {
        return Ok(true);
    }
    let Some(page) = store.page(&source.page).await? else {
        return Ok(true);
    };
    let site = registrable_domain(&page.url);
    let same = |it: &String| *it == page.url || site.is_some() && registrable_domain(it) == site;
    Ok(page.witness != Witness::Unknown || asked.is_some_and(same))
}

/// The address that was asked for, by the page that came: pages are told to have come in the order in which they were asked for.
fn asked_for(events: &[Envelope]) -> BTreeMap<PageHash, String> {
    let mut waiting: VecDeque<&String> = VecDeque::new();
    let mut asked = BTreeMap::new();
    for it in events {
        match &it.event {
            Event::ReadStarted { url } => waiting.push_back(url),
            Event::ReadFailed { .. } => {
                waiting.pop_front();
            }
            Event::ReadCompleted { source, .. } => {
                if let Some(url) = waiting.pop_front() {
                    asked.insert(source.page.clone(), url.clone());
                }
            }
            _ => {}
        }
    }
    asked
}

fn read_in(events: &[Envelope]) -> impl Iterator<Item = Source> {
    events.iter().filter_map(|it| match &it.event {
        Event::ReadCompleted { source, .. } => Some(source.clone()),
        _ => None,
    })
}

/// What was said in the thread up to and with `before`: of the runs before it only what it went on with.
fn turns(before: &Run, asked: &Question) -> Vec<Turn> {
    let mut turns = match (&asked.follows, before.topic) {
        (Some(it), Some(Topic::Same)) => it.turns.clone(),
        _ => Vec::new(),
    };
    // As it was understood: "And in winter?" says nothing to who comes after.
    let text = before.brief.as_ref().map(|it| it.question.as_str());
    let said = before.report.as_deref().and_then(|it| {
        let short = it.short.first().map(|it| it.text());
        it.answer.as_ref().map(|it| it.text.as_str()).or(short)
    });
    turns.push(Turn {
        system: None,
        assistant: said.map(|it| clipped(it, SAID.1)),
        user: Some(clipped(text.unwrap_or(&asked.text), SAID.0)),
    });
    turns.split_off(turns.len().saturating_sub(TURNS))
}

fn clipped(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
