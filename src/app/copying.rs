//! All that one store keeps, copied into another.
use std::path::PathBuf;
use std::sync::Arc;

use crate::adapters::store::{FileLocks, PostgresStore, SqliteStore};
use crate::config::{Secret, Settings};
use crate::domain::{PageHash, RunId};
use crate::error::{Error, Kind, Result};
use crate::seams::{Accounts, Hold, Locks, RunRow, Step, StepState, Store};

/// How many events go into the other store at once.
const BATCH: usize = 500;

/// Where a store is.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// SQLite in this data directory.
    Dir(PathBuf),
    /// PostgreSQL behind this address.
    Server(Secret),
}

/// What a copy came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Runs copied.
    pub runs: u64,
    /// Runs that were there already, whole.
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

impl Place {
    /// What `text` names: `postgres://…`, a directory, or `here` for the store of the settings.
    pub fn of(text: &str, settings: &Settings) -> Place {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Place::Server(Secret::new(text));
        }
        match (text, &settings.store_url) {
            ("here", Some(url)) => Place::Server(url.clone()),
            ("here", None) => Place::Dir(settings.data_dir.clone()),
            _ => Place::Dir(PathBuf::from(text)),
        }
    }

    async fn open(&self) -> Result<Opened> {
        Ok(match self {
            Place::Dir(dir) => {
                let store = Arc::new(SqliteStore::open(dir).await?);
                Opened {
                    locks: Box::new(FileLocks::of(dir)),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    store,
                }
            }
            Place::Server(url) => {
                let store = Arc::new(PostgresStore::open(url.expose()).await?);
                Opened {
                    locks: Box::new(store.locks()),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    store,
                }
            }
        })
    }
}

struct Opened {
    store: Arc<dyn Store>,
    locks: Box<dyn Locks>,
    accounts: Arc<dyn Accounts>,
}

/// Copies all that is in `from` into `to`, run by run, and holds what arrived against what was sent. A run that is there
/// and whole is left as it is; one that is there in part, because a copy was stopped, is copied anew. `heard` hears each
/// run that is copied, its place in the row, and how many there are.
///
/// # Errors
/// `Usage` where both are one store, `NotFound` for a directory without one, `Transient` for a run that is being worked
/// on, `Internal` where counts disagree in the end.
pub async fn copy(
    from: &Place,
    to: &Place,
    heard: &dyn Fn(&RunId, usize, usize),
) -> Result<Copied> {
    if from == to {
        return Err(Error::new(Kind::Usage, "both are the same store").hint("name two stores"));
    }
    if let Place::Dir(dir) = from
        && !crate::adapters::store::database(dir).exists()
    {
        let what = format!("there is no store in {}", dir.display());
        return Err(Error::new(Kind::NotFound, what).hint("name a data directory with an ibid.db"));
    }
    let (source, target) = (from.open().await?, to.open().await?);
    let mut copied = Copied::default();
    people(&*source.accounts, &*target.accounts, &mut copied).await?;
    // Oldest first, so that they stand in the same order there.
    let mut rows = source.store.runs().await?;
    rows.reverse();
    let of = rows.len();
    for (row, nth) in rows.iter().zip(1..) {
        let run = &row.run_id;
        let sent = Contents::of(&*source.store, run).await?;
        if Contents::of(&*target.store, run).await? == sent {
            copied.there += 1;
            continue;
        }
        heard(run, nth, of);
        let _hold = held(&*source.locks, row).await?;
        run_to(&source, &target, run).await?;
        copied.runs += 1;
        // Of a run that goes on, what was counted before it was held may be too little.
        let sent = Contents::of(&*source.store, run).await?;
        if Contents::of(&*target.store, run).await? != sent {
            let what = format!(
                "run {run} is not in {} as it was sent",
                target.store.place()
            );
            return Err(Error::new(Kind::Internal, what).hint("copy again; what is whole stays"));
        }
    }
    let told = target.store.runs().await?;
    let missing = |it: &&RunRow| it.status.ended() && !told.contains(*it);
    if let Some(row) = rows.iter().find(missing) {
        let what = format!(
            "run {} does not read in {} as it did",
            row.run_id,
            target.store.place()
        );
        return Err(
            Error::new(Kind::Internal, what).hint("report this with the output of `ibid doctor`")
        );
    }
    traces(&source, &target).await?;
    Ok(copied)
}

