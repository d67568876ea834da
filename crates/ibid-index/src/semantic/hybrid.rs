//! The ranker by words and meaning.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::vector::cosine;
use crate::ranker::LexicalRanker;
use ibid_core::ports::{
    Embedder, PairScorer, PairScores, PassageVector, Ranker, SentenceInContext, VectorIndex,
    unit_length,
};
use ibid_core::{Error, ErrorKind, Result};

/// The weight of meaning relative to words. Nearly all texts that a search has found contain the words.
const VECTOR_WEIGHT: f32 = 2.0;

/// Sentences that the encoder reads under their headings: those nearest to the query by their words and the vectors of their words. Over
/// 20 questions to 7,409 pages, of 19 to 400 sentences each, the three that the whole model found likeliest (0.3 or more) were among the
/// first 37.
const MAX_EMBEDDED: usize = 64;
/// Sentences that it reads after the one before them, too: the nearest of these.
const MAX_EMBEDDED_AFTER_PREVIOUS: usize = 32;
/// What the words of the query add to a sentence's cosine by the vectors of its words, scaled to the range from 0 to 1.
const SHARED_WORDS_WEIGHT: f32 = 0.5;
/// Sentences that the cross-encoder reads: those nearest to the query by their vectors. Of 56 questions that a sentence answers, as many
/// have it first, and among the first three, with 8 to 48.
const MAX_READ: usize = 16;
/// Sentences that it reads without their title and the sentence before them, too: the likeliest of these.
const MAX_READ_TWICE: usize = 4;
/// What turns cosines besides the shared subject, and the log-odds of the cross-encoder, into the log-odds that a sentence answers:
/// fitted to the sentences nearest to 88 questions in everyday words on eight small folders, of which 56 are answered by a sentence.
/// One sentence for each was known to answer; because others do, too, the bias is raised by 1.2.
const ANSWER_WEIGHTS: AnswerWeights =
    AnswerWeights { own: 2.9, after_previous: 4.5, read_own: 0.14, read_whole: 0.23, bias: -3.5 };

struct AnswerWeights {
    /// Of the cosine of the sentence under its headings.
    own: f32,
    /// Of the cosine of the same with the sentence before it.
    after_previous: f32,
    /// Of what the cross-encoder says of the sentence under its headings.
    read_own: f32,
    /// Of what it says of all of it.
    read_whole: f32,
    bias: f32,
}

/// Vectors kept in memory, so that a text is embedded once in a run: 6 MB with 384 numbers each, besides the texts.
const MAX_KEPT_VECTORS: usize = 4_000;
/// The texts nearest to the query whose mean is the subject that they share, and the fewest that have one.
const SUBJECT_TEXTS: (usize, usize) = (100, 8);

/// Loads the cross-encoder, or says why it cannot be used; `None` where there is none. Many runs never ask it, and loading it takes a
/// fifth of the processor time of a run over two small files.
pub type LoadPairScorer = Arc<dyn Fn() -> Result<Option<Arc<dyn PairScorer>>> + Send + Sync>;

/// Combines [`LexicalRanker`] and the similarity of vectors: each is scaled to at most 1 among the given texts, and the two
/// are added (a convex combination, which Bruch and others 2023 find better than fusion by rank).
pub struct HybridRanker {
    name: String,
    embedder: Arc<dyn Embedder>,
    pair_scorer: LoadPairScorer,
    kept: Mutex<HashMap<String, Arc<[f32]>>>,
    /// The vectors of the folders that are searched.
    stored: Vec<Arc<dyn VectorIndex>>,
    /// The keys of the passages in a text.
    keys: fn(&str) -> Vec<u64>,
    /// The vectors of other texts that were compared before.
    sentences: Option<SentenceVectors>,
}

/// The vectors of sentences that were compared in earlier runs, and the key of a sentence.
pub struct SentenceVectors {
    /// Where they are stored.
    pub index: Arc<dyn VectorIndex>,
    /// The key of a text.
    pub key: fn(&str) -> u64,
}

impl HybridRanker {
    /// A ranker by words, by the vectors of `embedder` and, where the meaning of sentences is asked for, by what `pair_scorer` loads.
    pub fn new(embedder: Arc<dyn Embedder>, pair_scorer: LoadPairScorer) -> HybridRanker {
        let name = format!("lexical+{}", embedder.name());
        let (kept, stored) = (Mutex::default(), Vec::new());
        let keys = |_: &str| Vec::new();
        HybridRanker { name, embedder, pair_scorer, kept, stored, keys, sentences: None }
    }

    /// The same ranker, which takes the vectors of passages from `stored` where they are there, and embeds only other texts. `keys` gives
    /// the keys of the passages in a text.
    #[must_use]
    pub fn with_stored_vectors(
        self,
        stored: Vec<Arc<dyn VectorIndex>>,
        keys: fn(&str) -> Vec<u64>,
    ) -> HybridRanker {
        HybridRanker { stored, keys, ..self }
    }

