//! Decompresses response bodies incrementally within limits, to stop decompression bombs early.
use std::collections::VecDeque;
use std::io::{Read, Write};

use brotli_decompressor::BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
use brotli_decompressor::Decompressor;
use flate2::write::{GzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// Maximum ratio of decompressed to compressed size, above [`SMALL`].
const MAX_RATIO: usize = 200;
/// Decompressed size up to which the ratio is not checked, in bytes.
const UNCHECKED_BYTES: usize = 1 << 20;
/// Maximum zstd window, bytes: the limit of RFC 9659 for the web.
const ZSTD_WINDOW: u64 = 8 << 20;
/// Maximum zstd frames of a body.
const ZSTD_FRAMES: usize = 64;

/// Why a body could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// It exceeds the maximum size.
    TooLarge,
    /// It looks like a decompression bomb.
    Bomb,
    /// It has an encoding that was not requested, or several.
    UnexpectedEncoding,
    /// It is damaged.
    Corrupt,
}

impl DecodeError {
    /// The error message.
    pub(crate) fn message(self) -> &'static str {
        match self {
            DecodeError::TooLarge => "the body exceeds the size limit",
            DecodeError::Bomb => "the body looks like a decompression bomb",
            DecodeError::UnexpectedEncoding => "the content encoding was not requested",
            DecodeError::Corrupt => "the compressed body is damaged",
        }
    }
}

/// The value of `accept-encoding`.
pub(super) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Decodes a body piece by piece.
pub(super) struct BodyDecoder {
    how: BodyEncoding,
    came: usize,
    most: usize,
}

enum BodyEncoding {
    Plain(BoundedBuffer),
    Gzip(Box<GzDecoder<BoundedBuffer>>),
    Deflate(Box<ZlibDecoder<BoundedBuffer>>),
    /// Collected compressed, decoded at the end.
    Brotli(ByteQueue),
    /// Collected compressed, decoded at the end.
    Zstd(ByteQueue),
}

/// A queue of bytes that frees them as they are read, so that compressed and decompressed data are not both held
/// completely.
#[derive(Default)]
struct ByteQueue {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes already read from the first piece.
    read: usize,
}

/// Size of a piece, in bytes.
const PIECE_BYTES: usize = 64 << 10;

impl ByteQueue {
    fn push(&mut self, mut more: &[u8]) {
        while !more.is_empty() {
            if self.pieces.back().is_none_or(|it| it.len() == PIECE_BYTES) {
                self.pieces.push_back(Vec::with_capacity(PIECE_BYTES));
            }
            if let Some(last) = self.pieces.back_mut() {
                let (now, later) = more.split_at(more.len().min(PIECE_BYTES - last.len()));
                last.extend_from_slice(now);
                more = later;
            }
        }
    }
}

impl Read for ByteQueue {
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

/// A buffer with a maximum size; writing beyond it fails.
struct BoundedBuffer {
    bytes: Vec<u8>,
    most: usize,
    over: bool,
}

impl Write for BoundedBuffer {
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

impl BodyDecoder {
    /// Creates a decoder for this `content-encoding` with at most `most` bytes of output.
    pub(super) fn new(encoding: Option<&str>, most: usize) -> Result<BodyDecoder, DecodeError> {
        let sink = BoundedBuffer { bytes: Vec::new(), most, over: false };
        let how = match encoding.map(|encoding| encoding.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => BodyEncoding::Plain(sink),
            Some("gzip" | "x-gzip") => BodyEncoding::Gzip(Box::new(GzDecoder::new(sink))),
            Some("deflate") => BodyEncoding::Deflate(Box::new(ZlibDecoder::new(sink))),
            Some("br") => BodyEncoding::Brotli(ByteQueue::default()),
            Some("zstd") => BodyEncoding::Zstd(ByteQueue::default()),
            Some(_) => return Err(DecodeError::UnexpectedEncoding),
        };
        Ok(BodyDecoder { how, came: 0, most })
    }

    /// Adds the next piece.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        self.came += piece.len();
        if self.came > self.most {
            return Err(DecodeError::TooLarge);
        }
        // In small steps, so that the limits are checked often.
        for step in piece.chunks(4096) {
            let (written, sink) = match &mut self.how {
                BodyEncoding::Brotli(pieces) | BodyEncoding::Zstd(pieces) => {
                    pieces.push(step);
                    continue;
                }
                BodyEncoding::Plain(sink) => (sink.write_all(step), &*sink),
                BodyEncoding::Gzip(it) => (it.write_all(step), it.get_ref()),
                BodyEncoding::Deflate(it) => (it.write_all(step), it.get_ref()),
            };
            if sink.over {
                return Err(DecodeError::TooLarge);
            }
            if sink.bytes.len() > UNCHECKED_BYTES && sink.bytes.len() / MAX_RATIO > self.came {
                return Err(DecodeError::Bomb);
            }
            if written.is_err() {
                return Err(DecodeError::Corrupt);
            }
        }
        Ok(())
    }

