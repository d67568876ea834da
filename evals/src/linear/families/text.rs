//! Plain texts without ends, and in other encodings.
use super::{Rule, grown, repeated, sentence};

/// A text in UTF-16, little end first.
fn utf16(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().flat_map(u16::to_le_bytes);
    [0xff, 0xfe].into_iter().chain(units).collect()
}

pub(super) const FAMILIES: &[Rule] = &[
    ("text: capitals without a full stop", |size| {
        repeated(size, "", "stone Garden river Market field the ", ".")
    }),
    ("text: one line", |size| repeated(size, "", "many words and ", "")),
    ("text: one word", |size| repeated(size, "", "abcdefgh", "")),
    ("text: lines", |size| {
        repeated(size, "", "A line of words that is long enough to be wrapped by a margin\n", "")
    }),
    ("text: empty lines", |size| repeated(size, "words", "\n", "words")),
    ("text: blanks", |size| repeated(size, "a", "        ", "b")),
    ("text: sentences", |size| grown(size, "", "", |nth, out| out.push_str(&sentence(nth)))),
    ("text: stops", |size| repeated(size, "a", ".", " b")),
    ("text: stops between blanks", |size| repeated(size, "a", " .", " b")),
    ("text: questions", |size| repeated(size, "a", "?! ", "b")),
    ("text: abbreviations", |size| repeated(size, "", "e.g. Dr. A. No. 5 (b. Moers. ", "")),
    ("text: initials", |size| repeated(size, "", "A. ", "")),
    ("text: open brackets", |size| repeated(size, "", "(a. B", "")),
    ("text: reference marks", |size| repeated(size, "", "word.[1][2][3", "")),
    ("text: numbers behind stops", |size| repeated(size, "a", ".1,2-3", " B")),
    ("text: long numbers behind stops", |size| repeated(size, "word.", "1", " B")),
    ("text: closing quotes", |size| repeated(size, "word.", "\"')]", " B")),
    ("text: bullets", |size| repeated(size, "", "• a ", "")),
    ("text: list items", |size| repeated(size, "", "3. Then\n", "")),
    ("text: CJK stops", |size| repeated(size, "", "水の話。", "")),
    ("text: combining marks", |size| repeated(size, "e", "\u{301}", "")),
    ("text: marks without width", |size| repeated(size, "a", "\u{200b}\u{feff}", "b")),
    ("text: many dates", |size| {
        repeated(size, "", "On 5 March 2020, 2020-03-05 and 5.3.2020. ", "")
    }),
    ("text: UTF-16", |size| utf16(&"Some words of it. ".repeat(size / 36))),
    ("text: GBK", |size| {
        // 中文网页, 。
        b"\xd6\xd0\xce\xc4\xcd\xf8\xd2\xb3\xa1\xa3".repeat(size / 10)
    }),
    ("text: broken UTF-8", |size| b"word \xc3 \xe2\x82 ".repeat(size / 10)),
];
