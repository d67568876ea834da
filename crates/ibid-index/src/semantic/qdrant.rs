//! Vectors in Qdrant, over its REST API.
use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};

use ibid_core::Result;
use ibid_core::ports::{PassageVector, VectorIndex};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceAccess, ServiceClient};
use ibid_net::service_error::ServiceError;

/// Points in one request.
const BATCH: usize = 256;

/// The vectors of one collection in Qdrant, compared by their cosine. The collection is created with the first vector.
pub struct QdrantVectors {
    service: ServiceClient,
    path: String,
}

impl QdrantVectors {
    /// Opens `collection` (letters, digits, `-`, `_`) at the server. Sends nothing yet.
    ///
    /// # Errors
    /// `Setup` if the system's certificates cannot be read.
    pub fn open(access: ServiceAccess, collection: &str) -> Result<QdrantVectors> {
        let access = ServiceAccess { header: ("api-key", ""), ..access };
        Ok(QdrantVectors {
            service: ServiceClient::open("qdrant", access)?,
            path: format!("/collections/{collection}"),
        })
    }

    /// Sends a request and returns the `result` of the response; `None` if the collection does not exist yet.
    async fn request(&self, method: Method, rest: &str, body: Value) -> Result<Option<Value>> {
        let path = format!("{}{rest}", self.path);
        self.service.post_json(method, &path, &body, result).await
    }

    async fn create_collection(&self, width: usize) -> Result<()> {
        let existing = self.request(Method::GET, "", Value::Null).await?;
        if existing.is_none() {
            let config = json!({"vectors": {"size": width, "distance": "Cosine"}});
            self.request(Method::PUT, "", config).await?;
            let field = json!({"field_name": "url", "field_schema": "keyword"});
            self.request(Method::PUT, "/index?wait=true", field).await?;
        }
        Ok(())
    }
}

fn result(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> std::result::Result<Option<Value>, ServiceError> {
    if status == 404 {
        return Ok(None);
    }
    if !(200..300).contains(&status) {
        return Err(ServiceError::from_response(status, headers, body));
    }
    let mut value: Value = serde_json::from_slice(body)
        .map_err(|_| ServiceError::malformed("the response is not JSON"))?;
    Ok(Some(value["result"].take()))
}

#[async_trait]
impl VectorIndex for QdrantVectors {
    async fn missing_keys(&self, keys: &[u64]) -> Result<Vec<u64>> {
        let mut missing = Vec::new();
        for keys in keys.chunks(BATCH) {
            let body = json!({"ids": keys, "with_payload": false, "with_vector": false});
            let found = self.request(Method::POST, "/points", body).await?.unwrap_or_default();
            let rows = found.as_array().into_iter().flatten();
            let known: Vec<u64> = rows.filter_map(|row| row["id"].as_u64()).collect();
            missing.extend(keys.iter().filter(|key| !known.contains(key)));
        }
        Ok(missing)
    }

    async fn get(&self, keys: &[u64]) -> Result<Vec<(u64, Vec<f32>)>> {
        let body = json!({"ids": keys, "with_payload": false, "with_vector": true});
        let found = self.request(Method::POST, "/points", body).await?.unwrap_or_default();
        let row = |value: &Value| {
            let numbers = value["vector"].as_array()?.iter();
            let values = numbers.map(|it| it.as_f64().map(|number| number as f32));
            Some((value["id"].as_u64()?, values.collect::<Option<Vec<f32>>>()?))
        };
        Ok(found.as_array().into_iter().flatten().filter_map(row).collect())
    }

    async fn upsert(&self, vectors: &[PassageVector]) -> Result<()> {
        let Some(first) = vectors.first() else {
            return Ok(());
        };
        self.create_collection(first.values.len()).await?;
        for vectors in vectors.chunks(BATCH) {
            let point = |vector: &PassageVector| json!({"id": vector.key, "vector": vector.values, "payload": {"url": vector.url}});
            let points: Vec<Value> = vectors.iter().map(point).collect();
            self.request(Method::PUT, "/points?wait=true", json!({ "points": points })).await?;
        }
        Ok(())
    }

    async fn retain(&self, keys: &[u64]) -> Result<()> {
        let body = json!({"filter": {"must_not": [{"has_id": keys}]}});
        self.request(Method::POST, "/points/delete?wait=true", body).await?;
        Ok(())
    }

    async fn nearest(&self, to: &[f32], n: usize) -> Result<Vec<(u64, f32)>> {
        // Exact, because the neighbours that a graph misses change whenever it is rebuilt.
        let body =
            json!({"query": to, "limit": n, "with_payload": false, "params": {"exact": true}});
        let found = self.request(Method::POST, "/points/query", body).await?.unwrap_or_default();
        let row = |value: &Value| Some((value["id"].as_u64()?, value["score"].as_f64()? as f32));
        let rows = found["points"].as_array().into_iter().flatten();
        let mut found: Vec<(u64, f32)> = rows.filter_map(row).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    async fn url_exists(&self, url: &str) -> Result<bool> {
        let same = json!({"key": "url", "match": {"value": url}});
        let body = json!({"filter": {"must": [same]}, "exact": true});
        let found = self.request(Method::POST, "/points/count", body).await?.unwrap_or_default();
        Ok(found["count"].as_u64().unwrap_or(0) > 0)
    }
}
