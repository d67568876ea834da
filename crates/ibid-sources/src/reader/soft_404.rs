//! Error pages that were sent with a good status: "not found", "are you a robot", "enable JavaScript", "sign in".
use url::Url;

use ibid_core::ReadFailure;
use ibid_core::domain::{Block, BlockKind, PageDraft};

/// A page with more words than this has content of its own.
const MAX_EMPTY_PAGE_WORDS: usize = 120;
/// The metadata of a page with at most so many words counts against it.
const SHORT_PAGE_WORDS: usize = 40;
/// A paragraph with so many words is a sentence.
const SENTENCE_WORDS: usize = 12;
/// The bytes at the beginning of a page that are searched for metadata.
const HEAD_BYTES: usize = 256 << 10;

const NOT_FOUND: &[&str] = &[
    "page not found",
    "404 not found",
    "404 error",
    "error 404",
    "page cannot be found",
    "page could not be found",
    "page you requested",
    "page you are looking for",
    "page you were looking for",
    "page doesn't exist",
    "page does not exist",
    "no longer available",
    "has been removed",
    "content unavailable",
    "article not found",
    "this page isn't available",
    "nothing was found at this location",
    "seite nicht gefunden",
    "page introuvable",
    "página no encontrada",
    "pagina non trovata",
];
const CAPTCHA_PHRASES: &[&str] = &[
    "are you a robot",
    "are you human",
    "verify you are human",
    "verifying you are human",
    "checking your browser",
    "just a moment",
    "captcha",
    "unusual traffic",
    "access denied",
    "access to this page has been denied",
    "request blocked",
    "attention required",
    "enable cookies",
    "security check",
    "ddos protection",
    "bot detection",
    "rate limit exceeded",
    "too many requests",
];
const SCRIPT: &[&str] = &[
    "enable javascript",
    "javascript is disabled",
    "javascript is required",
    "requires javascript",
    "please turn on javascript",
    "javascript to run this app",
];
const PAYWALL_PHRASES: &[&str] = &[
    "subscribe to continue",
    "subscribe to read",
    "subscribers only",
    "sign in to continue",
    "log in to continue",
    "create a free account to continue",
    "this article is for subscribers",
    "purchase access",
    "buy this article",
    "institutional login required",
];

/// Whether the text of a page says that it is an error page. Returns the reason with the phrase that says so.
///
/// A long page may discuss captchas; a short page, or one with such a title, is an error page.
pub(super) fn detect(draft: &PageDraft) -> Option<(ReadFailure, &'static str)> {
    let texts: Vec<&str> = draft.blocks.iter().map(|block| block.text.as_str()).collect();
    let text = texts.join(" ");
    let words = text.split_whitespace().count();
    let is_short = words <= MAX_EMPTY_PAGE_WORDS;
    let title = draft.title.to_lowercase();
    let body = if is_short { text.to_lowercase() } else { String::new() };
    let in_body =
        |phrases: &[&'static str]| phrases.iter().copied().find(|phrase| body.contains(phrase));
    let in_title = |phrases: &[&'static str]| {
        let mut phrases = phrases.iter().copied();
        phrases.find(|phrase| title.contains(phrase))
    };
    let not_found = in_title(NOT_FOUND).filter(|_| words <= 4 * MAX_EMPTY_PAGE_WORDS);
    if let Some(phrase) = not_found.or(in_body(NOT_FOUND)) {
        return Some((ReadFailure::NotFound, phrase));
    }
    if is_short && ["404", "not found", "error"].contains(&title.trim()) {
        return Some((ReadFailure::NotFound, "not found"));
    }
    if let Some(phrase) =
        in_title(CAPTCHA_PHRASES).filter(|_| is_short).or(in_body(CAPTCHA_PHRASES))
    {
        return Some((ReadFailure::BotBlock, phrase));
    }
    if let Some(phrase) = in_body(PAYWALL_PHRASES) {
        return Some((ReadFailure::Paywall, phrase));
    }
    in_body(SCRIPT).map(|phrase| (ReadFailure::Empty, phrase))
}

/// Whether the metadata of a short page that was fetched from `requested` as `html` says that it is an error page: that it
/// is the home page, or must not be indexed, or has only the name of its site. Returns the reason with an explanation.
pub(super) fn detect_by_signals(
    draft: &PageDraft,
    requested: &str,
    html: &[u8],
) -> Option<(ReadFailure, &'static str)> {
    let word_count = |block: &Block| block.text.split_whitespace().count();
    let words: usize = draft.blocks.iter().map(word_count).sum();
    if words > MAX_EMPTY_PAGE_WORDS {
        return None;
    }
    let signals = PageSignals::from_html(html);
    if signals.own_urls.iter().any(|own| is_home_of(own, requested)) {
        return Some((ReadFailure::NotFound, "it gives the home page as its own address"));
    }
    if words > SHORT_PAGE_WORDS {
        return None;
    }
    if signals.noindex {
        return Some((
            ReadFailure::NotFound,
            "the page asks not to be indexed and has little text",
        ));
    }
    let has_sentence = draft.blocks.iter().any(|block| {
        !matches!(block.kind, BlockKind::Heading | BlockKind::Code)
            && word_count(block) >= SENTENCE_WORDS
    });
    if !has_sentence && has_only_site_name(draft, &signals, requested) {
        return Some((ReadFailure::Empty, "it has its site's name and no more"));
    }
    None
}

/// Whether the title of a page within a site is the name or the host of the site.
fn has_only_site_name(draft: &PageDraft, signals: &PageSignals, requested: &str) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let title = letters(&draft.title);
    let Ok(requested) = Url::parse(requested) else {
        return false;
    };
    if title.is_empty() || is_home(&requested) {
        return false;
    }
    let mut sites = draft.site.iter().chain(&signals.site);
    let host = requested.host_str().map(letters);
    sites.any(|site| letters(site) == title)
        || host.is_some_and(|host| host == title || host == format!("www{title}"))
}

