//! The forward pass of BERT (Devlin and others 2019).
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::{SimdOp as _, SimdUnaryOp as _};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Softmax, Sum, SumSquareSub};
use serde_json::Value;

use crate::linear::{Int8Gemm, Linear, ProductBuffers};
use crate::quantized_matrix::QuantizedMatrix;
use crate::weights::Weights;
use crate::wordpiece::Tokens;

/// Tokens in one batch.
const BATCH_TOKENS: usize = 128;
/// Where words begin in the vocabulary of BERT: "the". Before it stand special tokens, digits and characters.
const FIRST_WORD: usize = 1996;
/// The frequency of a word that counts half, as Arora and others (2017) have it.
const HALF_WEIGHT_FREQUENCY: f32 = 1e-3;
/// The frequency of the first word.
const FIRST_FREQUENCY: f32 = 0.1;

/// Scales each row to mean 0 and variance 1, then by learned factors.
struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

struct EncoderLayer {
    /// Queries, keys and values side by side.
    query_key_value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    intermediate: Linear,
    output: Linear,
    norm: LayerNorm,
}

/// The model without its tokenizer.
pub(crate) struct Encoder {
    token_embeddings: Arc<QuantizedMatrix>,
    position_embeddings: Arc<QuantizedMatrix>,
    /// The token type embedding of a first text, and that of a second one if the model has it.
    token_type_embeddings: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Arc<EncoderLayer>>,
    heads: usize,
}

/// Matrix multipliers of one thread, and the number of attention heads.
struct ThreadKernels {
    int8: Int8Gemm,
    floats: GemmExecutor<f32>,
    heads: usize,
}

impl ThreadKernels {
    fn new(heads: usize) -> ThreadKernels {
        ThreadKernels { int8: Int8Gemm::new(), floats: GemmExecutor::default(), heads }
    }
}

