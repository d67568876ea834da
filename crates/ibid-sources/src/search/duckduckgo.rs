//! DuckDuckGo's page without scripts. It has no API and soon blocks frequent requests, so `auto` does not use it.
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use url::Url;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::with_sites;
use super::response::{ReadResult, clean_title, parse_text, plain_text};
use ibid_core::Result;
use ibid_core::domain::{Hit, Hits, Query, Untrusted};
use ibid_extract::links;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 400;
/// Maximum number of links that are read of a page. A page of results has about a hundred.
const MAX_LINKS: usize = 2_000;
/// How long to send nothing after it asked for a captcha.
const CAPTCHA_COOLDOWN: Duration = Duration::from_secs(600);

/// `GET /html/`.
#[derive(Default)]
struct DuckDuckGo {
    /// Held during a request: one at a time.
    alone: Mutex<()>,
}

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(DuckDuckGo::default())
}

#[async_trait]
impl EngineApi for DuckDuckGo {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let _alone = self.alone.lock().await;
        let words = with_sites(query, MAX_QUERY_CHARS);
        let range = query.since.as_ref().zip(query.until.as_ref());
        let range = range.map(|(since, until)| format!("{since}..{until}"));
        let mut asked = vec![("q", words.as_str())];
        asked.extend(range.as_deref().map(|range| ("df", range)));
        service.request(&ServiceRequest::get("/html/", &asked), read).await
    }
}

/// Parses the hits of a page of results, also of `lite.duckduckgo.com`.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let page = parse_text(status, headers, body)?;
    // A suspected bot gets a captcha, with status 202.
    if status == 202 || page.contains("anomaly-modal") {
        return Err(ServiceError {
            retry_after: Some(CAPTCHA_COOLDOWN),
            ..ServiceError::rate_limited("it requires a CAPTCHA")
        });
    }
    let mut found: Vec<Hit> = Vec::new();
    let mut named = false;
    for it in links(&page, MAX_LINKS) {
        let is = |class: &str| it.class.split_ascii_whitespace().any(|had| had == class);
        if is("result__a") || is("result-link") {
            let url = target(&it.href);
            named = url.is_some();
            found.extend(url.map(|url| Hit::new("duckduckgo", &url, &clean_title(&it.text), "")));
        } else if (is("result__snippet") || is("result-snippet"))
            && named
            && let Some(hit) = found.last_mut()
        {
            hit.snippet = Untrusted::new(plain_text(&it.text, 2_000));
        }
    }
    let is_results = ["result__", "result-", "no-results"].iter().any(|it| page.contains(it));
    if found.is_empty() && !is_results {
        return Err(ServiceError::malformed("the response is not a results page"));
    }
    Ok(found.into())
}

/// The target of a link of results, which is in the parameter `uddg`. `None` for advertisements, which link to `y.js`.
fn target(href: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(href.trim()).ok()?;
    let is_own = url
        .host_str()
        .is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    if !is_own {
        return Some(url.to_string());
    }
    if url.path() != "/l/" {
        return None;
    }
    let (_, target) = url.query_pairs().find(|(name, _)| name == "uddg")?;
    let is_ad = Url::parse(&target).ok()?.host_str() == Some("duckduckgo.com");
    (!is_ad).then(|| target.into_owned())
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
        let hits = read(200, &ResponseHeaders::default(), PAGE.as_bytes()).unwrap();
        assert_eq!(hits.hits.len(), 1);
        assert_eq!(hits.hits[0].url, "https://a.example/cork?x=1");
        assert_eq!(hits.hits[0].title, "Cork & bark");
        assert_eq!(hits.hits[0].snippet.expose(), "Cork floats on water.");
    }

    #[test]
    fn the_plainer_page_has_cells_for_snippets() {
        let page = br#"<table><tr><td>1.&nbsp;</td><td><a rel="nofollow" href="https://a.example/cork" class='result-link'>Cork</a></td></tr>
            <tr><td>&nbsp;</td><td class='result-snippet'>It <b>floats</b>.</td></tr></table>"#;
        let hits = read(200, &ResponseHeaders::default(), page).unwrap().hits;
        assert_eq!(
            (hits[0].url.as_str(), hits[0].snippet.expose()),
            ("https://a.example/cork", "It floats.")
        );
    }

    #[test]
    fn a_puzzle_is_a_wait_and_another_page_a_fault() {
        let puzzle =
            read(202, &ResponseHeaders::default(), b"<div class=anomaly-modal>").unwrap_err();
        assert_eq!(puzzle.kind, ibid_core::ErrorKind::Transient);
        assert!(puzzle.retry_after.is_some());
        let other = read(200, &ResponseHeaders::default(), b"<html>hello").unwrap_err();
        assert_eq!(other.kind, ibid_core::ErrorKind::Malformed);
    }
}
