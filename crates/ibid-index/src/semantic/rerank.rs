//! Rerankers behind HTTP: Cohere, Jina, Infinity, and Hugging Face's Text Embeddings Inference.
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;

use ibid_core::ports::Ranker;
use ibid_core::{Error, Result};
use ibid_llm::embeddings::parse_scores;
use ibid_net::service::{ServiceAccess, ServiceClient};
use ibid_net::service_error::ServiceError;

/// The API of a rerank server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerankApi {
    /// `POST /v2/rerank` with `documents`.
    Cohere,
    /// `POST /v1/rerank` with `documents`; also Voyage, vLLM and llama.cpp.
    Jina,
    /// `POST /rerank` with `documents`.
    Infinity,
    /// `POST /rerank` with `texts`; the response is a bare list.
    Tei,
}

impl RerankApi {
    /// Every API with its name in the settings.
    pub const ALL: [(&'static str, RerankApi); 4] = [
        ("cohere", RerankApi::Cohere),
        ("jina", RerankApi::Jina),
        ("infinity", RerankApi::Infinity),
        ("tei", RerankApi::Tei),
    ];

    /// The default base URL; empty for self-hosted servers.
    pub fn base_url(self) -> &'static str {
        match self {
            RerankApi::Cohere => "https://api.cohere.com",
            RerankApi::Jina => "https://api.jina.ai",
            RerankApi::Infinity | RerankApi::Tei => "",
        }
    }

    /// Environment variables for the key; the first that is set counts.
    pub fn key_vars(self) -> &'static [&'static str] {
        match self {
            RerankApi::Cohere => &["COHERE_API_KEY", "CO_API_KEY"],
            RerankApi::Jina => &["JINA_API_KEY"],
            RerankApi::Infinity | RerankApi::Tei => &[],
        }
    }

    /// Texts in one request at first. Cohere bills a search for every hundred documents; Text Embeddings Inference, whose
    /// default is the lowest of all servers, takes 32.
    fn first_batch(self) -> usize {
        match self {
            RerankApi::Cohere => 100,
            RerankApi::Jina | RerankApi::Infinity | RerankApi::Tei => 32,
        }
    }

    fn path(self) -> &'static str {
        match self {
            RerankApi::Cohere => "/v2/rerank",
            RerankApi::Jina => "/v1/rerank",
            RerankApi::Infinity | RerankApi::Tei => "/rerank",
        }
    }
}

/// A reranker behind HTTP.
pub struct HttpReranker {
    service: ServiceClient,
    api: RerankApi,
    model: String,
    /// How many texts a request may have, as far as is known.
    batch: AtomicUsize,
}

impl HttpReranker {
    /// A reranker called `name` that uses `model` at a server with this `api`. Sends nothing yet.
    ///
    /// # Errors
    /// `Setup` if the system's certificates cannot be read.
    pub fn open(
        name: &str,
        api: RerankApi,
        model: &str,
        access: ServiceAccess,
    ) -> Result<HttpReranker> {
        Ok(HttpReranker {
            service: ServiceClient::open(name, access)?,
            api,
            model: model.to_owned(),
            batch: AtomicUsize::new(api.first_batch()),
        })
    }

    /// The scores of `texts`, in one request: the index of each text with its score.
    async fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<(usize, f32)>> {
        let body = match self.api {
            RerankApi::Tei => json!({ "query": query, "texts": texts, "truncate": true }),
            _ => {
                json!({ "model": self.model, "query": query, "documents": texts, "top_n": texts.len() })
            }
        };
        self.service
            .post_json(Method::POST, self.api.path(), &body, |status, headers, body| {
                let rows = parse_scores(status, headers, body)?;
                if rows.iter().any(|(at, _)| *at >= texts.len()) {
                    return Err(ServiceError::malformed(
                        "a score refers to a text that was not sent",
                    ));
                }
                Ok(rows)
            })
            .await
    }

    /// Remembers that `sent` texts were too many. Returns whether fewer can be sent.
    fn shrink(&self, sent: usize, error: &Error) -> bool {
        if !error.is_prompt_too_long() || sent < 2 {
            return false;
        }
        // As in `batch size 63 > maximum allowed batch size 32`.
        let text = error.chain();
        let named = text.split_once("maximum allowed batch size ").and_then(|(_, rest)| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|batch| (1..sent).contains(batch))
        });
        self.batch.fetch_min(named.unwrap_or(sent / 2), Ordering::Relaxed);
        true
    }
}

#[async_trait]
impl Ranker for HttpReranker {
    fn name(&self) -> &str {
        self.service.name()
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        // Servers reject texts without words; such a text scores 0.
        let sent: Vec<usize> =
            (0..texts.len()).filter(|at| !texts[*at].trim().is_empty()).collect();
        let mut found = vec![0.0; texts.len()];
        if sent.is_empty() {
            return Ok(found);
        }
        let mut rest = sent.as_slice();
        while !rest.is_empty() {
            let batch = rest.len().min(self.batch.load(Ordering::Relaxed).max(1));
            let texts: Vec<&str> = rest[..batch].iter().map(|at| texts[*at]).collect();
            match self.scores(query, &texts).await {
                Ok(rows) => {
                    for (at, score) in rows {
                        found[rest[at]] = score;
                    }
                    rest = &rest[batch..];
                }
                Err(error) if self.shrink(batch, &error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}
