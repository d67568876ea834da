//! The embedded reader: fetches through the guard and reads with the readers of documents.
use std::time::Duration;

use async_trait::async_trait;

use super::{addresses, is_outside, soft, unparsed, unread};
use crate::adapters::documents::{self, Limits, Origin};
use crate::adapters::web::fetch::Fetched;
use crate::adapters::web::kept::Keeping;
use crate::domain::{BlockKind, Hit, Page, PageDraft};
use crate::error::Result;
use crate::record::FailReason;
use crate::seams::PageReader;

/// The wait before a page whose answer broke is asked for again.
const AGAIN: Duration = Duration::from_millis(500);
/// Words of a full text below which it is a notice about one.
const FULL: usize = 400;

/// Reads pages of the web.
pub struct Embedded {
    fetcher: Keeping,
    limits: Limits,
}

impl Embedded {
    /// One that fetches with `fetcher` and reads documents within `limits`.
    pub fn new(fetcher: Keeping, limits: Limits) -> Embedded {
        Embedded { fetcher, limits }
    }

    /// The page at one address.
    async fn at(&self, url: &str) -> Result<PageDraft> {
        self.limits.warm();
        let mut fetched = self.fetcher.fetch(url).await;
        // What broke on the way mostly comes whole the second time.
        if matches!(&fetched, Err(it) if it.reason == FailReason::Broken) {
            tokio::time::sleep(AGAIN).await;
            fetched = self.fetcher.fetch(url).await;
        }
        let fetched = fetched.map_err(|it| unread(url, it.reason, &it.why))?;
        let (draft, fetched) = drafted(url, fetched, &self.limits).await?;
        // What is no page is not kept: the next run may find one.
        self.fetcher.keep(url, &fetched).await;
        Ok(draft)
    }
}

/// The page that came from `url`, where it is one.
pub(super) async fn drafted(
    url: &str,
    fetched: Fetched,
    limits: &Limits,
) -> Result<(PageDraft, Fetched)> {
    let origin = Origin::fetched(fetched.url.clone(), fetched.content_type.clone());
    let bytes = fetched.bytes.clone();
    let draft = documents::fetched(bytes, origin, limits).await;
    let draft = draft.map_err(|it| unparsed(url, &fetched.url, &it))?;
    if let Some((reason, said)) = soft::amiss(&draft) {
        return Err(unread(url, reason, &format!("the page says `{said}`")));
    }
    if let Some((reason, why)) = soft::amiss_by_signs(&draft, url, &fetched.bytes) {
        return Err(unread(url, reason, why));
    }
    Ok((draft, fetched))
}

#[async_trait]
impl PageReader for Embedded {
    fn name(&self) -> &str {
        "embedded"
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

fn words(draft: &PageDraft) -> usize {
    let prose = draft
        .blocks
        .iter()
        .filter(|it| it.kind != BlockKind::Heading);
    prose.map(|it| it.text.split_whitespace().count()).sum()
}
