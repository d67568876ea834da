//! The scorer: knows the words of the question and of the pages read, and how well a text matches them.
use crate::thresholds::{
    ASPECT_VERB_WEIGHT, FULL_MATCH_WEIGHT, MIN_PAGE_TOPIC_OVERLAP, MIN_VERB_MATCH,
    PAGE_TOPIC_WEIGHT, QUERY_SYNONYM_WEIGHT, SIMILAR_RELEVANCE, TOPICAL_RELEVANCE_WEIGHT,
    VERB_WEIGHT,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::heuristic::answer_shape::asks_recurring_time;
use crate::heuristic::asked_facet::asked_facet_name;
use crate::heuristic::asked_fact::{FactQuestion, QualifiedName, StatedFact};
use crate::heuristic::asked_head::{asked_head, asked_noun};
use crate::heuristic::calendar::dates_at;
use crate::heuristic::injection::InjectionDetector;
use crate::heuristic::intake::{asked_verb, is_weak};
use crate::heuristic::lexicon::is_verb;
use crate::heuristic::lexicon::{StemInterner, spaced};
use crate::heuristic::measures::measures;
use crate::heuristic::plan::compared_things;
use crate::heuristic::question_kind::compared_in;
use crate::heuristic::side_name::SideName;
use crate::heuristic::tables::{TableRequest, table_requests};
use crate::prompts;
use crate::prompts::Phrases;
use crate::thesaurus;
use ibid_core::Result;
use ibid_core::domain::words::{is_stop_word, stem, tokens};
use ibid_core::domain::{Brief, Evidence, ItemId, PageHash, Plan, QuestionKind, SourceId, Synonym};

use super::aliases::Aliases;
use super::casing::Casing;
use super::compared_claims::ComparedClaims;
use super::item_matchers::{ItemMatcher, build_item_matchers};
use super::page::{PageInput, PageSentences};
use super::subject_words::{asked_things, sought_noun, subject_pairs};
use super::terms::{
    WeightedTerm, abbreviation, asked_word, aspect_terms, question_names, related_terms, terms_of,
};
use super::word_use::WordUse;
use super::yes_no_claim::{USED, YesNoClaim};

/// Words on each side of a date or measure that say what it refers to.
const NUMBER_CONTEXT_WORDS: usize = 10;
/// Weight of a word of a yes-or-no question that an answer need not have.
const MINOR_WEIGHT: f32 = 0.3;
/// How far the opposite of the verb asked about counts as the verb: too little to stand for it.
const OPPOSITE_WEIGHT: f32 = 0.45;
/// Sentences below which all terms keep their prior weight: too few to tell rare words from common ones.
const FEW_SENTENCES: u32 = 20;

/// Scores pages against one plan. It learns the words of the pages read.
pub(crate) struct RelevanceScorer {
    pub(super) lexicon: StemInterner,
    pub(super) words: &'static Phrases,
    /// The question.
    pub(super) question_text: String,
    pub(super) orders: InjectionDetector,
    pub(super) item_matchers: Vec<ItemMatcher>,
    pub(super) question: Vec<WeightedTerm>,
    /// The terms of what is asked of the subject: "watered" of "when should a green roof be watered".
    pub(super) aspect: Vec<WeightedTerm>,
    /// How the question uses the words of its aspect.
    word_use: WordUse,
    /// The terms of each side of a comparison.
    pub(super) sides: Vec<Vec<WeightedTerm>>,
    /// The names of the sides of a comparison.
    pub(super) apart: Vec<SideName>,
    /// Pairs of words of the question of which the first specifies the second: "cervical" and "cancer".
    pub(super) pairs: Vec<(String, String)>,
    /// The nouns of the question that end a noun phrase: "pool" of "a swimming pool".
    pub(super) asked_things: Vec<u32>,
    /// The verb the question asks about: "cost" of "what does a roof cost".
    pub(super) question_verb: Option<u32>,
    /// The word that an answer must have, or one like it.
    pub(super) head: Option<u32>,
    /// The noun whose things are asked for: a heading may be no more than that.
    pub(super) noun: Option<u32>,
    /// The noun of the facet that the question names: "history" of "what is the history of slate?".
    pub(super) facet: Option<u32>,
    /// What each item that asks the question, or a part of it, asks of a table.
    pub(super) table_requests: Vec<(ItemId, TableRequest)>,
    /// What decides a yes-or-no question.
    pub(super) yes_no: Option<YesNoClaim>,
    /// The noun for the kind of thing that is sought: "skills" of "which skills".
    pub(super) target_noun: Option<u32>,
    /// Items of lists on pages that list what the question asks for: source and sentence.
    pub(super) listed: BTreeSet<(SourceId, usize)>,
    /// Sentences under a heading that asks what the question asks, and how nearly it does.
    pub(super) headed: BTreeMap<(SourceId, usize), f32>,
    /// What fact the question asks for, of something of a name.
    pub(super) fact_question: Option<FactQuestion>,
    /// The facts that sentences state in answer to it: source and sentence.
    pub(super) stated: BTreeMap<(SourceId, usize), StatedFact>,
    /// Which of the things of the name asked about a source is on, where it says so.
    pub(super) qualified: BTreeMap<SourceId, QualifiedName>,
    /// The facts that one of two copies of a text changed: source and sentence.
    pub(super) changed: BTreeMap<(SourceId, usize), StatedFact>,
    /// Whether the question asks for a time that recurs, and not for a date.
    asks_recurring_time: bool,
    /// The names in the question, as written, each with the word that stands for it.
    pub(super) names: Vec<(String, u32)>,
    /// The sites of the pages read: a question that names one wants its content, not facts about it.
    pub(super) sites: BTreeSet<String>,
    pub(super) pages_read: BTreeSet<PageHash>,
    /// The names of things of the question, as pages explain them: "basal cell carcinoma (BCC)".
    pub(super) aliases: Aliases,
    /// Words that may replace a word of the question, and how much they count.
    pub(super) related: HashMap<u32, Vec<(u32, f32)>>,
    /// Words that the sentences nearest to the question share, with their weights.
    pub(super) topic: Vec<(u32, f32)>,
    /// The claims that were compared with the question by meaning.
    pub(super) compared: ComparedClaims,
    /// In how many sentences each word occurred; `sentences` counts all.
    pub(super) sentence_counts: HashMap<u32, u32>,
    pub(super) sentences: u32,
}

/// The terms of the question, and its verb, which weighs more.
fn question_terms(lexicon: &mut StemInterner, brief: &Brief) -> (Vec<WeightedTerm>, Option<u32>) {
    let mut terms = terms_of(lexicon, &brief.question, &brief.key_terms);
    // "Need" and "use" say little here, as anywhere.
    let verb = asked_verb(&brief.question).filter(|asked_verb| !is_weak(&asked_verb.text));
    let verb = verb.map(|verb| lexicon.id(&verb.text));
    let mut found = None;
    for term in terms.iter_mut().filter(|it| Some(it.id) == verb) {
        term.weight = term.weight.max(1.0) * VERB_WEIGHT;
        found = verb;
    }
    (terms, found)
}

impl RelevanceScorer {
    pub(crate) fn new(brief: &Brief, plan: &Plan) -> Result<RelevanceScorer> {
        let words = prompts::phrases()?;
        let mut lexicon = StemInterner::default();
        let (mut question, question_verb) = question_terms(&mut lexicon, brief);
        let head = asked_head(&brief.question, words).map(|head| lexicon.id(&head));
        let noun = asked_noun(&brief.question).map(|noun| lexicon.id(&noun));
        let mut aspect = asked_aspect(&mut lexicon, brief);
        // What is asked counts, however little the word says elsewhere.
        for term in &aspect {
            let same = |it: &&mut WeightedTerm| it.id == term.id;
            if let Some(own) = question.iter_mut().find(same) {
                own.weight = own.weight.max(1.0);
            }
        }
        let yes_no = YesNoClaim::of_question(&mut lexicon, brief, &words.sentence);
        let is_minor = |id| yes_no.as_ref().is_some_and(|claim| claim.minor.contains(&id));
        for term in question.iter_mut().filter(|term| is_minor(term.id)) {
            term.weight = term.weight.min(MINOR_WEIGHT);
        }
        let item_matchers = build_item_matchers(&mut lexicon, brief, plan, &question)?;
        let sides = terms_of_sides(&mut lexicon, brief);
        let names = question_names(&mut lexicon, &brief.question);
        let asked = plan.items().iter().flat_map(|item| &item.terms);
        let mut related =
            related_terms(&mut lexicon, std::iter::once(&brief.question).chain(asked));
        relate_verb(&mut lexicon, yes_no.as_ref(), &mut related);
        let asked_things = asked_things(&mut lexicon, &brief.question);
        let target_noun = add_members(&mut lexicon, &brief.question, &mut related);
        let claimed = yes_no.as_ref().and_then(|claim| claim.verb);
        // A verb that says little elsewhere is what a yes-or-no question turns on.
        let serves = yes_no.as_ref().is_some_and(|claim| claim.purpose.is_some());
        if let Some(id) = claimed.filter(|_| !serves) {
            aspect.retain(|term| term.id != id);
            aspect.push(WeightedTerm { id, weight: ASPECT_VERB_WEIGHT });
        }
        let weak = asked_word(&mut lexicon, &brief.question);
        let verbs: Vec<u32> = claimed.into_iter().chain(question_verb).chain(weak).collect();
        let of_aspect: Vec<u32> = aspect.iter().map(|term| term.id).collect();
        let word_use = WordUse::of_question(&mut lexicon, &brief.question, &of_aspect, &verbs);
        let mut scorer = RelevanceScorer {
            facet: asked_facet_name(&brief.question).map(|name| lexicon.id(name)),
            lexicon,
            words,
            question_text: brief.question.clone(),
            orders: InjectionDetector::from_brief(brief)?,
            pairs: subject_pairs(brief),
            asked_things,
            question_verb,
            yes_no,
            head,
            noun,
            target_noun,
            asks_recurring_time: asks_recurring_time(&brief.question)?,
            table_requests: table_requests(brief, plan)?,
            item_matchers,
            sides,
            apart: SideName::of_brief(brief),
            question,
            aspect,
            word_use,
            listed: BTreeSet::new(),
            headed: BTreeMap::new(),
            fact_question: FactQuestion::from_question(&brief.question)?,
            stated: BTreeMap::new(),
            qualified: BTreeMap::new(),
            changed: BTreeMap::new(),
            names,
            sites: BTreeSet::new(),
            pages_read: BTreeSet::new(),
            aliases: Aliases::default(),
            related,
            topic: Vec::new(),
            compared: ComparedClaims::default(),
            sentence_counts: HashMap::new(),
            sentences: 0,
        };
        // "Ameloblastoma (AB)" in the question names one thing in two ways.
        scorer.learn_aliases(&brief.question);
        Ok(scorer)
    }

    /// The sentences of a page as word numbers: all of a short page, the best chunks of a long one.
    pub(crate) fn add_page(&mut self, reading: &PageInput<'_>) -> PageSentences {
        let page = reading.page;
        // What an abbreviation stands for is said once, anywhere on the page.
        for n in 0..page.sentences().len() {
            self.learn_aliases(page.sentence(n));
        }
        let numbers: Vec<usize> = match &reading.only {
            Some(only) => only.clone(),
            None if page.text().len() <= reading.whole => (0..page.sentences().len()).collect(),
            None => self.best_chunks(reading),
        };
        if let Some(site) = &page.site {
            self.sites.insert(site.to_lowercase());
        }
        let casing = Casing::from_page(page, &numbers);
        let lines: Vec<(usize, Vec<u32>)> =
            numbers.into_iter().map(|n| (n, self.ids(page.sentence(n)))).collect();
        // A page that is scored again does not make its words more frequent.
        let again = !self.pages_read.insert(page.hash().clone());
        for (_, ids) in lines.iter().filter(|_| !again) {
            self.sentences += 1;
            for id in ids {
                *self.sentence_counts.entry(*id).or_insert(0) += 1;
            }
        }
        let title = self.ids(&page.title);
        let sections = self.sections(page, &title);
        PageSentences { title, lines, casing, sections }
    }

    /// The words of a text; where it has a name of a thing, those of its other names, too.
    pub(super) fn ids(&mut self, text: &str) -> Vec<u32> {
        let mut ids = self.lexicon.id_set(text);
        self.aliases.add_other_names(&mut ids);
        ids
    }

    /// Learns "long form (LF)" where the question has one of the two.
    fn learn_aliases(&mut self, text: &str) {
        for (at, _) in text.match_indices('(') {
            if let Some((long, short)) = abbreviation(text, at) {
                self.learn_alias([long, short], None);
            }
        }
    }

    /// Learns the names in the queries that folders explain by other names.
    pub(crate) fn learn_synonyms(&mut self, synonyms: &[Synonym]) {
        for it in synonyms {
            self.learn_alias([&it.name, &it.other], it.via.as_deref());
        }
    }

    /// Learns that a name and another one, or a short form, are of one thing if the question has one of them.
    fn learn_alias(&mut self, [name, other]: [&str; 2], via: Option<&str>) {
        // "TMB-H" is one word.
        let short =
            (!other.trim().contains(' ')).then(|| vec![self.lexicon.id(&other.to_lowercase())]);
        let names =
            [self.lexicon.id_set(name), short.unwrap_or_else(|| self.lexicon.id_set(other))];
        let via = via.map(|via| self.lexicon.id_set(via));
        let asked = |id: &u32| self.question.iter().any(|it| it.id == *id);
        if names.iter().any(|name| name.iter().all(asked)) {
            self.aliases.learn(names, via.as_ref());
        }
    }

    /// The weight of a term: the rarer it is among the sentences read, the more.
    pub(super) fn weight(&self, term: &WeightedTerm) -> f32 {
        if self.sentences < FEW_SENTENCES {
            return term.weight;
        }
        let all = self.sentences as f32;
        let met = self.sentence_counts.get(&term.id).copied().unwrap_or(0) as f32;
        let rare = ((all + 1.0) / (met + 0.5)).ln() / (all + 1.0).ln();
        term.weight * (0.3 + 0.7 * rare.clamp(0.0, 1.0))
    }

    /// Share of the terms' weight that is matched. A sentence need not match all of a long question: a weight
    /// of [`FULL_MATCH_WEIGHT`] is a full match.
    pub(super) fn coverage(&self, terms: &[WeightedTerm], ids: &[u32]) -> f32 {
        let mut all = 0.0;
        let mut met = 0.0;
        for term in terms {
            let weight = self.weight(term);
            all += weight;
            met += weight * self.match_strength(term.id, ids);
        }
        if all > 0.0 { (met / f32::min(all, FULL_MATCH_WEIGHT)).min(1.0) } else { 0.0 }
    }

    /// How well a word is matched: 1 by itself, less by a replacement.
    pub(super) fn match_strength(&self, id: u32, ids: &[u32]) -> f32 {
        if ids.binary_search(&id).is_ok() {
            return 1.0;
        }
        let kin = self.related.get(&id).map_or(&[][..], Vec::as_slice);
        kin.iter()
            .filter(|pair| ids.binary_search(&pair.0).is_ok())
            .map(|pair| pair.1)
            .fold(0.0, f32::max)
    }
    /// Question terms that no evidence mentions, most informative first, as written.
    pub(crate) fn missing_terms(
        &mut self,
        key_terms: &[String],
        evidence: &[&Evidence],
    ) -> Vec<String> {
        let mut met: Vec<u32> = Vec::new();
        for it in evidence {
            met.extend(self.lexicon.ids(&it.claim));
        }
        key_terms
            .iter()
            .filter(|key_term| {
                let ids = self.lexicon.ids(key_term);
                // "Much" and "best" are asked for, and no sentence has to have them.
                let telling = !is_weak(&key_term.to_lowercase())
                    || self.head.is_some_and(|head| ids.contains(&head));
                telling && !ids.is_empty() && ids.iter().any(|id| !met.contains(id))
            })
            .cloned()
            .collect()
    }

    /// Share of the question's content words near the dates or measures of a text, which then are what the
    /// question asks for. 1 where the kind asks for neither.
    pub(crate) fn fact_nearness(&mut self, kind: QuestionKind, text: &str) -> f32 {
        let at: Vec<usize> = match kind {
            QuestionKind::When if self.asks_recurring_time => return 1.0,
            QuestionKind::When => dates_at(text),
            QuestionKind::Quantity => {
                let mut all = measures(text);
                // "pH 5.6" is no amount beside "82 %".
                if all.iter().any(|measure| measure.unit.is_some()) {
                    all.retain(|measure| measure.unit.is_some());
                }
                all.into_iter().map(|measure| measure.span.start).collect()
            }
            _ => return 1.0,
        };
        let words = tokens(text);
        let mut best: f32 = 0.0;
        for place in at {
            let clause = match kind {
                QuestionKind::Quantity => clause_around(text, place),
                _ => 0..text.len(),
            };
            let words_before = |end: usize| words.partition_point(|it| it.span.start < end);
            let nth = words_before(place);
            let from = nth.saturating_sub(NUMBER_CONTEXT_WORDS).max(words_before(clause.start));
            let to = (nth + NUMBER_CONTEXT_WORDS).min(words_before(clause.end));
            if let (Some(first), Some(last)) = (words.get(from), words.get(to.saturating_sub(1))) {
                best = best.max(self.relevance(&text[first.span.start..last.span.end]));
            }
        }
        best
    }

    /// Whether `text` has all names of the question, such as "Port" and "Ellery".
    pub(crate) fn has_asked_names(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        self.names.iter().all(|(_, id)| ids.binary_search(id).is_ok())
    }

    /// Whether `text` has the word that an answer must have, or one like it; `true` where the question names none.
    pub(crate) fn has_asked_head(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        self.matches_head(&ids)
    }

    /// Whether `text` names the kind of thing that is sought or one of its known members, such as beetles of animals; `None` where no
    /// member of the kind is known. In "the fox fence" and "Eagle Street" the animal only tells which fence and street.
    pub(crate) fn names_known_kind(&mut self, text: &str) -> Option<bool> {
        let noun = sought_noun(&self.question_text)?;
        thesaurus::members(&stem(&noun)).next()?;
        let target = self.target_noun?;
        let words = tokens(text);
        Some(words.iter().enumerate().any(|(at, word)| {
            // English puts a noun that specifies another before it, in the singular.
            let specifies = words.get(at + 1).is_some_and(|next| {
                let beside = text[word.span.end..next.span.start].trim().is_empty();
                beside && !is_stop_word(&next.text) && !is_verb(&next.text)
            });
            let ids = self.lexicon.id_set(&word.text);
            (word.text.ends_with('s') || !specifies)
                && self.match_strength(target, &ids) >= MIN_VERB_MATCH
        }))
    }

    pub(super) fn matches_head(&self, ids: &[u32]) -> bool {
        self.head.is_none_or(|head| self.match_strength(head, ids) >= MIN_VERB_MATCH)
    }

    /// Share of the words of what is asked of the subject in `text`, 0 to 1; 1 where the question has none.
    pub(crate) fn aspect_words_share(&mut self, text: &str) -> f32 {
        let aspect = self.aspect.clone();
        self.share_in_use(&aspect, text)
    }

    /// Like [`RelevanceScorer::aspect_words_share`], or how far the text means what is asked.
    pub(crate) fn aspect_share(&mut self, text: &str) -> f32 {
        let share = self.aspect_words_share(text);
        self.similarity(text).map_or(share, |similar| share.max(similar))
    }

    /// Whether `text` has one of the words of what is asked besides the verb; `true` where the question has fewer than two.
    pub(crate) fn has_asked_word_besides_verb(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        let verb = self.yes_no.as_ref().and_then(|claim| claim.verb);
        let others: Vec<u32> =
            self.aspect.iter().map(|term| term.id).filter(|id| Some(*id) != verb).collect();
        others.len() < 2 || others.iter().any(|id| self.match_strength(*id, &ids) > 0.0)
    }

    /// Share of the weight of `terms` that `text` has in the question's use; 1 of no terms.
    pub(super) fn share_in_use(&mut self, terms: &[WeightedTerm], text: &str) -> f32 {
        let ids = self.ids(text);
        let mut all = 0.0;
        let mut matched = 0.0;
        for term in terms {
            let weight = self.weight(term);
            all += weight;
            if !self.word_use.differs(&mut self.lexicon, term.id, text) {
                matched += weight * self.match_strength(term.id, &ids);
            }
        }
        if all > 0.0 { matched / all } else { 1.0 }
    }

    /// Whether evidence is an item of a list that lists what the question asks for.
    pub(crate) fn is_listed_member(&self, evidence: &Evidence) -> bool {
        self.listed.contains(&(evidence.source, evidence.passage.first()))
    }

    /// Relevance of a sentence of a page whose title asks for the same list: its members need not repeat the question.
    pub(crate) fn listed_relevance(&mut self, title: &str, relevance: f32) -> f32 {
        let topical = self.relevance(title);
        if topical < MIN_PAGE_TOPIC_OVERLAP {
            return relevance;
        }
        PAGE_TOPIC_WEIGHT * topical + TOPICAL_RELEVANCE_WEIGHT * relevance
    }

    /// Whether the first content word of `text` is one of the question, or says little of its own.
    pub(crate) fn leads_with_asked_word(&mut self, text: &str) -> bool {
        let words = tokens(text);
        let first = words.iter().find(|it| !is_stop_word(&it.text) && !is_weak(&it.text));
        first.is_none_or(|word| {
            let ids = self.ids(&word.text);
            self.coverage(&self.question, &ids) > 0.0
        })
    }

    /// Whether `text` requires more of a unit than the question has: "thyme needs 10 cm" for "which plants suit 8 cm".
    pub(crate) fn requires_more(&self, text: &str) -> bool {
        self.words.sentence.requiring.any_in(&spaced(text))
            && self.has_only_amounts(text, |said, asked| said > asked)
    }

    /// Whether `text` has amounts of a unit that the question has, but not the amount of the question.
    pub(crate) fn is_on_other_amount(&self, text: &str) -> bool {
        self.has_only_amounts(text, |said, asked| said != asked)
    }

    /// Whether `text` has amounts of a unit of the question, all of which compare with the asked one as `compares` says.
    fn has_only_amounts(&self, text: &str, compares: impl Fn(f64, f64) -> bool) -> bool {
        let said = measures(text);
        measures(&self.question_text).iter().filter(|asked| asked.unit.is_some()).any(|asked| {
            let mut same_unit = said.iter().filter(|it| it.unit == asked.unit).peekable();
            same_unit.peek().is_some() && same_unit.all(|it| compares(it.value, asked.value))
        })
    }

    /// What the question, or the first part of it, asks of a table.
    pub(crate) fn table_request(&self) -> TableRequest {
        self.table_requests[0].1.clone()
    }

    /// The question.
    pub(crate) fn question(&self) -> &str {
        &self.question_text
    }

    pub(crate) fn lexicon(&mut self) -> &mut StemInterner {
        &mut self.lexicon
    }

    /// Share of the question's content words in `text`, 0 to 1.
    pub(crate) fn word_relevance(&mut self, text: &str) -> f32 {
        let ids = self.ids(text);
        self.coverage(&self.question, &ids)
    }

    /// Like [`RelevanceScorer::word_relevance`], or how far the text means what is asked.
    pub(crate) fn relevance(&mut self, text: &str) -> f32 {
        let share = self.word_relevance(text);
        self.similarity(text).map_or(share, |similar| share.max(SIMILAR_RELEVANCE * similar))
    }
}

/// The part of a sentence around `place` that says one thing: a clause of "when" or "while" has amounts of its own.
fn clause_around(text: &str, place: usize) -> Range<usize> {
    const BREAKS: [&str; 5] = ["; ", ", when ", ", while ", ", whereas ", ", where "];
    // "Roofs, when planted with sedum, retain 60 %": the clause is closed before the figure.
    let starts = BREAKS.iter().filter_map(|it| {
        let at = text[..place].rfind(it)?;
        let is_closed = *it != "; " && text[at + it.len()..place].contains(", ");
        (!is_closed).then_some(at)
    });
    let ends = BREAKS.iter().filter_map(|it| text[place..].find(it).map(|at| place + at));
    starts.max().unwrap_or(0)..ends.min().unwrap_or(text.len())
}

/// The noun for the kind of thing that the question seeks; the known members of the kind become `related` to it. They stand for the kind
/// that is sought alone: "build" of another question names no houses.
fn add_members(
    lexicon: &mut StemInterner,
    question: &str,
    related: &mut HashMap<u32, Vec<(u32, f32)>>,
) -> Option<u32> {
    let noun = sought_noun(question)?;
    let kind = lexicon.id(&noun);
    let members = thesaurus::members(&stem(&noun));
    let members = members.map(|member| (lexicon.id(member), QUERY_SYNONYM_WEIGHT));
    related.entry(kind).or_default().extend(members);
    Some(kind)
}

/// The words of what is asked besides the subject; of a comparison, of what it is by: "price" of "how do A and B compare in price".
fn asked_aspect(lexicon: &mut StemInterner, brief: &Brief) -> Vec<WeightedTerm> {
    if brief.kind != QuestionKind::Comparison {
        return aspect_terms(lexicon, &brief.question, brief);
    }
    let criterion = compared_in(&brief.question).map_or("", |it| it.1);
    terms_of(lexicon, criterion, &[])
}

/// Relates the verb of a yes-or-no question to its opposites, and that of a question on what something is for to "used".
fn relate_verb(
    lexicon: &mut StemInterner,
    yes_no: Option<&YesNoClaim>,
    related: &mut HashMap<u32, Vec<(u32, f32)>>,
) {
    let Some(claim) = yes_no else {
        return;
    };
    for (verb, opposite) in claim.opposite_pairs() {
        related.entry(verb).or_default().push((opposite, OPPOSITE_WEIGHT));
    }
    if let Some(verb) = claim.verb.filter(|_| claim.purpose.is_some()) {
        related.entry(verb).or_default().push((lexicon.id(USED), 1.0));
    }
}

/// The terms of each side of a comparison; none for other questions.
fn terms_of_sides(lexicon: &mut StemInterner, brief: &Brief) -> Vec<Vec<WeightedTerm>> {
    if brief.kind != QuestionKind::Comparison {
        return Vec::new();
    }
    compared_things(brief).iter().map(|side| terms_of(lexicon, side, &[])).collect()
}
