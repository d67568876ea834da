//! Ranks points by how well they answer the question, or a part of it.
use crate::prompts;
use crate::thresholds::{
    AIM_WEIGHT, ASKING_HEADING, BESIDE_WORTH, COMPARISON_FORM_WEIGHT, COMPARISON_SIDES_WEIGHT,
    CURRENT_EDITION_SHARE, DENIED_DATE_FIT, DENIED_MEMBERS_WEIGHT, DISSIMILAR_WORTH, DOUBT_LOSS,
    FACT_TITLE_WEIGHT, FAR_FACT_FIT, HEADED_BONUS, HEADED_FIT, HEADED_RELEVANCE, LATE_SUBJECT_LOSS,
    LISTED_MEMBER_BONUS, LISTED_MEMBER_FIT, LONG_SENTENCE_LOSS, MEANT_BONUS, MIN_ANSWER_FIT,
    MIN_ANSWER_WORTH, MIN_ANSWER_WORTH_SHARE, MIN_DECIDING_CONTENT_WORDS, MIN_DECIDING_OVERLAP,
    MIN_STEP_FIT, MORE_EVIDENCE_BONUS, NEAR_FACT_FIT, ONE_CASE_LOSS, OTHER_AMOUNT_WEIGHT,
    OTHER_ASPECT_SURE, OTHER_ASPECT_WORTH, OTHER_LEAD_LOSS, REPORTED_QUESTION_WORTH, SIMILAR_BONUS,
    STANCE_BONUS, STATED_FACT_BONUS, SURE_FACT_BONUS, WITHOUT_HEAD_WORTH, WITHOUT_REASON_WORTH,
    WORTH_FIT_WEIGHT, WORTH_RELEVANCE_WEIGHT, WORTH_SCORE_WEIGHT,
};
use ibid_core::Result;
use ibid_core::domain::words::{Token, tokens};
use ibid_core::domain::{Brief, EvidenceStore, ItemId, QuestionKind, Source, Stance};

use super::answer_shape::{asks_for_fact, denies_members, is_free_form, kind_fit};
use super::calendar::{answers_future_with_past, lacks_first_time, years};
use super::claim_clusters::ClaimCluster;
use super::editions::is_newer_edition;
use super::lexicon::{has_phrase, spaced};
use super::question_parts;
use super::score::{RelevanceScorer, similar_fit};
use super::sentence::has_denial;
use super::side_name::SideName;

/// Share of the words of a comparison that a title has which names both sides.
const MIN_BOTH_SIDES: f32 = 0.9;

/// A point, scored as an answer to the question.
#[derive(Clone, Copy)]
pub(crate) struct RankedPoint<'a> {
    pub(crate) point: &'a ClaimCluster,
    /// How well it answers, about 0 to 1.
    pub(crate) worth: f32,
    /// Weighted share of the question's content words that it has.
    pub(crate) relevance: f32,
    /// How much it has the form of an answer to this kind of question, 0 to 1.
    pub(crate) fit: f32,
    /// Unweighted share of the question's content words that it has.
    pub(crate) share: f32,
    /// How far it means what is asked, 0 to 1, if that was compared.
    pub(crate) similarity: Option<f32>,
    /// The probability that it answers the question, by the model that compares meaning, if that read it.
    pub(crate) probability: Option<f32>,
    /// Whether it states the fact that is asked for, in a form that says so.
    pub(crate) states_fact: bool,
    /// Whether it means what is asked, in whatever words, or comes nearest to it of all that was read.
    pub(crate) meant: bool,
    /// Whether it begins with the subject of the question.
    pub(crate) early: bool,
    /// Whether it is an item of a list that lists what is asked for.
    pub(crate) listed: bool,
    /// Whether it has the word asked for, or one like it.
    pub(crate) has_head: bool,
    /// Whether it stands under a heading that asks the question.
    pub(crate) headed: bool,
    /// Whether the pages read name each thing that the question names.
    pub(crate) things_known: bool,
}

/// Ranks the points by how well they answer, best first.
pub(crate) fn rank_points<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    points: &'a [ClaimCluster],
) -> Result<Vec<RankedPoint<'a>>> {
    let apart = SideName::of_brief(brief);
    let mut ranked = points
        .iter()
        .map(|point| rank_point(brief, notes, scorer, &apart, point))
        .collect::<Result<Vec<RankedPoint<'_>>>>()?;
    use QuestionKind::{HowTo, Open, Why};
    if asks_for_fact(brief.kind) || matches!(brief.kind, HowTo | Open | Why) {
        lower_other_aspects(scorer, &mut ranked);
    }
    if is_free_form(brief.kind) {
        lower_without_names(notes, scorer, &mut ranked);
    }
    sort_best_first(&mut ranked);
    Ok(ranked)
}

