//! Where a claim has the words of a sentence and yet says otherwise: sides exchanged, an opposite, another unit, month or bound.
//!
//! It speaks only where the sentence has nearly all words of the claim. Reversals cancel out: "the south had lower prices than the
//! north" says what "prices in the north were higher than in the south" says.
use std::collections::BTreeSet;

use super::align::Alignment;
use super::lexicon;
use super::signals::{is_negated, is_year};
use super::terms::{Bound, ParsedText, TermKind, TextTerm};
use crate::thresholds::MIN_SAME_WORDS_SHARE;
use ibid_core::domain::words::Number;

/// Longest claim and sentence that are compared, in words: longer ones are no statement.
const MAX_COMPARED_WORDS: usize = 300;
/// Words of a claim from which a part of a sentence that differs in one place is the same statement.
const MIN_SAME_RUN: usize = 4;
/// Words on each side that show that two words stand in the same place.
const PLACE_WINDOW: usize = 3;
/// Words after "than" or "to" that may name the other side.
const SIDE_WORDS: usize = 6;
/// Most words between "from" and "to".
const RANGE_WORDS: usize = 6;

/// Whether the claim says otherwise than sentence `best` in nearly the same words. `Some(false)` if its reversals cancel out, so that
/// neither an opposite nor a negation alone contradicts; `None` if there is none.
pub(super) fn says_otherwise(it: &Alignment, best: usize) -> Option<bool> {
    let (claim, source) = (&it.claim, &it.sentences[best].words);
    if claim.terms.len().max(source.terms.len()) > MAX_COMPARED_WORDS {
        return None;
    }
    if differs_in_one_place(&claim.terms, &source.terms) {
        return Some(true);
    }
    if converts_unit(it) {
        return Some(false);
    }
    if same_words(it, best) < MIN_SAME_WORDS_SHARE {
        return None;
    }
    if has_exchanged_pairs(&claim.terms, &source.terms)
        || has_other_member(claim, source)
        || has_other_unit(it, best)
        || has_other_number(claim, source, it)
        || has_other_year(claim, source)
    {
        return Some(true);
    }
    let sides = exchanged_sides(claim, source);
    let opposites =
        opposites(&claim.terms, &source.terms) + usize::from(is_equal_not_more(claim, source));
    let bounds = usize::from(has_opposite_bound(claim, source));
    let ranges = usize::from(has_reversed_range(claim, source));
    let reversals = opposites + bounds + ranges + usize::from(sides == Some(true));
    if reversals == 0 {
        return bounds_alike(claim, source).then_some(false);
    }
    let negated = usize::from(is_negated(&claim.terms) != is_negated(&source.terms));
    match (reversals + negated) % 2 {
        1 => Some(true),
        _ => (sides == Some(true) || opposites > 1).then_some(false),
    }
}

/// The words of a text without its negations and what comes with them ("does not" and "doesn't"), and before which words those stood.
struct WithoutNegations<'a> {
    /// Each word, and whether it is a number.
    words: Vec<(&'a str, bool)>,
    negations: Vec<usize>,
}

