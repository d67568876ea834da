//! Readers of pages that were found outside: the embedded one, and what an engine gave itself.
//!
//! The embedded reader asks through the guard. What it could not read, the next reader tries; the last is the text that the
//! engine itself gave, which is an abstract or the words of the page.
mod embedded;
mod given;
mod soft;

use crate::domain::Hit;
use crate::error::{Error, Kind};
use crate::record::FailReason;

pub use embedded::Embedded;
pub use given::Given;

/// A failure to read `url`, in words from which its reason can be told again: `reading …: robots: …`.
pub(in crate::adapters) fn unread(url: &str, reason: FailReason, why: &str) -> Error {
    let kind = match reason {
        FailReason::Timeout => Kind::Transient,
        FailReason::NotFound => Kind::NotFound,
        FailReason::TooLarge
        | FailReason::BotBlock
        | FailReason::Paywall
        | FailReason::Robots
        | FailReason::BlockedAddress
        | FailReason::Empty
        | FailReason::Unsupported
        | FailReason::Broken => Kind::Malformed,
    };
    Error::new(kind, format!("reading {url}: {}: {why}", reason.word()))
}

/// Whether a hit is of the web.
fn is_outside(hit: &Hit) -> bool {
    hit.file.is_none() && (hit.url.starts_with("http://") || hit.url.starts_with("https://"))
}
