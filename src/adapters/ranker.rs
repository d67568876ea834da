//! The embedded ranker: lexical, no model.
use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::domain::words::content_stems;
use crate::error::Result;
use crate::seams::Ranker;

/// BM25 over the texts given (Robertson and Zaragoza 2009), k1 = 1.2, b = 0.75: how rare a word is
/// and how long a text is are judged among them alone.
pub struct Lexical;

const K1: f64 = 1.2;
const B: f64 = 0.75;

#[async_trait]
impl Ranker for Lexical {
    fn name(&self) -> &str {
        "lexical"
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let mut wanted = content_stems(query);
        wanted.sort();
        wanted.dedup();
        let counted: Vec<Counted> = texts.iter().map(|it| Counted::of(it)).collect();
        let words: f64 = counted.iter().map(|it| it.length).sum();
        let average = (words / texts.len().max(1) as f64).max(1.0);
        let rarity: Vec<f64> = wanted.iter().map(|it| rarity(it, &counted)).collect();
        let score = |text: &Counted| {
            let norm = K1 * (1.0 - B + B * text.length / average);
            let each = wanted.iter().zip(&rarity).map(|(word, rarity)| {
                let times = text.words.get(word).copied().unwrap_or(0.0);
                rarity * times * (K1 + 1.0) / (times + norm)
            });
            each.sum::<f64>() as f32
        };
        Ok(counted.iter().map(score).collect())
    }
}

struct Counted {
    words: BTreeMap<String, f64>,
    length: f64,
}

impl Counted {
    fn of(text: &str) -> Counted {
        let mut words = BTreeMap::new();
        let mut length = 0.0;
        for word in content_stems(text) {
            *words.entry(word).or_insert(0.0) += 1.0;
            length += 1.0;
        }
        Counted { words, length }
    }
}

fn rarity(word: &str, texts: &[Counted]) -> f64 {
    let having = texts
        .iter()
        .filter(|it| it.words.contains_key(word))
        .count() as f64;
    (1.0 + (texts.len() as f64 - having + 0.5) / (having + 0.5)).ln()
}

#[cfg(test)]
mod tests;