impl<'a> WithoutNegations<'a> {
    fn of(terms: &'a [TextTerm]) -> WithoutNegations<'a> {
        let mut out = WithoutNegations { words: Vec::new(), negations: Vec::new() };
        for term in terms {
            let negates = lexicon::is_negation(&term.text);
            if negates {
                out.negations.push(out.words.len());
            }
            let text = term.text.as_str();
            let short = ["n't", "n’t", "not"].iter().find_map(|end| text.strip_suffix(end));
            let word = short.filter(|_| negates).unwrap_or(text);
            if !word.is_empty() && !matches!(word, "do" | "does" | "did") {
                out.words.push((word, is_number(term)));
            }
        }
        out
    }
}

/// Whether the claim is a part of the sentence word for word, but for a negation or a number.
fn differs_in_one_place(claim: &[TextTerm], source: &[TextTerm]) -> bool {
    let (ours, theirs) = (WithoutNegations::of(claim), WithoutNegations::of(source));
    let length = ours.words.len();
    let numbers = |a: &str, b: &str| Some((a.parse::<f64>().ok()?, b.parse::<f64>().ok()?));
    let other_number = |a: &(&str, bool), b: &(&str, bool)| {
        a.1 && b.1 && numbers(a.0, b.0).is_none_or(|(a, b)| !is_rounded(a, b))
    };
    if length < MIN_SAME_RUN {
        return false;
    }
    let mut differs = false;
    for (start, part) in theirs.words.windows(length).enumerate() {
        let unequal: Vec<_> = ours.words.iter().zip(part).filter(|(a, b)| a.0 != b.0).collect();
        if !unequal.iter().all(|(a, b)| other_number(a, b)) {
            continue;
        }
        let end = start + length;
        let inside =
            |at: &&usize| (**at > start || start == 0) && (**at < end || end == theirs.words.len());
        let negations = theirs.negations.iter().filter(inside).count();
        let denies = negations % 2 != ours.negations.len() % 2;
        // "5 mg in 2019 and 7 mg in 2020" says both.
        if unequal.is_empty() && !denies {
            return false;
        }
        differs = true;
    }
    differs
}

/// The share of the claim's words that the sentence has, itself or by an opposite.
fn same_words(it: &Alignment, best: usize) -> f32 {
    let (mut met, mut all) = (0.0, 0.0);
    for (nth, &at) in it.content_terms.iter().enumerate() {
        let term = &it.claim.terms[at];
        // What differs is looked at by kind.
        if term.kind == TermKind::Number
            || lexicon::exclusive_group(&term.text).is_some()
            || lexicon::unit(&term.stem).is_some()
            || matches!(&*term.text, "thousand" | "million" | "billion" | "trillion")
        {
            continue;
        }
        let opposed = it.opposed[best][nth] || lexicon::direction(&term.stem) != 0;
        all += it.weights[nth];
        met += it.weights[nth] * if opposed { 1.0 } else { it.met[best][nth] };
    }
    if all == 0.0 { 0.0 } else { met / all }
}

/// Whether a word is a number. A single digit is no content word elsewhere.
fn is_number(term: &TextTerm) -> bool {
    term.kind == TermKind::Number || term.text.parse::<f64>().is_ok()
}

fn has(terms: &[TextTerm], stem: &str) -> bool {
    terms.iter().any(|term| term.stem == stem)
}

/// Whether two words stand beside a word that both texts have.
fn same_place(claim: &[TextTerm], at: usize, source: &[TextTerm], other: usize) -> bool {
    let near = |terms: &[TextTerm], at: usize| -> BTreeSet<String> {
        let window = at.saturating_sub(PLACE_WINDOW)..(at + PLACE_WINDOW + 1).min(terms.len());
        let beside = window.filter(|nth| *nth != at).map(|nth| &terms[nth]);
        beside.filter(|term| term.kind != TermKind::Stop).map(|term| term.stem.clone()).collect()
    };
    !near(claim, at).is_disjoint(&near(source, other))
}

/// Whether the word after, or the content word before, is the same in both texts.
fn same_neighbour(claim: &[TextTerm], at: usize, source: &[TextTerm], other: usize) -> bool {
    let tells = |term: &&TextTerm| term.kind != TermKind::Stop;
    let next =
        |terms: &[TextTerm], at: usize| terms.get(at + 1).filter(tells).map(|it| it.stem.clone());
    let before =
        |terms: &[TextTerm], at: usize| terms[..at].iter().rfind(tells).map(|it| it.stem.clone());
    let same = |a: Option<String>, b: Option<String>| a.is_some() && a == b;
    same(next(claim, at), next(source, other)) || same(before(claim, at), before(source, other))
}

/// How many words of the claim have an opposite in the sentence in their place, while neither text has both.
fn opposites(claim: &[TextTerm], source: &[TextTerm]) -> usize {
    let opposite = |a: &TextTerm, b: &TextTerm| {
        let (here, there) = (lexicon::direction(&a.stem), lexicon::direction(&b.stem));
        here * there < 0 && is_comparative(&a.text) == is_comparative(&b.text)
            || lexicon::opposites(&a.stem).any(|other| other == b.stem)
    };
    let compare = [claim, source]
        .iter()
        .all(|terms| sides_form(terms).is_some_and(|it| it.0 == SidesForm::More));
    let counts = |at: usize, term: &TextTerm| {
        !has(source, &term.stem)
            && source.iter().enumerate().any(|(other, word)| {
                let degrees = is_comparative(&term.text) && is_comparative(&word.text);
                opposite(term, word)
                    && !has(claim, &word.stem)
                    && (compare && degrees || same_place(claim, at, source, other))
            })
    };
    claim.iter().enumerate().filter(|(at, term)| counts(*at, term)).count()
}

fn is_comparative(word: &str) -> bool {
    word.ends_with("er") || matches!(word, "more" | "less")
}

/// Whether the claim has another member of a group of which one excludes the others: another month, "twice" for "once".
fn has_other_member(claim: &ParsedText, source: &ParsedText) -> bool {
    let (claim, source) = (&claim.terms, &source.terms);
    let is_rate = |terms: &[TextTerm], at: usize| {
        at.checked_sub(1).is_some_and(|before| {
            matches!(&*terms[before].text, "a" | "an" | "per" | "each" | "every")
        })
    };
    claim.iter().enumerate().any(|(at, term)| {
        let Some((group, of_rates)) = lexicon::exclusive_group(&term.text) else { return false };
        if has(source, &term.stem) || of_rates && !is_rate(claim, at) {
            return false;
        }
        source.iter().enumerate().any(|(other, word)| {
            word.text != term.text
                && lexicon::exclusive_group(&word.text).is_some_and(|its| its.0 == group)
                && !has(claim, &word.stem)
                && (!of_rates || is_rate(source, other))
                && (of_rates || same_neighbour(claim, at, source, other))
                && !(matches!(&*term.text, "once" | "twice") && every_number(claim, source))
        })
    })
}

/// Whether one of the texts says "every six months", which is "twice a year".
fn every_number(claim: &[TextTerm], source: &[TextTerm]) -> bool {
    let pairs = claim.windows(2).chain(source.windows(2));
    pairs.into_iter().any(|pair| pair[0].text == "every" && is_number(&pair[1]))
}

/// The amount of a number in the basic unit of what its unit measures.
fn amount(number: &Number) -> Option<(&'static str, f64)> {
    let (measures, factor) = lexicon::unit(number.unit.as_deref()?)?;
    Some((measures, number.value * factor))
}

fn is_same_amount(a: &Number, b: &Number) -> bool {
    matches!((amount(a), amount(b)), (Some(a), Some(b)) if a.0 == b.0 && is_near(a.1, b.1))
}

/// Whether a number of the claim occurs in the sentence with another unit only, and not as the same amount.
fn has_other_unit(it: &Alignment, best: usize) -> bool {
    let source = &it.sentences[best].words;
    let all = || it.sentences.iter().flat_map(|sentence| &sentence.words.numbers);
    it.claim.numbers.iter().any(|said| {
        let other_unit =
            |other: &Number| is_near(other.value, said.value) && amount(other).is_some();
        amount(said).is_some()
            && !all().any(|other| is_same_amount(said, other))
            && source.numbers.iter().any(other_unit)
    })
}

/// Whether a number of the claim is the same amount as one of the source, in another unit.
fn converts_unit(it: &Alignment) -> bool {
    let all = || it.sentences.iter().flat_map(|sentence| &sentence.words.numbers);
    it.claim.numbers.iter().any(|said| {
        all().all(|other| !is_near(other.value, said.value))
            && all().any(|other| is_same_amount(said, other))
    })
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 * a.abs().max(b.abs())
}

/// Whether a number of the claim is nowhere in the source, and the sentence has another in its place: as many of its kind, and
/// each exact.
fn has_other_number(claim: &ParsedText, source: &ParsedText, it: &Alignment) -> bool {
    let all = || it.sentences.iter().flat_map(|sentence| &sentence.words.numbers);
    let of_kind = |words: &ParsedText, kind: &Number| {
        words.numbers.iter().filter(|number| is_same_kind(number, kind)).count()
    };
    let exact = claim.bounds.iter().all(|bound| *bound == Bound::Exact);
    exact
        && claim.numbers.iter().any(|said| {
            let as_said = |other: &Number| {
                is_near(other.value, said.value)
                    || is_same_amount(said, other)
                    || is_rounded(said.value, other.value)
            };
            let theirs = of_kind(source, said);
            !all().any(as_said) && theirs > 0 && theirs == of_kind(claim, said)
        })
}

/// Whether both are years, or both have the same unit.
fn is_same_kind(a: &Number, b: &Number) -> bool {
    match (is_year(a), is_year(b)) {
        (true, true) => true,
        (false, false) => a.unit.is_some() && a.unit == b.unit,
        _ => false,
    }
}

/// Whether one number is the other, rounded.
fn is_rounded(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.05 * a.abs().max(b.abs())
        && (a.fract() == 0.0 || b.fract() == 0.0)
        && a.fract() != b.fract()
}

/// Whether the sentence gives the value of the claim for another year, and another value for the claim's.
fn has_other_year(claim: &ParsedText, source: &ParsedText) -> bool {
    let (years, values) = years_and_values(&claim.terms);
    let ([year], [value]) = (&years[..], &values[..]) else { return false };
    let (their_years, their_values) = years_and_values(&source.terms);
    let stem = |nth: usize, terms: &[TextTerm]| terms[nth].stem.clone();
    let (year, value) = (stem(*year, &claim.terms), stem(*value, &claim.terms));
    if their_years.len() != 2 || their_values.len() != 2 {
        return false;
    }
    // The first value goes with the first year: "from 900 in 2019 to 610 in 2021".
    let pairs: Vec<(String, String)> = their_values
        .iter()
        .zip(&their_years)
        .map(|(value, year)| (stem(*value, &source.terms), stem(*year, &source.terms)))
        .collect();
    pairs.iter().any(|pair| pair.0 == value && pair.1 != year)
        && pairs.iter().any(|pair| pair.1 == year && pair.0 != value)
}

/// The places of the years, and of the other numbers.
fn years_and_values(terms: &[TextTerm]) -> (Vec<usize>, Vec<usize>) {
    let numbers = (0..terms.len()).filter(|at| is_number(&terms[*at]));
    numbers.partition(|at| {
        let text = &terms[*at].text;
        text.len() == 4 && (text.starts_with("19") || text.starts_with("20"))
    })
}

/// The numbers, and the bound on each.
fn bounded(it: &ParsedText) -> Vec<(f64, Bound)> {
    it.numbers.iter().zip(&it.bounds).map(|(number, bound)| (number.value, *bound)).collect()
}

/// Whether a bound of the claim is in the sentence, too, and one of them is written as a negation: "no less than", "at least".
fn bounds_alike(claim: &ParsedText, source: &ParsedText) -> bool {
    is_negated(&claim.terms) != is_negated(&source.terms)
        && bounded(claim).iter().any(|(value, bound)| {
            matches!(bound, Bound::Above | Bound::Below)
                && bounded(source).iter().any(|it| is_near(*value, it.0) && *bound == it.1)
        })
}

/// Whether two opposites that both texts have go with each other's partner: "highest in winter and lowest in summer".
fn has_exchanged_pairs(claim: &[TextTerm], source: &[TextTerm]) -> bool {
    let place = |terms: &[TextTerm], stem: &str| terms.iter().position(|term| term.stem == stem);
    let (mut pairs, mut turned) = (0, 0);
    for (at, term) in claim.iter().enumerate() {
        let partner = lexicon::opposites(&term.stem)
            .find_map(|other| place(claim, other).filter(|its| *its > at).map(|_| other));
        let Some(partner) = partner else { continue };
        if let (Some(first), Some(second)) = (place(source, &term.stem), place(source, partner)) {
            pairs += 1;
            turned += usize::from(first > second);
        }
    }
    pairs == 2 && turned == 1
}

/// Whether a number is bounded above in one text and below in the other.
fn has_opposite_bound(claim: &ParsedText, source: &ParsedText) -> bool {
    bounded(claim).into_iter().any(|(value, bound)| {
        bounded(source).into_iter().any(|(other, its)| {
            is_near(value, other)
                && matches!(
                    (bound, its),
                    (Bound::Above, Bound::Below) | (Bound::Below, Bound::Above)
                )
        })
    })
}

/// Whether "from A to B" of the sentence is "from B to A" in the claim.
fn has_reversed_range(claim: &ParsedText, source: &ParsedText) -> bool {
    match (range(&claim.terms), range(&source.terms)) {
        (Some(ours), Some(theirs)) => ours.0 == theirs.1 && ours.1 == theirs.0 && ours.0 != ours.1,
        _ => false,
    }
}

/// The first numbers after "from" and after "to".
fn range(terms: &[TextTerm]) -> Option<(&str, &str)> {
    let from = terms.iter().position(|term| term.text == "from")?;
    let to = from + terms.iter().skip(from).take(RANGE_WORDS).position(|term| term.text == "to")?;
    let number = |at: usize| {
        let after = terms.iter().skip(at + 1).take(2);
        after.into_iter().find(|term| is_number(term)).map(|term| &*term.stem)
    };
    Some((number(from)?, number(to)?))
}

/// Where a comparison or a transfer names its other side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SidesForm {
    /// "Longer than".
    More,
    /// "As long as".
    Equal,
    /// "Half as long as", "twice as long as".
    Times,
    /// "Sold to", "bought from".
    Transfer,
    /// "After", "before".
    Order,
}

