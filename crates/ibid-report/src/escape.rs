//! Escapes untrusted text, so that it is readable but never markup.
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

/// `text` as one line, without control, bidirectional-override and tag characters, which could drive a terminal, hide text or forge lines.
/// Any white space becomes one space.
pub fn single_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
        } else if !is_unsafe_char(c) {
            out.push(c);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The first `limit` characters of [`single_line()`], with an ellipsis if more follow.
pub fn truncate(text: &str, limit: usize) -> String {
    let text = single_line(text);
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text,
    }
}

/// `escaped`, which is `text` without the white space at its ends, with a space where `text` has some.
pub(crate) fn keep_outer_space(text: &str, escaped: String) -> String {
    let space = |end: Option<char>| {
        if end.is_some_and(char::is_whitespace) { " " } else { "" }
    };
    let (before, after) = (space(text.chars().next()), space(text.chars().next_back()));
    if escaped.is_empty() { before.to_owned() } else { format!("{before}{escaped}{after}") }
}

/// `text` with its white space and lines, but without the characters that [`single_line()`] removes.
pub fn strip_controls(text: &str) -> String {
    let keeps = |c: &char| {
        c.is_whitespace() && !matches!(c, '\u{b}' | '\u{c}' | '\u{85}') || !is_unsafe_char(*c)
    };
    text.chars().filter(keeps).collect()
}

