//! What each server that reads pages implements.
use async_trait::async_trait;
use serde_json::Value;

use ibid_core::Result;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::ServiceClient;
use ibid_net::service_error::ServiceError;

/// The API of a server: the call that reads one page.
#[async_trait]
pub(super) trait ScrapeApi: Send + Sync {
    /// Lets the server read `url`.
    async fn scrape(&self, service: &ServiceClient, url: &str) -> Result<ScrapedPage>;
}

/// A page as a server read it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScrapedPage {
    pub(super) markdown: String,
    pub(super) title: Option<String>,
    /// The date as the server writes it.
    pub(super) date: Option<String>,
    pub(super) lang: Option<String>,
    /// The status of the page's own server.
    pub(super) status: Option<u16>,
    /// The address after redirects.
    pub(super) url: Option<String>,
}

/// Parses an answer as JSON.
///
/// # Errors
/// Also for an answer that says `"success": false`.
pub(super) fn parse_json(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> std::result::Result<Value, ServiceError> {
    if !(200..300).contains(&status) {
        return Err(ServiceError::from_response(status, headers, body));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| ServiceError::malformed("the response is not JSON"))?;
    match value.get("success") {
        Some(Value::Bool(false)) => Err(ServiceError::from_json(Some(status), headers, &value)),
        _ => Ok(value),
    }
}

/// The text at `path`, unless it is blank.
pub(super) fn text_at(value: &Value, path: &str) -> Option<String> {
    let text = value.pointer(path)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The HTTP status at `path`.
pub(super) fn status_at(value: &Value, path: &str) -> Option<u16> {
    let status = value.pointer(path)?.as_u64()?;
    u16::try_from(status).ok()
}