impl Encoder {
    pub(crate) fn load(config: &Value, tensors: &Weights) -> Result<Encoder, String> {
        let number = |name: &str| {
            let it = config[name].as_u64().and_then(|number| usize::try_from(number).ok());
            it.filter(|it| *it > 0).ok_or_else(|| format!("config.json has no {name}"))
        };
        let epsilon = config["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32;
        let token_embeddings = tensors.matrix("embeddings.word_embeddings.weight")?;
        let heads = number("num_attention_heads")?;
        let gemms = ThreadKernels::new(heads);
        let width = token_embeddings.columns;
        if width == 0 || !width.is_multiple_of(heads) {
            return Err("the width is not a multiple of the number of heads".to_owned());
        }
        let token_type_embeddings = tensors.vector("embeddings.token_type_embeddings.weight")?;
        let layers = (0..number("num_hidden_layers")?)
            .into_par_iter()
            .map(|nth| EncoderLayer::load(nth, width, &gemms, (tensors, epsilon)).map(Arc::new))
            .collect::<Result<Vec<Arc<EncoderLayer>>, String>>()?;
        let position_embeddings = tensors.matrix("embeddings.position_embeddings.weight")?;
        if position_embeddings.columns != width || token_type_embeddings.len() < width {
            return Err("the embeddings differ in width".to_owned());
        }
        if token_embeddings.rows == 0 || position_embeddings.rows == 0 {
            return Err("the embeddings are empty".to_owned());
        }
        let norm = LayerNorm::load("embeddings.LayerNorm", width, (tensors, epsilon))?;
        Ok(Encoder {
            token_embeddings: Arc::new(token_embeddings),
            position_embeddings: Arc::new(position_embeddings),
            token_type_embeddings,
            norm,
            layers,
            heads,
        })
    }

    /// This model for pairs of texts, with the adapter that `tensors` has. What the adapter leaves as it is is shared.
    pub(crate) fn adapted(&self, tensors: &Weights) -> Result<Encoder, String> {
        let (width, epsilon) = (self.width(), self.norm.epsilon);
        let gemms = ThreadKernels::new(self.heads);
        let token_type_embeddings = tensors.vector("embeddings.token_type_embeddings.weight")?;
        if token_type_embeddings.len() < 2 * width {
            return Err("the model has no token type for a second text".to_owned());
        }
        let layer = |(nth, layer): (usize, &Arc<EncoderLayer>)| {
            if !tensors.adapts(&format!("encoder.layer.{nth}.")) {
                return Ok(Arc::clone(layer));
            }
            EncoderLayer::load(nth, width, &gemms, (tensors, epsilon)).map(Arc::new)
        };
        let layers =
            self.layers.par_iter().enumerate().map(layer).collect::<Result<_, String>>()?;
        Ok(Encoder {
            token_embeddings: Arc::clone(&self.token_embeddings),
            position_embeddings: Arc::clone(&self.position_embeddings),
            token_type_embeddings,
            norm: LayerNorm::load("embeddings.LayerNorm", width, (tensors, epsilon))?,
            layers,
            heads: self.heads,
        })
    }

    /// The numbers of a token.
    pub(crate) fn width(&self) -> usize {
        self.token_embeddings.columns
    }

    /// The maximum number of tokens of one text.
    pub(crate) fn max_tokens(&self) -> usize {
        self.position_embeddings.rows
    }

    /// The sum of a text's token embeddings before the first layer, common words counting less (Arora and others 2017). How common a word
    /// is tells its place in the vocabulary, which is in the order of frequency, by Zipf's law.
    pub(crate) fn sum_tokens(&self, text: &Tokens) -> Vec<f32> {
        let (width, values) = (self.width(), &self.token_embeddings);
        let mut sum = vec![0.0; width];
        let words = text.ids.iter().filter(|id| (FIRST_WORD..values.rows).contains(*id));
        for id in words {
            let frequency = FIRST_FREQUENCY / (id - FIRST_WORD + 1) as f32;
            let weight = HALF_WEIGHT_FREQUENCY / (HALF_WEIGHT_FREQUENCY + frequency);
            values.add_weighted_row(*id, weight, &mut sum);
        }
        sum
    }

    /// The mean of the token embeddings of each text. Texts of similar length share a batch.
    pub(crate) fn embed(&self, texts: &[Tokens]) -> Vec<Vec<f32>> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|number| texts[*number].ids.len());
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut tokens = 0;
        for at in order {
            tokens += texts[at].ids.len();
            match batches.last_mut().filter(|_| tokens <= BATCH_TOKENS) {
                Some(batch) => batch.push(at),
                None => {
                    tokens = texts[at].ids.len();
                    batches.push(vec![at]);
                }
            }
        }
        let done: Vec<Vec<Vec<f32>>> = batches
            .par_iter()
            .map(|batch| self.forward(&batch.iter().map(|it| &texts[*it]).collect::<Vec<_>>()))
            .collect();
        let mut found = vec![Vec::new(); texts.len()];
        for (at, vector) in batches.into_iter().flatten().zip(done.into_iter().flatten()) {
            found[at] = vector;
        }
        found
    }

    /// The mean of the token embeddings of each text. The tokens of all texts are multiplied together.
    fn forward(&self, texts: &[&Tokens]) -> Vec<Vec<f32>> {
        let width = self.width();
        let mut rows = Vec::with_capacity(texts.len());
        let mut end = 0;
        for text in texts {
            rows.push(end..end + text.ids.len());
            end += text.ids.len();
        }
        let mut x = vec![0.0; end * width];
        let (first, second) = self.token_type_embeddings.split_at(width);
        let places = texts.iter().flat_map(|text| {
            let types = (0..).map(|place| if place < text.first { first } else { second });
            text.ids.iter().enumerate().zip(types)
        });
        for (row, ((place, id), token_type)) in x.chunks_exact_mut(width).zip(places) {
            row.copy_from_slice(&token_type[..width]);
            self.token_embeddings.add_row((*id).min(self.token_embeddings.rows - 1), row);
            self.position_embeddings.add_row(place.min(self.position_embeddings.rows - 1), row);
        }
        self.norm.apply(&mut x);
        let gemms = ThreadKernels::new(self.heads);
        let mut buffers = LayerBuffers::default();
        for layer in &self.layers {
            layer.forward(&mut x, &rows, &gemms, &mut buffers);
        }
        rows.into_iter().map(|rows| mean(&x[rows.start * width..rows.end * width], width)).collect()
    }
}

