//! Whether a short answer is only near the question.
use crate::heuristic::amount::{amounts, answers_ratio_of_named, is_beside_another, lacks_ratio};
use crate::heuristic::answer_shape::asks_for_fact;
use crate::heuristic::asked_facet::judged_facet;
use crate::heuristic::claim_clusters::ClaimCluster;
use crate::heuristic::dimension::Dimension;
use crate::heuristic::enumeration::excludes;
use crate::heuristic::question_kind::changing_thing;
use crate::heuristic::ranked_points::RankedPoint;
use crate::heuristic::score::RelevanceScorer;
use crate::heuristic::sentence::has_number;
use crate::prompts;
use crate::thresholds::{
    DIRECT_ANSWER_PROBABILITY, MIN_ALL_WORDS, MIN_ANSWER_PROBABILITY, MIN_DEFINITION_FIT,
    MIN_MEASURED_WORDS, MIN_PLAIN_FORM_FIT, MIN_UNKNOWN_THING_PROBABILITY, ONE_CUE_FIT,
    OTHER_ASPECT_SURE,
};
use ibid_core::Result;
use ibid_core::domain::words::{stem, tokens};
use ibid_core::domain::{Brief, Confidence, ConfidenceMark, EvidenceStore, QuestionKind};

/// Share of the words of the question from which a factor answers it: "reduced 7x" to "how much faster is linking?"
const MIN_RATIO_WORDS: f32 = 0.6;

/// Whether a point states the fact asked for: in a form that says so, or in the form of such facts and, with the title of a page that
/// says so, in the words of the question.
fn says_all(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    best: &RankedPoint<'_>,
) -> bool {
    // What is quoted with the sentence before it may be on another thing than the page.
    let widened = is_widened(notes, best.point);
    let sources = best.point.evidence.iter().map(|nth| notes.evidence[*nth].source);
    let texts: Vec<String> = sources
        .filter_map(|id| notes.source(id))
        .map(|it| if widened { "" } else { it.title.as_str() })
        .map(|title| format!("{title} {}", best.point.text))
        .collect();
    let dimension = Dimension::from_question(&scorer.question().to_lowercase());
    let is_ratio = answers_ratio_of_named(&brief.question, &best.point.text);
    let least = match dimension.filter(|asked| asked.is_measured_in(&best.point.text)) {
        Some(_) => MIN_MEASURED_WORDS,
        None if is_ratio => MIN_RATIO_WORDS,
        None => MIN_ALL_WORDS,
    };
    // "Cork is a material made from bark" is a definition of cork.
    let defines = brief.kind == QuestionKind::Definition
        && best.fit >= MIN_DEFINITION_FIT
        && scorer.begins_with_subject(&best.point.text);
    // What it reduces speaks for a green roof, in whatever words.
    let judges = brief.kind == QuestionKind::Open
        && best.fit >= ONE_CUE_FIT
        && judged_facet(&brief.question).is_some();
    best.states_fact
        || defines
        || judges
        || asks_for_fact(brief.kind)
            && (is_ratio || best.fit >= MIN_PLAIN_FORM_FIT)
            && texts.iter().any(|text| scorer.word_relevance(text) >= least)
}

/// Whether a point is quoted with the sentences before it.
fn is_widened(notes: &EvidenceStore, point: &ClaimCluster) -> bool {
    let passage = &notes.evidence[point.evidence[0]].passage;
    passage.first() < passage.last()
}

