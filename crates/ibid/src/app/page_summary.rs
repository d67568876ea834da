//! A summary of one page or file for one task, without a run. Only the page cache keeps anything.
use std::ops::ControlFlow;
use std::path::Path;

use super::readers::{self, ReaderResources};
use super::spending::SpendGrant;
use super::{App, document_reader, models};
use ibid_core::domain::{ModelRole, Page, Question};
use ibid_core::ports::{Egress, RoleModels};
use ibid_core::{Error, ErrorKind, Result};
use ibid_extract::ReadItem;
use ibid_net::web::host_limit::OwnerHostLimiter;
use ibid_research::PageSummary;

impl App {
    /// Summarizes the page at `url` for the question `task`, with the readers of the settings and the summarizer of `task`, if it names one.
    ///
    /// # Errors
    /// `Usage` for a task without words, `Setup` for a model or a reader that cannot be opened. A page that cannot be read is no
    /// error: the status of its summary says why.
    pub async fn summarize_page(
        &self,
        url: &str,
        task: &Question,
        grant: &SpendGrant,
    ) -> Result<PageSummary> {
        let egress = Egress::default();
        let resources = ReaderResources {
            limits: document_reader::limits_for(&self.settings, self.owner.as_ref()),
            host_limiter: OwnerHostLimiter::default(),
            rate_limiters: &self.components.rates,
            cache: readers::open_cache(&self.settings).await?,
        };
        let readers = readers::open(&self.settings, resources, &egress)?;
        let models = self.summarizer(task, grant, &egress)?;
        let log = self.ephemeral_log().await?;
        ibid_research::summarize_url(&readers, &models, &log, task, url).await
    }

    /// Summarizes every document of a file.
    ///
    /// # Errors
    /// Those of [`App::summarize_page`]; `NotFound` for a file that does not exist.
    pub async fn summarize_file(
        &self,
        path: &Path,
        task: &Question,
        grant: &SpendGrant,
    ) -> Result<Vec<PageSummary>> {
        let mut items = Vec::new();
        let limits = document_reader::limits_for(&self.settings, self.owner.as_ref());
        ibid_extract::read_file(path, &limits, &mut |item| {
            items.push(item);
            ControlFlow::Continue(())
        })?;
        let models = self.summarizer(task, grant, &Egress::default())?;
        let log = self.ephemeral_log().await?;
        let name = path.to_string_lossy();
        let mut summaries = Vec::new();
        for item in items {
            summaries.push(match item {
                ReadItem::Draft(draft) => {
                    let page = Page::new(draft);
                    ibid_research::summarize_page(&models, &log, task, &name, &page).await?
                }
                ReadItem::Fault(fault) => {
                    let fault = Error::new(ErrorKind::Malformed, fault.message);
                    PageSummary::failed(&name, task, &fault)
                }
            });
        }
        Ok(summaries)
    }

    /// The summarizer of `task`, if it names one.
    fn summarizer(
        &self,
        task: &Question,
        grant: &SpendGrant,
        egress: &Egress,
    ) -> Result<RoleModels> {
        let role = ModelRole::Summarizer;
        let named = task.models.get(&role);
        let named = named.map(|it| (role, it.clone())).into_iter().collect();
        let opened = models::open(&self.settings, &named, grant, Default::default(), egress)?;
        Ok(opened.0)
    }
}
