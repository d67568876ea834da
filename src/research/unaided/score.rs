//! How well each sentence of a page speaks to each item.
mod around;
mod casing;
mod chunks;
mod keep;
mod matter;
mod shown;
mod stance;
mod subject;
mod terms;

use std::collections::{BTreeSet, HashMap};

use crate::domain::words::tokens;
use crate::domain::{
    BlockKind, Brief, Evidence, EvidenceId, ItemId, Page, PageHash, Plan, QuestionKind, SourceId,
};
use crate::error::Result;
use crate::research::prompts::{self, Facet, Phrases, SentenceWords};

use around::{Around, Said};
use casing::Casing;
use keep::{Found, keep_best, unit_of};
use subject::{pairs_of, sought};
use terms::{Term, abbreviation, kin_of, names_of, part_terms, terms_of};

use super::fits::{cue_fit, kind_fit};
use super::intake::{asked_verb, is_weak};
use super::kinds::kind_of;
use super::lexicon::{Lexicon, has_phrase};
use super::orders::Orders;
use super::sentence::{Seen, claim_text, doubts, fitness, leans, measures, years_at};

/// Longest text of a page that is weighed, in characters (row E12).
pub(crate) const PAGE_CUT: usize = 25_000;
/// Length of a chunk of a longer page, in characters (row D9).
pub(crate) const CHUNK: usize = 4_000;
/// Most claims of a page for an item (row C4).
const MOST_CLAIMS: usize = 5;
/// Relevance to the question, own words and context together, below which a sentence is about
/// something else. Measured on the null questions of MultiHop-RAG: see `evals`.
pub(crate) const FLOOR: f32 = 0.34;
/// Weight of question terms that is enough to be fully on the question: four to six telling words.
const ENOUGH: f32 = 6.5;
/// From where a word counts as said by another.
const STANDS_FOR: f32 = 0.5;
/// What speaking to a side of the matter counts for, beside speaking to the question itself.
const BESIDE_THE_CORE: f32 = 0.82;
/// Words a widened passage may have.
const WIDENED_WORDS: usize = 70;

/// How much more than another word the verb tells of which the subject is asked.
const WHAT_IS_DONE: f32 = 1.8;
/// What a sentence counts for that speaks of another of the kind: of prostate cancer, not cervical.
const OF_ANOTHER: f32 = 0.5;
/// Words on each side of a date or measure that say what it is of.
const NEAR: usize = 10;
/// Share of an item's words that a page's title and heading must have to be about it.
const TOPICAL: f32 = 0.65;

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
    /// How many chunks may be kept of a page that is longer than `whole`.
    pub(crate) chunks: usize,
    /// Longest page that is taken whole, and most that is taken of a longer one, characters.
    pub(crate) whole: usize,
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
    /// The question as asked.
    asked: String,
    orders: Orders,
    probes: Vec<Probe>,
    question: Vec<Term>,
    /// The words that tell the sides of a comparison apart.
    apart: Vec<String>,
    /// Pairs of words of the question of which the first tells which of a kind is meant: "cervical"
    /// and "cancer".
    pairs: Vec<(String, String)>,
    /// The verb of which the subject is asked: "cost" of "what does a roof cost".
    done: Option<u32>,
    /// The noun for the kind of thing that is sought: "skills" of "which skills".
    sought: Option<u32>,
    /// The names in the question, as written, each with the word that stands for it.
    names: Vec<(String, u32)>,
    /// Sites read from: a question that names one asks for its words, not about it.
    sites: BTreeSet<String>,
    taken: BTreeSet<PageHash>,
    /// Short forms and what they stand for, as the pages explain them: "basal cell carcinoma (BCC)".
    aliases: Vec<(u32, Vec<u32>)>,
    /// What may stand for a word of the question, and for how much of it.
    kin: HashMap<u32, Vec<(u32, f32)>>,
    /// Words that the sentences nearest to the question share, and how telling they are.
    topic: Vec<(u32, f32)>,
    /// In how many sentences a word was met, of how many.
    met: HashMap<u32, u32>,
    sentences: u32,
}

/// A page's sentences as word numbers.
pub(crate) struct Lines {
    title: Vec<u32>,
    /// Sentences looked at, in order: number and words.
    lines: Vec<(usize, Vec<u32>)>,
    casing: Casing,
}

