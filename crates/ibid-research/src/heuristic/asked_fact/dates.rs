//! When something happened to a named person or thing: born, died, built, founded.
use std::collections::BTreeSet;

use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};
use crate::heuristic::calendar::MONTHS;
use crate::thesaurus;

/// Maximum number of words between the verb asked about and its date.
const MAX_DATE_DISTANCE: usize = 13;
/// Maximum number of words between a name and the years of its life.
const MAX_NAME_DISTANCE: usize = 6;

/// A date in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DateAt {
    first: usize,
    last: usize,
    year: u32,
    /// Month from 1 and day, where they are given.
    month: Option<u32>,
    day: Option<u32>,
}

impl FactQuestion {
    /// The date that a sentence gives for what is asked of the subject.
    pub(super) fn date_in(&self, words: &TextWords<'_>, on_page: bool) -> Option<StatedFact> {
        let dates = dates(words);
        let birth = self.asks("born") || self.asks("birth");
        let death = self.asks("die") || self.asks("death");
        if (birth || death)
            && let Some(date) = self.date_of_life(words, &dates, birth)
        {
            return Some(stated(words, date));
        }
        if EVENTS.iter().any(|verb| self.asks(verb))
            && let Some(date) = self.date_of_title(words, &dates)
        {
            return Some(stated(words, date));
        }
        let verbs: Vec<usize> = (0..words.len()).filter(|at| self.is_verb(words, *at)).collect();
        // "Built in 1875, it is …" begins with the verb.
        let on_subject = self.is_spoken_of(words, on_page) || on_page && verbs.first() == Some(&0);
        if !on_subject {
            return None;
        }
        let after = verbs.iter().find_map(|verb| {
            let date = dates.iter().find(|date| date.first > *verb)?;
            let near = date.first - verb <= MAX_DATE_DISTANCE;
            (near && !is_other_clause(words, *verb, date.first)).then_some(*date)
        });
        let date = after.or_else(|| {
            // "In 1954 the school was founded": the date begins the sentence.
            let date = dates.first().filter(|date| date.first <= 2)?;
            let verb = *verbs.first()?;
            let near = verb.checked_sub(date.last).is_some_and(|far| far <= MAX_DATE_DISTANCE);
            (near && !is_other_clause(words, date.last, verb)).then_some(*date)
        })?;
        Some(stated(words, date))
    }

    /// The date in brackets after the name, which tells events of one name apart: "Battle of Ramla (1105)".
    fn date_of_title(&self, words: &TextWords<'_>, dates: &[DateAt]) -> Option<DateAt> {
        let last = self.last_name_word(words)?;
        let date = dates.iter().find(|date| date.first == last + 1)?;
        let closed = words.gap_before(date.last + 1).trim_start().starts_with(')');
        (words.gap_before(date.first).contains('(') && closed).then_some(*date)
    }

    /// Whether the word is the verb asked about, or one that says the same of a founding.
    fn is_verb(&self, words: &TextWords<'_>, at: usize) -> bool {
        let own = words.stems[at].as_str();
        self.relation.iter().any(|asked| {
            own == asked
                || asked == "take" && own == "took"
                || thesaurus::synonyms(asked).any(|it| it == own)
                    && !matches!(own, "found" | "show")
                || FOUNDINGS.contains(&asked.as_str()) && FOUNDINGS.contains(&own)
        })
    }

    /// The date of birth or death in the brackets after the name: "Ada Lee (1 May 1810 – 1871)", "(born 1810)".
    fn date_of_life(&self, words: &TextWords<'_>, dates: &[DateAt], birth: bool) -> Option<DateAt> {
        let opens = (1..words.len()).filter(|at| words.gap_before(*at).contains('('));
        // Several lives in one sentence are a list of people.
        let lives: BTreeSet<u32> = opens
            .clone()
            .filter_map(|open| life_date(words, dates, open, true).map(|date| date.year))
            .collect();
        if lives.len() > 1 {
            return None;
        }
        let named = |open: &usize| {
            let mut before = open.saturating_sub(MAX_NAME_DISTANCE)..*open;
            before.any(|at| self.has_name_word(&words.stems[at]))
        };
        opens.filter(named).find_map(|open| life_date(words, dates, open, birth))
    }
}