/// The metadata of a page.
#[derive(Debug, Default, PartialEq)]
struct PageSignals {
    /// The addresses that it calls its own.
    own_urls: Vec<String>,
    /// Whether search engines must not index it.
    noindex: bool,
    /// The name of its site.
    site: Option<String>,
}

impl PageSignals {
    fn from_html(html: &[u8]) -> PageSignals {
        let text = String::from_utf8_lossy(&html[..html.len().min(HEAD_BYTES)]);
        let mut signals = PageSignals::default();
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let mut words = tag.split_ascii_whitespace();
            let name = words.next().unwrap_or_default().to_ascii_lowercase();
            if !matches!(name.as_str(), "link" | "meta") {
                continue;
            }
            let is = |key: &str, value: &str| {
                attribute(tag, key).is_some_and(|found| found.eq_ignore_ascii_case(value))
            };
            if is("rel", "canonical") {
                signals.own_urls.extend(attribute(tag, "href"));
            } else if is("property", "og:url") {
                signals.own_urls.extend(attribute(tag, "content"));
            } else if is("property", "og:site_name") {
                signals.site = attribute(tag, "content");
            } else if is("name", "robots") {
                let rule = attribute(tag, "content").unwrap_or_default();
                let rule = rule.to_ascii_lowercase();
                signals.noindex |= rule.contains("noindex") || rule.trim() == "none";
            }
        }
        signals
    }
}

/// The value of the attribute `name` in the source of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let mut from = 0;
    loop {
        let at = from + lower.get(from..)?.find(name)?;
        from = at + name.len();
        let before = lower[..at]
            .ends_with(|before: char| before.is_ascii_whitespace() || "\"'/".contains(before));
        let Some(value) = tag[from..].trim_start().strip_prefix('=').filter(|_| before) else {
            continue;
        };
        let value = value.trim_start();
        return match value.chars().next()? {
            quote @ ('"' | '\'') => {
                value[1..].split(quote).next().map(|value| value.trim().to_owned())
            }
            _ => value.split(|c: char| c.is_ascii_whitespace()).next().map(str::to_owned),
        };
    }
}

/// Whether `own` is the home page of the site in which `requested` is another page.
fn is_home_of(own: &str, requested: &str) -> bool {
    let Ok(requested) = Url::parse(requested) else {
        return false;
    };
    let Ok(own) = requested.join(own) else {
        return false;
    };
    let site = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    site(&requested) == site(&own) && is_home(&own) && !is_home(&requested)
}

