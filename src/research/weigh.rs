//! Which sentences speak to which items (rows A6, B5, C4, D7, E7).
use futures_util::{StreamExt, stream};

use crate::domain::words::share;
use crate::domain::{
    BlockKind, Brief, Evidence, EvidenceId, ItemId, ModelRole, Notes, Page, Plan, Question,
    SourceId,
};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::{LanguageModel, Log, Mind, TooLong};

use super::AT_ONCE;
use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    fit::{Window, batches},
    shapes::{WeighAsk, WeighedRow, language},
};
use super::attribution::{self, Word};
use super::foreign::{counts_otherwise, is_foreign, ties_otherwise};
use super::prompts;
use super::shelf::Shelf;
use super::unaided::lexicon::spaced;
use super::unaided::score::{CHUNK, Lines, PAGE_CUT, Reading, Scale, Weighed};
use super::unaided::sentence::{claim_text, denies, doubts};

/// Chunks of 4,000 characters kept of a page that is used whole: up to the cut of 25,000.
const WHOLE: usize = 7;
/// Findings asked of a model for a page.
const MOST_FINDINGS: usize = 8;
/// Tokens kept free for them.
const ANSWER: usize = 1_500;
/// Tokens below which a window is not tried.
const NARROWEST: u32 = 2_000;
/// Most sentences of a finding: what needs more is several.
const MOST_SENTENCES: usize = 4;
/// Score of what a model finds that has none of the question's words, and what all of them add: where its own words say
/// what the sentences say, and where they do not.
const AGREED: (f32, f32) = (0.5, 0.4);
const NAMED: (f32, f32) = (0.25, 0.5);
/// Share of a claim's words that sentences must hold to be meant, though others were named.
const MEANT: f32 = 0.5;

/// What one round weighs.
pub(crate) struct Round<'a> {
    pub(crate) question: &'a Question,
    pub(crate) brief: &'a Brief,
    /// The sources read in this round, best first.
    pub(crate) fresh: &'a [SourceId],
    pub(crate) wave: u32,
    /// How much is weighed of each, in chunks, also of a short page; by its rank where nothing is said.
    pub(crate) chunks: Option<usize>,
}

/// Weighs the pages of a round and keeps what was found; gives how much that was.
pub(crate) async fn weigh(
    log: &Log,
    aid: &mut Aid<'_>,
    round: &Round<'_>,
    scale: &mut Scale,
    notes: &mut Notes,
    shelf: &Shelf,
) -> Result<u32> {
    let found = found(log, aid, round, scale, notes, shelf).await?;
    let new = found.len() as u32;
    for it in found {
        admit(log, None, notes, it);
    }
    Ok(new)
}

/// Takes evidence into the notes, where it gets its id.
pub(crate) fn admit(log: &Log, agent: Option<&str>, notes: &mut Notes, mut it: Evidence) {
    it.id = EvidenceId::new(notes.evidence.len() as u32 + 1);
    let told = Event::EvidenceAdded {
        evidence: it.clone(),
    };
    log.emit_as(agent, told);
    notes.evidence.push(it);
}

