//! Quantized matrices.
use rten_simd::SimdOp as _;
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
            // A float is brought into the range of the type that it is cast to.
            quantized.extend(row.iter().map(|value| (value / scale).round() as i8));
            scales.push(scale);
        }
        QuantizedMatrix { rows: scales.len(), columns, values: quantized, scales }
    }

    /// Adds row `nth` to `sum`.
    pub(crate) fn add_row(&self, nth: usize, sum: &mut [f32]) {
        let row = &self.values[nth * self.columns..][..self.columns];
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += f32::from(*value) * self.scales[nth];
        }
    }
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
}
