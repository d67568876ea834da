//! Matrix products with quantized weights and activations (Jacob and others 2018).
//!
//! Weights have one scale per output, activations one per token, and the sums are exact in 32 bits. Against weights of 32
//! bits this takes a quarter of the memory and, where the processor multiplies bytes, a tenth of the time.
use std::mem::MaybeUninit;

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_simd::ops::{BitOps as _, NumOps as _, ToFloat as _};
use rten_simd::{Isa, SimdOp, SliceWriter};
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

    /// Writes activations as bytes around the zero point, and the scale of each row, to `buffers`.
    fn quantize(&self, x: &[f32], columns: usize, buffers: &mut ProductBuffers) {
        let ProductBuffers { quantized, row_scales, .. } = buffers;
        quantized.clear();
        quantized.reserve(x.len());
        row_scales.clear();
        for row in x.chunks_exact(columns) {
            let scale = scale(max_abs(row), f32::from(self.zero_point - 1));
            quantized.extend_init(|free| {
                Quantize::new(row, &mut free[..columns], scale.recip(), self.zero_point).dispatch()
            });
            row_scales.push(scale);
        }
    }
}

/// What a product needs besides its result. One after another reuses it: new memory would have to be cleared.
#[derive(Default)]
pub(crate) struct ProductBuffers {
    quantized: Vec<u8>,
    row_scales: Vec<f32>,
    zero_points: Vec<u8>,
    sums: Vec<i32>,
}

/// Writes `sums · scales · row_scale + bias`.
struct Dequantize<'s, 'd> {
    sums: &'s [i32],
    scales: &'s [f32],
    row_scale: f32,
    bias: &'s [f32],
    out: &'d mut [MaybeUninit<f32>],
}

impl<'d> SimdOp for Dequantize<'_, 'd> {
    type Output = &'d mut [f32];

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> &'d mut [f32] {
        let (ints, floats) = (isa.i32(), isa.f32());
        let width = floats.len();
        let row_scale = floats.splat(self.row_scale);
        let mut out = SliceWriter::new(self.out);
        let mut sums = self.sums.chunks_exact(width);
        let mut scales = self.scales.chunks_exact(width);
        let mut bias = self.bias.chunks_exact(width);
        for ((sum, scale), bias) in sums.by_ref().zip(scales.by_ref()).zip(bias.by_ref()) {
            let scale = floats.mul(floats.load(scale), row_scale);
            let product = floats.mul(ints.to_float(ints.load(sum)), scale);
            out.write_vec(floats, floats.add(product, floats.load(bias)));
        }
        let rest = sums.remainder().iter().zip(scales.remainder()).zip(bias.remainder());
        for ((sum, scale), bias) in rest {
            out.write_scalar(*sum as f32 * (scale * self.row_scale) + bias);
        }
        out.into_mut_slice()
    }
}

impl Linear {
    /// Loads the layers called `names` as one.
    pub(crate) fn load(
        names: &[String],
        product: &Int8Gemm,
        weights: &Weights,
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

    /// Writes the product with each row of `x` to `out`.
    pub(crate) fn apply(
        &self,
        product: &Int8Gemm,
        x: &[f32],
        buffers: &mut ProductBuffers,
        out: &mut Vec<f32>,
    ) {
        product.quantize(x, self.inputs, buffers);
        let ProductBuffers { quantized, row_scales, zero_points, sums } = buffers;
        let rows = row_scales.len();
        let size = rows * self.outputs();
        zero_points.resize(rows, product.zero_point);
        if sums.len() < size {
            sums.resize(size, 0);
        }
        let a = NdTensorView::<u8, 2>::from_data([rows, self.inputs], &quantized[..]);
        let options = GemmOptions {
            a_quant: Some(QuantParams { zero_point: zero_points }),
            ..GemmOptions::default()
        };
        let done = product.gemm.gemm(
            &mut sums[..size],
            GemmInputA::Unpacked(a),
            GemmInputB::Packed(&self.weight),
            options,
        );
        debug_assert!(done.is_ok(), "the sizes fit, as loading has checked");
        out.clear();
        out.reserve(size);
        let outputs = self.outputs();
        for (sums, row_scale) in sums[..size].chunks_exact(outputs).zip(row_scales) {
            let (scales, bias) = (&self.scales[..], &self.bias[..]);
            out.extend_init(|free| {
                let (out, row_scale) = (&mut free[..outputs], *row_scale);
                Dequantize { sums, scales, row_scale, bias, out }.dispatch()
            });
        }
    }
}
