//! Rerankers behind HTTP: Cohere, Jina, Infinity, and Hugging Face's Text Embeddings Inference.
use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;

use ibid_core::Result;
use ibid_core::ports::Ranker;
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
        })
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
        let words: Vec<&str> = sent.iter().map(|at| texts[*at]).collect();
        let body = match self.api {
            RerankApi::Tei => json!({ "query": query, "texts": words, "truncate": true }),
            _ => {
                json!({ "model": self.model, "query": query, "documents": words, "top_n": words.len() })
            }
        };
        let rows = self
            .service
            .post_json(Method::POST, self.api.path(), &body, |status, headers, body| {
                let rows = parse_scores(status, headers, body)?;
                if rows.iter().any(|(at, _)| *at >= words.len()) {
                    return Err(ServiceError::malformed(
                        "a score refers to a text that was not sent",
                    ));
                }
                Ok(rows)
            })
            .await?;
        for (at, score) in rows {
            found[sent[at]] = score;
        }
        Ok(found)
    }
}
