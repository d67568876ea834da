//! Where runs are kept, opened when first needed: a file of this machine, or a server that many machines share.
use std::collections::BTreeSet;
use std::sync::Arc;

use super::App;
use crate::adapters::store::{FileLocks, PostgresStore, SqliteStore, database};
use crate::domain::{Page, PageHash, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::Envelope;
use crate::seams::{Accounts, Hold, Locks, Log, Store};

/// What is kept, and who works on it.
pub(super) struct Kept {
    store: Arc<dyn Store>,
    locks: Arc<dyn Locks>,
    accounts: Arc<dyn Accounts>,
}

impl App {
    /// Looks for damage in the store: where it is, or `None` where there is no store yet.
    ///
    /// # Errors
    /// `Setup` with what is damaged or cannot be opened, `Transient` where a server is away.
    pub async fn check_store(&self) -> Result<Option<String>> {
        let Some(store) = self.store_if_any().await? else {
            return Ok(None);
        };
        store.check().await?;
        Ok(Some(store.place()))
    }

    pub(super) fn log(&self, run: &RunId, store: &Arc<dyn Store>, past: &[Envelope]) -> Arc<Log> {
        let clock = Arc::clone(&self.parts.clock);
        Arc::new(Log::resume(run.clone(), Arc::clone(store), clock, past))
    }

    async fn kept(&self) -> Result<&Kept> {
        let settings = &self.settings;
        let open = async || match &settings.store_url {
            Some(url) => {
                let store = Arc::new(PostgresStore::open(url.expose()).await?);
                Ok(Kept {
                    locks: Arc::new(store.locks()),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    store,
                })
            }
            None => {
                let store = Arc::new(SqliteStore::open(&settings.data_dir).await?);
                Ok(Kept {
                    locks: Arc::new(FileLocks::of(&settings.data_dir)),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    store,
                })
            }
        };
        self.kept.get_or_try_init(open).await
    }

    /// The store as the owner of this app may see it, made where there is none.
    pub(super) async fn store(&self) -> Result<Arc<dyn Store>> {
        let store = &self.kept().await?.store;
        Ok(match &self.owner {
            Some(owner) => store.as_owner(owner),
            None => Arc::clone(store),
        })
    }

    /// The store, if there is one: looking must not make it.
    pub(super) async fn store_if_any(&self) -> Result<Option<Arc<dyn Store>>> {
        let settings = &self.settings;
        let there = self.kept.initialized()
            || settings.store_url.is_some()
            || database(&settings.data_dir).exists();
        match there {
            true => self.store().await.map(Some),
            false => Ok(None),
        }
    }

    /// The store that holds `run`, if any.
    pub(super) async fn known(&self, run: &RunId) -> Result<Arc<dyn Store>> {
        self.store_if_any().await?.ok_or_else(|| {
            Error::new(Kind::NotFound, format!("there is no run {run}"))
                .hint("see `ibid ls` for the ids of your runs")
        })
    }

    /// The pages that `run` has read, by hash.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn pages_held(&self, run: &RunId) -> Result<BTreeSet<PageHash>> {
        let held = self.known(run).await?.held(run).await?;
        Ok(held.into_iter().collect())
    }

    /// The stored page with this hash, if `run` has read it.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn page_of(&self, run: &RunId, hash: &PageHash) -> Result<Option<Page>> {
        match self.pages_held(run).await?.contains(hash) {
            true => self.page(hash).await,
            false => Ok(None),
        }
    }

    pub(super) async fn locks(&self) -> Result<Arc<dyn Locks>> {
        Ok(Arc::clone(&self.kept().await?.locks))
    }

    pub(super) async fn accounts(&self) -> Result<Arc<dyn Accounts>> {
        Ok(Arc::clone(&self.kept().await?.accounts))
    }

    /// `store` for the holder of `run`: what it writes after it has lost the run is refused.
    pub(super) fn held(store: Arc<dyn Store>, run: &RunId, lock: &dyn Hold) -> Arc<dyn Store> {
        let fenced = lock.epoch().and_then(|it| store.fenced(run, it));
        fenced.unwrap_or(store)
    }

    /// Takes `run`, or says that it is worked on already.
    pub(super) async fn need(&self, run: &RunId) -> Result<Box<dyn Hold>> {
        self.locks().await?.take(run).await?.ok_or_else(|| {
            Error::new(
                Kind::Transient,
                format!("run {run} is being worked on by another process"),
            )
            .hint(format!(
                "wait for its end, or let it write now with `ibid finish {run}`"
            ))
        })
    }
}
