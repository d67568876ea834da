//! What may be sent to a search outside: words of the question, of its plan, of the person, and names from pages of the
//! outside. Text of private documents has no way into these types.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::words::{is_stop, stem, tokens};
use super::{Brief, Plan, Question, Source, SourceKind, Vertical, pubmed};

/// Longest query that is sent as it stands, characters: the asking part of a long question has 600.
const QUERY_CHARS: usize = 600;
/// Most words of a query that a model wrote.
const QUERY_WORDS: usize = 24;
/// Longest word, characters: what is longer is no word of a language.
const WORD_CHARS: usize = 40;
/// Longest name from a page, words.
const NAME_WORDS: usize = 4;
/// Longest word of a name, characters.
const NAME_WORD_CHARS: usize = 24;

/// Small words of queries that are no stop words.
const LITTLE: &[&str] = &["not", "no", "vs", "versus"];

/// Where a word of an outbound query comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordOrigin {
    /// The question.
    Asked,
    /// What the person said besides: a reply, an added item, an approved plan.
    Person,
    /// The plan, which is made of the question before anything is read.
    Plan,
    /// The program's own lists of general words and synonyms.
    General,
    /// The model's own knowledge, written before it had read anything.
    Model,
    /// A page of the outside, with its address.
    Page(String),
}

impl std::fmt::Display for WordOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WordOrigin::Asked => f.write_str("asked"),
            WordOrigin::Person => f.write_str("person"),
            WordOrigin::Plan => f.write_str("plan"),
            WordOrigin::General => f.write_str("general"),
            WordOrigin::Model => f.write_str("model"),
            WordOrigin::Page(url) => write!(f, "outside page {url}"),
        }
    }
}

/// A name or term found on a page of the outside. It can only be made of a source that is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicName {
    name: String,
    url: String,
}

impl PublicName {
    /// `name` as found on the page of `source`; `None` where the source is private, or the name is not shaped like one: at
    /// most four words, each of letters (a year may stand among them).
    pub fn found(name: &str, source: &Source) -> Option<PublicName> {
        is_public(source.kind).then_some(())?;
        PublicName::at(name, &source.url)
    }

    /// The same for a name that a search engine shows beside a hit of this kind at `url`.
    pub fn shown(name: &str, vertical: Vertical, url: &str) -> Option<PublicName> {
        is_public(SourceKind::from(vertical)).then_some(())?;
        PublicName::at(name, url)
    }

    fn at(name: &str, url: &str) -> Option<PublicName> {
        is_name(name).then(|| PublicName {
            name: name.to_owned(),
            url: url.to_owned(),
        })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A word of a model that had read nothing when it wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnWord(String);

impl OwnWord {
    /// `word`, in lower case, where it is plain: letters alone, or a number of two digits. `None` where it stands on a page
    /// that was read or shown, which `read` tells.
    pub fn thought(word: &str, read: &dyn Fn(&str) -> bool) -> Option<OwnWord> {
        let letters = word
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '-' | '‐' | '‑'));
        let number = word.len() <= 2 && word.bytes().all(|it| it.is_ascii_digit());
        let plain = (letters && word.chars().count() <= NAME_WORD_CHARS) || number;
        (plain && !read(word)).then(|| OwnWord(word.to_owned()))
    }
}

/// Whether anybody could have read a source of this kind.
pub fn is_public(kind: SourceKind) -> bool {
    match kind {
        SourceKind::Web | SourceKind::News | SourceKind::Scholar | SourceKind::Pubmed => true,
        SourceKind::Local => false,
    }
}

/// Whether `name` is shaped like a name: one to four words of letters, none of them overlong.
pub fn is_name(name: &str) -> bool {
    let words = tokens(name);
    let plain = |it: &str| {
        it.chars().count() <= NAME_WORD_CHARS
            && it
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '‐' | '‑'))
    };
    let year = |it: &str| it.len() == 4 && it.bytes().all(|it| it.is_ascii_digit());
    (1..=NAME_WORDS).contains(&words.len())
        && words.iter().any(|it| plain(&it.text))
        && words.iter().all(|it| plain(&it.text) || year(&it.text))
        && name.chars().all(is_ordinary)
}

/// Words that may be sent to the outside, with their origins. Only [`PermittedWords::cleared`] makes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct OutboundWords {
    text: String,
    origins: Vec<WordOrigin>,
}

