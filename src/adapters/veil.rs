//! Keys taken out of what servers say: some quote the key that they do not like, others the whole request, as it is or encoded.
//!
//! A key is found as it stands, in hex, in base64 of either alphabet with any bytes before and after it, and through
//! escapes of URLs and of JSON, up to three layers of them. Each text is gone through a fixed number of times.
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use memchr::{memchr2, memmem};

/// What stands where a key stood.
const VEIL: &[u8] = b"[key]";
/// Shorter ones could be ordinary words.
const SHORTEST: usize = 6;
/// Fewer letters of base64 could be a part of something else.
const SHORTEST_CORE: usize = 6;
/// Layers of escapes that are looked through.
const LAYERS: usize = 3;
/// The most bytes that one byte of a key takes in one layer of escapes: `\u0073`.
const WIDEST: usize = 6;

/// The secrets that one server knows of us.
#[derive(Clone, Default)]
pub(super) struct Veil {
    /// Found as they stand.
    exact: Vec<Vec<u8>>,
    /// Hex, in lower case; found in either.
    hex: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Veil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Veil")
    }
}

impl Veil {
    /// Hides `secret` too.
    pub(super) fn hide(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        let mut add = |it: Vec<u8>| {
            if !self.exact.contains(&it) {
                self.exact.push(it);
            }
        };
        add(secret.as_bytes().to_vec());
        for before in 0..3 {
            let core = base64_core(secret.as_bytes(), before);
            if core.len() >= SHORTEST_CORE {
                add(core.replace('+', "-").replace('/', "_").into_bytes());
                add(core.into_bytes());
            }
        }
        let hex: String = secret.bytes().map(|it| format!("{it:02x}")).collect();
        self.hex.push(hex.into_bytes());
    }

    /// Hides the password that an address holds, as it stands there and as it is sent.
    pub(super) fn hide_password(&mut self, url: &str) {
        let Ok(url) = url::Url::parse(url) else {
            return;
        };
        if let Some(password) = url.password() {
            let plain = percent_encoding::percent_decode_str(password).decode_utf8_lossy();
            self.hide(password);
            self.hide(&plain);
            let name = percent_encoding::percent_decode_str(url.username()).decode_utf8_lossy();
            self.hide(&STANDARD.encode(format!("{name}:{plain}")));
        }
    }

    /// `said` without them.
    pub(super) fn over(&self, said: Vec<u8>) -> Vec<u8> {
        let found = self.found(&said);
        if found.is_empty() {
            return said;
        }
        let mut out = Vec::with_capacity(said.len());
        let mut from = 0;
        for (start, end) in found {
            out.extend_from_slice(&said[from..start]);
            out.extend_from_slice(VEIL);
            from = end;
        }
        out.extend_from_slice(&said[from..]);
        out
    }

    /// The same of a text.
    pub(super) fn over_text(&self, said: &str) -> String {
        String::from_utf8_lossy(&self.over(said.into())).into_owned()
    }

    /// What comes in pieces, without them.
    pub(super) fn over_pieces(&self) -> Pieces<'_> {
        Pieces {
            veil: self,
            kept: Vec::new(),
        }
    }

    /// Where they stand, in order and apart from each other.
    fn found(&self, said: &[u8]) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        if self.exact.is_empty() {
            return found;
        }
        let mut layer = Some(Layer::raw(said));
        for _ in 0..=LAYERS {
            let Some(it) = &layer else { break };
            let mut seek = |pattern: &[u8], text: &[u8]| {
                let ends = memmem::find_iter(text, pattern).map(|at| (at, at + pattern.len()));
                found.extend(ends.map(|(a, b)| (it.raw_at(a), it.raw_at(b))));
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

    /// How many bytes at the end of `said` may be the beginning of a key.
    fn unfinished(&self, said: &[u8]) -> usize {
        let patterns = || self.exact.iter().chain(&self.hex);
        let longest = patterns().map(Vec::len).max().unwrap_or(0);
        let said = &said[said.len().saturating_sub(longest * WIDEST * LAYERS)..];
        let mut from = said.len();
        let mut layer = Some(Layer::raw(said));
        for _ in 0..=LAYERS {
            let Some(it) = &layer else { break };
            let begun = it.begun_escape();
            if begun < it.text.len() {
                from = from.min(it.raw_at(begun));
            }
            let lower = it.text.to_ascii_lowercase();
            for upto in [it.text.len(), begun] {
                let mut seek = |pattern: &[u8], text: &[u8]| {
                    let most = pattern.len().saturating_sub(1).min(upto);
                    let began = (1..=most)
                        .rev()
                        .find(|it| text[..upto].ends_with(&pattern[..*it]));
                    if let Some(length) = began {
                        from = from.min(it.raw_at(upto - length));
                    }
                };
                self.exact
                    .iter()
                    .for_each(|pattern| seek(pattern, &it.text));
                self.hex.iter().for_each(|pattern| seek(pattern, &lower));
            }
            layer = it.unescaped();
        }
        said.len() - from
    }
}

/// A text that comes in pieces. What may be the beginning of a key waits until more has come.
pub(super) struct Pieces<'v> {
    veil: &'v Veil,
    kept: Vec<u8>,
}

