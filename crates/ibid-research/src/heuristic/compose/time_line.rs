//! The time line of a report: what the sources date, in the order of its dates.
use std::collections::BTreeSet;

use super::word_budget::WordBudget;
use crate::draft::DraftComparison;
use crate::heuristic::asked_years::{asked_years, only_asks};
use crate::heuristic::calendar::{iso_date, month_number, years, years_at};
use crate::heuristic::claim_clusters::{ClaimCluster, share_sentences};
use crate::heuristic::lexicon::jaccard;
use crate::heuristic::question_kind::changing_thing;
use crate::heuristic::ranked_points::RankedPoint;
use ibid_core::domain::EvidenceStore;
use ibid_core::domain::words::{content_stems, is_stop_word, stem, tokens};

/// Maximum number of events, minimum number of different years, and maximum number of events of the short answer.
const MAX_ROWS: usize = 12;
const MIN_YEARS: usize = 3;
const MAX_SHORT: usize = 4;
/// Shares of the best score and of the words of the question that an event must have.
const MIN_SCORE_SHARE: f32 = 0.4;
const MIN_WORD_SHARE: f32 = 0.6;
/// Shares of common words from which two sentences tell one event: of one year, and of one day.
const SAME_EVENT: f32 = 0.6;
const SAME_DAY_EVENT: f32 = 0.3;

/// What tells that something was not done, or not yet.
const NOT_DONE: [&str; 10] = [
    " not ",
    "n't ",
    "n’t ",
    " never ",
    " will ",
    " may ",
    " could ",
    " would ",
    " planned to ",
    " expected to ",
];

/// A date as a text writes it.
struct WrittenDate {
    /// Year, month, and day; zero where it does not tell.
    order: (u32, u32, u32),
    /// Its words: "2019", "July 2025", "1 July 2025".
    words: String,
}

/// A dated event of a time line.
pub(super) struct DatedEvent<'a> {
    date: WrittenDate,
    point: &'a ClaimCluster,
    /// Its place among the points, best first.
    rank: usize,
}

/// The events of a time line, in the order of their dates; none if `asked` asks for no time line, or too little of what was read is
/// dated.
pub(super) fn dated_events<'a>(
    asked: &str,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
) -> Vec<DatedEvent<'a>> {
    let Some(span) = asked_years(asked) else { return Vec::new() };
    let thing = changing_thing(asked).map(|thing| stem(&thing));
    let is_on_thing =
        |text: &str| thing.as_ref().is_none_or(|thing| content_stems(text).contains(thing));
    let names = asked_names(asked);
    let subject = asked_subject(asked);
    let score = ranked.iter().map(|it| it.point.score).fold(0.0, f32::max);
    let mut events: Vec<DatedEvent<'a>> = Vec::new();
    for (rank, it) in ranked.iter().enumerate() {
        let quoted = it.point.evidence[0];
        let date = first_date(&it.point.text).filter(|date| span.contains(&date.order.0));
        let Some(date) = date.filter(|_| events.len() < MAX_ROWS) else { continue };
        let is_told = |other: &DatedEvent<'_>| {
            let common = jaccard(&it.point.ids, &other.point.ids);
            let same_year = date.order.0 == other.date.order.0 && common >= SAME_EVENT;
            let same_day = date.order.2 > 0 && date.order == other.date.order;
            share_sentences(notes, quoted, other.point.evidence[0])
                || same_year
                || same_day && common >= SAME_DAY_EVENT
        };
        let title = notes.source(notes.evidence[quoted].source).map_or("", |it| &*it.title);
        let told = format!("{} {title}", it.point.text);
        let told_stems = content_stems(&told);
        let has_subject = subject.iter().all(|stem| told_stems.contains(stem));
        let told: BTreeSet<String> = tokens(&told).into_iter().map(|word| word.text).collect();
        if names.iter().all(|name| told.contains(name))
            && it.point.score >= score * MIN_SCORE_SHARE
            && (it.share >= MIN_WORD_SHARE || has_subject)
            && notes.evidence[quoted].table_header.is_none()
            && is_on_thing(&it.point.text)
            && !events.iter().any(is_told)
        {
            events.push(DatedEvent { date, point: it.point, rank });
        }
    }
    let years: BTreeSet<u32> = events.iter().map(|it| it.date.order.0).collect();
    if years.len() < MIN_YEARS {
        return Vec::new();
    }
    events.sort_by_key(|it| it.date.order);
    events
}

/// The names in a question, in lower case: what it writes with a capital behind its first word.
fn asked_names(asked: &str) -> Vec<String> {
    let words = tokens(asked).into_iter().skip(1);
    let named = words.filter(|word| asked[word.span.clone()].starts_with(char::is_uppercase));
    let only_asks = only_asks(asked);
    let says_more =
        |word: &str| !is_stop_word(word) && !only_asks(word) && month_number(word).is_none();
    named.map(|word| word.text).filter(|word| says_more(word)).collect()
}

