//! Where the words of a claim stand in a sentence that is about somebody or something else: "Valerian helps" beside "Unlike
//! valerian, melatonin helps".
//!
//! The weights do not see who does something, and so few words differ. Each rule here wants two things: the claim's subject is
//! not the sentence's, and the source names another in its place.
use super::align::Alignment;
use super::lexicon;
use super::signals::is_negated;
use super::terms::{ParsedText, TermKind, TextTerm};

/// Share of the weight of the other words of a claim that the sentence has, from which only the subject differs.
const MIN_REST_SHARE: f32 = 0.9;
/// From this on, a word of the claim occurs in a sentence.
const MIN_MET: f32 = 0.5;
/// Sentences before one that may name its subject.
const SENTENCES_BEFORE: usize = 2;
/// Words of a name or a heading.
const MAX_NAME_WORDS: usize = 3;
/// Endings of words that stand before a noun or a sentence: "recurrent", "recently".
const NO_NOUN_ENDINGS: [&str; 10] =
    ["al", "able", "ant", "ary", "ent", "ful", "ic", "ive", "ly", "ous"];
/// Words between those who speak and their verb: "critics of the plan say".
const WORDS_TO_VERB: usize = 4;

/// Whether sentence `best` says of another what the claim says of its subject. `text` is that sentence.
pub(super) fn is_of_another(it: &Alignment, best: usize, text: &str) -> bool {
    let claim = &it.claim.terms;
    let compares = claim.iter().any(|term| lexicon::is_contrast(&term.text));
    !is_negated(claim) && !compares && is_contrasted(it, text)
        || is_said_by_others(it, best)
        || has_other_subject(it, best)
        || has_other_heading(it, best)
}

/// Whether the first word of the claim that the sentence has stands there only in a contrast: "unlike valerian".
fn is_contrasted(it: &Alignment, text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some(contrast) = lexicon::contrast(&lower) else { return false };
    let stems = |text: &str| -> Vec<String> {
        ParsedText::parse(text).terms.into_iter().map(|term| term.stem).collect()
    };
    let inside = stems(&lower[contrast.clone()]);
    let outside = [stems(&lower[..contrast.start]), stems(&lower[contrast.end..])].concat();
    let mut content = it.content_terms.iter().map(|&at| &it.claim.terms[at].stem);
    content
        .find(|stem| inside.contains(stem) || outside.contains(stem))
        .is_some_and(|stem| !outside.contains(stem))
}

/// Whether others say in the sentence what the claim gives as the finding of somebody whom the sentence does not name.
fn is_said_by_others(it: &Alignment, best: usize) -> bool {
    let claim = &it.claim.terms;
    let reports = |term: &TextTerm| lexicon::is_report(&term.text);
    let is_party = |term: &TextTerm| lexicon::is_party(&term.text);
    let Some(verb) = claim.iter().position(reports) else { return false };
    let Some(speaker) = verb.checked_sub(1).filter(|at| claim[*at].kind != TermKind::Stop) else {
        return false;
    };
    let Some(nth) = it.content_terms.iter().position(|at| *at == speaker) else { return false };
    if claim[..verb].iter().any(is_party) || lexicon::is_any_speaker(&claim[speaker].text) {
        return false;
    }
    let here = &it.sentences[best].words.terms;
    let others = here
        .iter()
        .enumerate()
        .any(|(at, term)| is_party(term) && here[at + 1..].iter().take(WORDS_TO_VERB).any(reports));
    // "The council agreed."
    let agrees = it.window().into_iter().any(|at| {
        let terms = &it.sentences[at].words.terms;
        it.met[at][nth] >= MIN_MET && terms.iter().any(|term| lexicon::is_agreement(&term.text))
    });
    others && it.met[best][nth] < MIN_MET && !agrees
}

