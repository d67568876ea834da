//! The fact that a sentence states about a named thing, where a question asks for one: when it was built, who directed it, where
//! it is, what it is.
//!
//! An answer counts only where the form of the sentence says that it is one: the date after the verb asked about, the name
//! after "directed by", what follows "is a" after the name. Answers of one form exclude each other if their values do.
//! `evals conflicts` measures it.
mod amounts;
mod dates;
mod dimensions;
mod expansions;
mod kind_difference;
mod kinds;
mod namesakes;
mod persons;
mod places;
mod words;

use super::text_answer::AnswerType;
use crate::heuristic::dimension::{Dimension, figures_differ};
use crate::thresholds::ROUNDING_TOLERANCE;
use ibid_core::Result;
use ibid_core::domain::Page;
use ibid_core::domain::words::{content_stems, is_stop_word};
pub(crate) use namesakes::QualifiedName;
use words::TextWords;

/// Words before a name that a text may leave out or spell otherwise.
const TITLES: &[&str] = &[
    "admiral",
    "captain",
    "doctor",
    "dr",
    "emperor",
    "empress",
    "general",
    "judge",
    "justice",
    "king",
    "lord",
    "minister",
    "president",
    "prince",
    "princess",
    "professor",
    "queen",
    "senator",
    "sir",
    "sultan",
];
/// Words of a question that say which type of answer it wants, and not what of.
const TYPE_WORDS: &[&str] = &[
    "year", "date", "city", "country", "state", "place", "type", "kind", "name", "current",
    "primary",
];
/// Stems of words that say that something is at a place.
const PLACED: &[&str] = &["locat", "situat", "base", "primarili", "activ", "career", "born", "lie"];
/// Stems of nouns that ask what something is.
const CLASSES: &[&str] = &[
    "sport", "profess", "occup", "job", "medium", "genr", "style", "format", "languag", "type",
    "kind", "posit", "speci",
];
/// Number of words of a page in which the name of its subject stands.
const LEAD_WORDS: usize = 100;

/// A question for one fact about a named thing.
pub(crate) struct FactQuestion {
    wanted: FactType,
    /// The stems of the words of the name.
    name: Vec<String>,
    /// Those of them that a text on it must have.
    must: Vec<String>,
    /// The name as the question writes it.
    shown: String,
    /// The stems of the words that say what is asked: "born", "director", "population".
    relation: Vec<String>,
    /// Those of them that name a measure.
    measured: Vec<String>,
    /// The dimension that is asked for, if the thing keeps it.
    dimension: Option<&'static Dimension>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FactType {
    Date,
    Name,
    Place,
    /// A figure or a kind: which of the two, the texts show.
    Amount,
    /// What an abbreviation stands for.
    Expansion,
    /// What it is said to be.
    Kind,
}

/// What a sentence states.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatedFact {
    /// Its words, as written.
    pub(crate) shown: String,
    value: FactValue,
}

#[derive(Debug, Clone, PartialEq)]
enum FactValue {
    Date {
        year: u32,
        month: Option<u32>,
        day: Option<u32>,
    },
    Name(Vec<String>),
    /// The words of each part, from the smallest: "Frankfort", "Kentucky".
    Place(Vec<Vec<String>>),
    Amount {
        value: f64,
        unit: Option<String>,
        years: Vec<u32>,
    },
    Dimension {
        value: f64,
        unit: String,
    },
    Kind {
        words: Vec<String>,
        by_modifier: bool,
        in_sport: bool,
    },
    /// The words of a long form.
    Expansion(Vec<String>),
    /// What stands in a sentence where a copy of its text has `other`.
    Changed {
        own: Vec<String>,
        other: Vec<String>,
    },
}

