//! Limits and results of fetching from the open web.
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::guard::BlockedUrl;
use ibid_core::ReadFailure;

/// Timeouts and size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// For name resolution.
    pub lookup: Duration,
    /// For the connection.
    pub connect: Duration,
    /// Between two pieces of a response, and before the first.
    pub silence: Duration,
    /// For the whole page, including redirects.
    pub whole: Duration,
    /// Maximum size of a page, bytes after decompression.
    pub page_bytes: usize,
    /// Maximum size of a PDF or another document, in bytes.
    pub document_bytes: usize,
}

impl Default for FetchLimits {
    /// 5 s for a name, 8 s to connect, 10 s between pieces, 25 s in total; 8 MiB for a page, 32 MiB for a document.
    fn default() -> FetchLimits {
        FetchLimits {
            lookup: Duration::from_secs(5),
            connect: Duration::from_secs(8),
            silence: Duration::from_secs(10),
            whole: Duration::from_secs(25),
            page_bytes: 8 << 20,
            document_bytes: 32 << 20,
        }
    }
}

/// A fetched page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// The final URL, after redirects.
    pub url: String,
    /// The `content-type` header.
    pub content_type: Option<String>,
    /// The body, decompressed.
    pub bytes: Vec<u8>,
    /// Number of redirects followed.
    pub redirects: usize,
    /// Validators for revalidation.
    pub validators: Validators,
    /// Whether the server allows caching.
    pub may_be_kept: bool,
}

/// Validators of a response (RFC 9110, 8.8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// The `ETag` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The `Last-Modified` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// Why a page could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchError {
    /// The reason in events.
    pub reason: ReadFailure,
    /// Details for the operator. For blocked addresses, clients are only told that they are blocked.
    pub why: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
}

impl FetchError {
    pub(super) fn new(reason: ReadFailure, why: impl Into<String>) -> FetchError {
        FetchError { reason, why: why.into(), status: None }
    }
}

impl From<BlockedUrl> for FetchError {
    fn from(blocked: BlockedUrl) -> FetchError {
        let why = format!("{}: {}", blocked.step.as_str(), blocked.why);
        FetchError::new(ReadFailure::BlockedAddress, why)
    }
}

/// Converts an error status to an error.
pub fn status_error(status: u16) -> FetchError {
    let reason = match status {
        401 | 402 | 407 => ReadFailure::Paywall,
        403 | 406 | 418 | 429 | 503 => ReadFailure::BotBlock,
        404 | 410 => ReadFailure::NotFound,
        408 | 504 => ReadFailure::Timeout,
        413 => ReadFailure::TooLarge,
        451 => ReadFailure::Unsupported,
        _ => ReadFailure::Broken,
    };
    FetchError {
        status: Some(status),
        ..FetchError::new(reason, format!("the server answered {status}"))
    }
}
