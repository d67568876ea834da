//! Pages that came with a good status and are none: "not found", "are you a robot", "enable JavaScript", "sign in".
use url::Url;

use crate::domain::{BlockKind, PageDraft};
use crate::record::FailReason;

/// Words above which a page is taken to say something of its own.
const SHORT: usize = 120;
/// Words up to which what a page says of itself for machines counts against it.
const FEW: usize = 40;
/// Bytes of a page in which it says what it is.
const HEAD: usize = 256 << 10;

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
const ROBOT: &[&str] = &[
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
const WALL: &[&str] = &[
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

/// Why what was read is no page to be cited, with the words that tell; `None` for a page.
///
/// A long page may speak of captchas; a short one, and one whose title says it, is what it says.
pub(super) fn amiss(draft: &PageDraft) -> Option<(FailReason, &'static str)> {
    let text: String = draft
        .blocks
        .iter()
        .map(|it| it.text.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    let words = text.split_whitespace().count();
    let title = draft.title.to_lowercase();
    let body = if words <= SHORT {
        text.to_lowercase()
    } else {
        String::new()
    };
    let found = |all: &[&'static str]| all.iter().copied().find(|it| body.contains(it));
    let titled = |all: &[&'static str]| all.iter().copied().find(|it| title.contains(it));
    let bare = title.trim();
    if let Some(it) = titled(NOT_FOUND)
        .filter(|_| words <= 4 * SHORT)
        .or(found(NOT_FOUND))
    {
        return Some((FailReason::NotFound, it));
    }
    if ["404", "not found", "error"].contains(&bare) && words <= SHORT {
        return Some((FailReason::NotFound, "not found"));
    }
    if let Some(it) = titled(ROBOT).filter(|_| words <= SHORT).or(found(ROBOT)) {
        return Some((FailReason::BotBlock, it));
    }
    if let Some(it) = found(WALL) {
        return Some((FailReason::Paywall, it));
    }
    if let Some(it) = found(SCRIPT) {
        return Some((FailReason::Empty, it));
    }
    None
}

/// Why a page that was fetched from `asked` as `html` is none, by what it says of itself for machines and how little it says for
/// people: that it is the home page, that nobody should index it, or no more than its site's name.
pub(super) fn amiss_by_signs(
    draft: &PageDraft,
    asked: &str,
    html: &[u8],
) -> Option<(FailReason, &'static str)> {
    let words: usize = draft
        .blocks
        .iter()
        .map(|it| it.text.split_whitespace().count())
        .sum();
    if words > SHORT {
        return None;
    }
    let signs = Signs::of(html);
    let home = |it: &String| leads_home(asked, it);
    if signs.own.iter().any(home) {
        return Some((FailReason::NotFound, "it calls itself the home page"));
    }
    if words > FEW {
        return None;
    }
    if signs.unlisted {
        return Some((
            FailReason::NotFound,
            "nobody is to index it, and it says little",
        ));
    }
    let speaks = |kind: BlockKind| !matches!(kind, BlockKind::Heading | BlockKind::Code);
    let sentence = draft
        .blocks
        .iter()
        .any(|it| speaks(it.kind) && it.text.split_whitespace().count() >= 12);
    let bare = |it: &str| -> String {
        let kept = it.chars().filter(|it| it.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let title = bare(&draft.title);
    let named = draft
        .site
        .iter()
        .chain(&signs.site)
        .any(|it| bare(it) == title);
    let host = Url::parse(asked)
        .ok()
        .and_then(|it| it.host_str().map(bare));
    let is_host = host.is_some_and(|it| it == title || it == format!("www{title}"));
    let inner = Url::parse(asked).is_ok_and(|it| !is_home(&it));
    if !sentence && inner && !title.is_empty() && (named || is_host) {
        return Some((FailReason::Empty, "it has its site's name and no more"));
    }
    None
}

/// What a page says of itself for machines.
#[derive(Debug, Default, PartialEq)]
struct Signs {
    /// The addresses it gives as its own.
    own: Vec<String>,
    /// Whether no search engine is to list it.
    unlisted: bool,
    /// The name of its site.
    site: Option<String>,
}

impl Signs {
    fn of(html: &[u8]) -> Signs {
        let text = String::from_utf8_lossy(&html[..html.len().min(HEAD)]);
        let mut signs = Signs::default();
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let mut words = tag.split_ascii_whitespace();
            let name = words.next().unwrap_or_default().to_ascii_lowercase();
            if !matches!(name.as_str(), "link" | "meta") {
                continue;
            }
            let is = |key: &str, value: &str| {
                attribute(tag, key).is_some_and(|it| it.eq_ignore_ascii_case(value))
            };
            if is("rel", "canonical") {
                signs.own.extend(attribute(tag, "href"));
            } else if is("property", "og:url") {
                signs.own.extend(attribute(tag, "content"));
            } else if is("property", "og:site_name") {
                signs.site = attribute(tag, "content");
            } else if is("name", "robots") {
                let said = attribute(tag, "content").unwrap_or_default();
                let said = said.to_ascii_lowercase();
                signs.unlisted |= said.contains("noindex") || said.trim() == "none";
            }
        }
        signs
    }
}

/// The value of an attribute in a tag as it is written.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let mut from = 0;
    loop {
        let at = from + lower.get(from..)?.find(name)?;
        from = at + name.len();
        let before =
            lower[..at].ends_with(|it: char| it.is_ascii_whitespace() || "\"'/".contains(it));
        let Some(value) = tag[from..]
            .trim_start()
            .strip_prefix('=')
            .filter(|_| before)
        else {
            continue;
        };
        let value = value.trim_start();
        let end = |it: char| it.is_ascii_whitespace();
        return match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..]
                .split(quote)
                .next()
                .map(|it| it.trim().to_owned()),
            _ => value.split(end).next().map(str::to_owned),
        };
    }
}

/// Whether `asked` is a page within a site whose home page is at `own`.
fn leads_home(asked: &str, own: &str) -> bool {
    let Ok(asked) = Url::parse(asked) else {
        return false;
    };
    let Ok(own) = asked.join(own) else {
        return false;
    };
    let bare = |it: &Url| {
        let host = it.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    bare(&asked) == bare(&own) && is_home(&own) && !is_home(&asked)
}

/// Whether an address is that of a whole site: no path to speak of, and no query.
fn is_home(url: &Url) -> bool {
    let path = url.path().trim_matches('/').to_ascii_lowercase();
    let index = ["index", "default", "home"].iter().any(|it| {
        let rest = path.strip_prefix(it);
        rest.is_some_and(|it| it.is_empty() || (it.starts_with('.') && it.len() < 6))
    });
    // Many sites have a home page for each language.
    let language = path.len() == 2 || (path.len() == 5 && path[2..].starts_with(['-', '_']));
    url.query().is_none() && (path.is_empty() || index || language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, BlockKind};

    fn page(title: &str, text: &str) -> PageDraft {
        PageDraft {
            title: title.to_owned(),
            blocks: vec![Block::new(BlockKind::Prose, text)],
            ..PageDraft::default()
        }
    }

    #[test]
    fn pages_that_are_none_are_told_by_what_they_say() {
        let reason = |title, text| amiss(&page(title, text)).map(|it| it.0);
        assert_eq!(
            reason("Page not found", "Sorry. Try the search."),
            Some(FailReason::NotFound)
        );
        assert_eq!(
            reason("Example", "Just a moment… we are verifying you are human."),
            Some(FailReason::BotBlock)
        );
        assert_eq!(
            reason("News", "Subscribe to continue reading this article."),
            Some(FailReason::Paywall)
        );
        assert_eq!(
            reason("App", "You need to enable JavaScript to run this app."),
            Some(FailReason::Empty)
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
            amiss_by_signs(draft, asked, html.as_bytes()).map(|it| it.0)
        };
        let short = page("Example", "Welcome to our site. Have a look around.");
        let home = "<LINK href='https://example.org/' rel=\"canonical\"><p>Welcome";
        assert_eq!(by(&short, home), Some(FailReason::NotFound));
        let shared = "<meta property='og:url' content='https://example.org/en'/>";
        assert_eq!(by(&short, shared), Some(FailReason::NotFound));
        let own = "<link rel=canonical href=https://example.org/articles/cork>";
        assert_eq!(by(&short, own), None);
        let unlisted = "<meta name=\"robots\" content=\"NOINDEX, follow\">";
        assert_eq!(by(&short, unlisted), Some(FailReason::NotFound));
        assert_eq!(by(&short, "<meta name=robots content=index>"), None);
        let named = "<meta property=\"og:site_name\" content=\"Example\">";
        assert_eq!(by(&short, named), Some(FailReason::Empty));
        // What says something is a page, whatever its machine-readable part says.
        let long = page("Cork", &"Cork is the bark of an oak. ".repeat(30));
        for html in [home, shared, unlisted, named] {
            assert_eq!(by(&long, html), None, "{html}");
        }
        // The home page itself may call itself so.
        let at = amiss_by_signs(&short, "https://example.org/", home.as_bytes());
        assert_eq!(at, None);
    }

    #[test]
    fn attributes_are_found_however_they_are_written() {
        assert_eq!(
            attribute("meta content='a b' name=x", "content").as_deref(),
            Some("a b")
        );
        assert_eq!(
            attribute("link data-href=n href=y", "href").as_deref(),
            Some("y")
        );
        assert_eq!(attribute("link rel", "rel"), None);
        assert_eq!(attribute("meta content=", "content"), None);
    }

    /// On pages that people chose because they have words; without the shared data beside the repository it says so and passes.
    #[test]
    fn pages_with_words_raise_no_alarm() {
        use std::io::{BufRead as _, BufReader, Read as _};
        let data = std::path::Path::new("../shared/data");
        let data = std::env::var_os("IBID_DATA").map_or(data.to_owned(), Into::into);
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
            let Some(gold) = names.iter().find_map(|it| unpacked(&dir.join(it))) else {
                println!("{set}: not there");
                continue;
            };
            let (mut pages, mut empty, mut alarms) = (0, 0, 0);
            // A part of them keeps the test short.
            for line in BufReader::new(gold.as_slice()).lines().take(60) {
                let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
                let Some(html) = row["html"].as_str().and_then(|it| unpacked(&dir.join(it))) else {
                    continue;
                };
                let url = row["url"].as_str().unwrap_or("https://example.org/a/page");
                let kind = Some("text/html".to_owned());
                let origin = crate::adapters::documents::Origin::fetched(url, kind);
                pages += 1;
                let limits = crate::adapters::documents::Limits::default();
                let Ok(draft) = crate::adapters::documents::read_bytes(&html, &origin, &limits)
                else {
                    empty += 1;
                    continue;
                };
                if let Some(told) = amiss(&draft).or_else(|| amiss_by_signs(&draft, url, &html)) {
                    alarms += 1;
                    let words = draft
                        .blocks
                        .iter()
                        .map(|it| it.text.split_whitespace().count());
                    println!(
                        "  {url} {told:?} {} words, title {:?}",
                        words.sum::<usize>(),
                        draft.title
                    );
                }
            }
            println!("{set}: {alarms} alarms of {pages}, {empty} without words");
            assert!(alarms * 200 <= pages, "{set}: {alarms} alarms of {pages}");
        }
    }
}
