//! The embedded reader: fetches through the guard and reads with the readers of documents.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{is_outside, soft, unread};
use crate::adapters::documents::{Limits, Origin, read_bytes};
use crate::adapters::web::fetch::Fetcher;
use crate::domain::{BlockKind, Hit, Page, PageDraft, Vertical};
use crate::error::{Error, Kind, Result};
use crate::record::FailReason;
use crate::seams::PageReader;

/// The wait before a page whose answer broke is asked for again.
const AGAIN: Duration = Duration::from_millis(500);
/// Addresses of full text that are tried for one work.
const FULL_TEXTS: usize = 2;
/// Words of a full text below which it is a notice about one.
const FULL: usize = 400;

/// Reads pages of the web.
pub struct Embedded {
    fetcher: Arc<Fetcher>,
    limits: Limits,
}

impl Embedded {
    /// One that fetches with `fetcher` and reads documents within `limits`.
    pub fn new(fetcher: Arc<Fetcher>, limits: Limits) -> Embedded {
        Embedded { fetcher, limits }
    }

    /// The page at one address.
    async fn at(&self, url: &str) -> Result<PageDraft> {
        let mut fetched = self.fetcher.fetch(url).await;
        // What broke on the way mostly comes whole the second time.
        if matches!(&fetched, Err(it) if it.reason == FailReason::Broken) {
            tokio::time::sleep(AGAIN).await;
            fetched = self.fetcher.fetch(url).await;
        }
        let fetched = fetched.map_err(|it| unread(url, it.reason, &it.why))?;
        let origin = Origin {
            name: fetched.url,
            content_type: fetched.content_type,
        };
        let limits = self.limits.clone();
        let bytes = fetched.bytes;
        let read = tokio::task::spawn_blocking(move || read_bytes(&bytes, &origin, &limits));
        let draft = read
            .await
            .map_err(|it| Error::new(Kind::Internal, format!("reading {url}")).because(it))?
            .map_err(|it| unread(url, FailReason::Empty, &it.chain()))?;
        match soft::amiss(&draft) {
            Some((reason, said)) => Err(unread(url, reason, &format!("the page says `{said}`"))),
            None => Ok(draft),
        }
    }
}

#[async_trait]
impl PageReader for Embedded {
    fn name(&self) -> &str {
        "web"
    }

    fn reads(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let mut first = None;
        for (url, is_full_text) in addresses(hit) {
            match self.at(url).await {
                Ok(draft) if is_full_text && words(&draft) < FULL => {
                    let fault = unread(
                        url,
                        FailReason::Empty,
                        "the address of the full text has only a notice",
                    );
                    first.get_or_insert(fault);
                }
                Ok(draft) => return Ok(Page::new(draft)),
                Err(fault) => {
                    first.get_or_insert(fault);
                }
            }
        }
        Err(first.unwrap_or_else(|| {
            unread(
                &hit.url,
                FailReason::Unsupported,
                "it has no address that can be fetched",
            )
        }))
    }
}

/// Where the words of a hit may be, best first, and whether an address is one of full text. A work whose abstract came with it
/// is not looked for on the publisher's page, which has no more.
fn addresses(hit: &Hit) -> Vec<(&str, bool)> {
    let full = hit
        .work
        .full_text
        .iter()
        .map(|it| (it.as_str(), true))
        .take(FULL_TEXTS);
    let mut all: Vec<(&str, bool)> = full.collect();
    let scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
    if !scholarly || hit.text.is_none() {
        all.retain(|it| it.0 != hit.url);
        all.push((&hit.url, false));
    }
    all
}

fn words(draft: &PageDraft) -> usize {
    let prose = draft
        .blocks
        .iter()
        .filter(|it| it.kind != BlockKind::Heading);
    prose.map(|it| it.text.split_whitespace().count()).sum()
}
