//! Small answers that providers give beside completions: embeddings, scores of a reranker, the list of their models.
use serde_json::Value;

use super::draft::{count, text};
use super::fault::{ModelFault, list};
use super::retry_after::Headers;

/// Embeddings, one a text, in the order of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// The vectors.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens sent, where the provider says.
    pub input_tokens: Option<u64>,
    /// The model that answered.
    pub model: Option<String>,
}

impl Embeddings {
    /// Reads the answer of OpenAI's form (`data[].embedding`, as numbers), of Ollama's or Cohere's (`embeddings`), and
    /// of Google's (`embedding.values`, `embeddings[].values`).
    ///
    /// # Errors
    /// What the provider said instead; `Malformed` when there are no vectors, or vectors of different lengths.
    pub fn parse(status: u16, headers: &Headers, body: &[u8]) -> Result<Embeddings, ModelFault> {
        let value = json(status, headers, body)?;
        let null = &Value::Null;
        let floats = value.pointer("/embeddings/float").unwrap_or(null);
        let mut rows: Vec<(u64, &Value)> = Vec::new();
        for (nth, it) in (0..).zip(list(&value, "data")) {
            let at = count(it.get("index")).unwrap_or(nth);
            rows.push((at, it.get("embedding").unwrap_or(null)));
        }
        let bare = list(&value, "embeddings")
            .iter()
            .chain(floats.as_array().into_iter().flatten());
        rows.extend((0..).zip(bare.map(|it| it.get("values").unwrap_or(it))));
        let single = value
            .get("embedding")
            .map(|it| it.get("values").unwrap_or(it));
        rows.extend(single.map(|it| (0, it)));
        rows.sort_by_key(|it| it.0);
        let vectors: Option<Vec<Vec<f32>>> = rows.into_iter().map(|it| vector(it.1)).collect();
        let vectors = vectors.filter(|all| {
            let length = all.first().map_or(0, Vec::len);
            length > 0 && all.iter().all(|it| it.len() == length)
        });
        let Some(vectors) = vectors else {
            return Err(ModelFault::malformed(
                "the answer holds no embeddings of one length",
            ));
        };
        let counts = [
            "/usage/prompt_tokens",
            "/usage/total_tokens",
            "/prompt_eval_count",
            "/meta/billed_units/input_tokens",
        ];
        Ok(Embeddings {
            vectors,
            input_tokens: counts.iter().find_map(|it| count(value.pointer(it))),
            model: value
                .get("model")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }
}

/// Numbers, or what OpenAI calls `base64`: those of 32 bits, the lowest byte first.
fn vector(value: &Value) -> Option<Vec<f32>> {
    if let Some(coded) = value.as_str() {
        let bytes = base64(coded)?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        return rest
            .is_empty()
            .then(|| numbers.iter().map(|it| f32::from_le_bytes(*it)).collect());
    }
    let numbers = value.as_array()?;
    numbers
        .iter()
        .map(|it| it.as_f64().map(|it| it as f32))
        .collect()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

/// What a reranker says of each text: its place among those sent, and its score, in the order given.
///
/// # Errors
/// What the provider said instead; `Malformed` when there are no scores.
pub fn scores(
    status: u16,
    headers: &Headers,
    body: &[u8],
) -> Result<Vec<(usize, f32)>, ModelFault> {
    let value = json(status, headers, body)?;
    // Text Embeddings Inference answers a bare list.
    let rows = match (value.as_array(), list(&value, "results")) {
        (Some(rows), _) => rows,
        (None, []) => list(&value, "data"),
        (None, rows) => rows,
    };
    let row = |it: &Value| {
        let at = usize::try_from(count(it.get("index"))?).ok()?;
        let score = it
            .get("relevance_score")
            .or_else(|| it.get("score"))?
            .as_f64()?;
        Some((at, score as f32))
    };
    let scores: Option<Vec<(usize, f32)>> = rows.iter().map(row).collect();
    scores
        .filter(|it| !it.is_empty())
        .ok_or_else(|| ModelFault::malformed("the answer holds no scores"))
}

/// The names of the models that a provider offers, from its answer to `GET /models` (or Ollama's `/api/tags`).
///
/// # Errors
/// What the provider said instead; `Malformed` when the answer is no list.
pub fn models(status: u16, headers: &Headers, body: &[u8]) -> Result<Vec<String>, ModelFault> {
    let value = json(status, headers, body)?;
    let lists = [value.get("data"), value.get("models"), Some(&value)];
    let Some(Value::Array(rows)) = lists.into_iter().flatten().find(|it| it.is_array()) else {
        return Err(ModelFault::malformed("the answer is no list of models"));
    };
    let name = |it: &Value| {
        let name = match (text(it, "id"), text(it, "name")) {
            ("", name) => name.trim_start_matches("models/"),
            (id, _) => id,
        };
        (!name.is_empty()).then(|| name.to_owned())
    };
    Ok(rows.iter().filter_map(name).collect())
}

fn json(status: u16, headers: &Headers, body: &[u8]) -> Result<Value, ModelFault> {
    if !(200..300).contains(&status) {
        return Err(ModelFault::of_answer(status, headers, body));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| ModelFault::malformed("the answer is not JSON"))?;
    match value.get("error") {
        Some(error) if !error.is_null() => Err(ModelFault::of_value(None, headers, &value)),
        _ => Ok(value),
    }
}