/// The date of birth, or else of death, in the brackets that open before word `open`.
fn life_date(words: &TextWords<'_>, dates: &[DateAt], open: usize, birth: bool) -> Option<DateAt> {
    let close = (open + 1..words.len())
        .find(|at| words.gap_before(*at).contains(')'))
        .unwrap_or(words.len());
    let inside: Vec<DateAt> =
        dates.iter().filter(|it| it.first >= open && it.first < close).copied().collect();
    let born = (open..close).any(|at| matches!(words.word(at), "born" | "b"));
    let range = words.slice(open, close - 1).contains(['–', '—', '-']);
    match inside.as_slice() {
        [first, second, ..] if range && first.year < second.year => {
            Some(if birth { *first } else { *second })
        }
        [only] if birth && born => Some(*only),
        _ => None,
    }
}

/// Stems of verbs that ask when an event was.
const EVENTS: &[&str] = &["take", "held", "happen", "occur"];
/// Stems of verbs that tell of a beginning of an institution; each is asked and told in place of another.
const FOUNDINGS: &[&str] = &["found", "establish", "form", "creat", "incept"];

/// Whether the words between a verb and a date begin another clause: "was built by Lee and enlarged in 1904".
fn is_other_clause(words: &TextWords<'_>, from: usize, to: usize) -> bool {
    (from + 1..to).any(|at| {
        let verb = |at: usize| at < to && words.word(at).ends_with("ed");
        words.gap_before(at).contains([';', '|'])
            || words.gap_before(at).contains(". ") && !words.is_capital(at - 1)
            || matches!(words.word(at), "and" | "but") && (verb(at + 1) || verb(at + 2))
            || matches!(
                words.word(at),
                "who" | "which" | "until" | "when" | "died" | "death" | "after"
            )
    })
}

fn stated(words: &TextWords<'_>, date: DateAt) -> StatedFact {
    StatedFact {
        shown: words.slice(date.first, date.last).to_owned(),
        value: FactValue::Date { year: date.year, month: date.month, day: date.day },
    }
}

/// The dates of a text, in order: years, with month and day where they stand beside it.
fn dates(words: &TextWords<'_>) -> Vec<DateAt> {
    let month =
        |at: usize| MONTHS.iter().position(|name| *name == words.word(at)).map(|n| n as u32 + 1);
    let day = |at: usize| {
        let bare = words.word(at).trim_end_matches(|c: char| c.is_ascii_alphabetic());
        bare.parse::<u32>().ok().filter(|day| (1..=31).contains(day))
    };
    let mut found = Vec::new();
    for at in 0..words.len() {
        let word = words.word(at);
        // "1890s", and the first of "1810-11".
        let bare = word.strip_suffix('s').or(word.split(['-', '–']).next()).unwrap_or(word);
        let Some(year) = (bare.len() == 4).then(|| bare.parse::<u32>().ok()).flatten() else {
            continue;
        };
        if !(1000..2100).contains(&year) {
            continue;
        }
        let mut date = DateAt { first: at, last: at, year, month: None, day: None };
        if at >= 1
            && let Some(number) = month(at - 1)
        {
            date.month = Some(number);
            date.first = at - 1;
            if at >= 2
                && let Some(number) = day(at - 2)
            {
                date.day = Some(number);
                date.first = at - 2;
            }
        } else if at >= 2
            && let (Some(number), Some(of)) = (month(at - 2), day(at - 1))
        {
            date = DateAt { first: at - 2, month: Some(number), day: Some(of), ..date };
        }
        found.push(date);
    }
    found
}
