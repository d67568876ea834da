//! The unit that a question asks for, and the figures of sentences in it: "How heavy is it in pounds per square foot?"
use super::quantity::Quantity;
use super::units::Unit;
use ibid_core::domain::words::{numbers, tokens};

/// Maximum number of words of a unit, and of a figure with its unit.
const MAX_UNIT_WORDS: usize = 6;
const MAX_FIGURE_WORDS: usize = 8;
/// A smaller figure is left out beside larger ones.
const MIN_FIGURE: f64 = 0.1;
/// Words that put a figure by another: "5 m a day" is no length.
const RATES: [&str; 5] = ["per", "a", "an", "each", "/"];
/// Units that are also said of an order or a point in time: "who came in second".
const NO_ASKED_UNITS: [&str; 7] = ["second", "minute", "hour", "day", "week", "month", "year"];
/// Words that make degrees a difference: 5 °C warmer is 9 °F warmer, and not 41 °F.
const DIFFERENCES: [&str; 16] = [
    "by",
    "change",
    "colder",
    "cooler",
    "decrease",
    "difference",
    "drop",
    "fall",
    "higher",
    "hotter",
    "increase",
    "lower",
    "reduction",
    "rise",
    "rises",
    "warmer",
];

/// The unit that a question asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedUnit {
    unit: Unit,
    /// Its words, in lower case.
    words: Vec<String>,
}

/// The unit that `question` asks for: "in feet", "how many miles".
pub(crate) fn asked_unit(question: &str) -> Option<AskedUnit> {
    let words: Vec<&str> = question.split_whitespace().collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|it| it.eq_ignore_ascii_case(word));
    for at in (0..words.len()).rev().filter(|at| is(*at, "in")) {
        if let Some((unit, length)) = unit_at(&words[at + 1..]) {
            return Some(AskedUnit::new(unit, &words[at + 1..][..length]));
        }
    }
    let many = (0..words.len()).find(|at| is(*at, "how") && is(at + 1, "many"))? + 2;
    let (unit, length) = unit_at(words.get(many..)?)?;
    let of_time = unit.dimensions.keys().all(|name| matches!(name.as_str(), "time" | "year"));
    let by = words.get(many + length).is_some_and(|word| RATES.contains(word));
    (!of_time && !by).then(|| AskedUnit::new(unit, &words[many..][..length]))
}

impl AskedUnit {
    fn new(unit: Unit, words: &[&str]) -> AskedUnit {
        let words = words.iter().flat_map(|word| tokens(word)).map(|word| word.text);
        AskedUnit { unit, words: words.collect() }
    }

    /// Whether `word` of the question only names the unit.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    /// The figures of `text` in this unit: `120 kg per square metre ≈ 24.6 pounds per square foot`. None if the text has a figure in
    /// this unit.
    pub(crate) fn conversions(&self, text: &str) -> Vec<String> {
        let mut found: Vec<(&str, Quantity)> = Vec::new();
        let mut after = 0;
        for number in numbers(text).into_iter().filter(|it| text[it.span.clone()].is_ascii()) {
            if number.span.start < after {
                continue;
            }
            let Some((figure, quantity)) = figure_at(text, number.span.start) else {
                continue;
            };
            after = number.span.start + figure.len();
            if quantity.unit.dimensions != self.unit.dimensions {
                continue;
            }
            let differs = quantity.unit.factor.to_bits() != self.unit.factor.to_bits()
                || quantity.unit.zero.to_bits() != self.unit.zero.to_bits();
            if !differs {
                return Vec::new();
            }
            let is_difference = || {
                let words = tokens(text);
                words.iter().any(|word| DIFFERENCES.contains(&word.text.as_str()))
            };
            if self.unit.zero == quantity.unit.zero || !is_difference() {
                found.push((figure, quantity.in_unit(&self.unit)));
            }
        }
        // Of a bridge of 84 metres that is 42 km away, the miles are asked of the way.
        let is_large = |it: &Quantity| it.high.abs() >= MIN_FIGURE;
        let any_large = found.iter().any(|it| is_large(&it.1));
        found.retain(|it| !any_large || is_large(&it.1));
        let equation = |(figure, it): &(&str, Quantity)| {
            let sign = if it.is_rounded() { "≈" } else { "=" };
            format!("{figure} {sign} {}", it.text())
        };
        found.iter().map(equation).collect()
    }
}

/// The longest unit at the start of `words`, and how many words it has.
fn unit_at(words: &[&str]) -> Option<(Unit, usize)> {
    let first = words.first()?;
    let bare = first.trim_end_matches(['?', '.', ',', ';', ':', '!']);
    if RATES.contains(first)
        || NO_ASKED_UNITS.contains(&bare)
        || first.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let ends = |word: &str| word.ends_with(['?', '.', ',', ';', ':', '!']);
    let whole = 1 + words.iter().take_while(|word| !ends(word)).count();
    (1..=whole.min(words.len()).min(MAX_UNIT_WORDS)).rev().find_map(|length| {
        let text = words[..length].join(" ");
        let text = text.trim_end_matches(['?', '.', ',', ';', ':', '!']);
        let last = text.rsplit(' ').next()?;
        // The money of that name does not convert to a mass.
        let said = tokens_in_pounds(text);
        let mut unit = Unit::parse(&said);
        let of_figures = unit.dimensions.len() > 1
            || unit.dimensions.keys().all(|name| !is_money_or_share(name));
        text.clone_into(&mut unit.text);
        (unit.is_known() && of_figures && !RATES.contains(&last) && last != "of")
            .then_some((unit, length))
    })
}

