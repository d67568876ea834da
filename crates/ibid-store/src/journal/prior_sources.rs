//! The sources that a follow-up takes over from earlier runs. They are noted once, so that the follow-up has the same
//! sources when it is resumed or replayed, and after those runs were deleted.
use std::future::Future;

use serde_json::json;

use super::provider_id::{PRIOR_SOURCES, ProviderId};
use super::run_journal::Journal;
use ibid_core::domain::{Page, PageHash, Source};
use ibid_core::ports::{JournalCall, JournalCallState};
use ibid_core::{Error, ErrorKind, Result};

impl Journal {
    /// Returns the sources with their pages: those noted before, or those that `note` returns. From then on the run holds
    /// the pages.
    ///
    /// # Errors
    /// The error of `note`; `NotFound` for a page that is neither in the store nor in the recording.
    pub async fn prior_sources<F>(&self, note: F) -> Result<Vec<(Source, Page)>>
    where
        F: Future<Output = Result<Vec<Source>>>,
    {
        let first = async {
            let sources = note.await?;
            // Pages are stored before the note, so that a noted source has its page even if other runs are deleted.
            for source in &sources {
                self.keep_page(&source.page).await?;
            }
            Ok(sources)
        };
        let sources: Vec<Source> = self.note_once(PRIOR_SOURCES, "", first).await?;
        let mut with_pages = Vec::new();
        for source in sources {
            let page = self.keep_page(&source.page).await?;
            with_pages.push((source, page));
        }
        Ok(with_pages)
    }

    /// Returns the page with this hash from the store or else the recording, and keeps it for this run.
    async fn keep_page(&self, hash: &PageHash) -> Result<Page> {
        let stored = match self.store.page(hash).await {
            Ok(page) => page,
            Err(fault) => self.fail(fault).await,
        };
        let page = match (stored, &self.replay) {
            (Some(page), _) => page,
            (None, Some(log)) => log.page(hash)?,
            (None, None) => {
                let what = format!("page {hash} of an earlier run of the thread was deleted");
                return Err(Error::new(ErrorKind::NotFound, what)
                    .with_hint("ask a new question instead: ibid run \"…\""));
            }
        };
        self.check_write(self.store.save_page(&self.run, &page).await).await;
        Ok(page)
    }
}

/// The sources that a run took over from earlier runs, from its `steps`.
pub fn prior_sources_in(steps: &[JournalCall]) -> Vec<Source> {
    let key = ProviderId::note(PRIOR_SOURCES).key(&json!(""));
    let step = steps.iter().find(|step| step.key == key);
    match step.map(|step| &step.state) {
        Some(JournalCallState::Answered(answered)) => {
            serde_json::from_value(answered.answer.clone()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