/// The mean of the rows of `x`.
fn mean(x: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0.0; width];
    for row in x.chunks_exact(width) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    let rows = (x.len() / width).max(1) as f32;
    sum.iter_mut().for_each(|it| *it /= rows);
    sum
}

impl EncoderLayer {
    fn load(
        nth: usize,
        width: usize,
        gemms: &ThreadKernels,
        (tensors, epsilon): (&Weights, f32),
    ) -> Result<EncoderLayer, String> {
        let name = |rest: &str| format!("encoder.layer.{nth}.{rest}");
        let parts = ["query", "key", "value"].map(|it| name(&format!("attention.self.{it}")));
        let mut query_key_value = Linear::load(&parts, &gemms.int8, tensors)?;
        let linear = |it: &str| Linear::load(&[name(it)], &gemms.int8, tensors);
        let attended = linear("attention.output.dense")?;
        let intermediate = linear("intermediate.dense")?;
        let output = linear("output.dense")?;
        let fits = intermediate.outputs() > 0
            && query_key_value.fits(width, 3 * width)
            && attended.fits(width, width)
            && intermediate.fits(width, intermediate.outputs())
            && output.fits(intermediate.outputs(), width);
        if !fits {
            return Err(format!("the weights of layer {nth} differ in width"));
        }
        // Attention divides the products of queries and keys by this.
        query_key_value.scale_outputs(0..width, ((width / gemms.heads) as f32).sqrt().recip());
        let norm = |it: &str| LayerNorm::load(&name(it), width, (tensors, epsilon));
        Ok(EncoderLayer {
            attended_norm: norm("attention.output.LayerNorm")?,
            norm: norm("output.LayerNorm")?,
            query_key_value,
            attended,
            intermediate,
            output,
        })
    }

    /// Replaces `x`, the tokens of all texts row by row, by what the layer makes of them.
    fn forward(
        &self,
        x: &mut Vec<f32>,
        texts: &[Range<usize>],
        gemms: &ThreadKernels,
        buffers: &mut LayerBuffers,
    ) {
        let width = self.attended.outputs();
        let LayerBuffers { product, triples, mixed, out, intermediate, attention: attending } =
            buffers;
        self.query_key_value.apply(&gemms.int8, x, product, triples);
        mixed.resize(x.len(), 0.0);
        for text in texts {
            let triples = &triples[text.start * 3 * width..text.end * 3 * width];
            let mixed = &mut mixed[text.start * width..text.end * width];
            attention(gemms, text.len(), (triples, mixed), attending);
        }
        self.attended.apply(&gemms.int8, mixed, product, out);
        add(out, x);
        self.attended_norm.apply(out);
        self.intermediate.apply(&gemms.int8, out, product, intermediate);
        Gelu {}.map_mut(intermediate);
        self.output.apply(&gemms.int8, intermediate, product, x);
        add(x, out);
        self.norm.apply(x);
    }
}

/// What the layers of one pass reuse: new memory would have to be cleared for each.
#[derive(Default)]
struct LayerBuffers {
    product: ProductBuffers,
    triples: Vec<f32>,
    mixed: Vec<f32>,
    out: Vec<f32>,
    intermediate: Vec<f32>,
    attention: AttentionBuffers,
}

/// The weights of the tokens for each other, and their weighted mean, of one head.
#[derive(Default)]
struct AttentionBuffers {
    weights: Vec<f32>,
    attended: Vec<f32>,
}

fn add(x: &mut [f32], other: &[f32]) {
    x.iter_mut().zip(other).for_each(|(x, other)| *x += other);
}

