//! A small BERT from local files, such as all-MiniLM-L6-v2.
//!
//! The directory has Hugging Face's layout: `config.json`, `tokenizer.json` (WordPiece) and `model.safetensors`. The vector
//! of a text is the mean over its tokens, as in sentence-transformers. Weights may be floats, which are quantized to 8 bits
//! on loading, or quantized already (`models/train/quantize.py`). The forward pass is written here because it is a page of matrix
//! products, and a framework would bring a hundred crates.
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rayon::prelude::*;
use serde_json::Value;

use crate::encoder::Encoder;
use crate::tensors::TensorFile;
use crate::wordpiece::WordPiece;
use ibid_core::ports::{Embedder, unit_length};
use ibid_core::{Error, ErrorKind, Result};

/// Tokens of a text that count: sentence-transformers truncates texts for these models to as many.
const MAX_TOKENS: usize = 256;
/// Tokens in one batch.
const BATCH_TOKENS: usize = 256;

/// A loaded model.
pub struct Bert {
    name: String,
    parts: Arc<BertModel>,
}

struct BertModel {
    tokenizer: WordPiece,
    encoder: Encoder,
}

impl Bert {
    /// Loads the model in `dir` (about 25 MB of memory for all-MiniLM-L6-v2).
    ///
    /// # Errors
    /// `Setup` if the directory holds no BERT or cannot be read.
    pub fn open(dir: &Path) -> Result<Bert> {
        let load = || -> std::result::Result<BertModel, String> {
            let config = json(&dir.join("config.json"))?;
            let words = WordPiece::from_json(&json(&dir.join("tokenizer.json"))?)?;
            let mut tensors = TensorFile::open(&dir.join("model.safetensors"))?;
            let encoder = Encoder::load(&config, &mut tensors)?;
            Ok(BertModel { tokenizer: words, encoder })
        };
        let parts = load().map_err(|why| {
            Error::new(ErrorKind::Setup, format!("loading the model in {}", dir.display()))
                .with_source(why)
                .with_hint("name a directory with the config.json, tokenizer.json and model.safetensors of a BERT such as all-MiniLM-L6-v2")
        })?;
        let last = dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(Bert { name: format!("local/{last}"), parts: Arc::new(parts) })
    }
}

fn json(path: &Path) -> std::result::Result<Value, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

impl BertModel {
    /// The vectors of `texts`. Texts of similar length share a batch.
    fn embed(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let most = MAX_TOKENS.min(self.encoder.max_tokens());
        let ids: Vec<Vec<usize>> =
            texts.iter().map(|text| self.tokenizer.encode(text, most)).collect();
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|number| ids[*number].len());
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut tokens = 0;
        for at in order {
            tokens += ids[at].len();
            match batches.last_mut().filter(|_| tokens <= BATCH_TOKENS) {
                Some(batch) => batch.push(at),
                None => {
                    tokens = ids[at].len();
                    batches.push(vec![at]);
                }
            }
        }
        let done: Vec<Vec<Vec<f32>>> = batches
            .par_iter()
            .map(|batch| {
                let texts: Vec<&[usize]> = batch.iter().map(|it| ids[*it].as_slice()).collect();
                self.encoder.embed(&texts)
            })
            .collect();
        let mut found = vec![Vec::new(); texts.len()];
        for (at, vector) in batches.into_iter().flatten().zip(done.into_iter().flatten()) {
            found[at] = unit_length(vector);
        }
        found
    }
}

#[async_trait]
impl Embedder for Bert {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let parts = Arc::clone(&self.parts);
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let doing = || Error::new(ErrorKind::Internal, format!("embedding with {}", self.name));
        let found = tokio::task::spawn_blocking(move || parts.embed(&texts))
            .await
            .map_err(|error| doing().with_source(error))?;
        if found.iter().any(Vec::is_empty) {
            return Err(doing().with_source("a thread failed"));
        }
        Ok(found)
    }
}