/// The points that no later edition replaces: those that `stands` accepts. What the current edition of a work says is put first where the
/// edition that it replaces answers best: a later edition need not repeat what the work is about.
pub(crate) fn current_points<'a>(
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
    stands: impl Fn(&ClaimCluster) -> bool,
) -> Vec<RankedPoint<'a>> {
    let mut current: Vec<RankedPoint<'a>> =
        ranked.iter().filter(|it| stands(it.point)).copied().collect();
    let replaced = |best: &&RankedPoint<'_>| {
        current.iter().all(|it| !std::ptr::eq(it.point, best.point))
            && best.worth >= MIN_ANSWER_WORTH
    };
    let Some(best) = ranked.first().filter(replaced) else {
        return current;
    };
    let sources = |it: &RankedPoint<'_>| -> Vec<&Source> {
        let cited = it.point.evidence.iter().map(|nth| notes.evidence[*nth].source);
        cited.filter_map(|source| notes.source(source)).collect()
    };
    let older = sources(best);
    let succeeds = |it: &RankedPoint<'_>| {
        let newer = sources(it);
        let later = |newer: &&&Source| older.iter().any(|older| is_newer_edition(newer, older));
        let on_it = it.relevance >= best.relevance * CURRENT_EDITION_SHARE;
        it.fit >= MIN_ANSWER_FIT && it.has_head && on_it && newer.iter().any(|it| later(&it))
    };
    if let Some(at) = current.iter().position(succeeds) {
        let it = &mut current[at];
        it.worth = it.worth.max(best.worth * MIN_ANSWER_WORTH_SHARE);
        current[..=at].rotate_right(1);
    }
    current
}

/// How well one point answers.
fn rank_point<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    apart: &[SideName],
    point: &'a ClaimCluster,
) -> Result<RankedPoint<'a>> {
    let things_known = !scorer.asks_of_unknown_thing();
    let words = &prompts::phrases()?.sentence;
    let lower = spaced(&point.text);
    let mut fit = kind_fit(brief.kind, &brief.question, &point.text, &lower)?;
    // A figure is asked for as a figure, and a place as a place: neither a heading nor its meaning makes one of a sentence.
    let formless = asks_for_fact(brief.kind) && fit < MIN_ANSWER_FIT;
    fit *= FAR_FACT_FIT + NEAR_FACT_FIT * scorer.fact_nearness(brief.kind, &point.text);
    match brief.kind {
        // "Built in 1791, not in 1788" says when.
        QuestionKind::When
            if has_denial(lower.split(", not ").next().unwrap_or_default(), words) =>
        {
            fit *= DENIED_DATE_FIT;
        }
        QuestionKind::Comparison => fit = comparison_fit(fit, apart, &point.text),
        _ => {}
    }
    let mut relevance = scorer.relevance(&point.text);
    let first = &notes.evidence[point.evidence[0]];
    let heading = scorer.heading_strength(first);
    let heading = RelevanceScorer::told_under_heading(brief.kind, heading, !formless);
    let similarity = scorer.similarity(&point.text);
    let off_topic = heading == 0.0 && scorer.is_off_topic(similarity);
    let listed = scorer.is_listed_member(first)
        && !scorer.requires_more(&point.text)
        && !off_topic
        && is_free_form(brief.kind);
    let step = brief.kind == QuestionKind::HowTo && fit >= MIN_STEP_FIT;
    if (brief.kind == QuestionKind::List || step) && !off_topic {
        relevance = relevance.max(scorer.listed_relevance(page_title(notes, point), relevance));
    }
    // "It serves four people" in a recipe for soup.
    if asks_for_fact(brief.kind) && !formless && scorer.aspect_words_share(&point.text) > 0.0 {
        let titled = format!("{} {}", page_title(notes, point), point.text);
        relevance = relevance.max(FACT_TITLE_WEIGHT * scorer.word_relevance(&titled));
    }
    // A page whose title asks the question is on it; a sentence of it must still have the form of the answer and a word of what is asked.
    let on_aspect = fit >= MIN_ANSWER_FIT && scorer.word_relevance(&point.text) > 0.0;
    if is_free_form(brief.kind) && (on_aspect || step) {
        relevance = relevance.max(HEADED_RELEVANCE * title_asks(brief.kind, notes, scorer, point));
    }
    if heading > 0.0 {
        relevance = relevance.max(HEADED_RELEVANCE * heading);
        let by_place = if listed { LISTED_MEMBER_FIT } else { HEADED_FIT };
        fit = if formless { fit } else { fit.max(by_place) };
    }
    if brief.kind == QuestionKind::List && scorer.names_known_kind(&point.text) == Some(true) {
        fit = fit.max(LISTED_MEMBER_FIT);
    }
    if let Some(similar) = similarity {
        fit = fit.max(similar_fit(brief.kind, similar));
    }
    let mut it = RankedPoint {
        point,
        worth: 0.0,
        relevance,
        fit,
        share: scorer.term_share(&point.text).max(heading),
        similarity,
        probability: scorer.answer_probability(&point.text),
        meant: scorer.is_meant(&point.text),
        states_fact: scorer.states_asked_fact(first, &point.text),
        early: scorer.begins_with_subject(&point.text),
        listed,
        has_head: heading > 0.0 || scorer.has_asked_head(&point.text),
        headed: heading > 0.0,
        things_known: things_known
            && !scorer.has_another_name(&point.text)
            && !answers_future_with_past(&brief.question, &point.text)
            && !lacks_first_time(&brief.question, &point.text),
    };
    it.worth = worth_of(brief, notes, scorer, (&it, &lower), formless)?;
    Ok(it)
}

