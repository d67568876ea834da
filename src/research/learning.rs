//! What kind of thing a sentence teaches (row E2), told by its words.
use crate::domain::Learning;
use crate::domain::words::{numbers, tokens};

/// Words of doubt and of bounds.
const LIMITS: &[&str] = &[
    " however ",
    " although ",
    " unclear ",
    " unknown ",
    " uncertain ",
    " not known ",
    " not yet ",
    " limited ",
    " depends on ",
    " cannot ",
    " insufficient ",
    " no evidence ",
];
/// Words that say what somebody is to do.
const PRACTICES: &[&str] = &[
    " should ",
    " must ",
    " recommended ",
    " recommends ",
    " is required ",
    " are required ",
    " need to ",
    " needs to ",
    " it is best to ",
];
/// Words of causes and effects.
const CAUSES: &[&str] = &[
    " because ",
    " due to ",
    " causes ",
    " caused by ",
    " leads to ",
    " led to ",
    " results in ",
    " therefore ",
    " thus ",
    " so that ",
    " reduces ",
    " reduced ",
    " increases ",
    " increased ",
    " prevents ",
    " protects ",
    " improves ",
    " lowers ",
    " raises ",
];
/// Words by which a sentence says what something is.
const DEFINES: &[&str] = &[
    " is a ",
    " is an ",
    " is the ",
    " are a ",
    " are the ",
    " refers to ",
    " is defined as ",
    " consists of ",
    " is called ",
];
/// Characters from the beginning within which these words stand where they define.
const EARLY: usize = 60;

/// What kind of thing `text` teaches; where several kinds fit, the one that a reader must not miss.
pub(crate) fn kind(text: &str) -> Learning {
    let words: Vec<String> = tokens(text).into_iter().map(|it| it.text).collect();
    let spaced = format!(" {} ", words.join(" "));
    let has = |all: &[&str]| all.iter().any(|it| spaced.contains(it));
    let early: String = spaced.chars().take(EARLY).collect();
    // A year alone measures nothing.
    let is_year = |it: f64| (1000.0..=2100.0).contains(&it) && it.fract() == 0.0;
    let measures = numbers(text).iter().any(|it| !is_year(it.value));
    if has(LIMITS) {
        Learning::Limit
    } else if measures {
        Learning::Figure
    } else if has(PRACTICES) {
        Learning::Practice
    } else if has(CAUSES) {
        Learning::Cause
    } else if DEFINES.iter().any(|it| early.contains(it)) {
        Learning::Definition
    } else {
        Learning::Fact
    }
}

/// Puts what is of one kind together; the kinds stand in the order in which their first ones do, and so do those of one kind.
pub(crate) fn together<T>(all: &mut [T], kind: impl Fn(&T) -> Learning) {
    let mut order: Vec<Learning> = Vec::new();
    for it in all.iter() {
        if !order.contains(&kind(it)) {
            order.push(kind(it));
        }
    }
    all.sort_by_key(|it| order.iter().position(|known| *known == kind(it)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_of_the_kind_that_its_words_tell() {
        let all = [
            (
                Learning::Definition,
                "A green roof is a roof with plants on it.",
            ),
            (Learning::Figure, "A green roof keeps 56 % of the rain."),
            (
                Learning::Fact,
                "The first green roofs of the city were planted in 1986.",
            ),
            (
                Learning::Cause,
                "Green roofs cool the air because plants give off water.",
            ),
            (
                Learning::Practice,
                "The membrane should be tested before planting.",
            ),
            (Learning::Limit, "However, the effect in winter is unclear."),
            (Learning::Limit, "Retention of 56 % depends on the climate."),
            (Learning::Fact, "Sedum grows on shallow substrate."),
        ];
        for (wanted, text) in all {
            assert_eq!(kind(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_of_one_kind_stands_together_and_the_best_stays_first() {
        let mut all = [
            "It keeps 5 l.",
            "It is a roof.",
            "It keeps 6 l.",
            "It is a bed.",
        ];
        together(&mut all, |it| kind(it));
        assert_eq!(
            all,
            [
                "It keeps 5 l.",
                "It keeps 6 l.",
                "It is a roof.",
                "It is a bed."
            ]
        );
    }
}
