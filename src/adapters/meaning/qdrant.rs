//! Vectors in Qdrant, over its REST interface.
use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};

use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Access, Service};
use crate::error::Result;
use crate::seams::{Vector, VectorIndex};

/// Points sent or asked for in one request.
const AT_ONCE: usize = 256;

/// The vectors of one collection in Qdrant. It is made with the first that is put; likeness is the cosine.
pub struct Qdrant {
    service: Service,
    path: String,
}

impl Qdrant {
    /// Opens `collection` (letters, digits, `-`, `_`) at the server. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` when the system's certificates cannot be read.
    pub fn open(access: Access, collection: &str) -> Result<Qdrant> {
        let access = Access {
            header: ("api-key", ""),
            ..access
        };
        Ok(Qdrant {
            service: Service::open("qdrant", access)?,
            path: format!("/collections/{collection}"),
        })
    }

    /// The `result` of an answer; `None` where the collection is not there yet.
    async fn ask(&self, method: Method, rest: &str, body: Value) -> Result<Option<Value>> {
        let path = format!("{}{rest}", self.path);
        self.service.ask(method, &path, &body, result).await
    }

    async fn make(&self, width: usize) -> Result<()> {
        let there = self.ask(Method::GET, "", Value::Null).await?;
        if there.is_none() {
            let form = json!({"vectors": {"size": width, "distance": "Cosine"}});
            self.ask(Method::PUT, "", form).await?;
            let field = json!({"field_name": "url", "field_schema": "keyword"});
            self.ask(Method::PUT, "/index?wait=true", field).await?;
        }
        Ok(())
    }
}

fn result(
    status: u16,
    headers: &Headers,
    body: &[u8],
) -> std::result::Result<Option<Value>, ModelFault> {
    if status == 404 {
        return Ok(None);
    }
    if !(200..300).contains(&status) {
        return Err(ModelFault::of_answer(status, headers, body));
    }
    let mut value: Value = serde_json::from_slice(body)
        .map_err(|_| ModelFault::malformed("the answer is not JSON"))?;
    Ok(Some(value["result"].take()))
}

#[async_trait]
impl VectorIndex for Qdrant {
    fn name(&self) -> &str {
        "qdrant"
    }

    async fn lacking(&self, keys: &[u64]) -> Result<Vec<u64>> {
        let mut lacking = Vec::new();
        for keys in keys.chunks(AT_ONCE) {
            let body = json!({"ids": keys, "with_payload": false, "with_vector": false});
            let found = self
                .ask(Method::POST, "/points", body)
                .await?
                .unwrap_or_default();
            let rows = found.as_array().into_iter().flatten();
            let known: Vec<u64> = rows.filter_map(|it| it["id"].as_u64()).collect();
            lacking.extend(keys.iter().filter(|it| !known.contains(it)));
        }
        Ok(lacking)
    }

    async fn put(&self, vectors: &[Vector]) -> Result<()> {
        let Some(first) = vectors.first() else {
            return Ok(());
        };
        self.make(first.values.len()).await?;
        for vectors in vectors.chunks(AT_ONCE) {
            let point = |it: &Vector| json!({"id": it.key, "vector": it.values, "payload": {"url": it.url}});
            let points: Vec<Value> = vectors.iter().map(point).collect();
            self.ask(
                Method::PUT,
                "/points?wait=true",
                json!({ "points": points }),
            )
            .await?;
        }
        Ok(())
    }

    async fn retain(&self, keys: &[u64]) -> Result<()> {
        let body = json!({"filter": {"must_not": [{"has_id": keys}]}});
        self.ask(Method::POST, "/points/delete?wait=true", body)
            .await?;
        Ok(())
    }

    async fn nearest(&self, to: &[f32], n: usize) -> Result<Vec<(u64, f32)>> {
        // Exact: neighbours that a graph misses would come and go as it is rebuilt.
        let body =
            json!({"query": to, "limit": n, "with_payload": false, "params": {"exact": true}});
        let found = self
            .ask(Method::POST, "/points/query", body)
            .await?
            .unwrap_or_default();
        let row = |it: &Value| Some((it["id"].as_u64()?, it["score"].as_f64()? as f32));
        let rows = found["points"].as_array().into_iter().flatten();
        let mut found: Vec<(u64, f32)> = rows.filter_map(row).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    async fn url_exists(&self, url: &str) -> Result<bool> {
        let same = json!({"key": "url", "match": {"value": url}});
        let body = json!({"filter": {"must": [same]}, "exact": true});
        let found = self
            .ask(Method::POST, "/points/count", body)
            .await?
            .unwrap_or_default();
        Ok(found["count"].as_u64().unwrap_or(0) > 0)
    }
}
