//! Papers of which only the record was found: whoever knows works by their ids is asked for an open text, and whether the work was
//! taken back.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use super::{Embedded, is_outside, unread};
use crate::adapters::search::Lookups;
use crate::domain::{Hit, Page, Vertical};
use crate::error::Result;
use crate::record::FailReason;
use crate::seams::PageReader;

/// The longest wait for all that are asked about one work.
const PATIENCE: Duration = Duration::from_secs(15);

/// Finds the open text of a paper by its DOI, and reads it.
pub struct OpenText {
    lookups: Lookups,
    reader: Arc<Embedded>,
}

impl OpenText {
    /// One that asks `lookups` where a text is, and reads it with `reader`.
    pub fn new(lookups: Lookups, reader: Arc<Embedded>) -> OpenText {
        OpenText { lookups, reader }
    }
}

#[async_trait]
impl PageReader for OpenText {
    fn name(&self) -> &str {
        "open text"
    }

    fn reads(&self, hit: &Hit) -> bool {
        let scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
        let work = &hit.work;
        let known = !work.full_text.is_empty() || work.retracted.is_some();
        scholarly && is_outside(hit) && work.doi.is_some() && !known
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let mut known = hit.clone();
        let asked = timeout(PATIENCE, self.lookups.complete(&mut known.work)).await;
        let remarks = asked.map_err(|_| {
            let why = "those who know works by their ids did not answer in time";
            unread(&hit.url, FailReason::Timeout, why)
        })?;
        if let Some(why) = &known.work.retracted {
            return Err(unread(&hit.url, FailReason::Retracted, why));
        }
        if known.work.full_text.is_empty() {
            let why = "no open text of it is known";
            return Err(unread(&hit.url, FailReason::Unsupported, why));
        }
        // The record has the words of the abstract; the publisher's page has no more.
        known.text = known.text.or_else(|| Some(hit.snippet.clone()));
        let mut page = self.reader.read(&known).await?;
        // What ids of one source say against each other, a reader should know.
        let apart = remarks
            .into_iter()
            .filter(|it| it.contains(" has another "));
        page.warnings.extend(apart);
        Ok(page)
    }
}
