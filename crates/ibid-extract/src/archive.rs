//! Zip containers, with limits on the number of entries and the unpacked bytes.
use std::io::{Cursor, Read};

use crate::parse_error::ParseError;
use ibid_core::ReadFailure;

/// Entries of a container; no document has more.
const MAX_ENTRIES: usize = 20_000;

/// Bytes that all entries read from one container may unpack to.
const MAX_UNPACKED: u64 = 32 << 20;

/// A zip file in memory, and how many bytes may still be unpacked from it.
pub(crate) struct Archive<'a> {
    zip: zip::ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Opens a container.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Archive<'a>, ParseError> {
        let zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        if zip.len() > MAX_ENTRIES {
            return Err(ParseError::new(ReadFailure::TooLarge, "too many files in the container"));
        }
        Ok(Archive { zip, left: MAX_UNPACKED })
    }

    /// Unpacks one entry; `None` if there is no such entry.
    pub(crate) fn read_entry(&mut self, name: &str) -> Result<Option<Vec<u8>>, ParseError> {
        let mut entry = match self.zip.by_name(name) {
            Ok(entry) => entry,
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            Err(cause) if cause.to_string().to_lowercase().contains("password") => {
                return Err(ParseError::new(ReadFailure::Unsupported, "it is encrypted"));
            }
            Err(cause) => return Err(damaged(cause)),
        };
        let mut bytes = Vec::new();
        let unpacked = (&mut entry).take(self.left + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > self.left {
            return Err(ParseError::new(
                ReadFailure::TooLarge,
                format!("unpacks to more than {} MiB", MAX_UNPACKED >> 20),
            ));
        }
        unpacked.map_err(damaged)?;
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }
}

fn damaged(cause: impl std::fmt::Display) -> ParseError {
    ParseError::new(ReadFailure::Broken, format!("damaged container: {cause}"))
}
