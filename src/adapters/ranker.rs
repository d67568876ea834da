//! The embedded ranker: lexical, no model.
use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::domain::words::{is_stop, stem, tokens};
use crate::error::Result;
use crate::seams::Ranker;

/// BM25 over the texts given (Robertson and Zaragoza 2009): how rare a word is and how long a text
/// is are judged among them alone. Words of the query that stand together in a text as they do in
/// the query add to it (after Metzler and Croft 2005): near each other, and again as an exact phrase.
pub struct Lexical;

/// Saturation of repeated words, the usual value.
const K1: f64 = 1.2;
/// How far the length of a text counts, the usual value.
const B: f64 = 0.75;
/// Two words are near up to this many places apart.
const NEAR: usize = 4;
/// Two words of the query belong together up to this many places apart: stop words may lie between.
const TOGETHER: usize = 3;
/// What a pair of near words adds, as a share of their mean rarity.
const NEAR_WEIGHT: f64 = 0.1;
/// What the same pair adds where it stands just as in the query.
const PHRASE_WEIGHT: f64 = 0.1;

#[async_trait]
impl Ranker for Lexical {
    fn name(&self) -> &str {
        "lexical"
    }

    fn asks(&self) -> bool {
        false
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let asked = in_order(query);
        let texts: Vec<Text> = texts.iter().map(|it| Text::of(it)).collect();
        let words: usize = texts.iter().map(|it| it.length).sum();
        let mean = (words as f64 / texts.len().max(1) as f64).max(1.0);
        let rarity: BTreeMap<&str, f64> = asked
            .iter()
            .map(|(word, _)| (word.as_str(), rarity(word, &texts)))
            .collect();
        let pairs = pairs(&asked);
        let score = |text: &Text| {
            let norm = K1 * (1.0 - B + B * text.length as f64 / mean);
            let saturated = |count: usize| count as f64 * (K1 + 1.0) / (count as f64 + norm);
            let alone = rarity
                .iter()
                .map(|(word, rarity)| rarity * saturated(text.places(word).len()));
            let together = pairs.iter().map(|((a, b), gap)| {
                let (near, exact) = text.near(a, b, *gap);
                let mean = (rarity[a] + rarity[b]) / 2.0;
                mean * (NEAR_WEIGHT * saturated(near) + PHRASE_WEIGHT * saturated(exact))
            });
            alone.sum::<f64>() + together.sum::<f64>()
        };
        Ok(texts.iter().map(|it| score(it) as f32).collect())
    }
}

/// The stems of a text that carry meaning, each with its place among all words; all words where
/// none carries meaning.
fn in_order(text: &str) -> Vec<(String, usize)> {
    let all = tokens(text);
    let bare = all.iter().all(|it| is_stop(&it.text));
    all.iter()
        .enumerate()
        .filter(|(_, it)| bare || !is_stop(&it.text))
        .map(|(place, it)| (form(&it.text), place))
        .collect()
}

/// The form in which a lower-case word is compared.
fn form(word: &str) -> String {
    if is_stop(word) {
        word.to_owned()
    } else {
        stem(word)
    }
}

/// The neighbours of the query, and how far apart they stand there.
fn pairs(asked: &[(String, usize)]) -> BTreeMap<(&str, &str), usize> {
    asked
        .windows(2)
        .map(|it| (it, it[1].1 - it[0].1))
        .filter(|(it, gap)| it[0].0 != it[1].0 && *gap <= TOGETHER)
        .map(|(it, gap)| ((it[0].0.as_str(), it[1].0.as_str()), gap))
        .collect()
}

/// A text by the places of its words.
struct Text {
    places: BTreeMap<String, Vec<usize>>,
    /// Words that carry meaning.
    length: usize,
}

impl Text {
    fn of(text: &str) -> Text {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut length = 0;
        for (place, it) in tokens(text).iter().enumerate() {
            length += usize::from(!is_stop(&it.text));
            places.entry(form(&it.text)).or_default().push(place);
        }
        Text { places, length }
    }

    fn places(&self, word: &str) -> &[usize] {
        self.places.get(word).map_or(&[], Vec::as_slice)
    }

    /// How often `a` and `b` stand near each other, and how often `b` stands exactly `gap` behind `a`.
    fn near(&self, a: &str, b: &str, gap: usize) -> (usize, usize) {
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

fn rarity(word: &str, texts: &[Text]) -> f64 {
    let having = texts
        .iter()
        .filter(|it| !it.places(word).is_empty())
        .count() as f64;
    (1.0 + (texts.len() as f64 - having + 0.5) / (having + 0.5)).ln()
}

#[cfg(test)]
mod tests;
