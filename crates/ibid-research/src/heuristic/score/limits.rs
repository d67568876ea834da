//! Limits that several steps of scoring share.

/// Longest text of a page that is scored, in characters.
pub(crate) const PAGE_CUT: usize = 25_000;
/// Length of a chunk of a longer page, in characters.
pub(crate) const CHUNK: usize = 4_000;
/// Most claims kept of a page for one item.
pub(super) const MOST_CLAIMS: usize = 5;
/// Relevance to the question, from a sentence's own words and its context, below which the sentence
/// is about something else. Measured on the null questions of MultiHop-RAG: see `evals`.
pub(crate) const FLOOR: f32 = 0.34;
/// Match strength from which a word counts as said by another word.
pub(super) const STANDS_FOR: f32 = 0.5;
