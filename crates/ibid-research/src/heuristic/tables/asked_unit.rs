//! The unit that a question asks for, and the figures of sentences in it: "How heavy is it in pounds per square foot?"
//!
//! A wrong conversion is worse than none, so a figure is read only where it stands by itself with the whole of its unit.
use super::quantity::{rounded, tells_difference};
use super::units::Unit;
use crate::heuristic::language::confident_language;
use ibid_core::domain::words::{stem, tokens};

/// Maximum number of words of a unit, and of figures that are converted.
const MAX_UNIT_WORDS: usize = 5;
const MAX_FIGURES: usize = 2;
/// Smaller figures say nothing in this unit: a bridge of 0.05 miles.
const MIN_FIGURE: f64 = 0.1;
/// Words that put a figure by another: "5 m a day" is no length.
const RATES: [&str; 9] = ["per", "a", "an", "each", "every", "pro", "je", "/", "times"];
/// What stands before a part of a figure: "20 × 30 m", "not 300 m".
const JOINTS: [&str; 9] = ["×", "x", "X", "*", "–", "-", "plus", "times", "not"];
/// What joins two figures of one quantity.
const BETWEEN_FIGURES: [&str; 6] = ["and", "or", "by", "to", "of", "at"];
const FRACTIONS: [&str; 9] =
    ["half", "third", "thirds", "quarter", "quarters", "fifth", "fifths", "percent", "%"];
/// Words after "how" of questions that ask for no amount.
const NO_AMOUNTS: [&str; 20] = [
    "do", "does", "did", "can", "could", "to", "should", "is", "are", "was", "were", "has", "have",
    "had", "will", "would", "come", "many", "often", "about",
];
/// What a question for an amount names.
const AMOUNTS: [&str; 19] = [
    "altitude",
    "area",
    "boil",
    "boiling",
    "capacity",
    "depth",
    "diameter",
    "distance",
    "elevation",
    "height",
    "length",
    "mass",
    "melting",
    "size",
    "speed",
    "temperature",
    "volume",
    "weight",
    "width",
];
/// What "how many miles" is followed by, or a question has that asks for a measure and not for things: smart meters, shipyards.
const MEASURED: [&str; 16] = [
    "across", "apart", "away", "cover", "deep", "from", "high", "hold", "long", "measure",
    "stretch", "tall", "thick", "walk", "weigh", "wide",
];
/// Words of money, beside which pounds are no mass.
const MONEY: [&str; 12] = [
    "£",
    "cost",
    "costs",
    "cheap",
    "expensive",
    "earn",
    "paid",
    "pay",
    "price",
    "spend",
    "spent",
    "worth",
];
/// Units that are also said of an order or of an age: "who came in second", "the longest in decades".
const NO_ASKED_UNITS: [&str; 9] =
    ["second", "minute", "hour", "day", "week", "month", "year", "decade", "decades"];
/// The unit that a question asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedUnit {
    unit: Unit,
    /// The word after "how": of a bridge 84 m long and 9 m wide, "how wide" asks for the second figure.
    asked: Option<String>,
    /// Whether the degrees that are asked for may be a difference.
    is_difference: bool,
}

/// A figure of a sentence.
#[derive(Debug, Clone, PartialEq)]
struct SentenceFigure<'a> {
    text: &'a str,
    low: f64,
    high: f64,
    unit: Unit,
    /// Its significant digits.
    digits: i32,
    /// The word behind it.
    next: &'a str,
}

