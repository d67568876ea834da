//! Why a parser failed.
use ibid_core::ReadFailure;

/// Why a document could not be parsed. It does not name the file.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct ParseError {
    /// The kind of failure.
    pub reason: ReadFailure,
    /// What went wrong, as a phrase to follow the file's name.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(reason: ReadFailure, message: impl Into<String>) -> ParseError {
        ParseError { reason, message: message.into() }
    }

    /// A document of more than `max_bytes` bytes.
    pub(crate) fn too_large(max_bytes: u64) -> ParseError {
        let message = format!("larger than {} MiB", max_bytes >> 20);
        ParseError::new(ReadFailure::TooLarge, message)
    }

    /// A file of a format that no parser handles.
    pub(crate) fn unsupported_format() -> ParseError {
        ParseError::new(ReadFailure::Unsupported, "unsupported document format")
    }

    /// A document without text.
    pub(crate) fn empty() -> ParseError {
        ParseError::new(ReadFailure::Empty, "it contains no text")
    }

    /// A parser that panicked or did not reply.
    pub(crate) fn parser_failed() -> ParseError {
        ParseError::new(ReadFailure::Broken, "the parser failed")
    }

    /// A file that the operating system could not open or read.
    pub(crate) fn from_io(cause: &std::io::Error) -> ParseError {
        let reason = match cause.kind() {
            std::io::ErrorKind::NotFound => ReadFailure::NotFound,
            _ => ReadFailure::Broken,
        };
        ParseError::new(reason, format!("cannot be read: {cause}"))
    }
}
