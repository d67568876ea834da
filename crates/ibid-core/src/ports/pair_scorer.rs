//! Cross-encoders.

/// What a cross-encoder says of a pair of texts. `entailment`, `neutral` and `contradiction` add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairScores {
    /// Whether the second text answers the first: from 0 to 1.
    pub relevance: f32,
    /// The probability that the second text supports the first.
    pub entailment: f32,
    /// The probability that the second text leaves open whether the first is true.
    pub neutral: f32,
    /// The probability that the second text denies the first.
    pub contradiction: f32,
}

/// Reads two texts together: a question or a claim, and a sentence or passage.
///
/// Contract: returns one entry for each of `pairs`, in order; a pair has the same scores whatever else is scored with it.
pub trait PairScorer: Send + Sync {
    /// The name in reports.
    fn name(&self) -> &str;
    /// Scores `pairs`. Uses all cores: call it outside of asynchronous tasks.
    fn score(&self, pairs: &[(&str, &str)]) -> Vec<PairScores>;
}
