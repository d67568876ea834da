//! How well each sentence of a page speaks to each item.
use std::collections::HashMap;

use crate::domain::words::{is_stop, tokens};
use crate::domain::{
    BlockKind, Brief, Evidence, EvidenceId, Item, ItemId, Page, Plan, QuestionKind, SourceId,
    Stance,
};
use crate::error::Result;
use crate::research::prompts::{self, Facet, Phrases, SentenceWords};

use super::fits::{cue_fit, kind_fit};
use super::intake::{kind_of, telling};
use super::lexicon::{Lexicon, has_phrase};
use super::sentence::{Seen, Unfit, claim_text, denies, doubts, fitness, leans};

/// Longest text of a page that is weighed, in characters (row E12).
const PAGE_CUT: usize = 25_000;
/// Length of a chunk of a longer page, in characters (row D9).
const CHUNK: usize = 4_000;
/// Most claims of a page for an item (row C4).
const MOST_CLAIMS: usize = 5;
/// Relevance to the question, own words and context together, below which a sentence is about
/// something else. Measured on the null questions of MultiHop-RAG: see `evals`.
pub(crate) const FLOOR: f32 = 0.34;
/// Words a widened passage may have.
const WIDENED_WORDS: usize = 70;

/// A question term and how telling it is.
#[derive(Debug, Clone, Copy)]
struct Term {
    id: u32,
    telling: f32,
}

/// What evidence for an item must speak of.
struct Probe {
    item: ItemId,
    /// Whether it asks the question itself or a part of it.
    core: bool,
    kind: QuestionKind,
    asked: String,
    terms: Vec<Term>,
    facet: Option<&'static Facet>,
    /// Whether the item is one side of a comparison.
    side: bool,
}

/// One page taken in for weighing.
pub(crate) struct Reading<'a> {
    pub(crate) page: &'a Page,
    pub(crate) source: SourceId,
    /// How many chunks may be kept of a page that is longer than [`PAGE_CUT`].
    pub(crate) chunks: usize,
    /// Most tokens of evidence kept (row E1's `summaryTokens`).
    pub(crate) tokens: usize,
}

/// What was found on a page, and what was left out and why.
#[derive(Default)]
pub(crate) struct Weighed {
    pub(crate) evidence: Vec<Evidence>,
    /// Sentences that give orders to machines: how many.
    pub(crate) orders: usize,
}

/// Weighs pages against one plan. Knows the words met so far.
pub(crate) struct Scale {
    lexicon: Lexicon,
    words: &'static Phrases,
    probes: Vec<Probe>,
    question: Vec<Term>,
    /// In how many sentences a word was met, of how many.
    met: HashMap<u32, u32>,
    sentences: u32,
}

/// A page's sentences as word numbers.
pub(crate) struct Lines {
    title: Vec<u32>,
    /// Sentences looked at, in order: number and words.
    lines: Vec<(usize, Vec<u32>)>,
}

impl Scale {
    pub(crate) fn new(brief: &Brief, plan: &Plan) -> Result<Scale> {
        let words = prompts::phrases()?;
        let facets = prompts::plan()?;
        let mut lexicon = Lexicon::default();
        let question = terms_of(&mut lexicon, &brief.question, &brief.key_terms);
        let whole = brief.question.as_str();
        let mut probes = Vec::new();
        for (nth, item) in plan.items().iter().enumerate() {
            let facet = facets.facet_by_heading(&item.heading).map(|it| it.1);
            let side = facet.is_none()
                && brief.kind == QuestionKind::Comparison
                && !whole.contains(&item.asks);
            let part = facet.is_none() && !side;
            let core = part || nth == 0;
            let asked = if part {
                item.asks.clone()
            } else {
                brief.question.clone()
            };
            let terms = if part || side {
                part_terms(&mut lexicon, item, side, brief)
            } else {
                terms_of(&mut lexicon, &item.terms.join(" . "), &item.terms)
            };
            probes.push(Probe {
                item: item.id,
                core,
                kind: if part {
                    kind_of(&asked, words)
                } else {
                    brief.kind
                },
                asked,
                terms: if core && !part {
                    question.clone()
                } else {
                    terms
                },
                facet,
                side,
            });
        }
        Ok(Scale {
            lexicon,
            words,
            probes,
            question,
            met: HashMap::new(),
            sentences: 0,
        })
    }

