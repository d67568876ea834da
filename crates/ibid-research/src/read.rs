//! Reads the pages of the hits.
use std::sync::Arc;

use futures_util::{StreamExt, stream};

pub(crate) use ibid_core::domain::work::registrable_domain;
use ibid_core::domain::{
    Hit, Page, Question, Source, SourceId, SourceKind, UrlProvenance, Usage, Vertical,
};
use ibid_core::ports::PageReader;
use ibid_core::record::{Event, LogSource};
use ibid_core::{Error, ErrorKind, FailureReason, ReadFailure, Result};

use super::changed_fact::changed_sentences;
use super::heuristic::asked_fact::FactQuestion;
use super::heuristic::injection::InjectionDetector;
use super::page_set::UnreadPage;
use super::research_state::ResearchState;
use super::run_context::RunContext;
use crate::concurrency::MAX_QUEUED_FETCHES;

/// Whether a copy changed a fact that the question is about, in a sentence that both have, or states another one in answer.
fn has_changed_fact(question: &str, copy: &Page, original: &Page) -> Result<bool> {
    if changed_sentences(question, copy, original).is_some() {
        return Ok(true);
    }
    let Some(asked) = FactQuestion::from_question(question)? else {
        return Ok(false);
    };
    let (own, its) = (asked.first_stated_on(copy), asked.first_stated_on(original));
    Ok(own.zip(its).is_some_and(|(own, its)| own.excludes(&its)))
}

/// Reads `wanted` and emits each start and end in that order. Returns the new sources worth weighing: a page with the
/// text of an earlier one is counted with that one. What was read before there was a plan is not read again.
pub(crate) async fn read_pages(
    ctx: RunContext<'_>,
    wanted: Vec<Hit>,
    state: &mut ResearchState,
) -> Result<Vec<SourceId>> {
    let wanted = wanted.into_iter().map(|hit| (hit, None)).collect();
    let fresh = read_pages_as(ctx, wanted, state).await?;
    Ok(fresh.into_iter().map(|pair| pair.1).collect())
}

/// Like [`read_pages`], each page for the researcher named beside it. Returns each source with its index in `wanted`.
pub(crate) async fn read_pages_as(
    ctx: RunContext<'_>,
    wanted: Vec<(Hit, Option<&str>)>,
    state: &mut ResearchState,
) -> Result<Vec<(usize, SourceId)>> {
    let RunContext { providers, log, question, .. } = ctx;
    let mut fresh = Vec::new();
    let mut unread = Vec::new();
    for (nth, (hit, agent)) in wanted.into_iter().enumerate() {
        match state.pages.take_prefetched(hit.key()) {
            Some(source) => fresh.push((nth, source)),
            None => unread.push((nth, hit, agent)),
        }
    }
    unread.truncate(pages_left(question, &state.usage));
    for (_, hit, agent) in &unread {
        state.pages.tried.insert(hit.key().to_owned());
        let started = Event::ReadStarted { url: hit.url.clone() };
        log.emit_as(*agent, started);
    }
    // As in `search`: all futures are made before the first is polled.
    let reads: Vec<_> = unread
        .into_iter()
        .map(|(nth, hit, agent)| async move {
            let begun = providers.clock.unix_ms();
            let (page, earlier_faults) = read_with_fallback(&providers.readers, &hit).await;
            let ms = providers.clock.unix_ms().saturating_sub(begun);
            let answer = ReadAnswer { hit, agent, page, earlier_faults, ms };
            (nth, answer)
        })
        .collect();
    let mut answers = stream::iter(reads).buffered(MAX_QUEUED_FETCHES);
    let injections = InjectionDetector::from_question(&question.text)?;
    while let Some((nth, answer)) = answers.next().await {
        if let Some(source) = record_read(ctx, answer, &injections, state)? {
            fresh.push((nth, source));
        }
    }
    fresh.sort_by_key(|pair| pair.0);
    Ok(fresh)
}

