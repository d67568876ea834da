//! A run that its caller may see.
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::account::LOOK;
use super::causes;
use super::names::PathRewrite;
use super::service::CallerService;
use crate::app::App;
use crate::app::queue::Story;
use crate::app::sharing::lasts;
use crate::domain::{PageHash, Rating, Report, RunId, Share, ShareMaker, Traffic};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, Run};
use crate::seams::{Order, RunRow, Step, StepState};
use crate::surfaces::export::{Pages, passages};

/// What hosts inside are called together.
const INSIDE: &str = "services of this server";

/// A run that the caller of a [`CallerService`] may see: only [`CallerService::run`] and [`CallerService::accept`] make one. All that
/// can be read of a run or done to it is asked of this; what comes out names no path of the server and repeats nothing that a service
/// said as it failed, unless the caller is the operator.
#[derive(Clone)]
pub struct CallerRun {
    service: CallerService,
    row: RunRow,
    /// What its paths are replaced by, which its first event tells.
    rewrite: Arc<OnceCell<PathRewrite>>,
}

impl CallerRun {
    /// `row` as the caller of `service`, who was found to be its owner, sees it.
    pub(super) fn new(service: CallerService, row: RunRow) -> CallerRun {
        CallerRun {
            service,
            row,
            rewrite: Arc::default(),
        }
    }

    /// What paths of this run are replaced by; nothing for the operator. `events` are the first of the run, where they are known.
    async fn rewrite(&self, events: Option<&[Envelope]>) -> Result<Option<&PathRewrite>> {
        let Some(of_served) = self.service.rewrite() else {
            return Ok(None);
        };
        let made = async || {
            let folders = match events {
                Some(events) => folders(events),
                None => folders(&self.service.app().events(self.id(), 0).await?),
            };
            Ok(of_served.with_folders(self.service.names(), &folders))
        };
        let made = self.rewrite.get_or_try_init(made).await;
        self.service.told(made).map(Some)
    }

    /// Its id.
    pub fn id(&self) -> &RunId {
        &self.row.run_id
    }

    /// Its row as it was when it was looked up.
    pub fn row(&self) -> &RunRow {
        &self.row
    }

    /// Its events after `after`.
    ///
    /// # Errors
    /// `NotFound` where it was deleted meanwhile; those of the store.
    pub async fn events(&self, after: u64) -> Result<Vec<Envelope>> {
        let events = self.service.app().events(self.id(), after).await;
        let events = self.service.told(events)?;
        let first = (after == 0).then_some(events.as_slice());
        let rewrite = self.rewrite(first).await?.cloned();
        shown(rewrite.as_ref(), events)
    }

