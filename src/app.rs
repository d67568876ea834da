//! The only place that knows adapters and research: opens the doors, starts, resumes and follows runs.
use std::path::PathBuf;

use tokio::sync::broadcast;

use crate::config::Settings;
use crate::domain::{Brief, Page, PageHash, Plan, Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Run};
use crate::seams::{Order, RunRow};

/// Everything Ibid can do, for any surface.
pub struct App {
    settings: Settings,
}

/// A run being worked on in this process. Dropping it stops the work; the run stays resumable.
pub struct Running {
    /// Whose.
    pub id: RunId,
    /// What happens from now on.
    pub events: broadcast::Receiver<Envelope>,
}

fn unbuilt<T>() -> Result<T> {
    Err(Error::new(Kind::Internal, "not built yet"))
}

impl App {
    /// Opens the store and the doors that `settings` name.
    pub async fn open(settings: Settings) -> Result<App> {
        Ok(App { settings })
    }
    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// Accepts a question: when this returns, the run is on disk and will be found by `resume`.
    pub async fn start(&self, _question: Question) -> Result<Running> {
        unbuilt()
    }
    /// Goes on with an interrupted run; of an ended run it tells the result again.
    pub async fn resume(&self, _run: &RunId) -> Result<Running> {
        unbuilt()
    }
    /// The refined question and the plan, without spending anything.
    pub async fn plan(&self, _question: &Question) -> Result<(Brief, Plan)> {
        unbuilt()
    }
    /// All runs, newest first.
    pub async fn runs(&self) -> Result<Vec<RunRow>> {
        unbuilt()
    }
    /// One run, folded from its events.
    pub async fn run(&self, _run: &RunId) -> Result<Run> {
        unbuilt()
    }
    /// The events of a run after `seq`.
    pub async fn events(&self, _run: &RunId, _after: u64) -> Result<Vec<Envelope>> {
        unbuilt()
    }
    /// Leaves an order for a run, whichever process works on it. A cancel of a run nobody works on
    /// ends it at once.
    pub async fn order(&self, _run: &RunId, _order: Order) -> Result<()> {
        unbuilt()
    }
    /// Forgets an ended run.
    pub async fn remove(&self, _run: &RunId) -> Result<()> {
        unbuilt()
    }
    /// A stored page.
    pub async fn page(&self, _hash: &PageHash) -> Result<Option<Page>> {
        unbuilt()
    }
    /// Folders known to the index: path, documents, bytes.
    pub async fn folders(&self) -> Result<Vec<(PathBuf, u64, u64)>> {
        unbuilt()
    }
}

impl Running {
    /// Write with what there is (the first Ctrl-C).
    pub fn finish(&self) {}
    /// Waits for the end: the run as its events tell it.
    pub async fn wait(self) -> Result<Run> {
        unbuilt()
    }
}