/// Whether an address is that of a home page: without a query, and with an empty path, an index or a language.
fn is_home(url: &Url) -> bool {
    let path = url.path().trim_matches('/').to_ascii_lowercase();
    let index = ["index", "default", "home"].iter().any(|name| {
        let rest = path.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && rest.len() < 6))
    });
    // Many sites have a home page for each language, at `/en` or `/en-gb`.
    let language = path.len() == 2 || (path.len() == 5 && path[2..].starts_with(['-', '_']));
    url.query().is_none() && (path.is_empty() || index || language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Block, BlockKind};

    fn page(title: &str, text: &str) -> PageDraft {
        PageDraft {
            title: title.to_owned(),
            blocks: vec![Block::new(BlockKind::Prose, text)],
            ..PageDraft::default()
        }
    }

    #[test]
    fn pages_that_are_none_are_told_by_what_they_say() {
        let reason = |title, text| detect(&page(title, text)).map(|pair| pair.0);
        assert_eq!(reason("Page not found", "Sorry. Try the search."), Some(ReadFailure::NotFound));
        assert_eq!(
            reason("Example", "Just a moment… we are verifying you are human."),
            Some(ReadFailure::BotBlock)
        );
        assert_eq!(
            reason("News", "Subscribe to continue reading this article."),
            Some(ReadFailure::Paywall)
        );
        assert_eq!(
            reason("App", "You need to enable JavaScript to run this app."),
            Some(ReadFailure::Empty)
        );
        assert_eq!(reason("Cork", "Cork is the bark of an oak."), None);
        let long = format!(
            "How captchas came about. {}",
            "A captcha asks people to read letters that machines cannot. ".repeat(30)
        );
        assert_eq!(reason("The history of the captcha", &long), None);
    }

    #[test]
    fn a_short_page_that_calls_itself_the_home_page_or_wants_no_index_is_none() {
        let asked = "https://www.example.org/articles/cork";
        let by = |draft: &PageDraft, html: &str| {
            detect_by_signals(draft, asked, html.as_bytes()).map(|pair| pair.0)
        };
        let short = page("Example", "Welcome to our site. Have a look around.");
        let home = "<LINK href='https://example.org/' rel=\"canonical\"><p>Welcome";
        assert_eq!(by(&short, home), Some(ReadFailure::NotFound));
        let shared = "<meta property='og:url' content='https://example.org/en'/>";
        assert_eq!(by(&short, shared), Some(ReadFailure::NotFound));
        let own = "<link rel=canonical href=https://example.org/articles/cork>";
        assert_eq!(by(&short, own), None);
        let unlisted = "<meta name=\"robots\" content=\"NOINDEX, follow\">";
        assert_eq!(by(&short, unlisted), Some(ReadFailure::NotFound));
        assert_eq!(by(&short, "<meta name=robots content=index>"), None);
        let named = "<meta property=\"og:site_name\" content=\"Example\">";
        assert_eq!(by(&short, named), Some(ReadFailure::Empty));
        // What says something is a page, whatever its machine-readable part says.
        let long = page("Cork", &"Cork is the bark of an oak. ".repeat(30));
        for html in [home, shared, unlisted, named] {
            assert_eq!(by(&long, html), None, "{html}");
        }
        // The home page itself may call itself so.
        let at = detect_by_signals(&short, "https://example.org/", home.as_bytes());
        assert_eq!(at, None);
    }

    #[test]
    fn attributes_are_found_however_they_are_written() {
        assert_eq!(attribute("meta content='a b' name=x", "content").as_deref(), Some("a b"));
        assert_eq!(attribute("link data-href=n href=y", "href").as_deref(), Some("y"));
        assert_eq!(attribute("link rel", "rel"), None);
        assert_eq!(attribute("meta content=", "content"), None);
    }

    /// On pages that people chose because they have words.
    #[test]
    #[ignore = "needs ../shared/data"]
    fn pages_with_words_raise_no_alarm() {
        use std::io::{BufRead as _, BufReader, Read as _};
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let data = root.join("../shared/data");
        let unpacked = |path: &std::path::Path| -> Option<Vec<u8>> {
            let bytes = std::fs::read(path).ok()?;
            let mut out = Vec::new();
            if bytes.starts_with(b"\x1f\x8b") {
                let mut it = flate2::read::MultiGzDecoder::new(bytes.as_slice());
                it.read_to_end(&mut out).ok()?;
                return Some(out);
            }
            Some(bytes)
        };
        for set in [
            "extract-wcxb",
            "extract-zyte",
            "extract-trafilatura",
            "extract-readability",
            "adversarial-pages",
        ] {
            let dir = data.join(set).join("dev");
            let names = ["gold.jsonl", "gold.jsonl.gz", "cases.jsonl"];
            let gold = names.iter().find_map(|name| unpacked(&dir.join(name)));
            let gold = gold.unwrap_or_else(|| panic!("no gold rows in {}", dir.display()));
            let (mut pages, mut empty, mut alarms) = (0, 0, 0);
            // A part of them keeps the test short.
            for line in BufReader::new(gold.as_slice()).lines().take(60) {
                let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
                let Some(html) = row["html"].as_str().and_then(|text| unpacked(&dir.join(text)))
                else {
                    continue;
                };
                let url = row["url"].as_str().unwrap_or("https://example.org/a/page");
                let kind = Some("text/html".to_owned());
                let origin = ibid_extract::DocumentOrigin::from_url(url, kind);
                pages += 1;
                let limits = ibid_extract::ExtractLimits::default();
                let Ok(draft) = ibid_extract::read_bytes(&html, &origin, &limits) else {
                    empty += 1;
                    continue;
                };
                if let Some(told) = detect(&draft).or_else(|| detect_by_signals(&draft, url, &html))
                {
                    alarms += 1;
                    let words =
                        draft.blocks.iter().map(|block| block.text.split_whitespace().count());
                    println!(
                        "  {url} {told:?} {} words, title {:?}",
                        words.sum::<usize>(),
                        draft.title
                    );
                }
            }
            println!("{set}: {alarms} alarms of {pages}, {empty} without words");
            assert!(pages > empty, "{set}: no page was read");
            assert!(alarms * 200 <= pages, "{set}: {alarms} alarms of {pages}");
        }
    }
}
