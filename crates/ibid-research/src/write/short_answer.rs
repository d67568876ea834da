//! What of a model's answer goes into the short answer, and which of its sentences open and close a report.
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::{content_stems, tokens};
use ibid_core::domain::{
    Brief, EvidenceId, EvidenceStore, OutputMode, QuestionKind, split_sentences,
};

use crate::ask::shapes::ANSWER_CHARS;
use crate::draft::{DraftLine, ReplacedAnswer, ReportDraft};
use crate::heuristic::answer_shape::{denies_members, kind_fit};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::score::RelevanceScorer;
use crate::heuristic::sentence::{ends_like_a_sentence, has_denial};
use crate::prompts;
use crate::thresholds::MIN_DIRECTNESS_SHARE;

/// Minimum number of words of a sentence.
const MIN_SENTENCE_WORDS: usize = 4;
/// Maximum number of words of the short answer.
const SHORT_WORDS: usize = 60;

/// Begins the short answer with a model's `answer`, which is the one-line answer, too, where it is short enough.
pub(super) fn lead_with_answer(draft: &mut ReportDraft, answer: DraftLine) -> Result<()> {
    draft.replaced_answer = Some(ReplacedAnswer {
        by: answer.clone(),
        short: draft.short.clone(),
        verdict: draft.verdict,
        nearest_only: draft.nearest_only,
        confidence: draft.confidence.clone(),
        answer: draft.answer.clone(),
    });
    // What code took for the nearest passage no longer leads.
    let words = &prompts::phrases()?.confidence;
    for why in draft.confidence.why.iter_mut().filter(|why| **why == words.nearest) {
        why.clone_from(&words.indirect);
    }
    draft.short = short_with_picked(&answer, &draft.short);
    draft.verdict = None;
    draft.nearest_only = false;
    if answer.text.chars().count() <= ANSWER_CHARS {
        draft.answer = Some(answer);
        draft.answer_by_code = false;
    }
    Ok(())
}

/// `line`, or where a model's answer was cut off in a sentence of its evidence, that sentence.
pub(super) fn whole_sentence(line: DraftLine, notes: &EvidenceStore) -> DraftLine {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = joined(line.text.trim_end_matches(['…', '.', ' ']));
    if ends_like_a_sentence(&line.text) || cut.split(' ').count() < MIN_SENTENCE_WORDS {
        return line;
    }
    let cited = notes.evidence.iter().filter(|it| line.evidence.contains(&it.id));
    let whole =
        cited.flat_map(|it| [it.claim.as_str(), it.passage.text().expose()]).find_map(|text| {
            let mut sentences = split_sentences(text).into_iter().map(|range| joined(&text[range]));
            sentences.find(|sentence| sentence.starts_with(&cut))
        });
    DraftLine { text: whole.unwrap_or_else(|| line.text.clone()), ..line }
}

/// Opens and closes the report with those of a model's sentences that say something new.
pub(super) fn open_and_close(
    draft: &mut ReportDraft,
    mut opening: Vec<DraftLine>,
    mut closing: Vec<DraftLine>,
) {
    retain_new(&mut opening, draft);
    if !opening.is_empty() {
        draft.introduction = opening;
    }
    retain_new(&mut closing, draft);
    if !closing.is_empty() {
        draft.conclusion = closing;
        draft.conclusion_by_code = false;
    }
}

/// The answer, then the picked lines as far as the short answer has room. A bare figure or word is left to
/// the one-line answer, because it adds nothing to the picked lines.
fn short_with_picked(answer: &DraftLine, picked: &[DraftLine]) -> Vec<DraftLine> {
    let words = |draft_line: &DraftLine| draft_line.text.split_whitespace().count();
    if words(answer) < MIN_SENTENCE_WORDS && !picked.is_empty() {
        return picked.to_vec();
    }
    let own = stems(&answer.text);
    // A sentence that only copies a picked one adds nothing to it. One that denies it is no copy.
    let is_alike = |line: &DraftLine| denies(&line.text) == denies(&answer.text);
    if picked.iter().any(|line| is_alike(line) && own.is_subset(&stems(&line.text))) {
        return picked.to_vec();
    }
    let mut room = SHORT_WORDS.saturating_sub(words(answer));
    let mut lines = vec![answer.clone()];
    for it in picked {
        if words(it) <= room && !(is_alike(it) && stems(&it.text).is_subset(&own)) {
            room -= words(it);
            lines.push(it.clone());
        }
    }
    lines
}

