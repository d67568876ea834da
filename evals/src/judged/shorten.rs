//! Texts for judges: without citations where a protocol wants that, and short enough for a window.
use std::sync::LazyLock;

use ibid_core::ports::Prompt;
use ibid_llm::metered::max_input_tokens;
use regex::Regex;

/// What stands where something was left out.
const GAP: &str = "[…]";

/// Headings of lists of sources.
const SOURCE_HEADINGS: &[&str] = &[
    "source",
    "sources",
    "reference",
    "references",
    "bibliography",
    "works cited",
    "citations",
    "quellen",
    "参考文献",
    "参考资料",
    "来源",
    "引用来源",
    "资料来源",
];

/// A text, and whether something was left out of it.
pub(crate) struct ShortText {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// An upper bound of the tokens of `text`.
pub(crate) fn tokens(text: &str) -> u64 {
    max_input_tokens(&Prompt::from_text("", text))
}

/// `article` in at most `most` tokens: of every section its heading and as many of its first paragraphs as there is room for, turn by turn.
pub(crate) fn shorten(article: &str, most: u64) -> ShortText {
    if tokens(article) <= most {
        return ShortText { text: article.to_owned(), is_cut: false };
    }
    let paragraphs: Vec<&str> =
        article.split("\n\n").map(str::trim).filter(|text| !text.is_empty()).collect();
    // The turn of a paragraph is its place in its section.
    let mut turns: Vec<(usize, usize)> = Vec::new();
    let mut turn = 0;
    for (at, paragraph) in paragraphs.iter().enumerate() {
        turn = if paragraph.starts_with('#') { 0 } else { turn + 1 };
        turns.push((turn, at));
    }
    turns.sort_unstable();
    select(&paragraphs, turns.into_iter().map(|turn| turn.1), most)
}

/// `page` in at most `most` tokens: the paragraphs that share the most words with `statements`, in the order of the page.
pub(crate) fn shorten_to_matter(page: &str, statements: &str, most: u64) -> ShortText {
    if tokens(page) <= most {
        return ShortText { text: page.to_owned(), is_cut: false };
    }
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric());
        parts.filter(|word| word.chars().count() > 3).map(str::to_lowercase).collect()
    };
    let wanted = words(statements);
    let paragraphs: Vec<&str> =
        page.split('\n').map(str::trim).filter(|text| !text.is_empty()).collect();
    let mut order: Vec<(usize, usize)> = paragraphs
        .iter()
        .enumerate()
        .map(|(at, text)| (words(text).intersection(&wanted).count(), at))
        .collect();
    order.sort_by_key(|(shared, at)| (std::cmp::Reverse(*shared), *at));
    select(&paragraphs, order.into_iter().map(|it| it.1), most)
}

/// The paragraphs in `order` until `most` tokens are used, then in the order of the text. One that does not fit whole is cut at a
/// sentence if nothing else fits.
fn select(paragraphs: &[&str], order: impl Iterator<Item = usize>, most: u64) -> ShortText {
    let gap = tokens(GAP);
    let mut left = most;
    let mut kept: Vec<(usize, String)> = Vec::new();
    for at in order {
        let cost = tokens(paragraphs[at]) + gap;
        if cost <= left {
            left -= cost;
            kept.push((at, paragraphs[at].to_owned()));
        } else if kept.is_empty() {
            let text = beginning(paragraphs[at], left.saturating_sub(gap));
            left = left.saturating_sub(tokens(&text) + gap);
            kept.push((at, text));
        }
    }
    kept.sort_unstable();
    let mut out = String::new();
    let mut next = 0;
    for (at, text) in kept {
        if at > next {
            out.push_str(GAP);
            out.push_str("\n\n");
        }
        out.push_str(&text);
        out.push_str("\n\n");
        next = at + 1;
    }
    if next < paragraphs.len() {
        out.push_str(GAP);
    }
    ShortText { text: out.trim_end().to_owned(), is_cut: true }
}

