//! The forward pass of BERT (Devlin and others 2019).
use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice};
use serde_json::Value;

use super::tensors::TensorFile;

/// `x · weight + bias`.
struct Linear {
    /// One column per output.
    weight: Array2<f32>,
    bias: Array1<f32>,
}

/// Scales each row to mean 0 and variance 1, then by learned factors.
struct LayerNorm {
    weight: Array1<f32>,
    bias: Array1<f32>,
    epsilon: f32,
}

struct EncoderLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm: LayerNorm,
}

/// The model without its tokenizer.
pub(super) struct Encoder {
    words: Array2<f32>,
    places: Array2<f32>,
    /// The token type embedding of a single text.
    kind: Array1<f32>,
    norm: LayerNorm,
    layers: Vec<EncoderLayer>,
    heads: usize,
}

impl Encoder {
    pub(super) fn load(config: &Value, tensors: &mut TensorFile) -> Result<Encoder, String> {
        let number = |name: &str| {
            let it = config[name].as_u64().and_then(|number| usize::try_from(number).ok());
            it.filter(|it| *it > 0).ok_or_else(|| format!("config.json has no {name}"))
        };
        let epsilon = config["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32;
        let heads = number("num_attention_heads")?;
        let words = tensors.matrix("embeddings.word_embeddings.weight")?;
        if !words.ncols().is_multiple_of(heads) {
            return Err("the width is not a multiple of the number of heads".to_owned());
        }
        let kinds = tensors.matrix("embeddings.token_type_embeddings.weight")?;
        let layers = (0..number("num_hidden_layers")?)
            .map(|nth| EncoderLayer::load(nth, tensors, epsilon))
            .collect::<Result<Vec<EncoderLayer>, String>>()?;
        Ok(Encoder {
            places: tensors.matrix("embeddings.position_embeddings.weight")?,
            kind: kinds.row(0).to_owned(),
            norm: LayerNorm::load("embeddings.LayerNorm", tensors, epsilon)?,
            words,
            layers,
            heads,
        })
    }

    /// The maximum number of tokens of one text.
    pub(super) fn max_tokens(&self) -> usize {
        self.places.nrows()
    }

    /// The mean of the token embeddings of each text. The tokens of all texts are multiplied together.
    pub(super) fn embed(&self, texts: &[&[usize]]) -> Vec<Vec<f32>> {
        let mut rows = Vec::with_capacity(texts.len());
        let mut end = 0;
        for text in texts {
            rows.push(end..end + text.len());
            end += text.len();
        }
        let mut x = Array2::zeros((end, self.words.ncols()));
        for (text, rows) in texts.iter().zip(&rows) {
            for (place, id) in text.iter().enumerate() {
                let mut row = x.row_mut(rows.start + place);
                row += &self.words.row((*id).min(self.words.nrows() - 1));
                row += &self.places.row(place);
                row += &self.kind;
            }
        }
        self.norm.apply(&mut x);
        for layer in &self.layers {
            x = layer.forward(&x, &rows, self.heads);
        }
        rows.into_iter()
            .map(|rows| {
                let mean = x.slice_axis(Axis(0), Slice::from(rows)).mean_axis(Axis(0));
                mean.map(|mean| mean.to_vec()).unwrap_or_default()
            })
            .collect()
    }
}

impl EncoderLayer {
    fn load(nth: usize, tensors: &mut TensorFile, epsilon: f32) -> Result<EncoderLayer, String> {
        let name = |rest: &str| format!("encoder.layer.{nth}.{rest}");
        Ok(EncoderLayer {
            query: Linear::load(&name("attention.self.query"), tensors)?,
            key: Linear::load(&name("attention.self.key"), tensors)?,
            value: Linear::load(&name("attention.self.value"), tensors)?,
            attended: Linear::load(&name("attention.output.dense"), tensors)?,
            attended_norm: LayerNorm::load(&name("attention.output.LayerNorm"), tensors, epsilon)?,
            wide: Linear::load(&name("intermediate.dense"), tensors)?,
            narrow: Linear::load(&name("output.dense"), tensors)?,
            norm: LayerNorm::load(&name("output.LayerNorm"), tensors, epsilon)?,
        })
    }