    /// Returns the decoded body. May take a tenth of a second.
    pub(super) fn finish(self) -> Result<Vec<u8>, DecodeError> {
        let sink = match self.how {
            BodyEncoding::Plain(sink) => Ok(sink),
            BodyEncoding::Zstd(packed) => return zstd(packed, self.came, self.most),
            BodyEncoding::Brotli(packed) => return brotli(packed, self.came, self.most),
            BodyEncoding::Gzip(it) => it.finish(),
            BodyEncoding::Deflate(it) => it.finish(),
        };
        match sink {
            Ok(sink) => Ok(sink.bytes),
            Err(fault) if fault.kind() == std::io::ErrorKind::FileTooLarge => {
                Err(DecodeError::TooLarge)
            }
            Err(_) => Err(DecodeError::Corrupt),
        }
    }
}

/// Decodes a whole body with at most `most` bytes of output.
pub(crate) fn decode_body(
    encoding: &str,
    body: &[u8],
    most: usize,
) -> Result<Vec<u8>, DecodeError> {
    let mut unpacking = BodyDecoder::new(Some(encoding), most)?;
    unpacking.push(body)?;
    unpacking.finish()
}

/// Decodes brotli, without large windows, which can require a gigabyte and which browsers reject as well.
fn brotli(packed: ByteQueue, came: usize, most: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let mut it = Decompressor::new(packed, 4096);
    it.set_parameter(BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
    drain(&mut it, came, most, &mut out)?;
    Ok(out)
}

/// Decodes zstd.
fn zstd(mut left: ByteQueue, came: usize, most: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    for _ in 0..ZSTD_FRAMES {
        if left.pieces.is_empty() {
            return Ok(out);
        }
        let mut frame = StreamingDecoder::new_with_max_window_size(&mut left, ZSTD_WINDOW)
            .map_err(|_| DecodeError::Corrupt)?;
        drain(&mut frame, came, most, &mut out)?;
    }
    Err(DecodeError::Corrupt)
}

/// Reads `from` into `out`, within the limits for `came` compressed bytes.
fn drain(
    from: &mut dyn Read,
    came: usize,
    most: usize,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let mut piece = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut piece).map_err(|_| DecodeError::Corrupt)?;
        if read == 0 {
            return Ok(());
        }
        if out.len() + read > most {
            return Err(DecodeError::TooLarge);
        }
        out.extend_from_slice(&piece[..read]);
        if out.len() > UNCHECKED_BYTES && out.len() / MAX_RATIO > came {
            return Err(DecodeError::Bomb);
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
        assert_eq!(decode_body("", bytes, 1 << 20).unwrap(), bytes);
        assert_eq!(decode_body("GZIP", &gzip(bytes), 1 << 20).unwrap(), bytes);
        assert_eq!(decode_body("deflate", &zlib.finish().unwrap(), 1 << 20).unwrap(), bytes);
    }

    #[test]
    fn packed_bytes_go_as_they_are_read() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
        let mut pieces = ByteQueue::default();
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
        assert_eq!(decode_body("gzip", &bomb, 1 << 30), Err(DecodeError::Bomb));
        assert_eq!(decode_body("gzip", &bomb, 100_000), Err(DecodeError::TooLarge));
        assert_eq!(decode_body("", &[0; 100], 99), Err(DecodeError::TooLarge));
        let torn = gzip(b"cork floats");
        assert_eq!(
            decode_body("gzip", &torn[..torn.len() - 6], 1 << 20),
            Err(DecodeError::Corrupt)
        );
        assert_eq!(decode_body("gzip", b"no gzip at all", 1 << 20), Err(DecodeError::Corrupt));
        for twice in ["gzip, gzip", "br, br", "compress"] {
            assert_eq!(decode_body(twice, b"", 10), Err(DecodeError::UnexpectedEncoding));
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
            let whole = decode_body(coding, packed, 1 << 20);
            assert_eq!(whole.unwrap(), text.as_bytes(), "{coding}");
            assert_eq!(decode_body(coding, packed, 9_999), Err(DecodeError::TooLarge));
            let torn = decode_body(coding, &packed[..packed.len() - 3], 1 << 20);
            assert_eq!(torn, Err(DecodeError::Corrupt), "{coding}");
            assert_eq!(decode_body(coding, b"\xff\xffno", 99), Err(DecodeError::Corrupt));
        }
        let twice = [zstd.as_slice(), zstd.as_slice()].concat();
        assert_eq!(decode_body("zstd", &twice, 1 << 20).unwrap().len(), 2 * text.len());
        // 64 MiB of nothing in 54 bytes.
        let bomb = "cfffff7ff82700e2b14020f7fe9ffffffff04f00c4610180eefd3fffffffe19f0088c32200ddfb7ffeffffc33f0110870500baf7ff03";
        let bomb = hex::decode(bomb).unwrap();
        assert_eq!(decode_body("br", &bomb, 1 << 30), Err(DecodeError::Bomb));
    }

    #[test]
    fn a_window_larger_than_the_webs_is_refused() {
        let frame =
            |window: u8| [b"\x28\xb5\x2f\xfd\x00", &[window][..], b"\x11\x00\x00hi"].concat();
        assert_eq!(decode_body("zstd", &frame(13 << 3), 99).unwrap(), b"hi");
        assert_eq!(decode_body("zstd", &frame(17 << 3), 99), Err(DecodeError::Corrupt));
        // The mark of brotli's large windows.
        assert_eq!(decode_body("br", b"\x11\x1e\x00\x00", 99), Err(DecodeError::Corrupt));
    }
}
