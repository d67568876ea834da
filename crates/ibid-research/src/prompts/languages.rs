//! Words of questions in other languages than English.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ibid_core::Result;
use serde::Deserialize;

use super::parse_toml;

/// Words of questions in one language; see `languages.toml`.
#[derive(Debug, Deserialize)]
pub(crate) struct LanguageWords {
    pub(crate) stop_words: BTreeSet<String>,
    pub(crate) shared_stop_words: BTreeSet<String>,
    pub(crate) quantity: Vec<String>,
    pub(crate) when: Vec<String>,
    pub(crate) who: Vec<String>,
    pub(crate) r#where: Vec<String>,
    pub(crate) why: Vec<String>,
    pub(crate) list: Vec<String>,
    /// Openings like those of a definition: "was ist der Unterschied".
    #[serde(default)]
    pub(crate) open: Vec<String>,
    pub(crate) definition: Vec<String>,
    pub(crate) yes_no: Vec<String>,
    pub(crate) how: Vec<String>,
    pub(crate) subject_pronouns: Vec<String>,
    pub(crate) infinitive_endings: Vec<String>,
    pub(crate) naming: Vec<String>,
}

/// The contents of `languages.toml`, by two-letter code.
pub(crate) fn language_words() -> Result<&'static BTreeMap<String, LanguageWords>> {
    type Words = BTreeMap<String, LanguageWords>;
    static WORDS: OnceLock<std::result::Result<Words, String>> = OnceLock::new();
    parse_toml(&WORDS, include_str!("languages.toml"), "languages.toml")
}
