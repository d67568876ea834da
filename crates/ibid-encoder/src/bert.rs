//! A small BERT from local files, such as all-MiniLM-L6-v2.
//!
//! The directory has Hugging Face's layout: `config.json`, `tokenizer.json` (WordPiece) and `model.safetensors`. The vector
//! of a text is the mean over its tokens, as in sentence-transformers. Weights may be floats, which are quantized to 8 bits
//! on loading, or quantized already (`models/train/quantize.py`). `adapter.safetensors` may stand beside them: with it the model
//! also scores pairs of texts ([`CrossEncoder`]). The forward pass is written here because it is a page of matrix
//! products, and a framework would bring a hundred crates.
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rayon::prelude::*;
use serde_json::Value;

use crate::cross_encoder::CrossEncoder;
use crate::encoder::Encoder;
use crate::weights::Weights;
use crate::wordpiece::{Tokens, WordPiece};
use ibid_core::ports::{Embedder, unit_length};
use ibid_core::{Error, ErrorKind, Result};

/// Tokens of a text that count: sentence-transformers truncates texts for these models to as many.
const MAX_TOKENS: usize = 256;
/// The file of the weights.
const MODEL: &str = "model.safetensors";
/// The file of the adapter for pairs of texts, beside the model.
const ADAPTER: &str = "adapter.safetensors";

/// A loaded model.
pub struct Bert {
    name: String,
    dir: PathBuf,
    parts: Arc<BertModel>,
    /// The adapter beside the model, or why it cannot be used.
    cross_encoder: OnceLock<std::result::Result<Option<CrossEncoder>, String>>,
}

struct BertModel {
    tokenizer: Arc<WordPiece>,
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
            let tokenizer = || WordPiece::from_json(&json(&dir.join("tokenizer.json"))?);
            let encoder = || Encoder::load(&config, &Weights::open(&dir.join(MODEL), None)?);
            let (tokenizer, encoder) = rayon::join(tokenizer, encoder);
            Ok(BertModel { tokenizer: Arc::new(tokenizer?), encoder: encoder? })
        };
        let parts = load().map_err(|why| {
            Error::new(ErrorKind::Setup, format!("loading the model in {}", dir.display()))
                .with_source(why)
                .with_hint("name a directory with the config.json, tokenizer.json and model.safetensors of a BERT such as all-MiniLM-L6-v2")
        })?;
        let last = dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(Bert {
            name: format!("local/{last}"),
            dir: dir.to_owned(),
            parts: Arc::new(parts),
            cross_encoder: OnceLock::new(),
        })
    }

    /// The cross-encoder whose adapter stands beside the model as `adapter.safetensors`; `None` if there is no such file. The
    /// first call loads it, and later calls return the same. An adapter of all six layers of all-MiniLM-L6-v2 takes 11 MB of memory.
    ///
    /// # Errors
    /// `Setup` if the file is damaged or does not fit the model.
    pub fn cross_encoder(&self) -> Result<Option<CrossEncoder>> {
        let file = self.dir.join(ADAPTER);
        let load = || match std::fs::metadata(&file) {
            Ok(it) if it.is_file() => self.load_cross_encoder(&file).map(Some),
            Ok(_) => Err("it is not a regular file".to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        self.cross_encoder.get_or_init(load).clone().map_err(|why| adapter_error(&file, why))
    }

    /// The cross-encoder with the adapter in `file`, loaded anew.
    ///
    /// # Errors
    /// As [`Bert::cross_encoder`], and `Setup` if there is no such file.
    pub fn cross_encoder_from(&self, file: &Path) -> Result<CrossEncoder> {
        self.load_cross_encoder(file).map_err(|why| adapter_error(file, why))
    }

    fn load_cross_encoder(&self, file: &Path) -> std::result::Result<CrossEncoder, String> {
        let weights = Weights::open(&self.dir.join(MODEL), Some(file))?;
        let BertModel { tokenizer, encoder } = &*self.parts;
        let name = format!("{}/adapter", self.name);
        CrossEncoder::load(name, (tokenizer, encoder), &weights)
    }
}

fn adapter_error(file: &Path, why: String) -> Error {
    Error::new(ErrorKind::Setup, format!("loading the adapter {}", file.display()))
        .with_source(why)
        .with_hint("copy the file from the same version of Ibid as the model, or remove it")
}

fn json(path: &Path) -> std::result::Result<Value, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

impl BertModel {
    /// The vectors of `texts`.
    fn embed(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let most = MAX_TOKENS.min(self.encoder.max_tokens());
        let tokens: Vec<Tokens> =
            texts.par_iter().map(|text| self.tokenizer.encode(text, most)).collect();
        self.encoder.embed(&tokens).into_iter().map(unit_length).collect()
    }
}

#[async_trait]
impl Embedder for Bert {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed_words(&self, texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        let BertModel { tokenizer, encoder } = &*self.parts;
        let most = MAX_TOKENS.min(encoder.max_tokens());
        let embed = |text: &&str| unit_length(encoder.sum_tokens(&tokenizer.encode(text, most)));
        Some(texts.par_iter().map(embed).collect())
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