/// Whether a point is a dated event of a page whose title names all that `asked` asks a time line of.
pub(super) fn is_event_of_titled_page(
    asked: &str,
    notes: &EvidenceStore,
    it: &ClaimCluster,
) -> bool {
    let source = notes.source(notes.evidence[it.evidence[0]].source);
    let title = content_stems(source.map_or("", |it| &*it.title));
    let subject = asked_subject(asked);
    let words = tokens(&it.text);
    // "Velm lock" on a page on the lock of Tarn.
    let is_namesake = words.windows(2).any(|two| {
        let is_name = it.text[two[0].span.clone()].starts_with(char::is_uppercase);
        is_name
            && !is_stop_word(&two[0].text)
            && !title.contains(&stem(&two[0].text))
            && subject.contains(&stem(&two[1].text))
    });
    asked_years(asked).is_some()
        && !subject.is_empty()
        && subject.iter().all(|stem| title.contains(stem))
        && !is_namesake
        && first_date(&it.text).is_some()
}

/// The stems of what a question asks the time line of.
fn asked_subject(asked: &str) -> Vec<String> {
    let only_asks = only_asks(asked);
    let words = tokens(asked).into_iter().map(|word| word.text);
    let words = words.filter(|word| !is_stop_word(word) && !only_asks(word));
    words.map(|word| stem(&word)).collect()
}

/// What the short answer tells of a time line: the best event of each of its first years and of its last one.
pub(super) fn short_events<'a>(events: &[DatedEvent<'a>]) -> Vec<&'a ClaimCluster> {
    let years = events.chunk_by(|one, next| one.date.order.0 == next.date.order.0);
    let mut of_years: Vec<&'a ClaimCluster> =
        years.filter_map(|year| Some(year.iter().min_by_key(|it| it.rank)?.point)).collect();
    let last = of_years.pop();
    of_years.truncate(MAX_SHORT - 1);
    of_years.extend(last);
    of_years
}

