//! Embeddings and vector indexes.
use async_trait::async_trait;

use crate::Result;

/// Converts texts to vectors whose cosine measures how similar the texts are in meaning.
///
/// Contract: returns one vector per text, in order, all of the same dimension and of length 1. Equal texts give equal
/// vectors, whatever else is in the batch.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The name in reports; also part of the key under which vectors are stored.
    fn name(&self) -> &str;
    /// Returns a vector for each of `texts`.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
    /// Returns a vector for each of `texts` made of its words alone, each by itself: less exact, but so cheap that it can choose the
    /// texts worth embedding. `None` if the embedder makes no such vectors.
    fn embed_words(&self, _texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        None
    }
}

/// `values` scaled to length 1, as [`Embedder`] returns them; unchanged if their length is 0 or not finite.
pub fn unit_length(mut values: Vec<f32>) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        values.iter_mut().for_each(|value| *value /= length);
    }
    values
}

/// The vector of one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageVector {
    /// The key: a hash of the text.
    pub key: u64,
    /// URL of the page.
    pub url: String,
    /// The vector, of length 1.
    pub values: Vec<f32>,
}

/// A similarity index for the vectors of one collection.
///
/// Contract: a stored vector is found immediately and by later processes; storing a key again replaces it. Similarity
/// is the cosine itself, not a value derived from ranks. `url_exists` is exact, not a similarity search.
#[async_trait]
pub trait VectorIndex: Send + Sync {
    /// Returns those of `keys` that have no vector, in order.
    async fn missing_keys(&self, keys: &[u64]) -> Result<Vec<u64>>;
    /// Returns the vectors of those of `keys` that have one, with their keys, in any order.
    async fn get(&self, keys: &[u64]) -> Result<Vec<(u64, Vec<f32>)>>;
    /// Stores `vectors`.
    async fn upsert(&self, vectors: &[PassageVector]) -> Result<()>;
    /// Removes all vectors except those of `keys`.
    async fn retain(&self, keys: &[u64]) -> Result<()>;
    /// Returns the `n` keys most similar to `to` with their cosines, best first; ties are in key order.
    async fn nearest(&self, to: &[f32], n: usize) -> Result<Vec<(u64, f32)>>;
    /// Whether a vector of a passage from `url` is stored.
    async fn url_exists(&self, url: &str) -> Result<bool>;
}