impl Pieces<'_> {
    /// What can be told once `piece` has come.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.kept.extend_from_slice(piece);
        let whole = self.veil.found(&self.kept).last().map_or(0, |it| it.1);
        let waits = self.veil.unfinished(&self.kept[whole..]);
        let rest = self.kept.split_off(self.kept.len() - waits);
        self.veil.over(std::mem::replace(&mut self.kept, rest))
    }

    /// What waited, once nothing more comes.
    pub(super) fn end(&mut self) -> Vec<u8> {
        self.veil.over(std::mem::take(&mut self.kept))
    }
}

/// The letters of base64 that `secret` alone decides where `before` bytes, counted by three, stand before it.
fn base64_core(secret: &[u8], before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret);
    let (first, last) = ((8 * before).div_ceil(6), 8 * bytes.len() / 6);
    STANDARD_NO_PAD.encode(bytes)[first..last].to_owned()
}

/// A text whose escapes are undone, and where its bytes stood.
struct Layer {
    text: Vec<u8>,
    /// From this place of `text` on, up to the next, the bytes stood one by one from that place on.
    places: Vec<(usize, usize)>,
}

impl Layer {
    fn raw(said: &[u8]) -> Layer {
        Layer {
            text: said.to_vec(),
            places: vec![(0, 0)],
        }
    }

    /// Where the byte at `at` stood.
    fn raw_at(&self, at: usize) -> usize {
        let nth = self.places.partition_point(|it| it.0 <= at);
        let (own, raw) = nth.checked_sub(1).map_or((0, 0), |it| self.places[it]);
        raw + (at - own)
    }

    /// The same with one more layer of escapes undone; `None` where there is none.
    fn unescaped(&self) -> Option<Layer> {
        let mut text = Vec::with_capacity(self.text.len());
        let mut places = vec![(0, self.raw_at(0))];
        let mut from = 0;
        let mut at = 0;
        while let Some(mark) = memchr2(b'%', b'\\', &self.text[at..]).map(|it| at + it) {
            let Some((length, said)) = escape(&self.text[mark..]) else {
                at = mark + 1;
                continue;
            };
            self.copy(from, mark, &mut text, &mut places);
            let mut utf8 = [0; 4];
            match said {
                Said::Byte(it) => text.push(it),
                Said::Letter(it) => text.extend_from_slice(it.encode_utf8(&mut utf8).as_bytes()),
            }
            at = mark + length;
            from = at;
            places.push((text.len(), self.raw_at(at)));
        }
        if from == 0 {
            return None;
        }
        self.copy(from, self.text.len(), &mut text, &mut places);
        Some(Layer { text, places })
    }

    /// Takes over what has no escapes, with the places that change within it.
    fn copy(&self, from: usize, to: usize, text: &mut Vec<u8>, places: &mut Vec<(usize, usize)>) {
        let begins = text.len();
        text.extend_from_slice(&self.text[from..to]);
        let nth = self.places.partition_point(|it| it.0 <= from);
        let within = self.places[nth..].iter().take_while(|it| it.0 <= to);
        places.extend(within.map(|(own, raw)| (begins + (own - from), *raw)));
    }

    /// Where an escape begins that is not whole yet; the end where none does.
    fn begun_escape(&self) -> usize {
        let end = self.text.len();
        let mark = (end.saturating_sub(WIDEST - 1)..end).find(|it| {
            let rest = &self.text[*it..];
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

enum Said {
    Byte(u8),
    Letter(char),
}

/// The escape that a text begins with: its length, and what it stands for.
fn escape(text: &[u8]) -> Option<(usize, Said)> {
    let digits = |from: usize, count: usize| {
        let digits = text.get(from..from + count)?;
        let digits = std::str::from_utf8(digits).ok()?;
        // `+7` is a number to the standard library.
        digits
            .bytes()
            .all(|it| it.is_ascii_hexdigit())
            .then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    match text {
        [b'%', ..] => Some((3, Said::Byte(digits(1, 2)? as u8))),
        [b'\\', b'x', ..] => Some((4, Said::Byte(digits(2, 2)? as u8))),
        [b'\\', b'u', ..] => Some((6, Said::Letter(char::from_u32(digits(2, 4)?)?))),
        [b'\\', it @ (b'/' | b'"' | b'\'' | b'\\'), ..] => Some((2, Said::Byte(*it))),
        _ => None,
    }
}

#[cfg(test)]
#[path = "veil_tests.rs"]
mod tests;
