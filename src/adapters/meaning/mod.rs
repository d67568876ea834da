//! Ranking by meaning: vectors of texts, where they are kept, and servers that rank.
//!
//! Vectors come from a small model in local files ([`bert`], with the feature `embed`) or from a server ([`http`]); they are kept in
//! a file of SQLite ([`sqlite`]) or in Qdrant ([`qdrant`]). [`hybrid`] ranks by words and meaning together, [`rerank`]
//! asks a server to.
#[cfg(feature = "embed")]
pub mod bert;
pub mod http;
pub mod hybrid;
pub mod qdrant;
pub mod rerank;
pub mod sqlite;

pub use http::HttpEmbedder;
pub use hybrid::Hybrid;
pub use qdrant::Qdrant;
pub use rerank::{HttpReranker, Shape};
pub use sqlite::SqliteVectors;

/// `values` scaled to length 1; as they are where they have no length.
pub(crate) fn unit(mut values: Vec<f32>) -> Vec<f32> {
    let length = values.iter().map(|it| it * it).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        values.iter_mut().for_each(|it| *it /= length);
    }
    values
}

/// The cosine of two vectors of length 1.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    // Eight sums side by side are what the compiler can do in one step.
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_scaled_to_length_one_and_likeness_is_the_cosine() {
        let a = unit((1..=11).map(|it| it as f32).collect());
        assert!((cosine(&a, &a) - 1.0).abs() < 1e-6);
        let b: Vec<f32> = a.iter().map(|it| -it).collect();
        assert!((cosine(&a, &b) + 1.0).abs() < 1e-6);
        assert_eq!(unit(vec![0.0, 0.0]), [0.0, 0.0]);
    }
}