/// The result of reading one page.
struct ReadAnswer<'a> {
    hit: Hit,
    /// The researcher it was read for.
    agent: Option<&'a str>,
    page: Result<Page>,
    /// The readers that failed first, with their errors.
    earlier_faults: Vec<(String, Error)>,
    ms: u64,
}

/// Adds one answer to `state` and emits it. Returns the source, where it is new and worth weighing.
fn record_read(
    ctx: RunContext<'_>,
    answer: ReadAnswer<'_>,
    injections: &InjectionDetector,
    state: &mut ResearchState,
) -> Result<Option<SourceId>> {
    let ReadAnswer { hit, agent, ms, .. } = answer;
    state.usage.pages += 1;
    for (reader, fault) in answer.earlier_faults {
        let skipped = Event::Log {
            level: "info".to_owned(),
            message: format!("{reader} could not read {}: {}", hit.url, fault.chain()),
            source: Some(LogSource::Service),
        };
        ctx.log.emit_as(agent, skipped);
    }
    let page = match answer.page {
        Ok(page) => page,
        Err(stopped) if stopped.kind() == ErrorKind::Cancelled => return Err(stopped),
        Err(fault) => {
            state.usage.failed_pages += 1;
            let (reason, message) = (fault.read_failure(), fault.chain());
            let unread = UnreadPage {
                message: message.clone(),
                reason: Some(reason),
                status: fault.status(),
            };
            state.pages.failed.insert(hit.url.clone(), unread);
            let failed = Event::ReadFailed { url: hit.url, reason, message };
            ctx.log.emit_as(agent, failed);
            return Ok(None);
        }
    };
    let id = SourceId::new(state.notes.sources.len() as u32 + 1);
    let mut source = source_of_page(id, &hit, &page);
    source.cited_by = state.pages.cited_by(hit.key());
    // Nothing was published after the day of the question.
    source.date = source.date.filter(|date| date.as_str() <= ctx.question.asked_on.as_str());
    strip_injections(&mut source, injections);
    let retracted = source.work.retracted.clone();
    let retracted = retracted.filter(|_| !is_about_retraction(ctx.question));
    let twin = match retracted {
        None => state.pages.find_duplicate(id, &page),
        Some(_) => None,
    };
    source.copy_of = twin.map(|twin| twin.0);
    let differs = match twin {
        Some((_, original)) => has_changed_fact(&ctx.question.text, &page, original)?,
        None => false,
    };
    let completed = Event::ReadCompleted {
        source: source.clone(),
        sentences: page.sentences().len() as u32,
        warnings: page.warnings.clone(),
        ms,
    };
    ctx.log.emit_as(agent, completed);
    let original = source.copy_of.filter(|_| !differs);
    let original = original.and_then(|page| state.notes.source(page)).cloned();
    let mut fresh = None;
    if let Some(why) = retracted {
        // A retracted work is listed as left out, and carries no evidence.
        let failed = &mut state.pages.failed;
        let reason = Some(ReadFailure::Retracted);
        failed.insert(
            page.url.clone(),
            UnreadPage { message: format!("left out: {why}"), reason, status: None },
        );
        ctx.log.emit(Event::Log {
            level: "warn".to_owned(),
            message: format!("left out {}: {why}", page.url),
            source: Some(LogSource::Program),
        });
    } else if let Some(original) = original {
        ctx.log.emit(Event::EvidenceMerged { url: page.url.clone(), into: original.url });
        // The copy may be what was chosen, and the page read before it not.
        fresh = state.pages.take_prefetched_source(original.id);
    } else {
        fresh = Some(id);
    }
    state.pages.pages.insert(page.hash().clone(), page);
    state.notes.sources.push(source);
    Ok(fresh)
}

