//! What two sources disagree on, and why both may be right.
use std::collections::BTreeSet;

use crate::draft::LikelyReason;
use crate::prompts;
use crate::prompts::fill_template;
use ibid_core::Result;
use ibid_core::domain::words::{Token, is_stop_word, stem, tokens};
use ibid_core::domain::{ConflictCause, Source};

/// One side of a conflict on figures.
pub(super) struct Side<'a> {
    /// Its sentence.
    pub(super) text: &'a str,
    /// Its figure, as shown.
    pub(super) figure: &'a str,
    /// Its source.
    pub(super) source: &'a Source,
}

impl LikelyReason {
    /// A reason of `cause` in the words of `template`, filled with `values`.
    pub(super) fn new(cause: ConflictCause, template: &str, values: &[(&str, &str)]) -> Self {
        LikelyReason { cause, text: fill_template(template, values) }
    }
}

/// What a confidence says of conflicts that have these causes.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
pub(crate) fn dispute_reason(
    causes: impl Iterator<Item = Option<ConflictCause>>,
) -> Result<&'static str> {
    let words = &prompts::phrases()?.confidence;
    let causes: Vec<Option<ConflictCause>> = causes.collect();
    let are_cases = !causes.is_empty() && causes.iter().all(|it| *it == Some(ConflictCause::Cases));
    Ok(if are_cases { &words.cases } else { &words.disagree })
}

/// Why two sides with different figures may both be right: they compare with different things, one holds on a condition, or
/// one is older. `None` where nothing shows it.
pub(super) fn likely_reason(one: &Side<'_>, other: &Side<'_>) -> Result<Option<LikelyReason>> {
    let words = &prompts::phrases()?.conflict;
    let (text, other_text) = (one.text, other.text);
    if let (Some(with), Some(other_with)) =
        (tail_after(text, &["than"]), tail_after(other_text, &["than"]))
        && !with.eq_ignore_ascii_case(&other_with)
    {
        let filled = [("one", with.as_str()), ("other", other_with.as_str())];
        return Ok(Some(LikelyReason::new(ConflictCause::Things, &words.compared, &filled)));
    }
    let conditions = [tail_after(text, CONDITIONS), tail_after(other_text, CONDITIONS)];
    let conditional = match &conditions {
        [Some(condition), None] => Some((one.figure, condition)),
        [None, Some(condition)] => Some((other.figure, condition)),
        _ => None,
    };
    match conditional {
        Some((side, condition)) => {
            let filled = [("side", side), ("condition", condition.as_str())];
            Ok(Some(LikelyReason::new(ConflictCause::Things, &words.condition, &filled)))
        }
        None => age_note(one.source, other.source),
    }
}

/// Why a yes and a no may both be right: each is said of another case. Else one may be older. `None` where nothing shows it.
pub(super) fn answer_reason(one: &Side<'_>, other: &Side<'_>) -> Result<Option<LikelyReason>> {
    match (case_of(one.text), case_of(other.text)) {
        (Some(case), Some(other_case)) if !case.eq_ignore_ascii_case(other_case) => {
            let filled = [("one", &*uncapitalised(case)), ("other", &*uncapitalised(other_case))];
            let words = &prompts::phrases()?.conflict;
            Ok(Some(LikelyReason::new(ConflictCause::Cases, &words.cases, &filled)))
        }
        _ => age_note(one.source, other.source),
    }
}

/// The case that a sentence speaks of: "In buildings with little insulation" at its beginning, "in a well-insulated building" or
/// "only in old houses" at its end.
fn case_of(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(['.', ' ']);
    let is_short = |case: &&str| (3..=MAX_CASE_WORDS).contains(&case.split_whitespace().count());
    let opening = text.split_once(", ").map(|(before, _)| before);
    let opening =
        opening.filter(|it| ["In ", "For ", "With "].iter().any(|lead| it.starts_with(lead)));
    let ending = CASE_LEADS
        .iter()
        .filter_map(|lead| text.rfind(lead))
        .max()
        .map(|at| text[at..].trim_start());
    // "In a trial of 40 patients" names a study and no case.
    let is_case = |case: &&str| is_short(case) && !tokens(case).iter().any(|it| is_study(&it.text));
    opening.filter(is_case).or(ending.filter(is_case))
}

