//! The weights of the signals: one set for all kinds of text.
//!
//! Learned on the development halves of nine public sets of (claim, source, label) rows. Each set and each
//! label weighs the same, and the sign of every weight is fixed by what its signal means. `evals attribution
//! --fit` fits them again and reports how they do on held-out rows.
use super::entailment::ENTAILMENT_SIGNALS;
use super::signals::WORD_SIGNALS;

/// The number of signals.
pub(super) const SIGNALS: usize = WORD_SIGNALS + ENTAILMENT_SIGNALS;

/// What turns signals into log-odds.
pub(super) struct SignalWeights {
    /// Supported against all else.
    pub(super) support: [f32; SIGNALS],
    /// The bias of `support`: at a sum of 0, a claim is as likely supported as not.
    pub(super) support_bias: f32,
    /// Contradicted against all else.
    pub(super) contradiction: [f32; SIGNALS],
    /// The bias of `contradiction`.
    pub(super) contradiction_bias: f32,
}

/// The weights where words alone are compared.
#[rustfmt::skip]
pub(super) const BY_WORDS: SignalWeights = SignalWeights {
    support: [
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
        0.000, // entailed
        0.000, // entailed_best
        0.000, // contradicted
        0.000, // contradicted_best
        0.000, // answered
    ],
    support_bias: -0.772,
    contradiction: [
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
        0.000, // entailed
        0.000, // entailed_best
        0.000, // contradicted
        0.000, // contradicted_best
        0.000, // answered
    ],
    contradiction_bias: -0.364,
};

/// The weights where a cross-encoder reads the sentences, too.
#[rustfmt::skip]
pub(super) const BY_MEANING: SignalWeights = SignalWeights {
    support: [
        0.200, // cov_doc
        0.200, // cov_best
        0.183, // cov_window
        0.135, // names_doc
        -0.306, // names_missing
        -0.820, // numbers_doc
        -0.565, // numbers_conflict
        0.000, // run
        0.073, // order
        0.135, // trigrams
        -0.017, // negation
        -0.529, // claim_denies
        -0.165, // source_denies
        -0.263, // opposite
        -0.509, // direction
        -0.223, // hedged
        -0.117, // missing_words
        0.180, // reverse
        -0.088, // long_source
        0.783, // long_claim
        -0.280, // missing_weight
        0.165, // cov_rare
        0.000, // other_name
        -0.146, // denied_nowhere
        0.826, // entailed
        0.625, // entailed_best
        -0.680, // contradicted
        -0.472, // contradicted_best
        0.215, // answered
    ],
    support_bias: -0.917,
    contradiction: [
        0.000, // cov_doc
        0.000, // cov_best
        0.000, // cov_window
        0.000, // names_doc
        0.347, // names_missing
        0.243, // numbers_doc
        1.342, // numbers_conflict
        0.000, // run
        -0.186, // order
        0.000, // trigrams
        0.031, // negation
        1.341, // claim_denies
        0.419, // source_denies
        0.667, // opposite
        1.292, // direction
        0.000, // hedged
        0.000, // missing_words
        0.000, // reverse
        0.203, // long_source
        -1.486, // long_claim
        0.710, // missing_weight
        0.000, // cov_rare
        0.000, // other_name
        0.371, // denied_nowhere
        -1.416, // entailed
        -0.968, // entailed_best
        1.315, // contradicted
        0.829, // contradicted_best
        0.000, // answered
    ],
    contradiction_bias: -0.301,
};
