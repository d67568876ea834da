//! Limits on what one document may cost.
use std::ffi::OsString;

use crate::parse_error::ParseError;
use crate::pool::Parser;
use crate::process::ChildLimits;

/// Limits on what one document may cost, and the parser for hostile documents.
#[derive(Debug, Clone)]
pub struct ExtractLimits {
    /// Bytes of one document: a file, or one line of a JSONL file. 32 MiB.
    pub max_bytes: u64,
    /// Wall-clock seconds for one document that is parsed in a child. 20.
    pub pdf_seconds: u64,
    /// Address space of the child, in bytes. 512 MiB.
    pub pdf_memory_bytes: u64,
    /// Parses documents in child processes; `None` if this program cannot be started as the child (see [`Parser`]).
    pub parser: Option<Parser>,
    /// The search path for `pdftotext` and `pdfinfo`. Empty: PDFs are read by the parser built into this program.
    pub path: OsString,
}

impl ExtractLimits {
    /// Starts a child process if the parser has none. Call it while a document for it is being fetched.
    pub fn warm_up(&self) {
        if let Some(parser) = &self.parser {
            parser.warm_up(&self.child_limits());
        }
    }

    /// The part of the limits that a child process needs.
    pub(crate) fn child_limits(&self) -> ChildLimits {
        ChildLimits {
            seconds: self.pdf_seconds,
            memory_bytes: self.pdf_memory_bytes,
            path: self.path.clone(),
        }
    }

    /// Rejects a document of more than `max_bytes`.
    pub(crate) fn check_size(&self, bytes: &[u8]) -> Result<(), ParseError> {
        if bytes.len() as u64 > self.max_bytes {
            return Err(ParseError::too_large(self.max_bytes));
        }
        Ok(())
    }
}

impl Default for ExtractLimits {
    fn default() -> ExtractLimits {
        ExtractLimits {
            max_bytes: 32 << 20,
            pdf_seconds: 20,
            pdf_memory_bytes: 512 << 20,
            parser: Parser::current(),
            path: OsString::new(),
        }
    }
}