impl OutboundWords {
    /// The words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where they come from, each origin once.
    pub fn origins(&self) -> &[WordOrigin] {
        &self.origins
    }

    /// Words that stand in the program itself.
    pub fn constant(text: &'static str) -> OutboundWords {
        OutboundWords {
            text: text.to_owned(),
            origins: vec![WordOrigin::General],
        }
    }

    /// The same words in PubMed's syntax, with the phrases of `phrases` that stand among them.
    #[must_use]
    pub fn in_pubmed_syntax(&self, phrases: &[String]) -> OutboundWords {
        OutboundWords {
            text: pubmed::made(&self.text, phrases),
            origins: self.origins.clone(),
        }
    }

    /// Fewer of the words, where `cut` holds no other.
    pub(super) fn shortened(&self, cut: &str) -> Option<OutboundWords> {
        is_part(cut, &self.text).then(|| OutboundWords {
            text: cut.to_owned(),
            origins: self.origins.clone(),
        })
    }
}

/// Whether `cut` is the beginning of `text`, or holds no word that is not in it.
pub(super) fn is_part(cut: &str, text: &str) -> bool {
    let there: BTreeSet<String> = tokens(text).into_iter().map(|it| it.text).collect();
    text.starts_with(cut) || tokens(cut).iter().all(|it| there.contains(&it.text))
}

/// The words that what a run sends to the outside may be made of, each with its origin.
///
/// A word is known by its stem, so that its other forms are permitted with it, and with it the synonyms that the program
/// knows. Codes and numbers are known by how they are written.
#[derive(Debug, Clone)]
pub struct PermittedWords(WordList);

impl PermittedWords {
    /// Those of `question`: its text, what the person said before it, its bounds, and the years about the day it was asked.
    /// What an assistant said before is not among them: it may quote private documents.
    pub fn asked(question: &Question, synonyms: fn(&str) -> Vec<&'static str>) -> PermittedWords {
        let mut own = WordList {
            words: BTreeMap::new(),
            surfaces: BTreeSet::new(),
            synonyms,
        };
        own.general(LITTLE.iter().copied());
        own.take(&question.text, &WordOrigin::Asked);
        let before = question.follows.iter().flat_map(|it| &it.turns);
        for turn in question.dialogue.iter().chain(before) {
            if let Some(said) = &turn.user {
                own.take(said, &WordOrigin::Asked);
            }
        }
        for bound in question.domains.iter().chain(&question.not_domains) {
            own.take(bound, &WordOrigin::Asked);
        }
        for day in [&question.since, &question.until].into_iter().flatten() {
            let year = day.split('-').next().unwrap_or_default();
            own.take(year, &WordOrigin::Asked);
        }
        let year = question.asked_on.split('-').next();
        if let Some(year) = year.and_then(|it| it.parse::<u32>().ok()) {
            for near in year.saturating_sub(1)..=year + 1 {
                own.take(&near.to_string(), &WordOrigin::Asked);
            }
        }
        PermittedWords(own)
    }

    /// Adds the words of what was made of the question before anything was read.
    pub fn planned(&mut self, brief: &Brief, plan: &Plan) {
        self.0.plan(brief, plan);
    }

    /// Adds what the person said while the run went on.
    pub fn said(&mut self, words: &str) {
        self.0.take(words, &WordOrigin::Person);
    }

    /// Adds general words of the program's own lists.
    pub fn general(&mut self, words: impl Iterator<Item = &'static str>) {
        self.0.general(words);
    }

    /// Adds a word of a model that had read nothing.
    pub fn thought(&mut self, word: &OwnWord) {
        self.0.thought(word);
    }

    /// Adds a name from a page of the outside.
    pub fn named(&mut self, name: &PublicName) {
        self.0.name(&name.name, &WordOrigin::Page(name.url.clone()));
    }

