//! A cross-encoder (Nogueira and Cho 2019): reads two texts together, and tells whether the second answers the first and whether
//! it supports it.
//!
//! It is the BERT that embeds texts, changed by an adapter, with two linear heads on the mean over the tokens of both texts. The
//! input is `[CLS] first [SEP] second [SEP]`.
use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::encoder::Encoder;
use crate::weights::Weights;
use crate::wordpiece::{Tokens, WordPiece};
use ibid_core::ports::{PairScorer, PairScores};

/// Tokens of a first text that count, with `[CLS]` and `[SEP]`.
const FIRST_TOKENS: usize = 64;
/// Tokens of a pair that count, with `[CLS]` and both `[SEP]`.
const PAIR_TOKENS: usize = 192;

/// Scores pairs of texts: a question or claim, and a sentence or passage. A clone shares the model.
///
/// A pair has the same scores, bit for bit, whatever pairs are scored with it: sums of products of bytes are exact, each token
/// has its own scale, and attention sees one pair. This holds on one processor; another may round floats in another order, and one
/// without VNNI or the like has 7 instead of 8 bits for activations.
#[derive(Clone)]
pub struct CrossEncoder(Arc<CrossEncoderModel>);

struct CrossEncoderModel {
    name: String,
    tokenizer: Arc<WordPiece>,
    encoder: Encoder,
    relevance: Head,
    support: Head,
}

impl CrossEncoder {
    /// Adapts `encoder` by the adapter that `weights` has.
    pub(crate) fn load(
        name: String,
        (tokenizer, encoder): (&Arc<WordPiece>, &Encoder),
        weights: &Weights,
    ) -> std::result::Result<CrossEncoder, String> {
        let encoder = encoder.adapted(weights)?;
        let relevance = Head::load("relevance", [1, encoder.width()], weights)?;
        let support = Head::load("support", [3, encoder.width()], weights)?;
        weights.finish()?;
        let tokenizer = Arc::clone(tokenizer);
        Ok(CrossEncoder(Arc::new(CrossEncoderModel {
            name,
            tokenizer,
            encoder,
            relevance,
            support,
        })))
    }

    /// The mean over the tokens of each pair.
    fn means(&self, pairs: &[(&str, &str)]) -> Vec<Vec<f32>> {
        self.0.encoder.embed(&self.tokens(pairs))
    }

    /// The tokens of each pair. A text that occurs in many pairs is tokenized once.
    fn tokens(&self, pairs: &[(&str, &str)]) -> Vec<Tokens> {
        let CrossEncoderModel { tokenizer, encoder, .. } = &*self.0;
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut texts: Vec<&str> = Vec::new();
        for text in pairs.iter().flat_map(|(first, second)| [*first, *second]) {
            numbers.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() - 1
            });
        }
        let most = PAIR_TOKENS.min(encoder.max_tokens()).saturating_sub(3);
        let pieces: Vec<Vec<usize>> =
            texts.par_iter().map(|text| tokenizer.pieces(text, most)).collect();
        let pair = |(first, second): &(&str, &str)| {
            let (first, second) = (&pieces[numbers[first]], &pieces[numbers[second]]);
            let first = &first[..first.len().min(FIRST_TOKENS - 2)];
            tokenizer.encode_pair(first, &second[..second.len().min(most - first.len())])
        };
        pairs.iter().map(pair).collect()
    }

    fn scores_of(&self, mean: &[f32]) -> PairScores {
        let [relevance] = self.0.relevance.logits(mean);
        let [entailment, neutral, contradiction] = softmax(self.0.support.logits(mean));
        PairScores { relevance: sigmoid(relevance), entailment, neutral, contradiction }
    }
}

impl PairScorer for CrossEncoder {
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Of a first text, 62 tokens count, and of the pair 189, without the marks between them.
    fn score(&self, pairs: &[(&str, &str)]) -> Vec<PairScores> {
        let means = self.means(pairs);
        means.into_iter().map(|mean| self.scores_of(&mean)).collect()
    }
}

/// A linear map from the mean over the tokens to logits.
struct Head {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Head {
    fn load(name: &str, shape: [usize; 2], weights: &Weights) -> std::result::Result<Head, String> {
        let tensor = |part: &str, shape: &[usize]| {
            let name = format!("{name}.{part}");
            let found = weights.added(&name)?;
            match found.shape == shape {
                true => Ok(found.values),
                false => {
                    Err(format!("tensor {name} has the shape {:?}, not {shape:?}", found.shape))
                }
            }
        };
        Ok(Head { weight: tensor("weight", &shape)?, bias: tensor("bias", &shape[..1])? })
    }

    fn logits<const N: usize>(&self, mean: &[f32]) -> [f32; N] {
        std::array::from_fn(|nth| {
            let row = &self.weight[nth * mean.len()..][..mean.len()];
            row.iter().zip(mean).map(|(weight, value)| weight * value).sum::<f32>() + self.bias[nth]
        })
    }
}

fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

fn softmax(logits: [f32; 3]) -> [f32; 3] {
    let most = logits.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let powers = logits.map(|it| (it - most).exp());
    let sum: f32 = powers.iter().sum();
    powers.map(|it| it / sum)
}

#[cfg(test)]
mod tests;
