//! The text that may be sent to external search engines: words of the question, the plan and the user, and public
//! names from external pages. Text of private documents cannot enter these types.
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::words::{is_stop_word, stem, tokens};
use super::{Brief, Plan, Question, Source, SourceKind, Vertical, pubmed};

/// Maximum length of a query sent unchanged, characters; long questions are cut to 600.
const QUERY_CHARS: usize = 600;
/// Maximum number of words in a query written by a model.
const QUERY_WORDS: usize = 24;
/// Maximum length of a word, characters; longer strings are not words of a language.
const WORD_CHARS: usize = 40;
/// Maximum number of words in a name taken from a page.
const NAME_WORDS: usize = 4;
/// Maximum length of a word in a name, in characters.
const NAME_WORD_CHARS: usize = 24;

/// Short function words in queries that are not in the stop word list.
const SMALL_WORDS: &[&str] = &["not", "no", "vs", "versus"];

/// The origin of a word in an outbound query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordOrigin {
    /// The question.
    Asked,
    /// Other user input: a reply, an added item, an approved plan.
    #[serde(rename = "person")]
    User,
    /// The plan, which is made from the question before any page is read.
    Plan,
    /// The built-in lists of general words and synonyms.
    General,
    /// The model's own knowledge, written before it had read anything.
    Model,
    /// An external page, with its URL.
    Page(String),
}

impl std::fmt::Display for WordOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WordOrigin::Asked => f.write_str("asked"),
            WordOrigin::User => f.write_str("person"),
            WordOrigin::Plan => f.write_str("plan"),
            WordOrigin::General => f.write_str("general"),
            WordOrigin::Model => f.write_str("model"),
            WordOrigin::Page(url) => write!(f, "outside page {url}"),
        }
    }
}

/// A name or term found on an external page. It can only be constructed from a public source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicName {
    name: String,
    url: String,
}

impl PublicName {
    /// Creates a name found on the page of `source`. Returns `None` if the source is private or `name` does not look
    /// like a name: at most four words, each of letters; years are allowed among them.
    pub fn from_source(name: &str, source: &Source) -> Option<PublicName> {
        is_public(source.kind).then_some(())?;
        PublicName::new(name, &source.url)
    }

    /// Creates a name that a search engine showed with a hit of this vertical at `url`.
    pub fn from_hit(name: &str, vertical: Vertical, url: &str) -> Option<PublicName> {
        is_public(SourceKind::from(vertical)).then_some(())?;
        PublicName::new(name, url)
    }

    fn new(name: &str, url: &str) -> Option<PublicName> {
        is_name(name).then(|| PublicName { name: name.to_owned(), url: url.to_owned() })
    }
}

/// A word from a model that had read nothing when it wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWord(String);

impl ModelWord {
    /// Creates the lower-cased word if it consists of letters only or is a two-digit number. Returns `None` if `read`
    /// reports that the word occurs on a page that was read or shown.
    pub fn new(word: &str, read: &dyn Fn(&str) -> bool) -> Option<ModelWord> {
        let letters = word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '‐' | '‑'));
        let number = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
        let plain = (letters && word.chars().count() <= NAME_WORD_CHARS) || number;
        (plain && !read(word)).then(|| ModelWord(word.to_owned()))
    }
}

/// Whether sources of this kind are publicly readable.
pub fn is_public(kind: SourceKind) -> bool {
    match kind {
        SourceKind::Web | SourceKind::News | SourceKind::Scholar | SourceKind::Pubmed => true,
        SourceKind::Local => false,
    }
}

/// Whether `name` looks like a name: one to four words of letters, none of them too long.
pub fn is_name(name: &str) -> bool {
    let words = tokens(name);
    let plain = |text: &str| {
        text.chars().count() <= NAME_WORD_CHARS
            && text.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '‐' | '‑'))
    };
    let year = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    (1..=NAME_WORDS).contains(&words.len())
        && words.iter().any(|it| plain(&it.text))
        && words.iter().all(|it| plain(&it.text) || year(&it.text))
        && name.chars().all(is_ordinary)
}