/// The source of a page, with what the search said about it.
fn source_of_page(id: SourceId, hit: &Hit, page: &Page) -> Source {
    let independent_source = page_source_key(hit, page);
    let mut source =
        Source::from_page(id, SourceKind::from(hit.vertical), page, independent_source);
    source = source.with_hit(hit);
    if source.domain.is_empty() {
        // The requested address is all that is known about its origin.
        source.url.clone_from(&hit.url);
    }
    source
}

/// Reads `hit` with the first reader that can. Also returns the errors of the readers before it.
pub async fn read_with_fallback(
    readers: &[Arc<dyn PageReader>],
    hit: &Hit,
) -> (Result<Page>, Vec<(String, Error)>) {
    let mut before: Vec<(String, Error)> = Vec::new();
    for reader in readers.iter().filter(|reader| reader.can_read(hit)) {
        // The first reader's reason counts; later ones may have reasons of their own.
        if let Some((_, fault)) = before.first()
            && !reader.can_read_after(hit, fault.read_failure())
        {
            continue;
        }
        match reader.read(hit).await {
            Ok(page) => return (Ok(page), before),
            // What one reader must not fetch, no other may.
            Err(fault) if is_final(&fault) => return (Err(fault), before),
            Err(fault) => before.push((reader.name().to_owned(), fault)),
        }
    }
    // The first reader's reason says most; the others are only fallbacks.
    let fault = if before.is_empty() {
        Error::new(ErrorKind::Usage, format!("reading {}: no reader for this kind", hit.url))
    } else {
        before.remove(0).1
    };
    (Err(fault), before)
}

/// Removes orders from the source's metadata: titles and names reach reports and models, too.
fn strip_injections(source: &mut Source, orders: &InjectionDetector) {
    if orders.is_injection(&source.title) {
        source.title.clone_from(&source.domain);
    }
    source.author = source.author.take().filter(|it| !orders.is_injection(it));
    source.site = source.site.take().filter(|it| !orders.is_injection(it));
}

/// Whether no other reader may or need try.
fn is_final(fault: &Error) -> bool {
    matches!(fault.kind(), ErrorKind::Cancelled | ErrorKind::Exhausted)
        || matches!(
            fault.reason(),
            Some(FailureReason::Read(
                ReadFailure::BlockedAddress | ReadFailure::Robots | ReadFailure::Retracted
            ))
        )
}

/// Whether the question is about retracted works.
fn is_about_retraction(question: &Question) -> bool {
    let words = question.text.to_lowercase();
    ["retract", "withdrawn", "expression of concern", "misconduct"]
        .iter()
        .any(|it| words.contains(it))
}

/// The independent source of a page: a scholarly work for itself, wherever it is hosted; otherwise the site that served
/// it. Empty where the server is unknown.
///
/// A document of a folder that states a site shares one independent source with the others that state it, so that what it
/// says about itself can reduce the number of independent sources and never raise it.
fn page_source_key(hit: &Hit, page: &Page) -> Option<String> {
    let scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
    if let Some(key) = hit.work.key().filter(|_| scholarly) {
        return Some(key);
    }
    let site = registrable_domain(&page.url);
    match page.url_provenance {
        UrlProvenance::Fetcher | UrlProvenance::Engine | UrlProvenance::Folder => site,
        UrlProvenance::Unknown if hit.vertical == Vertical::Local || page.url == hit.url => site,
        // Written by an earlier version, which trusted the page's own address: it counts only if it was also
        // requested.
        UrlProvenance::Unknown => {
            let full = hit.work.full_text.iter().map(String::as_str);
            let mut asked = full.chain([hit.url.as_str()]).map(registrable_domain);
            let vouched = site.is_some() && asked.any(|it| it == site);
            Some(site.filter(|_| vouched).unwrap_or_default())
        }
    }
}

fn pages_left(question: &Question, usage: &Usage) -> usize {
    let by_pages = question.budget.pages_left(usage);
    let by_calls = question.budget.calls_left(usage);
    by_pages.into_iter().chain(by_calls).min().map_or(usize::MAX, |it| it as usize)
}