fn is_study(word: &str) -> bool {
    const STUDIES: [&str; 10] = [
        "trial",
        "study",
        "survey",
        "review",
        "sample",
        "cohort",
        "experiment",
        "series",
        "report",
        "interview",
    ];
    STUDIES.iter().any(|it| stem(it) == stem(word))
}

/// A case from the beginning of a sentence, for the middle of one: "In" is "in".
fn uncapitalised(case: &str) -> String {
    let mut letters = case.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What leads to a case at the end of a sentence.
const CASE_LEADS: [&str; 16] = [
    " only in ",
    " only for ",
    " in a ",
    " in an ",
    " for a ",
    " with a ",
    " when ",
    " where ",
    " while ",
    " if ",
    " after ",
    " before ",
    " during ",
    " in people ",
    " in patients ",
    " in children ",
];
/// Maximum number of words of a case that is repeated.
const MAX_CASE_WORDS: usize = 9;
/// Words before a condition that turn it around or weaken it: "except when", "not if", "even if".
const TURNING: &[&str] =
    &["except", "not", "even", "only", "but", "as", "what", "and", "or", "unless"];
/// Maximum number of characters of a condition that is repeated.
const MAX_CONDITION_CHARS: usize = 120;
/// Words that begin a condition of a figure.
const CONDITIONS: &[&str] = &["when", "if", "including", "excluding", "unless"];
/// Maximum number of words of a condition that is repeated.
const MAX_CONDITION_WORDS: usize = 16;

/// What follows the last of `markers` in a sentence, with the marker unless it is "than", up to a full stop or semicolon or the
/// maximum number of words. `None` if there is no marker.
fn tail_after(text: &str, markers: &[&str]) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().rposition(|word| markers.contains(&word.to_lowercase().as_str()))?;
    let before = at.checked_sub(1).map(|at| words[at].to_lowercase());
    let turned = before.is_some_and(|word| TURNING.contains(&word.trim_end_matches(',')));
    let bound = markers == ["than"]
        && words.get(at + 1).is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    if turned || bound {
        return None;
    }
    let from = if markers == ["than"] { at + 1 } else { at };
    let mut tail: Vec<&str> = Vec::new();
    for word in words.iter().skip(from).take(MAX_CONDITION_WORDS) {
        let ends =
            word.ends_with([';', '.', '?', '!']) || markers == ["than"] && word.ends_with(',');
        tail.push(word.trim_end_matches([',', ';', '.', '?', '!']));
        if ends {
            let text = tail.join(" ");
            return (text.chars().count() <= MAX_CONDITION_CHARS).then_some(text);
        }
        if word.ends_with(',')
            && let Some(last) = tail.last_mut()
        {
            *last = word;
        }
    }
    let whole = from + tail.len() == words.len();
    let text = tail.join(" ");
    if text.chars().count() > MAX_CONDITION_CHARS {
        return None;
    }
    (!tail.is_empty())
        .then(|| if whole { text } else { format!("{}…", text.trim_end_matches(',')) })
}

/// Words that two sentences on one subject begin with.
const MIN_SHARED_OPENING: usize = 3;

/// Maximum number of words on each side of a figure that say what it is of.
const MAX_AROUND_FIGURE: usize = 5;

/// What two sentences are both about: their common beginning, what stands around their figures, or else the words they share.
pub(super) fn shared_subject(one: &str, other: &str) -> String {
    let (words, there): (Vec<&str>, Vec<&str>) =
        (one.split_whitespace().collect(), other.split_whitespace().collect());
    let same = words.iter().zip(&there).take_while(|(a, b)| a == b).count();
    let opening = &words[..same];
    let content = opening.iter().filter(|word| !is_stop_word(&word.to_lowercase())).count();
    if same >= MIN_SHARED_OPENING && content >= 2 {
        return format!("“{} …”", opening.join(" ").trim_end_matches([',', ':', ';']));
    }
    around_figures(one, other).unwrap_or_else(|| common_words(one, other))
}

