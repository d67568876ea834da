//! Reading the pages behind the hits (rows E5, E11).
use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};

pub(crate) use crate::domain::work::registrable_domain;
use crate::domain::{
    Hit, Notes, Page, Question, Source, SourceId, SourceKind, Usage, Vertical, Witness,
};
use crate::error::{Error, Kind, Result};
use crate::record::{Event, FailReason};
use crate::seams::{Log, PageReader, World};

use super::READ_AT_ONCE;
use super::shelf::Shelf;
use super::substituted::substituted;
use super::unaided::orders::Orders;

/// Sentences of two copies that only one of them has, as many as are compared.
const CHANGED_SENTENCES: usize = 60;

/// Whether a copy says something else than its original on what was asked: a fact was changed in a sentence that both have.
fn says_otherwise(question: &str, copy: &Page, original: &Page) -> bool {
    let sentences = |page: &Page| -> Vec<String> {
        let all = (0..page.sentences().len()).map(|it| page.sentence(it).trim().to_owned());
        all.collect()
    };
    let (own, its) = (sentences(copy), sentences(original));
    let only = |some: &[String], others: &[String]| -> Vec<String> {
        let there: BTreeSet<&String> = others.iter().collect();
        let rest = some.iter().filter(|it| !there.contains(it));
        rest.take(CHANGED_SENTENCES).cloned().collect()
    };
    let (new, gone) = (only(&own, &its), only(&its, &own));
    new.iter().any(|a| {
        gone.iter()
            .any(|b| substituted(question, a, b, true).is_some())
    })
}

/// Reads `wanted`, tells each start and end in the order wanted, and gives the new sources that
/// are worth weighing: pages whose text an earlier page has are counted with it.
pub(crate) async fn read(
    world: &World,
    log: &Log,
    question: &Question,
    wanted: Vec<Hit>,
    shelf: &mut Shelf,
    notes: &mut Notes,
    usage: &mut Usage,
) -> Result<Vec<SourceId>> {
    let wanted = wanted.into_iter().map(|it| (it, None)).collect();
    let fresh = read_as(world, log, question, wanted, shelf, notes, usage).await?;
    Ok(fresh.into_iter().map(|it| it.1).collect())
}

/// The same, each for the researcher that is named beside it; gives the place among those wanted beside each source.
pub(crate) async fn read_as(
    world: &World,
    log: &Log,
    question: &Question,
    mut wanted: Vec<(Hit, Option<&str>)>,
    shelf: &mut Shelf,
    notes: &mut Notes,
    usage: &mut Usage,
) -> Result<Vec<(usize, SourceId)>> {
    wanted.truncate(pages_left(question, usage));
    for (hit, agent) in &wanted {
        shelf.tried.insert(hit.key().to_owned());
        let told = Event::ReadStarted {
            url: hit.url.clone(),
        };
        log.emit_as(*agent, told);
    }
    // As in `search`: all made before the first is asked.
    let wanted: Vec<_> = wanted
        .into_iter()
        .enumerate()
        .map(|(nth, (hit, agent))| async move {
            let begun = world.clock.unix_ms();
            let (page, before) = by_any(&world.readers, &hit).await;
            let ms = world.clock.unix_ms().saturating_sub(begun);
            (nth, hit, agent, page, before, ms)
        })
        .collect();
    let mut answers = stream::iter(wanted).buffered(READ_AT_ONCE);
    let mut fresh = Vec::new();
    let orders = Orders::asked(&question.text)?;
    while let Some((nth, hit, agent, page, before, ms)) = answers.next().await {
        usage.pages += 1;
        for (reader, fault) in before {
            let told = Event::Log {
                level: "info".to_owned(),
                message: format!("{reader} could not read {}: {}", hit.url, fault.chain()),
            };
            log.emit_as(agent, told);
        }
        match page {
            Err(stopped) if stopped.kind() == Kind::Cancelled => return Err(stopped),
            Err(fault) => {
                usage.failed_pages += 1;
                shelf.failed.insert(hit.url.clone(), fault.chain());
                let told = Event::ReadFailed {
                    url: hit.url,
                    reason: reason_of(&fault),
                    message: fault.chain(),
                };
                log.emit_as(agent, told);
            }
            Ok(page) => {
                let id = SourceId::new(notes.sources.len() as u32 + 1);
                let kind = SourceKind::from(hit.vertical);
                let voice = voice(&hit, &page);
                let mut source = Source::of(id, kind, &page, voice).found_as(&hit);
                if source.domain.is_empty() {
                    // What was asked for is all that is known of where it was fetched.
                    source.url.clone_from(&hit.url);
                }
                without_orders(&mut source, &orders);
                let doubted = source
                    .work
                    .retracted
                    .clone()
                    .filter(|_| !about_retraction(question));
                let twin = match doubted {
                    None => shelf.twin(id, &page),
                    Some(_) => None,
                };
                source.copy_of = twin.map(|it| it.0);
                let otherwise = twin.is_some_and(|it| says_otherwise(&question.text, &page, it.1));
                let told = Event::ReadCompleted {
                    source: source.clone(),
                    sentences: page.sentences().len() as u32,
                    warnings: page.warnings.clone(),
                    ms,
                };
                log.emit_as(agent, told);
                let original = source.copy_of.filter(|_| !otherwise);
                let original = original.and_then(|it| notes.source(it));
                if let Some(why) = doubted {
                    // What was taken back is named, and carries nothing.
                    shelf
                        .failed
                        .insert(page.url.clone(), format!("left out: {why}"));
                    log.emit(Event::Log {
                        level: "warn".to_owned(),
                        message: format!("left out {}: {why}", page.url),
                    });
                } else if let Some(original) = original {
                    log.emit(Event::EvidenceMerged {
                        url: page.url.clone(),
                        into: original.url.clone(),
                    });
                } else {
                    fresh.push((nth, id));
                }
                shelf.pages.insert(page.hash().clone(), page);
                notes.sources.push(source);
            }
        }
    }
    Ok(fresh)
}

