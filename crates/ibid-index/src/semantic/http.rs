//! Vectors from a server that speaks OpenAI's `/embeddings` or Ollama's `/api/embed`.
use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;

use ibid_core::ports::{Embedder, unit_length};
use ibid_core::{Error, ErrorKind, Result};
use ibid_llm::embeddings::Embeddings;
use ibid_llm::providers::Auth;
use ibid_llm::{Dialect, ModelTarget};
use ibid_net::service::{ServiceAccess, ServiceClient};
use ibid_net::service_error::ServiceError;

/// Texts in one request: within the limits of the known providers (Mistral and Ollama state none, OpenAI 2,048).
const BATCH: usize = 64;

/// An embedding model behind an HTTP interface.
pub struct HttpEmbedder {
    service: ServiceClient,
    model: String,
    path: &'static str,
}

impl HttpEmbedder {
    /// An embedder for `target`. Sends nothing yet.
    ///
    /// # Errors
    /// `Usage` for a provider with another embeddings API, `Setup` if the system's certificates cannot be read.
    pub fn open(target: ModelTarget) -> Result<HttpEmbedder> {
        let path = match target.provider.dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => "/embeddings",
            Dialect::Ollama => "/api/embed",
            _ => {
                let what = format!("embeddings of {}", target.provider.name);
                return Err(Error::new(ErrorKind::Usage, what)
                    .with_hint("name a provider with OpenAI's embeddings API, as in `openai:text-embedding-3-small`, or `custom` with `embedding.base_url`"));
            }
        };
        let name = target.name();
        let header = match target.provider.auth {
            Auth::Bearer => ("authorization", "Bearer "),
            Auth::Header(name) => (name, ""),
        };
        let access = ServiceAccess { base_url: target.base_url, header, key: target.key };
        Ok(HttpEmbedder { service: ServiceClient::open(&name, access)?, model: target.model, path })
    }

    async fn embed_batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        // Some servers reject a text without words.
        let texts: Vec<&str> =
            texts.iter().map(|text| if text.trim().is_empty() { "." } else { text }).collect();
        let body = json!({ "model": self.model, "input": texts });
        let vectors = self
            .service
            .post_json(Method::POST, self.path, &body, |status, headers, body| {
                let found = Embeddings::parse(status, headers, body)?.vectors;
                if found.len() != texts.len() {
                    return Err(ServiceError::malformed(
                        "the number of embeddings differs from the number of texts",
                    ));
                }
                Ok(found)
            })
            .await?;
        Ok(vectors.into_iter().map(unit_length).collect())
    }
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        self.service.name()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut found = Vec::with_capacity(texts.len());
        for texts in texts.chunks(BATCH) {
            found.extend(self.embed_batch(texts).await?);
        }
        Ok(found)
    }
}
