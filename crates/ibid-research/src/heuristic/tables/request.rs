//! What a question asks of a table: which measure, of which things, and whether of the one with the most of it.
use std::collections::{BTreeMap, BTreeSet};

use super::measure::{holds, stems, units};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::plan::{compared_things, distinguishing_words, without_measures};
use crate::heuristic::question_parts;
use crate::prompts;
use crate::prompts::{MeasureWords, TableWords};
use ibid_core::Result;
use ibid_core::domain::words::{Number, content_stems, is_stop_word, numbers, stem, tokens};
use ibid_core::domain::{Brief, ItemId, Plan, QuestionKind};

/// Stems of the question from which an attribute is asked for, though it is of no measure that the question names.
const MIN_NAMED_STEMS: usize = 2;

/// Which end of a column is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    Most,
    Least,
}

/// Years, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YearSpan(u16, u16);

impl YearSpan {
    /// The years of a question on how figures went on: "from 2010 to 2020", "since 2015".
    fn asked(asked: &[String], words: &TableWords) -> Option<YearSpan> {
        let years: Vec<u16> = asked.iter().filter_map(|word| year(word)).collect();
        let told = asked.iter().filter(|word| words.over_time.contains(*word)).count();
        match years.as_slice() {
            [from] if asked.iter().any(|word| word == "since") => Some(YearSpan(*from, u16::MAX)),
            [from, to] if told > 0 && from < to => Some(YearSpan(*from, *to)),
            _ => None,
        }
    }

    /// Whether a name is one of these years.
    pub(super) fn contains(&self, name: &str) -> bool {
        year(name).is_some_and(|year| (self.0..=self.1).contains(&year))
    }
}

/// The year that a text is.
pub(super) fn year(text: &str) -> Option<u16> {
    let digits = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|year| digits && (1000..2200).contains(year))
}

/// What a question asks of tables.
#[derive(Clone)]
pub(crate) struct TableRequest {
    pub(super) words: &'static TableWords,
    /// The measures that it names.
    pub(super) measures: Vec<&'static MeasureWords>,
    /// Whether it asks for the one with the most or the least.
    pub(super) extreme: Option<Extreme>,
    /// Stems of the columns that "longest" or "largest" means.
    pub(super) extreme_names: BTreeSet<String>,
    /// Whether it asks what costs the least, or the most, to run.
    pub(super) asks_to_run: bool,
    /// Whether it asks for an amount per something.
    asks_rate: bool,
    /// What the most is counted by: "per euro".
    pub(super) per: Option<&'static MeasureWords>,
    /// The years between which it asks how figures went on.
    pub(super) years: Option<YearSpan>,
    /// Whether it asks about all things of a kind.
    pub(super) all_rows: bool,
    /// The units that it names; any if it names none.
    pub(super) units: BTreeSet<String>,
    /// The stem of the thing whose kinds it asks about: "roof" of "each roof type".
    pub(super) thing: Option<String>,
    /// The stems that distinguish the sides of a comparison.
    pub(super) sides: Vec<String>,
    /// Which of the sides has a name that the name of the other one begins with: the S2, beside the S2 Pro.
    pub(super) general_side: Option<usize>,
    /// The stems of the question.
    asked: BTreeSet<String>,
    /// The stems of its first subject.
    pub(super) subject: BTreeSet<String>,
    /// The stems of the question that name no measure, which say what it is about.
    pub(super) topic: BTreeSet<String>,
    /// Whether the question is for things or figures: a column of years to build is no answer to "how do I build it".
    pub(super) asks_figures: bool,
    /// The numbers of its conditions: "65" of "for patients over 65".
    pub(super) bounds: Vec<String>,
    /// Its amounts, with their units: "3 years" of "after three years".
    pub(super) amounts: Vec<Number>,
    /// Its numbers, as written, each after the stem of the word before it: "code" and "7" of "exit code 7".
    pub(super) numbered: Vec<(String, String)>,
    /// Whether it asks when, which a cell without a year or a month does not tell.
    pub(super) asks_time: bool,
}

