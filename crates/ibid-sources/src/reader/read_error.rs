//! Errors of reading a page.
use ibid_core::{Error, ErrorKind, FailureReason, ReadFailure};
use ibid_extract::ParseError;

/// The error for a failure to read `url`. Its message names the reason: `reading …: robots: …`.
pub fn read_error(url: &str, reason: ReadFailure, why: &str) -> Error {
    let kind = match reason {
        ReadFailure::Timeout => ErrorKind::Transient,
        ReadFailure::NotFound => ErrorKind::NotFound,
        ReadFailure::TooLarge
        | ReadFailure::BotBlock
        | ReadFailure::Paywall
        | ReadFailure::Robots
        | ReadFailure::BlockedAddress
        | ReadFailure::Empty
        | ReadFailure::Unsupported
        | ReadFailure::Retracted
        | ReadFailure::Broken => ErrorKind::Malformed,
    };
    Error::new(kind, format!("reading {url}: {}: {why}", reason.as_str()))
        .with_reason(FailureReason::Read(reason))
}

/// The error for a failure to parse the document of `url` that was found at `location`.
pub(super) fn parse_error(url: &str, location: &str, error: &ParseError) -> Error {
    let reason = match error.reason {
        ReadFailure::Timeout => ReadFailure::Timeout,
        _ => ReadFailure::Empty,
    };
    read_error(url, reason, &format!("reading {location}: {}", error.message))
}
