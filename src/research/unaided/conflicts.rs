//! Where sources disagree: numbers on the same quantity, and statements that deny each other.
//!
//! A false conflict reads worse than a missed one, so each rule asks for the same words around it.
use crate::domain::words::{Number, Token, is_stop, numbers, tokens};
use crate::domain::{Evidence, Notes, Source};
use crate::error::Result;
use crate::research::prompts::{self, SentenceWords, fill};
use crate::research::write::{DraftConflict, Line};

use super::choose::{Point, voice};
use super::lexicon::{Lexicon, has_phrase, jaccard, spaced};
use super::sentence::{denies, doubts, years};

/// Most conflicts shown.
const MOST: usize = 4;
/// Relative difference below which two numbers are one, rounded.
const ROUNDING: f64 = 0.05;
/// Likeness of the words around two numbers that makes them the same quantity.
const SAME_QUANTITY: f32 = 0.45;
/// Likeness of two statements of which one denies the other.
const SAME_STATEMENT: f32 = 0.55;
/// Words on each side of a number that say what it counts.
const AROUND: usize = 7;

/// The conflicts among the points, in the order of the points.
pub(crate) fn find(
    notes: &Notes,
    points: &[Point],
    lexicon: &mut Lexicon,
) -> Result<Vec<DraftConflict>> {
    let words = &prompts::phrases()?.sentence;
    let stated: Vec<Stated<'_>> = points
        .iter()
        .filter_map(|it| Stated::of(notes, it, lexicon, words))
        .collect();
    let mut found = Vec::new();
    let mut used: Vec<bool> = vec![false; stated.len()];
    for a in 0..stated.len() {
        for b in a + 1..stated.len() {
            if used[a] || used[b] || found.len() >= MOST {
                continue;
            }
            let (one, other) = (&stated[a], &stated[b]);
            if voice(one.source) == voice(other.source) || !shares_item(one, other) {
                continue;
            }
            let conflict = match numbers_disagree(one, other) {
                Some((x, y)) => Some(conflict(one, other, x, y)?),
                None if denies_other(one, other, words) => {
                    let says = &prompts::phrases()?.conflict;
                    let (x, y) = if one.no {
                        (&says.denies, &says.says_so)
                    } else {
                        (&says.says_so, &says.denies)
                    };
                    Some(conflict(one, other, x.clone(), y.clone())?)
                }
                None => None,
            };
            if let Some(it) = conflict {
                used[a] = true;
                used[b] = true;
                found.push(it);
            }
        }
    }
    Ok(found)
}

/// A point with what can disagree about it.
struct Stated<'a> {
    point: &'a Point,
    evidence: &'a Evidence,
    source: &'a Source,
    /// Numbers with a unit, each with the words around it.
    figures: Vec<(Number, Vec<u32>)>,
    years: Vec<u32>,
    /// Names and codes within the sentence that tell cases apart.
    names: Vec<String>,
    spaced: String,
    no: bool,
}

impl<'a> Stated<'a> {
    fn of(
        notes: &'a Notes,
        point: &'a Point,
        lexicon: &mut Lexicon,
        words: &SentenceWords,
    ) -> Option<Stated<'a>> {
        let evidence = &notes.evidence[*point.evidence.first()?];
        let source = notes.source(evidence.source)?;
        let text = point.text.as_str();
        let figures = numbers(text)
            .into_iter()
            .filter(|it| it.unit.as_deref().is_some_and(|unit| !vague(unit)))
            .map(|it| {
                let around = around(text, &it, lexicon);
                (it, around)
            })
            .collect();
        let spaced = spaced(text);
        let no = denies(&spaced, words);
        Some(Stated {
            point,
            evidence,
            source,
            figures,
            years: years(text),
            names: names(text),
            spaced,
            no,
        })
    }
}

fn shares_item(one: &Stated<'_>, other: &Stated<'_>) -> bool {
    one.point
        .items
        .iter()
        .any(|it| other.point.items.contains(it))
}