    /// The sentences of a page as word numbers, all of a short page, the best chunks of a long one.
    pub(crate) fn take_in(&mut self, reading: &Reading<'_>) -> Lines {
        let page = reading.page;
        let numbers: Vec<usize> = if page.text().len() <= PAGE_CUT {
            (0..page.sentences().len()).collect()
        } else {
            self.best_chunks(page, reading.chunks)
        };
        let lines: Vec<(usize, Vec<u32>)> = numbers
            .into_iter()
            .map(|n| (n, self.lexicon.set(page.sentence(n))))
            .collect();
        for (_, ids) in &lines {
            self.sentences += 1;
            for id in ids {
                *self.met.entry(*id).or_insert(0) += 1;
            }
        }
        Lines {
            title: self.lexicon.set(&page.title),
            lines,
        }
    }

    /// The sentences of those chunks of a long page that speak most of the question, as many as fit.
    fn best_chunks(&mut self, page: &Page, most: usize) -> Vec<usize> {
        let mut chunks: Vec<(usize, usize)> = Vec::new();
        let mut start = 0;
        for (n, it) in page.sentences().iter().enumerate() {
            let from = page.sentences()[start].start;
            if (it.end - from) as usize > CHUNK && n > start {
                chunks.push((start, n));
                start = n;
            }
        }
        chunks.push((start, page.sentences().len()));
        let words: Vec<Vec<u32>> = chunks
            .iter()
            .map(|(from, to)| {
                let mut ids: Vec<u32> = (*from..*to)
                    .flat_map(|n| self.lexicon.ids(page.sentence(n)))
                    .collect();
                ids.sort_unstable();
                ids
            })
            .collect();
        let mut wanted = self.question.clone();
        for probe in &self.probes {
            for term in &probe.terms {
                if !wanted.iter().any(|it| it.id == term.id) {
                    wanted.push(Term {
                        telling: term.telling * 0.3,
                        ..*term
                    });
                }
            }
        }
        let mut scored: Vec<(f32, usize)> = vec![(0.0, 0); chunks.len()];
        for (nth, slot) in scored.iter_mut().enumerate() {
            slot.1 = nth;
        }
        for term in &wanted {
            let counts: Vec<usize> = words.iter().map(|it| count_of(it, term.id)).collect();
            let df = counts.iter().filter(|it| **it > 0).count();
            let rare = ((chunks.len() as f32 + 1.0) / (df as f32 + 0.5))
                .ln()
                .max(0.05);
            for (slot, tf) in scored.iter_mut().zip(counts) {
                let tf = tf as f32;
                slot.0 += term.telling * rare * tf / (tf + 1.2);
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = PAGE_CUT;
        let mut kept: Vec<usize> = Vec::new();
        for (score, nth) in scored.into_iter().take(most.max(1)) {
            let (from, to) = chunks[nth];
            let size = (page.sentences()[to - 1].end - page.sentences()[from].start) as usize;
            if score <= 0.0 || size > room {
                break;
            }
            room -= size;
            kept.push(nth);
        }
        kept.sort_unstable();
        kept.into_iter()
            .flat_map(|nth| chunks[nth].0..chunks[nth].1)
            .collect()
    }

    /// Telling words count for more the rarer they are among the sentences read.
    fn weight(&self, term: &Term) -> f32 {
        if self.sentences < 20 {
            return term.telling;
        }
        let all = self.sentences as f32;
        let met = self.met.get(&term.id).copied().unwrap_or(0) as f32;
        let rare = ((all + 1.0) / (met + 0.5)).ln() / (all + 1.0).ln();
        term.telling * (0.55 + 0.45 * rare.clamp(0.0, 1.0))
    }

    fn coverage(&self, terms: &[Term], ids: &[u32]) -> f32 {
        let mut all = 0.0;
        let mut met = 0.0;
        for term in terms {
            let weight = self.weight(term);
            all += weight;
            if ids.binary_search(&term.id).is_ok() {
                met += weight;
            }
        }
        if all > 0.0 { met / all } else { 0.0 }
    }

    /// Whether one of the most telling terms is spoken of.
    fn anchored(&self, terms: &[Term], ids: &[u32]) -> bool {
        let most = terms.iter().map(|it| it.telling).fold(0.0, f32::max);
        terms
            .iter()
            .filter(|it| it.telling >= most * 0.7)
            .any(|it| ids.binary_search(&it.id).is_ok())
    }

    /// Weighs one page: evidence for each item, best sentences first kept, in the order of the page.
    pub(crate) fn weigh(
        &mut self,
        reading: &Reading<'_>,
        lines: &Lines,
        wave: u32,
        next: &mut u32,
    ) -> Result<Weighed> {
        let page = reading.page;
        let mut out = Weighed::default();
        let mut found: Vec<Found> = Vec::new();
        let mut before: (usize, &[u32]) = (usize::MAX, &[]);
        let mut heading: Vec<u32> = Vec::new();
        for (n, own) in &lines.lines {
            let seen = Seen::of(page.sentence(*n));
            let previous = if before.0.wrapping_add(1) == *n {
                before.1
            } else {
                &[]
            };
            before = (*n, own);
            match fitness(page, *n, &seen, &self.words.sentence) {
                Err(Unfit::Orders) => out.orders += 1,
                Err(Unfit::Form) => {
                    if page.sentences()[*n].kind == BlockKind::Heading {
                        heading.clone_from(own);
                    }
                }
                Ok(fit) => {
                    if let Some(it) =
                        self.judge(reading, lines, *n, own, previous, &heading, fit, seen)?
                    {
                        found.push(it);
                    }
                }
            }
        }
        keep_best(&mut found, reading.tokens);
        for it in found {
            if let Some(passage) = page.passage(it.first, it.last) {
                out.evidence.push(Evidence {
                    id: EvidenceId::new(*next),
                    items: it.items.iter().map(|(item, _)| *item).collect(),
                    source: reading.source,
                    passage,
                    claim: it.claim,
                    stance: it.stance,
                    score: it.items[0].1,
                    confidence: 0.5,
                    contradiction_or_uncertainty: it.doubt,
                    wave,
                });
                *next += 1;
            }
        }
        Ok(out)
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "a sentence and all that surrounds it"
    )]
    fn judge(
        &self,
        reading: &Reading<'_>,
        lines: &Lines,
        n: usize,
        own: &[u32],
        previous: &[u32],
        heading: &[u32],
        mut fit: f32,
        mut seen: Seen,
    ) -> Result<Option<Found>> {
        let page = reading.page;
        let words = &self.words.sentence;
        let mut context: Vec<u32> = [own, previous, heading, &lines.title].concat();
        context.sort_unstable();
        context.dedup();
        if self.coverage(&self.question, &context) < FLOOR * 0.6 {
            return Ok(None);
        }
        let mut first = n;
        let mut ids = own.to_vec();
        if leans(page.sentence(n), words) {
            let Some(start) = antecedent(page, n, words) else {
                return Ok(None);
            };
            first = start;
            fit *= 0.85;
            ids.extend_from_slice(previous);
            ids.sort_unstable();
            ids.dedup();
            let joined = format!("{} {}", page.sentence(first), page.sentence(n));
            seen = Seen::of(&joined);
            if seen.words > WIDENED_WORDS {
                return Ok(None);
            }
        }
        let text = (first..=n)
            .map(|it| page.sentence(it))
            .collect::<Vec<_>>()
            .join(" ");
        let early = 1.0 / (1.0 + n as f32 / 12.0);
        let mut items = Vec::new();
        for probe in &self.probes {
            let score = self.speaks_to(probe, &ids, &context, &text, &seen.spaced, early)? * fit;
            if score > 0.0 {
                items.push((probe.item, score.min(1.0)));
            }
        }
        items.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        if items.is_empty() || items[0].1 < 0.2 {
            return Ok(None);
        }
        let claim = (first..=n)
            .map(|it| claim_text(page.sentence(it), words))
            .collect::<Vec<_>>()
            .join(" ");
        Ok(Some(Found {
            first,
            last: n,
            stance: self.stance(&seen.spaced, &ids),
            doubt: doubts(&seen.spaced, words),
            claim,
            items,
        }))
    }

    /// The score of a sentence for one item; 0 where it does not speak to it.
    fn speaks_to(
        &self,
        probe: &Probe,
        own: &[u32],
        context: &[u32],
        text: &str,
        spaced: &str,
        early: f32,
    ) -> Result<f32> {
        let question = 0.72 * self.coverage(&self.question, own)
            + 0.28 * self.coverage(&self.question, context);
        let to_item =
            0.72 * self.coverage(&probe.terms, own) + 0.28 * self.coverage(&probe.terms, context);
        if !self.anchored(&self.question, context) {
            return Ok(0.0);
        }
        if probe.core {
            let relevance = to_item.max(if probe.facet.is_some() { question } else { 0.0 });
            if relevance < FLOOR {
                return Ok(0.0);
            }
            let fit = kind_fit(probe.kind, &probe.asked, text, spaced)?;
            return Ok(0.66 * relevance + 0.28 * fit + 0.06 * early);
        }
        if probe.side {
            let score = 0.7 * to_item + 0.2 * question + 0.1 * early;
            return Ok(if to_item >= 0.6 { score } else { 0.0 });
        }
        let cue = probe.facet.map_or(0.0, |it| cue_fit(it, text, spaced));
        if cue < 0.5 || to_item < 0.45 || question < FLOOR * 0.7 {
            return Ok(0.0);
        }
        Ok(0.3 * to_item + 0.3 * question + 0.34 * cue + 0.06 * early)
    }

    /// Which way a sentence points on a question of yes or no.
    fn stance(&self, spaced: &str, ids: &[u32]) -> Stance {
        let Some(probe) = self.probes.first() else {
            return Stance::Neutral;
        };
        if !matches!(probe.kind, QuestionKind::YesNo | QuestionKind::Causal)
            || self.coverage(&self.question, ids) < 0.45
        {
            return Stance::Neutral;
        }
        let asked = super::lexicon::spaced(&probe.asked);
        let words = &self.words.sentence;
        let mut against = denies(spaced, words) != denies(&asked, words);
        for (one, other) in &words.antonyms {
            for (one, other) in [(one, other), (other, one)] {
                if has_phrase(&asked, one)
                    && has_phrase(spaced, other)
                    && !has_phrase(spaced, one)
                    && !has_phrase(&asked, other)
                {
                    against = !against;
                    return if against {
                        Stance::Against
                    } else {
                        Stance::For
                    };
                }
            }
        }
        if against {
            Stance::Against
        } else {
            Stance::For
        }
    }

    /// Question terms that no evidence for `item` speaks of, most telling first, as they stand.
    pub(crate) fn missing(&mut self, key_terms: &[String], evidence: &[&Evidence]) -> Vec<String> {
        let mut met: Vec<u32> = Vec::new();
        for it in evidence {
            met.extend(self.lexicon.ids(&it.claim));
        }
        key_terms
            .iter()
            .filter(|it| {
                let ids = self.lexicon.ids(it);
                !ids.is_empty() && ids.iter().any(|id| !met.contains(id))
            })
            .cloned()
            .collect()
    }

    pub(crate) fn lexicon(&mut self) -> &mut Lexicon {
        &mut self.lexicon
    }

    /// Share of the question's telling words in `text`, 0 to 1.
    pub(crate) fn relevance(&mut self, text: &str) -> f32 {
        let ids = self.lexicon.set(text);
        self.coverage(&self.question, &ids)
    }
}

struct Found {
    first: usize,
    last: usize,
    items: Vec<(ItemId, f32)>,
    claim: String,
    stance: Stance,
    doubt: bool,
}

/// The sentence before, if it is in the same block, stands alone and is fit itself.
fn antecedent(page: &Page, n: usize, words: &SentenceWords) -> Option<usize> {
    let at = n.checked_sub(1)?;
    let same = page.sentences()[at].block == page.sentences()[n].block;
    let text = page.sentence(at);
    let fit = fitness(page, at, &Seen::of(text), words).ok()?;
    (same && fit >= 0.6 && !leans(text, words)).then_some(at)
}

/// The best few of a page for each item, within the tokens kept of a page; in the order of the page.
fn keep_best(found: &mut Vec<Found>, tokens_kept: usize) {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|a, b| {
        found[*b].items[0]
            .1
            .total_cmp(&found[*a].items[0].1)
            .then(a.cmp(b))
    });
    let mut counts: Vec<(ItemId, usize)> = Vec::new();
    let mut spent = 0;
    let mut keep = vec![false; found.len()];
    let mut covered: Vec<(usize, usize)> = Vec::new();
    for nth in order {
        let it = &mut found[nth];
        it.items.retain(|(item, _)| {
            counts
                .iter()
                .find(|row| row.0 == *item)
                .is_none_or(|row| row.1 < MOST_CLAIMS)
        });
        let cost = it.claim.split_whitespace().count() * 4 / 3;
        let overlaps = covered.iter().any(|(a, b)| it.first <= *b && *a <= it.last);
        if it.items.is_empty() || overlaps || (spent > 0 && spent + cost > tokens_kept) {
            continue;
        }
        spent += cost;
        covered.push((it.first, it.last));
        keep[nth] = true;
        for (item, _) in &it.items {
            match counts.iter_mut().find(|row| row.0 == *item) {
                Some(row) => row.1 += 1,
                None => counts.push((*item, 1)),
            }
        }
    }
    let mut kept = keep.into_iter();
    found.retain(|_| kept.next().unwrap_or(false));
}

