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
    0.090, // cov_doc
    0.160, // cov_best
    0.088, // cov_window
    0.020, // names_doc
    -0.224, // names_missing
    -0.303, // numbers_doc
    -0.278, // numbers_conflict
    0.200, // run
    0.125, // order
    0.094, // trigrams
    -0.126, // negation
    -0.336, // claim_denies
    0.000, // source_denies
    -0.248, // opposite
    -0.870, // direction
    -0.129, // hedged
    -0.081, // missing_words
    0.150, // reverse
    -0.078, // long_source
    0.365, // long_claim
    -0.165, // missing_weight
    1.164, // cov_rare
    -0.182, // other_name
    -0.403, // denied_nowhere
];
/// The constant that goes with [`SUPPORT`].
pub(super) const SUPPORT_BIAS: f32 = -0.944;

/// Contradicted against all else.
#[rustfmt::skip]
pub(super) const CONTRADICTION: [f32; COUNT] = [
    0.066, // cov_doc
    0.000, // cov_best
    0.002, // cov_window
    0.000, // names_doc
    0.151, // names_missing
    0.000, // numbers_doc
    0.594, // numbers_conflict
    0.000, // run
    0.000, // order
    0.000, // trigrams
    0.171, // negation
    1.426, // claim_denies
    0.456, // source_denies
    0.514, // opposite
    1.908, // direction
    0.000, // hedged
    0.000, // missing_words
    0.000, // reverse
    -0.086, // long_source
    0.000, // long_claim
    0.408, // missing_weight
    -0.691, // cov_rare
    0.000, // other_name
    0.647, // denied_nowhere
];
/// The constant that goes with [`CONTRADICTION`].
pub(super) const CONTRADICTION_BIAS: f32 = -0.140;
