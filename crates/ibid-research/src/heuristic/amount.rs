//! Whether a text has the amount that a question asks for.
use ibid_core::domain::words::{Number, content_stems, is_stop_word, numbers, stem, tokens};

use super::dimension::{Dimension, TIMES};
use super::lexicon::without_zero_patch;
use super::measures::measures;
use super::question_kind::COMPARATIVES;
use crate::thesaurus;
use crate::thresholds::{AMOUNT_OF_ANOTHER_FIT, NO_UNIT_FIT, OTHER_UNIT_FIT};

/// How well another amount answers "how much faster".
const NO_RATIO_FIT: f32 = 0.2;

/// The amounts in a text: what measures, and of what a question counts, "how many people", also a number in words, "eleven people".
pub(crate) fn amounts(asked: &str, text: &str) -> Vec<Number> {
    let counted = counted_stem(&asked.to_lowercase());
    // "Four hungry people": the noun may follow an adjective.
    let is_counted = |it: &Number| {
        counted.as_deref().is_some_and(|of| {
            let after = text[it.span.end..].split_whitespace().take(3).flat_map(tokens);
            let mut units = it.unit.iter().cloned().chain(after.map(|word| stem(&word.text)));
            units.any(|unit| is_unit_of(of, &unit))
        })
    };
    let mut found = measures(text);
    let others = numbers(text).into_iter().filter(is_counted);
    let new: Vec<Number> = others
        .filter(|it| !found.iter().any(|known| known.span.contains(&it.span.start)))
        .collect();
    found.extend(new);
    found
}

/// The stem of the noun that a question counts: "people" of "how many people".
fn counted_stem(lower: &str) -> Option<String> {
    let at =
        ["how many ", "number of "].iter().find_map(|it| lower.find(it).map(|at| at + it.len()))?;
    tokens(&lower[at..]).first().map(|token| stem(&token.text))
}

fn is_unit_of(counted: &str, unit: &str) -> bool {
    counted == unit || thesaurus::synonyms(counted).any(|it| it == unit)
}

/// How well the amounts of a text are the one asked for: a number with a unit; best the unit asked for, or `%` where a share is.
/// Of what is compared, a difference is one.
pub(super) fn quantity_fit(asked: &str, text: &str, is_compared: bool) -> f32 {
    if answers_ratio(asked, text) {
        return 1.0;
    }
    let mut found = amounts(asked, text);
    if found.is_empty() {
        return 0.0;
    }
    if asks_ratio(asked) && !found.iter().any(|it| is_difference(&text[it.span.end..])) {
        return NO_RATIO_FIT;
    }
    // "50 euros more" is no cost, unless the question compares.
    if !is_compared {
        found.retain(|it| !is_difference(&text[it.span.end..]));
    }
    let lower = asked.to_lowercase();
    if !found.is_empty() && found.iter().all(|it| is_circumstance(asked, &text[..it.span.start])) {
        return 0.0;
    }
    let mut of_another = false;
    if lower.contains("how much ") {
        let named = content_stems(asked);
        let is_of_thing = asks_amount_of_thing(&lower);
        found.retain(|it| {
            let (before, after) = (&text[..it.span.start], &text[it.span.end..]);
            let is_share = it.unit.as_deref() == Some("%");
            let is_named = amount_of(&named, after);
            let is_other = match is_named {
                Some(is_named) => !is_named && (is_of_thing || is_share),
                None => is_of_thing && is_time_or_density(&named, it, after),
            };
            of_another |= is_other && !is_share && is_named.is_some();
            !is_other && !before.trim_end().ends_with("pH")
        });
    }
    if found.is_empty() {
        return if of_another { AMOUNT_OF_ANOTHER_FIT } else { NO_UNIT_FIT };
    }
    if let Some(dimension) = Dimension::from_question(&lower) {
        return dimension.fit(text);
    }
    let share =
        ["percent", "proportion", "share", "fraction", "prevalence", "incidence", "rate", "%"]
            .iter()
            .any(|it| lower.contains(it));
    let counted = counted_stem(&lower);
    let wanted = found.iter().any(|it| match (&it.unit, &counted) {
        (Some(unit), _) if share => unit == "%",
        (Some(unit), Some(counted)) => is_unit_of(counted, unit),
        _ => false,
    });
    if wanted {
        1.0
    } else if counted.is_none() && found.iter().any(|it| it.unit.is_some()) {
        OTHER_UNIT_FIT
    } else {
        NO_UNIT_FIT
    }
}

/// Whether a question asks by how much one thing is more than another, and a text says by which factor or share.
fn answers_ratio(asked: &str, text: &str) -> bool {
    asks_ratio(asked) && tells_ratio(asked, text)
}