/// Weighs the pages of a round; gives what was found, in the order of the pages.
///
/// With a model, it is asked about the best pages and about those in which the words alone found
/// something; it names sentences by number, and code makes quotes of them.
pub(crate) async fn found(
    log: &Log,
    aid: &mut Aid<'_>,
    round: &Round<'_>,
    scale: &mut Scale,
    notes: &Notes,
    shelf: &Shelf,
) -> Result<Vec<Evidence>> {
    let Round { question, wave, .. } = *round;
    let readings: Vec<Reading<'_>> = round
        .fresh
        .iter()
        .enumerate()
        .filter_map(|(rank, id)| {
            let page = shelf.page(notes.source(*id)?)?;
            if is_navigation(page) {
                log.emit(Event::EvidenceRejected {
                    url: page.url.clone(),
                    item: notes.plan.items()[0].id,
                    reason: "the page only leads on to others".to_owned(),
                });
                return None;
            }
            Some(Reading {
                page,
                source: *id,
                chunks: round.chunks.unwrap_or_else(|| chunks(question, rank)),
                whole: round.chunks.map_or(PAGE_CUT, |it| it * CHUNK),
                tokens: question.method.summary_tokens as usize,
            })
        })
        .collect();
    // All pages of the round are taken in before any is weighed: how rare a word is must not
    // depend on which page came first.
    let lines: Vec<Lines> = readings.iter().map(|it| scale.take_in(it)).collect();
    scale.learn_topic(&lines);
    let mut weighed: Vec<Weighed> = Vec::new();
    for (reading, lines) in readings.iter().zip(&lines) {
        weighed.push(scale.weigh(reading, lines, wave, &mut 1)?);
    }
    if let Some(mind) = aid.mind(Step::Weigh, ModelRole::Summarizer) {
        by_model(
            aid,
            mind,
            round,
            scale,
            &notes.plan,
            &readings,
            &lines,
            &mut weighed,
        )
        .await?;
    }
    let mut all = Vec::new();
    for (reading, weighed) in readings.iter().zip(weighed) {
        let first = notes.plan.items()[0].id;
        let url = &reading.page.url;
        if weighed.orders > 0 {
            let reason = format!(
                "{} sentences give orders to whoever reads the page by machine",
                weighed.orders
            );
            log.emit(Event::EvidenceRejected {
                url: url.clone(),
                item: first,
                reason,
            });
        }
        if weighed.evidence.is_empty() {
            let reason = "no sentence speaks clearly enough of what is asked".to_owned();
            log.emit(Event::EvidenceRejected {
                url: url.clone(),
                item: first,
                reason,
            });
        }
        all.extend(weighed.evidence);
    }
    Ok(all)
}

/// Whether a page is a list of links and no text: what a site shows to lead on.
fn is_navigation(page: &Page) -> bool {
    const LISTED: usize = 8;
    let kinds = page.sentences().iter().map(|it| it.kind);
    let (mut listed, mut told) = (0, 0);
    for kind in kinds {
        match kind {
            BlockKind::ListItem => listed += 1,
            BlockKind::Heading => {}
            _ => told += 1,
        }
    }
    let words = |n: usize| page.sentence(n).split_whitespace().count();
    let short = (0..page.sentences().len()).all(|n| words(n) <= 8);
    page.url.starts_with("http") && listed >= LISTED && told == 0 && short
}