/// The unit that `question` asks for an amount in: "in feet", "how many miles".
pub(crate) fn asked_unit(question: &str) -> Option<AskedUnit> {
    let words: Vec<&str> = question.split_whitespace().collect();
    let lower: Vec<String> = tokens(question).into_iter().map(|word| word.text).collect();
    let second = lower.get(1).map(String::as_str).unwrap_or_default();
    let opens = |word: &str| lower.first().is_some_and(|it| it == word);
    let has = |all: &[&str]| lower.iter().any(|word| all.contains(&&**word));
    // Of two things compared, the difference is asked for.
    if has(&["than", "gallon"]) {
        return None;
    }
    let how_much = opens("how") && !NO_AMOUNTS.contains(&second);
    let names_amount = (opens("what") || opens("at") || opens("which")) && has(&AMOUNTS);
    let unit = if how_much || names_amount {
        let last = (0..words.len()).rev().find(|at| words[*at].eq_ignore_ascii_case("in"))?;
        let (unit, length) = unit_at(&words[last + 1..])?;
        let further = words.get(last + 1 + length).copied();
        if !(words[last + length].ends_with(['?', '.', ',', '!'])
            || matches!(further, None | Some("or")))
        {
            return None;
        }
        unit
    } else if opens("how") && second == "many" {
        let (unit, length) = unit_at(words.get(2..)?)?;
        let next = lower.get(2 + length).map(String::as_str).unwrap_or_default();
        let is_measure = matches!(next, "is" | "are" | "was" | "were") || has(&MEASURED);
        let of_time = unit.dimensions.keys().any(|name| matches!(name.as_str(), "time" | "year"));
        if !is_measure || of_time || RATES.contains(&next) {
            return None;
        }
        unit
    } else {
        return None;
    };
    let in_pounds = tokens(&unit.text).iter().any(|word| matches!(&*word.text, "pound" | "pounds"));
    if in_pounds && is_on_money(question) {
        return None;
    }
    let asked = Some(second.to_owned()).filter(|_| how_much);
    let is_difference = tells_difference(question);
    Some(AskedUnit { unit, asked, is_difference })
}

impl AskedUnit {
    /// The figures of `text` in this unit: `120 kg per square metre ≈ 24.6 pounds per square foot`. None if the text has a figure in
    /// this unit, or more figures of its quantity than can be asked for. `is_english` says that the question is.
    pub(crate) fn conversions(&self, text: &str, is_english: bool) -> Vec<String> {
        let foreign = !is_english || confident_language(text).is_some_and(|code| code != "en");
        let of_mass = self.unit.dimensions.contains_key("mass");
        let in_pounds = of_mass && !is_on_money(text);
        let (mut found, parts) = figures(text, foreign, in_pounds);
        found.retain(|it| it.unit.dimensions == self.unit.dimensions);
        // Half of "20 by 30 m" would be told as the whole.
        if parts.iter().any(|unit| unit.dimensions == self.unit.dimensions) {
            return Vec::new();
        }
        if found.iter().any(|it| it.unit.is_same(&self.unit)) {
            return Vec::new();
        }
        let scale = self.unit.zero > 0.0;
        if scale && (self.is_difference || tells_difference(text)) {
            return Vec::new();
        }
        let asked = self.asked.as_deref().map(stem);
        let is_named =
            |it: &SentenceFigure<'_>| asked.as_ref().is_some_and(|own| stem(it.next) == *own);
        if found.iter().any(is_named) {
            found.retain(is_named);
        }
        found.retain(|it| scale || self.converted(it, it.high).abs() >= MIN_FIGURE);
        found.dedup_by(|next, kept| next.text == kept.text);
        if found.len() > MAX_FIGURES {
            return Vec::new();
        }
        found.iter().map(|it| self.equation(it)).collect()
    }

    fn converted(&self, it: &SentenceFigure<'_>, figure: f64) -> f64 {
        it.unit.convert(figure, &self.unit)
    }

