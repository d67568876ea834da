//! Classifies what a sentence teaches, by its words.
use ibid_core::domain::FindingKind;
use ibid_core::domain::words::{numbers, tokens};

/// Words of doubt and of limits.
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
/// Words that say what to do.
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
/// Words with which a sentence defines something.
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
/// Characters from the beginning within which these words define something.
const MAX_DEFINITION_START: usize = 60;

/// What kind of thing `text` teaches; where several kinds fit, the one that a reader must not miss.
pub(crate) fn classify_learning(text: &str) -> FindingKind {
    let words: Vec<String> = tokens(text).into_iter().map(|token| token.text).collect();
    let spaced = format!(" {} ", words.join(" "));
    let has = |all: &[&str]| all.iter().any(|text| spaced.contains(text));
    let early: String = spaced.chars().take(MAX_DEFINITION_START).collect();
    // A year alone is not a measurement.
    let is_year = |number: f64| (1000.0..=2100.0).contains(&number) && number.fract() == 0.0;
    let measures = numbers(text).iter().any(|it| !is_year(it.value));
    if has(LIMITS) {
        FindingKind::Limit
    } else if measures {
        FindingKind::Figure
    } else if has(PRACTICES) {
        FindingKind::Practice
    } else if has(CAUSES) {
        FindingKind::Cause
    } else if DEFINES.iter().any(|define| early.contains(define)) {
        FindingKind::Definition
    } else {
        FindingKind::Fact
    }
}

/// Groups by kind, keeping the order of first occurrence of the kinds and the order within each.
pub(crate) fn group_by_kind<T>(all: &mut [T], kind: impl Fn(&T) -> FindingKind) {
    let mut order: Vec<FindingKind> = Vec::new();
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
            (FindingKind::Definition, "A green roof is a roof with plants on it."),
            (FindingKind::Figure, "A green roof keeps 56 % of the rain."),
            (FindingKind::Fact, "The first green roofs of the city were planted in 1986."),
            (FindingKind::Cause, "Green roofs cool the air because plants give off water."),
            (FindingKind::Practice, "The membrane should be tested before planting."),
            (FindingKind::Limit, "However, the effect in winter is unclear."),
            (FindingKind::Limit, "Retention of 56 % depends on the climate."),
            (FindingKind::Fact, "Sedum grows on shallow substrate."),
        ];
        for (wanted, text) in all {
            assert_eq!(classify_learning(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_of_one_kind_stands_together_and_the_best_stays_first() {
        let mut all = ["It keeps 5 l.", "It is a roof.", "It keeps 6 l.", "It is a bed."];
        group_by_kind(&mut all, |it| classify_learning(it));
        assert_eq!(all, ["It keeps 5 l.", "It keeps 6 l.", "It is a roof.", "It is a bed."]);
    }
}