/// The table of a time line; `None` without events.
pub(super) fn time_line(
    events: &[DatedEvent<'_>],
    page: &mut WordBudget<'_>,
) -> Option<DraftComparison> {
    let row = |it: &DatedEvent<'_>| (it.date.words.clone(), vec![vec![page.write_point(it.point)]]);
    (!events.is_empty()).then(|| DraftComparison {
        columns: vec!["Date".to_owned(), "What the source says".to_owned()],
        rows: events.iter().map(row).collect(),
        by_row: false,
        asked: None,
        is_time_line: true,
    })
}

/// The first date of what a text tells as done. A number that stands where no date does, "at 1750 metres", is no year.
fn first_date(text: &str) -> Option<WrittenDate> {
    // As it is written: "may" is no month.
    let undone = NOT_DONE.iter().filter_map(|it| text.find(it)).min();
    // "It cost 90 euros in 2014, tools not included" was done.
    let done = undone.map_or(text.len(), |at| text[..at].rfind([',', ';']).unwrap_or_default());
    let mut told = years_at(text).into_iter().take_while(|at| *at < done);
    told.find_map(|at| date_at(text, at))
}

/// The date whose year is at this place.
fn date_at(text: &str, at: usize) -> Option<WrittenDate> {
    let iso = text.get(at..at + 10);
    if let Some((iso, order)) = iso.and_then(|iso| Some((iso, iso_date(iso)?))) {
        return Some(WrittenDate { order, words: iso.to_owned() });
    }
    let year: u32 = text.get(at..at + 4)?.parse().ok()?;
    let (before, after) = (&text[..at], &text[at + 4..]);
    let mut words = before.split_whitespace().rev();
    let (last, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let number =
        |word: &str| word.trim_end_matches(',').parse().ok().filter(|day| (1..=31).contains(day));
    // "28 April 2014", "April 2014", "July 4, 1990".
    let (month, day) = match month_number(last) {
        Some(month) => (Some(month), number(second)),
        None => match (month_number(second), number(last)) {
            (Some(month), Some(day)) => (Some(month), Some(day)),
            _ => (None, None),
        },
    };
    if counts(after) || month.is_none() && !opens_date(last, second, after) {
        return None;
    }
    let order = (year, month.unwrap_or(0), day.unwrap_or(0));
    let (last, second) = (last.trim_end_matches(','), second.trim_end_matches(','));
    let words = match (month, day) {
        (Some(_), Some(_)) if month_number(second).is_some() => format!("{last} {second} {year}"),
        (Some(_), Some(_)) => format!("{second} {last} {year}"),
        (Some(_), None) => format!("{last} {year}"),
        (None, _) => {
            let bound = last.to_lowercase();
            let bound =
                Some(bound).filter(|it| matches!(it.as_str(), "before" | "after" | "until"));
            let bound = bound.map(|it| it + " ").unwrap_or_default();
            format!("{bound}{year}{}", end_of_span(last, after))
        }
    };
    Some(WrittenDate { order, words })
}

/// What stands before a year, and before "of" and a year.
const BEFORE_YEARS: [&str; 16] = [
    "in", "since", "from", "until", "till", "by", "between", "during", "after", "before", "around",
    "about", "circa", "early", "late", "mid",
];
const PARTS_OF_YEARS: [&str; 10] =
    ["year", "spring", "summer", "autumn", "fall", "winter", "beginning", "start", "middle", "end"];

/// Whether what stands before a year, `second` and `last`, or what follows it makes it a date: "the winter of 1880", but not "a study of
/// 2018".
fn opens_date(last: &str, second: &str, after: &str) -> bool {
    let (last, second) = (last.to_lowercase(), second.to_lowercase());
    match last.as_str() {
        "" => after.trim_start().starts_with([':', '–', '—', '-', ',']),
        "of" => PARTS_OF_YEARS.contains(&second.as_str()),
        // "The 1960s".
        "the" => after.starts_with('s'),
        last => BEFORE_YEARS.contains(&last) || PARTS_OF_YEARS.contains(&last),
    }
}

/// Whether what follows a number says that it counts, or is a year before our era: "1800 million", "1500 people", "1350 BC".
fn counts(after: &str) -> bool {
    const COUNTED: [&str; 16] = [
        "bc", "bce", "b.c", "million", "billion", "thousand", "people", "euro", "yen", "percent",
        "per", "kg", "km", "m", "mm", "hectares",
    ];
    let Some(rest) = after.strip_prefix(' ') else {
        return after.starts_with(['%', '€', '$', '°']);
    };
    if rest.starts_with(['%', '€', '$', '°']) {
        return true;
    }
    let word = rest.split_whitespace().next().unwrap_or_default();
    let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_plural = word.starts_with(char::is_lowercase)
        && bare.len() >= 4
        && bare.ends_with('s')
        && !bare.ends_with("ss")
        && !is_stop_word(&bare);
    COUNTED.contains(&bare.as_str()) || is_plural
}

/// The end of a span of years: " to 2023" in "between 2014 and 2023", "–81" in "1880–81", "s" in "the 1960s".
fn end_of_span(last: &str, after: &str) -> String {
    let joint = match &*last.to_lowercase() {
        "between" => " and ",
        "from" => " to ",
        _ => {
            let joint = after.chars().next().filter(|c| matches!(c, '–' | '-' | '/'));
            let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).count();
            let end =
                joint.map(|c| &after[c.len_utf8()..]).filter(|rest| matches!(digits(rest), 2 | 4));
            let end = end.map(|rest| format!("–{}", &rest[..digits(rest)]));
            let decade = after.starts_with('s').then(|| "s".to_owned());
            return end.or(decade).unwrap_or_default();
        }
    };
    let end = after.strip_prefix(joint).and_then(|rest| rest.get(..4));
    let year = end.filter(|end| !years(end).is_empty());
    year.map(|year| format!(" to {year}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{asked_names, first_date};

    #[test]
    fn an_event_names_what_the_question_names() {
        let names = asked_names("What is the history of the Port of Velm?");
        assert_eq!(names, ["port", "velm"]);
        assert_eq!(asked_names("What Is The History Of Cork?"), ["cork"]);
        assert_eq!(asked_names("What is the history of cork?"), Vec::<String>::new());
    }

    #[test]
    fn a_date_is_told_as_far_as_it_is_written() {
        let date = |text| first_date(text).map(|it| (it.order, it.words));
        assert_eq!(
            date("From 1 July 2025 the mill pays 55 euros."),
            Some(((2025, 7, 1), "1 July 2025".to_owned()))
        );
        assert_eq!(date("In March 2019 it rained."), Some(((2019, 3, 0), "March 2019".to_owned())));
        let told = |text| date(text).map(|it| it.1);
        for (text, label) in [
            ("Weber (2011) counted them in 2014.", "2014"),
            ("It opened on July 4, 1990 to the public.", "4 July 1990"),
            ("The mill burned in the winter of 1880–81.", "1880–81"),
            ("In the 1960s it was a cinema.", "1960s"),
            ("It ran until 1946 as a ferry.", "until 1946"),
            ("Model 2000 was installed for 2013 million yen in 2010.", "2010"),
            ("1885 – first horse tram.", "1885"),
            ("2019-03-01: the bridge opened.", "2019-03-01"),
            ("It cost 90 euros in 2014, tools not included.", "2014"),
        ] {
            assert_eq!(told(text).as_deref(), Some(label), "{text}");
        }
        for text in [
            "It lies at 1750 metres above the sea.",
            "It was restored in 1350 BC by the king.",
            "The storm took the homes of 1500 people.",
            "It costs 1950 euros and holds 1800 million litres.",
            "It stands at Ring 1880 and obeys Section 1902.",
            "It did not close in 1978.",
            "The new line will open in 2031.",
            "It won, as a 2018 study found.",
            "It was given up in 1700 villages.",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
        let told = date("It retained 63 % of the rain between 2014 and 2023.").map(|it| it.1);
        assert_eq!(told.as_deref(), Some("2014 to 2023"));
        assert_eq!(date("Nobody knows when."), None);
    }
}