/// Adds what a model finds on the pages to what the words alone found.
#[allow(
    clippy::too_many_arguments,
    reason = "what a round of weighing rests on"
)]
async fn by_model(
    aid: &mut Aid<'_>,
    mind: &Mind,
    round: &Round<'_>,
    scale: &mut Scale,
    plan: &Plan,
    readings: &[Reading<'_>],
    lines: &[Lines],
    weighed: &mut [Weighed],
) -> Result<()> {
    let whole = round.question.method.top_m_full_text_sources as usize;
    let mut asked = Vec::new();
    for (nth, (reading, lines)) in readings.iter().zip(lines).enumerate() {
        if nth < whole || !weighed[nth].evidence.is_empty() {
            let shown = scale.shown(reading.page, lines).0;
            let title = scale.shown_title(reading.page);
            asked.push(asked_of(
                nth,
                mind,
                round.brief,
                plan,
                (reading.page, title),
                shown,
            ));
        }
    }
    let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let by_words: Vec<Vec<Evidence>> = weighed
        .iter_mut()
        .map(|it| std::mem::take(&mut it.evidence))
        .collect();
    let (mut read, mut found_any) = (0, false);
    for (nth, model, found) in answers {
        aid.settle(Step::Weigh, ModelRole::Summarizer, model);
        match found {
            Ok(rows) => {
                read += 1;
                for row in rows {
                    if let Some(it) = earn(scale, &readings[nth], &row, round.wave)? {
                        found_any = true;
                        join(&mut weighed[nth].evidence, it);
                    }
                }
            }
            Err(fault) => aid.without(Step::Weigh, ModelRole::Summarizer, fault)?,
        }
    }
    // One that sees nothing anywhere, where the words alone found something, does not see.
    if read > 0 && !found_any && by_words.iter().any(|it| !it.is_empty()) {
        let doing = format!("{} found nothing on {read} pages", mind.model.name());
        let fault = Error::new(Kind::Malformed, doing);
        aid.without(Step::Weigh, ModelRole::Summarizer, fault)?;
    }
    // A model adds to what the words alone found, and puts its own words in their place where both mean
    // the same sentences; it erases nothing.
    for (weighed, evidence) in weighed.iter_mut().zip(by_words) {
        for it in evidence {
            let covered = weighed.evidence.iter().any(|own| {
                own.passage.first() <= it.passage.last()
                    && it.passage.first() <= own.passage.last()
                    // Two sentences beside each other may say different things.
                    && share(&it.claim, &own.claim) >= MEANT
            });
            if !covered {
                weighed.evidence.push(it);
            }
        }
    }
    Ok(())
}

/// The answer about the page with this place in the round, and who gave it.
async fn asked_of<'a>(
    nth: usize,
    mind: &'a Mind,
    brief: &'a Brief,
    plan: &'a Plan,
    page: (&'a Page, &'a str),
    shown: Vec<usize>,
) -> (usize, Counting<'a>, Result<Vec<WeighedRow>>) {
    let model = Counting::of(mind);
    let mut window = mind.window;
    let mut found = found_on(&model, window, brief, plan, page, &shown).await;
    // A window that was set too wide shows only now.
    while window > NARROWEST && found.as_ref().is_err_and(TooLong::caused) {
        window /= 2;
        found = found_on(&model, window, brief, plan, page, &shown).await;
    }
    (nth, model, found)
}

