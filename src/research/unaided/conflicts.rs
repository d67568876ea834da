//! Where sources disagree: numbers on the same quantity, and statements that deny each other.
//!
//! A false conflict reads worse than a missed one, so each rule asks for the same words around it.
use crate::domain::words::{Number, is_stop, tokens};
use crate::domain::{Brief, Evidence, Notes, QuestionKind, Source, Stance};
use crate::error::Result;
use crate::research::draft::{DraftConflict, Line};
use crate::research::prompts::{self, SentenceWords, fill};

use super::agree::{Answered, Wanted, answered, differ};
use super::choose::{Point, voice};
use super::lexicon::{Lexicon, has_phrase, jaccard, spaced};
use super::sentence::{denies, doubts, labels, measures, years};
use crate::research::substituted::substituted;

/// Most conflicts shown.
const MOST: usize = 4;
/// Relative difference below which two numbers are one, rounded.
const ROUNDING: f64 = 0.05;
/// Likeness of the words around two numbers that makes them the same quantity.
const SAME_QUANTITY: f32 = 0.45;
/// Likeness of two statements of which one denies the other.
const SAME_STATEMENT: f32 = 0.55;
/// Words that carry meaning at the beginning of a sentence that name its subject.
const LEAD: usize = 5;
/// Worth from which an answer is taken for one: its sentence has most words of the question, and it stands
/// near them.
const ANSWERS: f32 = 0.45;
/// Words on each side of a number that say what it counts.
const AROUND: usize = 7;

/// The conflicts among the points, in the order of the points.
pub(crate) fn find(
    brief: &Brief,
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
            if !apart(one.source, other.source) || !shares_item(one, other) {
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
                None => match changed(brief, one, other) {
                    Some((x, y)) => Some(DraftConflict {
                        about: prompts::phrases()?.conflict.about_answer.clone(),
                        ..conflict(one, other, x, y)?
                    }),
                    None => None,
                },
            };
            if let Some(mut it) = conflict {
                used[a] = true;
                used[b] = true;
                for (c, third) in stated.iter().enumerate() {
                    let known = [one, other]
                        .iter()
                        .any(|it| !apart(it.source, third.source));
                    let says =
                        numbers_disagree(one, third).or_else(|| numbers_disagree(other, third));
                    if let Some((_, says)) = says
                        && !used[c]
                        && !known
                        && it.sides.len() < MOST
                        && it.sides.iter().all(|side| side.0 != says)
                    {
                        used[c] = true;
                        it.sides.push((says, line(third)));
                    }
                }
                found.push(it);
            }
        }
    }
    Ok(found)
}

