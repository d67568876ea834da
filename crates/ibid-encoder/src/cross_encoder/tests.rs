use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use ibid_core::{ErrorKind, Result};

use super::*;
use crate::bert::Bert;
use crate::tensors::TensorFile;

const WIDTH: usize = 384;
const LAYERS: usize = 6;
/// The linear maps of a layer, with outputs and inputs.
const LINEAR: [(&str, usize, usize); 6] = [
    ("attention.self.query", WIDTH, WIDTH),
    ("attention.self.key", WIDTH, WIDTH),
    ("attention.self.value", WIDTH, WIDTH),
    ("attention.output.dense", WIDTH, WIDTH),
    ("intermediate.dense", 4 * WIDTH, WIDTH),
    ("output.dense", WIDTH, 4 * WIDTH),
];
const QUESTION: &str = "How much rain does a green roof hold?";
const SENTENCES: [&str; 3] = [
    "A planted roof with ten centimetres of soil holds half of the rain of a year.",
    "The library closes at six.",
    "Skylarks tried to breed on four roofs and raised no young, although the counts ran from spring to autumn.",
];

/// The tensors of an adapter by name: shape and numbers, which 16 bits hold exactly.
type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

fn model_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/all-MiniLM-L6-v2")
}

/// Numbers from -1 to 1 (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn numbers(&mut self, count: usize, factor: f32) -> Vec<f32> {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let number = ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * factor;
            // 10 bits of the mantissa, and no numbers below the normal ones.
            if number.abs() < 1e-4 { 0.0 } else { f32::from_bits(number.to_bits() & !0x1fff) }
        };
        (0..count).map(|_| next()).collect()
    }
}

/// The heads, and products of rank 4 for the layers from `first` on. `factor` is about how much the weights change.
fn adapter(first: usize, factor: f32) -> Tensors {
    let mut random = Random(20_261_126);
    let mut tensors = Tensors::new();
    let mut add = |name: String, shape: &[usize], factor: f32| {
        let numbers = random.numbers(shape.iter().product(), factor);
        tensors.insert(name, (shape.to_vec(), numbers));
    };
    for layer in first..LAYERS {
        for (name, outputs, inputs) in LINEAR {
            let name = format!("encoder.layer.{layer}.{name}");
            add(format!("{name}.lora_A"), &[4, inputs], 1.0);
            add(format!("{name}.lora_B"), &[outputs, 4], factor);
        }
    }
    for (name, outputs) in [("relevance", 1), ("support", 3)] {
        add(format!("{name}.weight"), &[outputs, WIDTH], 0.3);
        add(format!("{name}.bias"), &[outputs], 0.5);
    }
    tensors
}

/// The bytes of a safetensors file.
fn safetensors(tensors: &Tensors, dtype: &str) -> Vec<u8> {
    let (mut header, mut numbers) = (Map::new(), Vec::new());
    for (name, (shape, values)) in tensors {
        let from = numbers.len();
        for value in values {
            match dtype {
                "F16" if *value == 0.0 => numbers.extend([0; 2]),
                "F16" => {
                    let bits = value.to_bits();
                    let half = ((bits & 0x7fff_ffff) >> 13) - ((127 - 15) << 10);
                    numbers.extend((half as u16 | (bits >> 16) as u16 & 0x8000).to_le_bytes());
                }
                _ => numbers.extend(value.to_le_bytes()),
            }
        }
        let offsets = [from, numbers.len()];
        header
            .insert(name.clone(), json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}));
    }
    header.insert("__metadata__".to_owned(), json!({"format": "np"}));
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(numbers);
    file
}

fn open(bytes: &[u8]) -> Result<CrossEncoder> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("adapter.safetensors");
    std::fs::write(&file, bytes).unwrap();
    Bert::open(&model_dir()).unwrap().cross_encoder_from(&file)
}