    fn equation(&self, it: &SentenceFigure<'_>) -> String {
        let (low, high) = (self.converted(it, it.low), self.converted(it, it.high));
        let digits = it.digits.saturating_add(1).clamp(3, 5);
        let (low_text, high_text) = (written(low, digits), written(high, digits));
        let is_exact = |text: &str, figure: f64| {
            let plain = text.replace(',', "").replace('−', "-");
            plain.parse::<f64>().is_ok_and(|told| (told - figure).abs() <= 1e-9 * figure.abs())
        };
        let exact = is_exact(&low_text, low) && is_exact(&high_text, high);
        let figures =
            if low < high { format!("{low_text} to {high_text}") } else { high_text.clone() };
        let sign = if exact { "=" } else { "≈" };
        let unit = match self.unit.text.to_lowercase().as_str() {
            "fahrenheit" => "°F",
            "celsius" => "°C",
            _ => &self.unit.text,
        };
        format!("{} {sign} {figures} {unit}", it.text)
    }
}

/// The longest unit at the start of `words`, and how many words it has.
fn unit_at(words: &[&str]) -> Option<(Unit, usize)> {
    const STOPS: [char; 6] = ['?', '.', ',', ';', ':', '!'];
    let first = words.first()?.trim_end_matches(STOPS);
    if RATES.contains(&first) || NO_ASKED_UNITS.contains(&first) || first == "in" {
        return None;
    }
    let whole = 1 + words.iter().take_while(|word| !word.ends_with(STOPS)).count();
    (1..=whole.min(words.len()).min(MAX_UNIT_WORDS)).rev().find_map(|length| {
        let text = words[..length].join(" ");
        let text = text.trim_end_matches(STOPS);
        let last = text.rsplit(' ').next()?;
        let mut unit = Unit::parse(&in_pounds(text));
        let is_money = |name: &String| matches!(name.as_str(), "%" | "€" | "$" | "£" | "¥");
        let of_figures = unit.dimensions.len() > 1 || !unit.dimensions.keys().all(is_money);
        text.clone_into(&mut unit.text);
        let is_whole = unit.is_known() && of_figures && !RATES.contains(&last) && last != "of";
        is_whole.then_some((unit, length))
    })
}

fn is_on_money(text: &str) -> bool {
    text.contains('£') || tokens(text).iter().any(|word| MONEY.contains(&word.text.as_str()))
}

/// `text` with "lb" for pounds.
fn in_pounds(text: &str) -> String {
    let said = text.split(' ').map(|word| match word.to_lowercase().as_str() {
        "pound" | "pounds" => "lb",
        _ => word,
    });
    said.collect::<Vec<_>>().join(" ")
}

/// The figures of a text that stand by themselves, each with its whole unit, and the units of those that do not. In a text that may not be
/// English, figures with a comma or a point are left out: they may be thousands or decimals.
fn figures(text: &str, foreign: bool, pounds: bool) -> (Vec<SentenceFigure<'_>>, Vec<Unit>) {
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(from) = text[at..].find(|c: char| c.is_ascii_digit()).map(|found| at + found) {
        let run = text[from..].find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
        at = from + run.unwrap_or(text.len() - from);
        if let Some(figure) = figure_at(text, from, foreign, pounds) {
            let start = figure.text.as_ptr() as usize - text.as_ptr() as usize;
            at = at.max(start + figure.text.len());
            whole.push(figure);
        } else {
            parts.extend(unit_behind(&text[at..], pounds).map(|it| it.0));
        }
    }
    (whole, parts)
}

/// The figure or the range at `from`; `None` if it does not stand by itself, or its unit is not known.
fn figure_at(text: &str, from: usize, foreign: bool, pounds: bool) -> Option<SentenceFigure<'_>> {
    let (start, negative) = start_of(text, from)?;
    let (mut low, length, digits) = number(&text[from..], foreign)?;
    let mut end = from + length;
    let mut high = low;
    let after = &text[end..];
    let between = text[..start].trim_end().ends_with(" between");
    let joints: [(&str, bool); 6] = [
        ("–", true),
        ("-", true),
        (" – ", true),
        (" - ", true),
        (" to ", true),
        (" and ", between),
    ];
    let mut joints = joints.iter().filter(|it| it.1);
    let range = joints.find_map(|(joint, _)| {
        let (second, length, _) = number(after.strip_prefix(joint)?, foreign)?;
        Some((second, joint.len() + length))
    });
    if let Some((second, length)) = range {
        if second < low || negative {
            return None;
        }
        high = second;
        end += length;
    } else if negative {
        (low, high) = (-low, -high);
    }
    let (unit, length) = unit_behind(&text[end..], pounds)?;
    let end = end + length;
    let next = word_behind(&text[end..], unit.zero > 0.0)?;
    Some(SentenceFigure { text: &text[start..end], low, high, unit, digits, next })
}

