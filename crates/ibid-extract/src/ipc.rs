//! The protocol between this process and its parser processes: frames with a length prefix.
use std::io::{Error, ErrorKind, Read, Result, Write};

use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::sandbox::{Confinement, SandboxEscapes};

/// Bytes of a reply: a document of the largest size, and what JSON adds to it.
pub(crate) const MAX_REPLY: usize = 48 << 20;

/// A request to a parser. The bytes of the document follow in their own frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum ParseRequest {
    /// Parse one document.
    Parse {
        /// The format.
        format: Format,
        /// The address or path of the document, against which its links are resolved.
        name: String,
        /// The content type sent by the server.
        content_type: Option<String>,
    },
    /// Parse the output of poppler for a PDF. The frame holds the text, the dictionary and the packet.
    PdfText {
        /// The address or path, as in `Parse`.
        name: String,
        /// Bytes of the text.
        text: usize,
        /// Bytes of the dictionary after the text; the rest is the packet.
        dictionary: usize,
        /// Whether the text was cut.
        cut: bool,
    },
    /// Try to escape from the sandbox.
    Probe,
}

/// A parser's reply.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "one is made per document")]
pub(crate) enum ParseReply {
    /// Sent once, before the first request is read.
    Ready(Confinement),
    /// The document, or why it could not be parsed.
    Parsed(ParseResult),
    /// The escapes that succeeded.
    Probed(SandboxEscapes),
}

type ParseResult = std::result::Result<ParsedDocument, ParseError>;

/// Writes one frame that consists of the slices in `bytes`.
pub(crate) fn write_frame(to: &mut impl Write, bytes: &[&[u8]]) -> Result<()> {
    let whole: usize = bytes.iter().map(|byte| byte.len()).sum();
    let length =
        u32::try_from(whole).map_err(|_| Error::new(ErrorKind::InvalidInput, "frame too large"))?;
    to.write_all(&length.to_le_bytes())?;
    for it in bytes {
        to.write_all(it)?;
    }
    to.flush()
}

/// Reads one frame of at most `most` bytes; `None` at the end of the stream.
pub(crate) fn read_frame(from: &mut impl Read, most: usize) -> Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(Error::new(ErrorKind::InvalidData, "frame too large"));
    }
    // The announced length is not trusted: memory grows with the bytes that arrive.
    let mut bytes = Vec::with_capacity(length.min(256 << 10));
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}