    /// The run, folded from its events.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn run(&self) -> Result<Run> {
        Ok(Run::of(self.id().clone(), &self.events(0).await?))
    }

    /// Every call to the outside, in the order intended.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn steps(&self) -> Result<Vec<Step>> {
        let steps = self.service.app().steps(self.id()).await;
        let mut steps = self.service.told(steps)?;
        if let Some(rewrite) = self.rewrite(None).await? {
            for it in &mut steps {
                causes::step(it);
                rewrite.value(&mut it.asked);
                match &mut it.state {
                    StepState::Intended => {}
                    StepState::Answered(answered) => rewrite.value(&mut answered.answer),
                    StepState::Failed { message, .. } => *message = rewrite.text(message),
                }
            }
        }
        Ok(steps)
    }

    /// Which hosts were contacted for it; those inside are one, unless the caller is the operator.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn traffic(&self) -> Result<BTreeMap<String, Traffic>> {
        let app = self.service.app();
        let all = self.service.told(app.traffic(self.id()).await)?;
        if self.service.rewrite().is_none() {
            return Ok(all);
        }
        let mut shown: BTreeMap<String, Traffic> = BTreeMap::new();
        for (host, it) in all {
            let name = match app.is_inside(&host) {
                true => INSIDE.to_owned(),
                false => host,
            };
            shown.entry(name).or_default().add(it);
        }
        Ok(shown)
    }

    /// The stored pages that `report` cites, as far as this run holds them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn pages(&self, report: Option<&Report>) -> Result<Pages> {
        let rewrite = self.rewrite(None).await?;
        let pages = pages(self.service.app(), rewrite, self.id(), report).await;
        self.service.told(pages)
    }

    /// The same as they are stored, to be held against their hashes. Where they were read is not for callers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn pages_as_stored(&self, report: &Report) -> Result<Pages> {
        let pages = pages(self.service.app(), None, self.id(), Some(report)).await;
        self.service.told(pages)
    }

    /// A page that this run holds, as JSON.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn page(&self, hash: &PageHash) -> Result<Option<Value>> {
        let page = self.service.app().page_of(self.id(), hash).await;
        let Some(mut page) = self.service.told(page)? else {
            return Ok(None);
        };
        let Some(rewrite) = self.rewrite(None).await? else {
            return Ok(Some(json!(page)));
        };
        causes::warnings(&mut page.warnings);
        let mut value = json!(page);
        rewrite.value(&mut value);
        Ok(Some(value))
    }

    /// Leaves an order; a run that was put aside because it waits for a person has its turn again.
    ///
    /// # Errors
    /// `Usage` for a run that has ended; those of the store.
    pub async fn order(&self, order: Order) -> Result<()> {
        let left = self.service.app().order(self.id(), order).await;
        self.service.told(left)?;
        self.service.queue().wake(self.id());
        Ok(())
    }

    /// Whether it has ended by now.
    ///
    /// # Errors
    /// `NotFound` where it was deleted meanwhile.
    pub async fn has_ended(&self) -> Result<bool> {
        let row = self.service.app().row(self.id()).await;
        Ok(self.service.told(row)?.status.ended())
    }

    /// What it tells after event `after`, until its end or until the caller may not ask any more.
    pub fn follow(&self, after: u64) -> CallerStory {
        CallerStory {
            story: self.service.queue().follow(self.id(), after),
            run: self.clone(),
        }
    }

    /// Waits until it has ended, or so long.
    ///
    /// # Errors
    /// `NotFound` where the caller may not ask any more; those of the store.
    pub async fn wait(&self, most: Duration) -> Result<()> {
        if most.is_zero() || self.has_ended().await? {
            return Ok(());
        }
        let mut story = self.follow(0);
        let end = async {
            while story.next().await?.is_some() {}
            match self.has_ended().await? {
                true => Ok(()),
                false => Err(gone()),
            }
        };
        tokio::time::timeout(most, end).await.unwrap_or(Ok(()))
    }

    /// Keeps what a reader thinks of the report.
    ///
    /// # Errors
    /// Those of [`App::rate`].
    pub async fn rate(&self, rating: Rating) -> Result<()> {
        let rated = self.service.app().rate(self.id(), rating).await;
        self.service.told(rated)
    }

    /// Forgets the run, which must have ended.
    ///
    /// # Errors
    /// Those of [`App::remove`].
    pub async fn remove(&self) -> Result<()> {
        let removed = self.service.app().remove(self.id()).await;
        self.service.told(removed)?;
        self.note("run.delete").await
    }

    /// Makes a link to the report: its token, and what is kept of it. It ends with the account of this caller.
    ///
    /// # Errors
    /// Those of [`App::share`].
    pub async fn share(&self, days: u32, private: bool) -> Result<(String, Share)> {
        let maker = match &self.service.caller().owner {
            None => ShareMaker::Operator,
            Some(it) => ShareMaker::User(it.user.clone()),
        };
        let app = self.service.app();
        let made = app.share(self.id(), days, private, maker).await;
        let made = self.service.told(made)?;
        self.note("run.share").await?;
        Ok(made)
    }

    /// Takes every link back, and gives how many lasted until now.
    ///
    /// # Errors
    /// Those of [`App::unshare`].
    pub async fn unshare(&self) -> Result<usize> {
        let count = self.service.app().unshare(self.id()).await;
        let count = self.service.told(count)?;
        self.note("run.unshare").await?;
        Ok(count)
    }

    /// The links that last.
    ///
    /// # Errors
    /// Those of [`CallerRun::events`].
    pub async fn shares(&self) -> Result<Vec<Share>> {
        let now = self.service.app().moment();
        let shares = self.run().await?.shares;
        Ok(shares.into_iter().filter(|it| lasts(it, now)).collect())
    }

    /// Writes down in the audit log that the caller did this to a run of somebody with an account.
    async fn note(&self, act: &str) -> Result<()> {
        if self.row.owner.is_some() {
            let (app, who) = (self.service.app(), self.service.caller().name());
            let noted = app.audit(who, act, self.id().as_str(), "done").await;
            self.service.told(noted)?;
        }
        Ok(())
    }
}