/// Whether the short answer is only near the question, which the confidence then says in place of how far it answers: the model
/// that compared its sentences with the question gives none a chance. Steps, members of a list and sides of a comparison are not
/// sentences that answer by themselves, nor is what is not `alone`, rows and parts, the `first_row` of a table or what the `best`
/// point says or stands under. What is said of one side alone compares nothing, and a list has the word for what is asked, or
/// stands under a heading that asks it.
pub(super) fn mark_near(
    (brief, (alone, first_row), best): (&Brief, (bool, bool), Option<&RankedPoint<'_>>),
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    short: &[&ClaimCluster],
    confidence: &mut ConfidenceMark,
) -> Result<bool> {
    let kind = brief.kind;
    let headed = best.is_some_and(|it| it.headed);
    let told =
        best.is_some_and(|best| best.headed || best.listed || says_all(brief, notes, scorer, best));
    // "How much faster" is not answered by "should be faster", whatever its words are.
    let lacks_factor = alone
        && !short.is_empty()
        && short.iter().all(|it| lacks_ratio(scorer.question(), &it.text));
    // How a subsidy has changed is not answered by what says nothing of a subsidy.
    let names =
        |thing: &str, text: &str| tokens(text).iter().any(|it| stem(&it.text) == stem(thing));
    let other_thing = alone
        && changing_thing(&brief.question)
            .is_some_and(|thing| !short.iter().any(|it| names(&thing, &it.text)));
    let alone = alone && !told;
    // What stands under a fitting heading says neither yes nor no of a thing that is named nowhere.
    let unknown = !alone && kind == QuestionKind::YesNo && scorer.asks_of_unknown_thing();
    let alone = alone
        && !matches!(kind, QuestionKind::HowTo | QuestionKind::List | QuestionKind::Comparison);
    let compared = short.iter().filter_map(|it| scorer.answer_probability(&it.text));
    let likely = compared.filter(|it| *it > 0.0).reduce(f32::max);
    let dimension = Dimension::from_question(&scorer.question().to_lowercase())
        .filter(|_| kind == QuestionKind::Quantity);
    // "How heavy" is not answered with litres.
    let beside = dimension.is_some_and(|asked| {
        short.iter().any(|it| has_number(&it.text))
            && !short.iter().any(|it| asked.is_measured_in(&it.text))
    });
    let of_other_pair =
        !short.is_empty() && short.iter().all(|it| is_beside_another(scorer.question(), &it.text));
    // "How many" is seldom answered without a number.
    let numberless = kind == QuestionKind::Quantity
        && short.iter().all(|it| amounts(scorer.question(), &it.text).is_empty())
        && likely.is_some_and(|it| it < DIRECT_ANSWER_PROBABILITY);
    // "Who designed the bridge?" is not answered by what says nothing of a design.
    let on_other_aspect = asks_for_fact(kind)
        && !dimension.is_some_and(|asked| short.iter().any(|it| asked.is_measured_in(&it.text)))
        && short.iter().all(|it| scorer.aspect_words_share(&it.text) == 0.0)
        && likely.is_none_or(|it| it < OTHER_ASPECT_SURE);
    // "There is a car park. It costs 6 euros." is not on a ferry, whatever the title of the page is.
    let unnamed = asks_for_fact(kind)
        && short.iter().all(|it| is_widened(notes, it) && !scorer.names_what_is_asked_of(&it.text))
        && likely.is_none_or(|it| it < OTHER_ASPECT_SURE);
    let least = match scorer.asks_of_unknown_thing() {
        true => MIN_UNKNOWN_THING_PROBABILITY,
        false => MIN_ANSWER_PROBABILITY,
    };
    // "What are the risks?" is not answered by what names no risk, unless it means one.
    let unnamed_kind = kind == QuestionKind::List
        && !headed
        && !first_row
        && short.iter().all(|it| !scorer.has_asked_head(&it.text))
        && likely.is_none_or(|it| it < MIN_ANSWER_PROBABILITY);
    let excluded = kind == QuestionKind::List
        && !short.is_empty()
        && short.iter().all(|it| excludes(scorer.question(), &it.text));
    let one_sided = kind == QuestionKind::Comparison && scorer.lacks_a_side();
    let near = alone
        && confidence.level <= Confidence::Low
        && (beside
            || of_other_pair
            || numberless
            || on_other_aspect
            || unnamed
            || likely.is_some_and(|it| it < least))
        || lacks_factor
        || excluded
        || one_sided
        || other_thing
        || unnamed_kind
        || unknown && likely.is_none_or(|it| it < MIN_UNKNOWN_THING_PROBABILITY);
    if near {
        let words = &prompts::phrases()?.confidence;
        confidence.level = Confidence::VeryLow;
        confidence.why.retain(|why| *why != words.direct && *why != words.indirect);
        confidence.why.push(words.nearest.clone());
    }
    Ok(near)
}