/// `text` with "lb" for the pounds that a mass is asked in.
fn tokens_in_pounds(text: &str) -> String {
    let said = text.split(' ').map(|word| match word.to_lowercase().as_str() {
        "pound" | "pounds" => "lb",
        _ => word,
    });
    said.collect::<Vec<_>>().join(" ")
}

fn is_money_or_share(name: &str) -> bool {
    matches!(name, "%" | "€" | "$" | "£" | "¥")
}

/// The figure at `from` with its whole unit, if that is known: "95 to 105 kg/m²".
fn figure_at(text: &str, from: usize) -> Option<(&str, Quantity)> {
    let signed = text[..from].ends_with(['-', '−']);
    let before = text[..from].trim_end_matches(['-', '−']);
    let is_alone = before.is_empty() || before.ends_with([' ', '(', '\u{a0}']);
    let from = if signed && is_alone { before.len() } else { from };
    let rest = &text[from..];
    let mut found = None;
    let mut end = 0;
    for word in rest.split(' ').take(MAX_FIGURE_WORDS) {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')', '?', '!']);
        let figure = &rest[..end + bare.len()];
        let read = Quantity::read(figure, "");
        let read = read.filter(|it| it.unit.is_known() || it.unit.dimensions.is_empty());
        match (read, &found) {
            (Some(it), _) if it.unit.is_known() => found = Some((figure, it)),
            // Hours a week are no quantity that is known.
            (Some(it), Some(_)) if !RATES.contains(&bare) && !it.unit.text.is_empty() => {
                found = None
            }
            _ => {}
        }
        end += word.len() + 1;
        if bare.len() < word.len() {
            break;
        }
    }
    let (figure, quantity) = found?;
    let further = rest[figure.len()..].split_whitespace().next();
    if figure.ends_with('/') || further.is_some_and(|word| RATES.contains(&word)) {
        return None;
    }
    let last = figure.rsplit(' ').next()?;
    (!RATES.contains(&last) && last != "of").then_some((figure, quantity))
}

#[cfg(test)]
mod tests {
    use super::asked_unit;

    fn converted(question: &str, text: &str) -> Vec<String> {
        asked_unit(question).map_or(Vec::new(), |it| it.conversions(text))
    }

    #[test]
    fn figures_are_told_in_the_unit_that_is_asked_for() {
        for (question, text, expected) in [
            (
                "How heavy is a green roof in pounds per square foot?",
                "It weighs 95 to 105 kg per square metre when it is wet.",
                "95 to 105 kg per square metre ≈ 19.5 to 21.5 pounds per square foot",
            ),
            ("How long is the bridge in feet?", "It is 84 metres long.", "84 metres ≈ 276 feet"),
            (
                "How many miles is it?",
                "The bridge is 84 m long, and 42.2 km away.",
                "42.2 km ≈ 26.2 miles",
            ),
            ("How cold was it in Fahrenheit?", "The night had −9 °C.", "−9 °C = 15.8 Fahrenheit"),
            ("In mph, how fast is it?", "It drives 100 km/h.", "100 km/h ≈ 62.1 mph"),
            ("How long does it take in days?", "It takes 3 weeks.", "3 weeks = 21 days"),
            ("How much is it in square feet?", "It has 1,200 m².", "1,200 m² ≈ 12900 square feet"),
        ] {
            assert_eq!(converted(question, text), [expected], "{question}");
        }
    }

    #[test]
    fn what_is_no_such_figure_is_not_converted() {
        for (question, text) in [
            ("How long is the bridge in feet?", "It is 84 metres (276 feet) long."),
            ("How long is the bridge in feet?", "It grew by 3 mm a year."),
            ("How long is the bridge in feet?", "The wind has 5 m per second."),
            ("How long is the bridge in feet?", "It weighs 84 tonnes and cost 5 million euros."),
            ("How warm is it in Fahrenheit?", "It is 5 °C warmer."),
            ("How much rain falls in a day?", "It is 5 mm an hour."),
            ("How many hours a week is it open?", "It is open 3 days."),
            ("How many days does it take?", "It takes 2 weeks."),
            ("Who came in second, and when?", "Dora came after 12 minutes."),
            ("How much rain fell in 2019?", "It rained 700 mm."),
            ("How much is it in euros?", "It cost 5 thousand euros."),
            ("How many people live in Leeds?", "There are 500,000 people."),
        ] {
            assert_eq!(converted(question, text), Vec::<String>::new(), "{question} {text}");
        }
    }
}