    /// `text` as far as it is permitted: as it stands where all of it is, else its permitted words. `None` where no word
    /// with a meaning of its own is left.
    pub fn cleared(&self, text: &str) -> Option<OutboundWords> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = self.0.origins(&text).filter(|_| is_plain(&text));
        let (text, origins) = match whole {
            Some(origins) => (text, origins),
            None => self.0.narrowed(&text)?,
        };
        Some(OutboundWords { text, origins })
    }

    /// Whether every word of `text` that carries a meaning is permitted, and it is written plainly.
    pub fn permits(&self, text: &str) -> bool {
        is_plain(text) && self.0.origins(text).is_some()
    }

    /// `text` in PubMed's syntax, where every word of it is permitted.
    pub fn cleared_syntax(&self, text: &str) -> Option<OutboundWords> {
        if !text.chars().all(is_ordinary) || !pubmed::is_sound(text) {
            return None;
        }
        let mut bare = String::new();
        let mut field = false;
        for c in text.chars() {
            match c {
                '[' => field = true,
                ']' => field = false,
                '(' | ')' => bare.push(' '),
                c if !field => bare.push(c),
                _ => {}
            }
        }
        let words: Vec<&str> = bare
            .split_whitespace()
            .filter(|it| !matches!(*it, "AND" | "OR" | "NOT"))
            .collect();
        let origins = self.0.origins(&words.join(" "))?;
        Some(OutboundWords {
            text: text.trim().to_owned(),
            origins,
        })
    }

    /// The same words for searches of folders, to which names of private documents may be added.
    pub fn for_folders(&self) -> FolderWords {
        FolderWords(self.0.clone())
    }
}

/// The words that what a model writes may be made of where it stays on this machine: searches of folders, and what is told
/// of a run. Nothing that leaves can be made of them.
#[derive(Debug, Clone)]
pub struct FolderWords(WordList);

impl FolderWords {
    /// Adds what the person said while the run went on.
    pub fn said(&mut self, words: &str) {
        self.0.take(words, &WordOrigin::Person);
    }

    /// Adds general words of the program's own lists.
    pub fn general(&mut self, words: impl Iterator<Item = &'static str>) {
        self.0.general(words);
    }

    /// Adds a word of a model that had read nothing.
    pub fn thought(&mut self, word: &OwnWord) {
        self.0.thought(word);
    }

    /// Adds the words of what was made of the question before anything was read.
    pub fn planned(&mut self, brief: &Brief, plan: &Plan) {
        self.0.plan(brief, plan);
    }

    /// Adds a name that was found on a page, private or not. What is not shaped like one is left out.
    pub fn named(&mut self, name: &str, url: &str) {
        if is_name(name) {
            self.0.name(name, &WordOrigin::Page(url.to_owned()));
        }
    }

    /// The permitted words of what a model wrote, and nothing else of it: neither its marks nor its capitals, which could
    /// spell something too. `None` where no word with a meaning of its own is left.
    pub fn narrowed(&self, text: &str) -> Option<String> {
        self.0.narrowed(text).map(|it| it.0)
    }

    /// Whether every word of `text` that carries a meaning is permitted, and it is written plainly.
    pub fn permits(&self, text: &str) -> bool {
        is_plain(text) && self.0.origins(text).is_some()
    }
}

#[derive(Debug, Clone)]
struct WordList {
    words: BTreeMap<String, WordOrigin>,
    /// How permitted words are written where they were met.
    surfaces: BTreeSet<String>,
    synonyms: fn(&str) -> Vec<&'static str>,
}

impl WordList {
    fn general(&mut self, words: impl Iterator<Item = &'static str>) {
        for word in words {
            self.words.entry(key(word)).or_insert(WordOrigin::General);
        }
    }

    fn plan(&mut self, brief: &Brief, plan: &Plan) {
        let told = brief.sharpened.iter().chain([&brief.question]);
        let told = told.chain(&brief.subjects).chain(&brief.key_terms);
        let items = plan.items().iter().flat_map(|it| {
            [&it.asks, &it.heading, &it.query]
                .into_iter()
                .chain(&it.terms)
        });
        let tasks = plan.search_tasks.iter().map(|it| &it.query);
        for text in told.chain(items).chain(tasks) {
            self.take(text, &WordOrigin::Plan);
        }
    }

    fn thought(&mut self, word: &OwnWord) {
        for part in std::iter::once(word.0.as_str()).chain(parts(&word.0)) {
            self.words.entry(key(part)).or_insert(WordOrigin::Model);
        }
    }

    fn name(&mut self, name: &str, origin: &WordOrigin) {
        for word in tokens(name) {
            self.surfaces.insert(name[word.span.clone()].to_owned());
            for part in std::iter::once(word.text.as_str()).chain(parts(&word.text)) {
                self.words.entry(key(part)).or_insert(origin.clone());
            }
        }
    }

