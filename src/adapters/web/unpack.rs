//! A body as it comes, unpacked piece by piece within bounds: a small answer that swells is broken off where it swells.
use std::collections::VecDeque;
use std::io::{Read, Write};

use brotli_decompressor::BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
use brotli_decompressor::Decompressor;
use flate2::write::{GzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// What was unpacked may be so many times what came, once it is no longer small.
const MOST_TIMES: usize = 200;
/// Up to here no ratio is looked at, bytes.
const SMALL: usize = 1 << 20;
/// What a packing with zstd may make us remember, bytes: what RFC 9659 allows on the web.
const ZSTD_WINDOW: u64 = 8 << 20;
/// Frames that a body of zstd may be made of.
const ZSTD_FRAMES: usize = 64;

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
pub(super) const ACCEPTED: &str = "gzip, deflate, br, zstd";

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
    /// Kept as it came, to be unpacked when it is whole.
    Brotli(Pieces),
    /// The same.
    Zstd(Pieces),
}

/// Bytes that are forgotten as they are read, so that what is packed and what it unpacks to are not both there whole.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes read of the first.
    read: usize,
}

/// Bytes of a piece.
const PIECE: usize = 64 << 10;

impl Pieces {
    fn push(&mut self, mut more: &[u8]) {
        while !more.is_empty() {
            if self.pieces.back().is_none_or(|it| it.len() == PIECE) {
                self.pieces.push_back(Vec::with_capacity(PIECE));
            }
            if let Some(last) = self.pieces.back_mut() {
                let (now, later) = more.split_at(more.len().min(PIECE - last.len()));
                last.extend_from_slice(now);
                more = later;
            }
        }
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let Some(first) = self.pieces.front() else {
            return Ok(0);
        };
        let read = (&first[self.read..]).read(into)?;
        self.read += read;
        if self.read == first.len() {
            self.pieces.pop_front();
            self.read = 0;
        }
        Ok(read)
    }
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
            Some("br") => How::Brotli(Pieces::default()),
            Some("zstd") => How::Zstd(Pieces::default()),
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
            let (written, sink) = match &mut self.how {
                How::Brotli(pieces) | How::Zstd(pieces) => {
                    pieces.push(step);
                    continue;
                }
                How::Plain(sink) => (sink.write_all(step), &*sink),
                How::Gzip(it) => (it.write_all(step), it.get_ref()),
                How::Deflate(it) => (it.write_all(step), it.get_ref()),
            };
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

    /// The whole body. It may take a tenth of a second.
    pub(super) fn finish(self) -> Result<Vec<u8>, Amiss> {
        let sink = match self.how {
            How::Plain(sink) => Ok(sink),
            How::Zstd(packed) => return zstd(packed, self.came, self.most),
            How::Brotli(packed) => return brotli(packed, self.came, self.most),
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

/// Unpacks a whole body of brotli, without the large windows that no browser takes either: they can make us remember a gigabyte.
fn brotli(packed: Pieces, came: usize, most: usize) -> Result<Vec<u8>, Amiss> {
    let mut out = Vec::new();
    let mut it = Decompressor::new(packed, 4096);
    it.set_parameter(BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
    drain(&mut it, came, most, &mut out)?;
    Ok(out)
}

/// Unpacks a whole body of zstd.
fn zstd(mut left: Pieces, came: usize, most: usize) -> Result<Vec<u8>, Amiss> {
    let mut out = Vec::new();
    for _ in 0..ZSTD_FRAMES {
        if left.pieces.is_empty() {
            return Ok(out);
        }
        let mut frame = StreamingDecoder::new_with_max_window_size(&mut left, ZSTD_WINDOW)
            .map_err(|_| Amiss::Torn)?;
        drain(&mut frame, came, most, &mut out)?;
    }
    Err(Amiss::Torn)
}

/// Reads all of `from` into `out`, within the bounds of what `came` bytes may come to.
fn drain(from: &mut dyn Read, came: usize, most: usize, out: &mut Vec<u8>) -> Result<(), Amiss> {
    let mut piece = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut piece).map_err(|_| Amiss::Torn)?;
        if read == 0 {
            return Ok(());
        }
        if out.len() + read > most {
            return Err(Amiss::TooLarge);
        }
        out.extend_from_slice(&piece[..read]);
        if out.len() > SMALL && out.len() / MOST_TIMES > came {
            return Err(Amiss::Swells);
        }
    }
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
    fn packed_bytes_go_as_they_are_read() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|it| (it % 251) as u8).collect();
        let mut pieces = Pieces::default();
        for step in bytes.chunks(4096) {
            pieces.push(step);
        }
        assert_eq!(pieces.pieces.len(), 4);
        let mut read = vec![0; 150_000];
        pieces.read_exact(&mut read).unwrap();
        assert_eq!(pieces.pieces.len(), 2);
        pieces.read_to_end(&mut read).unwrap();
        assert!(read == bytes && pieces.pieces.is_empty());
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
        for twice in ["gzip, gzip", "br, br", "compress"] {
            assert_eq!(unpacked(twice, b"", 10), Err(Amiss::Packing));
        }
    }

    #[test]
    fn brotli_and_zstd_come_back_whole_within_the_same_bounds() {
        let text = "cork floats. ".repeat(5_000);
        let brotli = "1be7fdf8c56d6c5dc7727e113a05421507460357d60338dba889fe08";
        let brotli = hex::decode(brotli).unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(
            text.as_bytes(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        for (coding, packed) in [("br", &brotli), ("zstd", &zstd)] {
            let whole = unpacked(coding, packed, 1 << 20);
            assert_eq!(whole.unwrap(), text.as_bytes(), "{coding}");
            assert_eq!(unpacked(coding, packed, 9_999), Err(Amiss::TooLarge));
            let torn = unpacked(coding, &packed[..packed.len() - 3], 1 << 20);
            assert_eq!(torn, Err(Amiss::Torn), "{coding}");
            assert_eq!(unpacked(coding, b"\xff\xffno", 99), Err(Amiss::Torn));
        }
        let twice = [zstd.as_slice(), zstd.as_slice()].concat();
        assert_eq!(
            unpacked("zstd", &twice, 1 << 20).unwrap().len(),
            2 * text.len()
        );
        // 64 MiB of nothing in 54 bytes.
        let bomb = "cfffff7ff82700e2b14020f7fe9ffffffff04f00c4610180eefd3fffffffe19f0088c32200ddfb7ffeffffc33f0110870500baf7ff03";
        let bomb = hex::decode(bomb).unwrap();
        assert_eq!(unpacked("br", &bomb, 1 << 30), Err(Amiss::Swells));
    }

    #[test]
    fn a_window_larger_than_the_webs_is_refused() {
        let frame =
            |window: u8| [b"\x28\xb5\x2f\xfd\x00", &[window][..], b"\x11\x00\x00hi"].concat();
        assert_eq!(unpacked("zstd", &frame(13 << 3), 99).unwrap(), b"hi");
        assert_eq!(unpacked("zstd", &frame(17 << 3), 99), Err(Amiss::Torn));
        // The mark of brotli's large windows.
        assert_eq!(unpacked("br", b"\x11\x1e\x00\x00", 99), Err(Amiss::Torn));
    }
}
