//! Papers of which only the record was found: catalogues are asked for an open text, and whether the work was retracted.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use super::addresses::is_outside;
use super::embedded::EmbeddedReader;
use super::read_error::read_error;
use crate::search::CatalogueClient;
use ibid_core::domain::{Hit, Page, Vertical};
use ibid_core::ports::PageReader;
use ibid_core::{ReadFailure, Result};

/// Maximum wait for all lookups of one work.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Finds the open text of a paper by its DOI and reads it.
pub struct OpenAccessReader {
    lookups: CatalogueClient,
    reader: Arc<EmbeddedReader>,
}

impl OpenAccessReader {
    /// Finds texts with `lookups` and reads them with `reader`.
    pub fn new(lookups: CatalogueClient, reader: Arc<EmbeddedReader>) -> OpenAccessReader {
        OpenAccessReader { lookups, reader }
    }
}

#[async_trait]
impl PageReader for OpenAccessReader {
    fn name(&self) -> &str {
        "open text"
    }

    fn can_read(&self, hit: &Hit) -> bool {
        let scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
        let work = &hit.work;
        let known = !work.full_text.is_empty() || work.retracted.is_some();
        scholarly && is_outside(hit) && work.doi.is_some() && !known
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let mut known = hit.clone();
        let enriched = timeout(TIMEOUT, self.lookups.enrich(&mut known.work)).await;
        let conflicts = enriched.map_err(|_| {
            let why = "the catalogues did not respond in time";
            read_error(&hit.url, ReadFailure::Timeout, why)
        })?;
        if let Some(why) = &known.work.retracted {
            return Err(read_error(&hit.url, ReadFailure::Retracted, why));
        }
        if known.work.full_text.is_empty() {
            let why = "no open-access version found";
            return Err(read_error(&hit.url, ReadFailure::Unsupported, why));
        }
        // With a text, the publisher's page is not read: it has no more than the abstract.
        known.text = known.text.or_else(|| Some(hit.snippet.clone()));
        let mut page = self.reader.read(&known).await?;
        page.warnings.extend(conflicts);
        Ok(page)
    }
}