/// What each item that asks the question, or a part of it, asks of a table.
///
/// There is at least one.
pub(crate) fn table_requests(brief: &Brief, plan: &Plan) -> Result<Vec<(ItemId, TableRequest)>> {
    let parts = question_parts::parts(&brief.question, prompts::phrases()?);
    let items = plan.items().iter();
    let asking = items.filter(|item| parts.len() > 1 && parts.contains(&item.asks));
    let mut requests = Vec::new();
    for item in asking {
        // A later part often leaves out the subject.
        let subject = brief.subjects.first().map_or("", String::as_str);
        let question = format!("{} {subject}", item.asks);
        requests.push((item.id, TableRequest::from_brief(&Brief { question, ..brief.clone() })?));
    }
    if requests.is_empty() {
        requests.push((plan.items()[0].id, TableRequest::from_brief(brief)?));
    }
    Ok(requests)
}

impl TableRequest {
    pub(super) fn from_brief(brief: &Brief) -> Result<TableRequest> {
        let words = prompts::table_words()?;
        let asked: Vec<String> =
            tokens(&brief.question).into_iter().map(|token| token.text).collect();
        let selects = matches!(asked.first().map(String::as_str), Some("which" | "what"));
        let extreme = [(Extreme::Most, &words.most), (Extreme::Least, &words.least)]
            .into_iter()
            .find_map(|(extreme, of)| Some((extreme, superlative(&asked, of)?)))
            .filter(|_| selects);
        let per = asked.windows(2).find(|pair| pair[0] == "per").map(|pair| pair[1].as_str());
        let measures = words.measures.iter();
        let named = |name: &str| {
            extreme.is_some_and(|(_, word)| {
                words.most.get(word).or(words.least.get(word)).is_some_and(|it| it == name)
            })
        };
        let asks = |it: &MeasureWords| {
            asked.iter().any(|word| it.asks.contains(word) && Some(word.as_str()) != per)
        };
        let (sides, general_side) = match (brief.kind, differing_sides(&brief.question)) {
            (_, Some((one, other))) => sides(&comparison_of(brief, one, other)),
            (QuestionKind::Comparison, None) => sides(brief),
            _ => (Vec::new(), None),
        };
        let years = YearSpan::asked(&asked, words);
        let asks_figures = years.is_some() || {
            use QuestionKind::{Causal, Definition, HowTo, Who, Why, YesNo};
            !matches!(brief.kind, Causal | Definition | HowTo | Who | Why | YesNo)
        };
        let mut topic: BTreeSet<String> = content_stems(&brief.question).into_iter().collect();
        topic.retain(|stem| !is_generic(words, stem));
        for word in &asked {
            let asks = words.measures.values().any(|measure| measure.asks.contains(word));
            let of_time =
                years.is_some() && (words.over_time.contains(word) || word.parse::<u16>().is_ok());
            if asks || of_time || words.most.contains_key(word) || words.least.contains_key(word) {
                topic.remove(&stem(word));
            }
        }
        let of_cost = named("cost") || words.measures.get("cost").is_some_and(asks);
        let asks_to_run = extreme.is_some()
            && of_cost
            && asked.iter().any(|word| words.running.asks.contains(&stem(word)));
        if asks_to_run {
            topic.retain(|stem| !words.running.asks.contains(stem));
        }
        let mut subject = stems(brief.subjects.first().map_or("", String::as_str));
        subject.retain(|stem| topic.contains(stem));
        let mut measures: Vec<&MeasureWords> =
            measures.filter(|it| asks(it.1) || named(it.0)).map(|it| it.1).collect();
        if measures.is_empty() && asks_price(&asked) {
            measures.extend(words.measures.get("cost"));
        }
        Ok(TableRequest {
            asks_figures,
            bounds: bounds(&asked),
            amounts: numbers(&brief.question),
            numbered: numbered(&asked),
            asks_time: brief.kind == QuestionKind::When,
            words,
            years,
            units: named_units(&asked, &measures),
            thing: thing(&asked),
            subject,
            measures,
            extreme: extreme.map(|it| it.0),
            asks_to_run,
            extreme_names: extreme
                .and_then(|it| words.meant_columns.get(it.1))
                .cloned()
                .unwrap_or_default(),
            asks_rate: per.is_some() && extreme.is_none(),
            per: per.and_then(|per| words.measures.values().find(|it| it.asks.contains(per))),
            all_rows: asked.iter().any(|word| words.all_rows.contains(word))
                || !without_measures(&brief.question).1,
            sides: sides.iter().map(|side| stem(side)).collect(),
            general_side,
            asked: content_stems(&brief.question).into_iter().collect(),
            topic,
        })
    }

