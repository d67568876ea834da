//! The synonyms of an index, learned from its documents, by the words that a query may have.
use std::collections::{BTreeMap, BTreeSet, HashMap};

use tantivy::DocSet;
use tantivy::TERMINATED;
use tantivy::schema::IndexRecordOption;

use super::find_synonyms::{find_synonyms, is_short_form, singular_short};
use super::snapshot::IndexSnapshot;
use super::terms::fold_accents;
use ibid_core::domain::words::{self, is_stop_word, tokens};
use ibid_core::domain::{Page, Synonym};

/// Synonyms that are kept, those of the most documents first.
const MAX_SYNONYMS: usize = 50_000;
/// Synonyms of a document that are learned.
const MAX_OF_DOCUMENT: usize = 200;
/// A thing with more names than this is rather several things that were taken for one: its names are not paired further.
const MAX_NAMES_OF_THING: usize = 6;
/// Stands between the two names in a value of the field.
const SEPARATOR: char = '\u{1f}';

/// One word of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameWord {
    /// Its stem, with accents folded, as in the index.
    pub(super) stem: String,
    /// Whether it is a stop word.
    pub(super) stop: bool,
    /// The token that it is part of, as written.
    pub(super) written: String,
}

/// The words of a name or a query. A hyphenated word gives its parts.
pub(super) fn name_words(text: &str) -> Vec<NameWord> {
    let mut found = Vec::new();
    for token in tokens(text) {
        let written = &text[token.span];
        let lower = fold_accents(token.text);
        for part in lower.split(['-', '‐', '‑']).filter(|part| !part.is_empty()) {
            let stop = is_stop_word(part);
            let stem = if stop { part.to_owned() } else { words::stem(part) };
            found.push(NameWord { stem, stop, written: written.to_owned() });
        }
    }
    found
}

/// The stems of a name, by which its spellings are the same.
fn name_key(name: &str) -> Vec<String> {
    name_words(name).into_iter().map(|word| word.stem).collect()
}

/// The values of the field `synonym` for a document: each pair of names that it explains, once.
pub(super) fn synonym_values(page: &Page) -> Vec<String> {
    let sentences: Vec<&str> = (0..page.sentences().len()).map(|n| page.sentence(n)).collect();
    let mut by_key = BTreeMap::new();
    for (name, other) in find_synonyms(&page.title, &sentences) {
        let keys = (name_key(&name), name_key(&other));
        if !keys.0.is_empty() && !keys.1.is_empty() && keys.0 != keys.1 {
            by_key.entry(keys).or_insert_with(|| format!("{name}{SEPARATOR}{other}"));
        }
    }
    by_key.into_values().take(MAX_OF_DOCUMENT).collect()
}

/// A synonym in a query: which it is, and the words of the query that are one of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SynonymMatch {
    /// Its number in [`SynonymTable::all`].
    pub(super) nth: usize,
    /// Whether the query has the full name; else it has the other one.
    pub(super) has_name: bool,
    /// The words of the query.
    pub(super) words: std::ops::Range<usize>,
}

/// The synonyms of an index.
#[derive(Default)]
pub(super) struct SynonymTable {
    /// Those that documents explain, those of the most documents first; then those that follow: of "basal cell skin cancer, also known as
    /// basal cell carcinoma (BCC)" the first and the last.
    pub(super) all: Vec<Synonym>,
    /// How many of them documents explain.
    pub(super) explained: usize,
    /// The thing that each of them names. A short form may name several things.
    things: Vec<usize>,
    /// By the first stem of a name: the stems of the name, the number of the synonym, and whether it is the full name.
    by_stem: HashMap<String, Vec<(Vec<String>, usize, bool)>>,
}

