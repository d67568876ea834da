//! Copies one store into another.
use std::path::PathBuf;
use std::sync::Arc;

use super::page_bodies;
use crate::config::{SecretString, Settings};
use ibid_core::domain::{PageHash, RunId};
use ibid_core::ports::{
    Accounts, JournalCall, JournalCallState, PageBodies, RunLease, RunLocks, RunRow, Store,
    TraceFilter,
};
use ibid_core::{Error, ErrorKind, Result};
use ibid_store::store::{FileLocks, PostgresStore, SqliteStore};

/// Events that are written at once.
const BATCH: usize = 500;

/// The location of a store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreLocation {
    /// SQLite in this data directory.
    Dir(PathBuf),
    /// PostgreSQL behind this address.
    Server(SecretString),
}

/// The object stores of pages; with the default, both stores have pages in the database.
#[derive(Default)]
pub struct CopyPages {
    from: Option<Arc<dyn PageBodies>>,
    to: Option<Arc<dyn PageBodies>>,
}

impl CopyPages {
    /// Opens those at the URLs `from` and `to`: without one, that of the settings, and with `none`, none.
    ///
    /// # Errors
    /// `Setup` for a URL that cannot be opened.
    pub fn open(from: Option<&str>, to: Option<&str>, settings: &Settings) -> Result<CopyPages> {
        let open = |url: Option<&str>| match url {
            Some("none") => Ok(None),
            url => page_bodies::open(url.unwrap_or(&settings.pages_url), settings),
        };
        Ok(CopyPages { from: open(from)?, to: open(to)? })
    }
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopySummary {
    /// Runs copied.
    pub runs: u64,
    /// Runs that were complete in the target already.
    pub there: u64,
    /// Users added.
    pub users: u64,
    /// Organisations added.
    pub orgs: u64,
    /// Tokens added.
    pub tokens: u64,
    /// Lines added to the audit log.
    pub audited: u64,
}

impl StoreLocation {
    /// Parses `postgres://…`, a directory, or `here` for the store of the settings.
    pub fn parse(text: &str, settings: &Settings) -> StoreLocation {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return StoreLocation::Server(SecretString::new(text));
        }
        match (text, &settings.store_url) {
            ("here", Some(url)) => StoreLocation::Server(url.clone()),
            ("here", None) => StoreLocation::Dir(settings.data_dir.clone()),
            _ => StoreLocation::Dir(PathBuf::from(text)),
        }
    }

    async fn open(&self, bodies: Option<Arc<dyn PageBodies>>) -> Result<OpenStore> {
        Ok(match self {
            StoreLocation::Dir(dir) => {
                let store = SqliteStore::open(dir).await?;
                let store = Arc::new(store.with_page_bodies(bodies).await?);
                OpenStore {
                    locks: Box::new(FileLocks::new(dir)),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    store,
                }
            }
            StoreLocation::Server(url) => {
                let store = PostgresStore::open(url.expose()).await?;
                let store = Arc::new(store.with_page_bodies(bodies).await?);
                OpenStore {
                    locks: Box::new(store.locks()),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    store,
                }
            }
        })
    }
}

struct OpenStore {
    store: Arc<dyn Store>,
    locks: Box<dyn RunLocks>,
    accounts: Arc<dyn Accounts>,
}

/// Copies everything in `from` into `to`, run by run, and compares the result. A run that is complete in the target is left alone; one
/// that is there in part, because a copy was interrupted, is copied again. `on_run` is called with each run that is copied, its number
/// and the number of runs.
///
/// # Errors
/// `Usage` if both are one store, `NotFound` for a directory without a store, `Transient` for a run that is being worked
/// on, `Internal` if a copied run differs.
pub async fn copy(
    from: &StoreLocation,
    to: &StoreLocation,
    pages: CopyPages,
    on_run: &dyn Fn(&RunId, usize, usize),
) -> Result<CopySummary> {
    if from == to {
        return Err(
            Error::new(ErrorKind::Usage, "both are the same store").with_hint("name two stores")
        );
    }
    if let StoreLocation::Dir(dir) = from
        && !ibid_store::store::database(dir).exists()
    {
        let what = format!("there is no store in {}", dir.display());
        return Err(Error::new(ErrorKind::NotFound, what)
            .with_hint("name a data directory with an ibid.db"));
    }
    let (source, target) = (from.open(pages.from).await?, to.open(pages.to).await?);
    let mut summary = CopySummary::default();
    copy_accounts(&*source.accounts, &*target.accounts, &mut summary).await?;
    // Oldest first, so that the target has the same order.
    let mut rows = source.store.runs().await?;
    rows.reverse();
    for (row, nth) in rows.iter().zip(1..) {
        let run = &row.run_id;
        let sent = RunContents::load(&*source.store, run).await?;
        if RunContents::load(&*target.store, run).await? == sent {
            summary.there += 1;
            continue;
        }
        on_run(run, nth, rows.len());
        let _lease = lock_unfinished(&*source.locks, row).await?;
        copy_run(&source, &target, run).await?;
        summary.runs += 1;
        // Counted again: an unended run may have grown before it was leased.
        let sent = RunContents::load(&*source.store, run).await?;
        if RunContents::load(&*target.store, run).await? != sent {
            let what = format!("run {run} is incomplete in {}", target.store.location());
            return Err(Error::new(ErrorKind::Internal, what)
                .with_hint("copy again; complete runs are kept"));
        }
    }
    let stored = target.store.runs().await?;
    let missing = |row: &&RunRow| row.status.ended() && !stored.contains(*row);
    if let Some(row) = rows.iter().find(missing) {
        let what = format!("the copy of run {} in {} differs", row.run_id, target.store.location());
        return Err(Error::new(ErrorKind::Internal, what)
            .with_hint("report this with the output of `ibid doctor`"));
    }
    copy_traces(&source, &target).await?;
    Ok(summary)
}

