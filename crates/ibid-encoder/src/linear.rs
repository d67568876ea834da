//! Matrix products with quantized weights and activations (Jacob and others 2018).
//!
//! Weights have one scale per output, activations one per token, and the sums are exact in 32 bits. Against weights of 32
//! bits this takes a quarter of the memory and, where the processor multiplies bytes, a tenth of the time.
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_simd::SimdOp as _;
use rten_tensor::NdTensorView;
use rten_vecmath::{ExtendInit as _, Quantize};

use crate::quantized_matrix::{max_abs, scale};
use crate::weights::Weights;

/// `x · weight + bias` of one or more layers that have the same input.
pub(crate) struct Linear {
    weight: PackedBMatrix<i8>,
    scales: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

/// Multiplies quantized matrices.
pub(crate) struct Int8Gemm {
    gemm: GemmExecutor<u8, i8, i32>,
    /// The byte of an activation of zero.
    zero_point: u8,
}

impl Int8Gemm {
    pub(crate) fn new() -> Int8Gemm {
        let gemm = GemmExecutor::default();
        // Processors without VNNI add two products in 16 bits: 127 * 127 * 2 fits, 255 * 127 * 2 does not.
        let zero_point = if gemm.may_saturate() { 64 } else { 128 };
        Int8Gemm { gemm, zero_point }
    }

    /// Activations as bytes around the zero point, and the scale of each row.
    fn quantize(&self, x: &[f32], columns: usize) -> (Vec<u8>, Vec<f32>) {
        let mut quantized = Vec::with_capacity(x.len());
        let mut scales = Vec::with_capacity(x.len() / columns);
        for row in x.chunks_exact(columns) {
            let scale = scale(max_abs(row), f32::from(self.zero_point - 1));
            quantized.extend_init(|free| {
                Quantize::new(row, &mut free[..columns], scale.recip(), self.zero_point).dispatch()
            });
            scales.push(scale);
        }
        (quantized, scales)
    }
}

impl Linear {
    /// Loads the layers called `names` as one.
    pub(crate) fn load(
        names: &[String],
        product: &Int8Gemm,
        weights: &mut Weights,
    ) -> Result<Linear, String> {
        let (mut values, mut scales, mut bias) = (Vec::new(), Vec::new(), Vec::new());
        let mut inputs = None;
        for name in names {
            let part = weights.linear(name)?;
            let own = weights.vector(&format!("{name}.bias"))?;
            if own.len() != part.rows || *inputs.get_or_insert(part.columns) != part.columns {
                return Err(format!("tensor {name}: weight and bias differ in size"));
            }
            values.extend(part.values);
            scales.extend(part.scales);
            bias.extend(own);
        }
        let inputs = inputs.unwrap_or_default();
        if inputs == 0 || scales.is_empty() {
            return Err(format!("tensor {} is empty", names.join(", ")));
        }
        let weight = NdTensorView::<i8, 2>::from_data([scales.len(), inputs], &values[..]);
        Ok(Linear { weight: product.gemm.prepack_b(weight.transposed()), scales, bias, inputs })
    }

    /// Multiplies the outputs `of` by `factor`.
    pub(crate) fn scale_outputs(&mut self, of: std::ops::Range<usize>, factor: f32) {
        self.scales[of.clone()].iter_mut().for_each(|it| *it *= factor);
        self.bias[of].iter_mut().for_each(|it| *it *= factor);
    }

    /// Whether a row has `inputs` values and gives `outputs`.
    pub(crate) fn fits(&self, inputs: usize, outputs: usize) -> bool {
        self.inputs == inputs && self.outputs() == outputs
    }

    pub(crate) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The product with each row of `x`.
    pub(crate) fn apply(&self, product: &Int8Gemm, x: &[f32]) -> Vec<f32> {
        let (quantized, row_scales) = product.quantize(x, self.inputs);
        let zeros = vec![product.zero_point; row_scales.len()];
        let a = NdTensorView::<u8, 2>::from_data([row_scales.len(), self.inputs], &quantized[..]);
        let mut sums = vec![0; row_scales.len() * self.outputs()];
        let options = GemmOptions {
            a_quant: Some(QuantParams { zero_point: &zeros }),
            ..GemmOptions::default()
        };
        let done = product.gemm.gemm(
            &mut sums,
            GemmInputA::Unpacked(a),
            GemmInputB::Packed(&self.weight),
            options,
        );
        debug_assert!(done.is_ok(), "the sizes fit, as loading has checked");
        let mut out = Vec::with_capacity(sums.len());
        for (row, row_scale) in sums.chunks_exact(self.outputs()).zip(&row_scales) {
            let terms = row.iter().zip(&self.scales).zip(&self.bias);
            out.extend(terms.map(|((sum, scale), bias)| *sum as f32 * (scale * row_scale) + bias));
        }
        out
    }
}
