//! What goes between the server and a process that parses for it: frames with their length in front.
use std::io::{Error, ErrorKind, Read, Result, Write};

use serde::{Deserialize, Serialize};

use super::sandbox::{Confinement, Escapes};
use super::{Format, ParsedDocument, Trouble};

/// The most bytes that a parser may answer with: a document of the largest size that is read, with what JSON adds to it.
pub(super) const MAX_REPLY: usize = 48 << 20;

/// What a parser is to do; the bytes of the document follow in a frame of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ParseRequest {
    /// Parse one document.
    Parse {
        /// What it is.
        format: Format,
        /// Where it was found: an address or a path, against which its links are resolved.
        name: String,
        /// The content type that came with it.
        content_type: Option<String>,
    },
    /// Parse what the programs of poppler said of a PDF: the frame holds the text, the dictionary and the packet.
    PdfText {
        /// The name of the file, as in `Parse`.
        name: String,
        /// Bytes of the text.
        text: usize,
        /// Bytes of the dictionary behind it; the rest is the packet.
        dictionary: usize,
        /// Whether the text was cut.
        cut: bool,
    },
    /// Try what must not be possible.
    Probe,
}

/// What a parser answers.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "one is made a document")]
pub(super) enum ParseReply {
    /// Said once, before the first request is read.
    Ready(Confinement),
    /// What came of a document.
    Parsed(Parsed),
    /// What was possible after all.
    Probed(Escapes),
}

type Parsed = std::result::Result<ParsedDocument, Trouble>;

/// Writes one frame.
pub(super) fn send(to: &mut impl Write, bytes: &[&[u8]]) -> Result<()> {
    let whole: usize = bytes.iter().map(|it| it.len()).sum();
    let length = u32::try_from(whole)
        .map_err(|_| Error::new(ErrorKind::InvalidInput, "larger than a frame"))?;
    to.write_all(&length.to_le_bytes())?;
    for it in bytes {
        to.write_all(it)?;
    }
    to.flush()
}

/// Reads one frame of at most `most` bytes; `None` at the end of the stream.
pub(super) fn receive(from: &mut impl Read, most: usize) -> Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(Error::new(ErrorKind::InvalidData, "more than was agreed"));
    }
    // What is said to come is not what comes: memory grows with the bytes.
    let mut bytes = Vec::with_capacity(length.min(256 << 10));
    from.take(length as u64).read_to_end(&mut bytes)?;
    match bytes.len() == length {
        true => Ok(Some(bytes)),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}
