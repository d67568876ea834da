//! Removes keys from server responses: some quote the key that they reject, others the whole request, plain or
//! encoded.
//!
//! A key is found in plain text, in hex, in base64 of either alphabet with any surrounding bytes, and behind up to
//! three layers of URL and JSON escapes. Each text is scanned a fixed number of times.
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use memchr::{memchr2, memmem};

/// Replaces a key.
const REDACTED: &[u8] = b"[key]";
/// Minimum length of a key, bytes; shorter ones could be ordinary words.
const MIN_KEY_BYTES: usize = 6;
/// Minimum length of a base64 pattern; shorter ones could occur by chance.
const MIN_BASE64_BYTES: usize = 6;
/// Number of escape layers that are decoded.
const MAX_ESCAPE_LAYERS: usize = 3;
/// Maximum bytes of one escaped byte of a key, per layer: `\u0073`.
const MAX_ESCAPED_BYTES: usize = 6;

/// The secrets that a server could quote.
#[derive(Clone, Default)]
pub struct SecretRedactor {
    /// Patterns that are matched literally.
    exact: Vec<Vec<u8>>,
    /// Hex patterns in lower case, matched in any case.
    hex: Vec<Vec<u8>>,
}

impl std::fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretRedactor")
    }
}

impl SecretRedactor {
    /// Adds a secret.
    pub fn add_secret(&mut self, secret: &str) {
        if secret.len() < MIN_KEY_BYTES {
            return;
        }
        let mut add = |byte: Vec<u8>| {
            if !self.exact.contains(&byte) {
                self.exact.push(byte);
            }
        };
        add(secret.as_bytes().to_vec());
        for before in 0..3 {
            let core = base64_core(secret.as_bytes(), before);
            if core.len() >= MIN_BASE64_BYTES {
                add(core.replace('+', "-").replace('/', "_").into_bytes());
                add(core.into_bytes());
            }
        }
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.hex.push(hex.into_bytes());
    }

    /// Adds the password of a URL, as written there and as sent.
    pub fn add_url_password(&mut self, url: &str) {
        let Ok(url) = url::Url::parse(url) else {
            return;
        };
        if let Some(password) = url.password() {
            let plain = percent_encoding::percent_decode_str(password).decode_utf8_lossy();
            self.add_secret(password);
            self.add_secret(&plain);
            let name = percent_encoding::percent_decode_str(url.username()).decode_utf8_lossy();
            self.add_secret(&STANDARD.encode(format!("{name}:{plain}")));
        }
    }

    /// Replaces all secrets in `input`.
    pub fn redact(&self, input: Vec<u8>) -> Vec<u8> {
        let found = self.secret_ranges(&input);
        if found.is_empty() {
            return input;
        }
        let mut out = Vec::with_capacity(input.len());
        let mut from = 0;
        for (start, end) in found {
            out.extend_from_slice(&input[from..start]);
            out.extend_from_slice(REDACTED);
            from = end;
        }
        out.extend_from_slice(&input[from..]);
        out
    }

    /// Replaces all secrets in a text.
    pub fn redact_text(&self, input: &str) -> String {
        String::from_utf8_lossy(&self.redact(input.into())).into_owned()
    }

    /// Returns a redactor for a stream.
    pub fn redact_stream(&self) -> StreamRedactor<'_> {
        StreamRedactor { redactor: self, kept: Vec::new() }
    }

    /// The positions of secrets, in order, without overlaps.
    fn secret_ranges(&self, input: &[u8]) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        if self.exact.is_empty() {
            return found;
        }
        let mut layer = Some(UnescapedText::from_raw(input));
        for _ in 0..=MAX_ESCAPE_LAYERS {
            let Some(it) = &layer else { break };
            let mut seek = |pattern: &[u8], text: &[u8]| {
                let ends = memmem::find_iter(text, pattern).map(|at| (at, at + pattern.len()));
                found.extend(ends.map(|(a, b)| (it.raw_offset(a), it.raw_offset(b))));
            };
            for pattern in &self.exact {
                seek(pattern, &it.text);
            }
            let lower = it.text.to_ascii_lowercase();
            for pattern in &self.hex {
                seek(pattern, &lower);
            }
            layer = it.unescaped();
        }
        found.sort_unstable();
        found.dedup_by(|next, had| {
            let overlaps = next.0 < had.1;
            if overlaps {
                had.1 = had.1.max(next.1);
            }
            overlaps
        });
        found
    }

    /// How many bytes at the end of `input` may be the start of a key.
    fn partial_secret_len(&self, input: &[u8]) -> usize {
        let patterns = || self.exact.iter().chain(&self.hex);
        let longest = patterns().map(Vec::len).max().unwrap_or(0);
        let input =
            &input[input.len().saturating_sub(longest * MAX_ESCAPED_BYTES * MAX_ESCAPE_LAYERS)..];
        let mut from = input.len();
        let mut layer = Some(UnescapedText::from_raw(input));
        for _ in 0..=MAX_ESCAPE_LAYERS {
            let Some(it) = &layer else { break };
            let begun = it.partial_escape_start();
            if begun < it.text.len() {
                from = from.min(it.raw_offset(begun));
            }
            let lower = it.text.to_ascii_lowercase();
            for upto in [it.text.len(), begun] {
                let mut seek = |pattern: &[u8], text: &[u8]| {
                    let most = pattern.len().saturating_sub(1).min(upto);
                    let began =
                        (1..=most).rev().find(|index| text[..upto].ends_with(&pattern[..*index]));
                    if let Some(length) = began {
                        from = from.min(it.raw_offset(upto - length));
                    }
                };
                self.exact.iter().for_each(|pattern| seek(pattern, &it.text));
                self.hex.iter().for_each(|pattern| seek(pattern, &lower));
            }
            layer = it.unescaped();
        }
        input.len() - from
    }
}