/// Units that count different things in every sentence.
fn vague(unit: &str) -> bool {
    matches!(
        unit,
        "year"
            | "day"
            | "month"
            | "week"
            | "hour"
            | "time"
            | "patient"
            | "case"
            | "studi"
            | "group"
            | "type"
            | "other"
            | "main"
            | "new"
            | "differ"
            | "peopl"
            | "person"
            | "of"
            | "s"
            | "th"
            | "nd"
            | "st"
            | "rd"
    ) || unit.len() == 1
        && unit
            .chars()
            .all(|c| c.is_ascii_alphabetic() && !matches!(c, 'm' | 'g' | 'k'))
}

/// The words within reach of a number, without other numbers.
fn around(text: &str, number: &Number, lexicon: &mut Lexicon) -> Vec<u32> {
    let words = tokens(text);
    let at = words.partition_point(|it| it.span.start < number.span.start);
    let from = at.saturating_sub(AROUND);
    // The unit itself, "euros per square metre", is shared by all that is counted in it.
    let after = words.partition_point(|it| it.span.start < number.span.end);
    let unit = match words.get(after + 1).map(|it| it.text.as_str()) {
        Some("per" | "a" | "of" | "each") => after + 4,
        _ => after + 1,
    };
    let beyond = unit.min(words.len())..(at + AROUND).clamp(unit.min(words.len()), words.len());
    let mut ids: Vec<u32> = words[from..at]
        .iter()
        .chain(&words[beyond])
        .filter(|it| !is_stop(&it.text) && !it.text.starts_with(|c: char| c.is_ascii_digit()))
        .map(|it| lexicon.id(&it.text))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Capitalised words inside the sentence and words with digits in them, lower case.
fn names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = tokens(text)
        .iter()
        .filter(|it| {
            let word = &text[it.span.clone()];
            let capital = word.starts_with(char::is_uppercase) && it.span.start > 0;
            let code =
                word.chars().any(char::is_alphabetic) && word.chars().any(|c| c.is_ascii_digit());
            (capital || code) && !is_stop(&it.text)
        })
        .map(|it| it.text.clone())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// What each side says, where both speak of one quantity and give values that rounding cannot explain.
fn numbers_disagree(one: &Stated<'_>, other: &Stated<'_>) -> Option<(String, String)> {
    // Several figures of one unit are a series or a range: which answers to which is a guess.
    let single = |it: &Stated<'_>, unit: &str| {
        it.figures
            .iter()
            .filter(|(n, _)| n.unit.as_deref() == Some(unit))
            .count()
            == 1
    };
    // Different years, places or codes are different quantities.
    if !one.years.is_empty() && !other.years.is_empty() && one.years != other.years {
        return None;
    }
    if one.names != other.names
        && !(subset(&one.names, &other.names) || subset(&other.names, &one.names))
    {
        return None;
    }
    for (a, around_a) in &one.figures {
        for (b, around_b) in &other.figures {
            let unit = a.unit.as_deref()?;
            if a.unit != b.unit || !single(one, unit) || !single(other, unit) {
                continue;
            }
            let apart =
                (a.value - b.value).abs() / a.value.abs().max(b.value.abs()).max(f64::MIN_POSITIVE);
            if apart > ROUNDING
                && jaccard(around_a, around_b) >= SAME_QUANTITY
                && bounds_agree(&one.spaced, &other.spaced)
            {
                return Some((shown(&one.point.text, a), shown(&other.point.text, b)));
            }
        }
    }
    None
}

/// "Up to 50 kg" and "at least 20 kg" do not disagree.
fn bounds_agree(one: &str, other: &str) -> bool {
    const BOUNDS: &[&str] = &[
        "up to",
        "at least",
        "more than",
        "less than",
        "over",
        "under",
        "at most",
        "maximum",
        "minimum",
        "below",
        "above",
        "fewer than",
    ];
    !BOUNDS
        .iter()
        .any(|it| has_phrase(one, it) != has_phrase(other, it))
}

fn subset(a: &[String], b: &[String]) -> bool {
    a.iter().all(|it| b.contains(it))
}