/// Writes to `out`, for each token of a text and each head, the mean of the values weighted by how well the token's query
/// matches their keys. `triples` holds queries, keys and values side by side.
fn attention(
    gemms: &ThreadKernels,
    tokens: usize,
    (triples, out): (&[f32], &mut [f32]),
    buffers: &mut AttentionBuffers,
) {
    let width = out.len() / tokens.max(1);
    let head_width = width / gemms.heads;
    let AttentionBuffers { weights, attended } = buffers;
    weights.resize(tokens * tokens, 0.0);
    attended.resize(tokens * head_width, 0.0);
    for head in 0..gemms.heads {
        let part = |nth: usize, transposed: bool| {
            let from = &triples[nth * width + head * head_width..];
            let (shape, strides) = match transposed {
                false => ([tokens, head_width], [3 * width, 1]),
                true => ([head_width, tokens], [1, 3 * width]),
            };
            NdTensorView::<f32, 2>::from_slice_with_strides(shape, from, strides)
        };
        let (Ok(query), Ok(key), Ok(value)) = (part(0, false), part(1, true), part(2, false))
        else {
            continue;
        };
        multiply(&gemms.floats, query, key, weights);
        for row in weights.chunks_exact_mut(tokens) {
            Softmax::new_mut(row).dispatch();
        }
        let rows = NdTensorView::<f32, 2>::from_data([tokens, tokens], &weights[..]);
        multiply(&gemms.floats, rows, value, attended);
        for (out, row) in out.chunks_exact_mut(width).zip(attended.chunks_exact(head_width)) {
            out[head * head_width..][..head_width].copy_from_slice(row);
        }
    }
}

fn multiply(
    gemm: &GemmExecutor<f32>,
    a: NdTensorView<f32, 2>,
    b: NdTensorView<f32, 2>,
    out: &mut [f32],
) {
    let (a, b) = (GemmInputA::Unpacked(a), GemmInputB::Unpacked(b));
    let done = gemm.gemm(out, a, b, GemmOptions::default());
    debug_assert!(done.is_ok(), "the sizes fit, as loading has checked");
}

impl LayerNorm {
    fn load(
        name: &str,
        width: usize,
        (tensors, epsilon): (&Weights, f32),
    ) -> Result<LayerNorm, String> {
        let weight = tensors.vector(&format!("{name}.weight"))?;
        let bias = tensors.vector(&format!("{name}.bias"))?;
        if weight.len() != width || bias.len() != width {
            return Err(format!("tensor {name} is not as wide as the model"));
        }
        Ok(LayerNorm { weight, bias, epsilon })
    }

    fn apply(&self, x: &mut [f32]) {
        let width = self.weight.len() as f32;
        for row in x.chunks_exact_mut(self.weight.len()) {
            let mean = Sum::new(row).dispatch() / width;
            let variance = SumSquareSub::new(row, mean).dispatch() / width;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.epsilon).sqrt().recip(),
                element_scale: Some(&self.weight),
                element_bias: Some(&self.bias),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_norm_brings_rows_to_mean_zero_and_variance_one() {
        let norm = LayerNorm { weight: vec![1.0, 1.0], bias: vec![0.0, 0.5], epsilon: 0.0 };
        let mut x = [1.0, 3.0];
        norm.apply(&mut x);
        assert_eq!(x, [-1.0, 1.5]);
    }

    #[test]
    fn attention_to_one_key_gives_its_value() {
        let triples = [20.0, 0.0, 20.0, 0.0, 1.0, 2.0, 0.0, 20.0, 0.0, 20.0, 3.0, 4.0];
        let mut out = [0.0; 4];
        let mut buffers = AttentionBuffers::default();
        attention(&ThreadKernels::new(1), 2, (&triples, &mut out), &mut buffers);
        assert!(out.iter().zip([1.0, 2.0, 3.0, 4.0]).all(|(a, b)| (a - b).abs() < 1e-3));
    }
}