/// What a model finds among the `shown` sentences of a page, in as many calls as its window needs.
async fn found_on(
    model: &dyn LanguageModel,
    window: u32,
    brief: &Brief,
    plan: &Plan,
    (page, title): (&Page, &str),
    shown: &[usize],
) -> Result<Vec<WeighedRow>> {
    let language = language(Some(&brief.lang));
    let plain = WeighAsk {
        question: brief.asked(),
        items: plan.items(),
        title,
        sentences: &[],
        most: MOST_FINDINGS,
        language: &language,
    };
    let sentences: Vec<(usize, &str)> = shown.iter().map(|n| (*n, page.sentence(*n))).collect();
    let room = Window {
        tokens: window as usize,
        answer: ANSWER.min(window as usize / 3),
    }
    .beside(&plain.prompt()?);
    let mut rows = Vec::new();
    for batch in batches(&sentences, room) {
        // Counted from 1 in every call: with gaps between the numbers, small models name some that are not there.
        let called: Vec<(usize, &str)> = (1..)
            .zip(&batch)
            .map(|(nth, it)| (nth, it.1.as_str()))
            .collect();
        let asked = WeighAsk {
            sentences: &called,
            ..plain.clone()
        };
        let mut prompt = asked.prompt()?;
        prompt.max_tokens = Some(room.answer as u32);
        let answer = ask::typed(model, prompt, |it| asked.check(it)).await?;
        for row in asked.sound(&answer.value) {
            let mut row = row.clone();
            row.sentences = meant(&row, &called)
                .into_iter()
                .filter_map(|nth| i64::try_from(batch[nth - 1].0).ok())
                .collect();
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The sentences that a row means, as they are called in its prompt: those it names, or the one that says what it claims
/// where the named ones say something else. Only what was shown can be meant.
fn meant(row: &WeighedRow, shown: &[(usize, &str)]) -> Vec<usize> {
    let named: Vec<&(usize, &str)> = shown
        .iter()
        .filter(|it| {
            row.sentences
                .iter()
                .any(|n| usize::try_from(*n) == Ok(it.0))
        })
        .collect();
    let words: Vec<&str> = named.iter().map(|it| it.1).collect();
    let own = share(&row.claim, &words.join(" "));
    let best = shown
        .iter()
        .map(|it| (share(&row.claim, it.1), it.0))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match best {
        Some((share, nth)) if own < MEANT && share >= MEANT => vec![nth],
        _ => named.into_iter().map(|it| it.0).collect(),
    }
}

/// Evidence of what a model found: the sentences it named, as they stand. Its own words are kept only
/// where they say what the sentences say.
fn earn(
    scale: &mut Scale,
    reading: &Reading<'_>,
    row: &WeighedRow,
    wave: u32,
) -> Result<Option<Evidence>> {
    let page = reading.page;
    let mut named: Vec<usize> = row
        .sentences
        .iter()
        .filter_map(|it| usize::try_from(*it).ok())
        .collect();
    named.sort_unstable();
    named.dedup();
    let Some(&first) = named.first() else {
        return Ok(None);
    };
    // A quote is one piece: the sentences that stand together with the first.
    let last = named
        .iter()
        .skip(1)
        .fold(first, |last, n| if *n <= last + 1 { *n } else { last })
        .min(first + MOST_SENTENCES - 1);
    let Some(passage) = page.passage(first, last) else {
        return Ok(None);
    };
    let words = &prompts::phrases()?.sentence;
    let quoted: Vec<String> = (first..=last)
        .map(|n| page.sentence(n).to_owned())
        .collect();
    let plain = quoted
        .iter()
        .map(|it| claim_text(it, words))
        .collect::<Vec<_>>()
        .join(" ");
    let said = row.claim.trim();
    let there: Vec<&str> = quoted.iter().map(String::as_str).collect();
    let tied = ties_otherwise(said, scale.question(), &there);
    let (claim, worth) = if !tied && says_the_same(said, &quoted)? {
        (said.to_owned(), AGREED)
    } else {
        (plain.clone(), NAMED)
    };
    let score = (worth.0 + worth.1 * scale.relevance(&plain)).min(1.0);
    Ok(Some(Evidence {
        id: EvidenceId::new(1),
        items: vec![row.item],
        source: reading.source,
        passage,
        claim,
        stance: row.stance,
        score,
        confidence: 0.5,
        contradiction_or_uncertainty: doubts(&spaced(&plain), words),
        wave,
    }))
}

/// Whether a model's sentence says no more than the quote: no number, address or code that is not there, and nothing
/// that the words of the quote do not carry.
pub(crate) fn says_the_same(said: &str, quoted: &[String]) -> Result<bool> {
    let there: Vec<&str> = quoted.iter().map(String::as_str).collect();
    let lacking = counts_otherwise(said, &there) || is_foreign(said, there.iter().copied());
    let verdict = attribution::judge(said, quoted).verdict;
    // What denies must deny on both sides: "felled" is not said by "without felling".
    let words = &prompts::phrases()?.sentence;
    let denied = quoted.iter().any(|it| denies(&spaced(it), words));
    Ok(!said.is_empty()
        && !lacking
        && !said.contains("://")
        && denies(&spaced(said), words) == denied
        && matches!(verdict, Word::Supported | Word::Partly))
}

/// Adds a finding, or its item to the finding that rests on the same sentences.
fn join(earned: &mut Vec<Evidence>, it: Evidence) {
    let same = |other: &&mut Evidence| {
        (other.passage.first(), other.passage.last()) == (it.passage.first(), it.passage.last())
    };
    let items: Vec<ItemId> = it.items.clone();
    match earned.iter_mut().find(same) {
        Some(known) => {
            for item in items {
                if !known.items.contains(&item) {
                    known.items.push(item);
                }
            }
        }
        None => earned.push(it),
    }
}

/// How much of a long page is weighed: the best sources whole, the next by their best chunks
/// (rows A3, A6).
fn chunks(question: &Question, rank: usize) -> usize {
    if rank < question.method.top_m_full_text_sources as usize {
        WHOLE
    } else {
        WHOLE.min(question.method.top_n_chunks_per_source.max(1) as usize)
    }
}
