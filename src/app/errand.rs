//! One page, or one file, read for one task (row E6): no run, nothing kept but what the reader of pages keeps.
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::spending::SpendGrant;
use super::{App, models, readers, reading};
use crate::adapters::documents::{self, Taken};
use crate::adapters::service::Paces;
use crate::adapters::web::manners::OwnManners;
use crate::domain::{ModelRole, Page, Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::research::{self, Errand};
use crate::seams::{Egress, Log, Models};

impl App {
    /// Reads the page at `url` for the task that `task` words, by the readers of the settings and the summarizer of `task`, where it
    /// names one.
    ///
    /// # Errors
    /// `Usage` for a task without words, `Setup` for a model or a reader that cannot be opened. A page that cannot be read is no
    /// error: its status says why.
    pub async fn errand(&self, url: &str, task: &Question, grant: &SpendGrant) -> Result<Errand> {
        let (egress, paces) = (Egress::default(), Paces::default());
        let cache = readers::cache(&self.settings).await?;
        let manners = OwnManners::default();
        let limits = reading::limits_of(&self.settings, self.owner.as_ref());
        let readers = readers::open(&self.settings, limits, manners, &paces, cache, &egress)?;
        let models = self.summarizer(task, grant, &egress)?;
        let log = self.unheard().await?;
        research::errand(&readers, &models, &log, task, url).await
    }

    /// The same of every document of a file.
    ///
    /// # Errors
    /// As [`errand`](App::errand); `NotFound` for a file that is not there.
    pub async fn errand_of_file(
        &self,
        path: &Path,
        task: &Question,
        grant: &SpendGrant,
    ) -> Result<Vec<Errand>> {
        let mut drafts = Vec::new();
        let limits = reading::limits_of(&self.settings, self.owner.as_ref());
        documents::read_file(path, &limits, &mut |taken| {
            drafts.push(taken);
            ControlFlow::Continue(())
        })?;
        let models = self.summarizer(task, grant, &Egress::default())?;
        let log = self.unheard().await?;
        let name = path.to_string_lossy();
        let mut found = Vec::new();
        for taken in drafts {
            found.push(match taken {
                Taken::Draft(draft) => {
                    let page = Page::new(draft);
                    research::read_for(&models, &log, task, &name, &page).await?
                }
                Taken::Fault(fault) => {
                    let fault = Error::new(Kind::Malformed, fault.message);
                    Errand::failed(&name, task, &fault)
                }
            });
        }
        Ok(found)
    }

    fn summarizer(&self, task: &Question, grant: &SpendGrant, egress: &Egress) -> Result<Models> {
        let role = ModelRole::Summarizer;
        let named = task.models.get(&role);
        let named = named.map(|it| (role, it.clone())).into_iter().collect();
        let opened = models::open(&self.settings, &named, grant, Default::default(), egress)?;
        Ok(opened.0)
    }

    /// A log that is never flushed: there is no run to keep this for.
    pub(super) async fn unheard(&self) -> Result<Arc<Log>> {
        let run = RunId::new(self.parts.clock.unix_ms(), self.parts.chance.bits());
        Ok(self.log(&run, &self.store().await?, &[]))
    }
}
