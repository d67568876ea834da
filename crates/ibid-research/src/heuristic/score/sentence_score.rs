//! Scores the sentences of a page: which are evidence, and for which items.
use std::collections::BTreeSet;

use crate::heuristic::advice::{is_taken_back, opening_step_fitness};
use crate::heuristic::answer_shape::{cue_fit, kind_fit};
use crate::heuristic::asked_years::asked_years;
use crate::heuristic::calendar::answers_future_with_past;
use crate::heuristic::enumeration::lead_to_own_list;
use crate::heuristic::lexicon::{begins_with_phrase, spaced};
use crate::heuristic::sentence::{
    MEMBER_FITNESS, SentenceText, claim_text, fitness, has_doubt_words, leans_on_previous,
    member_fitness,
};
use crate::heuristic::side_name::SideName;
use crate::heuristic::tables;
use crate::thresholds::{
    ANSWERING_SECTION, CORE_EARLY_WEIGHT, CORE_FIT_WEIGHT, CORE_MATTER_WEIGHT, DISSIMILAR_WEIGHT,
    EARLY_BONUS_HALF_SENTENCES, FACET_CUE_WEIGHT, FACET_EARLY_WEIGHT, FACET_MATCH_WEIGHT,
    FACET_QUESTION_WEIGHT, FACET_RELEVANCE_SHARE, HEADED_FIT, HEADED_FORM_FIT, HEADED_RELEVANCE,
    JOINED_HEADINGS_WEIGHT, LISTED_MEMBER_FIT, MANY_JOINED_HEADINGS_WEIGHT, MATCHED_WORDS_WEIGHT,
    MIN_ANSWER_FIT, MIN_EVIDENCE_SCORE, MIN_FACET_CUE_FIT, MIN_FACET_MATCH, MIN_MEANT_SIMILARITY,
    MIN_PAGE_TOPIC_OVERLAP, MIN_RELEVANCE, MIN_TOPICAL_FIT, MISSING_SIDE_WEIGHT,
    ONLY_ON_SUBJECT_WEIGHT, OTHER_ASPECT_WEIGHT, OTHER_HEAD_WEIGHT, OTHER_PART_WEIGHT,
    OTHER_SUBJECT_WEIGHT, OWN_WORDS_WEIGHT, PAGE_TOPIC_WEIGHT, SIDE_ITEM_WEIGHT, SIMILAR_FIT,
    SIMILAR_RELEVANCE, STEP_OWN_WORDS_WEIGHT, TOPIC_SIMILARITY_WEIGHT, TOPICAL_RELEVANCE_WEIGHT,
    UNCHECKED_CONFIDENCE, WIDENED_QUOTE_WEIGHT,
};
use ibid_core::Result;
use ibid_core::domain::{BlockKind, Evidence, EvidenceId, ItemId, Page, QuestionKind};

use super::best_sentences::{SentenceMatch, keep_best, unit_of};
use super::context::{HeadingItem, SentenceContext, SentenceView};
use super::heading_above::HeadingAbove;
use super::item_matchers::{ItemMatcher, meaning_score, side_score};
use super::limits::{MAX_CLAIMS, MAX_STEP_CLAIMS};
use super::page::{PageEvidence, PageInput, PageSentences};
use super::scorer::RelevanceScorer;
use super::sentence_range::{
    Candidate, SentenceRange, antecedents, code_after, concludes, is_next_step, with_code,
};
use super::set_apart::sets_apart_asked;
use super::stance::NormalizedSentence;
use super::step_lists::listed_steps;
use super::terms::WeightedTerm;

/// Headings of which a sentence consists rather than of what they were joined to: a table of contents.
const MIN_JOINED_ALONE: usize = 6;

/// The weight of a sentence to which headings were joined. In a list that it leads to, capitals begin items.
fn joined_headings_weight(around: &SentenceContext<'_>, sentence: &str) -> f32 {
    let leads = lead_to_own_list(sentence).is_some();
    match around.casing.glued_capitals(sentence) {
        _ if leads && around.headed > 0.0 => 1.0,
        0 => 1.0,
        1 | 2 => JOINED_HEADINGS_WEIGHT,
        3..MIN_JOINED_ALONE => MANY_JOINED_HEADINGS_WEIGHT,
        _ if leads => MANY_JOINED_HEADINGS_WEIGHT,
        _ => 0.0,
    }
}

