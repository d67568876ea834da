//! A conflict where sources state different facts in answer to one question: another date, name, place, figure or kind.
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::{content_stems, is_stop_word, tokens};
use ibid_core::domain::{Conflict, ConflictCause, Evidence, EvidenceStore, Source};

use super::asked_fact::{QualifiedName, StatedFact};
use super::conflict_reason::age_note;
use super::conflicts::can_disagree;
use super::score::RelevanceScorer;
use crate::draft::{DraftConflict, DraftLine, LikelyReason};
use crate::prompts;
use crate::prompts::fill_template;
use crate::thresholds::MIN_SAME_THING_OVERLAP;

/// Maximum number of answers shown, and compared.
const MAX_ANSWERS: usize = 4;
const MAX_COMPARED: usize = 60;

/// An answer, and where it stands.
struct RivalAnswer<'a> {
    fact: &'a StatedFact,
    evidence: &'a Evidence,
    source: &'a Source,
}

/// Adds the conflict between the facts that independent sources state, if they exclude each other. A conflict among the same
/// sentences in `known` gives way to it.
pub(crate) fn add_rival_answers(
    notes: &EvidenceStore,
    scorer: &RelevanceScorer,
    known: &mut Vec<DraftConflict>,
) -> Result<()> {
    let answers = stated_answers(notes, scorer);
    let sides = rival_sides(&answers);
    let [one, other, ..] = sides.as_slice() else {
        return add_namesakes(notes, scorer, known);
    };
    let stated: BTreeSet<_> = answers.iter().map(|it| it.evidence.id).collect();
    known.retain(|conflict| {
        conflict.sides.iter().any(|side| side.1.evidence.iter().all(|id| !stated.contains(id)))
    });
    let words = &prompts::phrases()?.conflict;
    let names = scorer.qualified_name(one.source.id).zip(scorer.qualified_name(other.source.id));
    let likely = match (scorer.fact_subject(), names.filter(|(a, b)| a.excludes(b))) {
        (_, Some((a, b))) => {
            let filled = [("one", a.shown.as_str()), ("other", b.shown.as_str())];
            Some(LikelyReason::new(ConflictCause::Things, &words.other_things, &filled))
        }
        (Some(name), _) if are_namesakes(scorer.question(), one, other) => {
            Some(LikelyReason::new(ConflictCause::Things, &words.namesakes, &[("name", name)]))
        }
        _ => age_note(one.source, other.source)?,
    };
    let side = |it: &&RivalAnswer<'_>| {
        let line = DraftLine { text: it.evidence.claim.clone(), evidence: vec![it.evidence.id] };
        (it.fact.shown.clone(), line)
    };
    let conflict = DraftConflict {
        about: Conflict::ANSWER.to_owned(),
        item: one.evidence.items[0],
        sides: sides.iter().map(side).collect(),
        likely,
    };
    known.insert(0, conflict);
    Ok(())
}

/// Adds that sources are on different things of the name asked about, if they say so: "Osgood, Indiana" and "Osgood, Missouri". Each
/// is told by the evidence of its source that has most of what is asked. What is a side of a conflict already is left to it.
fn add_namesakes(
    notes: &EvidenceStore,
    scorer: &RelevanceScorer,
    known: &mut Vec<DraftConflict>,
) -> Result<()> {
    let asked_content =
        |it: &Evidence| (scorer.stated_fact(it).is_some(), scorer.count_asked_words(&it.claim));
    let mut best: Vec<&Evidence> = notes.evidence.iter().collect();
    best.sort_by(|a, b| {
        let by_words = asked_content(b).cmp(&asked_content(a));
        by_words.then(b.score.total_cmp(&a.score)).then(a.id.cmp(&b.id))
    });
    let facts = |of: &Evidence| -> Vec<&StatedFact> {
        let same = notes.evidence.iter().filter(|it| it.source == of.source);
        same.filter_map(|it| scorer.stated_fact(it)).collect()
    };
    // The kind of two films of one name may be asked for, and be the same.
    let agree = |one: &Evidence, other: &Evidence| {
        let (own, theirs) = (facts(one), facts(other));
        own.iter().any(|it| theirs.iter().any(|other| !it.excludes(other) && it.is_like(other)))
    };
    let apart = |one: &Evidence, other: &Evidence| {
        let sources = notes.source(one.source).zip(notes.source(other.source));
        sources.is_some_and(|(a, b)| can_disagree(a, b)) && !agree(one, other)
    };
    let mut sides: Vec<(&QualifiedName, &Evidence)> = Vec::new();
    for evidence in best {
        if let Some(name) = scorer.qualified_name(evidence.source)
            && sides.len() < MAX_ANSWERS
            && !scorer.is_ruled_out(evidence.source)
            && sides.iter().all(|(other, side)| name.excludes(other) && apart(side, evidence))
        {
            sides.push((name, evidence));
        }
    }
    let is_told = |evidence: &Evidence| {
        let mut lines = known.iter().flat_map(|conflict| &conflict.sides);
        lines.any(|side| side.1.evidence.contains(&evidence.id))
    };
    let Some(name) = scorer.fact_subject().filter(|_| sides.len() > 1) else {
        return Ok(());
    };
    if sides.iter().any(|(_, evidence)| is_told(evidence)) {
        return Ok(());
    }
    let words = &prompts::phrases()?.conflict;
    let side = |(name, evidence): &(&QualifiedName, &Evidence)| {
        let line = DraftLine { text: evidence.claim.clone(), evidence: vec![evidence.id] };
        (name.shown.clone(), line)
    };
    let conflict = DraftConflict {
        about: fill_template(&words.about_name, &[("name", name)]),
        item: sides[0].1.items[0],
        sides: sides.iter().map(side).collect(),
        likely: Some(LikelyReason::new(ConflictCause::Things, &words.namesakes, &[("name", name)])),
    };
    known.insert(0, conflict);
    Ok(())
}