/// The form, and the place of the word before the other side.
fn sides_form(terms: &[TextTerm]) -> Option<(SidesForm, usize)> {
    let find = |word: &str| terms.iter().position(|term| term.text == word);
    if let Some(at) = find("than") {
        return Some((SidesForm::More, at));
    }
    if let Some(first) = find("as")
        && let Some(second) = terms.iter().skip(first + 1).position(|term| term.text == "as")
    {
        let times = terms[..first].last().is_some_and(|it| matches!(&*it.text, "twice" | "half"));
        let form = if times { SidesForm::Times } else { SidesForm::Equal };
        return Some((form, first + 1 + second));
    }
    if let Some(at) = find("after").or_else(|| find("before"))
        && at > 0
    {
        return Some((SidesForm::Order, at));
    }
    let at = find("to").or_else(|| find("from"))?;
    Some((SidesForm::Transfer, at))
}

/// Whether the claim is "as long as" where the sentence is "longer than", or the reverse.
fn is_equal_not_more(claim: &ParsedText, source: &ParsedText) -> bool {
    let form = |it: &ParsedText| sides_form(&it.terms).map(|it| it.0);
    matches!((form(claim), form(source)), (Some(SidesForm::Equal), Some(SidesForm::More)))
        && !is_negated(&claim.terms)
}

