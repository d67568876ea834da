//! Reads text that was meant to be JSON.
//!
//! It makes one pass from left to right without backtracking, so its time is linear in the length of the
//! text. Nesting is bounded.
use serde_json::{Map, Number, Value};

/// Deepest nesting. Anything deeper is not an answer.
const MAX_NESTING: usize = 32;

/// Bytes of lookahead to tell a quote that ends a string from one inside it.
const MAX_LOOKAHEAD_BYTES: usize = 160;

/// What was read from one place.
pub(super) struct LenientValue {
    /// The value, or `None` if there is none.
    pub(super) value: Option<Value>,
    /// One past the last byte looked at.
    pub(super) end: usize,
    /// Whether the text ended before the value did.
    pub(super) cut: bool,
}

/// Reads the object or list that begins at byte `start` of `text`.
pub(super) fn parse_at(text: &str, start: usize) -> LenientValue {
    let mut reader = LenientParser { text, at: start };
    let found = reader.container(0);
    let end = reader.at.max(start + 1).min(text.len());
    let cut = found.as_ref().is_some_and(|pair| pair.1 != Truncation::Whole);
    LenientValue { value: found.map(|pair| pair.0), end, cut }
}

/// Where the text ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Truncation {
    /// After the value.
    Whole,
    /// Between two complete values inside it: only brackets are missing.
    Between,
    /// In the middle of a word, a number or a string.
    Within,
}