fn near(one: PairScores, other: PairScores, most: f32) -> bool {
    let numbers = |it: PairScores| [it.relevance, it.entailment, it.neutral, it.contradiction];
    numbers(one).iter().zip(numbers(other)).all(|(a, b)| (a - b).abs() <= most)
}

/// BERT in plain loops of floats.
struct Reference {
    model: TensorFile,
    adapter: Tensors,
}

impl Reference {
    /// The weight called `name`, with the product of the adapter.
    fn weight(&mut self, name: &str, (outputs, inputs): (usize, usize)) -> Vec<f32> {
        let matrix = self.model.quantized_matrix(&format!("{name}.weight")).unwrap();
        let mut weight = vec![0.0; outputs * inputs];
        for (nth, row) in weight.chunks_exact_mut(inputs).enumerate() {
            matrix.add_row(nth, row);
        }
        if let Some((shape, right)) = self.adapter.get(&format!("{name}.lora_A")) {
            let left = &self.adapter[&format!("{name}.lora_B")].1;
            for output in 0..outputs {
                for input in 0..inputs {
                    for nth in 0..shape[0] {
                        weight[output * inputs + input] +=
                            left[output * shape[0] + nth] * right[nth * inputs + input];
                    }
                }
            }
        }
        weight
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        match self.adapter.get(name) {
            Some((_, values)) => values.clone(),
            None => self.model.vector(name).unwrap(),
        }
    }

    fn linear(&mut self, x: &[f32], name: &str, (outputs, inputs): (usize, usize)) -> Vec<f32> {
        let weight = self.weight(name, (outputs, inputs));
        let bias = self.vector(&format!("{name}.bias"));
        let mut out = Vec::new();
        for row in x.chunks_exact(inputs) {
            for (weights, bias) in weight.chunks_exact(inputs).zip(&bias) {
                out.push(row.iter().zip(weights).map(|(a, b)| a * b).sum::<f32>() + bias);
            }
        }
        out
    }

    fn norm(&mut self, x: &mut [f32], name: &str) {
        let weight = self.vector(&format!("{name}.weight"));
        let bias = self.vector(&format!("{name}.bias"));
        for row in x.chunks_exact_mut(WIDTH) {
            let mean = row.iter().sum::<f32>() / WIDTH as f32;
            let variance = row.iter().map(|it| (it - mean).powi(2)).sum::<f32>() / WIDTH as f32;
            for (it, (weight, bias)) in row.iter_mut().zip(weight.iter().zip(&bias)) {
                *it = (*it - mean) / (variance + 1e-12).sqrt() * weight + bias;
            }
        }
    }

    fn attention(query: &[f32], key: &[f32], value: &[f32]) -> Vec<f32> {
        let (tokens, head_width) = (query.len() / WIDTH, WIDTH / 12);
        let mut out = vec![0.0; query.len()];
        for head in 0..12 {
            let part =
                |x: &[f32], row: usize| x[row * WIDTH + head * head_width..][..head_width].to_vec();
            for row in 0..tokens {
                let product = |other: usize| {
                    let (a, b) = (part(query, row), part(key, other));
                    let product: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
                    (product / (head_width as f32).sqrt()).exp()
                };
                let weights: Vec<f32> = (0..tokens).map(product).collect();
                let sum: f32 = weights.iter().sum();
                for (other, weight) in weights.iter().enumerate() {
                    for (nth, it) in part(value, other).iter().enumerate() {
                        out[row * WIDTH + head * head_width + nth] += weight / sum * it;
                    }
                }
            }
        }
        out
    }

