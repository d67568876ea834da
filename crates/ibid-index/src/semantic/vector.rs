//! Arithmetic of vectors.

/// The cosine of two vectors of length 1.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    // The compiler computes eight sums in one step.
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
    use ibid_core::ports::unit_length;

    use super::*;

    #[test]
    fn a_vector_is_scaled_to_length_one_and_likeness_is_the_cosine() {
        let a = unit_length((1..=11).map(|index| index as f32).collect());
        assert!((cosine(&a, &a) - 1.0).abs() < 1e-6);
        let b: Vec<f32> = a.iter().map(|number| -number).collect();
        assert!((cosine(&a, &b) + 1.0).abs() < 1e-6);
        assert_eq!(unit_length(vec![0.0, 0.0]), [0.0, 0.0]);
    }
}