impl FactQuestion {
    /// What `question` asks; `None` if it asks for no single fact, or about nothing that has a name.
    ///
    /// # Errors
    /// Fails when the built-in word lists cannot be read.
    pub(crate) fn from_question(question: &str) -> Result<Option<FactQuestion>> {
        let words = TextWords::new(question);
        let opening: Vec<&str> = (0..words.len().min(2)).map(|at| words.word(at)).collect();
        let asks = |word: &str| (0..words.len()).any(|at| words.word(at) == word);
        // "Is operated by which operator"; "which books were written by Lee" asks for books.
        let by_which = |at: usize| words.word(at) == "which" && words.word(at - 1) == "by";
        let is_asked_by_whom = (1..words.len()).any(by_which);
        let wanted = match AnswerType::from_question(question)? {
            AnswerType::Date => FactType::Date,
            _ if asks("year") || asks("date") => FactType::Date,
            _ if opening.contains(&"where") => FactType::Place,
            _ if ["in", "which"].contains(opening.first().unwrap_or(&""))
                && ["city", "country", "state"].iter().any(|it| asks(it)) =>
            {
                FactType::Place
            }
            _ if opening.contains(&"who") || is_asked_by_whom => FactType::Name,
            _ if ["stand", "refer"].iter().any(|it| asks(it)) => FactType::Expansion,
            _ if (0..words.len()).any(|at| CLASSES.contains(&words.stems[at].as_str())) => {
                FactType::Kind
            }
            _ if opening.iter().any(|it| matches!(*it, "what" | "how")) => FactType::Amount,
            _ => return Ok(None),
        };
        let quoted = quoted_words(&words);
        let is_name = |at: usize| match &quoted {
            Some(range) => range.contains(&at),
            None => {
                let digit = words.word(at).starts_with(|c: char| c.is_ascii_digit());
                let opens = at == 0 && is_question_word(words.word(at));
                (words.is_capital(at) || digit) && !opens && !words.is_stop(at)
            }
        };
        let names: Vec<usize> = (0..words.len()).filter(|at| is_name(*at)).collect();
        let relation: Vec<String> = (0..words.len())
            .filter(|at| !is_name(*at) && !words.is_stop(*at) && !is_question_word(words.word(*at)))
            .filter(|at| !TYPE_WORDS.contains(&words.word(*at)))
            .map(|at| words.stems[at].clone())
            .collect();
        let (Some(first), Some(last)) = (names.first(), names.last()) else {
            return Ok(None);
        };
        // Nouns beside the name are of what is asked about: "the Halvern roof ordinance".
        let besides = match wanted {
            _ if quoted.is_some() => Vec::new(),
            FactType::Date => nouns_beside_name(&words, *first, *last),
            FactType::Name | FactType::Place => relation
                .iter()
                .skip(usize::from(wanted == FactType::Name))
                .filter(|it| !PLACED.contains(&it.as_str()))
                .cloned()
                .collect(),
            _ => Vec::new(),
        };
        let relation: Vec<String> = relation
            .into_iter()
            .filter(|it| wanted != FactType::Date || !besides.contains(it))
            .collect();
        let name: Vec<String> = names.iter().map(|at| words.stems[*at].clone()).collect();
        let must: Vec<String> = names
            .iter()
            .filter(|at| quoted.is_some() || !TITLES.contains(&words.word(**at)))
            .filter(|at| !is_stop_word(words.word(**at)) || names.len() == 1)
            .map(|at| words.stems[*at].clone())
            .collect();
        let must = if must.is_empty() { name.clone() } else { must };
        // What stands between a preposition and the name is of the name: "income for a family in".
        let measured = relation
            .iter()
            .filter(|it| !matches!(it.as_str(), "estim" | "total" | "accord" | "famili" | "associ"))
            .take(2)
            .cloned()
            .collect();
        Ok(Some(FactQuestion {
            wanted,
            must: [must, besides].concat(),
            name,
            shown: words.slice(*first, *last).to_owned(),
            relation,
            measured,
            dimension: Dimension::from_question(&question.to_lowercase())
                .filter(|dimension| dimension.is_lasting()),
        }))
    }

    /// The name of the thing, as the question writes it, without the "'s" of a possessive.
    pub(crate) fn name(&self) -> &str {
        self.shown
            .strip_suffix("'s")
            .or_else(|| self.shown.strip_suffix("’s"))
            .unwrap_or(&self.shown)
    }

    /// Whether a page is about a thing of this name, by its title and its first words.
    pub(crate) fn is_subject_of(&self, title: &str, text: &str) -> bool {
        let lead: Vec<&str> = text.split_whitespace().take(LEAD_WORDS).collect();
        let words = TextWords::new(title);
        let more = lead.join(" ");
        let more = TextWords::new(&more);
        self.must.iter().all(|it| words.stems.contains(it) || more.stems.contains(it))
    }