impl RelevanceScorer {
    /// Scores one page: evidence for each item in the order of the page.
    pub(crate) fn weigh_page(
        &mut self,
        reading: &PageInput<'_>,
        lines: &PageSentences,
        round: u32,
        next: &mut u32,
    ) -> Result<PageEvidence> {
        let page = reading.page;
        let mut out = PageEvidence::default();
        let mut found: Vec<SentenceMatch> = Vec::new();
        let sections = &lines.sections;
        let taken_in = lines.lines.iter().map(|line| line.0).chain(sections.places());
        let poisoned = self.orders.injected_sentences(page, taken_in);
        let elsewhere = self.far_from_subject(lines);
        let mut fit_sentences: Vec<usize> = Vec::new();
        let answering = self.answering_section(page, lines);
        let asks_steps = self.item_matchers.iter().any(|it| it.kind == QuestionKind::HowTo);
        let steps = listed_steps(page, &self.words.sentence);
        let told = self.told_by_headings(page, lines);
        // How nearly the title asks how to do what the question asks, or lists what it asks for.
        let by_title = asks_steps || !told.is_empty();
        let titled = if by_title { self.title_match(&page.title) } else { 0.0 };
        let mut above = HeadingAbove::opening();
        for (at, (n, own)) in lines.lines.iter().enumerate() {
            above.reach(*n);
            let seen = SentenceText::new(page.sentence(*n));
            if poisoned.contains(n) {
                out.orders += 1;
                continue;
            }
            // A member of a list under a heading that asks the question answers, however short.
            let by_heading = told.get(n).copied();
            let is_step = asks_steps && (steps.contains(n) || by_heading.is_some());
            let asked = is_step
                || above.asks()
                || answering == Some(sections.nearest_heading(*n))
                || self.has_asked_label(page.sentence(*n), own);
            let directs = opening_step_fitness(page, *n, &self.words.sentence);
            let directs = directs.filter(|_| titled > 0.0);
            let by_place = [
                if asked { member_fitness(page, *n) } else { None },
                directs,
                by_heading.map(|_| MEMBER_FITNESS),
            ];
            let by_form = fitness(page, *n, &seen, &self.words.sentence);
            match by_place.into_iter().chain([by_form]).flatten().reduce(f32::max) {
                None => above.pass_line(self, page, *n, lines),
                Some(_) if sections.is_on_other_name(page, *n, own) => {}
                Some(_) if sections.is_told_as_false(page, *n) || above.denies(page, *n) => {}
                Some(_) if sets_apart_asked(&self.question_text, page.sentence(*n)) => {}
                Some(_) if asks_steps && is_taken_back(page, *n, &self.words.sentence) => {}
                Some(_) if elsewhere[at] => fit_sentences.push(*n),
                Some(fit) => {
                    fit_sentences.push(*n);
                    let headings = sections.words_above(*n);
                    let plain = SentenceContext::new(lines, at, &headings);
                    let around = SentenceContext { is_step, by_heading, ..plain };
                    let around = self.neighbours(page, lines, at, (&poisoned, around));
                    if by_heading.is_some() || self.lists_members(page, *n, &around) {
                        self.listed.insert((reading.source, *n));
                    }
                    let in_list = page.sentences()[*n].kind == BlockKind::ListItem;
                    let answers = in_list && answering == Some(sections.nearest_heading(*n));
                    // What speaks of its own text answers nothing, wherever it stands.
                    let strength = match self.words.sentence.aims.any_in(&seen.spaced) {
                        true => 0.0,
                        false => above.strength(page, *n).max(self.lead_in_match(page, *n)),
                    };
                    let strength = if answers { strength.max(ANSWERING_SECTION) } else { strength };
                    let headed = if by_heading.is_some() { strength.max(titled) } else { strength };
                    if headed > 0.0 && *n != 0 {
                        self.note_headed(reading.source, page, *n, headed);
                    }
                    let candidate = Candidate { page, n: *n, ids: own, fit, seen };
                    // A title lets a step in, and says of no sentence that it answers.
                    let is_of_title = directs.is_some() || by_heading.is_some();
                    let strength = if is_of_title { strength.max(titled) } else { strength };
                    above.pass(self, page, *n, lines);
                    let heading_text = above.text;
                    let around = SentenceContext { headed: strength, heading_text, ..around };
                    let matched = self.judge_sentence(candidate, &around)?;
                    if matched.is_some() && (strength == 0.0 || directs.is_some()) {
                        self.note_step_under_title(reading, *n, lines);
                    }
                    found.extend(matched);
                }
            }
        }
        out.evidence = self.kept_evidence(reading, (found, &fit_sentences), round, next);
        Ok(out)
    }

