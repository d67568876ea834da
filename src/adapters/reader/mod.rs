//! Readers of pages that were found outside: the embedded one, servers that read pages, a browser, and what an engine gave itself.
//!
//! The embedded reader asks through the guard. What it could not read, the next reader tries; the last are the page as it was
//! in an earlier run, where its server is down, and the text that the engine itself gave, which is an abstract or the words of the page.
mod chromium;
mod crawl4ai;
mod drafts;
mod embedded;
mod firecrawl;
mod given;
mod jina;
mod kept;
mod open_text;
mod remote;
mod soft;
mod steel;

use crate::adapters::documents::Trouble;
use crate::domain::{Hit, Vertical};
use crate::error::{Error, Kind};
use crate::record::FailReason;

pub use chromium::Chromium;
pub use drafts::Drafts;
pub use embedded::Embedded;
pub use given::Given;
pub use kept::Kept;
pub use open_text::OpenText;
pub use remote::{Remote, Row, SERVERS};

/// Addresses of full text that are tried for one work.
const FULL_TEXTS: usize = 2;

/// Where the words of a hit may be, best first, and whether an address is one of full text. A work whose abstract came with it
/// is not looked for on the publisher's page, which has no more.
fn addresses(hit: &Hit) -> Vec<(&str, bool)> {
    let full = hit
        .work
        .full_text
        .iter()
        .map(|it| (it.as_str(), true))
        .take(FULL_TEXTS);
    let mut all: Vec<(&str, bool)> = full.collect();
    let scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
    if !scholarly || hit.text.is_none() {
        all.retain(|it| it.0 != hit.url);
        all.push((&hit.url, false));
    }
    all
}

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
        | FailReason::Retracted
        | FailReason::Broken => Kind::Malformed,
    };
    Error::new(kind, format!("reading {url}: {}: {why}", reason.word()))
}

/// A failure to parse what came from `url` and was found at `place`.
fn unparsed(url: &str, place: &str, trouble: &Trouble) -> Error {
    let reason = match trouble.reason {
        FailReason::Timeout => FailReason::Timeout,
        _ => FailReason::Empty,
    };
    unread(
        url,
        reason,
        &format!("reading {place}: {}", trouble.message),
    )
}

/// Whether a hit is of the web.
fn is_outside(hit: &Hit) -> bool {
    hit.file.is_none() && (hit.url.starts_with("http://") || hit.url.starts_with("https://"))
}
