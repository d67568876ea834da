//! The weights of the signals: one set for all kinds of text.
//!
//! Learned by logistic regression with ridge penalty on the development halves of nine public sets
//! of (claim, source, label) rows, each set and each label weighing the same, the sign of every
//! weight fixed by what its signal means, so that no set's habits are learned. Checked by leaving
//! each set out in turn; `evals attribution` measures the outcome.
use super::signals::COUNT;

/// Supported against all else.
#[rustfmt::skip]
pub(super) const SUPPORT: [f32; COUNT] = [
    0.000, // cov_doc
    0.882, // cov_best
    0.162, // cov_window
    0.000, // cov_two
    0.000, // names_best
    0.000, // names_doc
    -0.542, // names_missing
    0.061, // numbers_window
    0.513, // numbers_doc
    0.000, // numbers_conflict
    0.000, // pairs
    0.024, // run
    0.000, // order
    0.000, // trigrams
    -0.541, // negation
    0.000, // negation_only
    -0.738, // opposite
    -2.063, // direction
    0.000, // refuted
    -0.327, // hedged
    0.000, // absolute
    0.000, // inversion
    -0.307, // missing_words
    -0.011, // one_missing
    0.030, // reverse
    -0.828, // long_source
    1.435, // long_claim
    -0.006, // claim_negated
    -0.084, // missing_weight
    0.433, // cov_square
];
/// The constant that goes with [`SUPPORT`].
pub(super) const SUPPORT_BIAS: f32 = -1.344;

/// Contradicted against all else.
#[rustfmt::skip]
pub(super) const CONTRADICTION: [f32; COUNT] = [
    0.155, // cov_doc
    0.000, // cov_best
    0.000, // cov_window
    0.000, // cov_two
    0.000, // names_best
    0.000, // names_doc
    0.005, // names_missing
    -0.308, // numbers_window
    0.000, // numbers_doc
    0.000, // numbers_conflict
    -0.283, // pairs
    0.000, // run
    0.000, // order
    0.000, // trigrams
    0.541, // negation
    0.000, // negation_only
    0.900, // opposite
    2.359, // direction
    0.317, // refuted
    0.000, // hedged
    0.000, // absolute
    0.000, // inversion
    0.000, // missing_words
    0.144, // one_missing
    0.000, // reverse
    0.000, // long_source
    0.000, // long_claim
    0.202, // claim_negated
    0.586, // missing_weight
    0.000, // cov_square
];
/// The constant that goes with [`CONTRADICTION`].
pub(super) const CONTRADICTION_BIAS: f32 = -0.348;
