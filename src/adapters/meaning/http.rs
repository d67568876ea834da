//! Vectors from a server that speaks OpenAI's `/embeddings` or Ollama's `/api/embed`.
use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;

use super::unit;
use crate::adapters::model::embeddings::Embeddings;
use crate::adapters::model::providers::Auth;
use crate::adapters::model::{Dialect, ModelFault, Target};
use crate::adapters::service::{Access, Service};
use crate::error::{Error, Kind, Result};
use crate::seams::Embedder;

/// Texts sent in one request: within the bounds of the known providers (Mistral's and Ollama's have none stated, OpenAI's is 2,048).
const AT_ONCE: usize = 64;

/// An embedding model behind an HTTP interface.
pub struct HttpEmbedder {
    service: Service,
    model: String,
    path: &'static str,
}

impl HttpEmbedder {
    /// Opens the door to `target`. Nothing is sent yet.
    ///
    /// # Errors
    /// `Usage` for a provider whose embeddings have another form, `Setup` when the system's certificates cannot be read.
    pub fn open(target: Target) -> Result<HttpEmbedder> {
        let path = match target.provider.dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => "/embeddings",
            Dialect::Ollama => "/api/embed",
            _ => {
                let what = format!("embeddings of {}", target.provider.name);
                return Err(Error::new(Kind::Usage, what)
                    .hint("name a provider with OpenAI's form, as in `openai:text-embedding-3-small`, or `custom` with `embedding.base_url`"));
            }
        };
        let name = target.name();
        let header = match target.provider.auth {
            Auth::Bearer => ("authorization", "Bearer "),
            Auth::Header(name) => (name, ""),
        };
        let access = Access {
            base_url: target.base_url,
            header,
            key: target.key,
        };
        Ok(HttpEmbedder {
            service: Service::open(&name, access)?,
            model: target.model,
            path,
        })
    }

    async fn some(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        // A text without words is refused by some servers.
        let texts: Vec<&str> = texts
            .iter()
            .map(|it| if it.trim().is_empty() { "." } else { it })
            .collect();
        let body = json!({ "model": self.model, "input": texts });
        let vectors = self
            .service
            .ask(Method::POST, self.path, &body, |status, headers, body| {
                let found = Embeddings::parse(status, headers, body)?.vectors;
                match found.len() == texts.len() {
                    true => Ok(found),
                    false => Err(ModelFault::malformed(
                        "there are not as many embeddings as texts",
                    )),
                }
            })
            .await?;
        Ok(vectors.into_iter().map(unit).collect())
    }
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        self.service.name()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut found = Vec::with_capacity(texts.len());
        for texts in texts.chunks(AT_ONCE) {
            found.extend(self.some(texts).await?);
        }
        Ok(found)
    }
}
