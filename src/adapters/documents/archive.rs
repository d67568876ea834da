//! Zip containers with every number capped: entries, bytes unpacked, ratio.
use std::io::{Cursor, Read};

use super::Trouble;
use crate::record::FailReason;

/// Entries beyond this many: no document has them.
const MAX_ENTRIES: usize = 20_000;

/// Bytes one container may unpack to in all.
const MAX_UNPACKED: u64 = 32 << 20;

/// A zip file in memory, with what may still be unpacked.
pub(super) struct Archive<'a> {
    zip: zip::ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Opens a container.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Archive<'a>, Trouble> {
        let zip = zip::ZipArchive::new(Cursor::new(bytes))
            .map_err(|it| Trouble::new(FailReason::Broken, format!("damaged container: {it}")))?;
        if zip.len() > MAX_ENTRIES {
            return Err(Trouble::new(
                FailReason::TooLarge,
                "too many files in the container",
            ));
        }
        Ok(Archive {
            zip,
            left: MAX_UNPACKED,
        })
    }

    /// Unpacks one entry; none where there is no such entry.
    pub(super) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Trouble> {
        let mut entry = match self.zip.by_name(name) {
            Ok(entry) => entry,
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            Err(it) if it.to_string().to_lowercase().contains("password") => {
                return Err(Trouble::new(FailReason::Unsupported, "it is encrypted"));
            }
            Err(it) => {
                return Err(Trouble::new(
                    FailReason::Broken,
                    format!("damaged container: {it}"),
                ));
            }
        };
        let mut bytes = Vec::new();
        let unpacked = (&mut entry).take(self.left + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > self.left {
            return Err(Trouble::new(
                FailReason::TooLarge,
                format!("unpacks to more than {} MiB", MAX_UNPACKED >> 20),
            ));
        }
        unpacked
            .map_err(|it| Trouble::new(FailReason::Broken, format!("damaged container: {it}")))?;
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }
}
