//! The terms of a query that occur in the index.
use std::collections::HashSet;
use std::sync::LazyLock;

use super::postings::PassagePostings;
use super::snapshot::IndexSnapshot;
use super::term_index::{TermId, TermIndex};
use super::terms::{IndexTerm, terms};

/// Bytes of a query that are read; the rest seldom adds anything new.
const MAX_QUERY_BYTES: usize = 16 << 10;
/// Terms of a query that count, the rarest first.
const MAX_QUERY_TERMS: usize = 48;

/// Function words of other languages that are no English words. They are rare in a folder of another language, where they would
/// count more than names.
const FUNCTION_WORDS: &[&str] = &[
    "der die das und ist sind wie wo wer von zu mit für ein eine einen einer eines nicht auf wird wurde welche welcher welches viel viele nach über durch oder wann warum dem des",
    "le la les du une est sont dans pour que qui quel quelle quels combien où avec sur et aux des ont cette",
    "el los las una en del que cuál cuándo cuántos cuántas dónde quién es son con por para cómo fue qué",
    "il gli della del di che quanto quanti chi dove quando per con una nel sono qual quale",
    "и в во не что на с со как это кто такой такая где когда какой какая какое сколько по из у к о за был была было для до",
];
/// A query is in the language of which it has so many function words.
const MIN_FUNCTION_WORDS: usize = 2;

/// Marks the function words of the query's language as stop words.
fn stop_function_words(all: &mut [IndexTerm]) {
    static LISTS: LazyLock<Vec<HashSet<String>>> = LazyLock::new(|| {
        let list = |words: &&str| terms(words).into_iter().map(|term| term.text).collect();
        FUNCTION_WORDS.iter().map(list).collect()
    });
    for list in LISTS.iter() {
        let found = all.iter().filter(|term| list.contains(&term.text)).count();
        if found >= MIN_FUNCTION_WORDS {
            all.iter_mut().for_each(|term| term.stop |= list.contains(&term.text));
        }
    }
}

/// A term of the query.
pub(super) struct QueryTerm<'a> {
    pub(super) term: TermId,
    /// The weight of the term, see [`IndexSnapshot::idf_weight`].
    pub(super) idf: f32,
    pub(super) postings: PassagePostings<'a>,
}

/// The terms in the order of the query: the index of a [`QueryTerm`], and its position among the words.
pub(super) type TermSequence = Vec<(usize, usize)>;

/// The terms of `query` that occur in the index, the rarest first, and their sequence. Stop words count only if the query has
/// no other words.
pub(super) fn query_terms<'a>(
    view: &IndexSnapshot,
    lexicon: &'a dyn TermIndex,
    query: &str,
) -> tantivy::Result<(Vec<QueryTerm<'a>>, TermSequence)> {
    let end = query.floor_char_boundary(MAX_QUERY_BYTES.min(query.len()));
    let mut all = terms(&query[..end]);
    stop_function_words(&mut all);
    if all.iter().any(|it| !it.stop) {
        all.retain(|it| !it.stop);
    }
    let mut distinct: Vec<&str> = all.iter().map(|it| it.text.as_str()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut found = Vec::new();
    for text in distinct {
        let Some(term) = lexicon.term(text) else {
            continue;
        };
        let postings = lexicon.postings(term)?;
        if !postings.rows.is_empty() {
            let idf = view.idf_weight(postings.rows.len());
            found.push((text, QueryTerm { term, idf, postings }));
        }
    }
    found.sort_by(|a, b| b.1.idf.total_cmp(&a.1.idf).then_with(|| a.0.cmp(b.0)));
    found.truncate(MAX_QUERY_TERMS);
    let place = |term: &IndexTerm| {
        let nth = found.iter().position(|known| known.0 == term.text)?;
        Some((nth, term.position))
    };
    let sequence = all.iter().filter_map(place).collect();
    Ok((found.into_iter().map(|pair| pair.1).collect(), sequence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_of_a_question_in_another_language() {
        let left = |query: &str| {
            let mut all = terms(query);
            stop_function_words(&mut all);
            let words = all.into_iter().filter(|term| !term.stop).map(|term| term.text);
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(left("Wie breit ist die Brücke in Mossford?"), "breit bruck mossford");
        assert_eq!(left("Quelle est la hauteur de Mossford?"), "hauteur de mossford");
        assert_eq!(left("Кто такой Волжанский?"), "волжанск");
        assert_eq!(left("Did people die at Los Alamos?"), "peopl die los alamo");
    }
}