fn denies(text: &str) -> bool {
    prompts::phrases().is_ok_and(|phrases| has_denial(&spaced(text), &phrases.sentence))
}

/// The one-line answer of a draft. In a report it says what the short answer says: a model's answer that no line of the short answer
/// contains, and code's from other evidence, is replaced by the first of these lines if that is short enough; else the model's is left
/// out. Checks and critics may have removed it from there. It cites only what the short answer cites, unless it is a bare figure or says
/// yes or no.
pub(crate) fn told_answer(draft: &ReportDraft, mode: OutputMode) -> Option<DraftLine> {
    let mut answer = draft.answer.clone()?;
    if mode != OutputMode::Report || draft.short.is_empty() {
        return Some(answer);
    }
    let is_told = |line: &DraftLine| match draft.answer_by_code {
        true => line.evidence.iter().any(|id| answer.evidence.contains(id)),
        false => repeats(line, &answer),
    };
    let Some(line) = draft.short.iter().find(|line| is_told(line)) else {
        // A bare figure or "yes" stands beside the short answer and not in it, and so does the sentence that decides for yes or no.
        let is_bare = answer.text.split_whitespace().count() < MIN_SENTENCE_WORDS
            || draft.answer_by_code && draft.verdict.is_some();
        let first = &draft.short[0];
        let is_short = first.text.chars().count() <= ANSWER_CHARS;
        if is_bare || draft.answer_by_code && !is_short {
            return Some(answer);
        }
        return is_short.then(|| first.clone());
    };
    let cited: BTreeSet<EvidenceId> =
        draft.short.iter().flat_map(|it| it.evidence.clone()).collect();
    answer.evidence.retain(|id| cited.contains(id));
    if answer.evidence.is_empty() {
        answer.evidence.clone_from(&line.evidence);
    }
    Some(answer)
}

/// Whether a line of the short answer has all words of a model's answer, and denies what that denies.
fn repeats(line: &DraftLine, answer: &DraftLine) -> bool {
    let mut own = stems(&answer.text);
    own.retain(|stem| !matches!(stem.as_str(), "yes" | "no" | "percent"));
    denies(&line.text) == denies(&answer.text) && own.is_subset(&stems(&line.text))
}

/// Drops the key findings that a section tells with the same words.
pub(crate) fn drop_told_findings(draft: &mut ReportDraft) {
    let sections = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let told: BTreeSet<Vec<String>> = sections.map(|line| words_in_order(&line.text)).collect();
    draft.findings.retain(|(line, _)| !told.contains(&words_in_order(&line.text)));
}

fn words_in_order(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(|token| token.text).collect()
}

fn stems(text: &str) -> BTreeSet<String> {
    content_stems(text).into_iter().collect()
}

/// Keeps the lines that say something the short answer, the sections and the lines before them do not.
fn retain_new(lines: &mut Vec<DraftLine>, draft: &ReportDraft) {
    let sections = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let mut said: Vec<BTreeSet<String>> =
        draft.short.iter().chain(sections).map(|line| stems(&line.text)).collect();
    lines.retain(|line| {
        let own = stems(&line.text);
        let new = !said.iter().any(|it| own.is_subset(it));
        said.push(own);
        new
    });
}