    /// The same ranker, which stores the vectors of all other texts, and embeds none of them twice.
    #[must_use]
    pub fn with_sentence_vectors(self, sentences: Option<SentenceVectors>) -> HybridRanker {
        HybridRanker { sentences, ..self }
    }

    /// The vectors of `texts`, in order: those that are stored, and else new ones, which are stored.
    async fn stored_or_embedded(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let Some(SentenceVectors { index, key }) = &self.sentences else {
            return self.embedder.embed(texts).await;
        };
        let keys: Vec<u64> = texts.iter().map(|text| key(text)).collect();
        // What cannot be read or written is made again.
        let known = index.get(&keys).await.unwrap_or_default();
        let mut known: HashMap<u64, Vec<f32>> = known.into_iter().collect();
        let is_new = |at: &usize| !known.contains_key(&keys[*at]);
        let new: Vec<usize> = (0..texts.len()).filter(is_new).collect();
        if !new.is_empty() {
            let asked: Vec<&str> = new.iter().map(|at| texts[*at]).collect();
            let made = self.embedder.embed(&asked).await?;
            let vectors = new.iter().zip(made).map(|(at, values)| PassageVector {
                key: keys[*at],
                url: String::new(),
                values,
            });
            let vectors: Vec<PassageVector> = vectors.collect();
            let _ = index.upsert(&vectors).await;
            known.extend(vectors.into_iter().map(|it| (it.key, it.values)));
        }
        Ok(keys.iter().map(|key| known.get(key).cloned().unwrap_or_default()).collect())
    }

    /// How similar each text is to `query`, a vector, by the stored vectors of its passages: that of the most similar one. `None` for
    /// texts of which not all passages have a vector.
    async fn stored_similarity(&self, query: &[f32], texts: &[&str]) -> Result<Vec<Option<f32>>> {
        let keys: Vec<Vec<u64>> = texts.iter().map(|text| (self.keys)(text)).collect();
        let all: Vec<u64> = keys.concat();
        let mut known: HashMap<u64, f32> = HashMap::new();
        for index in &self.stored {
            let found = index.get(&all).await?;
            known.extend(found.iter().map(|(key, vector)| (*key, cosine(vector, query))));
        }
        let of_text = |keys: &Vec<u64>| {
            let passages: Option<Vec<f32>> =
                keys.iter().map(|key| known.get(key).copied()).collect();
            passages.and_then(|it| it.into_iter().reduce(f32::max))
        };
        Ok(keys.iter().map(of_text).collect())
    }