/// Whether what stands on one side in the sentence stands on the other in the claim; `None` if that cannot be told.
fn exchanged_sides(claim: &ParsedText, source: &ParsedText) -> Option<bool> {
    let ((form, at), (its_form, its_at)) = (sides_form(&claim.terms)?, sides_form(&source.terms)?);
    let compares = |form| matches!(form, SidesForm::More | SidesForm::Equal | SidesForm::Times);
    if form != its_form && !(compares(form) && compares(its_form)) {
        return None;
    }
    let sides = |terms: &[TextTerm], at: usize| -> [BTreeSet<String>; 2] {
        let names = |terms: &[TextTerm]| {
            let telling =
                terms.iter().filter(|term| matches!(term.kind, TermKind::Plain | TermKind::Name));
            telling.map(|term| term.stem.clone()).collect::<BTreeSet<String>>()
        };
        let end = (at + 1 + SIDE_WORDS).min(terms.len());
        [names(&terms[..at]), names(&terms[at + 1..end])]
    };
    let [left, right] = sides(&claim.terms, at);
    let [its_left, its_right] = sides(&source.terms, its_at);
    let moved = |one: &BTreeSet<String>, from: &BTreeSet<String>, beside: &BTreeSet<String>| {
        from.difference(beside).any(|stem| one.contains(stem))
    };
    let crossed = moved(&right.difference(&left).cloned().collect(), &its_left, &its_right)
        && moved(&left.difference(&right).cloned().collect(), &its_right, &its_left);
    Some(crossed)
}
