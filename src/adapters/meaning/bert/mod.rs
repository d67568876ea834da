//! A small BERT in local files, run here: all-MiniLM-L6-v2 and its like.
//!
//! The directory is one of Hugging Face's: `config.json`, `tokenizer.json` (WordPiece) and `model.safetensors`. The
//! vector of a text is the mean over its tokens, as sentence-transformers has it for these models. The forward pass is
//! a page of matrix products, which is why it is written here instead of taken from a framework of a hundred crates.
mod encoder;
mod tensors;
mod wordpiece;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use self::encoder::Encoder;
use self::tensors::Tensors;
use self::wordpiece::WordPiece;
use super::unit;
use crate::error::{Error, Kind, Result};
use crate::seams::Embedder;

/// Tokens of a text that count: what sentence-transformers cuts these models' texts to.
const MOST_TOKENS: usize = 256;
/// Tokens that go through the model together.
const BATCH_TOKENS: usize = 1_024;

/// The model, loaded.
pub struct Bert {
    name: String,
    parts: Arc<Parts>,
}

struct Parts {
    words: WordPiece,
    encoder: Encoder,
}

impl Bert {
    /// Loads the model in `dir` (some 90 MB of memory for all-MiniLM-L6-v2).
    ///
    /// # Errors
    /// `Setup` for a directory that holds no BERT, or one that cannot be read.
    pub fn open(dir: &Path) -> Result<Bert> {
        let load = || -> std::result::Result<Parts, String> {
            let config = json(&dir.join("config.json"))?;
            let words = WordPiece::of(&json(&dir.join("tokenizer.json"))?)?;
            let mut tensors = Tensors::open(&dir.join("model.safetensors"))?;
            let encoder = Encoder::of(&config, &mut tensors)?;
            Ok(Parts { words, encoder })
        };
        let parts = load().map_err(|why| {
            Error::new(Kind::Setup, format!("loading the model in {}", dir.display()))
                .because(why)
                .hint("name a directory with the config.json, tokenizer.json and model.safetensors of a BERT such as all-MiniLM-L6-v2")
        })?;
        let last = dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(Bert {
            name: format!("local/{last}"),
            parts: Arc::new(parts),
        })
    }
}

fn json(path: &Path) -> std::result::Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|it| format!("{}: {it}", path.display()))?;
    serde_json::from_str(&text).map_err(|it| format!("{}: {it}", path.display()))
}

impl Parts {
    /// A vector for each of `texts`; texts of like length go through together.
    fn embed(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let most = MOST_TOKENS.min(self.encoder.most_tokens());
        let ids: Vec<Vec<usize>> = texts.iter().map(|it| self.words.ids(it, most)).collect();
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|it| ids[*it].len());
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
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut found = vec![Vec::new(); texts.len()];
        std::thread::scope(|scope| {
            let shares: Vec<_> = (0..workers.min(batches.len()))
                .map(|nth| {
                    let mine = batches.iter().skip(nth).step_by(workers);
                    let ids = &ids;
                    scope.spawn(move || {
                        mine.flat_map(|batch| {
                            let texts: Vec<&[usize]> =
                                batch.iter().map(|it| ids[*it].as_slice()).collect();
                            batch
                                .iter()
                                .copied()
                                .zip(self.encoder.vectors(&texts))
                                .collect::<Vec<_>>()
                        })
                        .collect::<Vec<_>>()
                    })
                })
                .collect();
            for share in shares {
                for (at, vector) in share.join().unwrap_or_default() {
                    found[at] = unit(vector);
                }
            }
        });
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
        let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
        let doing = || Error::new(Kind::Internal, format!("embedding with {}", self.name));
        let found = tokio::task::spawn_blocking(move || parts.embed(&texts))
            .await
            .map_err(|it| doing().because(it))?;
        match found.iter().all(|it| !it.is_empty()) {
            true => Ok(found),
            false => Err(doing().because("a thread failed")),
        }
    }
}
