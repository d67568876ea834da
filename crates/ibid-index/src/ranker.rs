//! The built-in ranker: lexical, without a model.
use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::bm25::{B, K1, NEAR, neighbours};
use ibid_core::Result;
use ibid_core::domain::words::{is_stop_word, stem, tokens};
use ibid_core::ports::Ranker;

/// BM25 over the given texts (Robertson and Zaragoza 2009); rarity of words and length of texts are relative to these texts.
/// Neighbouring words of the query that are near each other in a text add to its score, and again if they form the same
/// phrase (after Metzler and Croft 2005).
pub struct LexicalRanker;

/// What a pair of near words adds, as a share of their mean rarity.
const NEAR_WEIGHT: f64 = 0.1;
/// What the same pair adds if it has the same distance as in the query.
const PHRASE_WEIGHT: f64 = 0.1;

#[async_trait]
impl Ranker for LexicalRanker {
    fn name(&self) -> &str {
        "lexical"
    }

    fn is_remote(&self) -> bool {
        false
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let query_terms = content_terms(query);
        let texts: Vec<TermPositionIndex> =
            texts.iter().map(|text| TermPositionIndex::from_text(text)).collect();
        let words: usize = texts.iter().map(|it| it.length).sum();
        let mean = (words as f64 / texts.len().max(1) as f64).max(1.0);
        let rarity: BTreeMap<&str, f64> =
            query_terms.iter().map(|(word, _)| (word.as_str(), idf(word, &texts))).collect();
        let pairs: BTreeMap<(&str, &str), usize> = neighbours(&query_terms)
            .map(|(first, second, gap)| ((first.as_str(), second.as_str()), gap))
            .collect();
        let score = |text: &TermPositionIndex| {
            let norm = K1 * (1.0 - B + B * text.length as f64 / mean);
            let saturated = |count: usize| count as f64 * (K1 + 1.0) / (count as f64 + norm);
            let alone =
                rarity.iter().map(|(word, rarity)| rarity * saturated(text.places(word).len()));
            let together = pairs.iter().map(|((a, b), gap)| {
                let (near, exact) = text.count_near(a, b, *gap);
                let mean = (rarity[a] + rarity[b]) / 2.0;
                mean * (NEAR_WEIGHT * saturated(near) + PHRASE_WEIGHT * saturated(exact))
            });
            alone.sum::<f64>() + together.sum::<f64>()
        };
        Ok(texts.iter().map(|text| score(text) as f32).collect())
    }
}

/// The stems of the words of a text that are not stop words, each with its position among all words; all words if all are
/// stop words.
fn content_terms(text: &str) -> Vec<(String, usize)> {
    let all = tokens(text);
    let only_stop_words = all.iter().all(|it| is_stop_word(&it.text));
    all.iter()
        .enumerate()
        .filter(|(_, it)| only_stop_words || !is_stop_word(&it.text))
        .map(|(place, it)| (normalize_term(&it.text), place))
        .collect()
}

/// The form in which a lower-case word is compared: its stem.
fn normalize_term(word: &str) -> String {
    if is_stop_word(word) { word.to_owned() } else { stem(word) }
}

/// The positions of the words of a text.
struct TermPositionIndex {
    places: BTreeMap<String, Vec<usize>>,
    /// Words that are not stop words.
    length: usize,
}

impl TermPositionIndex {
    fn from_text(text: &str) -> TermPositionIndex {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut length = 0;
        for (place, it) in tokens(text).iter().enumerate() {
            length += usize::from(!is_stop_word(&it.text));
            places.entry(normalize_term(&it.text)).or_default().push(place);
        }
        TermPositionIndex { places, length }
    }

    fn places(&self, word: &str) -> &[usize] {
        self.places.get(word).map_or(&[], Vec::as_slice)
    }

    /// How often `a` and `b` are near each other, and how often `b` follows `a` at exactly the distance `gap`.
    fn count_near(&self, a: &str, b: &str, gap: usize) -> (usize, usize) {
        let (mut near, mut exact) = (0, 0);
        for x in self.places(a) {
            let before = x.saturating_sub(NEAR);
            let others = self.places(b);
            let from = others.partition_point(|it| *it < before);
            for y in others[from..].iter().take_while(|it| **it <= x + NEAR) {
                near += 1;
                exact += usize::from(*y == x + gap);
            }
        }
        (near, exact)
    }
}

fn idf(word: &str, texts: &[TermPositionIndex]) -> f64 {
    let having = texts.iter().filter(|text| !text.places(word).is_empty()).count() as f64;
    (1.0 + (texts.len() as f64 - having + 0.5) / (having + 0.5)).ln()
}

#[cfg(test)]
mod tests;