/// What a caller hears of a run: each event once, in order, none before it is durable.
pub struct CallerStory {
    story: Story,
    run: CallerRun,
}

impl CallerStory {
    /// The next events; `None` when the run has ended and all is heard, and when the caller may not ask any more.
    ///
    /// # Errors
    /// When the store cannot be read; asking again goes on at the same place.
    pub async fn next(&mut self) -> Result<Option<Vec<Envelope>>> {
        let service = self.run.service.clone();
        if !service.may_stay().await {
            return Ok(None);
        }
        let next = tokio::select! {
            biased;
            next = self.story.next() => service.told(next)?,
            () = sent_away(&service) => None,
        };
        let Some(events) = next else { return Ok(None) };
        let first = events.first().is_some_and(|it| it.seq == 1);
        let rewrite = self.run.rewrite(first.then_some(&events)).await?;
        shown(rewrite, events).map(Some)
    }
}

/// Returns once the caller may not ask any more.
async fn sent_away(service: &CallerService) {
    if service.caller().token.is_none() {
        return std::future::pending().await;
    }
    while service.may_stay().await {
        tokio::time::sleep(LOOK).await;
    }
}

pub(super) fn gone() -> Error {
    Error::new(Kind::NotFound, "there is no such run")
}

/// The pages of `report` that `run` holds.
#[allow(
    clippy::manual_async_fn,
    reason = "handlers need to hear that it is Send"
)]
pub(super) fn pages<'a>(
    app: &'a App,
    rewrite: Option<&'a PathRewrite>,
    run: &'a RunId,
    report: Option<&'a Report>,
) -> impl Future<Output = Result<Pages>> + Send + 'a {
    async move {
        let mut pages = Pages::new();
        let Some(report) = report else {
            return Ok(pages);
        };
        let held = app.pages_held(run).await?;
        for (_, passage) in passages(report) {
            let hash = passage.page();
            if pages.contains_key(hash) || !held.contains(hash) {
                continue;
            }
            if let Some(mut page) = app.page(hash).await? {
                if let Some(rewrite) = rewrite {
                    causes::warnings(&mut page.warnings);
                    page.url = rewrite.text(&page.url);
                    page.file = page.file.as_deref().map(|it| rewrite.text(it));
                }
                pages.insert(hash.clone(), page);
            }
        }
        Ok(pages)
    }
}

/// The folders that the run of these events searches.
fn folders(events: &[Envelope]) -> Vec<String> {
    match events.first().map(|it| &it.event) {
        Some(Event::RunCreated { question, .. }) => question.folders.clone(),
        _ => Vec::new(),
    }
}

/// Events as a caller is shown them: without paths of the server, and without what services said as they failed.
fn shown(rewrite: Option<&PathRewrite>, events: Vec<Envelope>) -> Result<Vec<Envelope>> {
    let Some(rewrite) = rewrite else {
        return Ok(events);
    };
    let each = events.into_iter().map(|mut it| {
        causes::event(&mut it.event);
        rewrite.noun(it)
    });
    each.collect()
}
