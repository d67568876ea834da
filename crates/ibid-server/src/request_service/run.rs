//! Runs as their caller may see them.
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::account::RECHECK_INTERVAL;
use super::folder_names::PathRewriter;
use super::intake::run_not_found;
use super::redaction;
use super::service::CallerService;
use ibid::app::App;
use ibid::app::queue::EventStream;
use ibid::app::sharing::is_active;
use ibid_core::Result;
use ibid_core::domain::{PageHash, Rating, Report, RunId, ShareCreator, ShareLink, Traffic};
use ibid_core::ports::{JournalCall, JournalCallState, RunCommand, RunRow};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::PagesByHash;

/// The one name under which callers see all internal hosts.
const INTERNAL_HOSTS: &str = "services of this server";

/// A run that the caller may see. Only [`CallerService`] creates one. Everything that reads or changes a run goes through it. Unless
/// the caller is the operator, results contain no paths of the server and no error messages of services.
#[derive(Clone)]
pub struct CallerRun {
    service: CallerService,
    row: RunRow,
    /// The rewriter of its paths; depends on the folders named in its first event.
    rewrite: Arc<OnceCell<PathRewriter>>,
}

impl CallerRun {
    /// Wraps `row`. The caller of `service` must have been checked to own it.
    pub(super) fn new(service: CallerService, row: RunRow) -> CallerRun {
        CallerRun { service, row, rewrite: Arc::default() }
    }

    /// The rewriter of paths of this run; `None` for the operator. Pass the first `events` of the run if they are loaded.
    async fn rewrite(&self, events: Option<&[Envelope]>) -> Result<Option<&PathRewriter>> {
        let Some(served) = self.service.rewrite() else {
            return Ok(None);
        };
        let extend = async || {
            let folders = match events {
                Some(events) => searched_folders(events),
                None => searched_folders(&self.service.app().events(self.id(), 0).await?),
            };
            Ok(served.with_folders(self.service.names(), &folders))
        };
        let rewrite = self.rewrite.get_or_try_init(extend).await;
        self.service.redact_error(rewrite).map(Some)
    }

    /// Its id.
    pub fn id(&self) -> &RunId {
        &self.row.run_id
    }

    /// Its row at the time of the lookup.
    pub fn row(&self) -> &RunRow {
        &self.row
    }

    /// Its events with sequence numbers above `after`.
    ///
    /// # Errors
    /// `NotFound` if it was deleted meanwhile; store errors.
    pub async fn events(&self, after: u64) -> Result<Vec<Envelope>> {
        let events = self.service.app().events(self.id(), after).await;
        let events = self.service.redact_error(events)?;
        let first = (after == 0).then_some(events.as_slice());
        let rewrite = self.rewrite(first).await?.cloned();
        redacted_events(rewrite.as_ref(), events)
    }