struct LenientParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> LenientParser<'a> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next bytes, enough to decide by.
    fn lookahead(&self) -> &'a str {
        lookahead_window(self.text, self.at)
    }

    fn skip(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    /// Skips white space, comments and ellipses.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let passed = if trimmed.starts_with("//") || trimmed.starts_with('#') {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |it| it + 2)
            } else if trimmed.starts_with("...") {
                3
            } else if trimmed.starts_with('…') {
                '…'.len_utf8()
            } else {
                return;
            };
            self.at += passed;
        }
    }

    fn container(&mut self, depth: usize) -> Option<(Value, Truncation)> {
        if depth >= MAX_NESTING {
            return None;
        }
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<(Value, Truncation)> {
        self.at += 1;
        let mut fields = Map::new();
        loop {
            self.skip_blanks();
            let Some(c) = self.peek() else {
                return Some((Value::Object(fields), Truncation::Between));
            };
            match c {
                '}' => {
                    self.at += 1;
                    return Some((Value::Object(fields), Truncation::Whole));
                }
                // The closing bracket of the list around: this object lacks its own.
                ']' if depth > 0 => {
                    return Some((Value::Object(fields), Truncation::Whole));
                }
                ',' | ';' => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let Some((key, ended)) = self.key() else {
                // Prose in braces, or prose after the last field.
                return (!fields.is_empty()).then_some((Value::Object(fields), Truncation::Whole));
            };
            if ended {
                return Some((Value::Object(fields), Truncation::Within));
            }
            self.skip_blanks();
            if self.peek().is_none() {
                return Some((Value::Object(fields), Truncation::Within));
            }
            match self.value(depth, StringContext::Object) {
                Some((value, cut)) => {
                    fields.insert(key, value);
                    if cut != Truncation::Whole {
                        return Some((Value::Object(fields), cut));
                    }
                }
                None if self.peek().is_none() => {
                    return Some((Value::Object(fields), Truncation::Within));
                }
                None => {
                    return (!fields.is_empty())
                        .then_some((Value::Object(fields), Truncation::Whole));
                }
            }
        }
    }

    /// A key and its colon. The flag is set where the text ended instead of the colon.
    fn key(&mut self) -> Option<(String, bool)> {
        let quote = self.peek()?;
        let key = if let Some(close) = closing_quote(quote) {
            self.skip(quote);
            let rest = self.rest();
            let Some(end) = rest
                .char_indices()
                .take(200)
                .find(|(_, it)| *it == close || *it == '\n')
                .map(|pair| pair.0)
            else {
                // Either the text ends here or this is not a key.
                let ends = rest.chars().nth(200).is_none();
                self.at = if ends { self.text.len() } else { self.at };
                return ends.then(|| (String::new(), true));
            };
            let key = rest.get(..end)?.to_owned();
            self.at += end;
            if self.peek() == Some(close) {
                self.skip(close);
            }
            key
        } else {
            let rest = self.rest();
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.')))
                .unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            self.at += end;
            rest.get(..end)?.to_owned()
        };
        self.skip_blanks();
        match self.peek() {
            None => Some((key, true)),
            Some(':') => {
                self.at += 1;
                Some((key, false))
            }
            Some('=') => {
                self.at += 1;
                if self.peek() == Some('>') {
                    self.at += 1;
                }
                Some((key, false))
            }
            Some(_) => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<(Value, Truncation)> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            let Some(c) = self.peek() else {
                // An empty list would claim that there is nothing, which the text did not say.
                return (!items.is_empty()).then_some((Value::Array(items), Truncation::Between));
            };
            match c {
                ']' => {
                    self.at += 1;
                    return Some((Value::Array(items), Truncation::Whole));
                }
                '}' if depth > 0 => {
                    return Some((Value::Array(items), Truncation::Whole));
                }
                '}' | ',' | ';' => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let before = self.at;
            match self.value(depth, StringContext::List) {
                // An element that was cut in the middle is incomplete.
                Some((_, Truncation::Within)) => {
                    return (!items.is_empty())
                        .then_some((Value::Array(items), Truncation::Within));
                }
                Some((value, cut)) => {
                    items.push(value);
                    if cut == Truncation::Between {
                        return Some((Value::Array(items), Truncation::Between));
                    }
                }
                None => {
                    if self.at == before && self.peek().is_some() {
                        return (!items.is_empty())
                            .then_some((Value::Array(items), Truncation::Whole));
                    }
                    // An element is broken: keep the complete ones.
                    return (!items.is_empty())
                        .then_some((Value::Array(items), Truncation::Within));
                }
            }
        }
    }

    fn value(&mut self, depth: usize, inside: StringContext) -> Option<(Value, Truncation)> {
        let c = self.peek()?;
        match c {
            '{' | '[' => self.container(depth + 1),
            '}' | ']' | ',' | ':' => {
                // `"gap": ,` has no value.
                (inside == StringContext::Object && c != ':')
                    .then_some((Value::Null, Truncation::Whole))
            }
            _ => match closing_quote(c) {
                Some(close) => {
                    self.skip(c);
                    let (text, cut) = self.string(close, inside);
                    Some((Value::String(text), cut))
                }
                None => self.bare(),
            },
        }
    }

    /// The rest of a string after its opening quote.
    fn string(&mut self, close: char, inside: StringContext) -> (String, Truncation) {
        let mut out = String::new();
        while let Some(c) = self.peek() {
            self.skip(c);
            match c {
                '\\' => {
                    if !self.escape(&mut out) {
                        return (out, Truncation::Within);
                    }
                }
                '\n' => {
                    if is_missing_quote(self.lookahead(), inside) {
                        let kept = out.trim_end().trim_end_matches(',').len();
                        out.truncate(kept);
                        return (out, Truncation::Whole);
                    }
                    out.push('\n');
                }
                _ if c == close => {
                    if is_string_end(self.lookahead(), inside) {
                        return (out, Truncation::Whole);
                    }
                    out.push(c);
                }
                '\r' => {}
                _ => {
                    out.push(c);
                }
            }
        }
        (out, Truncation::Within)
    }

    /// The character after a backslash; `false` where the text ends in it.
    fn escape(&mut self, out: &mut String) -> bool {
        let Some(c) = self.peek() else { return false };
        self.skip(c);
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' | 'f' => out.push(' '),
            '"' | '\\' | '/' => out.push(c),
            'u' => match self.unicode() {
                Some(it) => out.push(it),
                None if self.rest().len() < 4 => return false,
                None => {
                    out.push_str("\\u");
                }
            },
            '\'' | '\n' | '“' | '”' | '`' => {
                out.push(c);
            }
            // Not a JSON escape: a path or a formula written plainly.
            _ => {
                out.push('\\');
                out.push(c);
            }
        }
        true
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex(0)?;
        if (0xD800..0xDC00).contains(&first) {
            let second = (self.rest().get(4..6) == Some("\\u"))
                .then(|| self.hex(6))
                .flatten()
                .filter(|it| (0xDC00..0xE000).contains(it));
            return Some(match second {
                Some(second) => {
                    self.at += 10;
                    char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
                        .unwrap_or('\u{FFFD}')
                }
                None => {
                    self.at += 4;
                    '\u{FFFD}'
                }
            });
        }
        self.at += 4;
        Some(char::from_u32(first).unwrap_or('\u{FFFD}'))
    }

    fn hex(&self, from: usize) -> Option<u32> {
        let digits = self.rest().get(from..from + 4)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
    }

    /// A number, a literal of JSON or Python, or words without quotes.
    fn bare(&mut self) -> Option<(Value, Truncation)> {
        let rest = self.rest();
        let end = rest.find([',', '}', ']', '\n', '{', '[']).unwrap_or(rest.len());
        let mut word = rest.get(..end)?;
        if let Some(comment) = word.find(" //").or_else(|| word.find(" #")) {
            word = word.get(..comment)?;
        }
        let cut = if end == rest.len() { Truncation::Within } else { Truncation::Whole };
        self.at += word.len();
        let word = word.trim();
        if word.is_empty() {
            return None;
        }
        Some((self.word(word), cut))
    }

    fn word(&mut self, word: &str) -> Value {
        match word {
            "true" | "True" | "TRUE" => return Value::Bool(true),
            "false" | "False" | "FALSE" => return Value::Bool(false),
            "null" | "None" | "NULL" | "Null" | "nil" | "undefined" | "NaN" | "Infinity"
            | "-Infinity" => return Value::Null,
            _ => {}
        }
        if let Ok(it) = serde_json::from_str::<Number>(word) {
            return Value::Number(it);
        }
        let plain = word.trim_start_matches('+').replace('_', "");
        if plain.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            if let Ok(it) = plain.parse::<i64>() {
                return Value::Number(it.into());
            }
            if let Some(it) = plain.parse::<f64>().ok().and_then(Number::from_f64) {
                return Value::Number(it);
            }
        }
        Value::String(word.to_owned())
    }
}

