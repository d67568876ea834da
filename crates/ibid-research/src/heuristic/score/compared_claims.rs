//! What comparing claims with the question by meaning said.
use std::collections::HashMap;

/// What the comparison by meaning said.
#[derive(Default)]
pub(super) struct ComparedClaims {
    /// How far each claim means what the question asks, 0 to 1.
    pub(super) similarity: HashMap<String, f32>,
    /// The highest of them.
    pub(super) likeliest: f32,
    /// The highest of them, or the least that makes an answer sure.
    pub(super) best: f32,
    /// Whether no words asked for were found, so that a sentence must mean what is asked.
    pub(super) words_fail: bool,
}