/// Redacts a stream. Bytes that may be the start of a key are held back until more arrive.
pub struct StreamRedactor<'v> {
    redactor: &'v SecretRedactor,
    kept: Vec<u8>,
}

impl StreamRedactor<'_> {
    /// Adds `piece` and returns the bytes that can be passed on.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.kept.extend_from_slice(piece);
        let whole =
            self.redactor.secret_ranges(&self.kept).last().map_or(0, |secret_range| secret_range.1);
        let waits = self.redactor.partial_secret_len(&self.kept[whole..]);
        let rest = self.kept.split_off(self.kept.len() - waits);
        self.redactor.redact(std::mem::replace(&mut self.kept, rest))
    }

    /// Returns the rest at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        self.redactor.redact(std::mem::take(&mut self.kept))
    }
}

/// The base64 characters that depend only on `secret` if `before` bytes (modulo three) precede it.
fn base64_core(secret: &[u8], before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret);
    let (first, last) = ((8 * before).div_ceil(6), 8 * bytes.len() / 6);
    STANDARD_NO_PAD.encode(bytes)[first..last].to_owned()
}

/// A text with its escapes decoded, and the original positions of its bytes.
struct UnescapedText {
    text: Vec<u8>,
    /// Pairs of positions in `text` and in the original. From each pair up to the next, bytes correspond one to one.
    places: Vec<(usize, usize)>,
}

impl UnescapedText {
    fn from_raw(input: &[u8]) -> UnescapedText {
        UnescapedText { text: input.to_vec(), places: vec![(0, 0)] }
    }

    /// The original position of the byte at `at`.
    fn raw_offset(&self, at: usize) -> usize {
        let nth = self.places.partition_point(|place| place.0 <= at);
        let (own, raw) = nth.checked_sub(1).map_or((0, 0), |index| self.places[index]);
        raw + (at - own)
    }

    /// Decodes one more layer of escapes; `None` if there is none.
    fn unescaped(&self) -> Option<UnescapedText> {
        let mut text = Vec::with_capacity(self.text.len());
        let mut places = vec![(0, self.raw_offset(0))];
        let mut from = 0;
        let mut at = 0;
        while let Some(mark) = memchr2(b'%', b'\\', &self.text[at..]).map(|it| at + it) {
            let Some((length, unit)) = escape(&self.text[mark..]) else {
                at = mark + 1;
                continue;
            };
            self.copy(from, mark, &mut text, &mut places);
            let mut utf8 = [0; 4];
            match unit {
                UnescapedUnit::Byte(it) => text.push(it),
                UnescapedUnit::Letter(it) => {
                    text.extend_from_slice(it.encode_utf8(&mut utf8).as_bytes())
                }
            }
            at = mark + length;
            from = at;
            places.push((text.len(), self.raw_offset(at)));
        }
        if from == 0 {
            return None;
        }
        self.copy(from, self.text.len(), &mut text, &mut places);
        Some(UnescapedText { text, places })
    }

    /// Copies a range without escapes, with the position changes inside it.
    fn copy(&self, from: usize, to: usize, text: &mut Vec<u8>, places: &mut Vec<(usize, usize)>) {
        let begins = text.len();
        text.extend_from_slice(&self.text[from..to]);
        let nth = self.places.partition_point(|place| place.0 <= from);
        let within = self.places[nth..].iter().take_while(|place| place.0 <= to);
        places.extend(within.map(|(own, raw)| (begins + (own - from), *raw)));
    }

    /// Start of an incomplete escape at the end, or the end if there is none.
    fn partial_escape_start(&self) -> usize {
        let end = self.text.len();
        let mark = (end.saturating_sub(MAX_ESCAPED_BYTES - 1)..end).find(|at| {
            let rest = &self.text[*at..];
            match rest {
                [b'%'] | [b'\\'] => true,
                [b'%', digit] => digit.is_ascii_hexdigit(),
                [b'\\', b'x', digits @ ..] => {
                    digits.len() < 2 && digits.iter().all(u8::is_ascii_hexdigit)
                }
                [b'\\', b'u', digits @ ..] => {
                    digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit)
                }
                _ => false,
            }
        });
        mark.unwrap_or(end)
    }
}

enum UnescapedUnit {
    Byte(u8),
    Letter(char),
}

/// Parses the escape at the start of a text: its length and value.
fn escape(text: &[u8]) -> Option<(usize, UnescapedUnit)> {
    let digits = |from: usize, count: usize| {
        let digits = text.get(from..from + count)?;
        let digits = std::str::from_utf8(digits).ok()?;
        // `from_str_radix` would accept `+7`.
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    match text {
        [b'%', ..] => Some((3, UnescapedUnit::Byte(digits(1, 2)? as u8))),
        [b'\\', b'x', ..] => Some((4, UnescapedUnit::Byte(digits(2, 2)? as u8))),
        [b'\\', b'u', ..] => Some((6, UnescapedUnit::Letter(char::from_u32(digits(2, 4)?)?))),
        [b'\\', it @ (b'/' | b'"' | b'\'' | b'\\'), ..] => Some((2, UnescapedUnit::Byte(*it))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