/// Takes the lease of a run that has not ended, so that no process works on it meanwhile.
async fn lock_unfinished(locks: &dyn RunLocks, row: &RunRow) -> Result<Option<Box<dyn RunLease>>> {
    if row.status.ended() {
        return Ok(None);
    }
    match locks.acquire(&row.run_id).await? {
        Some(lease) => Ok(Some(lease)),
        None => {
            let what = format!("run {} is being worked on", row.run_id);
            Err(Error::new(ErrorKind::Transient, what).with_hint(
                "wait until it ends or stop the process that works on it, then copy again",
            ))
        }
    }
}

/// The contents of a run, for comparing two stores.
#[derive(PartialEq)]
struct RunContents {
    events: usize,
    steps: Vec<JournalCall>,
    pages: Vec<PageHash>,
    commands: usize,
    hosts: usize,
}

impl RunContents {
    async fn load(store: &dyn Store, run: &RunId) -> Result<RunContents> {
        let events = match store.events(run, 0).await {
            Ok(it) => it.len(),
            Err(it) if it.kind() == ErrorKind::NotFound => 0,
            Err(it) => return Err(it),
        };
        Ok(RunContents {
            events,
            steps: store.steps(run).await?,
            pages: store.run_pages(run).await?,
            commands: store.commands(run).await?.len(),
            hosts: store.traffic(run).await?.len(),
        })
    }
}

async fn copy_run(source: &OpenStore, target: &OpenStore, run: &RunId) -> Result<()> {
    let (from, to) = (&*source.store, &*target.store);
    match to.remove_run(run).await {
        Err(it) if it.kind() != ErrorKind::NotFound => return Err(it),
        _ => {}
    }
    for batch in from.events(run, 0).await?.chunks(BATCH) {
        to.append(run, batch).await?;
    }
    for step in from.steps(run).await? {
        let asked = JournalCall { state: JournalCallState::Intended, ..step.clone() };
        to.begin_call(run, &asked).await?;
        if step.state != JournalCallState::Intended {
            to.finish_call(run, &step.key, &step.state).await?;
        }
    }
    for hash in from.run_pages(run).await? {
        let page = from.page(&hash).await?.ok_or_else(|| {
            let what = format!("page {hash} of run {run} is not in {}", from.location());
            Error::new(ErrorKind::Internal, what).with_hint("check for damage with `ibid doctor`")
        })?;
        to.save_page(run, &page).await?;
        if to.page(&hash).await?.as_ref() != Some(&page) {
            let what = format!("the copy of page {hash} in {} differs", to.location());
            return Err(Error::new(ErrorKind::Internal, what)
                .with_hint("report this with the output of `ibid doctor`"));
        }
    }
    for command in from.commands(run).await? {
        to.send_command(run, command).await?;
    }
    to.add_traffic(run, &from.traffic(run).await?).await
}

/// Copies the traces of tools other than runs.
async fn copy_traces(source: &OpenStore, target: &OpenStore) -> Result<()> {
    let users = source.accounts.users().await?;
    let operator = std::iter::once("");
    for user in operator.chain(users.iter().map(|user| user.id.as_str())) {
        let filter = TraceFilter { user: Some(user.to_owned()), ..TraceFilter::default() };
        let existing = target.store.traces(&filter).await?;
        for trace in source.store.traces(&filter).await? {
            if !existing.iter().any(|it| it.id == trace.id) {
                let trace = source.store.trace(&trace.id).await?;
                target.store.create_trace(&trace).await?;
            }
        }
    }
    Ok(())
}

async fn copy_accounts(
    from: &dyn Accounts,
    to: &dyn Accounts,
    summary: &mut CopySummary,
) -> Result<()> {
    let existing = to.orgs().await?;
    for org in from.orgs().await? {
        if !existing.iter().any(|it| it.id == org.id) {
            to.add_org(&org).await?;
            summary.orgs += 1;
        }
    }
    let existing = to.users().await?;
    for user in from.users().await? {
        if !existing.iter().any(|it| it.id == user.id) {
            to.add_user(&user).await?;
            summary.users += 1;
        }
    }
    let existing = to.tokens().await?;
    for token in from.tokens().await? {
        if !existing.contains(&token) {
            to.add_token(&token).await?;
            summary.tokens += 1;
        }
    }
    // The log only grows, so the target has a prefix of it.
    let existing = to.audit_log(u32::MAX).await?;
    let mut lines = from.audit_log(u32::MAX).await?;
    lines.reverse();
    for line in lines.iter().filter(|line| !existing.contains(line)) {
        to.append_audit(line).await?;
        summary.audited += 1;
    }
    Ok(())
}
