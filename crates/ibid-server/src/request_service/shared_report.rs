//! Reports behind a share link.
use super::intake::RequestService;
use super::redaction;
use super::run::cited_pages;
use ibid_core::Result;
use ibid_core::domain::Report;
use ibid_report::PagesByHash;

/// A report that anyone with its link may read.
pub struct SharedReport {
    /// The report.
    pub report: Report,
    /// The pages it cites.
    pub pages: PagesByHash,
    /// Whether quotes of local documents are shown.
    pub private: bool,
}

impl RequestService {
    /// Returns the report that the token of a link grants. `None` for an unknown, expired or revoked token alike.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) async fn shared_report(&self, token: &str) -> Result<Option<SharedReport>> {
        let Some((run, share)) = self.app.shared_report(token).await? else {
            return Ok(None);
        };
        let Some(mut report) = run.report else {
            return Ok(None);
        };
        redaction::redact_report(&mut report);
        let folders = run.question.map(|question| question.folders).unwrap_or_default();
        let rewrite = self.rewrite.with_folders(&self.names, &folders);
        let pages = cited_pages(&self.app, Some(&rewrite), &run.id, Some(&report)).await?;
        Ok(Some(SharedReport {
            report: rewrite.rewritten(*report)?,
            pages,
            private: share.private,
        }))
    }
}
