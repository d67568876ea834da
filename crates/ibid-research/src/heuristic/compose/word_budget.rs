//! What a report has said already, and how many words it has left.
use crate::draft::DraftLine;
use crate::heuristic::claim_clusters::{ClaimCluster, share_sentences};
use crate::heuristic::lexicon::jaccard;
use crate::thresholds::TOKENS_PER_WORD;
use ibid_core::domain::EvidenceStore;

/// Maximum number of words of a report without a limit of its own.
const MAX_REPORT_WORDS: usize = 4_000;

/// The most words that a report of `tokens` tokens may have.
pub(crate) fn max_words(tokens: u32) -> usize {
    (tokens as f32 / TOKENS_PER_WORD) as usize
}

/// What was said already, and how many words are left.
pub(super) struct WordBudget<'a> {
    pub(super) notes: &'a EvidenceStore,
    pub(super) used: Vec<Vec<u32>>,
    /// The evidence that was quoted for it.
    quoted: Vec<usize>,
    pub(super) room: usize,
    /// Whether the short answer tells a list or a procedure whole.
    pub(super) list_told: bool,
}

impl<'a> WordBudget<'a> {
    pub(super) fn new(notes: &'a EvidenceStore, max_tokens: u32) -> WordBudget<'a> {
        let room = match max_tokens {
            0 => MAX_REPORT_WORDS,
            tokens => max_words(tokens),
        };
        WordBudget { notes, used: Vec::new(), quoted: Vec::new(), room, list_told: false }
    }

    pub(super) fn write_point(&mut self, point: &ClaimCluster) -> DraftLine {
        self.used.push(point.ids.clone());
        self.quoted.extend(point.evidence.first());
        self.room = self.room.saturating_sub(point.words);
        DraftLine {
            text: point.text.clone(),
            evidence: point.evidence.iter().map(|it| self.notes.evidence[*it].id).collect(),
        }
    }

    pub(super) fn is_fresh(&self, point: &ClaimCluster) -> bool {
        self.used.iter().all(|it| jaccard(it, &point.ids) < 0.6)
            && !self.quoted.iter().any(|nth| share_sentences(self.notes, point.evidence[0], *nth))
    }
}