    /// The best of what was `found` among the sentences that are `fit`, what they state as facts, and rows of tables, as evidence.
    fn kept_evidence(
        &mut self,
        reading: &PageInput<'_>,
        (mut found, fit): (Vec<SentenceMatch>, &[usize]),
        round: u32,
        next: &mut u32,
    ) -> Vec<Evidence> {
        let max_claims = |id: ItemId| self.max_claims(id);
        keep_best(&mut found, reading.tokens, |it| unit_of(reading.page, it.first), max_claims);
        self.add_stated_facts(reading, fit, &mut found);
        let mut kept = Vec::new();
        for it in found {
            kept.extend(evidence(reading, it, round, *next));
            *next += 1;
        }
        kept.extend(self.table_rows(reading, round));
        kept
    }

    /// Whether a line, whose words are `own`, has a label and a figure, and a thing that the question asks of: "Projector and screen: £10".
    fn has_asked_label(&self, line: &str, own: &[u32]) -> bool {
        let figure = |rest: &str| rest.contains(|c: char| c.is_ascii_digit());
        line.split_once(": ").is_some_and(|(_, rest)| figure(rest))
            && self.asked_things.iter().any(|id| own.binary_search(id).is_ok())
    }

    /// The context of a sentence with its neighbours that give no orders, and what it means there.
    fn neighbours<'a>(
        &mut self,
        page: &'a Page,
        lines: &'a PageSentences,
        at: usize,
        (poisoned, around): (&BTreeSet<usize>, SentenceContext<'a>),
    ) -> SentenceContext<'a> {
        let (n, own) = &lines.lines[at];
        let sections = &lines.sections;
        // What a conclusion is drawn from has a word of the question: "That's why …" may follow the benches of a park.
        let before = at.checked_sub(1).map(|before| &lines.lines[before].1);
        let bears = before.is_some_and(|ids| self.coverage(&self.question, ids) > 0.0)
            || !concludes(page.sentence(*n), &self.words.sentence);
        let sound = |index: &usize| !poisoned.contains(index) && bears;
        let compared = self.in_context(page, sections, *n).whole();
        let nearest = self.is_nearest(&compared);
        SentenceContext {
            antecedents: antecedents(page, &lines.lines[..at], *n, (&sound, &self.words.sentence)),
            code: code_after(page, *n, &self.words.sentence)
                .filter(|last| (*n + 1..=*last).all(|at| sound(&at))),
            // The heading of a list of steps is not repeated with each of them.
            subject: match around.by_heading {
                Some(HeadingItem::Below(at)) => Some(at).filter(|at| !poisoned.contains(at)),
                Some(HeadingItem::Heading) => None,
                None => sections.subject_of(*n, own).filter(|at| sound(at) && !around.is_step),
            },
            antecedent: sections.antecedent_of(page, *n).filter(sound),
            compared,
            nearest,
            ..around
        }
    }

    /// The rows of tables that answer an item, without those that give orders.
    fn table_rows(&self, reading: &PageInput<'_>, round: u32) -> Vec<Evidence> {
        let page = reading.page;
        let words = &self.words.sentence;
        let mut rows = tables::rows_of_page(&self.table_requests, page, reading.source, words);
        rows.retain(|it| {
            let quoted = [Some(&it.passage), it.table_header.as_ref()].into_iter().flatten();
            let quoted = quoted.flat_map(|quote| quote.first()..=quote.last());
            self.orders.injected_sentences(page, quoted).is_empty()
        });
        rows.iter_mut().for_each(|it| it.round = round);
        rows
    }

    /// Whether a sentence is an item of a list under a title and heading that ask what the question asks.
    fn lists_members(&self, page: &Page, n: usize, around: &SentenceContext<'_>) -> bool {
        let asks_list = |it: &&ItemMatcher| {
            it.core && matches!(it.kind, QuestionKind::List | QuestionKind::HowTo)
        };
        // "It will surprise the participants" is an aim, and no step.
        let leans = || leans_on_previous(page.sentence(n), &self.words.sentence);
        page.sentences()[n].kind == BlockKind::ListItem
            && self.item_matchers.iter().filter(asks_list).any(|matcher| {
                let terms = self.known_terms(&matcher.terms);
                self.coverage(&terms, &around.topic) >= MIN_PAGE_TOPIC_OVERLAP
                    && match matcher.kind {
                        QuestionKind::List => self.matches_head(&around.topic),
                        _ => around.is_step || !leans(),
                    }
            })
    }

    /// Maximum number of claims kept of a section of a page for an item.
    fn max_claims(&self, item: ItemId) -> usize {
        let many = |it: &ItemMatcher| {
            let in_parts = matches!(it.kind, QuestionKind::HowTo | QuestionKind::List)
                || asked_years(&it.question_text).is_some();
            it.item == item && it.core && in_parts
        };
        if self.item_matchers.iter().any(many) { MAX_STEP_CLAIMS } else { MAX_CLAIMS }
    }

    /// Scores a sentence for each item; `None` if it answers none or cannot be quoted by itself.
    fn judge_sentence(
        &mut self,
        candidate: Candidate<'_>,
        around: &SentenceContext<'_>,
    ) -> Result<Option<SentenceMatch>> {
        let Candidate { page, n, .. } = candidate;
        let words = &self.words.sentence;
        let own = candidate.ids;
        let mut context: Vec<u32> = [own, around.previous, around.heading, around.title].concat();
        context.sort_unstable();
        context.dedup();
        let similarity = self.similarity(&around.compared);
        // What means what is asked needs no word of the question, but it or its context has the name that the question has.
        let meant = around.nearest
            || similarity.is_some_and(|it| it >= MIN_MEANT_SIMILARITY)
                && self.names_asked(&around.wide);
        let on_subject = meant
            || around.headed > 0.0
            || self.matches_subject(&context, &around.wide)
            || self.matches_part(&context);
        let sentence = page.sentence(n);
        if !on_subject || !meant && self.lacks_kind(own, &around.wide) {
            return Ok(None);
        }
        let mut fit = candidate.fit * joined_headings_weight(around, sentence);
        if !meant && self.names_another_kind(sentence, &around.wide)
            || self.has_another_name(sentence)
            || answers_future_with_past(&self.question_text, sentence)
        {
            fit *= OTHER_SUBJECT_WEIGHT;
        }
        // "That's why roads are straight" gives no reason by itself.
        let explains_none = |span: &SentenceRange| {
            span.first == n && self.asks_why() && concludes(page.sentence(n), words)
        };
        let span = SentenceRange::of(candidate, around, words).filter(|it| !explains_none(it));
        let Some(mut span) = span else {
            return Ok(None);
        };
        let explains = begins_with_phrase(&spaced(page.sentence(n)), &words.explaining)
            || concludes(page.sentence(n), words);
        let follows = is_next_step(page, n);
        span.fit = match span.first < n {
            true if follows || explains && self.asks_why() => fit,
            true => fit * WIDENED_QUOTE_WEIGHT,
            false => fit,
        };
        let items = self.item_scores(page, &span, &context, around)?;
        if items.is_empty() {
            return Ok(None);
        }
        let told = match around.code {
            Some(last) => with_code(page, n, last),
            None => page.sentence(n).to_owned(),
        };
        let sentences = (span.first..n).map(|nth| page.sentence(nth)).chain([told.as_str()]);
        let claims: Vec<String> = sentences.map(|text| claim_text(text, words)).collect();
        let claim = claims.join(" ");
        let claim = match span.heading {
            Some(at) if page.sentence(at).ends_with('?') => {
                format!("{} {claim}", page.sentence(at))
            }
            Some(at) => format!("{}: {claim}", page.sentence(at).trim_end_matches(['.', ':'])),
            None => claim,
        };
        // "Breakfast is included" under the name of a hotel is said of the hotel.
        let named = span.heading.filter(|at| !page.sentence(*at).ends_with('?'));
        let (normal, ids) = match named {
            Some(_) => (spaced(&claim), self.ids(&claim)),
            None => (span.seen.spaced.clone(), span.ids.clone()),
        };
        let said = NormalizedSentence { text: &claim, spaced: &normal, ids: &ids };
        let Some(stance) = self.stance_in(page, span.first..=n, said) else {
            return Ok(None);
        };
        self.copy_similarity(&around.compared, &claim);
        Ok(Some(SentenceMatch {
            first: span.first,
            last: span.last,
            heading: span.heading,
            stance,
            doubt: has_doubt_words(&span.seen.spaced, words),
            claim,
            items,
        }))
    }

    /// Whether the question, or a part of it, asks why.
    fn asks_why(&self) -> bool {
        self.item_matchers.iter().any(|it| it.core && it.kind == QuestionKind::Why)
    }

    /// The items that a span answers with their scores, best first.
    fn item_scores(
        &self,
        page: &Page,
        span: &SentenceRange,
        context: &[u32],
        around: &SentenceContext<'_>,
    ) -> Result<Vec<(ItemId, f32)>> {
        let text =
            (span.first..=span.last).map(|nth| page.sentence(nth)).collect::<Vec<_>>().join(" ");
        // A page about Halvern does not name Halvern in every sentence.
        let named = self.names.iter().map(|name| name.1);
        let mut meant = span.ids.clone();
        meant.extend(named.filter(|it| around.wide.binary_search(it).is_ok()));
        meant.sort_unstable();
        meant.dedup();
        let view = SentenceView {
            own: &meant,
            context,
            topic: &around.topic,
            text: &text,
            spaced: &span.seen.spaced,
            listed: around.by_heading.is_some()
                || page.sentences()[span.first].kind == BlockKind::ListItem,
            is_step: around.is_step,
            early: 1.0 / (1.0 + span.last as f32 / EARLY_BONUS_HALF_SENTENCES),
            headed: around.headed,
            heading_text: around.heading_text,
            similarity: self.similarity(&around.compared),
        };
        let mut items = Vec::new();
        for item_matcher in &self.item_matchers {
            let by_words = self.item_score(item_matcher, &view)?;
            let score = by_words.max(meaning_score(item_matcher, &view)) * span.fit;
            let asks = item_matcher.core && item_matcher.facet.is_some();
            let score = if around.nearest && asks { score.max(MIN_EVIDENCE_SCORE) } else { score };
            if score >= MIN_EVIDENCE_SCORE {
                items.push((item_matcher.item, score.min(1.0)));
            }
        }
        items.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(items)
    }

    /// Whether a comparison's item has no use for a sentence: it names neither side, or the item is for one side and the sentence
    /// names the other. Under a heading with the name of a side, a sentence need not repeat it.
    fn is_on_neither_side(&self, item: &ItemMatcher, view: &SentenceView<'_>) -> bool {
        if self.apart.len() < 2 {
            return false;
        }
        let says = |name: &SideName| name.is_in(view.text);
        let headed = |name: &SideName| name.is_in(view.heading_text);
        let named = self.apart.iter().filter(|name| says(name)).count();
        let under = self.apart.iter().filter(|name| headed(name)).count();
        match item.side_name(&self.apart).filter(|_| item.side) {
            // What names both sides compares them, and belongs to neither.
            Some(own) => named > 1 || !says(own) && (named > 0 || under != 1 || !headed(own)),
            None => named == 0 && under == 0,
        }
    }

    /// The score of a sentence for one item; 0 where it does not answer it.
    fn item_score(&self, item_matcher: &ItemMatcher, view: &SentenceView<'_>) -> Result<f32> {
        // Steps and members of a list seldom name what they belong to.
        let alone = match item_matcher.kind {
            QuestionKind::HowTo | QuestionKind::List => STEP_OWN_WORDS_WEIGHT,
            _ => OWN_WORDS_WEIGHT,
        };
        let met = |terms: &[WeightedTerm]| {
            alone * self.coverage(terms, view.own)
                + (1.0 - alone) * self.coverage(terms, view.context)
        };
        let mut question = met(&self.question);
        let mut to_item = met(&item_matcher.terms);
        if item_matcher.of_sides {
            to_item = self.sides.iter().map(|side| met(side)).fold(to_item, f32::max);
            question = question.max(to_item);
        }
        let SentenceView { text, spaced, early, .. } = *view;
        if self.is_on_neither_side(item_matcher, view) {
            return Ok(0.0);
        }
        let aspect = self.aspect_match(&item_matcher.aspect, view);
        if item_matcher.core {
            let by_words = self.core_score(item_matcher, view, [question, to_item, aspect])?;
            return Ok(by_words.max(meaning_score(item_matcher, view)));
        }
        if item_matcher.side {
            return Ok(side_score(to_item, question, early));
        }
        // A figure on the subject alone is no figure on what is asked of it.
        let is_named = |term: &WeightedTerm| view.own.binary_search(&term.id).is_ok();
        let strict = item_matcher.kind == QuestionKind::HowTo
            || item_matcher.facet.is_some_and(|facet| facet.numbers);
        if strict && !item_matcher.aspect.is_empty() && !item_matcher.aspect.iter().any(is_named) {
            return Ok(0.0);
        }
        let cue = item_matcher.facet.map_or(0.0, |facet| cue_fit(facet, text, spaced));
        if cue < MIN_FACET_CUE_FIT
            || to_item < MIN_FACET_MATCH
            || question < MIN_RELEVANCE * FACET_RELEVANCE_SHARE
        {
            return Ok(0.0);
        }
        // A sentence that answers the question itself belongs there rather than to a side item.
        let besides = OTHER_PART_WEIGHT + (1.0 - OTHER_PART_WEIGHT) * aspect;
        Ok(besides
            * SIDE_ITEM_WEIGHT
            * (FACET_MATCH_WEIGHT * to_item
                + FACET_QUESTION_WEIGHT * question
                + FACET_CUE_WEIGHT * cue
                + FACET_EARLY_WEIGHT * early))
    }

    /// The score of a sentence for an item on the question itself or a part of it, from how far it matches the question, the item and
    /// what is asked of the subject.
    fn core_score(
        &self,
        item_matcher: &ItemMatcher,
        view: &SentenceView<'_>,
        [question, to_item, mut aspect]: [f32; 3],
    ) -> Result<f32> {
        let SentenceView { text, spaced, early, .. } = *view;
        // What stands under a heading that asks the question need not repeat its words.
        let mut relevance = to_item.max(if item_matcher.facet.is_some() { question } else { 0.0 });
        let mut fit = kind_fit(item_matcher.kind, &item_matcher.question_text, text, spaced)?;
        let kind = item_matcher.kind;
        let headed = match item_matcher.facet {
            None if !item_matcher.is_asked_by(view.heading_text) => 0.0,
            _ => Self::told_under_heading(kind, view.headed, fit >= MIN_ANSWER_FIT),
        };
        if item_matcher.kind == QuestionKind::Comparison
            && !self.apart.iter().all(|it| it.is_in(text))
        {
            fit *= MISSING_SIDE_WEIGHT;
        }
        // Under a title that asks the same, a step or a member need not repeat the question.
        let topical = self.coverage(&self.known_terms(&item_matcher.terms), view.topic);
        let part = item_matcher.facet.is_none();
        // What is compared is the question, not a part of it.
        let similarity = view.similarity.filter(|_| !part);
        // A list under a title without the word asked for may list anything.
        let off_topic = headed == 0.0 && self.is_off_topic(similarity);
        // Of lists on the subject, one with the word for what is asked, "risks", has it in its headings or its items.
        let is_headless = kind == QuestionKind::List
            && !part
            && headed == 0.0
            && !self.matches_head(view.own)
            && !self.matches_head(view.topic);
        let listed = view.listed && !off_topic && !is_headless;
        let is_step =
            view.is_step && kind == QuestionKind::HowTo && topical >= MIN_PAGE_TOPIC_OVERLAP;
        if listed && (kind == QuestionKind::List || is_step || headed > 0.0) {
            fit = fit.max(LISTED_MEMBER_FIT);
        }
        let mut off_topic_weight = 1.0;
        if let Some(similar) = similarity {
            relevance = relevance.max(SIMILAR_RELEVANCE * similar);
            fit = fit.max(similar_fit(item_matcher.kind, similar));
            off_topic_weight =
                self.dissimilar_factor(similar, aspect.max(headed), DISSIMILAR_WEIGHT);
            aspect = aspect.max(similar);
        }
        if headed > 0.0 {
            relevance = relevance.max(HEADED_RELEVANCE * headed);
            fit = if fit >= HEADED_FIT { HEADED_FORM_FIT.max(fit) } else { HEADED_FIT };
            aspect = 1.0;
        }
        if topical >= MIN_PAGE_TOPIC_OVERLAP
            && fit >= MIN_TOPICAL_FIT
            && !off_topic
            && matches!(item_matcher.kind, QuestionKind::HowTo | QuestionKind::List)
        {
            relevance =
                relevance.max(PAGE_TOPIC_WEIGHT * topical + TOPICAL_RELEVANCE_WEIGHT * relevance);
        }
        if relevance < MIN_RELEVANCE {
            return Ok(0.0);
        }
        // A sentence without the form of an answer is only on the subject.
        let shaped = !matches!(
            item_matcher.kind,
            QuestionKind::YesNo | QuestionKind::Causal | QuestionKind::Open
        );
        // A part has the subject in common with the other parts, and only its own words tell it from them.
        let other_aspect = if part { OTHER_PART_WEIGHT } else { OTHER_ASPECT_WEIGHT };
        let mut beside = if !shaped || fit >= MIN_ANSWER_FIT {
            1.0
        } else if part {
            OTHER_PART_WEIGHT
        } else {
            ONLY_ON_SUBJECT_WEIGHT
        };
        beside *= other_aspect + (1.0 - other_aspect) * aspect;
        beside *= off_topic_weight;
        let named = headed > 0.0 || self.matches_head(view.own) || self.matches_head(view.topic);
        if !part && !named {
            beside *= OTHER_HEAD_WEIGHT;
        }
        let matter = MATCHED_WORDS_WEIGHT * relevance
            + TOPIC_SIMILARITY_WEIGHT * self.topic_similarity(view.own);
        Ok(beside
            * (CORE_MATTER_WEIGHT * matter + CORE_FIT_WEIGHT * fit + CORE_EARLY_WEIGHT * early))
    }
}

/// What was matched as evidence with this number; `None` where the page has no such sentences.
fn evidence(
    reading: &PageInput<'_>,
    it: SentenceMatch,
    round: u32,
    number: u32,
) -> Option<Evidence> {
    let page = reading.page;
    Some(Evidence {
        id: EvidenceId::new(number),
        items: it.items.iter().map(|(item, _)| *item).collect(),
        source: reading.source,
        passage: page.passage(it.first, it.last)?,
        table_header: None,
        heading: it.heading.and_then(|at| page.passage(at, at)),
        claim: it.claim,
        stance: it.stance,
        score: it.items[0].1,
        confidence: UNCHECKED_CONFIDENCE,
        contradiction_or_uncertainty: it.doubt,
        round,
    })
}

/// How far a sentence that means what is asked is an answer whatever its form: where a form is only usual. A figure is asked
/// for as a figure.
pub(crate) fn similar_fit(kind: QuestionKind, similarity: f32) -> f32 {
    match kind {
        QuestionKind::List | QuestionKind::HowTo | QuestionKind::Why => SIMILAR_FIT * similarity,
        _ => 0.0,
    }
}