    /// Whether it asks for what a cell under `attribute` holds: by a measure, or else by words of the attribute that `known`,
    /// which says what the whole table is about, does not have.
    pub(super) fn asks_for(&self, attribute: &str, value: &str, known: &BTreeSet<String>) -> bool {
        if self.measures.iter().any(|it| holds(it, self.words, attribute, value)) {
            let is_rate = |text: &str| text.contains('/') || spaced(text).contains(" per ");
            if self.asks_rate && !is_rate(attribute) && !is_rate(value) {
                return false;
            }
            let own = units(value);
            return own.is_empty() || own.iter().any(|unit| self.has_unit(unit));
        }
        let all = self.extreme.is_some() || self.years.is_some();
        let own = |stem: &&String| all || !known.contains(*stem);
        let is_per = self.per.is_some_and(|per| holds(per, self.words, attribute, value));
        let named = stems(attribute);
        let named = named.intersection(&self.topic).filter(own).count();
        let least = if self.measures.is_empty() { 1 } else { MIN_NAMED_STEMS };
        !is_per && named >= least
    }

    /// Whether a comparison names an attribute beside the things compared: "by depth and area".
    pub(super) fn names_attribute(&self, attribute: &str) -> bool {
        let own = stems(attribute);
        own.iter().any(|stem| self.asked.contains(stem) && !self.sides.contains(stem))
    }

    /// Whether the question has all content words of a text.
    pub(super) fn has_words(&self, text: &str) -> bool {
        let own = content_stems(text);
        !own.is_empty() && own.iter().all(|stem| self.asked.contains(stem))
    }

    /// How many words of the question an attribute has.
    pub(super) fn common_words(&self, attribute: &str) -> usize {
        stems(attribute).intersection(&self.asked).count()
    }

    /// Whether an attribute is what something costs to run.
    pub(super) fn is_running(&self, attribute: &str) -> bool {
        let own = stems(attribute);
        self.words.running.names.iter().any(|stem| own.contains(stem))
    }

    /// Whether it asks for figures of this unit.
    pub(super) fn has_unit(&self, unit: &String) -> bool {
        self.units.is_empty() || self.units.contains(unit)
    }

    /// Whether a name has the number that the question gives to that name: "Lumo 7" of a question on the Lumo 9 has another. `None` where
    /// it has no such name.
    pub(super) fn has_asked_number(&self, name: &str) -> Option<bool> {
        let words: Vec<String> = tokens(name).into_iter().map(|token| token.text).collect();
        let own = numbered(&words);
        let of_name = own.iter().filter(|(before, _)| {
            !is_stop_word(before) && self.numbered.iter().any(|asked| asked.0 == *before)
        });
        of_name.map(|it| self.numbered.contains(it)).reduce(|one, other| one || other)
    }

    /// Share of what the question is about that these stems have.
    pub(super) fn topic_share(&self, stems: &BTreeSet<String>) -> f32 {
        self.topic.intersection(stems).count() as f32 / self.topic.len().max(1) as f32
    }
}

/// The things whose difference a question asks for: "How much heavier is A than B?"
fn differing_sides(question: &str) -> Option<(&str, &str)> {
    let text = question.trim_end_matches(['?', '.', ' ']);
    text.get(..9).filter(|opening| opening.eq_ignore_ascii_case("how much "))?;
    let (before, other) = text.split_once(" than ")?;
    let verbs = [" is ", " are ", " was ", " were "];
    let one = verbs.iter().find_map(|verb| before.split_once(verb))?.1;
    (!one.is_empty() && !other.is_empty()).then_some((one, other))
}

/// The brief of a comparison of two things.
fn comparison_of(brief: &Brief, one: &str, other: &str) -> Brief {
    let question = format!("Compare {one} and {other}");
    Brief { question, kind: QuestionKind::Comparison, ..brief.clone() }
}

/// A word of each side of a comparison that tells it from the others, and which of two sides has only words of the other one.
fn sides(brief: &Brief) -> (Vec<String>, Option<usize>) {
    if !without_measures(&brief.question).1 {
        return (Vec::new(), None);
    }
    let own = distinguishing_words(brief);
    let things: Vec<String> = compared_things(brief).iter().map(|it| spaced(it)).collect();
    let [one, other] = things.as_slice() else { return (own, None) };
    let (one, other) = (one.trim(), other.trim());
    let extends = |long: &str, short: &str| {
        !short.is_empty() && long.strip_prefix(short).is_some_and(|rest| rest.starts_with(' '))
    };
    let last = |name: &str| name.rsplit(' ').next().unwrap_or_default().to_owned();
    match own.as_slice() {
        [word] if extends(other, one) => (vec![last(one), word.clone()], Some(0)),
        [word] if extends(one, other) => (vec![word.clone(), last(other)], Some(1)),
        _ => (own, None),
    }
}

