//! A body as it comes, unpacked piece by piece within bounds: a small answer that swells is broken off where it swells.
use std::io::Write;

use flate2::write::{GzDecoder, ZlibDecoder};

/// What was unpacked may be so many times what came, once it is no longer small.
const MOST_TIMES: usize = 200;
/// Up to here no ratio is looked at, bytes.
const SMALL: usize = 1 << 20;

/// What is wrong with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Amiss {
    /// It is larger than what is taken.
    TooLarge,
    /// It swells like a bomb.
    Swells,
    /// It is packed in a way that was not asked for, or more than once.
    Packing,
    /// It is torn.
    Torn,
}

impl Amiss {
    pub(in crate::adapters) fn why(self) -> &'static str {
        match self {
            Amiss::TooLarge => "it is larger than what is read",
            Amiss::Swells => "it unpacks to far more than it is",
            Amiss::Packing => "it is packed in a way that was not asked for",
            Amiss::Torn => "its packing is broken",
        }
    }
}

/// What a server may be told that we unpack.
pub(super) const ACCEPTED: &str = "gzip, deflate";

/// Where a body goes piece by piece.
pub(super) struct Unpacking {
    how: How,
    came: usize,
    most: usize,
}

enum How {
    Plain(Bounded),
    Gzip(Box<GzDecoder<Bounded>>),
    Deflate(Box<ZlibDecoder<Bounded>>),
}

/// Bytes up to a bound; beyond it writing fails.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    over: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + piece.len() > self.most {
            self.over = true;
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Unpacking {
    /// A body with this `content-encoding`, of which at most `most` bytes are taken.
    pub(super) fn of(encoding: Option<&str>, most: usize) -> Result<Unpacking, Amiss> {
        let sink = Bounded {
            bytes: Vec::new(),
            most,
            over: false,
        };
        let how = match encoding.map(|it| it.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => How::Plain(sink),
            Some("gzip" | "x-gzip") => How::Gzip(Box::new(GzDecoder::new(sink))),
            Some("deflate") => How::Deflate(Box::new(ZlibDecoder::new(sink))),
            Some(_) => return Err(Amiss::Packing),
        };
        Ok(Unpacking { how, came: 0, most })
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(), Amiss> {
        self.came += piece.len();
        if self.came > self.most {
            return Err(Amiss::TooLarge);
        }
        // In small steps, so that little is unpacked before it is measured.
        for step in piece.chunks(4096) {
            let written = match &mut self.how {
                How::Plain(sink) => sink.write_all(step),
                How::Gzip(it) => it.write_all(step),
                How::Deflate(it) => it.write_all(step),
            };
            let sink = self.sink();
            if sink.over {
                return Err(Amiss::TooLarge);
            }
            if sink.bytes.len() > SMALL && sink.bytes.len() / MOST_TIMES > self.came {
                return Err(Amiss::Swells);
            }
            if written.is_err() {
                return Err(Amiss::Torn);
            }
        }
        Ok(())
    }

    fn sink(&self) -> &Bounded {
        match &self.how {
            How::Plain(sink) => sink,
            How::Gzip(it) => it.get_ref(),
            How::Deflate(it) => it.get_ref(),
        }
    }

    /// The whole body.
    pub(super) fn finish(self) -> Result<Vec<u8>, Amiss> {
        let sink = match self.how {
            How::Plain(sink) => Ok(sink),
            How::Gzip(it) => it.finish(),
            How::Deflate(it) => it.finish(),
        };
        match sink {
            Ok(sink) => Ok(sink.bytes),
            Err(fault) if fault.kind() == std::io::ErrorKind::FileTooLarge => Err(Amiss::TooLarge),
            Err(_) => Err(Amiss::Torn),
        }
    }
}

/// A whole body that was packed as `encoding` says, of which at most `most` bytes are taken.
pub(in crate::adapters) fn unpacked(
    encoding: &str,
    body: &[u8],
    most: usize,
) -> Result<Vec<u8>, Amiss> {
    let mut unpacking = Unpacking::of(Some(encoding), most)?;
    unpacking.take(body)?;
    unpacking.finish()
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut it = GzEncoder::new(Vec::new(), Compression::best());
        it.write_all(bytes).unwrap();
        it.finish().unwrap()
    }

    #[test]
    fn each_packing_comes_back_whole() {
        let text = "cork floats. ".repeat(5_000);
        let bytes = text.as_bytes();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(bytes).unwrap();
        assert_eq!(unpacked("", bytes, 1 << 20).unwrap(), bytes);
        assert_eq!(unpacked("GZIP", &gzip(bytes), 1 << 20).unwrap(), bytes);
        assert_eq!(
            unpacked("deflate", &zlib.finish().unwrap(), 1 << 20).unwrap(),
            bytes
        );
    }

    #[test]
    fn a_bomb_is_broken_off_and_what_is_torn_is_known() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert_eq!(unpacked("gzip", &bomb, 1 << 30), Err(Amiss::Swells));
        assert_eq!(unpacked("gzip", &bomb, 100_000), Err(Amiss::TooLarge));
        assert_eq!(unpacked("", &[0; 100], 99), Err(Amiss::TooLarge));
        let torn = gzip(b"cork floats");
        assert_eq!(
            unpacked("gzip", &torn[..torn.len() - 6], 1 << 20),
            Err(Amiss::Torn)
        );
        assert_eq!(
            unpacked("gzip", b"no gzip at all", 1 << 20),
            Err(Amiss::Torn)
        );
        for twice in ["gzip, gzip", "br", "zstd"] {
            assert_eq!(unpacked(twice, b"", 10), Err(Amiss::Packing));
        }
    }
}
