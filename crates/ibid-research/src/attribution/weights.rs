//! The weights of the signals: one set for all kinds of text.
//!
//! Learned on the development halves of nine public sets of (claim, source, label) rows. Each set and each
//! label weighs the same, and the sign of every weight is fixed by what its signal means. `evals attribution
//! --fit` fits them again and reports how they do on held-out rows.
use super::signals::SIGNALS;

/// Supported against all else.
#[rustfmt::skip]
pub(super) const SUPPORT: [f32; SIGNALS] = [
    0.197, // cov_doc
    0.279, // cov_best
    0.248, // cov_window
    0.143, // names_doc
    -0.356, // names_missing
    -0.896, // numbers_doc
    -0.755, // numbers_conflict
    0.010, // run
    0.236, // order
    0.183, // trigrams
    -0.097, // negation
    -0.575, // claim_denies
    -0.156, // source_denies
    -0.181, // opposite
    -0.640, // direction
    -0.237, // hedged
    -0.126, // missing_words
    0.191, // reverse
    -0.213, // long_source
    0.672, // long_claim
    -0.330, // missing_weight
    0.229, // cov_rare
    -0.040, // other_name
    -0.270, // denied_nowhere
];
/// The bias of [`SUPPORT`]: at a sum of 0, a claim is as likely supported as not.
pub(super) const SUPPORT_BIAS: f32 = -0.772;

/// Contradicted against all else.
#[rustfmt::skip]
pub(super) const CONTRADICTION: [f32; SIGNALS] = [
    0.000, // cov_doc
    0.000, // cov_best
    0.000, // cov_window
    0.000, // names_doc
    0.451, // names_missing
    0.346, // numbers_doc
    1.694, // numbers_conflict
    0.000, // run
    -0.447, // order
    0.000, // trigrams
    0.174, // negation
    1.531, // claim_denies
    0.416, // source_denies
    0.482, // opposite
    1.705, // direction
    0.000, // hedged
    0.000, // missing_words
    0.000, // reverse
    0.421, // long_source
    -1.550, // long_claim
    0.880, // missing_weight
    0.000, // cov_rare
    0.000, // other_name
    0.719, // denied_nowhere
];
/// The bias of [`CONTRADICTION`].
pub(super) const CONTRADICTION_BIAS: f32 = -0.364;