    fn forward(&self, x: &Array2<f32>, texts: &[Range<usize>], heads: usize) -> Array2<f32> {
        let query = self.query.apply(x);
        let key = self.key.apply(x);
        let value = self.value.apply(x);
        let width = x.ncols() / heads;
        let mut mixed = Array2::zeros(x.raw_dim());
        for text in texts {
            for head in 0..heads {
                let columns = head * width..(head + 1) * width;
                let part = |it| part(it, text, &columns);
                let attended = attention(part(&query), part(&key), part(&value));
                part_mut(&mut mixed, text, &columns).assign(&attended);
            }
        }
        let mut x = self.attended.apply(&mixed) + x;
        self.attended_norm.apply(&mut x);
        let mut wide = self.wide.apply(&x);
        wide.mapv_inplace(gelu);
        let mut out = self.narrow.apply(&wide) + &x;
        self.norm.apply(&mut out);
        out
    }
}

/// The rows of a text and the columns of a head.
fn part<'a>(
    x: &'a Array2<f32>,
    rows: &Range<usize>,
    columns: &Range<usize>,
) -> ArrayView2<'a, f32> {
    let mut view = x.view();
    view.slice_axis_inplace(Axis(0), Slice::from(rows.clone()));
    view.slice_axis_inplace(Axis(1), Slice::from(columns.clone()));
    view
}

/// A mutable [`part`].
fn part_mut<'a>(
    x: &'a mut Array2<f32>,
    rows: &Range<usize>,
    columns: &Range<usize>,
) -> ArrayViewMut2<'a, f32> {
    let mut view = x.view_mut();
    view.slice_axis_inplace(Axis(0), Slice::from(rows.clone()));
    view.slice_axis_inplace(Axis(1), Slice::from(columns.clone()));
    view
}

/// For each token, the mean of the values weighted by how well its query matches their keys.
fn attention(query: ArrayView2<f32>, key: ArrayView2<f32>, value: ArrayView2<f32>) -> Array2<f32> {
    let scale = (query.ncols() as f32).sqrt().recip();
    let mut weights = query.dot(&key.t());
    for mut row in weights.rows_mut() {
        let most = row.fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        row.mapv_inplace(|it| ((it - most) * scale).exp());
        let sum = row.sum();
        row /= sum;
    }
    weights.dot(&value)
}

impl Linear {
    fn load(name: &str, tensors: &mut TensorFile) -> Result<Linear, String> {
        let weight = tensors.matrix(&format!("{name}.weight"))?;
        let bias = tensors.vector(&format!("{name}.bias"))?;
        if weight.nrows() != bias.len() {
            return Err(format!("tensor {name}: weight and bias differ in size"));
        }
        Ok(Linear { weight: weight.reversed_axes(), bias })
    }

    fn apply(&self, x: &Array2<f32>) -> Array2<f32> {
        x.dot(&self.weight) + &self.bias
    }
}

impl LayerNorm {
    fn load(name: &str, tensors: &mut TensorFile, epsilon: f32) -> Result<LayerNorm, String> {
        Ok(LayerNorm {
            weight: tensors.vector(&format!("{name}.weight"))?,
            bias: tensors.vector(&format!("{name}.bias"))?,
            epsilon,
        })
    }

    fn apply(&self, x: &mut Array2<f32>) {
        let width = x.ncols() as f32;
        for mut row in x.rows_mut() {
            let mean = row.sum() / width;
            row -= mean;
            let variance = row.dot(&row) / width;
            row *= (variance + self.epsilon).sqrt().recip();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

/// `x · Φ(x)`, with the error function after Abramowitz and Stegun 7.1.26 (error below 1.5e-7).
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let poly = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t
        + 0.254_829_6)
        * t;
    let erf = 1.0 - poly * (-z * z).exp();
    0.5 * x * (1.0 + erf.copysign(x))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn gelu_has_its_known_values() {
        for (x, y) in [(0.0, 0.0), (1.0, 0.841_345), (-1.0, -0.158_655), (3.0, 2.995_95)] {
            assert!((gelu(x) - y).abs() < 1e-5, "{x}");
        }
    }

    #[test]
    fn a_norm_brings_rows_to_mean_nought_and_variance_one() {
        let norm = LayerNorm { weight: array![1.0, 1.0], bias: array![0.0, 0.5], epsilon: 0.0 };
        let mut x = array![[1.0, 3.0]];
        norm.apply(&mut x);
        assert_eq!(x, array![[-1.0, 1.5]]);
    }

    #[test]
    fn attention_to_one_key_gives_its_value() {
        let far = array![[20.0_f32, 0.0], [0.0, 20.0]];
        let value = array![[1.0_f32, 2.0], [3.0, 4.0]];
        let found = attention(far.view(), far.view(), value.view());
        assert!((found - value).iter().all(|it| it.abs() < 1e-3));
    }
}