/// The page behind `hit`, by the first reader that can, with what those before it failed with.
pub(crate) async fn by_any(
    readers: &[Arc<dyn PageReader>],
    hit: &Hit,
) -> (Result<Page>, Vec<(String, Error)>) {
    let mut before: Vec<(String, Error)> = Vec::new();
    for reader in readers.iter().filter(|it| it.reads(hit)) {
        // The first one's reason is the page's: those after it may have reasons of their own.
        if let Some((_, fault)) = before.first()
            && !reader.reads_after(hit, reason_of(fault))
        {
            continue;
        }
        match reader.read(hit).await {
            Ok(page) => return (Ok(page), before),
            // What may not be asked may not be asked by another either.
            Err(fault) if is_final(&fault) => return (Err(fault), before),
            Err(fault) => before.push((reader.name().to_owned(), fault)),
        }
    }
    // The first one's reason says most: those after it are for what it could not.
    let fault = match before.is_empty() {
        true => Error::new(
            Kind::Usage,
            format!("reading {}: no reader for this kind", hit.url),
        ),
        false => before.remove(0).1,
    };
    (Err(fault), before)
}

/// Takes out of what is told of a source what gives orders: titles and names reach reports and models, too.
fn without_orders(source: &mut Source, orders: &Orders) {
    if orders.stand_in(&source.title) {
        source.title.clone_from(&source.domain);
    }
    source.author = source.author.take().filter(|it| !orders.stand_in(it));
    source.site = source.site.take().filter(|it| !orders.stand_in(it));
}

/// Whether no other reader may or need try.
fn is_final(fault: &Error) -> bool {
    matches!(fault.kind(), Kind::Cancelled | Kind::Exhausted)
        || matches!(
            FailReason::told_in(&fault.chain()),
            Some(FailReason::BlockedAddress | FailReason::Robots | FailReason::Retracted)
        )
}

/// Whether the question is about works that were taken back.
fn about_retraction(question: &Question) -> bool {
    let words = question.text.to_lowercase();
    [
        "retract",
        "withdrawn",
        "expression of concern",
        "misconduct",
    ]
    .iter()
    .any(|it| words.contains(it))
}

/// Who speaks in a page: a scholarly work for itself, wherever it is kept; else the site that served it. Empty where nobody
/// knows who did.
///
/// A document of a folder that states a site is one voice with the others that state it, so that what it says of itself can
/// make voices fewer and never more.
fn voice(hit: &Hit, page: &Page) -> Option<String> {
    let scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
    if let Some(key) = hit.work.key().filter(|_| scholarly) {
        return Some(key);
    }
    let told = registrable_domain(&page.url);
    match page.witness {
        Witness::Fetcher | Witness::Engine | Witness::Folder => told,
        Witness::Unknown if hit.vertical == Vertical::Local || page.url == hit.url => told,
        // Written by an earlier version, which believed some pages: it stands where it was asked for, or nowhere.
        Witness::Unknown => {
            let full = hit.work.full_text.iter().map(String::as_str);
            let mut asked = full.chain([hit.url.as_str()]).map(registrable_domain);
            let vouched = told.is_some() && asked.any(|it| it == told);
            Some(told.filter(|_| vouched).unwrap_or_default())
        }
    }
}

fn pages_left(question: &Question, usage: &Usage) -> usize {
    let by_pages = question.budget.pages_left(usage);
    let by_calls = question.budget.calls_left(usage);
    by_pages
        .into_iter()
        .chain(by_calls)
        .min()
        .map_or(usize::MAX, |it| it as usize)
}

pub(crate) fn reason_of(fault: &Error) -> FailReason {
    if let Some(told) = FailReason::told_in(&fault.chain()) {
        return told;
    }
    match fault.kind() {
        Kind::NotFound => FailReason::NotFound,
        Kind::Transient => FailReason::Timeout,
        Kind::Exhausted => FailReason::TooLarge,
        Kind::Usage | Kind::Setup => FailReason::Unsupported,
        Kind::Malformed | Kind::Cancelled | Kind::Internal => FailReason::Broken,
    }
}