    fn take(&mut self, text: &str, origin: &WordOrigin) {
        for word in tokens(text) {
            if is_stop(&word.text) {
                continue;
            }
            self.surfaces.insert(text[word.span.clone()].to_owned());
            for part in std::iter::once(word.text.as_str()).chain(parts(&word.text)) {
                let key = key(part);
                for other in (self.synonyms)(&key) {
                    let other = self.words.entry(other.to_owned());
                    other.or_insert(WordOrigin::General);
                }
                let had = self.words.entry(key).or_insert_with(|| origin.clone());
                *had = had.clone().min(origin.clone());
            }
        }
    }

    fn narrowed(&self, text: &str) -> Option<(String, Vec<WordOrigin>)> {
        let mut kept: Vec<String> = Vec::new();
        let mut origins = BTreeSet::new();
        for word in tokens(text) {
            let surface = &text[word.span.clone()];
            let shown = match self.surfaces.contains(surface) {
                true => surface.to_owned(),
                false => word.text.clone(),
            };
            let twice = kept.iter().filter(|it| **it == shown).count() > 1;
            if kept.len() == QUERY_WORDS || twice {
                continue;
            }
            match self.origin(&word.text) {
                Some(found) => {
                    origins.insert(found);
                    kept.push(shown);
                }
                // A small word says nothing without the one it leads to.
                None if is_stop(&word.text) => kept.push(word.text),
                None => {
                    while kept.last().is_some_and(|it| is_stop(it)) {
                        kept.pop();
                    }
                }
            }
        }
        while kept.last().is_some_and(|it| is_stop(it)) {
            kept.pop();
        }
        let telling = origins.iter().any(|it| *it != WordOrigin::General);
        telling.then(|| (kept.join(" "), origins.into_iter().collect()))
    }

    /// The origins of all words of `text`; `None` where one has none, or where there is no telling word.
    fn origins(&self, text: &str) -> Option<Vec<WordOrigin>> {
        let mut origins = BTreeSet::new();
        for word in tokens(text) {
            match self.origin(&word.text) {
                Some(found) => _ = origins.insert(found),
                None if is_stop(&word.text) => {}
                None => return None,
            }
        }
        (!origins.is_empty()).then(|| origins.into_iter().collect())
    }

    /// Where a lower-case word comes from: as a whole, or by all of its parts.
    fn origin(&self, word: &str) -> Option<WordOrigin> {
        if word.chars().count() > WORD_CHARS {
            return None;
        }
        if let Some(found) = self.words.get(&key(word)) {
            return Some(found.clone());
        }
        let all: Vec<&str> = parts(word).collect();
        let mut found = all.iter().map(|it| self.words.get(&key(it)).cloned());
        match all.len() {
            0 | 1 => None,
            _ => found.try_fold(WordOrigin::Asked, |most, it| Some(most.max(it?))),
        }
    }
}

/// What a word is known by: its stem; of what holds a digit, itself.
fn key(word: &str) -> String {
    match word.contains(|c: char| c.is_ascii_digit()) {
        true => word.to_owned(),
        false => stem(word),
    }
}

/// The words that are joined in one: `low-cost`.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split(['-', '‐', '‑', '\'', '’'])
        .filter(|it| !it.is_empty() && *it != "s")
}

/// Whether a text is written as people write queries: no longer than they are, in characters that are seen, and with fewer
/// marks than letters.
fn is_plain(text: &str) -> bool {
    let marks = text
        .chars()
        .filter(|it| !it.is_alphanumeric() && !it.is_whitespace())
        .count();
    let letters = text.chars().filter(|it| it.is_alphanumeric()).count();
    text.chars().count() <= QUERY_CHARS && marks <= letters && text.chars().all(is_ordinary)
}

/// Letters, digits, spaces and the marks of plain text; nothing that is not seen.
fn is_ordinary(c: char) -> bool {
    c.is_alphanumeric()
        || c == ' '
        || c.is_ascii_punctuation()
        || "’‘“”–—…«»¿¡、。，？！；：（）「」€£¥°%·".contains(c)
        || ('\u{300}'..='\u{36f}').contains(&c)
        || ('\u{900}'..='\u{109f}').contains(&c)
}
