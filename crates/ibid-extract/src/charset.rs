//! Decodes bytes to text by the byte order mark, then the server's label, then the page's label, then a guess.
use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes of an HTML page; no page that people read is longer.
const MAX_HTML: usize = 8 << 20;

/// Bytes of a page that are searched for `<meta charset>`, as in browsers.
const META_WINDOW: usize = 2048;

/// Bytes that the guess is based on.
const GUESS_WINDOW: usize = 64 << 10;

/// Decodes a text. The second value is a warning if the charset is uncertain.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
) -> (Cow<'a, str>, Option<String>) {
    decode_with(bytes, content_type, None)
}

/// Decodes an HTML page in the encoding that it declares or seems to have.
pub fn decode_page(page: &[u8]) -> String {
    decode_html(page, None).0.into_owned()
}

/// Decodes an HTML page, which may declare its encoding in `<meta charset>`.
pub(crate) fn decode_html<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
) -> (Cow<'a, str>, Option<String>) {
    let cut = bytes.len() > MAX_HTML;
    let bytes = &bytes[..bytes.len().min(MAX_HTML)];
    let (text, note) = decode_with(bytes, content_type, meta_charset(bytes));
    (text, if cut { Some("truncated at 8 MiB".to_owned()) } else { note })
}

fn decode_with<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    declared: Option<&'static Encoding>,
) -> (Cow<'a, str>, Option<String>) {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return (encoding.decode_without_bom_handling(&bytes[length..]).0, None);
    }
    // Valid UTF-8 is UTF-8, whatever its label. Escape bytes may be ISO-2022-JP, which is plain ASCII too.
    if let Ok(text) = std::str::from_utf8(bytes) {
        let escapes = bytes.contains(&0x1b);
        if !escapes {
            return (Cow::Borrowed(text), None);
        }
    }
    let labelled = content_type.and_then(content_type_charset).or(declared);
    if let Some(encoding) = labelled {
        let (text, _, errors) = encoding.decode(bytes);
        if !errors {
            return (text, None);
        }
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(GUESS_WINDOW)], bytes.len() <= GUESS_WINDOW);
    let guess = detector.guess(None, Utf8Detection::Allow);
    let (text, _, errors) = guess.decode(bytes);
    // A few bad bytes do not overrule the label.
    let best = match labelled {
        Some(it) if errors || it == UTF_8 && is_mostly_utf8(bytes) => it,
        _ => guess,
    };
    if best != guess {
        let text = best.decode(bytes).0;
        return (text, Some("some bytes do not fit its charset".to_owned()));
    }
    let certain = best == UTF_8 || (best == WINDOWS_1252 && labelled.is_none());
    let note = (!certain || errors).then(|| format!("charset guessed: {}", guess.name()));
    (text, note)
}

fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let bad = text.matches('\u{fffd}').count();
    let odd = text.chars().filter(|c| !c.is_ascii()).count();
    bad * 5 < odd
}

/// The encoding of `text/html; charset=…`.
fn content_type_charset(content_type: &str) -> Option<&'static Encoding> {
    let at = content_type.to_ascii_lowercase().find("charset=")?;
    let label = content_type[at + 8..].trim_matches(|c: char| c == '"' || c == '\'' || c == ' ');
    Encoding::for_label(label.split(';').next()?.trim().as_bytes())
}

/// The encoding that a page's head declares.
fn meta_charset(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes[..bytes.len().min(META_WINDOW)]
        .iter()
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    let at = head.find("charset=").map(|it| it + 8).or_else(|| {
        head.starts_with("<?xml").then(|| head.find("encoding=").map(|it| it + 9))?
    })?;
    let label: String = head[at..]
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c))
        .collect();
    let found = Encoding::for_label(label.as_bytes())?;
    // A declaration that was found in single bytes cannot be UTF-16.
    let wide = found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE;
    Some(if wide { UTF_8 } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_beats_every_label() {
        let bytes = b"\xff\xfeh\0i\0";
        assert_eq!(decode(bytes, Some("text/plain; charset=utf-8")).0, "hi");
    }

    #[test]
    fn a_page_that_lies_about_its_charset_is_read_as_what_it_is() {
        let page = "<meta charset=\"iso-8859-1\"><p>Über größere Öfen</p>";
        assert!(decode_html(page.as_bytes(), None).0.contains("größere"));
    }

    #[test]
    fn a_legacy_charset_is_read_by_its_meta_element() {
        let (page, _, _) =
            encoding_rs::WINDOWS_1251.encode("<meta charset=windows-1251><p>Привет, мир</p>");
        assert!(decode_html(&page, None).0.contains("Привет"));
    }

    #[test]
    fn an_unlabelled_legacy_charset_is_guessed_and_said() {
        let (page, _, _) =
            encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。文字コードを推測します。");
        let (text, note) = decode(&page, None);
        assert!(text.contains("日本語"), "{text}");
        assert!(note.is_some());
    }
}
