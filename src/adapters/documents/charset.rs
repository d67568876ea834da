//! Bytes to text: byte order mark, then what the server said, then what the page says, then a guess.
use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Text longer than this is cut: no page that a person reads is longer.
const MAX_HTML: usize = 8 << 20;

/// How much of a page is searched for `<meta charset>`, as browsers do.
const META_WINDOW: usize = 2048;

/// How many bytes the guess looks at.
const GUESS_WINDOW: usize = 64 << 10;

/// Decodes a text; a second value says what was uncertain.
pub(super) fn decode<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
) -> (Cow<'a, str>, Option<String>) {
    with(bytes, content_type, None)
}

/// Decodes an HTML page, minding its own `<meta charset>`.
pub(super) fn decode_html<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
) -> (Cow<'a, str>, Option<String>) {
    let cut = bytes.len() > MAX_HTML;
    let bytes = &bytes[..bytes.len().min(MAX_HTML)];
    let (text, note) = with(bytes, content_type, declared(bytes));
    (
        text,
        if cut {
            Some("truncated at 8 MiB".to_owned())
        } else {
            note
        },
    )
}

fn with<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    declared: Option<&'static Encoding>,
) -> (Cow<'a, str>, Option<String>) {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return (
            encoding.decode_without_bom_handling(&bytes[length..]).0,
            None,
        );
    }
    // What is valid UTF-8 and not plain ASCII is UTF-8, whatever a label says.
    if let Ok(text) = std::str::from_utf8(bytes) {
        let escapes = bytes.contains(&0x1b);
        if !escapes {
            return (Cow::Borrowed(text), None);
        }
    }
    let labelled = content_type.and_then(label).or(declared);
    if let Some(encoding) = labelled {
        let (text, _, errors) = encoding.decode(bytes);
        if !errors {
            return (text, None);
        }
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(
        &bytes[..bytes.len().min(GUESS_WINDOW)],
        bytes.len() <= GUESS_WINDOW,
    );
    let guess = detector.guess(None, Utf8Detection::Allow);
    let (text, _, errors) = guess.decode(bytes);
    // A few bad bytes in an otherwise labelled text: the label holds.
    let best = match labelled {
        Some(it) if errors || it == UTF_8 && mostly_utf8(bytes) => it,
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

fn mostly_utf8(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let bad = text.matches('\u{fffd}').count();
    let odd = text.chars().filter(|it| !it.is_ascii()).count();
    bad * 5 < odd
}

/// The encoding of `text/html; charset=…`.
fn label(content_type: &str) -> Option<&'static Encoding> {
    let at = content_type.to_ascii_lowercase().find("charset=")?;
    let label = content_type[at + 8..].trim_matches(|c: char| c == '"' || c == '\'' || c == ' ');
    Encoding::for_label(label.split(';').next()?.trim().as_bytes())
}

/// The encoding a page's head declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes[..bytes.len().min(META_WINDOW)]
        .iter()
        .map(|it| char::from(it.to_ascii_lowercase()))
        .collect();
    let at = head.find("charset=").map(|it| it + 8).or_else(|| {
        head.starts_with("<?xml")
            .then(|| head.find("encoding=").map(|it| it + 9))?
    })?;
    let label: String = head[at..]
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c))
        .collect();
    let found = Encoding::for_label(label.as_bytes())?;
    // A page that can be read as far as its declaration is not in UTF-16.
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