/// The same of a text that has a word of what is compared: "the vendor's shares are 25 % cheaper" has none of "how much cheaper is the pump".
pub(crate) fn answers_ratio_of_named(asked: &str, text: &str) -> bool {
    let comparatives: Vec<String> = COMPARATIVES.iter().map(|it| stem(it)).collect();
    let told = content_stems(text);
    let named = content_stems(asked)
        .into_iter()
        .any(|it| !comparatives.contains(&it) && told.contains(&it));
    named && answers_ratio(asked, text)
}

/// Whether a question asks by how much one thing is more than another, and a text has no factor, share or difference.
pub(crate) fn lacks_ratio(asked: &str, text: &str) -> bool {
    let is_told = |it: &Number| is_difference(&text[it.span.end..]);
    let is_of_other = has_other_number(asked, text) || is_beside_another(asked, text);
    asks_ratio(asked)
        && !tells_ratio(asked, text)
        && (is_of_other || !amounts(asked, text).iter().any(is_told))
}

/// Whether a question asks by how much one thing is more than another: "how much faster", "how much more".
fn asks_ratio(asked: &str) -> bool {
    let lower = asked.to_lowercase();
    let next = lower.split_once("how much ").and_then(|(_, rest)| rest.split_whitespace().next());
    next.is_some_and(|word| COMPARATIVES.contains(&word.trim_end_matches(['?', ','])))
}

/// Whether a text says by which factor or share something changes: "reduced 7x", "twice as fast", "a 40% reduction".
fn tells_ratio(asked: &str, text: &str) -> bool {
    const CHANGES: [&str; 17] = [
        "reduc", "improv", "cut", "drop", "speed", "save", "saving", "increas", "decreas", "gain",
        "fell", "rose", "grew", "less", "more", "lower", "higher",
    ];
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split([' ', ',', ';', '.', ':', '(', ')']).collect();
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let is_factor = |word: &str| {
        ["x", "×", "-fold", "fold"].iter().any(|unit| {
            word.strip_suffix(unit).is_some_and(|it| is_number(it) || SPELLED.contains(&it))
        })
    };
    let is_pair = |pair: &[&str]| {
        matches!(pair[1], "times" | "x" | "×") && (is_number(pair[0]) || SPELLED.contains(&pair[0]))
            || matches!(pair[0], "twice" | "half") && pair[1] == "as"
    };
    if is_of_another(asked, &words)
        || is_beside_another(asked, text)
        || has_other_number(asked, text)
    {
        return false;
    }
    if words.iter().any(|word| is_factor(word)) || words.windows(2).any(is_pair) {
        return true;
    }
    let changes = |word: &&str| {
        COMPARATIVES.contains(word) || CHANGES.iter().any(|change| word.starts_with(change))
    };
    let has_share = measures(text).iter().any(|it| it.unit.as_deref() == Some("%"));
    has_share && words.iter().any(changes)
}

/// Whether the words of a text compare by something else than the question asks, "7x more expensive" of "how much faster", or tell what would be.
fn is_of_another(asked: &str, words: &[&str]) -> bool {
    // A thing that is faster takes less or shorter time, and a cheaper one costs less.
    const PLAIN: [&str; 6] = ["more", "less", "shorter", "lower", "best", "better"];
    let asked = asked.to_lowercase();
    let others = |word: &&&str| {
        COMPARATIVES.contains(*word) && !PLAIN.contains(*word) && !asked.contains(**word)
    };
    let of_adjective = |pair: &[&str]| {
        pair[0] == "more" && !asked.contains(pair[1]) && !matches!(pair[1], "" | "than" | "time")
    };
    words.contains(&"would")
        || words.iter().any(|word| others(&word))
        || words.windows(2).any(of_adjective)
}

/// Whether a text compares with another thing than the question: "faster than a mule" of "how much faster than a car".
pub(crate) fn is_beside_another(asked: &str, text: &str) -> bool {
    let compared = |text: &str| {
        let after = text.to_lowercase().split_once(" than ").map(|it| it.1.to_owned())?;
        let mut stems = content_stems(after.split([',', ';', '.']).next().unwrap_or_default());
        stems.retain(|it| !it.starts_with(|c: char| c.is_ascii_digit()));
        Some(stems)
    };
    let both = compared(asked).zip(compared(text));
    both.is_some_and(|(asked, told)| {
        !asked.is_empty() && !told.is_empty() && !told.iter().any(|it| asked.contains(it))
    })
}

