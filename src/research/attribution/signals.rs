//! What speaks for and against the claim, as numbers between 0 and 1.
use super::align::Alignment;
use super::lexicon;
use super::terms::{Kind, Term};
use crate::domain::words::Number;

/// How many signals there are.
pub(super) const COUNT: usize = 30;

/// The signals of an alignment whose best sentence is `best`, each with its name.
pub(super) fn of(it: &Alignment, best: usize) -> [(&'static str, f32); COUNT] {
    let all: Vec<usize> = (0..it.sentences.len()).collect();
    let window = it.window();
    let alone = [best];
    let cov_doc = it.coverage(&all);
    let cov_best = it.coverage(&alone);
    let cov_window = it.coverage(&window);
    let is_name = |term: &Term| term.kind == Kind::Name;
    let here = &it.sentences[best].words.terms;
    let claim_negated = parity(&it.claim.terms);
    let source_negated = parity(here);
    let (opposite, direction) = against(it, best);
    let numbers = compare_numbers(it, &window, &all);
    let missing: Vec<usize> = (0..it.telling.len())
        .filter(|&nth| it.best_in(&all, nth) < 0.5)
        .collect();
    let missing_names = missing
        .iter()
        .filter(|&&nth| is_name(&it.claim.terms[it.telling[nth]]))
        .count();
    let missing_weight = missing
        .iter()
        .map(|&nth| it.weights[nth])
        .fold(0.0, f32::max);
    let hedged = here.iter().any(|it| lexicon::is_hedge(&it.text))
        && !it.claim.terms.iter().any(|it| lexicon::is_hedge(&it.text));
    let near_copy = (1..=2).contains(&missing.len()) && it.telling.len() >= 4;
    [
        ("cov_doc", cov_doc),
        ("cov_best", cov_best),
        ("cov_window", cov_window),
        ("cov_two", it.coverage(&it.two())),
        ("names_best", it.share(&alone, is_name)),
        ("names_doc", it.share(&all, is_name)),
        ("names_missing", (missing_names as f32 / 2.0).min(1.0)),
        ("numbers_window", numbers.window),
        ("numbers_doc", numbers.doc),
        ("numbers_conflict", numbers.conflict),
        ("pairs", pairs(it, &window)),
        ("run", run(it, &window)),
        ("order", order(it, best)),
        ("trigrams", trigrams(it, &window)),
        ("negation", mark(claim_negated != source_negated) * cov_best),
        (
            "negation_only",
            mark(source_negated && !claim_negated) * cov_best,
        ),
        ("opposite", opposite * cov_window),
        ("direction", direction * cov_window),
        (
            "refuted",
            mark(here.iter().any(|it| lexicon::is_refutation(&it.text))) * cov_best,
        ),
        ("hedged", mark(hedged) * cov_best),
        ("absolute", absolute(it, &window)),
        ("inversion", inversion(it, best)),
        ("missing_words", (missing.len() as f32 / 5.0).min(1.0)),
        ("one_missing", mark(near_copy) * cov_best),
        ("reverse", reverse(it, best)),
        ("long_source", (all.len() as f32).ln_1p() / 5.0),
        ("long_claim", (it.telling.len() as f32).ln_1p() / 4.0),
        ("claim_negated", mark(claim_negated)),
        ("missing_weight", missing_weight / 1.6),
        ("cov_square", cov_window * cov_window),
    ]
}

fn mark(yes: bool) -> f32 {
    f32::from(u8::from(yes))
}

/// Whether the words are negated, two negations cancelling out.
fn parity(terms: &[Term]) -> bool {
    terms
        .iter()
        .filter(|it| lexicon::is_negation(&it.text))
        .count()
        % 2
        == 1
}

/// Whether the sentence has an opposite of a word it does not have itself, and whether it points
/// the other way (more against less).
fn against(it: &Alignment, best: usize) -> (f32, f32) {
    let opposite =
        (0..it.telling.len()).any(|nth| it.opposed[best][nth] && it.met[best][nth] < 0.9);
    let lean = |terms: &[Term]| -> i32 {
        terms
            .iter()
            .map(|it| i32::from(lexicon::direction(&it.stem)))
            .sum()
    };
    let claim = lean(&it.claim.terms);
    let source = lean(&it.sentences[best].words.terms);
    (mark(opposite), mark(claim * source < 0))
}

struct Numbers {
    window: f32,
    doc: f32,
    conflict: f32,
}

/// How many numbers of the claim the source has, and whether it has others in their place.
fn compare_numbers(it: &Alignment, window: &[usize], all: &[usize]) -> Numbers {
    let wanted = &it.claim.numbers;
    if wanted.is_empty() {
        return Numbers {
            window: 1.0,
            doc: 1.0,
            conflict: 0.0,
        };
    }
    let having = |sentences: &[usize]| -> Vec<&Number> {
        sentences
            .iter()
            .flat_map(|&at| &it.sentences[at].words.numbers)
            .collect()
    };
    let near = having(window);
    let far = having(all);
    let share = |have: &[&Number]| {
        wanted
            .iter()
            .filter(|a| have.iter().any(|b| same(a, b)))
            .count() as f32
            / wanted.len() as f32
    };
    let conflict = wanted
        .iter()
        .filter(|a| !near.iter().any(|b| same(a, b)) && near.iter().any(|b| alike(a, b)))
        .count();
    Numbers {
        window: share(&near),
        doc: share(&far),
        conflict: conflict as f32 / wanted.len() as f32,
    }
}

/// A year, as far as a bare number can tell.
fn is_year(number: &Number) -> bool {
    (1000.0..2100.0).contains(&number.value)
        && number.value.fract() == 0.0
        && number
            .unit
            .as_deref()
            .is_none_or(|it| it != "%" && it != "$" && it != "€" && it != "£")
}

/// Whether two numbers say the same, up to rounding.
fn same(a: &Number, b: &Number) -> bool {
    let off = (a.value - b.value).abs();
    off <= 1e-9 || (a.value >= 1e4 && !is_year(a) && off / a.value < 0.005)
}

/// Whether two numbers measure the same kind of thing.
fn alike(a: &Number, b: &Number) -> bool {
    is_year(a) && is_year(b) || (a.unit.is_some() && a.unit == b.unit)
}

/// The share of neighbouring telling words that stand together in one sentence of the window too.
fn pairs(it: &Alignment, window: &[usize]) -> f32 {
    let wanted = it.telling.len().saturating_sub(1);
    if wanted == 0 {
        return it.coverage(window);
    }
    let places: Vec<Vec<Option<usize>>> = window.iter().map(|&at| it.places(at)).collect();
    let found = (0..wanted)
        .filter(|&nth| {
            places
                .iter()
                .any(|places| match (places[nth], places[nth + 1]) {
                    (Some(a), Some(b)) => b > a && b - a <= 3,
                    _ => false,
                })
        })
        .count();
    found as f32 / wanted as f32
}

/// The longest run of words the claim shares with a sentence of the window, against its length.
fn run(it: &Alignment, window: &[usize]) -> f32 {
    let claim = &it.claim.terms;
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

/// The share of telling words met in the claim's own order (longest increasing run of places).
fn order(it: &Alignment, best: usize) -> f32 {
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
    longest as f32 / it.telling.len().max(1) as f32
}

/// The share of met names that stand in the other order, when no passive explains it.
fn inversion(it: &Alignment, best: usize) -> f32 {
    let places = it.places(best);
    let met: Vec<usize> = (0..places.len()).filter_map(|nth| places[nth]).collect();
    if met.len() < 2 {
        return 0.0;
    }
    let (mut inverted, mut all) = (0, 0);
    for a in 0..met.len() {
        for b in a + 1..met.len() {
            all += 1;
            inverted += usize::from(met[a] > met[b]);
        }
    }
    inverted as f32 / all as f32
}

/// The share of the claim's character trigrams that the window has.
fn trigrams(it: &Alignment, window: &[usize]) -> f32 {
    let grams = |terms: &[Term]| -> std::collections::HashSet<[u8; 4]> {
        terms
            .iter()
            .filter(|it| it.kind != Kind::Stop)
            .flat_map(|it| {
                let padded = format!(" {} ", it.text);
                padded
                    .as_bytes()
                    .windows(4)
                    .map(|it| [it[0], it[1], it[2], it[3]])
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

/// The share of the claim's absolute words the window does not have.
fn absolute(it: &Alignment, window: &[usize]) -> f32 {
    let wanted: Vec<&Term> = it
        .claim
        .terms
        .iter()
        .filter(|it| lexicon::is_absolute(&it.text))
        .collect();
    if wanted.is_empty() {
        return 0.0;
    }
    let missing = wanted
        .iter()
        .filter(|word| {
            !window.iter().any(|&at| {
                it.sentences[at]
                    .words
                    .terms
                    .iter()
                    .any(|it| it.text == word.text)
            })
        })
        .count();
    missing as f32 / wanted.len() as f32
}

/// The share of the best sentence's own weight that the claim has.
fn reverse(it: &Alignment, best: usize) -> f32 {
    let (mut met, mut all) = (0.0, 0.0);
    for term in &it.sentences[best].words.terms {
        all += term.weight();
        if it
            .telling
            .iter()
            .any(|&at| it.claim.terms[at].stem == term.stem)
        {
            met += term.weight();
        }
    }
    if all == 0.0 { 0.0 } else { met / all }
}