/// Words that may be sent to external services, with their origins. Only [`OutboundWordPolicy::filter_text`] creates
/// them.
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

    /// The distinct origins of the words.
    pub fn origins(&self) -> &[WordOrigin] {
        &self.origins
    }

    /// Wraps words that are part of the program.
    pub(super) fn from_static(text: &'static str) -> OutboundWords {
        OutboundWords { text: text.to_owned(), origins: vec![WordOrigin::General] }
    }

    /// Returns the words in PubMed's syntax. Those of `phrases` that occur in them are quoted.
    #[must_use]
    pub fn to_pubmed_syntax(&self, phrases: &[String]) -> OutboundWords {
        OutboundWords {
            text: pubmed::build_query(&self.text, phrases),
            origins: self.origins.clone(),
        }
    }

    /// Returns `cut` as outbound words if it contains no other words.
    pub(super) fn shorten(&self, cut: &str) -> Option<OutboundWords> {
        is_subset(cut, &self.text)
            .then(|| OutboundWords { text: cut.to_owned(), origins: self.origins.clone() })
    }
}

/// Whether `cut` is a prefix of `text`, or contains only words of it.
pub(super) fn is_subset(cut: &str, text: &str) -> bool {
    let there: BTreeSet<String> = tokens(text).into_iter().map(|token| token.text).collect();
    text.starts_with(cut) || tokens(cut).iter().all(|token| there.contains(&token.text))
}

/// The words that text of a run may contain, each with its origin. `Reach` is where the text may go.
///
/// Words are compared by stem, so that inflected forms and known synonyms are permitted too. Codes and numbers are
/// compared literally.
#[derive(Debug, Clone)]
pub struct WordPolicy<Reach> {
    words: BTreeMap<String, WordOrigin>,
    /// The spellings in which permitted words occurred.
    surfaces: BTreeSet<String>,
    synonyms: fn(&str) -> Vec<&'static str>,
    reach: PhantomData<Reach>,
}

/// The reach of text that may be sent to external services.
#[derive(Debug, Clone)]
pub struct Outbound;

/// The reach of text that stays on this machine.
#[derive(Debug, Clone)]
pub struct OnThisMachine;

/// The words that outbound text of a run may contain.
pub type OutboundWordPolicy = WordPolicy<Outbound>;

/// The words that model output may contain if it stays on this machine: folder searches and progress events. It
/// cannot be converted to outbound text.
pub type FolderWordPolicy = WordPolicy<OnThisMachine>;

impl OutboundWordPolicy {
    /// Permits the words of `question`: its text, earlier messages of the user, its limits, and the years around the
    /// date on which it was asked. Earlier messages of an assistant are excluded, because they may quote private
    /// documents.
    pub fn from_question(
        question: &Question,
        synonyms: fn(&str) -> Vec<&'static str>,
    ) -> OutboundWordPolicy {
        let mut policy = WordPolicy {
            words: BTreeMap::new(),
            surfaces: BTreeSet::new(),
            synonyms,
            reach: PhantomData,
        };
        policy.add_general(SMALL_WORDS.iter().copied());
        policy.add_text(&question.text, &WordOrigin::Asked);
        let before = question.follows.iter().flat_map(|follow| &follow.turns);
        for turn in question.dialogue.iter().chain(before) {
            if let Some(message) = &turn.user {
                policy.add_text(message, &WordOrigin::Asked);
            }
        }
        for bound in question.domains.iter().chain(&question.not_domains) {
            policy.add_text(bound, &WordOrigin::Asked);
        }
        for day in [&question.since, &question.until].into_iter().flatten() {
            let year = day.split('-').next().unwrap_or_default();
            policy.add_text(year, &WordOrigin::Asked);
        }
        let year = question.asked_on.split('-').next();
        if let Some(year) = year.and_then(|year| year.parse::<u32>().ok()) {
            for near in year.saturating_sub(1)..=year + 1 {
                policy.add_text(&near.to_string(), &WordOrigin::Asked);
            }
        }
        policy
    }

    /// Adds a name from an external page.
    pub fn add_name(&mut self, name: &PublicName) {
        self.add_page_name(&name.name, &name.url);
    }