/// The worth of a point whose parts are known, and whose normalized text is `lower`. It is `formless` where it has not the form of the
/// fact asked for.
fn worth_of(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    (it, lower): (&RankedPoint<'_>, &str),
    formless: bool,
) -> Result<f32> {
    let point = it.point;
    let first = &notes.evidence[point.evidence[0]];
    let heading = scorer.heading_strength(first);
    let heading = RelevanceScorer::told_under_heading(brief.kind, heading, !formless);
    let mut worth = answer_score(brief.kind, &brief.question, it, lower)?;
    if brief.kind == QuestionKind::Quantity && !scorer.leads_with_asked_word(&point.text) {
        worth -= OTHER_LEAD_LOSS;
    }
    if brief.kind != QuestionKind::YesNo && scorer.is_on_other_amount(&point.text) {
        worth *= OTHER_AMOUNT_WEIGHT;
    }
    if it.listed {
        worth += LISTED_MEMBER_BONUS;
    }
    let decides = it.relevance >= MIN_DECIDING_OVERLAP && it.share >= MIN_DECIDING_CONTENT_WORDS;
    if brief.kind == QuestionKind::YesNo && decides && first.stance != Stance::Neutral {
        worth += STANCE_BONUS;
    }
    let is_of_list = brief.kind == QuestionKind::List && !it.listed;
    let names_kind = if is_of_list { scorer.names_known_kind(&point.text) } else { None };
    if !names_kind.unwrap_or(it.has_head) {
        worth *= WITHOUT_HEAD_WORTH;
    }
    if let Some(similar) = it.similarity {
        worth = worth_by_meaning((it, worth), scorer, (similar, heading), formless);
    }
    if it.states_fact {
        worth += STATED_FACT_BONUS;
    }
    let told_by_meaning = asks_for_fact(brief.kind) || brief.kind == QuestionKind::Comparison;
    if told_by_meaning && !formless {
        worth += SURE_FACT_BONUS * it.probability.unwrap_or_default();
    }
    // Under such a heading, what was said need not mean the question.
    if heading >= ASKING_HEADING && !it.listed && is_free_form(brief.kind) {
        worth += HEADED_BONUS;
    }
    if brief.kind == QuestionKind::List && denies_members(&brief.question, &it.point.text)? {
        worth *= DENIED_MEMBERS_WEIGHT;
    }
    Ok(worth)
}

/// Lowers what has none of the words for what is asked of the subject, where another point that fits has them: "the regatta is held on
/// Saturday" beside "parking is in the field", to "where can I park at the regatta?"
fn lower_other_aspects(scorer: &mut RelevanceScorer, ranked: &mut [RankedPoint<'_>]) {
    let shares: Vec<f32> =
        ranked.iter().map(|it| scorer.aspect_words_share(&it.point.text)).collect();
    let on_aspect =
        |(it, share): (&RankedPoint<'_>, &f32)| *share > 0.0 && it.fit >= MIN_ANSWER_FIT;
    if !ranked.iter().zip(&shares).any(on_aspect) {
        return;
    }
    for (it, share) in ranked.iter_mut().zip(shares) {
        let sure = it.probability.is_some_and(|sure| sure >= OTHER_ASPECT_SURE);
        if share == 0.0 && !sure && !it.headed && !it.listed && !it.states_fact {
            it.worth *= OTHER_ASPECT_WORTH;
        }
    }
}

/// Lowers what has not all names of the question, nor has the title of its page, where another point that fits has them: the tools of a
/// site beside its encryption, to "why does 18F use HTTPS".
fn lower_without_names(
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    ranked: &mut [RankedPoint<'_>],
) {
    let names_all = |it: &RankedPoint<'_>, scorer: &mut RelevanceScorer| {
        let titled = format!("{} {}", page_title(notes, it.point), it.point.text);
        it.listed || scorer.has_asked_names(&titled)
    };
    let named: Vec<bool> = ranked.iter().map(|it| names_all(it, scorer)).collect();
    let fits = |(it, named): (&RankedPoint<'_>, &bool)| *named && it.fit >= MIN_ANSWER_FIT;
    if !ranked.iter().zip(&named).any(fits) {
        return;
    }
    for (it, named) in ranked.iter_mut().zip(named) {
        if !named {
            it.worth *= OTHER_ASPECT_WORTH;
        }
    }
}

/// The worth of a point that means what is asked as far as `similar`, under a heading that asks it as far as `heading`.
fn worth_by_meaning(
    (it, worth): (&RankedPoint<'_>, f32),
    scorer: &mut RelevanceScorer,
    (similar, heading): (f32, f32),
    formless: bool,
) -> f32 {
    let text = &it.point.text;
    let words = scorer.aspect_words_share(text).max(heading);
    let mut worth = worth * scorer.dissimilar_factor(similar, words, DISSIMILAR_WORTH);
    // What has all words asked for loses nothing where words are found.
    if scorer.was_compared(text) && (scorer.words_failed() || words < 1.0) {
        worth *= BESIDE_WORTH + (1.0 - BESIDE_WORTH) * similar;
    }
    // Where words fail, what surely means what is asked leads.
    if scorer.words_failed() {
        worth += MEANT_BONUS * it.probability.unwrap_or_default();
    }
    // What has the words asked for is ranked by them.
    if !formless {
        worth += SIMILAR_BONUS * similar * (1.0 - words);
    }
    worth
}

/// The fit of a text as a comparison, of its form and of whether it names all sides.
fn comparison_fit(form: f32, sides: &[SideName], text: &str) -> f32 {
    let all = sides.iter().all(|it| it.is_in(text));
    COMPARISON_FORM_WEIGHT * form + if all { COMPARISON_SIDES_WEIGHT } else { 0.0 }
}

/// How nearly the title of the page of a point asks the question, 0 to 1. A shop that calls its page as people ask gains nothing by it,
/// and the title of a page on one side asks for no comparison.
pub(crate) fn title_asks(
    kind: QuestionKind,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    point: &ClaimCluster,
) -> f32 {
    let source = notes.source(notes.evidence[point.evidence[0]].source);
    let source = source.filter(|source| !source.is_offer);
    let share = source.map_or(0.0, |source| scorer.title_match(&source.title));
    let least = if kind == QuestionKind::Comparison { MIN_BOTH_SIDES } else { 0.0 };
    if share >= least { share } else { 0.0 }
}

/// The title of the page that a point is from.
pub(crate) fn page_title<'n>(notes: &'n EvidenceStore, point: &ClaimCluster) -> &'n str {
    let source = notes.source(notes.evidence[point.evidence[0]].source);
    source.map_or("", |source| source.title.as_str())
}

/// Whether a figure holds for one place or time only, which the question does not name: "in 2014 the roof of the Halvern library".
fn is_single_case_figure(asked: &str, text: &str) -> bool {
    let is_name = |word: &Token| {
        let word = &text[word.span.clone()];
        word.starts_with(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase)
    };
    let own = spaced(text);
    if [" our ", " my ", " ours "].iter().any(|it| own.contains(it)) {
        return true;
    }
    let asked = spaced(asked);
    let is_asked = |word: &Token| has_phrase(&asked, &word.text);
    let mut words = tokens(text).into_iter().skip(1);
    words.any(|it| is_name(&it) && !is_asked(&it))
        || years(text).iter().any(|year| !has_phrase(&asked, &year.to_string()))
}

/// How well a point answers, about 0 to 1: from its relevance, its form and its wording. `lower` is its normalized text.
fn answer_score(kind: QuestionKind, asked: &str, it: &RankedPoint<'_>, lower: &str) -> Result<f32> {
    let words = &prompts::phrases()?.sentence;
    let point = it.point;
    let mut worth = WORTH_RELEVANCE_WEIGHT * it.relevance
        + WORTH_FIT_WEIGHT * it.fit
        + WORTH_SCORE_WEIGHT * point.score;
    worth += MORE_EVIDENCE_BONUS * (point.evidence.len().min(3) as f32 - 1.0);
    if words.doubt.any_in(lower) {
        worth -= DOUBT_LOSS;
    }
    // "Mr Hall asked whether the gate could be locked" asks, and does not answer.
    if words.reported_question.any_in(lower) {
        worth *= REPORTED_QUESTION_WORTH;
    }
    if point.words > 40 {
        worth -= LONG_SENTENCE_LOSS;
    }
    // What gives no reason does not say why, whatever words of the question it has.
    if kind == QuestionKind::Why && it.fit < MIN_ANSWER_FIT {
        worth *= WITHOUT_REASON_WORTH;
    }
    if kind == QuestionKind::Quantity {
        worth -= if is_single_case_figure(asked, &point.text) { ONE_CASE_LOSS } else { 0.0 };
        worth -= if it.early { 0.0 } else { LATE_SUBJECT_LOSS };
    }
    Ok(if words.aims.any_in(lower) { worth * AIM_WEIGHT } else { worth })
}

fn sort_best_first(ranked: &mut [RankedPoint<'_>]) {
    ranked
        .sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.point.evidence.cmp(&b.point.evidence)));
}

/// Ranks the points on `item`, a part of the question, by how well they answer it, best first.
fn rank_for_part<'a>(
    item: ItemId,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    points: &[RankedPoint<'a>],
) -> Result<Vec<RankedPoint<'a>>> {
    let Some((kind, asked)) = scorer.part_question(item) else {
        return Ok(Vec::new());
    };
    let mut ranked = Vec::new();
    for it in points.iter().filter(|it| it.point.items.contains(&item)) {
        let text = &it.point.text;
        let lower = spaced(text);
        let relevance = scorer.part_relevance(item, text);
        // The kind of the part may have lists, though that of the question has none.
        let first = &notes.evidence[it.point.evidence[0]];
        let listed = it.listed || scorer.is_listed_member(first) && is_free_form(kind);
        let least = if listed { LISTED_MEMBER_FIT } else { 0.0 };
        let fit = kind_fit(kind, &asked, text, &lower)?.max(least);
        let early = scorer.begins_with_part(item, text);
        let mut it =
            RankedPoint { relevance, fit, share: relevance, early, listed, has_head: true, ..*it };
        it.worth = answer_score(kind, &asked, &it, &lower)?;
        ranked.push(it);
    }
    sort_best_first(&mut ranked);
    if kind == QuestionKind::HowTo {
        put_first_step_first(notes, &mut ranked);
    }
    Ok(ranked)
}

/// On the page with the best step, ranks the earliest step first.
fn put_first_step_first(notes: &EvidenceStore, ranked: &mut [RankedPoint<'_>]) {
    let Some(best) = ranked.first().copied() else {
        return;
    };
    let place = |it: &RankedPoint<'_>| {
        let evidence = it.point.evidence.first().map(|nth| &notes.evidence[*nth]);
        evidence.map(|evidence| (evidence.source, evidence.passage.first()))
    };
    let page = place(&best).map(|place| place.0);
    let step = |it: &RankedPoint<'_>| {
        it.fit >= best.fit
            && it.worth >= best.worth * MIN_ANSWER_WORTH_SHARE
            && place(it).map(|it| it.0) == page
    };
    let earliest =
        ranked.iter().enumerate().filter(|(_, it)| step(it)).min_by_key(|(_, it)| place(it));
    if let Some((at, _)) = earliest {
        ranked[..=at].rotate_right(1);
    }
}

/// The rankings of the points for each part of a question of several parts, with its item; empty for a question of one.
pub(crate) fn rank_parts<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    points: &[RankedPoint<'a>],
) -> Result<Vec<(ItemId, Vec<RankedPoint<'a>>)>> {
    let asked = question_parts::parts(&brief.question, prompts::phrases()?);
    let parts = notes.plan.items().iter().filter(|item| asked.contains(&item.asks));
    let ids: Vec<ItemId> = parts.map(|item| item.id).collect();
    if ids.len() < 2 {
        return Ok(Vec::new());
    }
    let mut rankings = Vec::new();
    for id in ids {
        let ranked = rank_for_part(id, notes, scorer, points)?;
        if ranked.first().is_some_and(|best| best.worth >= MIN_ANSWER_WORTH) {
            rankings.push((id, ranked));
        }
    }
    Ok(rankings)
}
