//! What a named thing is said to be: a sport, a profession, a kind of work.
use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};

/// Maximum number of words between a name and "is".
const MAX_COPULA_DISTANCE: usize = 22;
/// Maximum number of words between a name and the "a" that stands beside it: "Ardhangini (2017 series), a …".
const MAX_APPOSITION_DISTANCE: usize = 5;
/// Maximum number of words of the phrase after "is a".
const MAX_KIND_WORDS: usize = 9;
/// Words that tell when or how, and not what.
const NO_KIND: &[&str] = &[
    "former",
    "retired",
    "professional",
    "current",
    "historic",
    "first",
    "second",
    "third",
    "new",
];

/// Nouns that say of a person or thing nothing that tells it from another.
const VAGUE: &[&str] = &[
    "term", "figure", "member", "name", "son", "daughter", "person", "man", "woman", "athlete",
    "part", "example", "often",
];

/// Whether an adverb between "is" and its article leaves the statement true now. "Previously" does not.
fn is_neutral_adverb(word: &str) -> bool {
    matches!(word, "also" | "currently" | "now" | "still")
}

impl FactQuestion {
    /// What a sentence that defines the subject says it is: the words after "is a", with those in brackets after the name.
    pub(super) fn kind_in(&self, words: &TextWords<'_>) -> Option<StatedFact> {
        let named = self.last_name_word(words)?;
        let article = self.article_after(words, named)?;
        let from = article + 1;
        let mut last = article;
        for at in from..words.len().min(from + MAX_KIND_WORDS) {
            let verbal = at > from
                && !words.is_capital(at)
                && (words.word(at).ends_with("ed") || words.word(at).ends_with("tten"));
            if at > from && words.breaks_before(at) || words.is_stop(at) || verbal && last > from {
                break;
            }
            last = at;
        }
        if last < from || VAGUE.contains(&words.word(last)) {
            return None;
        }
        let digits = |at: &usize| words.word(*at).starts_with(|c: char| c.is_ascii_digit());
        let of_kind = |capital: bool| -> Vec<String> {
            (from..=last)
                .filter(|at| words.is_capital(*at) == capital && !digits(at))
                .filter(|at| !NO_KIND.contains(&words.word(*at)))
                .map(|at| words.stems[at].clone())
                .collect()
        };
        let (mut kinds, names) = (of_kind(false), of_kind(true));
        if self.asks("posit") {
            kinds = [names.clone(), kinds].concat();
        }
        let by_name = self.asks("languag");
        if kinds.is_empty() || by_name && names.is_empty() {
            return None;
        }
        Some(StatedFact {
            shown: words.slice(from, last).to_owned(),
            value: FactValue::Kind {
                words: if by_name {
                    [names, kinds[kinds.len() - 1..].to_vec()].concat()
                } else {
                    kinds
                },
                by_modifier: self.asks_modifier(),
                in_sport: self.asks("sport"),
            },
        })
    }

    /// The article of the phrase that says what the subject is: after "is", after "plays as", or beside the name.
    fn article_after(&self, words: &TextWords<'_>, named: usize) -> Option<usize> {
        let until = words.len().min(named + MAX_COPULA_DISTANCE);
        let is_article = |at: usize| at + 1 < words.len() && matches!(words.word(at), "a" | "an");
        if self.asks("posit") {
            let plays = |at: &usize| words.stems[*at] == "play" && words.word(at + 1) == "as";
            let verb = (named + 1..words.len().saturating_sub(3)).find(plays)?;
            return Some(if is_article(verb + 2) { verb + 2 } else { verb + 1 });
        }
        let beside = (named + 1..words.len().min(named + MAX_APPOSITION_DISTANCE))
            .find(|at| is_article(*at) && words.gap_before(*at).contains(','));
        let copula = (named + 1..until)
            .find(|at| matches!(words.word(*at), "is" | "was" | "are" | "were"))
            .map(|at| at + 1)
            .map(|at| {
                (at..words.len()).find(|at| !is_neutral_adverb(words.word(*at))).unwrap_or(at)
            })
            .filter(|at| {
                is_article(*at) || at + 1 < words.len() && matches!(words.word(*at), "the" | "one")
            });
        beside.or(copula)
    }

    /// Whether the answer is the first words of a kind, and not its noun: "golf" of "golf tournament".
    fn asks_modifier(&self) -> bool {
        ["genr", "style", "format", "languag"].iter().any(|it| self.asks(it))
    }
}
