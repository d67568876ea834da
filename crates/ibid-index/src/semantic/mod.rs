//! Ranking by meaning: embedding models, vector stores and rerankers.
//!
//! Vectors are made by a small model in local files (`ibid-encoder`) or by a server ([`http`]). They are
//! stored in SQLite ([`sqlite`]) or in Qdrant ([`qdrant`]). [`hybrid`] ranks by words and meaning together, [`rerank`] by a
//! server.
pub mod http;
pub mod hybrid;
pub mod qdrant;
pub mod rerank;
pub mod sqlite;
pub(crate) mod vector;

pub use http::HttpEmbedder;
pub use hybrid::{HybridRanker, SentenceVectors};
pub use qdrant::QdrantVectors;
pub use rerank::{HttpReranker, RerankApi};
pub use sqlite::SqliteVectors;
