//! Learns the topic from the sentences nearest to the question.
use std::collections::{BTreeMap, BTreeSet};

use super::page::PageSentences;
use super::scorer::RelevanceScorer;

/// How many of the nearest sentences are used, and how many words are learnt.
const NEAREST_SENTENCES: usize = 24;
const TOPIC_WORDS: usize = 16;

impl RelevanceScorer {
    /// Learns the topic from the sentences nearest to the question: words that they share and other sentences
    /// do not (relevance feedback as in Lavrenko and Croft 2001, with sentences for documents).
    pub(crate) fn learn_topic(&mut self, lines: &[PageSentences]) {
        let mut near: Vec<(f32, usize, usize)> = Vec::new();
        for (page, it) in lines.iter().enumerate() {
            let title = self.coverage(&self.question, &it.title);
            for (nth, (_, own)) in it.lines.iter().enumerate() {
                let score = 0.7 * self.coverage(&self.question, own) + 0.3 * title;
                near.push((score, page, nth));
            }
        }
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        near.truncate(NEAREST_SENTENCES);
        let mut shared: BTreeMap<u32, f32> = BTreeMap::new();
        for (score, page, nth) in &near {
            for id in &lines[*page].lines[*nth].1 {
                *shared.entry(*id).or_insert(0.0) += score;
            }
        }
        let all = self.sentences as f32 + 1.0;
        let asked: BTreeSet<u32> = self.question.iter().map(|it| it.id).collect();
        let mut words: Vec<(u32, f32)> = shared
            .into_iter()
            .filter(|(id, _)| !asked.contains(id))
            .map(|(id, weight)| {
                let met = self.sentence_counts.get(&id).copied().unwrap_or(0) as f32;
                (id, weight, met)
            })
            // A word of a single sentence is not shared.
            .filter(|row| row.2 >= 2.0 && row.1 >= 1.0)
            .map(|(id, weight, met)| (id, weight * (all / (met + 0.5)).ln().max(0.0)))
            .collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.truncate(TOPIC_WORDS);
        self.topic = words;
    }

    /// How much the words are on the topic, 0 to 1: three topic words are a full match.
    pub(super) fn topic_similarity(&self, ids: &[u32]) -> f32 {
        let top: f32 = self.topic.iter().take(3).map(|pair| pair.1).sum();
        let met: f32 = self
            .topic
            .iter()
            .filter(|pair| ids.binary_search(&pair.0).is_ok())
            .map(|pair| pair.1)
            .sum();
        if top > 0.0 { (met / top).min(1.0) } else { 0.0 }
    }
}