impl Scale {
    pub(crate) fn new(brief: &Brief, plan: &Plan) -> Result<Scale> {
        let words = prompts::phrases()?;
        let facets = prompts::plan()?;
        let mut lexicon = Lexicon::default();
        let mut done = None;
        let mut question = terms_of(&mut lexicon, &brief.question, &brief.key_terms);
        // "Need" and "use" tell as little here as anywhere.
        let verb = asked_verb(&brief.question).filter(|it| !is_weak(&it.text));
        if let Some(verb) = verb {
            let id = lexicon.id(&verb.text);
            for term in question.iter_mut().filter(|it| it.id == id) {
                term.telling = term.telling.max(1.0) * WHAT_IS_DONE;
                done = Some(id);
            }
        }
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
        let names = names_of(&mut lexicon, &brief.question);
        let asked = plan.items().iter().flat_map(|it| &it.terms);
        let kin = kin_of(&mut lexicon, std::iter::once(&brief.question).chain(asked));
        let pairs = pairs_of(brief);
        let sought = sought(&brief.question).map(|it| lexicon.id(&it));
        let mut scale = Scale {
            lexicon,
            words,
            asked: brief.question.clone(),
            orders: Orders::of(brief)?,
            pairs,
            done,
            sought,
            probes,
            apart: super::answer::apart(brief),
            question,
            names,
            sites: BTreeSet::new(),
            taken: BTreeSet::new(),
            aliases: Vec::new(),
            kin,
            topic: Vec::new(),
            met: HashMap::new(),
            sentences: 0,
        };
        // "Ameloblastoma (AB)" in the question says one thing in two ways.
        scale.learn_aliases(&brief.question);
        Ok(scale)
    }

    /// The sentences of a page as word numbers, all of a short page, the best chunks of a long one.
    pub(crate) fn take_in(&mut self, reading: &Reading<'_>) -> Lines {
        let page = reading.page;
        let numbers: Vec<usize> = if page.text().len() <= reading.whole {
            (0..page.sentences().len()).collect()
        } else {
            self.best_chunks(page, reading.chunks, reading.whole)
        };
        if let Some(site) = &page.site {
            self.sites.insert(site.to_lowercase());
        }
        for n in &numbers {
            self.learn_aliases(page.sentence(*n));
        }
        let casing = Casing::of(page, &numbers);
        let lines: Vec<(usize, Vec<u32>)> = numbers
            .into_iter()
            .map(|n| (n, self.ids(page.sentence(n))))
            .collect();
        // A page that is weighed again makes no word more frequent.
        let again = !self.taken.insert(page.hash().clone());
        for (_, ids) in lines.iter().filter(|_| !again) {
            self.sentences += 1;
            for id in ids {
                *self.met.entry(*id).or_insert(0) += 1;
            }
        }
        Lines {
            title: self.ids(&page.title),
            lines,
            casing,
        }
    }

    /// The words of a text, short forms and long ones both where one of them stands.
    fn ids(&mut self, text: &str) -> Vec<u32> {
        let mut ids = self.lexicon.set(text);
        let mut more: Vec<u32> = Vec::new();
        for (short, long) in &self.aliases {
            if ids.binary_search(short).is_ok() {
                more.extend(long);
            } else if long.iter().all(|it| ids.binary_search(it).is_ok()) {
                more.push(*short);
            }
        }
        if !more.is_empty() {
            ids.extend(more);
            ids.sort_unstable();
            ids.dedup();
        }
        ids
    }

    /// Learns "long form (LF)" where the question has one of the two.
    fn learn_aliases(&mut self, text: &str) {
        for (at, _) in text.match_indices('(') {
            let Some((long, short)) = abbreviation(text, at) else {
                continue;
            };
            let short = self.lexicon.id(&short.to_lowercase());
            let long = self.lexicon.set(long);
            let asked = |id: &u32| self.question.iter().any(|it| it.id == *id);
            let bears = asked(&short) || long.iter().all(asked);
            if bears
                && !long.is_empty()
                && self.aliases.len() < 12
                && !self.aliases.iter().any(|it| it.0 == short)
            {
                self.aliases.push((short, long));
            }
        }
    }