/// What encloses a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StringContext {
    Object,
    List,
}

fn closing_quote(quote: char) -> Option<char> {
    match quote {
        '"' | '\'' | '`' => Some(quote),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}

fn lookahead_window(text: &str, at: usize) -> &str {
    text.get(at..text.floor_char_boundary(at + MAX_LOOKAHEAD_BYTES)).unwrap_or_default()
}

/// Whether a quote before `ahead` ends its string.
fn is_string_end(ahead: &str, inside: StringContext) -> bool {
    let next = ahead.trim_start();
    let gap = &ahead[..ahead.len() - next.len()];
    let Some(c) = next.chars().next() else {
        return true;
    };
    match c {
        '}' | ']' => true,
        '/' => next.starts_with("//") || next.starts_with("/*"),
        '#' => true,
        ',' => {
            let after = next[1..].trim_start();
            let line =
                next[1..].len() > after.len() && next[1..next.len() - after.len()].contains('\n');
            match after.chars().next() {
                None => true,
                Some(_) if line => true,
                Some('}' | ']' | '{' | '[' | '/' | '#' | ',') => true,
                Some(_) if inside == StringContext::Object => is_key_next(after),
                Some('"' | '\'' | '“' | '„' | '‘' | '`' | '-' | '0'..='9') => true,
                Some(_) => ["true", "false", "null", "True", "False", "None"]
                    .iter()
                    .any(|prefix| after.starts_with(prefix)),
            }
        }
        '"' | '\'' | '“' => {
            gap.contains('\n') || (inside == StringContext::Object && is_key_next(next))
        }
        '`' => gap.contains('\n') && next.starts_with("```"),
        // A field on the next line, after a missing comma.
        _ => gap.contains('\n') && inside == StringContext::Object && is_key_next(next),
    }
}

/// Whether a string that was never closed ended at the line break before `ahead`.
fn is_missing_quote(ahead: &str, inside: StringContext) -> bool {
    let next = ahead.trim_start();
    match next.chars().next() {
        Some('"' | '\'' | '“') => inside == StringContext::Object && is_key_next(next),
        Some('`') => next.starts_with("```"),
        Some('}' | ']') => {
            let after = next[1..].trim_start();
            after.is_empty() || after.starts_with(['}', ']', ',', '`'])
        }
        _ => false,
    }
}

/// Whether a key and its colon come next.
fn is_key_next(text: &str) -> bool {
    let quote = text.chars().next().and_then(closing_quote);
    let body = match quote {
        Some(_) => text.trim_start_matches(['"', '\'', '“', '„', '‘', '`']),
        None => text,
    };
    let end = body
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$')))
        .unwrap_or(body.len());
    if end == 0 {
        return false;
    }
    let after = &body[end..];
    let after = match quote {
        Some(close) => match after.strip_prefix(close) {
            Some(it) => it,
            None => return false,
        },
        None => after,
    };
    after.trim_start().starts_with([':', '='])
}
