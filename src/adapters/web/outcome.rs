//! What fetching from the open web is bound by, and what it comes to.
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::guard::Blocked;
use crate::record::FailReason;

/// How long is waited and how much is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// For a name's addresses.
    pub lookup: Duration,
    /// For a connection.
    pub connect: Duration,
    /// Between two pieces of an answer, and before the first.
    pub silence: Duration,
    /// For the page, with all redirects.
    pub whole: Duration,
    /// Of a page, bytes after unpacking.
    pub page_bytes: usize,
    /// Of a PDF or another document, bytes.
    pub document_bytes: usize,
}

impl Default for Bounds {
    /// 5 s for a name, 8 s to connect, 10 s of silence, 25 s in all; 8 MiB of a page, 32 MiB of a document.
    fn default() -> Bounds {
        Bounds {
            lookup: Duration::from_secs(5),
            connect: Duration::from_secs(8),
            silence: Duration::from_secs(10),
            whole: Duration::from_secs(25),
            page_bytes: 8 << 20,
            document_bytes: 32 << 20,
        }
    }
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it came from in the end.
    pub url: String,
    /// What the server says it is.
    pub content_type: Option<String>,
    /// The body, unpacked.
    pub bytes: Vec<u8>,
    /// Redirects followed.
    pub redirects: usize,
    /// By what the server tells whether it is unchanged.
    pub validators: Validators,
    /// Whether the server lets it be kept.
    pub may_be_kept: bool,
}

/// By what a server tells whether a page is unchanged (RFC 9110, 8.8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// `Last-Modified`, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// Why nothing came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfetched {
    /// What a reader of events is told.
    pub reason: FailReason,
    /// What happened, for the operator. Of a blocked address strangers are told no more than that it is blocked.
    pub why: String,
    /// What the server answered, where it did.
    pub status: Option<u16>,
}

impl Unfetched {
    pub(super) fn new(reason: FailReason, why: impl Into<String>) -> Unfetched {
        Unfetched {
            reason,
            why: why.into(),
            status: None,
        }
    }
}

impl From<Blocked> for Unfetched {
    fn from(it: Blocked) -> Unfetched {
        let why = format!("{}: {}", it.at.word(), it.why);
        Unfetched::new(FailReason::BlockedAddress, why)
    }
}

/// What an answer that is no page means.
pub(in crate::adapters) fn refused(status: u16) -> Unfetched {
    let reason = match status {
        401 | 402 | 407 => FailReason::Paywall,
        403 | 406 | 418 | 429 | 503 => FailReason::BotBlock,
        404 | 410 => FailReason::NotFound,
        408 | 504 => FailReason::Timeout,
        413 => FailReason::TooLarge,
        451 => FailReason::Unsupported,
        _ => FailReason::Broken,
    };
    Unfetched {
        status: Some(status),
        ..Unfetched::new(reason, format!("the server answered {status}"))
    }
}
