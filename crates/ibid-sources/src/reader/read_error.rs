//! Errors of reading a page.
use ibid_core::record::FailReason;
use ibid_core::{Error, Kind};
use ibid_extract::ParseError;

/// The error for a failure to read `url`. [`FailReason::from_message`] finds the reason in its text: `reading …: robots: …`.
pub fn read_error(url: &str, reason: FailReason, why: &str) -> Error {
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
    Error::new(kind, format!("reading {url}: {}: {why}", reason.as_str()))
}

/// The error for a failure to parse the document of `url` that was found at `location`.
pub(super) fn parse_error(url: &str, location: &str, error: &ParseError) -> Error {
    let reason = match error.reason {
        FailReason::Timeout => FailReason::Timeout,
        _ => FailReason::Empty,
    };
    read_error(url, reason, &format!("reading {location}: {}", error.message))
}