    fn mean(&mut self, tokens: &Tokens) -> Vec<f32> {
        let types = self.vector("embeddings.token_type_embeddings.weight");
        let words = self.model.quantized_matrix("embeddings.word_embeddings.weight").unwrap();
        let places = self.model.quantized_matrix("embeddings.position_embeddings.weight").unwrap();
        let mut x = vec![0.0; tokens.ids.len() * WIDTH];
        for (place, row) in x.chunks_exact_mut(WIDTH).enumerate() {
            let kind = usize::from(place >= tokens.first);
            row.copy_from_slice(&types[kind * WIDTH..][..WIDTH]);
            words.add_row(tokens.ids[place], row);
            places.add_row(place, row);
        }
        self.norm(&mut x, "embeddings.LayerNorm");
        let sum =
            |a: Vec<f32>, b: &[f32]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f32>>();
        for layer in 0..LAYERS {
            let at = |name: &str| format!("encoder.layer.{layer}.{name}");
            let square = (WIDTH, WIDTH);
            let query = self.linear(&x, &at("attention.self.query"), square);
            let key = self.linear(&x, &at("attention.self.key"), square);
            let value = self.linear(&x, &at("attention.self.value"), square);
            let mixed = Reference::attention(&query, &key, &value);
            let attended = self.linear(&mixed, &at("attention.output.dense"), square);
            let mut inner = sum(attended, &x);
            self.norm(&mut inner, &at("attention.output.LayerNorm"));
            let mut wide = self.linear(&inner, &at("intermediate.dense"), (4 * WIDTH, WIDTH));
            wide.iter_mut().for_each(|it| *it = gelu(*it));
            x = sum(self.linear(&wide, &at("output.dense"), (WIDTH, 4 * WIDTH)), &inner);
            self.norm(&mut x, &at("output.LayerNorm"));
        }
        let rows = tokens.ids.len();
        (0..WIDTH)
            .map(|nth| (0..rows).map(|row| x[row * WIDTH + nth]).sum::<f32>() / rows as f32)
            .collect()
    }

    /// The mean over the tokens of a pair, and its scores.
    fn score(adapter: &Tensors, tokens: &Tokens) -> (Vec<f32>, PairScores) {
        let model = TensorFile::open(&model_dir().join("model.safetensors")).unwrap();
        let mean = Reference { model, adapter: adapter.clone() }.mean(tokens);
        let logit = |head: &str, nth: usize| {
            let weight = &adapter[&format!("{head}.weight")].1[nth * WIDTH..];
            let bias = adapter[&format!("{head}.bias")].1[nth];
            mean.iter().zip(weight).map(|(a, b)| a * b).sum::<f32>() + bias
        };
        let powers = [0, 1, 2].map(|nth| logit("support", nth).exp());
        let part = |nth: usize| powers[nth] / powers.iter().sum::<f32>();
        let scores = PairScores {
            relevance: 1.0 / (1.0 + (-logit("relevance", 0)).exp()),
            entailment: part(0),
            neutral: part(1),
            contradiction: part(2),
        };
        (mean, scores)
    }
}

/// With the approximation by tanh, which differs from the error function by less than 0.001.
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
}

