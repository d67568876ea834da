//! Yes or no: whether the sources say so, and if not, why.
use crate::draft::DraftConflict;
use crate::prompts;
use crate::prompts::fill_template;
use ibid_core::Result;
use ibid_core::domain::{Brief, EvidenceStore, OpenItem, QuestionKind, YesNo};

use super::answer::{YesNoTally, agrees_with, is_limited};
use super::claim_clusters::ClaimCluster;
use super::conflicts::is_on_verdict;
use super::lexicon::spaced;
use super::ranked_points::RankedPoint;
use super::score::RelevanceScorer;
use super::sentence::{BUT_NOT, has_denial};

/// How many of the best points are compared to find the one nearest to a yes or no.
const NEAREST_POINTS: usize = 3;

/// Yes or no for a report: where the question asks for it, the evidence is clear, a sentence of the short answer says it, none
/// takes a yes back, and no conflict is on it.
pub(crate) fn verdict(
    brief: &Brief,
    notes: &EvidenceStore,
    short: &[&ClaimCluster],
    conflicts: &[DraftConflict],
    lean: Option<&YesNoTally>,
) -> Option<YesNo> {
    let yes = lean.filter(|_| brief.kind == QuestionKind::YesNo)?.majority()?;
    // What is sold is praised: a seller decides nothing alone.
    let says = short.iter().any(|it| agrees_with(Some(yes), it, notes) && !it.is_by_sellers(notes));
    let words = &prompts::phrases().ok()?.sentence;
    // "It inhibits the one, but not the other", and not "reviewed but not approved".
    const AFTER_CONTRAST: [&str; 8] = ["the ", "a ", "an ", "in ", "on ", "for ", "of ", "to "];
    let denied = |text: &str| {
        let told = spaced(text);
        let contrast = told.split_once(BUT_NOT);
        let contrast =
            contrast.filter(|it| AFTER_CONTRAST.iter().any(|word| it.1.starts_with(word)));
        has_denial(contrast.map_or(&told, |it| it.0), words)
    };
    let denies = yes && short.iter().any(|it| denied(&it.text));
    let limited = short.iter().any(|it| is_limited(&it.text));
    let split = conflicts.iter().any(|it| is_on_verdict(notes, it));
    (says && !denies && !limited && !split).then_some(if yes { YesNo::Yes } else { YesNo::No })
}

/// Puts the sentences that say what most of the evidence says, yes or no, before the others.
pub(crate) fn lead_with_majority(
    short: &mut [&ClaimCluster],
    lean: Option<&YesNoTally>,
    notes: &EvidenceStore,
) {
    // A condition leads what holds on it.
    if short.iter().any(|it| is_limited(&it.text)) {
        return;
    }
    let majority = lean.and_then(YesNoTally::majority);
    short.sort_by_key(|it| !agrees_with(majority, it, notes));
}

/// Why the sources decide neither yes nor no, as an open item; empty for questions that ask for neither.
pub(crate) fn undecided(
    brief: &Brief,
    scorer: &mut RelevanceScorer,
    ranked: &[RankedPoint<'_>],
    lean: Option<&YesNoTally>,
) -> Result<Vec<OpenItem>> {
    let words = &prompts::phrases()?.open;
    let Some(lean) = lean.filter(|lean| lean.majority().is_none()) else {
        return Ok(Vec::new());
    };
    let nearest = ranked.iter().take(NEAREST_POINTS);
    let missing =
        nearest.map(|it| scorer.question_words_missing_in(&brief.question, &it.point.text));
    let Some(missing) = missing.min_by_key(Vec::len) else {
        return Ok(Vec::new());
    };
    let quoted: Vec<String> = missing.iter().map(|word| format!("“{word}”")).collect();
    let why = match (lean.yes.min(lean.no), quoted.is_empty()) {
        (1.., _) => words.undecided_split.clone(),
        (0, true) => words.undecided_framed.clone(),
        (0, false) => fill_template(&words.undecided_words, &[("terms", &quoted.join(", "))]),
    };
    Ok(vec![OpenItem { item: None, what: OpenItem::YES_OR_NO.to_owned(), why }])
}