    /// The run, folded from its events.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn run(&self) -> Result<Run> {
        Ok(Run::from_events(self.id().clone(), &self.events(0).await?))
    }

    /// Every journaled external call, in order.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn steps(&self) -> Result<Vec<JournalCall>> {
        let steps = self.service.app().steps(self.id()).await;
        let mut steps = self.service.redact_error(steps)?;
        if let Some(rewrite) = self.rewrite(None).await? {
            for step in &mut steps {
                redaction::redact_step(step);
                rewrite.value(&mut step.request);
                match &mut step.state {
                    JournalCallState::Intended => {}
                    JournalCallState::Answered(answered) => rewrite.value(&mut answered.answer),
                    JournalCallState::Failed { message, .. } => *message = rewrite.text(message),
                }
            }
        }
        Ok(steps)
    }

    /// Traffic by contacted host. Internal hosts are merged into one entry unless the caller is the operator.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn traffic(&self) -> Result<BTreeMap<String, Traffic>> {
        let app = self.service.app();
        let all = self.service.redact_error(app.traffic(self.id()).await)?;
        if self.service.rewrite().is_none() {
            return Ok(all);
        }
        let mut shown: BTreeMap<String, Traffic> = BTreeMap::new();
        for (host, traffic) in all {
            let name = if app.is_internal_host(&host) { INTERNAL_HOSTS.to_owned() } else { host };
            shown.entry(name).or_default().add(traffic);
        }
        Ok(shown)
    }

    /// The pages that `report` cites and this run holds.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn pages(&self, report: Option<&Report>) -> Result<PagesByHash> {
        let rewrite = self.rewrite(None).await?;
        let pages = cited_pages(self.service.app(), rewrite, self.id(), report).await;
        self.service.redact_error(pages)
    }

    /// The same pages unredacted, to verify their hashes. Do not show their addresses to callers.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) async fn pages_as_stored(&self, report: &Report) -> Result<PagesByHash> {
        let pages = cited_pages(self.service.app(), None, self.id(), Some(report)).await;
        self.service.redact_error(pages)
    }

    /// A page that this run holds, as JSON.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn page(&self, hash: &PageHash) -> Result<Option<Value>> {
        let page = self.service.app().run_page(self.id(), hash).await;
        let Some(mut page) = self.service.redact_error(page)? else {
            return Ok(None);
        };
        let Some(rewrite) = self.rewrite(None).await? else {
            return Ok(Some(json!(page)));
        };
        redaction::redact_warnings(&mut page.warnings);
        let mut value = json!(page);
        rewrite.value(&mut value);
        Ok(Some(value))
    }

    /// Sends a command to the run, and wakes it if it is parked waiting for input.
    ///
    /// # Errors
    /// `Usage` if the run has ended; store errors.
    pub async fn send_command(&self, command: RunCommand) -> Result<()> {
        let sent = self.service.app().send_command(self.id(), command).await;
        self.service.redact_error(sent)?;
        self.service.queue().wake(self.id());
        Ok(())
    }

    /// Whether it has ended by now.
    ///
    /// # Errors
    /// `NotFound` if it was deleted meanwhile.
    pub(crate) async fn has_ended(&self) -> Result<bool> {
        let row = self.service.app().row(self.id()).await;
        Ok(self.service.redact_error(row)?.status.ended())
    }

    /// Streams its events after `after`, until it ends or the caller loses access.
    pub fn follow(&self, after: u64) -> CallerEventStream {
        CallerEventStream {
            events: self.service.queue().follow(self.id(), after),
            run: self.clone(),
        }
    }

    /// Waits until it has ended, at most `timeout`.
    ///
    /// # Errors
    /// `NotFound` if the caller loses access; store errors.
    pub async fn wait(&self, timeout: Duration) -> Result<()> {
        if timeout.is_zero() || self.has_ended().await? {
            return Ok(());
        }
        let mut events = self.follow(0);
        let end = async {
            while events.next().await?.is_some() {}
            if self.has_ended().await? { Ok(()) } else { Err(run_not_found()) }
        };
        tokio::time::timeout(timeout, end).await.unwrap_or(Ok(()))
    }

    /// Stores a reader's rating of the report.
    ///
    /// # Errors
    /// Those of [`App::rate`].
    pub async fn rate(&self, rating: Rating) -> Result<()> {
        let rated = self.service.app().rate(self.id(), rating).await;
        self.service.redact_error(rated)
    }

    /// Deletes the run, which must have ended.
    ///
    /// # Errors
    /// Those of [`App::remove`].
    pub async fn remove(&self) -> Result<()> {
        let removed = self.service.app().remove(self.id()).await;
        self.service.redact_error(removed)?;
        self.record_audit("run.delete").await
    }

    /// Creates a link to the report and returns its token with the stored share. The link ends with the caller's account.
    ///
    /// # Errors
    /// Those of [`App::share`].
    pub async fn share(&self, days: u32, private: bool) -> Result<(String, ShareLink)> {
        let creator = match &self.service.caller().owner {
            None => ShareCreator::Operator,
            Some(it) => ShareCreator::User(it.user.clone()),
        };
        let app = self.service.app();
        let shared = app.share(self.id(), days, private, creator).await;
        let shared = self.service.redact_error(shared)?;
        self.record_audit("run.share").await?;
        Ok(shared)
    }

    /// Revokes every link and returns how many were active.
    ///
    /// # Errors
    /// Those of [`App::unshare`].
    pub async fn unshare(&self) -> Result<usize> {
        let count = self.service.app().unshare(self.id()).await;
        let count = self.service.redact_error(count)?;
        self.record_audit("run.unshare").await?;
        Ok(count)
    }

    /// The active links.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn shares(&self) -> Result<Vec<ShareLink>> {
        let now = self.service.app().current_time();
        let shares = self.run().await?.shares;
        Ok(shares.into_iter().filter(|share| is_active(share, now)).collect())
    }

    /// Records `action` in the audit log if the run belongs to an account.
    async fn record_audit(&self, action: &str) -> Result<()> {
        if self.row.owner.is_some() {
            let (app, caller) = (self.service.app(), self.service.caller().name());
            let recorded = app.record_audit(caller, action, self.id().as_str(), "done");
            self.service.redact_error(recorded.await)?;
        }
        Ok(())
    }
}

