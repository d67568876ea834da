//! Parsers for other responses of providers: embeddings, reranker scores, lists of models.
use serde_json::Value;

use super::builder::count_value;
use ibid_net::json::list_field;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

/// Embeddings, one per text, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// The vectors.
    pub vectors: Vec<Vec<f32>>,
    /// Input tokens, if the provider reports them.
    pub input_tokens: Option<u64>,
    /// The provider's name for the model.
    pub model: Option<String>,
}

impl Embeddings {
    /// Parses the formats of OpenAI (`data[].embedding`, as numbers), Ollama and Cohere (`embeddings`), and Google
    /// (`embedding.values`, `embeddings[].values`).
    ///
    /// # Errors
    /// The error that the provider reported; `Malformed` if there are no vectors, or vectors of different lengths.
    pub fn parse(
        status: u16,
        headers: &ResponseHeaders,
        body: &[u8],
    ) -> Result<Embeddings, ServiceError> {
        let value = json(status, headers, body)?;
        let null = &Value::Null;
        let floats = value.pointer("/embeddings/float").unwrap_or(null);
        let mut rows: Vec<(u64, &Value)> = Vec::new();
        for (nth, it) in (0..).zip(list_field(&value, "data")) {
            let at = count_value(it.get("index")).unwrap_or(nth);
            rows.push((at, it.get("embedding").unwrap_or(null)));
        }
        let bare =
            list_field(&value, "embeddings").iter().chain(floats.as_array().into_iter().flatten());
        rows.extend((0..).zip(bare.map(|it| it.get("values").unwrap_or(it))));
        let single = value.get("embedding").map(|value| value.get("values").unwrap_or(value));
        rows.extend(single.map(|it| (0, it)));
        rows.sort_by_key(|row| row.0);
        let vectors: Option<Vec<Vec<f32>>> = rows.into_iter().map(|row| vector(row.1)).collect();
        let vectors = vectors.filter(|all| {
            let length = all.first().map_or(0, Vec::len);
            length > 0 && all.iter().all(|it| it.len() == length)
        });
        let Some(vectors) = vectors else {
            return Err(ServiceError::malformed(
                "the embeddings in the response differ in length or are missing",
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
            input_tokens: counts.iter().find_map(|count| count_value(value.pointer(count))),
            model: value.get("model").and_then(Value::as_str).map(str::to_owned),
        })
    }
}

/// Reads numbers, or OpenAI's `base64` format: little-endian 32-bit floats.
fn vector(value: &Value) -> Option<Vec<f32>> {
    if let Some(coded) = value.as_str() {
        let bytes = base64(coded)?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        return rest
            .is_empty()
            .then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect());
    }
    let numbers = value.as_array()?;
    numbers.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
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

/// Parses the scores of a reranker: the index of each text and its score, in the order returned.
///
/// # Errors
/// The error that the provider reported; `Malformed` if there are no scores.
pub fn parse_scores(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> Result<Vec<(usize, f32)>, ServiceError> {
    let value = json(status, headers, body)?;
    // Text Embeddings Inference returns a bare list.
    let rows = match (value.as_array(), list_field(&value, "results")) {
        (Some(rows), _) => rows,
        (None, []) => list_field(&value, "data"),
        (None, rows) => rows,
    };
    let row = |value: &Value| {
        let at = usize::try_from(count_value(value.get("index"))?).ok()?;
        let score = value.get("relevance_score").or_else(|| value.get("score"))?.as_f64()?;
        Some((at, score as f32))
    };
    let scores: Option<Vec<(usize, f32)>> = rows.iter().map(row).collect();
    scores
        .filter(|score| !score.is_empty())
        .ok_or_else(|| ServiceError::malformed("the response has no scores"))
}

fn json(status: u16, headers: &ResponseHeaders, body: &[u8]) -> Result<Value, ServiceError> {
    if !(200..300).contains(&status) {
        return Err(ServiceError::from_response(status, headers, body));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| ServiceError::malformed("the response is not JSON"))?;
    match value.get("error") {
        Some(error) if !error.is_null() => Err(ServiceError::from_json(None, headers, &value)),
        _ => Ok(value),
    }
}