/// What stands on both sides of the figures in which two sentences differ: "“retained … of annual rainfall”". `None` where they have
/// fewer than two content words there in common.
fn around_figures(one: &str, other: &str) -> Option<String> {
    let (words, there) = (tokens(one), tokens(other));
    let is_figure = |token: &Token| token.text.starts_with(|c: char| c.is_ascii_digit());
    let figures = |words: &[Token]| -> Vec<usize> {
        (0..words.len()).filter(|at| is_figure(&words[*at])).collect()
    };
    let same = |a: Option<&Token>, b: Option<&Token>| {
        a.zip(b).is_some_and(|(a, b)| a.text == b.text && !is_figure(a))
    };
    let common = |at: usize, to: usize| {
        let before = (1..=at.min(to).min(MAX_AROUND_FIGURE))
            .take_while(|n| same(words.get(at - n), there.get(to - n)))
            .count();
        let after = (1..=MAX_AROUND_FIGURE)
            .take_while(|n| same(words.get(at + n), there.get(to + n)))
            .count();
        (before, after)
    };
    let pairs = figures(&words)
        .into_iter()
        .flat_map(|at| figures(&there).into_iter().map(move |to| (at, to)));
    let apart = pairs.filter(|(at, to)| words[*at].text != there[*to].text);
    let (at, (before, after)) = apart
        .map(|(at, to)| (at, common(at, to)))
        .max_by_key(|(at, (before, after))| (before + after, std::cmp::Reverse(*at)))?;
    let is_stop = |nth: &usize| is_stop_word(&words[*nth].text);
    // Of "with 10 cm of substrate retained" the verb belongs to the figure alone.
    let clause = (at - before..at).rev().take_while(|nth| !is_stop(nth)).count();
    let preposition = clause < before;
    let first = if preposition && clause > 1 { at - 1 } else { at - clause };
    let last = (at + 1..=at + after).rev().find(|nth| !is_stop(nth)).unwrap_or(at);
    let told = (first..=last).filter(|nth| *nth != at && !is_stop(nth)).count();
    let slice = |from: usize, to: usize| {
        (from < to).then(|| &one[words[from].span.start..words[to - 1].span.end])
    };
    let sides = if first < at {
        [slice(first, at), Some("…"), slice(at + 1, last + 1)]
    } else {
        // Of "… of annual rainfall" the thing is enough.
        let thing = (at + 1..=last).find(|nth| !is_stop(nth)).unwrap_or(last);
        [None, None, slice(thing, last + 1)]
    };
    (told >= 2).then(|| format!("“{}”", sides.into_iter().flatten().collect::<Vec<_>>().join(" ")))
}

/// A note on which source is older, where that may be why they disagree.
pub(super) fn age_note(one: &Source, other: &Source) -> Result<Option<LikelyReason>> {
    let words = &prompts::phrases()?.conflict;
    Ok(older_and_newer(one, other).map(|option| {
        let filled = option.each_ref().map(|(k, v)| (*k, v.as_str()));
        LikelyReason::new(ConflictCause::Age, &words.older, &filled)
    }))
}

/// Words of measurement, which do not say what is measured.
const MEASURES: &[&str] = &[
    "cm", "mm", "km", "m", "kg", "g", "mg", "euros", "euro", "dollars", "square", "cubic", "metre",
    "metres", "meter", "meters", "percent", "per", "year", "years", "average",
];

/// The words both sentences share, each once, in the order of the first: the subject of the conflict.
fn common_words(one: &str, other: &str) -> String {
    let there: Vec<String> = tokens(other).into_iter().map(|token| token.text).collect();
    let words = tokens(one);
    let mut seen = BTreeSet::new();
    let is_shared = |token: &&Token| {
        !is_stop_word(&token.text)
            && there.contains(&token.text)
            && !token.text.starts_with(|c: char| c.is_ascii_digit())
            && !MEASURES.contains(&token.text.as_str())
    };
    // Words that stand together are one name; between others is a comma.
    let mut groups: Vec<String> = Vec::new();
    let mut last = 0;
    for token in words.iter().filter(is_shared).filter(|it| seen.insert(&it.text)).take(6) {
        // A word that is also written small is no name.
        let small = words.iter().any(|it| one[it.span.clone()] == token.text);
        let word = if small { token.text.as_str() } else { &one[token.span.clone()] };
        let beside = one[last..token.span.start].trim().is_empty();
        match groups.last_mut().filter(|_| beside) {
            Some(group) => group.extend([" ", word]),
            None => groups.push(word.to_owned()),
        }
        last = token.span.end;
    }
    match groups.as_slice() {
        [one] => one.clone(),
        all => format!("“{}”", all.join(", ")),
    }
}

