//! Qualifiers that distinguish things of the same name: "Osgood, Indiana", "Big Fun (Towa Tei album)".
use std::collections::BTreeSet;

use super::FactQuestion;
use super::kind_difference::are_alike;
use super::words::TextWords;

/// Maximum number of words of a qualifier.
const MAX_QUALIFIER_WORDS: usize = 6;
/// Number of words with which a page defines its subject.
const DEFINITION_WORDS: usize = 80;
/// Maximum number of words between "in" and the place in "in Ripley County, in the U.S. state of Indiana".
const MAX_IN_DISTANCE: usize = 5;
/// Stems of words for kinds of things, by kind: things of two kinds are two things.
const KINDS: [&[&str]; 8] = [
    &["film", "movi"],
    &["novel", "book", "essay", "poem"],
    &["album", "record", "ep", "lp"],
    &["song", "singl"],
    &["opera", "play", "music"],
    &["seri", "show", "magazin", "newspap"],
    &["town", "citi", "villag", "township", "municip", "counti", "district"],
    &["river", "lake", "mountain", "island"],
];

/// A name with the qualifier that distinguishes it from others of the same name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QualifiedName {
    /// Its words, as written: "Osgood, Indiana".
    pub(crate) shown: String,
    /// The kind in the qualifier, as an index of [`KINDS`].
    kind: Option<usize>,
    /// The stems of its other words: names and numbers.
    names: BTreeSet<String>,
    /// The stems of the words with which its page says what it is.
    definition: BTreeSet<String>,
}

impl FactQuestion {
    /// The name asked about with its qualifier, where the page's `title` is of that form, or its `text` begins with one: "Osgood, Indiana
    /// Osgood is a town …". The words of a qualifier stand in what the page says of the thing at once, or name its kind: a title may
    /// claim anything.
    pub(crate) fn qualified_name(&self, title: &str, text: &str) -> Option<QualifiedName> {
        let own = TextWords::new(self.name()).stems;
        let lead: Vec<&str> = text.split_whitespace().take(DEFINITION_WORDS).collect();
        let lead = lead.join(" ");
        let lead = TextWords::new(&lead);
        let titled = || qualifier_in(&TextWords::new(title), &own, true);
        let found = qualifier_in(&lead, &own, false).or_else(titled)?;
        let is_copula = |at: &usize| matches!(lead.word(*at), "is" | "was" | "are" | "were");
        let defined = (0..lead.len()).find(is_copula)?;
        let definition: BTreeSet<String> = lead.stems[defined..].iter().cloned().collect();
        let placed = |word: &str| {
            let mut places = (defined..lead.len()).filter(|at| lead.word(*at) == word);
            places.any(|at| {
                (at.saturating_sub(MAX_IN_DISTANCE)..at)
                    .any(|before| matches!(lead.word(before), "in" | "at" | "near"))
            })
        };
        if !found.bracketed && !found.words.first().is_some_and(|(word, _)| placed(word)) {
            return None;
        }
        let kind_of = |stem: &str| KINDS.iter().position(|kind| kind.contains(&stem));
        let kind = found.words.iter().find_map(|(_, stem)| kind_of(stem));
        let names: BTreeSet<String> = found
            .words
            .iter()
            .map(|(_, stem)| stem.clone())
            .filter(|stem| kind_of(stem).is_none())
            .collect();
        let is_known = |name: &String| definition.iter().any(|word| are_alike(word, name));
        names.iter().all(is_known).then_some(QualifiedName {
            shown: found.shown,
            kind,
            names,
            definition,
        })
    }

    /// Whether the question asks for a thing of another kind or year than that of the name.
    pub(crate) fn rules_out(&self, name: &QualifiedName) -> bool {
        let asked_kind = self
            .relation
            .iter()
            .find_map(|stem| KINDS.iter().position(|kind| kind.contains(&stem.as_str())));
        let years: Vec<&String> =
            self.relation.iter().chain(&self.name).filter(|it| has_digit(it)).collect();
        let other_kind = asked_kind.zip(name.kind).is_some_and(|(asked, own)| asked != own);
        let other_year = !years.is_empty()
            && name.names.iter().any(|it| has_digit(it))
            && !years.iter().any(|year| name.names.contains(*year));
        other_kind || other_year
    }
}

impl QualifiedName {
    /// Whether the two are different things: of different kinds, or distinguished by names or by numbers that the other page does not say of
    /// its thing. "(1979 film)" and "(Hindi film)" may be one.
    pub(crate) fn excludes(&self, other: &QualifiedName) -> bool {
        if self.kind.zip(other.kind).is_some_and(|(own, theirs)| own != theirs) {
            return true;
        }
        let own: Vec<&String> = self.names.difference(&other.names).collect();
        let theirs: Vec<&String> = other.names.difference(&self.names).collect();
        let both =
            |of: fn(&str) -> bool| own.iter().any(|it| of(it)) && theirs.iter().any(|it| of(it));
        let unsaid = |names: &[&String], by: &QualifiedName| {
            names.iter().any(|name| !by.definition.iter().any(|word| are_alike(word, name)))
        };
        self.kind == other.kind
            && (both(has_digit) || both(|it| !has_digit(it)))
            && unsaid(&own, other)
            && unsaid(&theirs, self)
    }
}

/// What follows a name, as found at the beginning of a text.
struct Qualifier {
    /// The name with it, as written.
    shown: String,
    /// Its words in lower case, with their stems.
    words: Vec<(String, String)>,
    /// Whether it stands in brackets, and not after a comma.
    bracketed: bool,
}

/// The qualifier of the name with which `words` begin. A title ends with it, or goes on with the name of its site; a text goes on with the
/// name.
fn qualifier_in(words: &TextWords<'_>, own: &[String], is_title: bool) -> Option<Qualifier> {
    let is_name = |at: usize| words.stems.get(at..at + own.len()) == Some(own);
    let from = usize::from(words.len() > 0 && words.word(0) == "the");
    if own.is_empty() || !is_name(from) {
        return None;
    }
    let first = from + own.len();
    let until = words.len().min(first + MAX_QUALIFIER_WORDS);
    let bracketed = words.gap_before(first).trim() == "(";
    let end = if bracketed {
        (first + 1..=until).find(|at| words.gap_before(*at).contains([')', '(']))?
    } else if words.gap_before(first).trim() == "," {
        let of_place =
            |at: &usize| words.is_capital(*at) && words.word(*at) != "the" && !is_name(*at);
        let goes_on = |at: &usize| !is_separator(words.gap_before(*at)) || *at == first;
        first + (first..until).take_while(of_place).take_while(goes_on).count()
    } else {
        return None;
    };
    let repeats = is_name(end) || end < words.len() && words.word(end) == "the" && is_name(end + 1);
    let after = words.gap_before(end);
    let closes = is_title && (end == words.len() || is_separator(after));
    if end == first || !(repeats || closes) {
        return None;
    }
    let kept = (first..end).filter(|at| !words.is_stop(*at) && words.word(*at) != "born");
    let kept = kept.map(|at| (words.word(at).to_owned(), words.stems[at].clone())).collect();
    let shown = words.slice(0, end - 1).to_owned();
    let shown = if bracketed { shown + ")" } else { shown };
    Some(Qualifier { shown, words: kept, bracketed })
}

/// Whether a title goes on with the name of its site: "Osgood, Indiana - Encyclopedia".
fn is_separator(gap: &str) -> bool {
    gap.contains(['-', '–', '—', '|', ':', '·']) && gap.contains(' ')
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}
