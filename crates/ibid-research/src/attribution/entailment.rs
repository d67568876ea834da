//! What a cross-encoder says of a claim and the sentences of its source.
use std::ops::Range;

use ibid_core::ports::{PairScorer, PairScores};

use super::align::Alignment;

/// Sentences that the cross-encoder reads: those that cover the claim best.
const MAX_READ_SENTENCES: usize = 4;
/// Longest passage around the best sentence that it reads, in bytes: about the tokens that it takes.
const MAX_PASSAGE_BYTES: usize = 600;

/// The number of signals.
pub(super) const ENTAILMENT_SIGNALS: usize = 5;

/// Signals of a source that was not read.
pub(super) const UNREAD: [(&str, f32); ENTAILMENT_SIGNALS] = [
    ("entailed", 0.0),
    ("entailed_best", 0.0),
    ("contradicted", 0.0),
    ("contradicted_best", 0.0),
    ("answered", 0.0),
];

/// The signals of what `scorer` says of `claim` and the sentences of `source` that cover it best, alone and with their
/// neighbours: probabilities, as log-odds scaled to 0 to 1.
pub(super) fn entailment_signals(
    scorer: &dyn PairScorer,
    claim: &str,
    it: &Alignment,
    (best, source): (usize, &[String]),
) -> [(&'static str, f32); ENTAILMENT_SIGNALS] {
    let text = |at: usize, span: &Range<usize>| &source[it.sentences[at].text][span.clone()];
    let mut nearest: Vec<usize> = (0..it.sentences.len()).filter(|at| *at != best).collect();
    nearest.sort_by(|a, b| it.coverage(&[*b]).total_cmp(&it.coverage(&[*a])).then(a.cmp(b)));
    nearest.insert(0, best);
    nearest.truncate(MAX_READ_SENTENCES);
    let mut read: Vec<&str> = nearest.iter().map(|at| text(*at, &it.sentences[*at].span)).collect();
    read.push(text(best, &passage(it, best)));
    let pairs: Vec<(&str, &str)> = read.into_iter().map(|text| (claim, text)).collect();
    let scores = scorer.score(&pairs);
    let most = |of: fn(&PairScores) -> f32, of_these: &[PairScores]| {
        scaled_log_odds(of_these.iter().map(of).fold(0.0, f32::max))
    };
    let around = [0, scores.len() - 1].map(|at| scores[at]);
    // Where one sentence supports the claim, another that speaks of something else does not deny it.
    let deciding = scores.iter().max_by(|a, b| a.neutral.total_cmp(&b.neutral).reverse());
    let denied = deciding.map_or(0.0, |scores| scores.contradiction);
    [
        ("entailed", most(|scores| scores.entailment, &scores)),
        ("entailed_best", most(|scores| scores.entailment, &around)),
        ("contradicted", scaled_log_odds(denied)),
        ("contradicted_best", most(|scores| scores.contradiction, &around)),
        ("answered", most(|scores| scores.relevance, &scores)),
    ]
}

/// The best sentence with its neighbours in the same text, where they are short enough.
fn passage(it: &Alignment, best: usize) -> Range<usize> {
    let here = &it.sentences[best];
    let mut span = here.span.clone();
    for at in it.window() {
        let other = &it.sentences[at];
        let joined = span.start.min(other.span.start)..span.end.max(other.span.end);
        if other.text == here.text && joined.len() <= MAX_PASSAGE_BYTES {
            span = joined;
        }
    }
    span
}

/// Log-odds from -6 to 6, scaled to 0 to 1.
fn scaled_log_odds(probability: f32) -> f32 {
    let it = probability.clamp(0.002_5, 0.997_5);
    0.5 + (it / (1.0 - it)).ln() / 12.0
}