fn count_of(sorted: &[u32], id: u32) -> usize {
    let from = sorted.partition_point(|it| *it < id);
    sorted[from..].iter().take_while(|it| **it == id).count()
}

/// The telling words of `text` that stand among `terms` (all, where none are given).
fn terms_of(lexicon: &mut Lexicon, text: &str, terms: &[String]) -> Vec<Term> {
    let mut found: Vec<Term> = Vec::new();
    for token in tokens(text) {
        let weight = telling(text, &token);
        if weight <= 0.0 || is_stop(&token.text) {
            continue;
        }
        for id in lexicon.ids(&token.text) {
            push_term(&mut found, id, weight);
        }
    }
    // Terms that dialogue brought in stand in no text of the question.
    for term in terms {
        for id in lexicon.ids(term) {
            push_term(&mut found, id, 0.9);
        }
    }
    found
}

fn push_term(found: &mut Vec<Term>, id: u32, telling: f32) {
    if !found.iter().any(|it| it.id == id) {
        found.push(Term { id, telling });
    }
}

fn part_terms(lexicon: &mut Lexicon, item: &Item, side: bool, brief: &Brief) -> Vec<Term> {
    if side {
        return terms_of(lexicon, &item.terms.join(" "), &[]);
    }
    let mut text = item.asks.clone();
    if !brief
        .subjects
        .iter()
        .any(|it| item.asks.contains(it.as_str()))
        && let Some(subject) = brief.subjects.first()
    {
        text = format!("{text} {subject}");
    }
    terms_of(lexicon, &text, &[])
}
