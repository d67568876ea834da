//! What an [`App`](super::App) is put together from.
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::adapters::folder::Progress;
use crate::config::Settings;
use crate::domain::{Brief, Owner, Plan, Question, Report, RunId, Usage};
use crate::error::Result;
use crate::record::Event;
use crate::seams::{
    Chance, Clock, Egress, Log, Models, PageReader, Prompt, Ranker, SearchProvider, World,
};

/// The method: from a question to a report, telling every event from the brief to `report.ready`.
pub type Research = Arc<
    dyn for<'a> Fn(&'a World, &'a Log, &'a RunId, &'a Question) -> BoxFuture<'a, Result<Report>>
        + Send
        + Sync,
>;

/// The brief and plan of a question, without any call.
pub type Planning = Arc<dyn Fn(&Question) -> Result<(Brief, Plan)> + Send + Sync>;

/// Opens the doors that a question needs, for the owner of its run; wrong names are told here, before a run begins.
pub type Opening = Arc<
    dyn for<'a> Fn(&'a Settings, &'a Question, Option<&'a Owner>) -> BoxFuture<'a, Result<Doors>>
        + Send
        + Sync,
>;

/// The doors of one run, not yet journaled.
pub struct Doors {
    /// Where to search, in order of preference.
    pub search: Vec<Arc<dyn SearchProvider>>,
    /// Who reads.
    pub readers: Vec<Arc<dyn PageReader>>,
    /// Who ranks.
    pub ranker: Arc<dyn Ranker>,
    /// Who thinks.
    pub models: Models,
    /// Where what leaves the machine is noted.
    pub egress: Egress,
    /// Hears what earlier sittings spent on models, before the first call.
    pub spent_before: Option<SpentBefore>,
    /// What must be done before the first search (an index brought up to date), and what there is
    /// to tell of it.
    pub prepare: Option<Prepare>,
}

/// Does what must be done before the first search, telling how far it is. What it comes to is the
/// same however often it is interrupted; how far it is depends on the clock, and is no event.
/// Dropping it stops it, and what it has done so far stays done.
pub type Prepare = Box<dyn FnOnce(Heard) -> BoxFuture<'static, Result<Vec<Event>>> + Send>;

/// Hears what earlier sittings spent, and what they asked models without seeing the answers; says from then on what all came to.
pub type SpentBefore = Box<dyn FnOnce(&Usage, &[Prompt]) -> SpentSoFar + Send>;

/// What models have cost so far, also calls whose answers never came, US dollars; `None` while any price is unknown.
pub type SpentSoFar = Box<dyn Fn() -> Option<f64> + Send + Sync>;

/// Hears how far something is.
pub type Heard = Arc<dyn Fn(Progress) + Send + Sync>;

/// What an App works with. Tests and embedders may bring their own.
#[derive(Clone)]
pub struct Parts {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where chance comes from.
    pub chance: Arc<dyn Chance>,
    /// Opens the doors.
    pub open: Opening,
    /// The method.
    pub research: Research,
    /// The plan alone.
    pub plan: Planning,
}