impl SynonymTable {
    /// Reads the synonyms of all documents that are not deleted.
    pub(super) fn load(view: &IndexSnapshot) -> tantivy::Result<SynonymTable> {
        // By the stems of both names: the spellings with the number of documents that have each.
        let mut by_key: BTreeMap<_, BTreeMap<String, u64>> = BTreeMap::new();
        for (value, documents) in documents_by_value(view)? {
            let Some((name, other)) = value.split_once(SEPARATOR) else {
                continue;
            };
            let spellings = by_key.entry((name_key(name), name_key(other))).or_default();
            *spellings.entry(value.clone()).or_default() += documents;
        }
        let mut found: Vec<_> = by_key
            .into_iter()
            .filter_map(|(keys, spellings)| {
                let documents = spellings.values().sum();
                // The most frequent spelling, the first of several.
                let shown = spellings.into_iter().rev().max_by_key(|pair| pair.1)?.0;
                let (name, other) = shown.split_once(SEPARATOR)?;
                let (name, other) = (name.to_owned(), other.to_owned());
                let synonym = Synonym { name, other, documents, via: None };
                Some((keys, synonym))
            })
            .collect();
        found.sort_by(|a, b| b.1.documents.cmp(&a.1.documents).then_with(|| a.0.cmp(&b.0)));
        found.truncate(MAX_SYNONYMS);
        drop_shared_nicknames(&mut found);
        let mut table = SynonymTable { explained: found.len(), ..SynonymTable::default() };
        let mut things = things(&found);
        let following = following(&found, &things);
        things.extend(following.iter().map(|it| it.0));
        let all = found.into_iter().chain(following.into_iter().map(|it| it.1));
        for (nth, ((name, other), synonym)) in all.enumerate() {
            table.all.push(synonym);
            for (key, is_name) in [(name, true), (other, false)] {
                let first = key.first().cloned().unwrap_or_default();
                table.by_stem.entry(first).or_default().push((key, nth, is_name));
            }
        }
        table.things = things;
        Ok(table)
    }

    /// The thing that a synonym names: the same for all names of one thing.
    pub(super) fn thing(&self, nth: usize) -> usize {
        self.things.get(nth).copied().unwrap_or(nth)
    }

    /// The synonyms of which `query` has a name. Of names that overlap, only the longest counts. `is_usual` says of a short
    /// form that the query has in lower case whether the documents mean it with the word.
    pub(super) fn matches(
        &self,
        query: &[NameWord],
        is_usual: &dyn Fn(&Synonym, &str) -> tantivy::Result<bool>,
    ) -> tantivy::Result<Vec<SynonymMatch>> {
        let mut found: Vec<SynonymMatch> = Vec::new();
        let mut at = 0;
        while at < query.len() {
            let mut longest = 1;
            let mut here: Vec<SynonymMatch> = Vec::new();
            for (key, nth, is_name) in self.by_stem.get(&query[at].stem).into_iter().flatten() {
                let many = key.len();
                let has_all = query.len() - at >= many
                    && key.iter().zip(&query[at..]).all(|(stem, word)| *stem == word.stem);
                if !has_all || many < longest {
                    continue;
                }
                let synonym = &self.all[*nth];
                let name = if *is_name { &synonym.name } else { &synonym.other };
                let written = singular_short(&query[at].written);
                let differs = is_short_form(name) && written != name;
                if differs
                    && (has_capital(written)
                        || query[at].stop
                        || !is_usual(synonym, &query[at].stem)?)
                {
                    continue;
                }
                if many > longest {
                    here.clear();
                    longest = many;
                }
                here.push(SynonymMatch { nth: *nth, has_name: *is_name, words: at..at + many });
            }
            found.append(&mut here);
            at += longest;
        }
        Ok(found)
    }
}

/// A synonym by the stems of its name and of its other name.
type KeyedSynonym = ((Vec<String>, Vec<String>), Synonym);