/// The numbers in digits, each after the stem of the word before it; "number" and "no." count with the word before them.
fn numbered(asked: &[String]) -> Vec<(String, String)> {
    let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
    let of = |at: usize| {
        let mut before = asked[..at].iter().rev();
        let word = before.find(|word| !matches!(word.as_str(), "number" | "no" | "nr"))?;
        Some((stem(word), asked[at].clone()))
    };
    (0..asked.len()).filter(|at| is_number(&asked[*at])).filter_map(of).collect()
}

/// Whether a question is for a price without the word: "How much is the large pan?", and not "How much is lost?".
fn asks_price(asked: &[String]) -> bool {
    let words: Vec<&str> = asked.iter().map(String::as_str).collect();
    let determined = ["the", "a", "an", "your", "one", "this", "that"];
    matches!(words.as_slice(), ["how", "much", "is" | "are" | "was" | "were", next, .., last]
        if determined.contains(next) && !last.ends_with("ed"))
}

/// The numbers directly after words such as "over" and "aged".
fn bounds(asked: &[String]) -> Vec<String> {
    const BOUNDING: [&str; 7] = ["over", "above", "under", "below", "aged", "than", "beyond"];
    let bounded = asked.windows(2).filter(|pair| BOUNDING.contains(&pair[0].as_str()));
    let numbers =
        bounded.map(|pair| &pair[1]).filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    numbers.cloned().collect()
}

/// The units of the measures that a question names. A single letter may be anything.
fn named_units(asked: &[String], measures: &[&MeasureWords]) -> BTreeSet<String> {
    let stems = asked.iter().map(|word| stem(word));
    let is_unit = |stem: &String| measures.iter().any(|measure| measure.units.contains(stem));
    stems.filter(|stem| stem.len() > 1 && is_unit(stem)).collect()
}

/// The stem of the thing whose kinds are asked about: after "each" or "types of", or before "types".
fn thing(asked: &[String]) -> Option<String> {
    let words: Vec<&str> = asked.iter().map(String::as_str).collect();
    let found = words.windows(3).find_map(|three| match *three {
        ["type" | "types" | "kind" | "kinds", "of", thing] => Some(thing),
        ["each" | "every", "type" | "kind", _] => None,
        ["each" | "every", thing, _] | [_, thing, "types" | "kinds"] => Some(thing),
        _ => None,
    });
    found.map(stem)
}

fn is_generic(words: &TableWords, stem: &str) -> bool {
    let is_unit = words.measures.values().any(|measure| measure.units.contains(stem));
    // A year may name a column.
    let is_count = stem.len() != 4 && stem.chars().all(|c| c.is_ascii_digit());
    is_unit || words.generic.contains(stem) || is_count
}

/// The first word of a question that asks for an end of a column. "At most" and "most of" ask for none.
fn superlative<'a>(asked: &'a [String], of: &BTreeMap<String, String>) -> Option<&'a str> {
    let at = asked.iter().position(|word| of.contains_key(word))?;
    let before = at.checked_sub(1).map_or("", |before| asked[before].as_str());
    let after = asked.get(at + 1).map_or("", String::as_str);
    (before != "at" && after != "of").then_some(asked[at].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;

    #[test]
    fn a_question_names_its_measures_and_its_topic() {
        let request = |asked: &str| {
            let it = TableRequest::from_brief(&test_support::brief(asked)).unwrap();
            let measures: Vec<&str> = it.measures.iter().map(|it| it.heading.as_str()).collect();
            let topic: Vec<String> = it.topic.into_iter().collect();
            (measures, it.extreme, it.per.is_some(), topic.join(" "))
        };
        let per = request("Which stopper saves the most leaks per euro?");
        assert_eq!(per, (vec![], Some(Extreme::Most), true, "leak save stopper".to_owned()));
        let heavy = request("How heavy is a natural cork when wet?");
        assert_eq!(heavy, (vec!["Weight"], None, false, "cork natur wet".to_owned()));
        assert_eq!(request("Which cork is the cheapest?").0, ["Cost"]);
        assert_eq!(request("Do most corks float?").1, None);
        assert_eq!(request("Which corks weigh at most 5 g?").1, None);
    }
}
