//! What the store holds: runs, their events, steps, pages and traffic. The store is opened on first use.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::App;
use super::store_handle::StoreHandle;
use ibid_core::domain::{Page, PageHash, Report, RunId, Traffic};
use ibid_core::ports::{
    Accounts, BrowserSessions, EventLog, JournalCall, RunLease, RunLocks, RunRow, RunWakeups, Store,
};
use ibid_core::record::{Envelope, Event, Run};
use ibid_core::{Error, ErrorKind, Result};
use ibid_store::store::database;

/// An ended run that no other process can change.
pub(super) struct LockedRun {
    pub(super) run: Run,
    pub(super) store: Arc<dyn Store>,
    /// The events of the run.
    pub(super) past: Vec<Envelope>,
    pub(super) lease: Box<dyn RunLease>,
}

impl App {
    /// All runs, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn runs(&self) -> Result<Vec<RunRow>> {
        match self.store_if_any().await? {
            Some(store) => store.runs().await,
            None => Ok(Vec::new()),
        }
    }

    /// One run as a row of `ibid ls`.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn row(&self, run: &RunId) -> Result<RunRow> {
        self.existing_store(run).await?.run_row(run).await
    }

    /// One run, folded from its events.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn run(&self, run: &RunId) -> Result<Run> {
        let events = self.events(run, 0).await?;
        Ok(Run::from_events(run.clone(), &events))
    }

    /// The events of a run after the sequence number `after`.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>> {
        self.existing_store(run).await?.events(run, after).await
    }

    /// Every call of `run` to a provider, in the order of the journal, with its answer where it has one.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn steps(&self, run: &RunId) -> Result<Vec<JournalCall>> {
        self.existing_store(run).await?.steps(run).await
    }

    /// The hosts that a run contacted, with the number of requests and bytes of each.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>> {
        self.existing_store(run).await?.traffic(run).await
    }

    /// Whether a process works on this run now.
    ///
    /// # Errors
    /// `Transient` when the server that holds the locks cannot be reached.
    pub async fn is_running(&self, run: &RunId) -> Result<bool> {
        match self.store_if_any().await? {
            Some(_) => self.locks().await?.is_held(run).await,
            None => Ok(false),
        }
    }

    /// Deletes an ended run.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended.
    pub async fn remove(&self, run: &RunId) -> Result<()> {
        let store = self.existing_store(run).await?;
        if !self.run(run).await?.status.ended() {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("run {run} has not ended and could be resumed"),
            )
            .with_hint(format!("end it first with `ibid cancel {run}`")));
        }
        store.remove_run(run).await
    }

    /// A stored page.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn page(&self, hash: &PageHash) -> Result<Option<Page>> {
        match self.store_if_any().await? {
            Some(store) => store.page(hash).await,
            None => Ok(None),
        }
    }

    /// The hashes of the pages that `run` has read.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn page_hashes(&self, run: &RunId) -> Result<BTreeSet<PageHash>> {
        let hashes = self.existing_store(run).await?.run_pages(run).await?;
        Ok(hashes.into_iter().collect())
    }

    /// The stored page with this hash, if `run` has read it.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn run_page(&self, run: &RunId, hash: &PageHash) -> Result<Option<Page>> {
        if self.page_hashes(run).await?.contains(hash) { self.page(hash).await } else { Ok(None) }
    }

    /// The pages that a report cites, without those that are no longer stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn report_pages(&self, report: Option<&Report>) -> Result<BTreeMap<PageHash, Page>> {
        let mut pages = BTreeMap::new();
        for (_, passage) in report.iter().flat_map(|report| report.cited_passages()) {
            if !pages.contains_key(passage.page())
                && let Some(page) = self.page(passage.page()).await?
            {
                pages.insert(passage.page().clone(), page);
            }
        }
        Ok(pages)
    }

    /// Checks that the store answers, and creates it where there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn ready(&self) -> Result<()> {
        self.store().await?.drain().await
    }

    /// Checks the store for damage. Returns its location, or `None` if there is no store yet.
    ///
    /// # Errors
    /// `Setup` naming what is damaged or cannot be opened, `Transient` when its server cannot be reached.
    pub async fn check_store(&self) -> Result<Option<String>> {
        let Some(store) = self.store_if_any().await? else {
            return Ok(None);
        };
        store.check_integrity().await?;
        Ok(Some(store.location()))
    }

    /// The changes of runs, once the store is open and other processes tell of them.
    pub(super) fn wakeups(&self) -> Option<&Arc<dyn RunWakeups>> {
        self.store_handle.get()?.wakeups.as_ref()
    }

    async fn store_handle(&self) -> Result<&StoreHandle> {
        let open = || StoreHandle::open(&self.settings);
        let handle = self.store_handle.get_or_try_init(open).await?;
        if let Some(places) = &handle.call_places {
            self.components.models.limiters.share(places);
        }
        if let Some(turns) = &handle.service_turns {
            self.components.rates.share(turns);
        }
        Ok(handle)
    }

    /// The store as the owner of this app may see it. Creates it where there is none.
    pub(super) async fn store(&self) -> Result<Arc<dyn Store>> {
        let store = &self.store_handle().await?.store;
        Ok(match &self.owner {
            Some(owner) => store.for_owner(owner),
            None => Arc::clone(store),
        })
    }

    /// The store, if there is one. Reading must not create it.
    pub(super) async fn store_if_any(&self) -> Result<Option<Arc<dyn Store>>> {
        let settings = &self.settings;
        let exists = self.store_handle.initialized()
            || settings.store_url.is_some()
            || database(&settings.data_dir).exists();
        if exists { self.store().await.map(Some) } else { Ok(None) }
    }

    /// The store, in which `run` is looked for. Without a store there is no run: `NotFound`.
    pub(super) async fn existing_store(&self, run: &RunId) -> Result<Arc<dyn Store>> {
        self.store_if_any().await?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("there is no run {run}"))
                .with_hint("see `ibid ls` for the ids of your runs")
        })
    }

    pub(super) async fn locks(&self) -> Result<Arc<dyn RunLocks>> {
        Ok(Arc::clone(&self.store_handle().await?.locks))
    }

    /// The sessions of browsers at the servers of the store.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn browser_sessions(&self) -> Result<Arc<dyn BrowserSessions>> {
        Ok(Arc::clone(&self.store_handle().await?.sessions))
    }

    pub(super) async fn accounts(&self) -> Result<Arc<dyn Accounts>> {
        Ok(Arc::clone(&self.store_handle().await?.accounts))
    }

    /// Takes the lease of `run`. `Transient` if another process holds it.
    pub(super) async fn acquire_lease(&self, run: &RunId) -> Result<Box<dyn RunLease>> {
        self.locks().await?.acquire(run).await?.ok_or_else(|| {
            Error::new(
                ErrorKind::Transient,
                format!("run {run} is being worked on by another process"),
            )
            .with_hint(format!("wait until it ends, or end it with `ibid finish {run}`"))
        })
    }

    /// `store` for the holder of `lease`: it refuses writes after the lease is lost.
    pub(super) fn with_lease(
        store: Arc<dyn Store>,
        run: &RunId,
        lease: &dyn RunLease,
    ) -> Arc<dyn Store> {
        let fenced = lease.epoch().and_then(|epoch| store.fenced(run, epoch));
        fenced.unwrap_or(store)
    }

    /// The event log of `run`, which continues after the events in `past`.
    pub(super) fn open_log(
        &self,
        run: &RunId,
        store: &Arc<dyn Store>,
        past: &[Envelope],
    ) -> Arc<EventLog> {
        let clock = Arc::clone(&self.components.clock);
        Arc::new(EventLog::resume(run.clone(), Arc::clone(store), clock, past))
    }

    /// A log without a run. It is never flushed.
    pub(super) async fn ephemeral_log(&self) -> Result<Arc<EventLog>> {
        Ok(self.open_log(&self.new_run_id(), &self.store().await?, &[]))
    }

    /// An ended run, leased so that no other process adds events meanwhile.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended, `Transient` if another process holds it.
    pub(super) async fn lock_ended_run(&self, run: &RunId) -> Result<LockedRun> {
        let store = self.existing_store(run).await?;
        let past = store.events(run, 0).await?;
        if !Run::from_events(run.clone(), &past).status.ended() {
            return Err(Error::new(ErrorKind::Usage, format!("run {run} has not ended yet"))
                .with_hint(format!("resume it first: ibid resume {run}")));
        }
        let lease = self.acquire_lease(run).await?;
        let store = App::with_lease(store, run, &*lease);
        // Another process may have added events before the lease was ours.
        store.drain().await?;
        let past = store.events(run, 0).await?;
        Ok(LockedRun { run: Run::from_events(run.clone(), &past), store, past, lease })
    }

    /// Adds an event to an ended run and releases its lease.
    pub(super) async fn append_event(&self, locked: LockedRun, event: Event) -> Result<()> {
        let LockedRun { run, store, past, lease } = locked;
        // A log skips an event that equals one in `past`, as it does after a resume. Thumbs up, down and up again are three events, so
        // the log gets only the last of them.
        let last = past.len().saturating_sub(1);
        let log = self.open_log(&run.id, &store, &past[last..]);
        log.emit(event);
        log.flush().await?;
        lease.release();
        Ok(())
    }
}
