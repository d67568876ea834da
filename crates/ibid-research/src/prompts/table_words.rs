//! What a question asks of tables, from `tables.toml`.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Deserialize;

use super::parse_toml;
use ibid_core::Result;

/// What a question asks of a table.
#[derive(Debug, Deserialize)]
pub(crate) struct TableWords {
    pub(crate) property_columns: BTreeSet<String>,
    pub(crate) value_columns: BTreeSet<String>,
    pub(crate) all_rows: BTreeSet<String>,
    pub(crate) generic: BTreeSet<String>,
    pub(crate) summaries: BTreeSet<String>,
    pub(crate) advertisements: BTreeSet<String>,
    pub(crate) over_time: BTreeSet<String>,
    /// Stems of the name of a column of problems.
    pub(crate) problems: BTreeSet<String>,
    /// Words for the row with the most of a column, each with the measure that it names, or with none.
    pub(crate) most: BTreeMap<String, String>,
    pub(crate) least: BTreeMap<String, String>,
    pub(crate) measures: BTreeMap<String, MeasureWords>,
    /// The stems of the columns that such a word means where the question names none.
    pub(crate) meant_columns: BTreeMap<String, BTreeSet<String>>,
    pub(crate) running: RunningWords,
    pub(crate) lines: ExtremeLines,
}

/// Stems of a question for what something costs to run, and of a column that says so.
#[derive(Debug, Deserialize)]
pub(crate) struct RunningWords {
    pub(crate) asks: BTreeSet<String>,
    pub(crate) names: BTreeSet<String>,
}

/// How the row with the most or the least of a column is told.
#[derive(Debug, Deserialize)]
pub(crate) struct ExtremeLines {
    pub(crate) most: String,
    pub(crate) least: String,
    pub(crate) most_per: String,
    pub(crate) least_per: String,
}

/// A measure that a column of a table can hold.
#[derive(Debug, Deserialize)]
pub(crate) struct MeasureWords {
    pub(crate) heading: String,
    /// Words of a question for it.
    pub(crate) asks: BTreeSet<String>,
    /// Stems of the words of a column that holds it.
    pub(crate) names: BTreeSet<String>,
    pub(crate) units: BTreeSet<String>,
    /// Whether its units alone do not tell it from other measures.
    pub(crate) named: bool,
}

/// The contents of `tables.toml`.
pub(crate) fn table_words() -> Result<&'static TableWords> {
    static WORDS: OnceLock<std::result::Result<TableWords, String>> = OnceLock::new();
    parse_toml(&WORDS, include_str!("tables.toml"), "tables.toml")
}
