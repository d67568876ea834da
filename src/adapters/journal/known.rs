//! What a follow-up knows from the runs before it: noted once, so that it knows the same when it is resumed or replayed,
//! and after those runs were forgotten.
use std::future::Future;

use serde_json::json;

use super::{Door, Journal};
use crate::domain::{Page, PageHash, Source};
use crate::error::{Error, Kind, Result};
use crate::seams::{Step, StepState};

/// What such a note is called in the journal.
pub(super) const KNOWN: &str = "known";

impl Journal {
    /// The sources that are known, with their pages: those noted before, or those that `note` gives now. The run holds the
    /// pages from here on.
    ///
    /// # Errors
    /// What `note` says; `NotFound` for a page that is neither in the store nor in the recording.
    pub async fn known<F>(&self, note: F) -> Result<Vec<(Source, Page)>>
    where
        F: Future<Output = Result<Vec<Source>>>,
    {
        let first = async {
            let sources = note.await?;
            // Held before they are noted: a source that is noted has its page, whatever is forgotten meanwhile.
            for it in &sources {
                self.hold(&it.page).await?;
            }
            Ok(sources)
        };
        let sources: Vec<Source> = self.noted(KNOWN, "", first).await?;
        let mut known = Vec::new();
        for source in sources {
            let page = self.hold(&source.page).await?;
            known.push((source, page));
        }
        Ok(known)
    }

    /// The page with this hash, from the store, else from the recording; kept for this run.
    async fn hold(&self, hash: &PageHash) -> Result<Page> {
        let stored = match self.store.page(hash).await {
            Ok(page) => page,
            Err(fault) => self.fail(fault).await,
        };
        let page = match (stored, &self.tape) {
            (Some(page), _) => page,
            (None, Some(tape)) => tape.page(hash)?,
            (None, None) => {
                let what =
                    format!("page {hash}, which an earlier run of the thread has read, is gone");
                return Err(Error::new(Kind::NotFound, what)
                    .hint("ask again without following: ibid run \"…\""));
            }
        };
        self.kept(self.store.keep_page(&self.run, &page).await)
            .await;
        Ok(page)
    }
}

/// The sources that a run knew from those before it, among its `steps`.
pub fn known_of(steps: &[Step]) -> Vec<Source> {
    let key = Door::new("", KNOWN, 0).key(&json!(""));
    let step = steps.iter().find(|it| it.key == key);
    match step.map(|it| &it.state) {
        Some(StepState::Answered(it)) => {
            serde_json::from_value(it.answer.clone()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
