//! Texts by what they mean: vectors, and where vectors are kept.
use async_trait::async_trait;

use crate::error::Result;

/// Turns texts into vectors; the cosine of two says how alike the texts are in meaning.
///
/// Contract: one vector a text, in the order given, all of one length and of length 1; equal texts give equal vectors,
/// whatever stands beside them.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Its name in reports and as part of what vectors are kept under.
    fn name(&self) -> &str;
    /// A vector for each of `texts`.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}

/// The vector of one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// What it is kept under: a hash of the words.
    pub key: u64,
    /// Where the passage is read.
    pub url: String,
    /// Of length 1.
    pub values: Vec<f32>,
}

/// Vectors of one collection, found by likeness.
///
/// Contract: what was put is found at once and by any later sitting; putting a key again replaces it; likeness is the
/// cosine itself, never a rank made to look like one; `url_exists` is exact and never a search by likeness.
#[async_trait]
pub trait VectorIndex: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// Those of `keys` that have no vector, in their order.
    async fn lacking(&self, keys: &[u64]) -> Result<Vec<u64>>;
    /// Keeps `vectors`.
    async fn put(&self, vectors: &[Vector]) -> Result<()>;
    /// Forgets all but `keys`.
    async fn retain(&self, keys: &[u64]) -> Result<()>;
    /// The `n` keys most like `to` with their cosines, best first; ties in the order of keys.
    async fn nearest(&self, to: &[f32], n: usize) -> Result<Vec<(u64, f32)>>;
    /// Whether a vector of a passage read at `url` is kept.
    async fn url_exists(&self, url: &str) -> Result<bool>;
}
