//! The [`App`] itself: its settings, its components, and what all of its methods share.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::OnceCell;

use super::components::AppComponents;
use super::store_handle::StoreHandle;
use crate::config::Settings;
use crate::telemetry::TelemetryExporter;
use ibid_core::Result;
use ibid_core::domain::{Owner, RunId};
use ibid_core::fair_semaphore::{FairSemaphore, OwnerPermits};
use ibid_core::record::AggregateMetrics;

/// The metrics of runs that have ended, each with the sequence number of the last event that was counted.
pub(super) type TallyCache = BTreeMap<RunId, (u64, AggregateMetrics)>;

/// Starts, resumes and follows runs, and gives access to what they left behind. Every surface uses it.
///
/// Opening an app opens nothing else: the store, the folders and the models are opened when they are first needed, so a command that
/// only reads creates no store.
pub struct App {
    pub(super) settings: Arc<Settings>,
    pub(super) components: AppComponents,
    pub(super) store_handle: Arc<OnceCell<StoreHandle>>,
    pub(super) concurrency: Arc<FairSemaphore>,
    pub(super) telemetry: Arc<OnceLock<Option<Arc<TelemetryExporter>>>>,
    pub(super) tallies: Arc<Mutex<TallyCache>>,
    pub(super) owner: Option<Owner>,
}

impl App {
    /// An app with the system's clock and random numbers, and with the providers that `settings` name.
    ///
    /// # Errors
    /// None at present.
    pub async fn open(settings: Settings) -> Result<App> {
        Ok(App::with_components(settings, AppComponents::local()))
    }

    /// An app that works with `components`.
    pub fn with_components(settings: Settings, components: AppComponents) -> App {
        App {
            concurrency: FairSemaphore::with_reserve(settings.concurrency),
            settings: Arc::new(settings),
            components,
            store_handle: Arc::default(),
            telemetry: Arc::default(),
            tallies: Arc::default(),
            owner: None,
        }
    }

    /// The same app, restricted to `owner`: it shows only their runs, and the runs that it starts belong to them. It shares the store,
    /// the providers and the limits with this one.
    #[must_use]
    pub fn as_owner(&self, owner: &Owner) -> App {
        App {
            settings: Arc::clone(&self.settings),
            components: self.components.clone(),
            store_handle: Arc::clone(&self.store_handle),
            concurrency: Arc::clone(&self.concurrency),
            telemetry: Arc::clone(&self.telemetry),
            tallies: Arc::clone(&self.tallies),
            owner: Some(owner.clone()),
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The current time, milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.components.clock.unix_ms()
    }

    /// The current time.
    pub fn current_time(&self) -> jiff::Timestamp {
        let ms = i64::try_from(self.now_ms()).unwrap_or(i64::MAX);
        jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX)
    }

    /// The time `later` milliseconds from now, as RFC 3339 in UTC.
    pub(super) fn timestamp_after(&self, later: i64) -> String {
        let now = i64::try_from(self.now_ms()).unwrap_or(0);
        let at = jiff::Timestamp::from_millisecond(now.saturating_add(later)).unwrap_or_default();
        at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    /// A new run id, for [`App::start_with_id`] and for the queue.
    pub fn new_run_id(&self) -> RunId {
        RunId::new(self.now_ms(), self.random_bits())
    }

    pub(super) fn random_bits(&self) -> u128 {
        self.components.chance.next_u128()
    }

    /// Permits for searches and reads, taken in this owner's turn.
    pub(super) fn permits(&self) -> OwnerPermits {
        let owner = self.owner.as_ref().map(|owner| owner.user.as_str());
        OwnerPermits::new(&self.concurrency, owner)
    }
}
