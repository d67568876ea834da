//! The surface of one report, as `report_stats.py` measures it.
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// The measures of one report.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Surface {
    /// Words of the body, without addresses and marks; of Chinese and Japanese, signs.
    pub(super) words: f64,
    pub(super) headings: f64,
    /// Citations in the body: links, bare addresses and numbers in brackets.
    pub(super) citations: f64,
    /// Distinct among them.
    pub(super) distinct: f64,
    pub(super) per_thousand: f64,
    /// Share of the paragraphs of 20 and more words that have a citation.
    pub(super) paragraphs_cited: f64,
    /// Share of the citations that repeat an earlier one.
    pub(super) repeated: f64,
    /// Share of the sentences of eight and more words that stand there before.
    pub(super) sentences_twice: f64,
    /// Numbers of the list of sources that the body does not cite.
    pub(super) never_cited: f64,
    /// Numbers that the body cites and the list does not have.
    pub(super) not_listed: f64,
}

#[expect(clippy::unwrap_used, reason = "the expressions are fixed; a wrong one fails every run")]
fn expression(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

macro_rules! expression {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| expression($text));
    };
}

expression!(
    LINK,
    r"\[(?P<t>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<u>https?://[^\s)]+(?:\([^\s)]*\)[^\s)]*)*)[^)]*\)"
);
expression!(URL, r#"https?://[^\s<>\])"'|，。；）】]+"#);
expression!(NUMBER, r"\[(\d{1,3}(?:\s*[,，、-]\s*\d{1,3})*)\]|【(\d{1,3})(?:†[^】]*)?】");
expression!(CJK, r"[\x{3400}-\x{9fff}]");
expression!(WORD, r"[A-Za-z0-9][\w'’.-]*");
expression!(
    SOURCES,
    r"(?im)^\s{0,3}(?:#{1,6}\s*|\*\*)?(?:\d+[.)]?\s*)?(?:sources?|references?|bibliography|works cited|citations?|参考文献|参考资料|来源|引用来源|资料来源)\s*[:：]?\s*(?:\*\*)?\s*$"
);
expression!(HEADING, r"(?m)^#{1,6}\s");
expression!(LISTED, r"(?m)^\s*(?:[-*]\s*)?\[?(\d{1,3})[\].)]");
expression!(ONLY_NUMBER, r"^\[?\d+\]?$");
expression!(PARAGRAPH, r"\n\s*\n|\n\s*(?:[-*•]|\d+\.|\|)");
expression!(SENTENCE, r"[.!?]\s+|[。！？]|\n+");
expression!(BETWEEN, r"\W+");
expression!(RANGE, r"^\s*(\d+)\s*-\s*(\d+)\s*$");
expression!(DIGITS, r"\d+");

/// Measures `report`, which is Markdown.
pub(super) fn surface(report: &str) -> Surface {
    let (body, tail) = body_and_list(report);
    let links: Vec<&str> = LINK
        .captures_iter(body)
        .filter_map(|it| Some(it.name("u")?.as_str().trim_end_matches(['.', ',', ';'])))
        .collect();
    let bare_body = LINK.replace_all(body, " ");
    let addresses: Vec<&str> = URL
        .find_iter(&bare_body)
        .map(|iter| iter.as_str().trim_end_matches(['.', ',', ';']))
        .collect();
    let cited: Vec<u32> = numbers(&bare_body);
    let clean = clean(body);
    let words = words(&without_numbers(&clean));
    let ids: Vec<String> = links
        .iter()
        .chain(&addresses)
        .map(|link| link.split('#').next().unwrap_or_default().trim_end_matches('/').to_owned())
        .chain(cited.iter().map(u32::to_string))
        .collect();
    let distinct = ids.iter().collect::<BTreeSet<_>>().len();
    let listed: BTreeSet<u32> =
        LISTED.captures_iter(tail).filter_map(|it| it.get(1)?.as_str().parse().ok()).collect();
    let used: BTreeSet<u32> = cited.into_iter().collect();
    let count = |number: usize| number as f64;
    Surface {
        words: count(words),
        headings: count(HEADING.find_iter(report).count()),
        citations: count(ids.len()),
        distinct: count(distinct),
        per_thousand: 1000.0 * share(ids.len(), words),
        paragraphs_cited: paragraphs_cited(body),
        repeated: if ids.is_empty() { 0.0 } else { 1.0 - share(distinct, ids.len()) },
        sentences_twice: sentences_twice(&clean),
        never_cited: if used.is_empty() { 0.0 } else { count(listed.difference(&used).count()) },
        not_listed: if listed.is_empty() { 0.0 } else { count(used.difference(&listed).count()) },
    }
}

fn share(a: usize, b: usize) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// The report up to its last heading of sources, if that stands behind the first third.
fn body_and_list(report: &str) -> (&str, &str) {
    let last = SOURCES.find_iter(report).last().map(|it| it.start());
    let signs = |text: &str| text.chars().count() as f64;
    match last.filter(|at| signs(&report[..*at]) > 0.3 * signs(report)) {
        Some(at) => report.split_at(at),
        None => (report, ""),
    }
}

/// Numbers in brackets, ranges written out. `[1](…)` is a link.
fn numbers(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for it in NUMBER.captures_iter(text) {
        let whole = it.get(0).map_or(0, |value| value.end());
        let Some(inside) = it.get(1).filter(|_| !text[whole..].starts_with('(')).or(it.get(2))
        else {
            continue;
        };
        for part in inside.as_str().split([',', '，', '、']) {
            let number =
                |it: Option<regex::Match<'_>>| it.and_then(|it| it.as_str().parse::<u32>().ok());
            let range = RANGE
                .captures(part)
                .and_then(|captures| Some((number(captures.get(1))?, number(captures.get(2))?)));
            match range {
                Some((first, last)) if last.saturating_sub(first) < 30 => {
                    found.extend(first..=last)
                }
                _ => found.extend(DIGITS.find_iter(part).filter_map(|it| number(Some(it)))),
            }
        }
    }
    found
}

/// The text without the numbers in brackets; those that begin a link stay.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for it in NUMBER.find_iter(text) {
        let link = it.as_str().starts_with('[') && text[it.end()..].starts_with('(');
        if !link {
            out.push_str(&text[from..it.start()]);
            from = it.end();
        }
    }
    out.push_str(&text[from..]);
    out
}