/// A number with its unit as it stands.
fn shown(text: &str, number: &Number) -> String {
    let before = text[..number.span.start]
        .chars()
        .next_back()
        .filter(|c| matches!(c, '$' | '€' | '£' | '¥'));
    let after = &text[number.span.end..];
    let tail = after.trim_start();
    let unit = if tail.starts_with('%') {
        "%".to_owned()
    } else if number.unit.is_some() && before.is_none() {
        tokens(tail)
            .first()
            .map(|it| format!(" {}", &tail[it.span.clone()]))
            .unwrap_or_default()
    } else {
        String::new()
    };
    format!(
        "{}{}{unit}",
        before.map(String::from).unwrap_or_default(),
        &text[number.span.clone()]
    )
}

/// Whether two statements are alike but for a denial, or for a word and its opposite.
fn denies_other(one: &Stated<'_>, other: &Stated<'_>, words: &SentenceWords) -> bool {
    if jaccard(&one.point.ids, &other.point.ids) < SAME_STATEMENT
        || one.names != other.names
        || doubts(&one.spaced, words)
        || doubts(&other.spaced, words)
    {
        return false;
    }
    one.no != other.no
        || words.antonyms.iter().any(|(x, y)| {
            [(x, y), (y, x)].iter().any(|(x, y)| {
                has_phrase(&one.spaced, x)
                    && !has_phrase(&one.spaced, y)
                    && has_phrase(&other.spaced, y)
                    && !has_phrase(&other.spaced, x)
            })
        })
}

fn conflict(one: &Stated<'_>, other: &Stated<'_>, x: String, y: String) -> Result<DraftConflict> {
    let words = &prompts::phrases()?.conflict;
    let item = one
        .point
        .items
        .iter()
        .find(|it| other.point.items.contains(it))
        .or(one.point.items.first());
    let line = |it: &Stated<'_>| Line {
        text: it.point.text.clone(),
        evidence: vec![it.evidence.id],
    };
    Ok(DraftConflict {
        about: fill(
            &words.about_number,
            &[("terms", &common_words(&one.point.text, &other.point.text))],
        ),
        item: item.copied().unwrap_or(one.evidence.items[0]),
        sides: vec![(x, line(one)), (y, line(other))],
        likely: likely(one.source, other.source)
            .map(|it| fill(&words.older, &it.each_ref().map(|(k, v)| (*k, v.as_str())))),
    })
}

/// The runs of words both sentences share, the two longest, in the order of the first: what they
/// disagree on.
fn common_words(one: &str, other: &str) -> String {
    let there: Vec<String> = tokens(other).into_iter().map(|it| it.text).collect();
    let words = tokens(one);
    let mut runs: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    let mut run: Vec<&Token> = Vec::new();
    let mut close = |run: &mut Vec<&Token>| {
        while run.last().is_some_and(|it| is_stop(&it.text)) {
            run.pop();
        }
        let from = run.iter().position(|it| !is_stop(&it.text));
        if let (Some(from), Some(last)) = (from, run.last()) {
            let telling = run.iter().filter(|it| !is_stop(&it.text)).count();
            runs.push((telling, run[from].span.start..last.span.end));
        }
        run.clear();
    };
    for token in &words {
        let digit = token.text.starts_with(|c: char| c.is_ascii_digit());
        if !digit && there.contains(&token.text) {
            run.push(token);
        } else {
            close(&mut run);
        }
    }
    close(&mut run);
    runs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.start.cmp(&b.1.start)));
    runs.truncate(2);
    runs.sort_by_key(|it| it.1.start);
    let shown: Vec<&str> = runs.into_iter().map(|(_, span)| &one[span]).collect();
    shown.join(" … ")
}

/// The older and the newer source by name, where their years differ by two or more.
fn likely(one: &Source, other: &Source) -> Option<[(&'static str, String); 4]> {
    let year = |it: &Source| {
        it.date
            .as_deref()
            .and_then(|it| it.get(..4))
            .and_then(|it| it.parse::<u32>().ok())
    };
    let (a, b) = (year(one)?, year(other)?);
    if a.abs_diff(b) < 2 {
        return None;
    }
    let (old, new) = if a < b { (one, other) } else { (other, one) };
    Some([
        ("older", quoted(&old.title)),
        ("older_year", a.min(b).to_string()),
        ("newer", quoted(&new.title)),
        ("newer_year", a.max(b).to_string()),
    ])
}

fn quoted(title: &str) -> String {
    format!("“{title}”")
}
