//! Follow-up questions, reuse of the sources of earlier runs, and a plan by a model without a run.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use super::spending::SpendGrant;
use super::{App, models};
use ibid_core::domain::work::{is_within_domains, registrable_domain};
use ibid_core::domain::{
    Brief, DialogueTurn, ModelRole, Owner, Page, PageHash, Plan, Question, RunId, Source,
    SourceKind, ThreadContext, TopicRelation, UrlProvenance, Usage,
};
use ibid_core::record::{Envelope, Event, Run};
use ibid_core::{Error, ErrorKind, Result};
use ibid_store::journal::{Journal, prior_sources_in};

use ibid_core::ports::{Egress, JournalCall, RunRow, Store};

/// The latest turns of a thread that a follow-up gets.
const MAX_TURNS: usize = 6;
/// Maximum length of the question and answer in a turn, in characters.
const TURN_CHARS: (usize, usize) = (600, 300);
/// Pages that a follow-up reuses, at most; cited ones first.
const MAX_REUSED_PAGES: usize = 60;
/// The newest runs that are searched for a similar question.
const MAX_SEARCHED_RUNS: u32 = 200;

/// A plan by the planner, made without a run.
#[derive(Debug)]
pub struct PlannerOutput {
    /// The refined question.
    pub brief: Brief,
    /// The plan.
    pub plan: Plan,
    /// Why the plan was made without a model, if it was.
    pub unaided: Option<String>,
    /// What the calls used.
    pub usage: Usage,
}

impl App {
    /// The question `text` as a follow-up to `run`, with the folders, engines, filters, models, method, budget and mode of that run. The
    /// caller may change all of these before the start.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended.
    pub async fn follow_up(&self, run: &RunId, text: &str, today: &str) -> Result<Question> {
        let previous = self.run(run).await?;
        let Some(asked) = previous.question.clone() else {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("the first event of run {run} is not run.created"),
            ));
        };
        if !previous.status.ended() {
            return Err(Error::new(ErrorKind::Usage, format!("run {run} has not ended yet"))
                .with_hint(format!("wait until it ends, or resume it first: ibid resume {run}")));
        }
        let follows = ThreadContext { run: run.clone(), turns: dialogue_turns(&previous, &asked) };
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

    /// The brief and the plan of `question`, made by the planner within `grant`.
    ///
    /// # Errors
    /// `Setup` if no planner is set or it cannot be opened.
    pub async fn plan_by_model(
        &self,
        question: &Question,
        grant: &SpendGrant,
    ) -> Result<PlannerOutput> {
        let role = ModelRole::Planner;
        let Some(spec) = question.models.get(&role) else {
            return Err(Error::new(ErrorKind::Setup, "no model is set to make the plan")
                .with_hint("name one with --model PROVIDER:MODEL, or leave --model-plan out"));
        };
        let named = [(role, spec.clone())].into();
        let (models, _) =
            models::open(&self.settings, &named, grant, Default::default(), &Egress::default())?;
        let log = self.ephemeral_log().await?;
        let mut events = log.subscribe();
        let question = Question { clarify: false, ..question.clone() };
        let (brief, plan) = ibid_research::plan_by_model(&models, &log, &question).await?;
        let mut output = PlannerOutput {
            brief,
            plan,
            unaided: None,
            usage: Usage { usd: Some(0.0), ..Usage::default() },
        };
        while let Ok(envelope) = events.try_recv() {
            match envelope.event {
                Event::StepUnaided { step, reason, .. } if step == "plan" => {
                    output.unaided = Some(reason);
                }
                Event::LlmCompleted { r#in, out, reasoning, usd, .. } => {
                    let sum = &mut output.usage;
                    sum.model_calls += 1;
                    sum.tokens_in += r#in.unwrap_or(0);
                    sum.tokens_out += out.unwrap_or(0);
                    sum.tokens_reasoning += reasoning.unwrap_or(0);
                    sum.usd = sum.usd.zip(usd).map(|(a, b)| a + b);
                }
                _ => {}
            }
        }
        Ok(output)
    }

    /// The newest ended run of the same owner with nearly the same question, the same engines and the same filters, within the time that
    /// cached answers are used. `None` for a follow-up, which has its thread, and with the setting `fresh`.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn find_similar_run(
        &self,
        question: &Question,
        owner: Option<&Owner>,
    ) -> Result<Option<RunId>> {
        let web = &self.settings.web;
        let max_age = web.search_cache.min(web.page_cache);
        if web.fresh
            || max_age.is_zero()
            || question.engines.is_empty()
            || question.follows.is_some()
        {
            return Ok(None);
        }
        let Some(store) = self.store_if_any().await? else {
            return Ok(None);
        };
        let since = self.components.clock.unix_ms().saturating_sub(max_age.as_millis() as u64);
        let is_recent = |row: &RunRow| {
            let at = row.updated_at.parse::<jiff::Timestamp>();
            at.is_ok_and(|at| at.as_millisecond() >= since as i64)
        };
        for row in store.latest_runs(MAX_SEARCHED_RUNS).await? {
            let is_own = row.owner.as_ref() == owner && row.follows.is_none();
            let is_candidate = is_own && row.status.ended() && is_recent(&row);
            if !is_candidate || !ibid_research::is_same_question(&row.question, &question.text)? {
                continue;
            }
            let events = store.events(&row.run_id, 0).await?;
            let earlier = Run::from_events(row.run_id.clone(), &events).question;
            if earlier.is_some_and(|earlier| has_same_scope(&earlier, question)) {
                return Ok(Some(row.run_id));
            }
        }
        Ok(None)
    }

    /// The pages that a run with these steps reused from earlier runs.
    pub(super) async fn inherited_pages(
        &self,
        steps: &[JournalCall],
    ) -> Result<Vec<(PageHash, Page)>> {
        let mut pages = Vec::new();
        for source in prior_sources_in(steps) {
            let page = self.page(&source.page).await?.ok_or_else(|| {
                let what = format!("page {} is not in the store", source.page);
                Error::new(ErrorKind::Internal, what)
            })?;
            pages.push((source.page, page));
        }
        Ok(pages)
    }
}

