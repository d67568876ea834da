//! What an [`App`](super::App) is put together from.
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::config::Settings;
use ibid_core::Result;
use ibid_core::domain::{Brief, Owner, Plan, Question, Report, RunId, Usage};
use ibid_core::ports::{
    Clock, Egress, EventLog, FleetQueue, PageReader, Prompt, Providers, Ranker, Rng, RoleModels,
    SearchProvider,
};
use ibid_core::record::Event;
use ibid_index::folder::IndexProgress;
use ibid_llm::stack::SharedModels;
use ibid_net::service::RateLimiters;

/// The method: from a question to a report. It emits every event from the brief to `report.ready`.
pub type ResearchFn = Arc<
    dyn for<'a> Fn(
            &'a Providers,
            &'a EventLog,
            &'a RunId,
            &'a Question,
        ) -> BoxFuture<'a, Result<Report>>
        + Send
        + Sync,
>;

/// Makes the brief and the plan of a question without any call.
pub type PlanFn = Arc<dyn Fn(&Question) -> Result<(Brief, Plan)> + Send + Sync>;

/// Opens the providers that a question needs, for the owner of its run. Wrong names fail here, before a run starts.
pub type OpenProvidersFn = Arc<
    dyn for<'a> Fn(
            &'a Settings,
            &'a Question,
            Option<&'a Owner>,
        ) -> BoxFuture<'a, Result<RunProviders>>
        + Send
        + Sync,
>;

/// The providers of one run, not yet journaled.
pub struct RunProviders {
    /// Search providers, in order of preference.
    pub search: Vec<Arc<dyn SearchProvider>>,
    /// Page readers, in the order in which they are tried.
    pub readers: Vec<Arc<dyn PageReader>>,
    /// Ranks sentences by relevance.
    pub ranker: Arc<dyn Ranker>,
    /// The language model of each role.
    pub models: RoleModels,
    /// Counts the traffic of the run.
    pub egress: Egress,
    /// Called with what earlier workers spent on models, before the first call.
    pub prior_spend: Option<PriorSpendFn>,
    /// Brings the folder indexes up to date before the first search.
    pub prepare: Option<PrepareFn>,
    /// Work beside the run, after the preparation: it makes vectors of the folders for later questions. It is dropped where the run
    /// ends.
    pub background: Option<BoxFuture<'static, Result<()>>>,
}

/// Prepares the first search, reports its progress, and returns the events to emit. Progress depends on interruptions, so it is
/// not an event. Dropping the future stops the work; what is done stays done.
pub type PrepareFn = Box<dyn FnOnce(ProgressFn) -> BoxFuture<'static, Result<Vec<Event>>> + Send>;

/// Takes what earlier workers spent and the prompts whose answers they did not see. Returns a function for the total cost.
pub type PriorSpendFn = Box<dyn FnOnce(&Usage, &[Prompt], u32) -> TotalCostFn + Send>;

/// What the models have cost so far, including calls without an answer, US dollars. `None` while a price is unknown.
pub type TotalCostFn = Box<dyn Fn() -> Option<f64> + Send + Sync>;

/// Called with the progress of indexing.
pub type ProgressFn = Arc<dyn Fn(IndexProgress) + Send + Sync>;

/// What an [`App`](super::App) works with. A test or an embedding program may bring its own.
#[derive(Clone)]
pub struct AppComponents {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub chance: Arc<dyn Rng>,
    /// What `open` shares between runs about models.
    pub models: Arc<SharedModels>,
    /// What `open` shares between runs about the rates of services.
    pub rates: Arc<RateLimiters>,
    /// Opens the providers of a question.
    pub open: OpenProvidersFn,
    /// The method.
    pub research: ResearchFn,
    /// Makes a plan without a model.
    pub plan: PlanFn,
    /// The queue that this server shares with others; `None` for one of its own.
    pub fleet: Option<Arc<dyn FleetQueue>>,
}