/// Whether a sentence says much less of what the question asks than the best of `picked`, or has not the form of an answer that
/// all of these have, or denies where members of a list are asked and `picked` names some.
pub(super) fn is_less_direct(
    scorer: &mut RelevanceScorer,
    brief: &Brief,
    answer: &DraftLine,
    picked: &[DraftLine],
) -> Result<bool> {
    // A bare figure or name answers without the words of the question.
    if answer.text.split_whitespace().count() < MIN_SENTENCE_WORDS {
        return Ok(false);
    }
    let denied = |line: &DraftLine| denies_members(&brief.question, &line.text);
    let mut names_some = false;
    for line in picked {
        names_some = names_some || !denied(line)?;
    }
    let denies_only = brief.kind == QuestionKind::List && names_some && denied(answer)?;
    let best = picked.iter().map(|line| scorer.relevance(&line.text)).fold(0.0, f32::max);
    let fit =
        |line: &DraftLine| kind_fit(brief.kind, &brief.question, &line.text, &spaced(&line.text));
    let mut picked_fit = f32::INFINITY;
    for line in picked {
        picked_fit = picked_fit.min(fit(line)?);
    }
    let formless = picked_fit.is_finite() && fit(answer)? < picked_fit * MIN_DIRECTNESS_SHARE;
    Ok(denies_only || formless || scorer.relevance(&answer.text) < best * MIN_DIRECTNESS_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_picked_sentence_is_not_said_twice() {
        let line = |text: &str| DraftLine { text: text.to_owned(), evidence: Vec::new() };
        let picked = [
            line("An extensive green roof costs 110 euros per square metre on average."),
            line("Care costs 3 euros a year."),
        ];
        let copy = line("The extensive green roof costs 110 euros per square metre.");
        let texts = |answer: &DraftLine| {
            short_with_picked(answer, &picked).into_iter().map(|it| it.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(&copy), [&picked[0].text[..], &picked[1].text]);
        let more = line(
            "It costs 110 euros per square metre on average, and care costs 3 euros a year, for an extensive green roof.",
        );
        assert_eq!(texts(&more), [&more.text[..]]);
    }

    #[test]
    fn an_answer_that_breaks_off_in_a_sentence_of_its_evidence_is_the_sentence() {
        let mut found = crate::test_support::evidence(1, &[1]);
        found.claim =
            "Roofs leak at their flashings, where the membrane ends. They are flat.".to_owned();
        let brief = crate::test_support::brief("Why do roofs leak?");
        let mut notes = EvidenceStore::new(crate::plan_from_brief(&brief).unwrap());
        notes.evidence.push(found);
        let of = |text: &str| {
            let line = DraftLine { text: text.to_owned(), evidence: vec![EvidenceId::new(1)] };
            whole_sentence(line, &notes).text
        };
        let whole = "Roofs leak at their flashings, where the membrane ends.";
        assert_eq!(of("Roofs leak at their flashings, where the"), whole);
        for other in
            ["Roofs leak at their flashings.", "At the flashings", "Roofs never leak at all"]
        {
            assert_eq!(of(other), other);
        }
    }

    #[test]
    fn an_answer_of_a_model_is_not_called_the_nearest_passage() {
        let line = |text: &str| DraftLine { text: text.to_owned(), evidence: Vec::new() };
        let mut draft = crate::test_support::draft(&[line("Roofs are flat.")], Vec::new());
        let words = &prompts::phrases().unwrap().confidence;
        draft.nearest_only = true;
        draft.confidence.why = vec![words.nearest.clone()];
        lead_with_answer(&mut draft, line("Roofs leak at their flashings.")).unwrap();
        assert!(!draft.nearest_only);
        assert_eq!(draft.confidence.why.as_slice(), std::slice::from_ref(&words.indirect));
    }

    #[test]
    fn a_line_of_a_model_that_the_short_answer_no_longer_tells_gives_way_to_it() {
        let line = |text: &str| DraftLine { text: text.to_owned(), evidence: Vec::new() };
        let of = |answer: &str, short: &str| {
            let mut draft = crate::test_support::draft(&[line(short)], Vec::new());
            draft.answer = Some(line(answer));
            told_answer(&draft, OutputMode::Report).map(|it| it.text)
        };
        let leaks = "Roofs leak at their flashings, skylights and pipes.";
        let wrong = "Roofs leak because they retain less than 63 % of the rain.";
        assert_eq!(of(wrong, leaks).as_deref(), Some(leaks));
        assert_eq!(
            of("At flashings and pipes.", leaks).as_deref(),
            Some("At flashings and pipes.")
        );
        assert_eq!(of(wrong, &leaks.repeat(4)), None);
        assert_eq!(of("Yes.", leaks).as_deref(), Some("Yes."));
        let denied = "Roofs do not leak at their flashings.";
        assert_eq!(of("Roofs leak at their flashings.", denied).as_deref(), Some(denied));
        let mut draft = crate::test_support::draft(&[line(leaks)], Vec::new());
        draft.answer = Some(DraftLine { evidence: vec![EvidenceId::new(7)], ..line(wrong) });
        draft.answer_by_code = true;
        let told = told_answer(&draft, OutputMode::Report);
        assert_eq!(told.map(|it| it.text).as_deref(), Some(leaks), "from evidence not told");
        draft.answer_by_code = false;
        let alone = told_answer(&draft, OutputMode::Answer);
        assert_eq!(alone.map(|it| it.text).as_deref(), Some(wrong), "nothing else is told there");
    }
}