/// Takes a run that has not ended, so that nobody goes on with it meanwhile.
async fn held(locks: &dyn Locks, row: &RunRow) -> Result<Option<Box<dyn Hold>>> {
    if row.status.ended() {
        return Ok(None);
    }
    match locks.take(&row.run_id).await? {
        Some(hold) => Ok(Some(hold)),
        None => {
            let what = format!("run {} is being worked on", row.run_id);
            Err(Error::new(Kind::Transient, what)
                .hint("wait for its end or stop who works on it, then copy again"))
        }
    }
}

/// All there is of a run, to be held against what is there elsewhere.
#[derive(PartialEq)]
struct Contents {
    events: usize,
    steps: Vec<Step>,
    held: Vec<PageHash>,
    orders: usize,
    hosts: usize,
}

impl Contents {
    async fn of(store: &dyn Store, run: &RunId) -> Result<Contents> {
        let events = match store.events(run, 0).await {
            Ok(it) => it.len(),
            Err(it) if it.kind() == Kind::NotFound => 0,
            Err(it) => return Err(it),
        };
        Ok(Contents {
            events,
            steps: store.steps(run).await?,
            held: store.held(run).await?,
            orders: store.orders(run).await?.len(),
            hosts: store.traffic(run).await?.len(),
        })
    }
}

async fn run_to(source: &Opened, target: &Opened, run: &RunId) -> Result<()> {
    let (from, to) = (&*source.store, &*target.store);
    match to.remove(run).await {
        Err(it) if it.kind() != Kind::NotFound => return Err(it),
        _ => {}
    }
    for batch in from.events(run, 0).await?.chunks(BATCH) {
        to.append(run, batch).await?;
    }
    for step in from.steps(run).await? {
        let asked = Step {
            state: StepState::Intended,
            ..step.clone()
        };
        to.intend(run, &asked).await?;
        if step.state != StepState::Intended {
            to.settle(run, &step.key, &step.state).await?;
        }
    }
    for hash in from.held(run).await? {
        let page = from.page(&hash).await?.ok_or_else(|| {
            let what = format!("page {hash} of run {run} is not in {}", from.place());
            Error::new(Kind::Internal, what).hint("look for damage with `ibid doctor`")
        })?;
        to.keep_page(run, &page).await?;
    }
    for order in from.orders(run).await? {
        to.order(run, order).await?;
    }
    to.note_traffic(run, &from.traffic(run).await?).await
}

/// Copies what other tools than runs were asked.
async fn traces(source: &Opened, target: &Opened) -> Result<()> {
    let users = source.accounts.users().await?;
    let nobody = std::iter::once("");
    for user in nobody.chain(users.iter().map(|it| it.id.as_str())) {
        let there = target.store.traces(user, None).await?;
        for trace in source.store.traces(user, None).await? {
            if !there.iter().any(|it| it.id == trace.id) {
                target.store.create_trace(&trace).await?;
            }
        }
    }
    Ok(())
}

async fn people(from: &dyn Accounts, to: &dyn Accounts, copied: &mut Copied) -> Result<()> {
    let there = to.orgs().await?;
    for org in from.orgs().await? {
        if !there.iter().any(|it| it.id == org.id) {
            to.add_org(&org).await?;
            copied.orgs += 1;
        }
    }
    let there = to.users().await?;
    for user in from.users().await? {
        if !there.iter().any(|it| it.id == user.id) {
            to.add_user(&user).await?;
            copied.users += 1;
        }
    }
    let there = to.tokens().await?;
    for token in from.tokens().await? {
        if !there.contains(&token) {
            to.add_token(&token).await?;
            copied.tokens += 1;
        }
    }
    // It only grows, so what is there already is the beginning of it.
    let there = to.audited(u32::MAX).await?;
    let mut lines = from.audited(u32::MAX).await?;
    lines.reverse();
    for line in lines.iter().filter(|it| !there.contains(it)) {
        to.audit(line).await?;
        copied.audited += 1;
    }
    Ok(())
}