/// The body with links as their words and without addresses.
fn clean(body: &str) -> String {
    let worded = LINK.replace_all(body, |captures: &regex::Captures<'_>| {
        let words = captures.name("t").map_or("", |name| name.as_str());
        if ONLY_NUMBER.is_match(words) { String::new() } else { words.to_owned() }
    });
    URL.replace_all(&worded, "").into_owned()
}

fn words(text: &str) -> usize {
    WORD.find_iter(&CJK.replace_all(text, " ")).count() + CJK.find_iter(text).count()
}

fn paragraphs_cited(body: &str) -> f64 {
    // What begins a list item or a table row belongs to the paragraph behind it.
    let mut starts = vec![0];
    for it in PARAGRAPH.find_iter(body) {
        let blank = it.as_str().ends_with('\n');
        starts.push(if blank { it.end() } else { it.start() + 1 });
    }
    starts.push(body.len());
    let (mut all, mut cited) = (0, 0);
    for pair in starts.windows(2).filter(|window| window[0] < window[1]) {
        let text = &body[pair[0]..pair[1]];
        if words(&URL.replace_all(text, "")) < 20 || text.trim_start().starts_with('#') {
            continue;
        }
        all += 1;
        let marked = LINK.is_match(text) || URL.is_match(text) || !numbers(text).is_empty();
        cited += usize::from(marked);
    }
    share(cited, all)
}

fn sentences_twice(clean: &str) -> f64 {
    let bare = without_numbers(clean);
    let all: Vec<String> = SENTENCE
        .split(&bare)
        .map(|part| BETWEEN.replace_all(part, " ").trim().to_lowercase())
        .filter(|it| words(it) >= 8)
        .collect();
    let distinct = all.iter().collect::<BTreeSet<_>>().len();
    if all.is_empty() { 0.0 } else { 1.0 - share(distinct, all.len()) }
}

#[cfg(test)]
mod tests {
    use super::surface;

    const REPORT: &str = "# Roofs\n\nGreen roofs keep rain back for hours, and what they keep depends on the depth of \
        the substrate, its age and the season [1, 2]. They also cool the rooms below [2].\n\nThis paragraph has no \
        citation at all although it has far more than twenty words, so that it counts as a paragraph which ought to have one.\n\n\
        ## Sources\n\n1. One https://one.example/a\n2. Two\n3. Three\n";

    #[test]
    fn a_report_is_measured_as_the_shared_script_does() {
        let it = surface(REPORT);
        assert_eq!((it.citations, it.distinct, it.headings), (3.0, 2.0, 2.0));
        assert_eq!(it.paragraphs_cited, 0.5);
        assert_eq!((it.never_cited, it.not_listed), (1.0, 0.0));
        assert!((it.repeated - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(it.sentences_twice, 0.0);
    }

    #[test]
    fn links_count_once_and_said_twice_is_seen() {
        let said = "The very same sentence of more than eight words stands here twice. ";
        let it = surface(&format!(
            "{said}{said}See [one](https://one.example/a) and [one](https://one.example/a#b)."
        ));
        assert_eq!((it.citations, it.distinct), (2.0, 1.0));
        assert_eq!(it.sentences_twice, 0.5);
    }
}
