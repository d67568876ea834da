//! Quantized matrices.
use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::SimdOp as _;
use rten_tensor::NdTensorView;
use rten_vecmath::MinMax;

/// A matrix of 8-bit numbers with a scale for each of its rows.
pub(crate) struct QuantizedMatrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Row by row.
    pub(crate) values: Vec<i8>,
    pub(crate) scales: Vec<f32>,
}

impl QuantizedMatrix {
    /// Quantizes `values`, row by row.
    pub(crate) fn quantize(columns: usize, values: &[f32]) -> QuantizedMatrix {
        let mut quantized = Vec::with_capacity(values.len());
        let mut scales = Vec::with_capacity(values.len() / columns.max(1));
        for row in values.chunks_exact(columns.max(1)) {
            let scale = scale(max_abs(row), f32::from(i8::MAX));
            quantized.extend(row.iter().map(|value| quantized_value(*value, scale)));
            scales.push(scale);
        }
        QuantizedMatrix { rows: scales.len(), columns, values: quantized, scales }
    }

    /// Adds the product of `left`, `rank` numbers for each row, and `right`, `rank` rows, and quantizes again each row that it
    /// changes. False if a sum is no number.
    pub(crate) fn add_product(&mut self, left: &[f32], right: &[f32], rank: usize) -> bool {
        let columns = self.columns.max(1);
        let mut product = vec![0.0; self.values.len()];
        let one = NdTensorView::<f32, 2>::from_data([self.rows, rank], left);
        let other = NdTensorView::<f32, 2>::from_data([rank, columns], right);
        let (one, other) = (GemmInputA::Unpacked(one), GemmInputB::Unpacked(other));
        let gemm = GemmExecutor::<f32>::default();
        if gemm.gemm(&mut product, one, other, GemmOptions::default()).is_err() {
            return false;
        }
        let rows = self.values.par_chunks_exact_mut(columns).zip(&mut self.scales);
        rows.zip(product.par_chunks_exact_mut(columns)).all(|((values, row_scale), sum)| {
            if sum.iter().all(|it| *it == 0.0) {
                return true;
            }
            let row = sum.iter_mut().zip(&*values);
            row.for_each(|(sum, it)| *sum += f32::from(*it) * *row_scale);
            if !sum.iter().all(|it| it.is_finite()) {
                return false;
            }
            *row_scale = scale(max_abs(sum), f32::from(i8::MAX));
            let row = values.iter_mut().zip(&*sum);
            row.for_each(|(it, sum)| *it = quantized_value(*sum, *row_scale));
            true
        })
    }

    /// Adds row `nth` to `sum`.
    pub(crate) fn add_row(&self, nth: usize, sum: &mut [f32]) {
        self.add_weighted_row(nth, 1.0, sum);
    }

    /// Adds row `nth`, multiplied by `weight`, to `sum`.
    pub(crate) fn add_weighted_row(&self, nth: usize, weight: f32, sum: &mut [f32]) {
        let row = &self.values[nth * self.columns..][..self.columns];
        let scale = self.scales[nth] * weight;
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += f32::from(*value) * scale;
        }
    }
}

/// Rounds half away from zero. `f32::round` would be a call for each number: the x86-64 that is built for has no instruction for it.
fn quantized_value(value: f32, scale: f32) -> i8 {
    let scaled = value / scale;
    // A float is brought into the range of the type that it is cast to.
    (scaled + 0.5_f32.copysign(scaled)) as i32 as i8
}

/// The largest absolute value of a row.
pub(crate) fn max_abs(row: &[f32]) -> f32 {
    let (least, most) = MinMax::new(row).dispatch();
    most.max(-least)
}

/// What a quantized value is multiplied by, so that `max_abs` is quantized to `quantized`; 1 for a row of zeros.
pub(crate) fn scale(max_abs: f32, quantized: f32) -> f32 {
    if max_abs > 0.0 && max_abs.is_finite() { max_abs / quantized } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_rows_are_near_their_values() {
        let values = [0.5, -1.0, 0.25, 0.0, 0.0, 0.0, 300.0, 1.0, -2.5];
        let found = QuantizedMatrix::quantize(3, &values);
        for nth in 0..3 {
            let mut row = [0.0; 3];
            found.add_row(nth, &mut row);
            let most = max_abs(&values[nth * 3..][..3]);
            for (value, given) in row.iter().zip(&values[nth * 3..]) {
                assert!((value - given).abs() <= most / 250.0, "{value} for {given}");
            }
        }
    }

    #[test]
    fn a_product_is_added_to_the_rows_that_it_changes() {
        let mut matrix = QuantizedMatrix::quantize(3, &[0.5, -1.0, 0.25, 2.0, 1.0, 0.3]);
        let before = (matrix.values.clone(), matrix.scales.clone());
        // Two factors for each row: the first row stays as it is.
        assert!(matrix.add_product(&[0.0, 0.0, 1.0, -2.0], &[1.0, 0.0, 4.0, 1.0, 1.0, 0.5], 2));
        assert_eq!((&matrix.values[..3], matrix.scales[0]), (&before.0[..3], before.1[0]));
        let mut row = [0.0; 3];
        matrix.add_row(1, &mut row);
        for (value, known) in row.iter().zip([1.0, -1.0, 3.3]) {
            assert!((value - known).abs() < 0.03, "{row:?}");
        }
        assert!(!matrix.add_product(&[f32::MAX, 0.0, 0.0, 0.0], &[f32::MAX; 6], 2));
    }
}
