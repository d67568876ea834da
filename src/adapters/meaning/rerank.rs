//! Servers that put texts in order: Cohere, Jina, Infinity, and Hugging Face's Text Embeddings Inference.
use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;

use crate::adapters::model::ModelFault;
use crate::adapters::model::embeddings::scores;
use crate::adapters::service::{Access, Service};
use crate::error::Result;
use crate::seams::Ranker;

/// What is sent where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `POST /v2/rerank` with `documents`.
    Cohere,
    /// `POST /v1/rerank` with `documents`; Voyage, vLLM and llama.cpp take the same.
    Jina,
    /// `POST /rerank` with `documents`.
    Infinity,
    /// `POST /rerank` with `texts`; answers a bare list.
    Tei,
}

impl Shape {
    /// Every shape, by the name that settings use.
    pub const ALL: [(&'static str, Shape); 4] = [
        ("cohere", Shape::Cohere),
        ("jina", Shape::Jina),
        ("infinity", Shape::Infinity),
        ("tei", Shape::Tei),
    ];

    /// Where it is unless somebody says otherwise; empty for what people run themselves.
    pub fn base_url(self) -> &'static str {
        match self {
            Shape::Cohere => "https://api.cohere.com",
            Shape::Jina => "https://api.jina.ai",
            Shape::Infinity | Shape::Tei => "",
        }
    }

    /// Variables that may hold the key, the first that is set counts.
    pub fn key_vars(self) -> &'static [&'static str] {
        match self {
            Shape::Cohere => &["COHERE_API_KEY", "CO_API_KEY"],
            Shape::Jina => &["JINA_API_KEY"],
            Shape::Infinity | Shape::Tei => &[],
        }
    }

    fn path(self) -> &'static str {
        match self {
            Shape::Cohere => "/v2/rerank",
            Shape::Jina => "/v1/rerank",
            Shape::Infinity | Shape::Tei => "/rerank",
        }
    }
}

/// A reranker behind an HTTP interface.
pub struct HttpReranker {
    service: Service,
    shape: Shape,
    model: String,
}

impl HttpReranker {
    /// Opens the door to `model` at a server of this shape, known as `name`. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` when the system's certificates cannot be read.
    pub fn open(name: &str, shape: Shape, model: &str, access: Access) -> Result<HttpReranker> {
        Ok(HttpReranker {
            service: Service::open(name, access)?,
            shape,
            model: model.to_owned(),
        })
    }
}

#[async_trait]
impl Ranker for HttpReranker {
    fn name(&self) -> &str {
        self.service.name()
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        // Servers refuse texts without words; such a text scores 0.
        let asked: Vec<usize> = (0..texts.len())
            .filter(|it| !texts[*it].trim().is_empty())
            .collect();
        let mut found = vec![0.0; texts.len()];
        if asked.is_empty() {
            return Ok(found);
        }
        let words: Vec<&str> = asked.iter().map(|it| texts[*it]).collect();
        let body = match self.shape {
            Shape::Tei => json!({ "query": query, "texts": words, "truncate": true }),
            _ => {
                json!({ "model": self.model, "query": query, "documents": words, "top_n": words.len() })
            }
        };
        let rows = self
            .service
            .ask(
                Method::POST,
                self.shape.path(),
                &body,
                |status, headers, body| {
                    let rows = scores(status, headers, body)?;
                    match rows.iter().all(|it| it.0 < words.len()) {
                        true => Ok(rows),
                        false => Err(ModelFault::malformed(
                            "a score is of a text that was not sent",
                        )),
                    }
                },
            )
            .await?;
        for (at, score) in rows {
            found[asked[at]] = score;
        }
        Ok(found)
    }
}