    /// The first fact that the sentences of a page state about a thing of this name.
    pub(crate) fn first_stated_on(&self, page: &Page) -> Option<StatedFact> {
        let on_page = self.is_subject_of(&page.title, page.text().expose());
        (0..page.sentences().len()).find_map(|n| self.stated_in(page.sentence(n), on_page))
    }

    /// The fact that a sentence states about a thing of this name; `on_page` if its page is about such a thing, so that the
    /// sentence may say "it".
    pub(crate) fn stated_in(&self, sentence: &str, on_page: bool) -> Option<StatedFact> {
        let words = TextWords::new(sentence);
        match self.wanted {
            FactType::Date => self.date_in(&words, on_page),
            FactType::Name => self.name_stated_in(&words, on_page),
            FactType::Place => self.place_in(&words),
            FactType::Amount => {
                self.amount_in(&words, on_page).or_else(|| self.dimension_in(&words, on_page))
            }
            FactType::Expansion => self.expansion_in(&words),
            FactType::Kind => self.kind_in(&words),
        }
    }

    /// How many of the words that say what is asked `text` has.
    pub(crate) fn count_asked_words(&self, text: &str) -> usize {
        let stems = TextWords::new(text).stems;
        self.relation.iter().filter(|it| stems.contains(it)).count()
    }

    fn asks(&self, stem: &str) -> bool {
        self.relation.iter().any(|it| it == stem)
    }

    fn has_name_word(&self, stem: &str) -> bool {
        self.name.iter().any(|it| it == stem)
    }

    /// Whether a sentence of a page about a thing of this name is about it, too: it has a word of the name, or begins with a pronoun, or
    /// at once with a word asked about.
    fn is_spoken_of(&self, words: &TextWords<'_>, on_page: bool) -> bool {
        let begins = |at: usize| {
            let own = words.stems.get(at).map_or("", String::as_str);
            matches!(own, "it" | "he" | "she" | "they" | "as" | "in" | "on") || self.asks(own)
        };
        // "The population was …".
        let first = usize::from(words.len() > 1 && words.word(0) == "the");
        let named = || words.stems.iter().any(|it| self.has_name_word(it) && !is_stop_word(it));
        !self.begins_with_other_subject(words)
            && (self.is_named_in(words) || on_page && (begins(first) || named()))
    }

    /// Whether a sentence begins with the name of another thing: "Carsa, a district of Velmo, has …" is not about Velmo.
    fn begins_with_other_subject(&self, words: &TextWords<'_>) -> bool {
        let own = |at: usize| words.stems.get(at).map_or("", String::as_str);
        let verb =
            |at: usize| matches!(own(at), "is" | "was" | "has" | "had" | "have" | "lie" | "are");
        let beside = words.len() > 2
            && words.gap_before(1).contains(',')
            && matches!(words.word(1), "a" | "an" | "the");
        words.len() > 2
            && words.is_capital(0)
            && !words.is_stop(0)
            && !self.has_name_word(own(0))
            && !self.asks(own(0))
            && (verb(1) || beside)
    }

    fn is_named_in(&self, words: &TextWords<'_>) -> bool {
        self.must.iter().all(|it| words.stems.contains(it))
    }

    /// The last word of the name where a sentence names it first.
    fn last_name_word(&self, words: &TextWords<'_>) -> Option<usize> {
        let at = |it: &String| words.stems.iter().position(|stem| stem == it);
        let places: Option<Vec<usize>> = self.must.iter().map(at).collect();
        places?.into_iter().max()
    }
}

impl StatedFact {
    /// What a sentence has where a copy of its text has `other`.
    pub(crate) fn changed(shown: &str, other: &str) -> StatedFact {
        let value = FactValue::Changed { own: content_stems(shown), other: content_stems(other) };
        StatedFact { shown: shown.to_owned(), value }
    }

    /// Whether both are told with a word in common.
    pub(crate) fn is_like(&self, other: &StatedFact) -> bool {
        shares_word(&content_stems(&self.shown), &content_stems(&other.shown))
    }