    /// Telling words count for more the rarer they are among the sentences read.
    fn weight(&self, term: &Term) -> f32 {
        if self.sentences < 20 {
            return term.telling;
        }
        let all = self.sentences as f32;
        let met = self.met.get(&term.id).copied().unwrap_or(0) as f32;
        let rare = ((all + 1.0) / (met + 0.5)).ln() / (all + 1.0).ln();
        term.telling * (0.3 + 0.7 * rare.clamp(0.0, 1.0))
    }

    /// Share of the terms' weight that is met. A long question is met by a sentence that speaks
    /// of a good part of it: no more than [`ENOUGH`] is asked for.
    fn coverage(&self, terms: &[Term], ids: &[u32]) -> f32 {
        let mut all = 0.0;
        let mut met = 0.0;
        for term in terms {
            let weight = self.weight(term);
            all += weight;
            met += weight * self.said(term.id, ids);
        }
        if all > 0.0 {
            (met / f32::min(all, ENOUGH)).min(1.0)
        } else {
            0.0
        }
    }

    /// How far a word is said: 1 by itself, less by a word that may stand for it.
    fn said(&self, id: u32, ids: &[u32]) -> f32 {
        if ids.binary_search(&id).is_ok() {
            return 1.0;
        }
        let kin = self.kin.get(&id).map_or(&[][..], Vec::as_slice);
        kin.iter()
            .filter(|it| ids.binary_search(&it.0).is_ok())
            .map(|it| it.1)
            .fold(0.0, f32::max)
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
        let taken_in = lines.lines.iter().map(|it| it.0);
        let poisoned = self.orders.poisoned(page, taken_in);
        let mut heading: Vec<u32> = Vec::new();
        for (at, (n, own)) in lines.lines.iter().enumerate() {
            let seen = Seen::of(page.sentence(*n));
            if poisoned.contains(n) {
                out.orders += 1;
                continue;
            }
            match fitness(page, *n, &seen, &self.words.sentence) {
                None => {
                    if page.sentences()[*n].kind == BlockKind::Heading {
                        heading.clone_from(own);
                    }
                }
                Some(fit) => {
                    let around = Around::of(lines, at, &heading);
                    let before = n.checked_sub(1).filter(|it| !poisoned.contains(it));
                    let around = Around { before, ..around };
                    found.extend(self.judge(page, *n, own, &around, fit, seen)?);
                }
            }
        }
        keep_best(&mut found, reading.tokens, |it| unit_of(page, it.first));
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

    fn judge(
        &mut self,
        page: &Page,
        n: usize,
        own: &[u32],
        around: &Around<'_>,
        mut fit: f32,
        mut seen: Seen,
    ) -> Result<Option<Found>> {
        let words = &self.words.sentence;
        let mut context: Vec<u32> = [own, around.previous, around.heading, around.title].concat();
        context.sort_unstable();
        context.dedup();
        if !self.on_subject(&context, &around.wide) && !self.on_part(&context) {
            return Ok(None);
        }
        fit *= match around.casing.glued(page.sentence(n)) {
            0 => 1.0,
            1 | 2 => 0.6,
            _ => 0.35,
        };
        if self.of_another(page.sentence(n), &around.wide) {
            fit *= OF_ANOTHER;
        }
        let mut first = n;
        let mut ids = own.to_vec();
        if leans(page.sentence(n), words) {
            let before = around.before;
            let Some(start) = before.filter(|at| is_antecedent(page, *at, n, words)) else {
                return Ok(None);
            };
            first = start;
            fit *= 0.85;
            ids.extend_from_slice(around.previous);
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
        // A page about Halvern does not say Halvern in every sentence.
        let named = self.names.iter().map(|it| it.1);
        let mut meant = ids.clone();
        meant.extend(named.filter(|it| around.wide.binary_search(it).is_ok()));
        meant.sort_unstable();
        meant.dedup();
        let early = 1.0 / (1.0 + n as f32 / 12.0);
        let mut items = Vec::new();
        let said = Said {
            own: &meant,
            context: &context,
            topic: &around.topic,
            text: &text,
            spaced: &seen.spaced,
            early,
        };
        for probe in &self.probes {
            let score = self.speaks_to(probe, &said)? * fit;
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
    fn speaks_to(&self, probe: &Probe, said: &Said<'_>) -> Result<f32> {
        // Steps and members of a list seldom name what they are steps or members of.
        let alone = match probe.kind {
            QuestionKind::HowTo | QuestionKind::List => 0.5,
            _ => 0.72,
        };
        let met = |terms: &[Term]| {
            alone * self.coverage(terms, said.own)
                + (1.0 - alone) * self.coverage(terms, said.context)
        };
        let question = met(&self.question);
        let to_item = met(&probe.terms);
        let Said {
            text,
            spaced,
            early,
            ..
        } = *said;
        if probe.core {
            let mut relevance = to_item.max(if probe.facet.is_some() { question } else { 0.0 });
            let mut fit = kind_fit(probe.kind, &probe.asked, text, spaced)?;
            if probe.kind == QuestionKind::Comparison
                && !self.apart.iter().all(|it| has_phrase(spaced, it))
            {
                fit *= 0.4;
            }
            // Under a title that asks the same, a step or a member need not repeat the question.
            let topical = self.coverage(&probe.terms, said.topic);
            if topical >= TOPICAL
                && fit >= 0.5
                && matches!(probe.kind, QuestionKind::HowTo | QuestionKind::List)
            {
                relevance = relevance.max(0.6 * topical + 0.2 * relevance);
            }
            if relevance < FLOOR {
                return Ok(0.0);
            }
            // A sentence without the shape of an answer only speaks to the matter.
            let shaped = !matches!(
                probe.kind,
                QuestionKind::YesNo | QuestionKind::Causal | QuestionKind::Open
            );
            let beside = if shaped && fit < 0.3 { 0.6 } else { 1.0 };
            let matter = 0.86 * relevance + 0.14 * self.on_topic(said.own);
            return Ok(beside * (0.6 * matter + 0.34 * fit + 0.06 * early));
        }
        if probe.side {
            let score = 0.6 * to_item + 0.3 * question + 0.1 * early;
            return Ok(if to_item >= 0.7 { score } else { 0.0 });
        }
        let cue = probe.facet.map_or(0.0, |it| cue_fit(it, text, spaced));
        if cue < 0.5 || to_item < 0.45 || question < FLOOR * 0.7 {
            return Ok(0.0);
        }
        // What answers the question itself belongs there rather than among the side points.
        Ok(BESIDE_THE_CORE * (0.3 * to_item + 0.3 * question + 0.34 * cue + 0.06 * early))
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

    /// Share of the question's telling words that stand near the dates or measures of a text: it is
    /// them that the question asks for. 1 where the kind asks for neither.
    pub(crate) fn nearness(&mut self, kind: QuestionKind, text: &str) -> f32 {
        let at: Vec<usize> = match kind {
            QuestionKind::When => years_at(text),
            QuestionKind::Quantity => measures(text).into_iter().map(|it| it.span.start).collect(),
            _ => return 1.0,
        };
        let words = tokens(text);
        let mut best: f32 = 0.0;
        for place in at {
            let nth = words.partition_point(|it| it.span.start < place);
            let from = nth.saturating_sub(NEAR);
            let to = (nth + NEAR).min(words.len());
            if let (Some(first), Some(last)) = (words.get(from), words.get(to.saturating_sub(1))) {
                best = best.max(self.relevance(&text[first.span.start..last.span.end]));
            }
        }
        best
    }

    /// The question as asked.
    pub(crate) fn question(&self) -> &str {
        &self.asked
    }

    pub(crate) fn lexicon(&mut self) -> &mut Lexicon {
        &mut self.lexicon
    }

    /// Share of the question's telling words in `text`, 0 to 1.
    pub(crate) fn relevance(&mut self, text: &str) -> f32 {
        let ids = self.ids(text);
        self.coverage(&self.question, &ids)
    }
}

/// Whether the sentence `at` before `n` is in the same block, stands alone and is fit itself.
fn is_antecedent(page: &Page, at: usize, n: usize, words: &SentenceWords) -> bool {
    let same = page.sentences()[at].block == page.sentences()[n].block;
    let text = page.sentence(at);
    let fit = fitness(page, at, &Seen::of(text), words);
    same && fit.is_some_and(|it| it >= 0.6) && !leans(text, words)
}
