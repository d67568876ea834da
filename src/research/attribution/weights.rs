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
    0.233, // cov_best
    0.061, // cov_window
    0.000, // names_doc
    -0.314, // names_missing
    -0.501, // numbers_doc
    -0.456, // numbers_conflict
    0.076, // run
    0.030, // order
    0.000, // trigrams
    -0.207, // negation
    -0.488, // claim_denies
    0.000, // source_denies
    -0.350, // opposite
    -1.292, // direction
    -0.146, // hedged
    -0.051, // missing_words
    0.108, // reverse
    -0.475, // long_source
    0.560, // long_claim
    -0.203, // missing_weight
    1.594, // cov_rare
    -0.215, // other_name
    -0.545, // denied_nowhere
];
/// The constant that goes with [`SUPPORT`], set where balanced accuracy over the sets was best in
/// cross-validation (0.15 above the fitted one).
pub(super) const SUPPORT_BIAS: f32 = -0.743;

/// Contradicted against all else.
#[rustfmt::skip]
pub(super) const CONTRADICTION: [f32; COUNT] = [
    0.214, // cov_doc
    0.000, // cov_best
    0.055, // cov_window
    0.000, // names_doc
    0.136, // names_missing
    0.000, // numbers_doc
    0.739, // numbers_conflict
    0.000, // run
    0.000, // order
    0.000, // trigrams
    0.196, // negation
    1.695, // claim_denies
    0.525, // source_denies
    0.637, // opposite
    2.295, // direction
    0.000, // hedged
    0.000, // missing_words
    0.000, // reverse
    0.141, // long_source
    0.000, // long_claim
    0.492, // missing_weight
    -0.730, // cov_rare
    0.000, // other_name
    0.729, // denied_nowhere
];
/// The constant that goes with [`CONTRADICTION`].
pub(super) const CONTRADICTION_BIAS: f32 = -0.379;