/// Where the figure whose digits are at `from` starts, and whether it is negative; `None` if what stands before belongs to it.
fn start_of(text: &str, from: usize) -> Option<(usize, bool)> {
    let signed = text[..from].trim_end_matches(['-', '−', '–']);
    let negative = signed.len() < from;
    let is_open = |before: &str| before.is_empty() || before.ends_with([' ', '(', '\n', '\t']);
    if !is_open(signed) {
        return None;
    }
    let before: Vec<&str> = signed.split_whitespace().rev().take(3).collect();
    let word = |nth: usize| before.get(nth).copied().unwrap_or_default();
    let last = word(0);
    if last == "minus" && !negative {
        return Some((signed.trim_end().len() - last.len(), true));
    }
    let has_digit = |nth: usize| word(nth).contains(|c: char| c.is_ascii_digit());
    let is_unit = |nth: usize| Unit::parse(word(nth)).is_known();
    let ends = |nth: usize| word(nth).ends_with([',', ';', '.', ':', ')']);
    // "384 400 km", "5 feet 11 inches", "9 h and 30 min", "10 or 12 km", "two thirds of 90 km", "1.5 × 10".
    let follows_figure =
        |nth: usize| !ends(nth) && (has_digit(nth) || is_unit(nth) && has_digit(nth + 1));
    let signs = ['×', '*', '/', '^', '=', '±', '+', '~', '≈', '<', '>', '£', '$', '€'];
    let is_part = follows_figure(0)
        || JOINTS.contains(&last)
        || last.ends_with(signs)
        || BETWEEN_FIGURES.contains(&last) && (follows_figure(1) || FRACTIONS.contains(&word(1)));
    (!is_part).then_some((signed.len(), negative))
}

/// The number at the start of a text, its length, and its significant digits.
fn number(text: &str, foreign: bool) -> Option<(f64, usize, i32)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
    let written = text[..end.unwrap_or(text.len())].trim_end_matches(['.', ',']);
    let (whole, decimals) =
        written.split_once('.').map_or((written, None), |it| (it.0, Some(it.1)));
    let groups: Vec<&str> = whole.split(',').collect();
    let grouped = groups.len() == 1
        || groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
    let is_plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    let zeros = whole.len() > 1 && whole.starts_with('0');
    let ok =
        grouped && !zeros && groups.iter().all(|it| is_plain(it)) && decimals.is_none_or(is_plain);
    if !ok || foreign && written.contains([',', '.']) {
        return None;
    }
    let value: f64 = written.replace(',', "").parse().ok()?;
    let significant = written.chars().filter(char::is_ascii_digit).collect::<String>();
    let digits = significant.trim_start_matches('0').trim_end_matches('0').len();
    Some((value, written.len(), i32::try_from(digits).unwrap_or(i32::MAX)))
}