/// The beginning of `text` that has at most `most` tokens.
fn beginning(text: &str, most: u64) -> String {
    let ends: Vec<usize> = text.char_indices().map(|it| it.0).chain([text.len()]).collect();
    let fits = ends.partition_point(|end| tokens(&text[..*end]) <= most);
    ends.get(fits.saturating_sub(1)).map_or_else(String::new, |end| text[..*end].to_owned())
}

/// A pattern of this file; `None` never happens, and then nothing is replaced.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static MARKS: LazyLock<Vec<(Option<Regex>, &str)>> = LazyLock::new(|| {
    vec![
        // Numbered links, footnotes and numbers in brackets of any kind.
        (
            pattern(
                r"\[\[\d+\]\]\([^)\s]*\)|\[\^[^\]\s]+\]|\[\d+(?:\s*[,，、–-]\s*\d+)*\]\([^)\s]*\)",
            ),
            "",
        ),
        (pattern(r"\[\[?\d+(?:\s*[,，、–-]\s*\d+)*\]?\]|【\d+[^】]*】"), ""),
        // The words of a link stay.
        (pattern(r"\[([^\[\]]+)\]\((?:https?:|#)[^)\s]*\)"), "$1"),
        (pattern(r"<?https?://[^\s<>)\]]+>?"), ""),
    ]
});

/// `article` without marks of citations, footnotes and lists of sources; its words stay.
pub(crate) fn without_citations(article: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut skip_from: Option<usize> = None;
    let mut in_note = false;
    for line in article.lines() {
        let level = line.chars().take_while(|c| *c == '#').count();
        if level > 0 {
            if skip_from.is_some_and(|listed| level <= listed) {
                skip_from = None;
            }
            if is_source_heading(line) {
                skip_from = Some(level);
            }
        } else if line.trim().starts_with("**") && is_source_heading(line) {
            skip_from = Some(6);
        }
        in_note = line.starts_with("[^") && line.contains("]:")
            || in_note && (line.starts_with("    ") || line.trim().is_empty());
        if skip_from.is_none() && !in_note {
            kept.push(line);
        }
    }
    let mut text = kept.join("\n");
    for (pattern, with) in MARKS.iter() {
        if let Some(pattern) = pattern {
            text = pattern.replace_all(&text, *with).into_owned();
        }
    }
    text.trim().to_owned()
}

fn is_source_heading(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    SOURCE_HEADINGS.contains(&bare.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_keeps_its_beginning_and_the_limit_is_kept() {
        let section = |name: &str| {
            let text: String = (0..30).map(|nth| format!("{name} says {nth}.\n\n")).collect();
            format!("## {name}\n\n{text}")
        };
        let article = format!("{}{}", section("Cork"), section("Moss"));
        let short = shorten(&article, 200);
        assert!(short.is_cut && tokens(&short.text) <= 200, "{}", tokens(&short.text));
        for text in ["## Cork", "Cork says 0.", "## Moss", "Moss says 0.", GAP] {
            assert!(short.text.contains(text), "{text}: {}", short.text);
        }
        assert!(!short.text.contains("Moss says 29."));
        let whole = shorten(&article, 10_000);
        assert!(!whole.is_cut && whole.text == article);
        assert!(tokens(&shorten("词".repeat(900).as_str(), 60).text) <= 60);
    }

    #[test]
    fn of_a_page_the_paragraphs_about_the_matter_stay() {
        let page: String = (0..90).map(|nth| format!("Line {nth} is about weather.\n")).collect();
        let page = format!("{page}Cork floats on water.\n{page}");
        let short = shorten_to_matter(&page, "Cork floats", 80);
        assert!(short.is_cut && short.text.contains("Cork floats on water."), "{}", short.text);
    }

    #[test]
    fn citations_go_and_words_stay() {
        let article = "# Cork\n\nIt floats [[1]](#src-1), see [the study](https://a.example/x)[^q2] [3, 4]【5†L1】.\n\n\
                       ## Sources\n\n1. A study, https://a.example/x\n\n## Outlook\n\nMore.\n\n[^q2]: \"quoted\"\n    more\n";
        let text = without_citations(article);
        assert_eq!(text, "# Cork\n\nIt floats , see the study .\n\n## Outlook\n\nMore.");
    }
}