    /// Reduces `text` to its permitted part: all of it if every word is permitted, otherwise only the permitted
    /// words. Returns `None` if no meaningful word is left.
    pub fn filter_text(&self, text: &str) -> Option<OutboundWords> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = self.origins(&text).filter(|_| is_plain(&text));
        let (text, origins) = match whole {
            Some(origins) => (text, origins),
            None => self.permitted_words(&text)?,
        };
        Some(OutboundWords { text, origins })
    }

    /// Returns `text` in PubMed's syntax if every word of it is permitted.
    pub fn filter_pubmed_syntax(&self, text: &str) -> Option<OutboundWords> {
        if !text.chars().all(is_ordinary) || !pubmed::is_valid(text) {
            return None;
        }
        let mut without_syntax = String::new();
        let mut field = false;
        for c in text.chars() {
            match c {
                '[' => field = true,
                ']' => field = false,
                '(' | ')' => without_syntax.push(' '),
                c if !field => without_syntax.push(c),
                _ => {}
            }
        }
        let words: Vec<&str> = without_syntax
            .split_whitespace()
            .filter(|word| !matches!(*word, "AND" | "OR" | "NOT"))
            .collect();
        let origins = self.origins(&words.join(" "))?;
        Some(OutboundWords { text: text.trim().to_owned(), origins })
    }

    /// Copies the permitted words for folder searches, to which private names may be added.
    pub fn to_folder_words(&self) -> FolderWordPolicy {
        let OutboundWordPolicy { words, surfaces, synonyms, .. } = self.clone();
        WordPolicy { words, surfaces, synonyms, reach: PhantomData }
    }
}

impl FolderWordPolicy {
    /// Adds a name found on a page, private or not. Text that does not look like a name is ignored.
    pub fn add_name(&mut self, name: &str, url: &str) {
        if is_name(name) {
            self.add_page_name(name, url);
        }
    }

    /// Reduces text written by a model to its permitted words, without punctuation and capitals, which could encode
    /// other content. Returns `None` if no meaningful word is left.
    pub fn filter_text(&self, text: &str) -> Option<String> {
        self.permitted_words(text).map(|(words, _)| words)
    }
}

impl<Reach> WordPolicy<Reach> {
    /// Adds words of the built-in lists.
    pub fn add_general(&mut self, words: impl Iterator<Item = &'static str>) {
        for word in words {
            self.words.entry(word_key(word)).or_insert(WordOrigin::General);
        }
    }

    /// Adds the words of the brief and the plan, both made before anything was read.
    pub fn add_plan(&mut self, brief: &Brief, plan: &Plan) {
        let texts = brief.sharpened.iter().chain([&brief.question]);
        let texts = texts.chain(&brief.subjects).chain(&brief.key_terms);
        let items = plan.items().iter().flat_map(|item| {
            [&item.asks, &item.heading, &item.query].into_iter().chain(&item.terms)
        });
        let tasks = plan.search_tasks.iter().map(|search_task| &search_task.query);
        for text in texts.chain(items).chain(tasks) {
            self.add_text(text, &WordOrigin::Plan);
        }
    }

    /// Adds a word of a model that had read nothing.
    pub fn add_model_word(&mut self, word: &ModelWord) {
        for part in std::iter::once(word.0.as_str()).chain(split_compound(&word.0)) {
            self.words.entry(word_key(part)).or_insert(WordOrigin::Model);
        }
    }

    /// Adds text that the user entered during the run.
    pub fn add_user_text(&mut self, words: &str) {
        self.add_text(words, &WordOrigin::User);
    }

    /// Whether every meaningful word of `text` is permitted, and it is plain text.
    pub fn permits(&self, text: &str) -> bool {
        is_plain(text) && self.origins(text).is_some()
    }

    fn add_page_name(&mut self, name: &str, url: &str) {
        for word in tokens(name) {
            self.surfaces.insert(name[word.span.clone()].to_owned());
            for part in std::iter::once(word.text.as_str()).chain(split_compound(&word.text)) {
                let origin = || WordOrigin::Page(url.to_owned());
                self.words.entry(word_key(part)).or_insert_with(origin);
            }
        }
    }

