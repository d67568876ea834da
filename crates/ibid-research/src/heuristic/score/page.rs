//! A page for scoring: the input, its sentences as word numbers, and the evidence found.
use ibid_core::domain::{Evidence, Page, SourceId};

use super::casing::Casing;
use super::sections::Sections;

/// A page to score.
pub(crate) struct PageInput<'a> {
    pub(crate) page: &'a Page,
    pub(crate) source: SourceId,
    /// Maximum number of chunks kept of a page longer than `whole`.
    pub(crate) chunks: usize,
    /// Maximum length of a chunk in characters.
    pub(crate) chunk_length: usize,
    /// The score of each chunk by the configured reranker; empty to score them by words.
    pub(crate) chunk_scores: Vec<f32>,
    /// Longest page that is used whole, and most that is used of a longer one, in characters.
    pub(crate) whole: usize,
    /// The only sentences used, whatever the page's length; `None` to choose by the limits above.
    pub(crate) only: Option<Vec<usize>>,
    /// Maximum number of tokens of evidence kept (the setting `summaryTokens`).
    pub(crate) tokens: usize,
}

/// What was found on a page.
#[derive(Default)]
pub(crate) struct PageEvidence {
    pub(crate) evidence: Vec<Evidence>,
    /// How many sentences give orders to machines.
    pub(crate) orders: usize,
}
/// The sentences of a page as word numbers.
pub(crate) struct PageSentences {
    pub(super) title: Vec<u32>,
    /// The sentences that are scored, in order: index and words.
    pub(super) lines: Vec<(usize, Vec<u32>)>,
    pub(super) casing: Casing,
    pub(super) sections: Sections,
}