/// Drops the nicknames of several things: Chicago and Wellington are both "the Windy City". They are written as proper names that have no
/// word in common; "cardiac arrest" and "heart arrest" may be one thing.
fn drop_shared_nicknames(found: &mut Vec<KeyedSynonym>) {
    let is_proper = |name: &str| name.starts_with(char::is_uppercase) && !is_short_form(name);
    let mut owners: HashMap<Vec<String>, Vec<Vec<String>>> = HashMap::new();
    for ((name, other), it) in found.iter() {
        if other.len() > 1 && is_proper(&it.name) && is_proper(nickname(&it.other)) {
            owners.entry(other.clone()).or_default().push(name.clone());
        }
    }
    let are_apart = |names: &[Vec<String>]| {
        let pairs = names
            .iter()
            .enumerate()
            .flat_map(|(at, one)| names[at + 1..].iter().map(move |other| (one, other)));
        pairs.into_iter().any(|(one, other)| !one.iter().any(|stem| other.contains(stem)))
    };
    found.retain(|((_, other), _)| owners.get(other).is_none_or(|names| !are_apart(names)));
}

/// A name without its article.
fn nickname(name: &str) -> &str {
    name.strip_prefix("the ").or_else(|| name.strip_prefix("The ")).unwrap_or(name)
}

/// The thing that each synonym names. Two synonyms name one thing if they share a name of several words that is no short form and explains
/// one name only: a short form, a single word and a nickname may have several meanings.
fn things(found: &[KeyedSynonym]) -> Vec<usize> {
    /// The synonym that stands for the thing of `nth`. `same` has for each an earlier one of the same thing, or itself.
    fn first(same: &mut [usize], mut nth: usize) -> usize {
        while same[nth] != nth {
            same[nth] = same[same[nth]];
            nth = same[nth];
        }
        nth
    }
    let mut owners: HashMap<&[String], BTreeSet<&[String]>> = HashMap::new();
    for ((name, other), _) in found {
        owners.entry(other.as_slice()).or_default().insert(name.as_slice());
    }
    // Chicago and Wellington are both "the Windy City".
    let is_shared = |key: &[String]| owners.get(key).is_some_and(|names| names.len() > 1);
    let mut same: Vec<usize> = (0..found.len()).collect();
    let mut known: HashMap<&[String], usize> = HashMap::new();
    for (nth, ((name, other), synonym)) in found.iter().enumerate() {
        for (key, written) in [(name, &synonym.name), (other, &synonym.other)] {
            if key.len() > 1 && !is_short_form(written) && !is_shared(key) {
                let earlier = *known.entry(key.as_slice()).or_insert(nth);
                let (one, two) = (first(&mut same, earlier), first(&mut same, nth));
                same[one.max(two)] = one.min(two);
            }
        }
    }
    (0..found.len()).map(|nth| first(&mut same, nth)).collect()
}

