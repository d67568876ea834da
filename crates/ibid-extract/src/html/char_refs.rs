//! Character references: `&amp;`, `&#8212;`.
use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use html5ever::tendril::StrTendril;

/// Bytes of the longest name, `CounterClockwiseContourIntegral;`.
const MAX_NAME_BYTES: usize = 32;

/// Where a reference is. In the value of an attribute, a `&` often begins a parameter of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CharRefContext {
    /// In text.
    Text,
    /// In an attribute's value.
    Attribute,
}

/// Replaces all character references.
pub(super) fn decode(text: &str, place: CharRefContext) -> StrTendril {
    let mut out = StrTendril::with_capacity(text.len() as u32);
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let found = match rest.strip_prefix('#') {
            Some(number) => numeric(number).map(|(it, len)| ((it, None), len + 1)),
            None => named(rest, place),
        };
        match found {
            Some(((first, second), len)) => {
                out.push_char(first);
                if let Some(second) = second {
                    out.push_char(second);
                }
                rest = &rest[len..];
            }
            None => out.push_char('&'),
        }
    }
    out.push_slice(rest);
    out
}

/// The character of a numeric reference, and its length in bytes.
fn numeric(text: &str) -> Option<(char, usize)> {
    let (base, digits) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (16, digits),
        None => (10, text),
    };
    let (mut number, mut len) = (0_u32, 0);
    for digit in digits.bytes().map_while(|byte| char::from(byte).to_digit(base)) {
        number = number.saturating_mul(base).saturating_add(digit);
        len += 1;
    }
    if len == 0 {
        return None;
    }
    len += usize::from(digits.as_bytes().get(len) == Some(&b';'));
    let replaced = number
        .checked_sub(0x80)
        .and_then(|index| C1_REPLACEMENTS.get(index as usize).copied().flatten());
    let meant = match number {
        0 => None,
        it => replaced.or_else(|| char::from_u32(it)),
    };
    let skipped = text.len() - digits.len();
    Some((meant.unwrap_or(char::REPLACEMENT_CHARACTER), skipped + len))
}

/// The one or two characters of the longest name that matches, and its length in bytes.
fn named(text: &str, place: CharRefContext) -> Option<((char, Option<char>), usize)> {
    let bytes = text.as_bytes();
    let most = bytes.len().min(MAX_NAME_BYTES);
    let letters =
        bytes[..most].iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(most);
    let known = |len: usize| match NAMED_ENTITIES.get(&text[..len]) {
        // A zero marks the beginning of a longer name.
        Some(&(0, _)) | None => None,
        Some(&(first, second)) => {
            let second = char::from_u32(second).filter(|_| second != 0);
            Some(((char::from_u32(first)?, second), len))
        }
    };
    // A semicolon ends a name, so this is the longest one.
    if bytes.get(letters) == Some(&b';')
        && letters < MAX_NAME_BYTES
        && let Some(found) = known(letters + 1)
    {
        return Some(found);
    }
    let (chars, len) = (1..=letters).rev().find_map(known)?;
    let next = bytes.get(len);
    let parameter = next.is_some_and(|c| *c == b'=' || c.is_ascii_alphanumeric());
    (place == CharRefContext::Text || !parameter).then_some((chars, len))
}