/// The unit at the start of what follows a figure, and its length: "84 m", "84m", "84-metre".
fn unit_behind(text: &str, pounds: bool) -> Option<(Unit, usize)> {
    let gap = text.chars().next().filter(|c| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '-'));
    let gap = gap.map_or(0, char::len_utf8);
    let mut found = None;
    let mut end = gap;
    for (nth, word) in text[gap..].split([' ', '\u{a0}']).take(MAX_UNIT_WORDS).enumerate() {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')', '?', '!', '"', '”']);
        let stated = &text[gap..end + bare.len()];
        let opens =
            nth > 0 || !bare.is_empty() && !matches!(bare, "in" | "a" | "an" | "per" | "of");
        if !opens || matches!(bare, "in" | "a" | "an" | "of" | "each") {
            break;
        }
        let unit = Unit::parse(&if pounds { in_pounds(stated) } else { stated.to_owned() });
        let is_whole = unit.is_known() && !RATES.contains(&bare);
        if is_whole {
            found = Some((unit, end + bare.len()));
        } else if !matches!(bare, "square" | "cubic" | "sq" | "degrees" | "degree" | "per" | "/") {
            break;
        }
        end += word.len() + 1;
        if bare.len() < word.len() {
            break;
        }
    }
    found
}

/// The first word behind a figure, empty at the end of its clause; `None` if what follows belongs to the figure.
fn word_behind(text: &str, of_scale: bool) -> Option<&str> {
    let c = text.chars().next();
    if c.is_some_and(|c| !(c.is_whitespace() || ".,;:)?!\"”(".contains(c))) {
        return None;
    }
    let clause = text.find([',', ';', ':', '.', '?', '!']).map_or(text, |end| &text[..end]);
    let mut words = clause.split_whitespace();
    let next = words.next().unwrap_or_default();
    let near: Vec<&str> = clause.split_whitespace().take(4).collect();
    let is_digit = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let joined = RATES.contains(&next)
        || is_digit(&next)
        || near.iter().any(|word| matches!(*word, "per" | "pro" | "je"))
        || matches!(next, "×" | "x" | "by" | "and" | "or" | "to" | "–" | "plus" | "minus")
            && near.get(1).is_some_and(is_digit)
        || of_scale && matches!(next, "below" | "more" | "less");
    (!joined).then_some(next)
}

