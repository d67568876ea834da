//! Matrices of 8 bits.
use rten_simd::SimdOp as _;
use rten_vecmath::MinMax;

/// A matrix of whole numbers with a scale for each of its rows.
pub(crate) struct ScaledMatrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Row by row.
    pub(crate) values: Vec<i8>,
    pub(crate) scales: Vec<f32>,
}

impl ScaledMatrix {
    /// Rounds `values`, row by row.
    pub(crate) fn quantize(columns: usize, values: &[f32]) -> ScaledMatrix {
        let mut whole = Vec::with_capacity(values.len());
        let mut scales = Vec::with_capacity(values.len() / columns.max(1));
        for row in values.chunks_exact(columns.max(1)) {
            let scale = scale(largest(row), f32::from(i8::MAX));
            // A float is brought into the range of the type that it is cast to.
            whole.extend(row.iter().map(|value| (value / scale).round() as i8));
            scales.push(scale);
        }
        ScaledMatrix { rows: scales.len(), columns, values: whole, scales }
    }

    /// Adds row `nth` to `sum`.
    pub(crate) fn add_row(&self, nth: usize, sum: &mut [f32]) {
        let row = &self.values[nth * self.columns..][..self.columns];
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += f32::from(*value) * self.scales[nth];
        }
    }
}

/// The largest absolute value.
pub(crate) fn largest(row: &[f32]) -> f32 {
    let (least, most) = MinMax::new(row).dispatch();
    most.max(-least)
}

/// The scale with which `largest` becomes `whole`; 1 for a row of noughts.
pub(crate) fn scale(largest: f32, whole: f32) -> f32 {
    if largest > 0.0 && largest.is_finite() { largest / whole } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_rows_are_near_their_values() {
        let values = [0.5, -1.0, 0.25, 0.0, 0.0, 0.0, 300.0, 1.0, -2.5];
        let found = ScaledMatrix::quantize(3, &values);
        for nth in 0..3 {
            let mut row = [0.0; 3];
            found.add_row(nth, &mut row);
            let most = largest(&values[nth * 3..][..3]);
            for (value, given) in row.iter().zip(&values[nth * 3..]) {
                assert!((value - given).abs() <= most / 250.0, "{value} for {given}");
            }
        }
    }
}