    /// How similar each text is to `query`: by stored vectors where they are there, else by its own.
    async fn text_similarity(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let query = self.vectors(&[query]).await?.swap_remove(0);
        let mut similarity = self.stored_similarity(&query, texts).await?;
        let is_missing = |at: &usize| similarity[*at].is_none();
        let missing: Vec<usize> = (0..texts.len()).filter(is_missing).collect();
        let left: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
        let made = self.vectors(&left).await?;
        for (at, vector) in missing.into_iter().zip(made) {
            similarity[at] = Some(cosine(&vector, &query));
        }
        Ok(similarity.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The indices of the sentences worth reading, best first: those nearest to the query by the words that they share and by the vectors
    /// of their words. All, where the embedder has no such vectors.
    async fn nearest_by_words(
        &self,
        query: &str,
        sentences: &[SentenceInContext],
    ) -> Result<Vec<usize>> {
        let all = (0..sentences.len()).collect();
        if sentences.len() <= MAX_EMBEDDED {
            return Ok(all);
        }
        let told: Vec<String> = sentences.iter().map(SentenceInContext::after_previous).collect();
        let mut texts: Vec<&str> = told.iter().map(String::as_str).collect();
        let shared = LexicalRanker.rank(query, &texts).await?;
        let most = shared.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        texts.push(query);
        let Some(mut vectors) = self.embedder.embed_words(&texts) else {
            return Ok(all);
        };
        let query = vectors.pop().unwrap_or_default();
        // A question in a script that the vocabulary has no words of says nothing by them.
        if query.iter().all(|it| *it == 0.0) {
            return Ok(all);
        }
        let subject = mean_vector(&vectors);
        let query = without(&query, &subject);
        let cosines: Vec<f32> =
            vectors.iter().map(|it| cosine(&without(it, &subject), &query)).collect();
        let score = |(cosine, shared): (f32, f32)| cosine + SHARED_WORDS_WEIGHT * shared / most;
        // Rounded, so that it does not depend on the processor.
        let scores: Vec<f32> = scale_to_unit(&cosines)
            .into_iter()
            .zip(shared)
            .map(|it| (score(it) * 1_000.0).round())
            .collect();
        Ok(nearest(&scores, MAX_EMBEDDED))
    }

    /// The index of each of the sentences `near` that are nearest to the query by their vectors, and the log-odds that it answers,
    /// likeliest first.
    async fn log_odds_by_vectors(
        &self,
        query: &str,
        sentences: &[SentenceInContext],
        near: Vec<usize>,
    ) -> Result<Vec<(usize, f32)>> {
        let told: Vec<String> = near.iter().map(|at| sentences[*at].under_headings()).collect();
        let texts: Vec<&str> =
            std::iter::once(query).chain(told.iter().map(String::as_str)).collect();
        let vectors = self.vectors(&texts).await?;
        let (query, vectors) = (&vectors[0], &vectors[1..]);
        let cosines: Vec<f32> = vectors.iter().map(|it| cosine(it, query)).collect();
        let subject = shared_subject(vectors, &cosines);
        let own = centered_cosines(query, vectors, &subject);
        let nearest = nearest(&own, MAX_EMBEDDED_AFTER_PREVIOUS);
        let told: Vec<String> =
            nearest.iter().map(|at| sentences[near[*at]].after_previous()).collect();
        let texts: Vec<&str> = told.iter().map(String::as_str).collect();
        let vectors = self.vectors(&texts).await?;
        let whole = centered_cosines(query, &vectors, &subject);
        let AnswerWeights { own: of_own, after_previous, bias, .. } = ANSWER_WEIGHTS;
        let log_odds = |(at, whole): (usize, f32)| {
            (near[at], bias + of_own * own[at] + after_previous * whole)
        };
        let mut found: Vec<(usize, f32)> = nearest.into_iter().zip(whole).map(log_odds).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    async fn load_pair_scorer(&self) -> Result<Option<Arc<dyn PairScorer>>> {
        let load = Arc::clone(&self.pair_scorer);
        tokio::task::spawn_blocking(move || load()).await.map_err(reading_stopped).flatten()
    }

    /// The vectors of `texts`, in order.
    async fn vectors(&self, texts: &[&str]) -> Result<Vec<Arc<[f32]>>> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Option<Arc<[f32]>>> = {
            let kept = lock();
            texts.iter().map(|text| kept.get(*text).cloned()).collect()
        };
        let missing: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        if !missing.is_empty() {
            let asked: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
            let made = self.stored_or_embedded(&asked).await?;
            let mut kept = lock();
            if kept.len() + made.len() > MAX_KEPT_VECTORS {
                kept.clear();
            }
            for (at, vector) in missing.into_iter().zip(made) {
                let vector: Arc<[f32]> = vector.into();
                kept.insert(texts[at].to_owned(), Arc::clone(&vector));
                found[at] = Some(vector);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Ranker for HybridRanker {
    fn name(&self) -> &str {
        &self.name
    }

    fn ranks_chunks(&self) -> bool {
        false
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let words = LexicalRanker.rank(query, texts).await?;
        let similarity = self.text_similarity(query, texts).await?;
        let best = words.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let scaled = scale_to_unit(&similarity);
        let score = |at: usize| words[at] / best + VECTOR_WEIGHT * scaled[at];
        Ok((0..texts.len())
            .map(|at| if texts[at].trim().is_empty() { 0.0 } else { score(at) })
            .collect())
    }

    async fn similarity(&self, query: &str, sentences: &[SentenceInContext]) -> Result<Vec<f32>> {
        if sentences.len() < SUBJECT_TEXTS.1 {
            return Ok(Vec::new());
        }
        // It loads while the sentences are embedded.
        let load = self.load_pair_scorer();
        let by_vectors = async {
            let near = self.nearest_by_words(query, sentences).await?;
            self.log_odds_by_vectors(query, sentences, near).await
        };
        let (loaded, mut by_vectors) = tokio::try_join!(load, by_vectors)?;
        by_vectors.truncate(MAX_READ);
        let read = match loaded {
            None => by_vectors,
            Some(scorer) => {
                let texts = |(at, log_odds): (usize, f32)| CandidateTexts {
                    at,
                    log_odds,
                    own: sentences[at].under_headings(),
                    whole: sentences[at].whole(),
                };
                let texts: Vec<CandidateTexts> = by_vectors.into_iter().map(texts).collect();
                let query = query.to_owned();
                let read = move || read_pairs(&*scorer, &query, texts);
                tokio::task::spawn_blocking(read).await.map_err(reading_stopped)?
            }
        };
        let mut found = vec![0.0; sentences.len()];
        for (at, log_odds) in read {
            found[at] = probability(log_odds);
        }
        Ok(found)
    }

    async fn prepare_similarity(&self) {
        let _ = self.load_pair_scorer().await;
    }
}

fn reading_stopped(failed: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, "reading pairs of texts").with_source(failed)
}

/// A sentence that the cross-encoder reads.
struct CandidateTexts {
    /// Its index among the sentences.
    at: usize,
    /// The log-odds that it answers, by vectors.
    log_odds: f32,
    /// The sentence under its headings.
    own: String,
    /// All of it.
    whole: String,
}

/// The index of each candidate and its log-odds by vectors and the cross-encoder.
fn read_pairs(
    scorer: &dyn PairScorer,
    query: &str,
    mut candidates: Vec<CandidateTexts>,
) -> Vec<(usize, f32)> {
    let log_odds = |texts: &[&str]| -> Vec<f32> {
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (query, *text)).collect();
        let odds = |scores: &PairScores| {
            let relevance = scores.relevance.clamp(0.001, 0.999);
            (relevance / (1.0 - relevance)).ln()
        };
        scorer.score(&pairs).iter().map(odds).collect()
    };
    let AnswerWeights { read_own, read_whole, .. } = ANSWER_WEIGHTS;
    let texts: Vec<&str> = candidates.iter().map(|it| it.whole.as_str()).collect();
    let whole = log_odds(&texts);
    let likely: Vec<f32> =
        candidates.iter().zip(&whole).map(|(it, whole)| it.log_odds + read_whole * whole).collect();
    let mut twice = nearest(&likely, MAX_READ_TWICE);
    twice.retain(|at| candidates[*at].own != candidates[*at].whole);
    let texts: Vec<&str> = twice.iter().map(|at| candidates[*at].own.as_str()).collect();
    // A sentence that is not read alone is taken to say as much as with what stands before it.
    let mut own = whole.clone();
    for (at, read) in twice.iter().zip(log_odds(&texts)) {
        own[*at] = read;
    }
    for (it, (own, whole)) in candidates.iter_mut().zip(own.into_iter().zip(whole)) {
        it.log_odds += read_own * own + read_whole * whole;
    }
    candidates.into_iter().map(|it| (it.at, it.log_odds)).collect()
}

/// The probability of these log odds, in thousandths, so that it does not depend on the processor.
fn probability(log_odds: f32) -> f32 {
    (1000.0 / (1.0 + (-log_odds).exp())).round() / 1000.0
}

/// The indices of the `most` highest of `values`, best first.
fn nearest(values: &[f32], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
    order.truncate(most);
    order
}

/// The common subject of `texts`: the mean of those nearest to the query by their `cosines`.
fn shared_subject(texts: &[Arc<[f32]>], cosines: &[f32]) -> Vec<f32> {
    let near = nearest(cosines, SUBJECT_TEXTS.0);
    let near: Vec<&[f32]> = near.into_iter().map(|at| &*texts[at]).collect();
    mean_vector(&near)
}

/// The cosine of `query` and each of `texts` after their common `subject` was taken away. Rounded to thousandths, so that it does not
/// depend on the processor.
fn centered_cosines(query: &[f32], texts: &[Arc<[f32]>], subject: &[f32]) -> Vec<f32> {
    let query = without(query, subject);
    let centered = |text: &Arc<[f32]>| cosine(&without(text, subject), &query);
    texts.iter().map(|text| (centered(text) * 1_000.0).round() / 1_000.0).collect()
}

/// The mean of `vectors`.
fn mean_vector(vectors: &[impl AsRef<[f32]>]) -> Vec<f32> {
    let mut mean = vec![0.0; vectors.first().map_or(0, |it| it.as_ref().len())];
    for vector in vectors {
        mean.iter_mut().zip(vector.as_ref()).for_each(|(sum, value)| *sum += value);
    }
    mean.iter_mut().for_each(|sum| *sum /= vectors.len().max(1) as f32);
    mean
}

/// `vector` without `subject`, scaled to length 1.
fn without(vector: &[f32], subject: &[f32]) -> Vec<f32> {
    unit_length(vector.iter().zip(subject).map(|(value, mean)| value - mean).collect())
}

/// `values` scaled to the range from 0 to 1.
fn scale_to_unit(values: &[f32]) -> Vec<f32> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let width = (most - least).max(f32::MIN_POSITIVE);
    values.iter().map(|value| (value - least) / width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_texts_share_does_not_count() {
        // The first number is the subject, the others are what is said of it.
        let text = |a: f32, b: f32| Arc::from(unit_length(vec![1.0, a, b]));
        let texts = [text(0.5, 0.0), text(0.0, 0.5), text(-0.5, 0.0), text(0.0, -0.5)];
        let query = unit_length(vec![1.0, 0.4, 0.0]);
        let cosines: Vec<f32> = texts.iter().map(|text| cosine(text, &query)).collect();
        let found = centered_cosines(&query, &texts, &shared_subject(&texts, &cosines));
        assert!(found[0] > 0.9 && found[1].abs() < 0.3 && found[2] < -0.9, "{found:?}");
    }
}
