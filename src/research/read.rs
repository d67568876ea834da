//! Reading the pages behind the hits (rows E5, E11).
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};

use crate::domain::words::{is_stop, tokens};
pub(crate) use crate::domain::work::registrable_domain;
use crate::domain::{
    Brief, Hit, Notes, Page, PageHash, Question, Source, SourceId, SourceKind, Usage, Vertical,
    Witness, is_public,
};
use crate::error::{Error, Kind, Result};
use crate::record::{Event, FailReason};
use crate::seams::{Log, PageReader, World};

use super::READ_AT_ONCE;
use super::query_policy::QueryPolicy;
use super::substituted::substituted;

/// Words of a shingle, and how many shingles stand for a page.
const SHINGLE: usize = 5;
const SKETCH: usize = 128;
/// Likeness of two pages' shingles above which they are one text (row C7).
const SAME_TEXT: f32 = 0.8;
/// Sentences of two copies that only one of them has, as many as are compared.
const CHANGED_SENTENCES: usize = 60;

/// Every page that was read, and every document that was tried.
#[derive(Default)]
pub(crate) struct Shelf {
    pages: BTreeMap<PageHash, Page>,
    tried: BTreeSet<String>,
    sketches: Vec<(SourceId, PageHash, Vec<u64>)>,
    failed: BTreeMap<String, String>,
    known: u32,
}

impl Shelf {
    /// An empty shelf that knows which documents could not be taken in.
    pub(crate) fn without(unreadable: &[(String, String)]) -> Shelf {
        Shelf {
            failed: unreadable.iter().cloned().collect(),
            ..Shelf::default()
        }
    }

    /// Takes in a page that an earlier run of the thread has read.
    pub(crate) fn know(&mut self, source: &Source, page: &Page) {
        self.tried.insert(source.key().to_owned());
        self.tried.insert(page.key().to_owned());
        // Remembered even where it is a copy of another: what is known was told apart once already.
        let _ = self.twin(source.id, page);
        self.known += 1;
        self.pages.insert(page.hash().clone(), page.clone());
    }

    /// How many pages were known before anybody was asked.
    pub(crate) fn known(&self) -> u32 {
        self.known
    }

    /// Whether this document was asked for before.
    pub(crate) fn tried(&self, key: &str) -> bool {
        self.tried.contains(key)
    }

    /// The page of a source.
    pub(crate) fn page(&self, source: &Source) -> Option<&Page> {
        self.pages.get(&source.page)
    }

    /// Every page that was read, by its hash.
    pub(crate) fn pages(&self) -> &BTreeMap<PageHash, Page> {
        &self.pages
    }

    /// Pages that could not be read, by address, with the reason.
    pub(crate) fn failed(&self) -> &BTreeMap<String, String> {
        &self.failed
    }

    /// Whether a lower-case word stands in a private page that was read, or in its title.
    pub(crate) fn says_privately(&self, notes: &Notes, word: &str) -> bool {
        let private = notes.sources.iter().filter(|it| !is_public(it.kind));
        let mut pages = private.filter_map(|it| self.page(it));
        pages.any(|it| {
            let text = it.text().expose().to_lowercase();
            text.contains(word) || it.title.to_lowercase().contains(word)
        })
    }

    /// Names that the titles read so far speak of and the question does not: where to look next.
    pub(crate) fn names_met(
        &self,
        brief: &Brief,
        notes: &Notes,
        policy: &QueryPolicy,
    ) -> Vec<String> {
        let asked = brief.question.to_lowercase();
        let mut counts: BTreeMap<String, (u32, &Source)> = BTreeMap::new();
        let speaks = |it: &&Source| notes.evidence.iter().any(|own| own.source == it.id);
        for source in notes.sources.iter().filter(speaks) {
            let Some(page) = self.page(source) else {
                continue;
            };
            let title = page.title.as_str();
            for token in tokens(title).iter().skip(1) {
                let word = &title[token.span.clone()];
                let name = word.starts_with(char::is_uppercase)
                    && word.chars().count() > 2
                    && !is_stop(&token.text);
                if name && !asked.contains(&token.text) {
                    let entry = counts.entry(word.to_owned()).or_insert((0, source));
                    entry.0 += 1;
                    // What a public page says too is not private.
                    if is_public(source.kind) {
                        entry.1 = source;
                    }
                }
            }
        }
        let mut ranked: Vec<(u32, String, &Source)> = counts
            .into_iter()
            .filter(|it| it.1.0 >= 2)
            .map(|it| (it.1.0, it.0, it.1.1))
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let best = ranked.into_iter().take(2);
        best.map(|(_, name, source)| {
            policy.met(&name, source);
            name
        })
        .collect()
    }

    /// The earlier source with the same text, if there is one, and its page.
    fn twin(&mut self, id: SourceId, page: &Page) -> Option<(SourceId, &Page)> {
        let sketch = sketch(page.text().expose());
        let alike = |it: &&(SourceId, PageHash, Vec<u64>)| likeness(&sketch, &it.2) >= SAME_TEXT;
        match self.sketches.iter().find(alike) {
            Some((id, hash, _)) => self.pages.get(hash).map(|it| (*id, it)),
            None => {
                self.sketches.push((id, page.hash().clone(), sketch));
                None
            }
        }
    }
}

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

/// The smallest hashes of a text's shingles: a fixed-size likeness of it (Broder 1997).
fn sketch(text: &str) -> Vec<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut hashes: Vec<u64> = words
        .windows(SHINGLE.min(words.len().max(1)))
        .map(fnv)
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(SKETCH);
    hashes
}

/// FNV-1a over the words in lower case: stable across runs and machines.
fn fnv(words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        for byte in word.bytes().chain(std::iter::once(b' ')) {
            hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// Jaccard similarity of two texts from their sketches.
fn likeness(a: &[u64], b: &[u64]) -> f32 {
    let mut union: Vec<u64> = a.iter().chain(b).copied().collect();
    union.sort_unstable();
    union.dedup();
    union.truncate(SKETCH);
    if union.is_empty() {
        return 0.0;
    }
    let both = union
        .iter()
        .filter(|it| a.binary_search(it).is_ok() && b.binary_search(it).is_ok())
        .count();
    both as f32 / union.len() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_copies_are_one_text_and_others_are_not() {
        let one = "Cork is the bark of an oak that grows around the western Mediterranean and is stripped every nine years by hand. ".repeat(3);
        let near = format!("{one} Updated today.");
        let other = "Bridges sway when many people walk in step, as the Millennium Bridge showed when it opened in June 2000.".repeat(3);
        assert!(likeness(&sketch(&one), &sketch(&near)) >= SAME_TEXT);
        assert!(likeness(&sketch(&one), &sketch(&other)) < 0.2);
    }
}
