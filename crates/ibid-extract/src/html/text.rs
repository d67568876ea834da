//! White space, invisible characters and words in the text of a page.

/// Folds runs of white space to one space and trims.
pub(super) fn collapse_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// White space, and characters that separate words like it.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{a0}' | '\u{feff}' | '\0')
}

/// Characters without width, such as joiners, direction marks and control characters.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200c}' | '\u{2060}'..='\u{2064}' | '\u{ad}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}' | '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

/// Words as a reader counts them; every two ideographs count as one word.
pub(super) fn count_words(text: &str) -> u32 {
    let mut words = 0;
    let mut ideographs = 0_u32;
    let mut inside = false;
    for c in text.chars() {
        if ('\u{3040}'..='\u{9fff}').contains(&c) || ('\u{ac00}'..='\u{d7af}').contains(&c) {
            ideographs += 1;
            inside = false;
        } else if c.is_alphanumeric() {
            words += u32::from(!inside);
            inside = true;
        } else if c.is_whitespace() {
            inside = false;
        }
    }
    words + ideographs.div_ceil(2)
}