/// A figure with so many significant digits and commas between its thousands.
fn written(figure: f64, digits: i32) -> String {
    let text = rounded(figure.abs(), digits);
    let (whole, decimals) =
        text.split_once('.').map_or((&*text, ""), |it| (it.0, &text[it.0.len()..]));
    let mut out = String::new();
    for (nth, digit) in whole.chars().enumerate() {
        if nth > 0 && whole.len() > 4 && (whole.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{}{out}{decimals}", if figure < 0.0 { "−" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::asked_unit;

    fn converted(question: &str, text: &str) -> Vec<String> {
        asked_unit(question).map_or(Vec::new(), |it| it.conversions(text, true))
    }

    #[test]
    fn figures_are_told_in_the_unit_that_is_asked_for() {
        let feet = "How tall is the tower in feet?";
        for (question, text, expected) in [
            (
                "How heavy is a green roof in pounds per square foot?",
                "It weighs 95 to 105 kg per square metre when it is wet.",
                "95 to 105 kg per square metre ≈ 19.5 to 21.5 pounds per square foot",
            ),
            (feet, "The tower is 84 metres in height.", "84 metres ≈ 276 feet"),
            (feet, "Opened on 4 January 2010 in Dubai, it is 828 m tall.", "828 m ≈ 2717 feet"),
            (feet, "The 84-metre tower is old.", "84-metre ≈ 276 feet"),
            (feet, "The peak has 8,849 m.", "8,849 m ≈ 29,032 feet"),
            ("How wide is it in feet?", "It is 84 m long and 9 m wide.", "9 m ≈ 29.5 feet"),
            (
                "How many miles is it?",
                "The bridge is 84 m long, and 42.2 km away.",
                "42.2 km ≈ 26.22 miles",
            ),
            (
                "How long is a marathon in miles?",
                "It is 42.195 km long.",
                "42.195 km ≈ 26.219 miles",
            ),
            (
                "How many miles is it?",
                "It is between 10 and 20 km.",
                "10 and 20 km ≈ 6.21 to 12.4 miles",
            ),
            ("How cold was it in Fahrenheit?", "The night had −9 °C.", "−9 °C = 15.8 °F"),
            ("How cold was it in Fahrenheit?", "It was minus 9 °C.", "minus 9 °C = 15.8 °F"),
            ("How cold was it in Fahrenheit?", "It got as cold as –9 °C.", "–9 °C = 15.8 °F"),
            ("How fast is it in mph?", "It drives 100 km/h.", "100 km/h ≈ 62.1 mph"),
            ("How long does it take in days?", "It takes 3 weeks.", "3 weeks = 21 days"),
            ("How much is it in square feet?", "It has 1,200 m².", "1,200 m² ≈ 12,900 square feet"),
            (
                "What is its weight in kilograms?",
                "It weighs 220 pounds.",
                "220 pounds ≈ 99.8 kilograms",
            ),
            (
                "How much water does it hold in cubic feet?",
                "It holds 500 litres of water.",
                "500 litres ≈ 17.7 cubic feet",
            ),
        ] {
            assert_eq!(converted(question, text), [expected], "{question}");
        }
    }

    #[test]
    fn no_part_of_a_figure_is_a_figure() {
        let feet = "How tall is it in feet?";
        for text in [
            "It is 84 metres (276 feet) tall.",
            "It grew by 3 mm a year.",
            "The wind has 5 m per second.",
            "It weighs 84 tonnes and cost 5 million euros.",
            "It is 384 400 km away.",
            "It is 384\u{a0}400 km away.",
            "It is 3 1/2 miles long.",
            "It is 3/4 inch thick.",
            "It is 1.5 × 10^11 m away.",
            "It is .5 km away.",
            "It cost £5 m in all.",
            "It is 5 yards 11 inches tall.",
            "It is 20 × 30 m wide.",
            "It is 20 by 30 m wide.",
            "It is two thirds of 90 km.",
            "It ranks 12 in Utah.",
            "It is 95 m (dry) per floor.",
            "It is 95 m⁻² at most.",
            "It has 3 bars, 2 m, 3 m and 4 m wide.",
        ] {
            assert_eq!(converted(feet, text), Vec::<String>::new(), "{text}");
        }
        let celsius = "How warm was it in Fahrenheit?";
        for text in [
            "It is 5 °C warmer.",
            "It allows a warming of 1.5 °C.",
            "It is accurate to ±0.5 °C.",
            "It was 9 degrees Celsius below zero.",
        ] {
            assert_eq!(converted(celsius, text), Vec::<String>::new(), "{text}");
        }
        let minutes = "How long did it take in minutes?";
        for text in ["It took 2:14 h.", "It took 9 h 30.", "It took 2 hours and 15 minutes."] {
            assert_eq!(converted(minutes, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn only_a_question_for_an_amount_asks_for_a_unit() {
        for question in [
            "How much rain falls in a day?",
            "How many hours a week is it open?",
            "How many days does it take?",
            "Who came in second, and when?",
            "How much rain fell in 2019?",
            "How much is it in euros?",
            "How many people live in Leeds?",
            "How many in the crew were paid?",
            "How many smart meters has it installed?",
            "How many meters has it installed?",
            "How many feet does the insect have?",
            "How much does the bike cost in pounds?",
            "What causes pain in feet?",
            "Which ships were built in yards on the Clyde?",
            "What happens in weeks 5 to 8 of pregnancy?",
            "How much taller is it than the hall in feet?",
            "How many miles per gallon does it do?",
        ] {
            assert_eq!(asked_unit(question), None, "{question}");
        }
    }

    #[test]
    fn what_is_not_english_has_no_decimals() {
        let asked = asked_unit("How long is it in miles?").expect("a unit");
        assert_eq!(asked.conversions("Es ist 42,195 km lang.", false), Vec::<String>::new());
        assert_eq!(asked.conversions("Es ist 42 km lang.", false), ["42 km ≈ 26.1 miles"]);
    }
}