/// Whether the claim begins with a name or a bare noun that neither the sentence nor those before it have, and then goes on as the
/// sentence does after another, or after a pronoun for another.
fn has_other_subject(it: &Alignment, best: usize) -> bool {
    let (claim, here) = (&it.claim.terms, &it.sentences[best].words.terms);
    let ours = bare_subject(claim);
    let verb = claim.get(ours).map(|term| &term.stem);
    let same_verb = |at: usize| verb.is_some() && here.get(at).map(|term| &term.stem) == verb;
    if ours == 0 || !only_lacks(it, best, 0..ours) {
        return false;
    }
    let antecedent =
        (best.saturating_sub(SENTENCES_BEFORE)..best).rev().find(|at| !is_heading(it, *at));
    let names_ours = |at: usize| {
        let mut met = it.met[at].iter().zip(&it.content_terms);
        met.any(|(met, term)| *term < ours && *met >= MIN_MET)
    };
    // "She" may be who was named on the page above; "it" is what was named just before.
    let is_person = here.first().is_some_and(|term| matches!(&*term.text, "he" | "she"));
    let from = if is_person { 0 } else { best.saturating_sub(SENTENCES_BEFORE) };
    let named_before =
        (from..best).any(names_ours) || heading_above(it, best).is_some_and(names_ours);
    let is_other = |terms: &[TextTerm]| {
        let theirs = bare_subject(terms);
        let shared = |term: &TextTerm| claim.iter().any(|own| own.stem == term.stem);
        (theirs > 0 && !terms[..theirs].iter().any(shared)).then_some(theirs)
    };
    match is_other(here) {
        Some(theirs) => same_verb(theirs),
        None => {
            here.first().is_some_and(|term| lexicon::is_pronoun(&term.text))
                && same_verb(1)
                && !named_before
                && antecedent.is_some_and(|at| is_other(&it.sentences[at].words.terms).is_some())
        }
    }
}

/// Whether the claim names something ("the dose of valerian") that the source does not name before the sentence, which stands below
/// a heading that names something else.
fn has_other_heading(it: &Alignment, best: usize) -> bool {
    let claim = &it.claim.terms;
    let Some(heading) = heading_above(it, best) else { return false };
    let words = &it.sentences[heading].words.terms;
    let is_subject = |term: &TextTerm| {
        matches!(term.kind, TermKind::Plain | TermKind::Name) && !lexicon::is_section(&term.text)
    };
    if !words.iter().all(is_subject) || it.met[heading].iter().any(|met| *met > 0.0) {
        return false;
    }
    let thing = (1..claim.len()).find(|at| {
        claim[*at].kind != TermKind::Stop
            && matches!(&*claim[at - 1].text, "of" | "for" | "to" | "in")
            && only_lacks(it, best, *at..at + 1)
    });
    let Some(nth) = thing.and_then(|at| it.content_terms.iter().position(|term| *term == at))
    else {
        return false;
    };
    // What heads a later part is no subject of this one.
    (0..it.sentences.len()).all(|at| it.met[at][nth] < MIN_MET || at > best && is_heading(it, at))
}

/// Whether the sentence has nearly all of the claim but none of its words at `these` places.
fn only_lacks(it: &Alignment, best: usize, these: std::ops::Range<usize>) -> bool {
    let (mut met, mut all) = (0.0, 0.0);
    for (nth, at) in it.content_terms.iter().enumerate() {
        if !these.contains(at) {
            all += it.weights[nth];
            met += it.weights[nth] * it.met[best][nth];
        } else if it.met[best][nth] >= MIN_MET {
            return false;
        }
    }
    all > 0.0 && met / all >= MIN_REST_SHARE
}

/// How many words at the beginning are a name or a noun without an article, before what may be a verb.
fn bare_subject(terms: &[TextTerm]) -> usize {
    let names =
        |term: &&TextTerm| term.capital && matches!(term.kind, TermKind::Plain | TermKind::Name);
    let length = terms.iter().take_while(names).count();
    let leads = terms.first().is_some_and(|term| {
        NO_NOUN_ENDINGS.iter().any(|it| term.text.ends_with(it))
            || lexicon::is_any_speaker(&term.text)
    });
    if length > MAX_NAME_WORDS || leads { 0 } else { length }
}

/// The nearest heading before the sentence.
fn heading_above(it: &Alignment, best: usize) -> Option<usize> {
    (0..best).rev().find(|at| is_heading(it, *at))
}

/// Whether a sentence is a few words without a stop.
fn is_heading(it: &Alignment, at: usize) -> bool {
    let sentence = &it.sentences[at];
    !sentence.ends && (1..=MAX_NAME_WORDS).contains(&sentence.words.terms.len())
}
