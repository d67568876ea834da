//! Limits that several steps of scoring share.

/// Maximum length of the text of a page that is scored, in characters.
pub(crate) const PAGE_CUT: usize = 25_000;
/// Length of a chunk of a longer page, in characters.
pub(crate) const CHUNK_CHARS: usize = 4_000;
/// Maximum number of claims kept of a section of a page for one item.
pub(super) const MAX_CLAIMS: usize = 5;
/// The same for an item that asks for steps, a list or a time line: half a procedure is of no use.
pub(super) const MAX_STEP_CLAIMS: usize = 12;