impl CallerService {
    /// Returns the caller's run `id` (`r_…`, `resp_…` or bare).
    ///
    /// # Errors
    /// `NotFound` for an unknown run, an invalid id and a run of another owner alike.
    pub async fn run(&self, id: &str) -> Result<CallerRun> {
        let row = self.redact_error(self.requests().caller_row(self.caller(), id).await)?;
        Ok(CallerRun::new(self.clone(), row))
    }

    /// The run of a row of [`CallerService::rows`].
    ///
    /// # Errors
    /// `NotFound` if the run is not the caller's.
    pub(crate) fn run_for_row(&self, row: &RunRow) -> Result<CallerRun> {
        let owner = &self.caller().owner;
        if owner.is_none() || row.owner == *owner {
            Ok(CallerRun::new(self.clone(), row.clone()))
        } else {
            Err(run_not_found())
        }
    }
}

/// The events of a run for a caller: each once, in order, none before it is durable.
pub struct CallerEventStream {
    events: EventStream,
    run: CallerRun,
}

impl CallerEventStream {
    /// The next events; `None` after the last event of an ended run, and when the caller loses access.
    ///
    /// # Errors
    /// If the store cannot be read; the next call continues at the same event.
    pub async fn next(&mut self) -> Result<Option<Vec<Envelope>>> {
        let service = self.run.service.clone();
        if !service.is_still_allowed().await {
            return Ok(None);
        }
        let next = tokio::select! {
            biased;
            next = self.events.next() => service.redact_error(next)?,
            () = until_unauthorized(&service) => None,
        };
        let Some(events) = next else { return Ok(None) };
        let first = events.first().is_some_and(|event| event.seq == 1);
        let rewrite = self.run.rewrite(first.then_some(&events)).await?;
        redacted_events(rewrite, events).map(Some)
    }
}

/// Returns once the caller is no longer authorized.
async fn until_unauthorized(service: &CallerService) {
    if service.caller().token.is_none() {
        return std::future::pending().await;
    }
    while service.is_still_allowed().await {
        tokio::time::sleep(RECHECK_INTERVAL).await;
    }
}

/// The pages that `report` cites and `run` holds, with their paths replaced by `rewrite`.
#[allow(clippy::manual_async_fn, reason = "handlers need the explicit Send bound")]
pub(super) fn cited_pages<'a>(
    app: &'a App,
    rewrite: Option<&'a PathRewriter>,
    run: &'a RunId,
    report: Option<&'a Report>,
) -> impl Future<Output = Result<PagesByHash>> + Send + 'a {
    async move {
        let mut pages = PagesByHash::new();
        let Some(report) = report else {
            return Ok(pages);
        };
        let held = app.page_hashes(run).await?;
        for (_, passage) in report.cited_passages() {
            let hash = passage.page();
            if pages.contains_key(hash) || !held.contains(hash) {
                continue;
            }
            if let Some(mut page) = app.page(hash).await? {
                if let Some(rewrite) = rewrite {
                    redaction::redact_warnings(&mut page.warnings);
                    page.url = rewrite.text(&page.url);
                    page.file = page.file.as_deref().map(|file| rewrite.text(file));
                }
                pages.insert(hash.clone(), page);
            }
        }
        Ok(pages)
    }
}

/// The folders that the run searches, from its first event.
fn searched_folders(events: &[Envelope]) -> Vec<String> {
    match events.first().map(|event| &event.event) {
        Some(Event::RunCreated { question, .. }) => question.folders.clone(),
        _ => Vec::new(),
    }
}

/// Removes paths of the server and error messages of services from `events`.
fn redacted_events(rewrite: Option<&PathRewriter>, events: Vec<Envelope>) -> Result<Vec<Envelope>> {
    let Some(rewrite) = rewrite else {
        return Ok(events);
    };
    let each = events.into_iter().map(|mut it| {
        redaction::redact_event(&mut it.event);
        rewrite.rewritten(it)
    });
    each.collect()
}