/// Whether a text has a name of the question with another number: "Korv 2 was 8x faster" of "how much faster is Korv 4".
fn has_other_number(asked: &str, text: &str) -> bool {
    let numbered = |text: &str| -> Vec<(String, String)> {
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let number = |word: &str| without_zero_patch(word).unwrap_or(word).to_owned();
        let words = tokens(text);
        let pairs = words.windows(2).filter(|two| {
            !is_number(&two[0].text) && !is_stop_word(&two[0].text) && is_number(&two[1].text)
        });
        pairs.map(|two| (two[0].text.clone(), number(&two[1].text))).collect()
    };
    let asked = numbered(asked);
    let told = numbered(text);
    asked.iter().any(|(name, number)| {
        told.iter().any(|it| it.0 == *name)
            && !told.iter().any(|it| it.0 == *name && it.1 == *number)
    })
}

/// Numbers in words that are factors.
const SPELLED: [&str; 9] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Words that make a figure a difference.
const DIFFERENCES: [&str; 16] = [
    "faster", "slower", "cheaper", "dearer", "more", "less", "extra", "fewer", "higher", "lower",
    "longer", "shorter", "deeper", "heavier", "cooler", "warmer",
];

/// Whether a figure that `rest` follows is a difference: "50 euros per square metre more", but not "50 euros or more".
fn is_difference(rest: &str) -> bool {
    let clause = rest.split([',', ';', '.', ':', '(']).next().unwrap_or_default();
    let words: Vec<&str> = clause
        .split_whitespace()
        .take_while(|word| !["and", "or"].contains(word))
        .take(7)
        .collect();
    words.iter().any(|word| DIFFERENCES.contains(word))
}

/// Whether a figure after `before` belongs to the circumstances: "it is highest in summer, when evaporation reaches 4 mm", where the
/// clause has none of the words asked for.
fn is_circumstance(asked: &str, before: &str) -> bool {
    const LEADS: [&str; 4] = ["when ", "whenever ", "if ", "unless "];
    let clause = before.rsplit([',', ';', ':']).next().unwrap_or_default();
    let clause = clause.trim_start().to_lowercase();
    let named = content_stems(asked);
    LEADS.iter().any(|lead| clause.starts_with(lead))
        && content_stems(&clause).iter().all(|stem| !named.contains(stem))
}

/// Whether "how much" asks for the amount of a thing, as of "rain", and not how much something costs or is.
fn asks_amount_of_thing(asked: &str) -> bool {
    let after = asked.split_once("how much ").map_or("", |it| it.1);
    after
        .split_whitespace()
        .next()
        .is_some_and(|it| !is_stop_word(it) && !DIFFERENCES.contains(&it))
}

/// Whether a figure, which `rest` follows, is a time or a concentration, and not an amount of a thing.
fn is_time_or_density(named: &[String], figure: &Number, rest: &str) -> bool {
    let clause = rest.split([',', ';', '(']).next().unwrap_or_default();
    let clause = clause.split(" and ").next().unwrap_or_default();
    let is_density = [" per litre", " per liter", "/l ", " per millilitre", " per milliliter"]
        .iter()
        .any(|it| clause.contains(it));
    let unit = figure.unit.as_deref();
    let is_time = unit.is_some_and(|unit| {
        TIMES.contains(&unit) && !named.iter().any(|it| it == unit || it == "time")
    });
    is_density || is_time
}