    /// Whether both cannot be the answer: other days, names without a common word, figures further apart than rounding.
    pub(crate) fn excludes(&self, other: &StatedFact) -> bool {
        match (&self.value, &other.value) {
            (
                FactValue::Date { year, month, day },
                FactValue::Date { year: other_year, month: other_month, day: other_day },
            ) => {
                let apart = |a: Option<u32>, b: Option<u32>| a.zip(b).is_some_and(|(a, b)| a != b);
                year != other_year || apart(*month, *other_month) || apart(*day, *other_day)
            }
            (FactValue::Name(a), FactValue::Name(b)) => !shares_word(a, b),
            // A town and its county or district do not exclude each other, so both must name more than one part.
            (FactValue::Place(a), FactValue::Place(b)) => {
                let apart = |a: &[Vec<String>], b: &[Vec<String>]| {
                    a.len() > 1 && !b.iter().any(|part| shares_word(&a[0], part))
                };
                apart(a, b) && apart(b, a)
            }
            (
                FactValue::Amount { value, unit, years },
                FactValue::Amount { value: other_value, unit: other_unit, years: other_years },
            ) => {
                let apart = (value - other_value).abs()
                    / value.abs().max(other_value.abs()).max(f64::MIN_POSITIVE);
                let alike = unit == other_unit || unit.is_none() || other_unit.is_none();
                let times = years.is_empty()
                    || other_years.is_empty()
                    || years.iter().any(|it| other_years.contains(it));
                alike && times && apart > ROUNDING_TOLERANCE
            }
            (
                FactValue::Dimension { value, unit },
                FactValue::Dimension { value: other_value, unit: other_unit },
            ) => unit == other_unit && figures_differ(*value, *other_value),
            (
                FactValue::Kind { words: a, by_modifier, in_sport },
                FactValue::Kind { words: b, .. },
            ) => kind_difference::kinds_differ(a, b, *by_modifier, *in_sport),
            (FactValue::Expansion(a), FactValue::Expansion(b)) => {
                // "Vibrational circular dichroism" and "virtual circular dynamics" share a word.
                let shared = a.iter().filter(|word| b.contains(word)).count();
                shared * 2 < a.len().max(b.len())
            }
            (FactValue::Changed { own, .. }, FactValue::Changed { own: theirs, other }) => {
                own == other && own != theirs
            }
            _ => false,
        }
    }
}

/// The stems of the nouns between "when was" and the name, and between the name and the verb that ends the clause.
fn nouns_beside_name(words: &TextWords<'_>, first: usize, last: usize) -> Vec<String> {
    let opening =
        (0..first).rev().find(|at| matches!(words.word(*at), "was" | "were" | "did" | "is"));
    let Some(opening) = opening else {
        return Vec::new();
    };
    let before = (opening + 1..first).filter(|at| !words.is_stop(*at));
    let clause: Vec<usize> = (last + 1..words.len()).take_while(|at| !words.is_stop(*at)).collect();
    let is_verb = |at: &usize| TYPE_WORDS.contains(&words.word(*at));
    let nouns = clause.iter().filter(|at| !is_verb(at)).rev().skip(1).copied();
    let nouns = nouns.filter(|at| !matches!(words.word(*at), "first" | "last" | "originally"));
    before.chain(nouns).map(|at| words.stems[at].clone()).collect()
}

fn shares_word(a: &[String], b: &[String]) -> bool {
    a.iter().any(|word| b.contains(word))
}

fn is_question_word(word: &str) -> bool {
    matches!(
        word,
        "what"
            | "when"
            | "where"
            | "which"
            | "who"
            | "whom"
            | "whose"
            | "how"
            | "many"
            | "much"
            | "in"
            | "at"
            | "to"
            | "on"
    )
}

/// The words between quotation marks, where there are some.
fn quoted_words(words: &TextWords<'_>) -> Option<std::ops::Range<usize>> {
    let quote = |at: usize| words.gap_before(at).contains(['"', '“', '”']);
    let first = (0..words.len()).find(|at| quote(*at))?;
    let end = (first + 1..=words.len()).find(|at| quote(*at))?;
    Some(first..end)
}

#[cfg(test)]
mod tests;