/// Answers that all exclude each other, from the best that has a rival; empty if none has one.
fn rival_sides<'r, 'a>(answers: &'r [RivalAnswer<'a>]) -> Vec<&'r RivalAnswer<'a>> {
    // A source that also states what the other does agrees with it: the rest is on another thing or time.
    let agrees = |one: &RivalAnswer<'_>, other: &RivalAnswer<'_>| {
        let mut own = answers.iter().filter(|it| it.source.id == one.source.id);
        own.any(|it| !it.fact.excludes(other.fact))
    };
    let rival = |one: &RivalAnswer<'_>, other: &RivalAnswer<'_>| {
        can_disagree(one.source, other.source) && !agrees(one, other) && !agrees(other, one)
    };
    for (at, first) in answers.iter().enumerate().take(MAX_COMPARED) {
        let mut sides = vec![first];
        for it in answers.iter().take(MAX_COMPARED).skip(at + 1) {
            if sides.len() < MAX_ANSWERS && sides.iter().all(|side| rival(side, it)) {
                sides.push(it);
            }
        }
        if sides.len() > 1 {
            return sides;
        }
    }
    Vec::new()
}

/// What the evidence states in answer, best first.
fn stated_answers<'a>(
    notes: &'a EvidenceStore,
    scorer: &'a RelevanceScorer,
) -> Vec<RivalAnswer<'a>> {
    let mut all: Vec<RivalAnswer<'a>> = notes
        .evidence
        .iter()
        .filter_map(|evidence| {
            let source = notes.source(evidence.source)?;
            if scorer.is_ruled_out(source.id) {
                return None;
            }
            Some(RivalAnswer { fact: scorer.stated_fact(evidence)?, evidence, source })
        })
        .collect();
    all.sort_by(|a, b| {
        b.evidence.score.total_cmp(&a.evidence.score).then(a.evidence.id.cmp(&b.evidence.id))
    });
    all
}

/// Whether two sentences tell of different things of one name: they share few words besides those of the question, and say more
/// of the name, each in its way, as in "Big Fun (Towa Tei album)".
fn are_namesakes(question: &str, one: &RivalAnswer<'_>, other: &RivalAnswer<'_>) -> bool {
    let stems = |it: &RivalAnswer<'_>| -> BTreeSet<String> {
        let known = [content_stems(&it.fact.shown), content_stems(question)].concat();
        content_stems(&it.evidence.claim).into_iter().filter(|stem| !known.contains(stem)).collect()
    };
    let (a, b) = (stems(one), stems(other));
    let shared = a.intersection(&b).count() as f32;
    let fewer = a.len().min(b.len()).max(1) as f32;
    shared / fewer < MIN_SAME_THING_OVERLAP && leading_words(one) != leading_words(other)
}

/// The words of a sentence before the verb of a definition.
fn leading_words(it: &RivalAnswer<'_>) -> BTreeSet<String> {
    let words = tokens(&it.evidence.claim).into_iter().map(|token| token.text);
    let lead = words.take_while(|word| !matches!(word.as_str(), "is" | "was" | "are" | "were"));
    lead.filter(|word| !is_stop_word(word)).collect()
}