/// Where the sentences that answer a question for a figure or a year give several, best first.
pub(crate) fn on_the_figure(
    brief: &Brief,
    notes: &Notes,
    answering: &[&Point],
    known: &[DraftConflict],
    lexicon: &mut Lexicon,
) -> Result<Option<DraftConflict>> {
    let wanted = match brief.kind {
        QuestionKind::Quantity => Wanted::Amount,
        QuestionKind::When => Wanted::Date,
        _ => return Ok(None),
    };
    let words = &prompts::phrases()?.sentence;
    let said: Vec<(Stated<'_>, Answered)> = answering
        .iter()
        .filter_map(|point| {
            let answer = answered(wanted, &brief.question, &point.text)?;
            let measured = wanted == Wanted::Date || answer.unit().is_some();
            let stated = Stated::of(notes, point, lexicon, words)?;
            (measured && answer.worth >= ANSWERS).then_some((stated, answer))
        })
        .collect();
    let mut sides: Vec<&(Stated<'_>, Answered)> = Vec::new();
    for it in &said {
        let other = sides.iter().all(|side| {
            differ(&side.1, &it.1)
                && side.1.unit() == it.1.unit()
                && apart(side.0.source, it.0.source)
                && same_case(&side.0, &it.0)
                && bounds_agree(&side.0.spaced, &it.0.spaced)
                && (wanted == Wanted::Date || side.0.years == it.0.years)
        });
        if other && sides.len() < MOST {
            sides.push(it);
        }
    }
    let told = |it: &Stated<'_>| {
        known
            .iter()
            .flat_map(|it| &it.sides)
            .any(|side| side.1.evidence.contains(&it.evidence.id))
    };
    let [one, other, ..] = sides.as_slice() else {
        return Ok(None);
    };
    if sides.iter().any(|it| told(&it.0)) {
        return Ok(None);
    }
    Ok(Some(DraftConflict {
        about: prompts::phrases()?.conflict.about_answer.clone(),
        item: one.0.evidence.items[0],
        likely: older(one.0.source, other.0.source)?,
        sides: sides
            .iter()
            .map(|it| (it.1.shown.clone(), line(&it.0)))
            .collect(),
    }))
}

/// The fact that one of two sentences changed in the other.
fn changed(brief: &Brief, one: &Stated<'_>, other: &Stated<'_>) -> Option<(String, String)> {
    let (a, b) = (one.source, other.source);
    let first = |it: &Source| it.copy_of.unwrap_or(it.id);
    let copies = first(a) == first(b);
    substituted(&brief.question, &one.point.text, &other.point.text, copies)
}

/// Whether two sources can disagree: other voices, or two editions of one, years apart.
fn apart(one: &Source, other: &Source) -> bool {
    voice(one) != voice(other) || one.key() != other.key() && likely(one, other).is_some()
}

/// Where of the passages that decide a question of yes or no some say yes and some no: the best of
/// each, of different voices, unless the two stand together in a conflict already.
pub(crate) fn on_the_answer(
    notes: &Notes,
    deciding: &[(&Point, Stance)],
    known: &[DraftConflict],
) -> Result<Option<DraftConflict>> {
    let best = |stance: Stance| {
        deciding
            .iter()
            .find(|it| it.1 == stance)
            .and_then(|it| Some((it.0, notes.evidence.get(*it.0.evidence.first()?)?)))
    };
    let (Some((yes, for_it)), Some((no, against))) = (best(Stance::For), best(Stance::Against))
    else {
        return Ok(None);
    };
    let (Some(one), Some(other)) = (notes.source(for_it.source), notes.source(against.source))
    else {
        return Ok(None);
    };
    let has = |it: &DraftConflict, evidence: &Evidence| {
        it.sides
            .iter()
            .any(|side| side.1.evidence.contains(&evidence.id))
    };
    if voice(one) == voice(other) || known.iter().any(|it| has(it, for_it) || has(it, against)) {
        return Ok(None);
    }
    let words = &prompts::phrases()?.conflict;
    let side = |point: &Point, evidence: &Evidence| Line {
        text: point.text.clone(),
        evidence: vec![evidence.id],
    };
    Ok(Some(DraftConflict {
        about: words.about_answer.clone(),
        item: for_it.items[0],
        sides: vec![
            (words.no.clone(), side(no, against)),
            (words.yes.clone(), side(yes, for_it)),
        ],
        likely: older(one, other)?,
    }))
}

/// A point with what can disagree about it.
struct Stated<'a> {
    point: &'a Point,
    evidence: &'a Evidence,
    source: &'a Source,
    /// Numbers with a unit, each with the words around it.
    figures: Vec<(Number, Vec<u32>)>,
    years: Vec<u32>,
    /// Numbers that are names: "roof number 4", "type 2".
    cases: Vec<String>,
    /// Its first few words that carry meaning.
    lead: Vec<u32>,
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
        // What a range or an aside adds to a figure is not the figure.
        let head = ["(", ", with a range", ", ranging", ", between", " ± "]
            .iter()
            .filter_map(|it| text.find(it))
            .min()
            .unwrap_or(text.len());
        let figures = measures(&text[..head])
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
            cases: labels(text),
            lead: lexicon.ids(text).into_iter().take(LEAD).collect(),
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
    let mut ids: Vec<u32> = words[from..(at + AROUND).min(words.len())]
        .iter()
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
    if !same_years(one, other) || !same_case(one, other) {
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
                && same_lead(one, other)
            {
                return Some((shown(&one.point.text, a), shown(&other.point.text, b)));
            }
        }
    }
    None
}

/// Different years are different quantities.
fn same_years(one: &Stated<'_>, other: &Stated<'_>) -> bool {
    one.years.is_empty() || other.years.is_empty() || one.years == other.years
}

/// So are different places or codes.
fn same_case(one: &Stated<'_>, other: &Stated<'_>) -> bool {
    one.cases == other.cases
        && (subset(&one.names, &other.names) || subset(&other.names, &one.names))
}

/// Whether both sentences begin with the same thing: what they say is of the same subject.
fn same_lead(one: &Stated<'_>, other: &Stated<'_>) -> bool {
    let shared = one.lead.iter().filter(|it| other.lead.contains(it)).count();
    let fewer = one.lead.len().min(other.lead.len());
    fewer > 0 && shared * 2 >= fewer && shared >= 2.min(fewer)
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
    Ok(DraftConflict {
        about: fill(
            &words.about_number,
            &[("terms", &common_words(&one.point.text, &other.point.text))],
        ),
        item: item.copied().unwrap_or(one.evidence.items[0]),
        sides: vec![(x, line(one)), (y, line(other))],
        likely: older(one.source, other.source)?,
    })
}

/// Which of two sources is the older, in words, where that may be why they disagree.
fn older(one: &Source, other: &Source) -> Result<Option<String>> {
    let words = &prompts::phrases()?.conflict;
    Ok(likely(one, other)
        .map(|it| fill(&words.older, &it.each_ref().map(|(k, v)| (*k, v.as_str())))))
}

fn line(it: &Stated<'_>) -> Line {
    Line {
        text: it.point.text.clone(),
        evidence: vec![it.evidence.id],
    }
}

/// Words of measure, which say nothing of what is measured.
const MEASURES: &[&str] = &[
    "cm", "mm", "km", "m", "kg", "g", "mg", "euros", "euro", "dollars", "square", "cubic", "metre",
    "metres", "meter", "meters", "percent", "per", "year", "years", "average",
];

/// The words both sentences share, in the order of the first: what they disagree on.
fn common_words(one: &str, other: &str) -> String {
    let there: Vec<String> = tokens(other).into_iter().map(|it| it.text).collect();
    let shared: Vec<&str> = tokens(one)
        .into_iter()
        .filter(|it| !is_stop(&it.text) && there.contains(&it.text))
        .filter(|it| {
            !it.text.starts_with(|c: char| c.is_ascii_digit())
                && !MEASURES.contains(&it.text.as_str())
        })
        .map(|it| &one[it.span])
        .take(6)
        .collect();
    shared.join(" ")
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