/// Whether the text after a figure says that it is the amount of what the question names: "82 % of the zinc" and "0.4 mg of lead per
/// litre" are not, for how much rain is held. `None` where it does not say of what.
fn amount_of(named: &[String], rest: &str) -> Option<bool> {
    let rest = rest.trim_start_matches(['%', ' ']);
    let after_unit = || rest.split_once(' ').and_then(|(_, rest)| rest.strip_prefix("of "));
    let whole = rest.strip_prefix("of ").or_else(after_unit)?;
    let words = tokens(whole.trim_start_matches("the ").trim_start_matches("all ")).into_iter();
    let whole: Vec<String> = words
        .take_while(|it| !is_stop_word(&it.text))
        .take(3)
        .map(|word| stem(&word.text))
        .collect();
    // "Rainfall" is rain, and so is the water that a roof holds.
    let is_rain = named.iter().any(|own| own == "rain" || own == "rainfal");
    let is_named = |it: &String| {
        it == "water" && is_rain
            || named.iter().any(|own| own == it || own.len() >= 4 && it.starts_with(own.as_str()))
            || thesaurus::synonyms(it)
                .chain(thesaurus::related(it))
                .any(|own| named.iter().any(|it| it == own))
    };
    (!whole.is_empty()).then(|| whole.iter().any(is_named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_or_another_count_is_not_the_amount() {
        let cost = |text| quantity_fit("What does a green roof cost?", text, false);
        assert!(
            cost("A green roof costs 110 euros per square metre.")
                > cost("The blue-green roof costs 35 to 50 euros per square metre more.")
        );
        assert_eq!(
            cost("A green roof costs 110 euros or more."),
            cost("A green roof costs 110 euros.")
        );
        let rain = |text| quantity_fit("How much rain does a green roof retain?", text, false);
        assert!(
            rain("They may be taken to retain 70 % of annual rainfall.")
                > rain("Rain of pH 5.6 fell. They held back 82 % of the zinc.")
        );
        assert!(
            rain("Designers should take 45 % of annual rainfall for 8 cm of substrate.")
                > rain("Runoff held 0.42 mg of phosphorus per litre.")
        );
        assert!(rain("A roof keeps 30 mm of water.") > rain("It has 10 cm of substrate."));
        assert!(
            rain("A roof keeps half of it in summer, 30 mm in June.")
                > rain("It keeps most in summer, when evaporation reaches 4 mm a day.")
        );
        assert!(rain("It is best in June, when a roof retains 30 mm of rain.") > 0.5);
        let sleep = |text| quantity_fit("How much sleep do adults need?", text, false);
        assert!(sleep("Adults need 7 to 9 hours of sleep.") > sleep("A nap takes 20 minutes."));
        let salt = |text| quantity_fit("How much salt does seawater contain?", text, false);
        assert!(
            salt("It has 35 grams of salt per litre.") > salt("It has 4 mg of lead per litre.")
        );
        let food = |text| quantity_fit("How much food does an elephant eat?", text, false);
        assert!(food("It eats 150 kg of grass.") > food("It eats much grass."));
        let count = |text| quantity_fit("How many green roofs had Halvern?", text, false);
        assert!(
            count("The city had 412 green roofs.") > count("It retained 24 mm, which is 35 %.")
        );
    }

    #[test]
    fn how_much_faster_is_answered_by_a_factor_or_a_share_of_change() {
        let fit = |text| quantity_fit("How much faster is linking with LLD?", text, true);
        for text in [
            "Linking is reduced 7x.",
            "It links three times as fast.",
            "For a debug build, it is a 20% improvement.",
            "Linking is twice as fast.",
        ] {
            assert_eq!(fit(text), 1.0, "{text}");
        }
        for text in
            ["It has been used since 2019.", "Of those asked, 40 % had tried it.", "It links fast."]
        {
            assert!(fit(text) < 1.0, "{text}");
        }
        for text in [
            "It is up to 7x more expensive.",
            "It would be 9x faster with steam.",
            "It is three times as heavy, and cheaper.",
        ] {
            assert!(fit(text) < 1.0, "{text}");
        }
        assert!(quantity_fit("How much is it?", "It is reduced 7x.", false) < 1.0);
        let bike = |text| quantity_fit("How much faster is a bike than a car in town?", text, true);
        assert_eq!(bike("A bike is 2x faster than a car."), 1.0);
        assert!(bike("The ride is 2x faster than by mule.") < 1.0);
        let korv = |text| quantity_fit("How much faster is Korv 4?", text, true);
        assert_eq!(korv("Korv 4 is 8x faster than Korv 3."), 1.0);
        let new = "How much faster is Korv 4.1?";
        assert_eq!(quantity_fit(new, "Korv 4.1.0 is 8x faster.", true), 1.0);
        assert!(!lacks_ratio("How much more is A than B?", "A costs 50 euros more."));
        assert!(lacks_ratio("How much faster is Korv 4?", "Korv 2 was 8x faster than Korv 1."));
        assert!(lacks_ratio("How much faster is A than B?", "A should be faster."));
        assert!(korv("Korv 2 was 8x faster than Korv 1.") < 1.0);
        let pump = "How much cheaper is the Hovik heat pump?";
        assert!(answers_ratio_of_named(pump, "The heat pump is 25 % cheaper."));
        assert!(!answers_ratio_of_named(pump, "The vendor's shares are 25 % cheaper."));
    }

    #[test]
    fn a_question_of_depth_is_answered_by_a_depth() {
        let fit = |text| quantity_fit("How deep must the substrate be?", text, false);
        let depth = fit("The minimum substrate depth is 6 cm.");
        assert!(depth > fit("A roof with 10 cm of substrate keeps 56 % of the rain."));
        assert!(
            fit("A roof with 10 cm of substrate keeps rain.")
                > fit("It retains 70 % of annual rainfall, whatever its depth.")
        );
    }
}