/// Whether two questions search the same engines with the same filters.
fn has_same_scope(a: &Question, b: &Question) -> bool {
    let engines =
        |question: &Question| question.engines.iter().cloned().collect::<BTreeSet<String>>();
    engines(a) == engines(b)
        && (&a.domains, &a.not_domains) == (&b.domains, &b.not_domains)
        && (&a.since, &a.until) == (&b.since, &b.until)
}

/// The sources that `question` reuses: those of its thread when it stays on the topic, else those of the run that it resembles.
pub(super) async fn reusable_sources(
    question: &Question,
    journal: &Journal,
    store: &dyn Store,
) -> Result<Vec<(Source, Page)>> {
    match (&question.follows, ibid_research::detect_topic(question)?) {
        (Some(thread), TopicRelation::Same) => {
            let sources = async {
                let mut sources = thread_sources(store, &thread.run).await?;
                // Local documents of a run without folders come from providers of an embedding program.
                let had_folders = !run_folders(store, &thread.run).await?.is_empty();
                sources.retain(|source| !had_folders || is_searched(source, &question.folders));
                sources.retain(|source| is_within_filters(source, question));
                Ok(sources)
            };
            journal.prior_sources(sources).await
        }
        _ => match &question.resembles {
            Some(run) => journal.prior_sources(external_sources(store, run)).await,
            None => Ok(Vec::new()),
        },
    }
}

/// Whether a source is of the domains and, where its date is known, of the days that a question names.
fn is_within_filters(source: &Source, question: &Question) -> bool {
    let date = source.date.as_deref();
    let is_early = date.zip(question.since.as_deref()).is_some_and(|(date, since)| date < since);
    let is_late = date.zip(question.until.as_deref()).is_some_and(|(date, until)| date > until);
    // A file is of no domain.
    let within = match source.url.starts_with("file:") {
        true => question.domains.is_empty(),
        false => is_within_domains(&source.url, &question.domains, &question.not_domains),
    };
    within && !is_early && !is_late
}

/// The `file:` URL that a source was read at, if it is a document of a folder.
fn file_url(source: &Source) -> Option<&str> {
    let url = Some(source.url.as_str()).filter(|url| url.starts_with("file:"));
    source.file.as_deref().or(url)
}

/// The folders that `run` searched.
async fn run_folders(store: &dyn Store, run: &RunId) -> Result<Vec<String>> {
    let asked = Run::from_events(run.clone(), &store.events(run, 0).await?).question;
    Ok(asked.map(|it| it.folders).unwrap_or_default())
}

