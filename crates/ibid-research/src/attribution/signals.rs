//! Signals for and against a claim, as numbers from 0 to 1.
use super::align::Alignment;
use super::lexicon;
use super::terms::{Bound, TermKind, TextTerm};
use ibid_core::domain::words::Number;

/// The number of signals that compare words.
pub(super) const WORD_SIGNALS: usize = 24;

/// The named signals of an alignment whose best sentence is `best`.
pub(super) fn compute_signals(it: &Alignment, best: usize) -> [(&'static str, f32); WORD_SIGNALS] {
    let all: Vec<usize> = (0..it.sentences.len()).collect();
    let window = it.window();
    let alone = [best];
    let cov_doc = it.coverage(&all);
    let cov_best = it.coverage(&alone);
    let cov_window = it.coverage(&window);
    let is_name = |term: &TextTerm| term.kind == TermKind::Name;
    let here = &it.sentences[best].words.terms;
    let claim_negated = is_negated(&it.claim.terms);
    let source_negated = is_negated(here);
    let denied_nowhere =
        claim_negated && !window.iter().any(|&at| is_negated(&it.sentences[at].words.terms));
    let negations = negations(it, best);
    let (opposite, direction) = opposition(it, best);
    let numbers = compare_numbers(it, &window, &all);
    let missing: Vec<usize> =
        (0..it.content_terms.len()).filter(|&nth| it.best_in(&all, nth) < 0.5).collect();
    let missing_names =
        missing.iter().filter(|&&nth| is_name(&it.claim.terms[it.content_terms[nth]])).count();
    let missing_weight = missing.iter().map(|&nth| it.weights[nth]).fold(0.0, f32::max);
    let hedged = here.iter().any(|it| lexicon::is_hedge(&it.text))
        && !it.claim.terms.iter().any(|term| lexicon::is_hedge(&term.text));
    [
        ("cov_doc", cov_doc),
        ("cov_best", cov_best),
        ("cov_window", cov_window),
        ("names_doc", it.share(&all, is_name)),
        ("names_missing", (missing_names as f32 / 2.0).min(1.0)),
        ("numbers_doc", numbers.doc),
        ("numbers_conflict", numbers.conflict),
        ("run", longest_shared_run(it, &window)),
        ("order", order_agreement(it, best)),
        ("trigrams", trigram_coverage(it, &window)),
        ("negation", bool_signal(claim_negated != source_negated) * cov_best),
        ("claim_denies", negations.0),
        ("source_denies", negations.1),
        ("opposite", opposite * cov_window),
        ("direction", direction * cov_window),
        ("hedged", bool_signal(hedged) * cov_best),
        ("missing_words", (missing.len() as f32 / 5.0).min(1.0)),
        ("reverse", reverse_coverage(it, best)),
        ("long_source", (all.len() as f32).ln_1p() / 5.0),
        ("long_claim", (it.content_terms.len() as f32).ln_1p() / 4.0),
        ("missing_weight", missing_weight / 1.6),
        ("cov_rare", rare_coverage(it, &window)),
        ("other_name", has_other_name(it, best)),
        ("denied_nowhere", bool_signal(denied_nowhere) * cov_window),
    ]
}

fn bool_signal(yes: bool) -> f32 {
    f32::from(u8::from(yes))
}

/// Whether the words are negated; two negations cancel out.
pub(super) fn is_negated(terms: &[TextTerm]) -> bool {
    terms.iter().filter(|term| lexicon::is_negation(&term.text)).count() % 2 == 1
}

/// A negation covers this many words after it, and one before ("is not", "none of the").
const NEGATION_WINDOW: usize = 5;

/// Which of the words are under a negation.
fn under_negation(terms: &[TextTerm]) -> Vec<bool> {
    let mut under = vec![false; terms.len()];
    for (at, term) in terms.iter().enumerate() {
        if lexicon::is_negation(&term.text) {
            for it in under.iter_mut().take(at + NEGATION_WINDOW + 1).skip(at.saturating_sub(1)) {
                *it = !*it;
            }
        }
    }
    under
}

/// The share of the words matched in the best sentence that are negated on one side only: in the claim, and
/// in the source.
fn negations(it: &Alignment, best: usize) -> (f32, f32) {
    let claim = under_negation(&it.claim.terms);
    let source = under_negation(&it.sentences[best].words.terms);
    let (mut all, mut ours, mut theirs) = (0.0_f32, 0.0, 0.0);
    for (nth, place) in it.places(best).into_iter().enumerate() {
        let Some(place) = place else { continue };
        let weight = it.weights[nth];
        all += weight;
        match (claim[it.content_terms[nth]], source[place]) {
            (true, false) => ours += weight,
            (false, true) => theirs += weight,
            _ => {}
        }
    }
    if all == 0.0 { (0.0, 0.0) } else { (ours / all, theirs / all) }
}

/// Whether the sentence has an opposite of a word that it lacks itself, and whether it points the other way
/// (more against less).
fn opposition(it: &Alignment, best: usize) -> (f32, f32) {
    let opposite =
        (0..it.content_terms.len()).any(|nth| it.opposed[best][nth] && it.met[best][nth] < 0.9);
    let lean = |terms: &[TextTerm]| -> i32 {
        terms.iter().map(|term| i32::from(lexicon::direction(&term.stem))).sum()
    };
    let claim = lean(&it.claim.terms);
    let source = lean(&it.sentences[best].words.terms);
    (bool_signal(opposite), bool_signal(claim * source < 0))
}

struct NumberSignals {
    doc: f32,
    conflict: f32,
}

/// How many numbers of the claim the source lacks, and how many the window lacks while it has others of their
/// kind; three and more count as three.
fn compare_numbers(it: &Alignment, window: &[usize], all: &[usize]) -> NumberSignals {
    let having = |sentences: &[usize]| -> Vec<&Number> {
        sentences.iter().flat_map(|&at| &it.sentences[at].words.numbers).collect()
    };
    let near = having(window);
    let far = having(all);
    let lacking = |have: &[&Number]| -> Vec<&Number> {
        it.claim
            .numbers
            .iter()
            .zip(&it.claim.bounds)
            .filter(|(a, bound)| !have.iter().any(|b| is_supported_by(a, **bound, b)))
            .map(|(a, _)| a)
            .collect()
    };
    let conflict =
        lacking(&near).iter().filter(|a| near.iter().any(|b| is_same_quantity(a, b))).count();
    let some = |count: usize| (count as f32 / 3.0).min(1.0);
    NumberSignals { doc: some(lacking(&far).len()), conflict: some(conflict) }
}

/// Whether a bare number may be a year.
pub(super) fn is_year(number: &Number) -> bool {
    (1000.0..2100.0).contains(&number.value)
        && number.value.fract() == 0.0
        && number
            .unit
            .as_deref()
            .is_none_or(|unit| unit != "%" && unit != "$" && unit != "€" && unit != "£")
}

/// Whether the source's number `b` supports the claim's `a`: equal up to rounding to two digits for large
/// numbers, or on the right side of a bound ("over 250" by 300).
fn is_supported_by(a: &Number, bound: Bound, b: &Number) -> bool {
    let off = (a.value - b.value).abs();
    let rounded = a.value >= 1e3 && !is_year(a) && off / a.value < 0.01
        || a.value.fract() == 0.0 && b.value.fract() != 0.0 && a.value >= 10.0 && off <= 0.5;
    let bounded = match bound {
        Bound::Exact => false,
        Bound::About => off <= a.value.abs() / 10.0,
        Bound::Above => b.value >= a.value && b.value <= a.value * 2.0,
        Bound::Below => b.value <= a.value && b.value >= a.value / 2.0,
    };
    off <= 1e-9 || rounded || (bounded && is_same_quantity(a, b))
}

/// Whether two numbers measure the same kind of thing.
fn is_same_quantity(a: &Number, b: &Number) -> bool {
    match (&a.unit, &b.unit) {
        _ if is_year(a) || is_year(b) => is_year(a) && is_year(b),
        (Some(x), Some(y)) => x == y,
        (None, None) => true,
        _ => false,
    }
}

/// The longest run of words that the claim shares with a sentence of the window, relative to its length.
fn longest_shared_run(it: &Alignment, window: &[usize]) -> f32 {
    let claim = &it.claim.terms[..it.claim.terms.len().min(512)];
    let mut longest = 0_usize;
    for &at in window {
        let terms = &it.sentences[at].words.terms;
        let mut before = vec![0_usize; terms.len() + 1];
        for word in claim {
            let mut row = vec![0_usize; terms.len() + 1];
            for (nth, other) in terms.iter().enumerate() {
                if word.text == other.text {
                    row[nth + 1] = before[nth] + 1;
                    longest = longest.max(row[nth + 1]);
                }
            }
            before = row;
        }
    }
    longest as f32 / claim.len().max(1) as f32
}

/// The share of content words matched in the claim's order (longest increasing run of positions).
fn order_agreement(it: &Alignment, best: usize) -> f32 {
    let places: Vec<usize> = it.places(best).into_iter().flatten().collect();
    let mut lengths = vec![1_usize; places.len()];
    for at in 0..places.len() {
        for before in 0..at {
            if places[before] < places[at] {
                lengths[at] = lengths[at].max(lengths[before] + 1);
            }
        }
    }
    let longest = lengths.into_iter().max().unwrap_or(0);
    longest as f32 / it.content_terms.len().max(1) as f32
}

/// The share of the claim's character trigrams that the window has.
fn trigram_coverage(it: &Alignment, window: &[usize]) -> f32 {
    let grams = |terms: &[TextTerm]| -> std::collections::HashSet<[u8; 4]> {
        terms
            .iter()
            .filter(|term| term.kind != TermKind::Stop)
            .flat_map(|term| {
                let padded = format!(" {} ", term.text);
                padded
                    .as_bytes()
                    .windows(4)
                    .map(|window| [window[0], window[1], window[2], window[3]])
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let claim = grams(&it.claim.terms);
    let mut have = std::collections::HashSet::new();
    for &at in window {
        have.extend(grams(&it.sentences[at].words.terms));
    }
    claim.iter().filter(|it| have.contains(*it)).count() as f32 / claim.len().max(1) as f32
}

/// The share of the best sentence's weight that the claim has.
fn reverse_coverage(it: &Alignment, best: usize) -> f32 {
    let (mut met, mut all) = (0.0, 0.0);
    for term in &it.sentences[best].words.terms {
        all += term.weight();
        if it.content_terms.iter().any(|&at| it.claim.terms[at].stem == term.stem) {
            met += term.weight();
        }
    }
    if all == 0.0 { 0.0 } else { met / all }
}

/// Coverage in which words that occur all over the source count less: they only name the topic.
fn rare_coverage(it: &Alignment, window: &[usize]) -> f32 {
    let sentences = it.sentences.len() as f32;
    let (mut met, mut all) = (0.0, 0.0);
    for nth in 0..it.content_terms.len() {
        let df = it.met.iter().filter(|it| it[nth] > 0.5).count() as f32;
        let weight = it.weights[nth] * (1.0 - 0.8 * (df - 1.0).max(0.0) / sentences);
        all += weight;
        met += weight * it.best_in(window, nth);
    }
    if all == 0.0 { 0.0 } else { met / all }
}

/// Whether a name of the claim is nowhere in the source while the best sentence has one that the claim lacks:
/// it may stand in its place.
fn has_other_name(it: &Alignment, best: usize) -> f32 {
    let missing = it.content_terms.iter().enumerate().any(|(nth, &term)| {
        it.claim.terms[term].kind == TermKind::Name && it.met.iter().all(|met| met[nth] < 0.5)
    });
    let other = it.sentences[best].words.terms.iter().any(|term| {
        term.kind == TermKind::Name && !it.claim.terms.iter().any(|it| it.stem == term.stem)
    });
    bool_signal(missing && other) * it.coverage(&[best])
}