#[test]
fn scores_are_those_of_the_same_model_in_floats() {
    let mut tensors = adapter(1, 0.02);
    // One map, one norm and the token types besides.
    tensors.remove("encoder.layer.3.attention.self.key.lora_A");
    tensors.remove("encoder.layer.3.attention.self.key.lora_B");
    let mut random = Random(7);
    let types = random.numbers(2 * WIDTH, 0.05);
    let weight =
        random.numbers(WIDTH, 0.25).into_iter().map(|it| 1.0 + (it * 256.0).round() / 256.0);
    tensors.insert("embeddings.token_type_embeddings.weight".to_owned(), (vec![2, WIDTH], types));
    tensors.insert(
        "encoder.layer.2.attention.output.LayerNorm.weight".to_owned(),
        (vec![WIDTH], weight.collect()),
    );
    let heads = tensors.iter().filter(|(name, _)| !name.contains("encoder"));
    let plain: Tensors = heads.map(|(name, tensor)| (name.clone(), tensor.clone())).collect();
    let plain = open(&safetensors(&plain, "F16")).unwrap();
    for dtype in ["F16", "F32"] {
        let model = open(&safetensors(&tensors, dtype)).unwrap();
        for second in &SENTENCES[..2] {
            let pair = [(QUESTION, *second)];
            let (mean, known) = Reference::score(&tensors, &model.tokens(&pair)[0]);
            let found = model.score(&pair)[0];
            assert!(near(found, known, 0.05), "{found:?} {known:?}");
            let sum = found.entailment + found.neutral + found.contradiction;
            assert!((sum - 1.0).abs() < 1e-5, "{found:?}");
            // The adapter changes much more than quantization does, also with 7 bits on processors without VNNI (0.986).
            let (same, other) =
                (cosine(&model.means(&pair)[0], &mean), cosine(&plain.means(&pair)[0], &mean));
            assert!(same > 0.98 && other < 0.9, "{same} {other}");
        }
    }
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

#[test]
fn an_adapter_of_zeros_leaves_the_model_as_it_is() {
    let model = open(&safetensors(&adapter(0, 0.0), "F16")).unwrap();
    let tokens = model.tokens(&[(QUESTION, SENTENCES[0])]);
    let file = model_dir().join("config.json");
    let config = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let weights = Weights::open(&model_dir().join("model.safetensors"), None).unwrap();
    let plain = Encoder::load(&config, &weights).unwrap();
    assert_eq!(model.means(&[(QUESTION, SENTENCES[0])]), plain.embed(&tokens));
    // The second text has its own token type: as one text, the same tokens have another mean.
    let as_one = [Tokens { first: tokens[0].ids.len(), ids: tokens[0].ids.clone() }];
    assert_ne!(plain.embed(&tokens), plain.embed(&as_one));
}

#[test]
fn a_damaged_adapter_is_an_error_that_names_file_and_tensor() {
    let whole = adapter(4, 0.01);
    let fails = |bytes: &[u8], name: &str| {
        let error = open(bytes).err().unwrap();
        let said = error.chain();
        assert_eq!(error.kind(), ErrorKind::Setup, "{said}");
        assert!(said.contains("adapter.safetensors") && said.contains(name), "{name}: {said}");
    };
    let bytes = safetensors(&whole, "F16");
    assert!(open(&bytes).is_ok());
    for length in [0, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        fails(&bytes[..length], "");
    }
    fails(&[0xff; 64], "");
    let (linear, norm) = ("encoder.layer.4.output.dense", "encoder.layer.5.output.LayerNorm.bias");
    let changed = |name: &str, shape: &[usize], value: f32| {
        let mut tensors = whole.clone();
        let numbers = vec![value; shape.iter().product()];
        tensors.insert(name.to_owned(), (shape.to_vec(), numbers));
        safetensors(&tensors, "F32")
    };
    let shapes: [(&str, &[usize]); 10] = [
        (&format!("{linear}.lora_A"), &[4, WIDTH]),
        (&format!("{linear}.lora_A"), &[0, 4 * WIDTH]),
        (&format!("{linear}.lora_A"), &[16 * WIDTH]),
        (&format!("{linear}.lora_B"), &[4, WIDTH]),
        (norm, &[WIDTH, 1]),
        ("embeddings.token_type_embeddings.weight", &[WIDTH, 2]),
        ("relevance.weight", &[WIDTH]),
        ("support.weight", &[2, WIDTH]),
        ("support.bias", &[4]),
        ("encoder.layer.6.output.dense.lora_A", &[4, WIDTH]),
    ];
    for (name, shape) in shapes {
        fails(&changed(name, shape, 0.5), name);
    }
    for (name, shape) in [(norm, &[WIDTH][..]), ("relevance.weight", &[1, WIDTH])] {
        for value in [f32::NAN, f32::INFINITY, 1e30] {
            fails(&changed(name, shape, value), name);
        }
    }
    for name in [&format!("{linear}.lora_A"), &format!("{linear}.lora_B"), "support.bias"] {
        let mut tensors = whole.clone();
        tensors.remove(name);
        fails(&safetensors(&tensors, "F16"), name);
    }
    let missing =
        Bert::open(&model_dir()).unwrap().cross_encoder_from(Path::new("nowhere.safetensors"));
    assert!(missing.is_err_and(|error| error.chain().contains("nowhere.safetensors")));
}

#[tokio::test]
async fn a_pair_has_the_same_scores_whatever_is_scored_with_it() {
    let model = open(&safetensors(&adapter(2, 0.01), "F16")).unwrap();
    let long = SENTENCES.join(" ").repeat(9);
    let texts: Vec<String> = (0..100)
        .map(|nth| format!("{} {}", &long[..long.floor_char_boundary(nth * 4)], SENTENCES[nth % 3]))
        .collect();
    let pairs: Vec<(&str, &str)> = texts
        .iter()
        .enumerate()
        .map(|(nth, text)| (if nth % 2 == 0 { QUESTION } else { SENTENCES[0] }, text.as_str()))
        .collect();
    let together = model.score(&pairs);
    assert_eq!(together.len(), 100);
    for (pair, scores) in pairs.iter().zip(&together).step_by(7) {
        assert_eq!(model.score(&[*pair])[0], *scores, "{pair:?}");
    }
    let mut backwards = pairs.clone();
    backwards.reverse();
    assert!(model.score(&backwards).iter().eq(together.iter().rev()));
    assert!(together.windows(2).all(|two| two[0] != two[1]));
    assert!(model.score(&[]).is_empty());
    assert_eq!(model.score(&[("", "")]).len(), 1);
}

#[test]
fn the_first_text_is_kept_whole_and_the_second_is_cut() {
    let model = open(&safetensors(&adapter(6, 0.0), "F16")).unwrap();
    let [short, long] = [62, 500].map(|count| "rain ".repeat(count));
    let count = |first: &str, second: &str| {
        let tokens = &model.tokens(&[(first, second)])[0];
        (tokens.first, tokens.ids.len())
    };
    assert_eq!(count(&short, &long), (FIRST_TOKENS, PAIR_TOKENS));
    assert_eq!(count(&long, &long), (FIRST_TOKENS, PAIR_TOKENS));
    assert_eq!(count("rain", &long), (3, PAIR_TOKENS));
    assert_eq!(count(&long, "rain"), (FIRST_TOKENS, FIRST_TOKENS + 2));
    assert_eq!(count("", ""), (2, 3));
    // The last of 62 tokens of a question counts, the next one does not.
    let scores = |first: &str| model.score(&[(first, &long)])[0];
    let begun = "rain ".repeat(61);
    assert_ne!(scores(&short), scores(&format!("{begun} dog")));
    assert_eq!(scores(&short), scores(&format!("{short} dog")));
}

#[test]
fn the_adapter_beside_the_model_is_loaded_once() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(model_dir().join(file), dir.path().join(file)).unwrap();
    }
    let file = dir.path().join("adapter.safetensors");
    let bert = || Bert::open(dir.path()).unwrap();
    assert!(bert().cross_encoder().unwrap().is_none());
    std::fs::write(&file, [0; 64]).unwrap();
    let damaged = bert();
    std::fs::write(&file, safetensors(&adapter(5, 0.01), "F16")).unwrap();
    let bert = bert();
    let models = [(); 2].map(|()| bert.cross_encoder().unwrap().unwrap());
    assert!(Arc::ptr_eq(&models[0].0, &models[1].0));
    // Nothing was read before the first call.
    assert!(damaged.cross_encoder().unwrap().is_some());
    std::fs::write(&file, [0; 64]).unwrap();
    assert!(bert.cross_encoder().unwrap().is_some());
    let damaged = Bert::open(dir.path()).unwrap();
    for _ in 0..2 {
        let error = damaged.cross_encoder().err().unwrap();
        assert!(error.chain().contains("adapter.safetensors"), "{}", error.chain());
    }
}