/// Whether `c` is a command rather than text: a control, bidirectional override or isolate, byte-order mark, interlinear annotation or tag.
pub(super) fn is_unsafe_char(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// [`single_line()`] without noncharacters, which XML and YAML do not allow.
pub(crate) fn plain_line(text: &str) -> String {
    let mut out = single_line(text);
    out.retain(|it| !matches!(it, '\u{fdd0}'..='\u{fdef}') && (u32::from(it) & 0xfffe) != 0xfffe);
    out
}

/// `text` as one line of TeX that prints exactly this text: no command, group, comment, mathematics or ligature, in the body, in an
/// argument, or in a field of BibTeX, where braces must balance.
pub fn tex(text: &str) -> String {
    let text = plain_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' => out.push_str("\\textbraceleft{}"),
            '}' => out.push_str("\\textbraceright{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '`' => out.push_str("\\textasciigrave{}"),
            '\'' => out.push_str("\\textquotesingle{}"),
            '"' => out.push_str("\\textquotedbl{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '[' => out.push_str("{[}"),
            ']' => out.push_str("{]}"),
            // Two hyphens would become a dash, and two commas a quotation mark.
            '-' | ',' if out.ends_with(c) => {
                out.push_str("{}");
                out.push(c);
            }
            '$' | '&' | '#' | '%' | '_' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// `text` as one line of Markdown with every special character of any dialect written as a numeric entity. Safe also for dialects with
/// citations, shortcodes, embeds, tags, attributes and executable code, which look at the raw text before Markdown is parsed.
pub(crate) fn markdown_entities(text: &str) -> String {
    use std::fmt::Write as _;
    let text = plain_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        let harmless = c.is_alphanumeric()
            || matches!(c, ' ' | ',' | ';' | '?' | '(' | '/' | '"' | '\'')
            || !c.is_ascii()
            // Special only in some places: `1.`, `a)` and `- ` open lists, and two of them have other meanings.
            || (at > 0
                && matches!(c, '-' | '.' | ')' | ':' | '%' | '+' | '=')
                && !out.ends_with(c)
                && !is_list_marker(&out));
        if harmless {
            out.push(c);
        } else {
            let _ = write!(out, "&#{};", u32::from(c));
            if c == '@' {
                // Some dialects look for mail addresses after entities are decoded.
                out.push('\u{2060}');
            }
        }
    }
    // A bare URL becomes a link in some dialects.
    out.replace("://", "&#58;//").replace("www.", "www&#46;")
}

/// `text` as a quoted Mermaid label: everything but letters, digits, spaces and commas is written by its number, so that it cannot end the
/// label, add a node, link, Markdown, HTML or directive, or break out of the surrounding note.
pub(crate) fn mermaid_label(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 8);
    for c in plain_line(text).chars() {
        match c {
            ' ' | ',' => out.push(c),
            c if c.is_alphanumeric() => out.push(c),
            c => {
                let _ = write!(out, "#{};", u32::from(c));
            }
        }
    }
    // Mermaid rejects an empty label.
    if out.is_empty() {
        out.push(' ');
    }
    out
}

/// Whether `before` is the number or letter of a list item.
fn is_list_marker(before: &str) -> bool {
    !before.is_empty() && before.len() <= 9 && before.chars().all(|c| c.is_ascii_alphanumeric())
}

/// `text` as one line of Markdown that shows exactly this text: no link, image, HTML, emphasis, code, footnote, table cell or block, also
/// with the extensions of GitHub (bare URLs, alerts, mathematics).
pub fn markdown(text: &str) -> String {
    let text = single_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    let dollars = text.matches('$').count();
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        match c {
            '\\' | '`' | '*' | '[' | ']' | '~' | '|' => out.extend(['\\', c]),
            '<' if opens_tag(rest) => out.push_str("\\<"),
            '_' if !inside_word(&text, at) => out.push_str("\\_"),
            '$' if dollars > 1 => out.push_str("\\$"),
            '&' if is_entity(rest) => out.push_str("\\&"),
            ':' if rest.starts_with("://") => out.push_str("\\:"),
            '.' if ends_with_www(&out) => out.push_str("\\."),
            // A word joiner is invisible and prevents a mail address or an `@mention`.
            '@' => out.push_str("@\u{2060}"),
            _ => out.push(c),
        }
    }
    escape_line_start(out)
}

/// A tag, comment or address in angle brackets begins with a letter, `/`, `!` or `?`; "p<0.001" does not.
fn opens_tag(rest: &str) -> bool {
    rest[1..].starts_with(|c: char| !c.is_ascii_digit() && c != ' ' && c != '=')
}

/// GitHub reads `snake_case` as a word, but `_this_` as emphasis.
fn inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

fn is_entity(rest: &str) -> bool {
    rest[1..].find(';').is_some_and(|end| {
        let name = &rest[1..=end];
        end > 0
            && name
                .trim_start_matches('#')
                .trim_end_matches(';')
                .chars()
                .all(|c| c.is_ascii_alphanumeric())
    })
}

fn ends_with_www(out: &str) -> bool {
    out.len() >= 3 && out.is_char_boundary(out.len() - 3) && {
        out[out.len() - 3..].eq_ignore_ascii_case("www")
    }
}

/// Prevents the beginning of a line from opening a heading, list, quote, rule, table or code block.
fn escape_line_start(text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut after = text[digits..].chars();
    // "1. " opens a list, "1.5" does not.
    let marks = matches!(after.next(), Some('.' | ')'));
    if digits > 0 && marks && after.next().is_none_or(char::is_whitespace) {
        return format!("{}\\{}", &text[..digits], &text[digits..]);
    }
    let mut chars = text.chars();
    match chars.next() {
        // An option, as `--keep` or `-v`: a list needs a space, a rule and an underline have no letters.
        Some('-') if chars.find(|it| *it != '-').is_some_and(char::is_alphanumeric) => text,
        Some('#' | '>' | '-' | '+' | '=' | ':') => format!("\\{text}"),
        _ => text,
    }
}

/// `url` as the target of a Markdown link, if it is `http` or `https`; else `None`.
pub fn web_url(url: &str) -> Option<String> {
    let parsed = url::Url::parse(url).ok()?;
    matches!(parsed.scheme(), "http" | "https").then(|| {
        parsed
            .as_str()
            .chars()
            .map(|c| match c {
                '(' => "%28".to_owned(),
                ')' => "%29".to_owned(),
                '<' => "%3C".to_owned(),
                '>' => "%3E".to_owned(),
                '[' => "%5B".to_owned(),
                ']' => "%5D".to_owned(),
                '|' => "%7C".to_owned(),
                '\\' => "%5C".to_owned(),
                '*' => "%2A".to_owned(),
                '`' => "%60".to_owned(),
                c => c.to_string(),
            })
            .collect()
    })
}

/// The text fragment that scrolls a browser to `quote`: `:~:text=…`. A long quote is given by its first and last five words.
/// Source: <https://wicg.github.io/scroll-to-text-fragment/>.
pub(crate) fn text_fragment(quote: &str) -> String {
    let quote = single_line(quote);
    let words: Vec<&str> = quote.split(' ').collect();
    if words.len() <= 12 {
        format!(":~:text={}", percent_encode(&quote))
    } else {
        format!(
            ":~:text={},{}",
            percent_encode(&words[..5].join(" ")),
            percent_encode(&words[words.len() - 5..].join(" "))
        )
    }
}

/// All but ASCII letters, digits, `.` and `_`: in a text fragment `-`, `,` and `&` are special.
const FRAGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_');

fn percent_encode(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, FRAGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_prose_stays_as_it_is() {
        for text in [
            "The tower weighs 7,300 tonnes (2,000 kg of it paint).",
            "It cost $3 million in snake_case; see p. 4 – or don't!",
            "R&D rose by 5 % in 1997-98: a record.",
        ] {
            assert_eq!(markdown(text), text);
        }
    }

    #[test]
    fn strangers_words_cannot_become_markup() {
        for (text, want) in [
            ("![x](http://evil)", "!\\[x\\](http\\://evil)"),
            ("<img src=x>", "\\<img src=x>"),
            ("a | b", "a \\| b"),
            ("&lt;b&gt; AT&T", "\\&lt;b\\&gt; AT&T"),
            ("# Heading", "\\# Heading"),
            ("12. twelve", "12\\. twelve"),
            ("- item", "\\- item"),
            ("two\nlines\u{2028}three", "two lines three"),
            ("WWW.evil.org", "WWW\\.evil.org"),
            ("$a$", "\\$a\\$"),
            ("_so_ and **so**", "\\_so\\_ and \\*\\*so\\*\\*"),
            ("[^q1]: forged", "\\[^q1\\]: forged"),
            ("\u{1b}[31mred\u{202e}evil", "\\[31mredevil"),
        ] {
            assert_eq!(markdown(text), want, "{text}");
        }
        assert!(!markdown("me@example.org").contains("me@e"));
    }

    #[test]
    fn words_are_no_tex() {
        for (text, want) in [
            ("Cork -- a tree's bark: 5 %", "Cork -{}- a tree\\textquotesingle{}s bark: 5 \\%"),
            ("\\input{x}", "\\textbackslash{}input\\textbraceleft{}x\\textbraceright{}"),
            ("}}\n@misc{x,", "\\textbraceright{}\\textbraceright{} @misc\\textbraceleft{}x,"),
            ("$a_1^2$ & ~", "\\$a\\_1\\textasciicircum{}2\\$ \\& \\textasciitilde{}"),
            ("[x]", "{[}x{]}"),
        ] {
            assert_eq!(tex(text), want, "{text}");
        }
    }

    #[test]
    fn words_written_by_number_are_no_dialect_of_anything() {
        for (text, want) in [
            ("A roof (of 2 m) keeps 56 % - or so.", "A roof (of 2 m) keeps 56 % - or so."),
            ("{{< env KEY >}}", "&#123;&#123;&#60; env KEY &#62;&#125;&#125;"),
            (
                "`r x` [[a|b]] ![[c]]",
                "&#96;r x&#96; &#91;&#91;a&#124;b&#93;&#93; &#33;&#91;&#91;c&#93;&#93;",
            ),
            ("@quill2024 #tag", "&#64;\u{2060}quill2024 &#35;tag"),
            ("1. one", "1&#46; one"),
            ("- x", "&#45; x"),
            ("a :: b", "a :&#58; b"),
            ("https://a.example", "https&#58;//a.example"),
            ("\u{ffff}x\u{202e}", "x"),
        ] {
            assert_eq!(markdown_entities(text), want, "{text}");
        }
    }

    #[test]
    fn words_of_a_label_are_letters_and_numbers() {
        for (text, want) in [
            ("a \"]\nclick a", "a #34;#93; click a"),
            ("1. <b>", "1#46; #60;b#62;"),
            ("%%{init: {}}%%", "#37;#37;#123;init#58; #123;#125;#125;#37;#37;"),
            ("über 水 end", "über 水 end"),
            ("\u{0}", " "),
        ] {
            assert_eq!(mermaid_label(text), want, "{text}");
        }
    }

    #[test]
    fn only_addresses_of_the_web_are_targets() {
        assert_eq!(web_url("javascript:alert(1)"), None);
        assert_eq!(web_url("file:///etc/passwd"), None);
        assert_eq!(
            web_url("https://a.org/b_(c)?d=[e]").as_deref(),
            Some("https://a.org/b_%28c%29?d=%5Be%5D")
        );
    }

    #[test]
    fn a_long_quote_is_given_by_its_ends() {
        assert_eq!(text_fragment("5 mg, daily"), ":~:text=5%20mg%2C%20daily");
        let long = "a b c d e f g h i j k l m n";
        assert_eq!(text_fragment(long), ":~:text=a%20b%20c%20d%20e,j%20k%20l%20m%20n");
    }
}