/// Whether an earlier source may be reused in a run over `folders`. A document of another folder may not: that folder may no longer be
/// served.
fn is_searched(source: &Source, folders: &[String]) -> bool {
    let Some(file) = file_url(source) else {
        return source.kind != SourceKind::Local;
    };
    let path = url::Url::parse(file).ok().and_then(|parsed| parsed.to_file_path().ok());
    path.is_some_and(|path| {
        folders.iter().map(Path::new).any(|prefix| {
            let real = prefix.canonicalize();
            path.starts_with(prefix) || real.is_ok_and(|prefix| path.starts_with(prefix))
        })
    })
}

/// The sources of `run` that are still stored, without documents of folders: the folders are searched again.
async fn external_sources(store: &dyn Store, run: &RunId) -> Result<Vec<Source>> {
    let all = match thread_sources(store, run).await {
        Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        sources => sources?,
    };
    let mut external = Vec::new();
    for source in all {
        if file_url(&source).is_none() && store.page(&source.page).await?.is_some() {
            external.push(source);
        }
    }
    Ok(external)
}

/// The sources that `run` and the runs before it in the thread have read: cited ones first, then in the order of reading.
async fn thread_sources(store: &dyn Store, run: &RunId) -> Result<Vec<Source>> {
    let events = store.events(run, 0).await?;
    let before = prior_sources_in(&store.steps(run).await?);
    let cited = Run::from_events(run.clone(), &events).report;
    let cited = cited.iter().flat_map(|it| it.sources.iter().cloned());
    let mut seen = BTreeSet::new();
    let all = cited.chain(sources_in(&events)).chain(before);
    let fresh = all.filter(|it| it.work.retracted.is_none() && seen.insert(it.page.clone()));
    let sources = fresh.map(|it| Source { trust: None, copy_of: None, ..it });
    let requested = requested_urls(&events);
    let mut known = Vec::new();
    for source in sources.take(MAX_REUSED_PAGES) {
        if is_origin_known(store, &source, requested.get(&source.page)).await? {
            known.push(source);
        }
    }
    Ok(known)
}

/// Whether it is known which site served the page of `source`. An earlier version took the address of some pages from the page itself;
/// such a page counts only when its site is that of the `requested` URL.
async fn is_origin_known(
    store: &dyn Store,
    source: &Source,
    requested: Option<&String>,
) -> Result<bool> {
    if source.kind == SourceKind::Local {
        return Ok(true);
    }
    let Some(page) = store.page(&source.page).await? else {
        return Ok(true);
    };
    let site = registrable_domain(&page.url);
    let same = |url: &String| *url == page.url || site.is_some() && registrable_domain(url) == site;
    Ok(page.url_provenance != UrlProvenance::Unknown || requested.is_some_and(same))
}

/// The requested URL of each page that was read. Reads complete in the order in which they started.
fn requested_urls(events: &[Envelope]) -> BTreeMap<PageHash, String> {
    let mut waiting: VecDeque<&String> = VecDeque::new();
    let mut requested = BTreeMap::new();
    for envelope in events {
        match &envelope.event {
            Event::ReadStarted { url } => waiting.push_back(url),
            Event::ReadFailed { .. } => {
                waiting.pop_front();
            }
            Event::ReadCompleted { source, .. } => {
                if let Some(url) = waiting.pop_front() {
                    requested.insert(source.page.clone(), url.clone());
                }
            }
            _ => {}
        }
    }
    requested
}

fn sources_in(events: &[Envelope]) -> impl Iterator<Item = Source> {
    events.iter().filter_map(|event| match &event.event {
        Event::ReadCompleted { source, .. } => Some(source.clone()),
        _ => None,
    })
}

/// The turns of the thread up to and including `run`. The earlier ones are left out where `run` changed the topic.
fn dialogue_turns(run: &Run, asked: &Question) -> Vec<DialogueTurn> {
    let mut turns = match (&asked.follows, run.topic) {
        (Some(thread), Some(TopicRelation::Same)) => thread.turns.clone(),
        _ => Vec::new(),
    };
    // The question of the brief is complete; "And in winter?" alone would mean nothing in a later turn.
    let text = run.brief.as_ref().map(|brief| brief.question.as_str());
    let answer = run.report.as_deref().and_then(|report| {
        let short = report.short.first().map(|claim| claim.text());
        report.answer.as_ref().map(|answer| answer.text.as_str()).or(short)
    });
    turns.push(DialogueTurn {
        system: None,
        assistant: answer.map(|answer| clipped(answer, TURN_CHARS.1)),
        user: Some(clipped(text.unwrap_or(&asked.text), TURN_CHARS.0)),
    });
    turns.split_off(turns.len().saturating_sub(MAX_TURNS))
}

fn clipped(text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}
