//! Which of the things of one name a text is about: "Osgood, Indiana", "Big Fun (Towa Tei album)".
use std::collections::BTreeSet;

use super::FactQuestion;
use super::words::TextWords;

/// Maximum number of words that tell a thing from others of its name.
const MAX_QUALIFIER_WORDS: usize = 8;

/// A name with what tells it from others of the same name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QualifiedName {
    /// Its words, as written: "Osgood, Indiana".
    pub(crate) shown: String,
    /// The stems of the words beside the name.
    words: BTreeSet<String>,
    /// Those of them that name a kind: "album".
    kinds: BTreeSet<String>,
    /// Those of them that are names or numbers.
    names: BTreeSet<String>,
}

impl FactQuestion {
    /// The name asked about with its qualifier, where `text` is such a title or begins with one: "Osgood, Indiana Osgood is a town …".
    /// In running text, brackets and commas after a name may say anything.
    pub(crate) fn qualified_name(&self, text: &str) -> Option<QualifiedName> {
        let words = TextWords::new(text);
        let own = TextWords::new(&self.shown).stems;
        let is_name = |at: usize| words.stems.get(at..at + own.len()) == Some(&own[..]);
        let from = usize::from(words.len() > 0 && words.word(0) == "the");
        if own.is_empty() || !is_name(from) {
            return None;
        }
        let first = from + own.len();
        let until = words.len().min(first + MAX_QUALIFIER_WORDS);
        let gap = words.gap_before(first).trim();
        let end = if gap == "(" {
            (first + 1..=until).find(|at| words.gap_before(*at).contains(')'))?
        } else if gap == "," {
            let of_place = |at: &usize| {
                words.is_capital(*at)
                    && words.word(*at) != "the"
                    && !is_name(*at)
                    && !is_separator(words.gap_before(*at))
            };
            first + (first..until).take_while(of_place).count()
        } else {
            return None;
        };
        let after = words.gap_before(end);
        let repeats =
            is_name(end) || end < words.len() && words.word(end) == "the" && is_name(end + 1);
        let closes = end == words.len() || is_separator(after);
        if end == first || !(repeats || closes && !after.contains('.')) {
            return None;
        }
        let stems = |keep: &dyn Fn(usize) -> bool| -> BTreeSet<String> {
            (first..end).filter(|at| keep(*at)).map(|at| words.stems[at].clone()).collect()
        };
        let is_kind = |at: usize| {
            !words.is_capital(at)
                && !words.is_stop(at)
                && !has_digit(words.word(at))
                && words.word(at) != "born"
        };
        let shown = words.slice(0, end - 1).to_owned();
        Some(QualifiedName {
            shown: if gap == "(" { shown + ")" } else { shown },
            words: stems(&|at| !words.is_stop(at)),
            kinds: stems(&is_kind),
            names: stems(&|at| words.is_capital(at) || has_digit(words.word(at))),
        })
    }
}

impl QualifiedName {
    /// Whether the two are different things: of different kinds, or of one kind and told apart by other names or other numbers. "(1979
    /// film)" and "(Hindi film)" may be one.
    pub(crate) fn excludes(&self, other: &QualifiedName) -> bool {
        if self.words.is_subset(&other.words) || other.words.is_subset(&self.words) {
            return false;
        }
        let kinds_differ = !self.kinds.is_empty()
            && !other.kinds.is_empty()
            && self.kinds.is_disjoint(&other.kinds);
        let own: Vec<&String> = self.names.difference(&other.names).collect();
        let theirs: Vec<&String> = other.names.difference(&self.names).collect();
        let alike =
            |of: fn(&str) -> bool| own.iter().any(|it| of(it)) && theirs.iter().any(|it| of(it));
        kinds_differ || alike(has_digit) || alike(|it| !has_digit(it))
    }
}

/// Whether a title goes on with the name of its site: "Osgood, Indiana - Encyclopedia".
fn is_separator(gap: &str) -> bool {
    gap.contains(['-', '–', '—', '|', ':', '·']) && gap.contains(' ')
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}