/// The older and the newer source by name, where their years differ by two or more.
pub(super) fn older_and_newer(one: &Source, other: &Source) -> Option<[(&'static str, String); 4]> {
    let year = |source: &Source| {
        source.date.as_deref().and_then(|date| date.get(..4)).and_then(|it| it.parse::<u32>().ok())
    };
    let (a, b) = (year(one)?, year(other)?);
    if a.abs_diff(b) < 2 {
        return None;
    }
    let (old, new) = if a < b { (one, other) } else { (other, one) };
    Some([
        ("older", quote_title(&old.title)),
        ("older_year", a.min(b).to_string()),
        ("newer", quote_title(&new.title)),
        ("newer_year", a.max(b).to_string()),
    ])
}

fn quote_title(title: &str) -> String {
    format!("“{title}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_and_a_no_of_different_cases_may_both_hold() {
        assert_eq!(
            case_of("Green roofs do not save heating energy in a well-insulated building."),
            Some("in a well-insulated building")
        );
        assert_eq!(
            case_of("In buildings with less than 5 cm of insulation, they saved 8 %."),
            Some("In buildings with less than 5 cm of insulation")
        );
        assert_eq!(
            case_of("They save heating energy only in old houses."),
            Some("only in old houses")
        );
        assert_eq!(case_of("Green roofs do not save heating energy."), None);
        assert_eq!(case_of("Green roofs saved 8 % of it in a trial of 40 houses."), None);
        assert_eq!(case_of("In two trials of 40 houses, green roofs saved 8 % of it."), None);
        assert_eq!(uncapitalised("In buildings"), "in buildings");
    }

    #[test]
    fn a_condition_and_what_is_compared_with_are_taken_from_the_sentence() {
        assert_eq!(
            tail_after("Panels yield 2 % more than panels above gravel, on average.", &["than"]),
            Some("panels above gravel".to_owned())
        );
        assert_eq!(
            tail_after(
                "A roof costs 165 euros when crane, scaffold and fees are counted.",
                CONDITIONS
            ),
            Some("when crane, scaffold and fees are counted".to_owned())
        );
        for text in [
            "A roof costs 110 euros on average.",
            "A roof costs 110 euros, except when crane and fees are counted.",
            "A roof costs 110 euros, but not if it is built in winter.",
        ] {
            assert_eq!(tail_after(text, CONDITIONS), None, "{text}");
        }
        assert_eq!(tail_after("A roof costs more than 110 euros.", &["than"]), None);
        assert_eq!(
            tail_after(&format!("It costs 110 euros when {}.", "a".repeat(500)), CONDITIONS),
            None
        );
    }

    #[test]
    fn a_conflict_is_named_by_the_common_beginning() {
        let shared = shared_subject(
            "An extensive green roof costs 110 euros per square metre.",
            "An extensive green roof costs 165 euros per square metre.",
        );
        assert_eq!(shared, "“An extensive green roof costs …”");
        assert_eq!(shared_subject("Roofs leak often.", "Few roofs ever leak."), "Roofs leak");
        let one = "An old mill with 10 cm of plaster kept 56 % of annual warmth on average.";
        let other = "The mill of Denham, with 10 cm of plaster, kept 63 % of annual warmth.";
        assert_eq!(shared_subject(one, other), "“kept … of annual warmth”");
        let one = "Our mill of brick retains 78 % of annual warmth.";
        let other = "The mill of Denham, with plaster, retained 63 % of annual warmth.";
        assert_eq!(shared_subject(one, other), "“annual warmth”");
    }
}