    fn add_text(&mut self, text: &str, origin: &WordOrigin) {
        for word in tokens(text) {
            if is_stop_word(&word.text) {
                continue;
            }
            self.surfaces.insert(text[word.span.clone()].to_owned());
            for part in std::iter::once(word.text.as_str()).chain(split_compound(&word.text)) {
                let key = word_key(part);
                for other in (self.synonyms)(&key) {
                    let other = self.words.entry(other.to_owned());
                    other.or_insert(WordOrigin::General);
                }
                let known = self.words.entry(key).or_insert_with(|| origin.clone());
                *known = known.clone().min(origin.clone());
            }
        }
    }

    fn permitted_words(&self, text: &str) -> Option<(String, Vec<WordOrigin>)> {
        let mut permitted: Vec<String> = Vec::new();
        let mut origins = BTreeSet::new();
        for word in tokens(text) {
            let surface = &text[word.span.clone()];
            let spelling = if self.surfaces.contains(surface) {
                surface.to_owned()
            } else {
                word.text.clone()
            };
            let twice = permitted.iter().filter(|text| **text == spelling).count() > 1;
            if permitted.len() == QUERY_WORDS || twice {
                continue;
            }
            match self.origin(&word.text) {
                Some(found) => {
                    origins.insert(found);
                    permitted.push(spelling);
                }
                // A function word is only kept with the word that follows it.
                None if is_stop_word(&word.text) => permitted.push(word.text),
                None => {
                    while permitted.last().is_some_and(|word| is_stop_word(word)) {
                        permitted.pop();
                    }
                }
            }
        }
        while permitted.last().is_some_and(|word| is_stop_word(word)) {
            permitted.pop();
        }
        let telling = origins.iter().any(|origin| *origin != WordOrigin::General);
        telling.then(|| (permitted.join(" "), origins.into_iter().collect()))
    }

    /// Returns the origins of all words of `text`, or `None` if a word has none or no word is meaningful.
    fn origins(&self, text: &str) -> Option<Vec<WordOrigin>> {
        let mut origins = BTreeSet::new();
        for word in tokens(text) {
            match self.origin(&word.text) {
                Some(found) => _ = origins.insert(found),
                None if is_stop_word(&word.text) => {}
                None => return None,
            }
        }
        (!origins.is_empty()).then(|| origins.into_iter().collect())
    }

    /// Returns the origin of a lower-case word: of the whole, or of all of its parts.
    fn origin(&self, word: &str) -> Option<WordOrigin> {
        if word.chars().count() > WORD_CHARS {
            return None;
        }
        if let Some(found) = self.words.get(&word_key(word)) {
            return Some(found.clone());
        }
        let all: Vec<&str> = split_compound(word).collect();
        let mut found = all.iter().map(|text| self.words.get(&word_key(text)).cloned());
        match all.len() {
            0 | 1 => None,
            _ => found.try_fold(WordOrigin::Asked, |most, it| Some(most.max(it?))),
        }
    }
}

/// The key for comparing words: the stem, or the word itself if it contains a digit.
fn word_key(word: &str) -> String {
    if word.contains(|c: char| c.is_ascii_digit()) { word.to_owned() } else { stem(word) }
}

/// Splits a compound such as `low-cost` into its words.
fn split_compound(word: &str) -> impl Iterator<Item = &str> {
    word.split(['-', '‐', '‑', '\'', '’']).filter(|part| !part.is_empty() && *part != "s")
}

/// Whether `text` looks like a query: not too long, only visible characters, and fewer punctuation marks than
/// letters.
fn is_plain(text: &str) -> bool {
    let marks = text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).count();
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    text.chars().count() <= QUERY_CHARS && marks <= letters && text.chars().all(is_ordinary)
}

/// Whether `c` is a letter, digit, space or common punctuation mark; invisible characters are not.
fn is_ordinary(c: char) -> bool {
    c.is_alphanumeric()
        || c == ' '
        || c.is_ascii_punctuation()
        || "’‘“”–—…«»¿¡、。，？！；：（）「」€£¥°%·".contains(c)
        || ('\u{300}'..='\u{36f}').contains(&c)
        || ('\u{900}'..='\u{109f}').contains(&c)
}
