//! DuckDuckGo's page without scripts. There is no interface for programs, and it soon shuts out who asks often: nobody asks
//! it by itself.
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use url::Url;

use super::answer::{Read, plain, text, title};
use super::words::with_sites;
use super::{Api, Given};
use crate::adapters::documents::links;
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hit, Hits, Query, Untrusted};
use crate::error::Result;

/// The longest query, characters.
const LONGEST: usize = 400;
/// Links of a page looked at; its own have some hundred.
const LINKS: usize = 2_000;
/// How long nobody asks after it wanted to see a person.
const AFTER_PUZZLE: Duration = Duration::from_secs(600);

/// `GET /html/`.
#[derive(Default)]
struct DuckDuckGo {
    /// Held while it is asked: one call at a time.
    alone: Mutex<()>,
}

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(DuckDuckGo::default())
}

#[async_trait]
impl Api for DuckDuckGo {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let _alone = self.alone.lock().await;
        let words = with_sites(query, LONGEST);
        let range = query.since.as_ref().zip(query.until.as_ref());
        let range = range.map(|(since, until)| format!("{since}..{until}"));
        let mut asked = vec![("q", words.as_str())];
        asked.extend(range.as_deref().map(|it| ("df", it)));
        service.answered(&Ask::get("/html/", &asked), read).await
    }
}

/// The hits of a page of results, also of the still plainer one of `lite.duckduckgo.com`.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let page = text(status, headers, body)?;
    // Whom it takes for a machine gets a puzzle, under status 202.
    if status == 202 || page.contains("anomaly-modal") {
        return Err(ModelFault {
            retry_after: Some(AFTER_PUZZLE),
            ..ModelFault::transient("it wants to see a person instead of a program")
        });
    }
    let mut found: Vec<Hit> = Vec::new();
    let mut named = false;
    for it in links(&page, LINKS) {
        let is = |class: &str| it.class.split_ascii_whitespace().any(|had| had == class);
        if is("result__a") || is("result-link") {
            let url = target(&it.href);
            named = url.is_some();
            found.extend(url.map(|url| Hit::new("duckduckgo", &url, &title(&it.text), "")));
        } else if (is("result__snippet") || is("result-snippet"))
            && named
            && let Some(hit) = found.last_mut()
        {
            hit.snippet = Untrusted::new(plain(&it.text, 2_000));
        }
    }
    let is_results = ["result__", "result-", "no-results"]
        .iter()
        .any(|it| page.contains(it));
    match found.is_empty() && !is_results {
        true => Err(ModelFault::malformed(
            "it answered with another page than one of results",
        )),
        false => Ok(found.into()),
    }
}

/// Where a link of results leads: it stands in `uddg` of an address of its own. Advertisements lead through `y.js`.
fn target(href: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(href.trim()).ok()?;
    let is_own = url
        .host_str()
        .is_some_and(|it| it == "duckduckgo.com" || it.ends_with(".duckduckgo.com"));
    match is_own {
        false => Some(url.to_string()),
        true if url.path() == "/l/" => {
            let real = url.query_pairs().find(|it| it.0 == "uddg")?.1.into_owned();
            let leads_on = Url::parse(&real).ok()?;
            let is_ad = leads_on.host_str() == Some("duckduckgo.com");
            (!is_ad).then_some(real)
        }
        true => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<html><body><div class="result result--ad"><h2><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Ad</a></h2>
        <a class="result__snippet" href="https://duckduckgo.com/y.js">buy</a></div>
        <div class="result results_links web-result"><h2 class="result__title"><a rel="nofollow" class="result__a"
        href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fcork%3Fx%3D1&amp;rut=abc">Cork &amp; bark</a></h2>
        <a class="result__snippet" href="x">Cork <b>floats</b> on water.</a></div></body></html>"#;

    #[test]
    fn results_are_read_without_advertisements() {
        let hits = read(200, &Headers::default(), PAGE.as_bytes()).unwrap();
        assert_eq!(hits.hits.len(), 1);
        assert_eq!(hits.hits[0].url, "https://a.example/cork?x=1");
        assert_eq!(hits.hits[0].title, "Cork & bark");
        assert_eq!(hits.hits[0].snippet.expose(), "Cork floats on water.");
    }

    #[test]
    fn the_plainer_page_has_cells_for_snippets() {
        let page = br#"<table><tr><td>1.&nbsp;</td><td><a rel="nofollow" href="https://a.example/cork" class='result-link'>Cork</a></td></tr>
            <tr><td>&nbsp;</td><td class='result-snippet'>It <b>floats</b>.</td></tr></table>"#;
        let hits = read(200, &Headers::default(), page).unwrap().hits;
        assert_eq!(
            (hits[0].url.as_str(), hits[0].snippet.expose()),
            ("https://a.example/cork", "It floats.")
        );
    }

    #[test]
    fn a_puzzle_is_a_wait_and_another_page_a_fault() {
        let puzzle = read(202, &Headers::default(), b"<div class=anomaly-modal>").unwrap_err();
        assert_eq!(puzzle.kind, crate::Kind::Transient);
        assert!(puzzle.retry_after.is_some());
        let other = read(200, &Headers::default(), b"<html>hello").unwrap_err();
        assert_eq!(other.kind, crate::Kind::Malformed);
    }
}