/// The pairs of names that follow from others, with the thing that they name: two names that are both explained by a third.
fn following(found: &[KeyedSynonym], things: &[usize]) -> Vec<(usize, KeyedSynonym)> {
    let mut by_thing: BTreeMap<usize, Vec<&KeyedSynonym>> = BTreeMap::new();
    for (keyed, thing) in found.iter().zip(things) {
        by_thing.entry(*thing).or_default().push(keyed);
    }
    let mut all = Vec::new();
    for (thing, members) in by_thing.into_iter().filter(|it| it.1.len() > 1) {
        let names: BTreeMap<&Vec<String>, &str> = members
            .iter()
            .flat_map(|((name, other), it)| [(name, &*it.name), (other, &*it.other)])
            .collect();
        if names.len() > MAX_NAMES_OF_THING {
            continue;
        }
        let documents = |a: &Vec<String>, b: &Vec<String>| {
            let is_pair = |((name, other), _): &&&KeyedSynonym| {
                (name == a && other == b) || (name == b && other == a)
            };
            members.iter().find(is_pair).map(|it| it.1.documents)
        };
        for (one, (a, a_written)) in names.iter().enumerate() {
            for (b, b_written) in names.iter().skip(one + 1) {
                if documents(a, b).is_some() {
                    continue;
                }
                let is_shared = |key: &Vec<String>| {
                    members.iter().filter(|((_, other), _)| other == key).count() > 1
                };
                let linked = names
                    .iter()
                    .filter(|it| it.0.len() > 1 && !is_short_form(it.1) && !is_shared(it.0));
                let by = |(via, written): (&&Vec<String>, &&str)| {
                    Some((documents(a, via)?.min(documents(via, b)?), (*written).to_owned()))
                };
                let Some((documents, via)) = linked.filter_map(by).max_by_key(|it| it.0) else {
                    continue;
                };
                // The short form is the other name.
                let mut pair = [(*a, *a_written), (*b, *b_written)];
                if is_short_form(a_written) {
                    pair.swap(0, 1);
                }
                let [(name, name_written), (other, other_written)] = pair;
                let synonym = Synonym {
                    name: name_written.to_owned(),
                    other: other_written.to_owned(),
                    documents,
                    via: Some(via),
                };
                all.push((thing, ((name.clone(), other.clone()), synonym)));
            }
        }
    }
    all
}

fn has_capital(text: &str) -> bool {
    text.contains(char::is_uppercase)
}

/// Each value of the field `synonym`, with the number of documents that have it.
fn documents_by_value(view: &IndexSnapshot) -> tantivy::Result<BTreeMap<String, u64>> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for (_, segment) in view.segments() {
        let index = segment.inverted_index(view.fields.synonym)?;
        let mut values = index.terms().stream()?;
        while values.advance() {
            let documents = match segment.alive_bitset() {
                None => u64::from(values.value().doc_freq),
                Some(alive) => {
                    let option = IndexRecordOption::Basic;
                    let mut rows = index.read_postings_from_terminfo(values.value(), option)?;
                    let mut many = 0;
                    while rows.doc() != TERMINATED {
                        many += u64::from(alive.is_alive(rows.doc()));
                        rows.advance();
                    }
                    many
                }
            };
            if documents > 0 {
                let value = String::from_utf8_lossy(values.key()).into_owned();
                *found.entry(value).or_default() += documents;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(name: &str, other: &str) -> KeyedSynonym {
        let synonym =
            Synonym { name: name.to_owned(), other: other.to_owned(), documents: 1, via: None };
        ((name_key(name), name_key(other)), synonym)
    }

    fn following_of(found: &[KeyedSynonym]) -> Vec<String> {
        let following = following(found, &things(found));
        following.into_iter().map(|(_, (_, it))| format!("{} = {}", it.name, it.other)).collect()
    }

    #[test]
    fn two_names_of_a_full_name_are_names_of_each_other() {
        let found = [
            keyed("basal cell carcinoma", "BCC"),
            keyed("Basal cell skin cancer", "basal cell carcinoma"),
        ];
        assert_eq!(following_of(&found), ["Basal cell skin cancer = BCC"]);
    }

    #[test]
    fn two_long_forms_of_a_short_form_stay_two_things() {
        let found = [keyed("physical therapy", "PT"), keyed("prothrombin time", "PT")];
        assert!(following_of(&found).is_empty());
        assert_eq!(things(&found), [0, 1]);
    }

    #[test]
    fn two_things_of_one_nickname_stay_apart() {
        let found = [keyed("Chicago", "Windy City"), keyed("Wellington", "Windy City")];
        assert!(following_of(&found).is_empty());
    }

    #[test]
    fn many_names_of_one_thing_are_taken_for_a_fault() {
        let others = ["AA", "BB", "CC", "DD", "EE", "FF"];
        let found: Vec<_> = others.iter().map(|it| keyed("some long name", it)).collect();
        assert!(following_of(&found).is_empty());
        assert_eq!(following_of(&found[..2]), ["BB = AA"]);
    }
}
