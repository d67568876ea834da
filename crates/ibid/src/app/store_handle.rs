//! The store of the settings: a SQLite file on this machine, or a PostgreSQL server that several machines share.
use std::sync::Arc;

use super::page_bodies;
use crate::config::Settings;
use ibid_core::Result;
use ibid_core::ports::{
    Accounts, BrowserSessions, CallPlaces, RunLocks, RunWakeups, ServiceTurns, Store,
};
use ibid_store::store::{
    FileLocks, PostgresCallPlaces, PostgresServiceTurns, PostgresStore, SqliteStore,
};

/// An open store, with its run locks and its accounts.
pub(super) struct StoreHandle {
    pub(super) store: Arc<dyn Store>,
    pub(super) locks: Arc<dyn RunLocks>,
    pub(super) accounts: Arc<dyn Accounts>,
    pub(super) sessions: Arc<dyn BrowserSessions>,
    /// The places of calls, where several processes on several machines share the store.
    pub(super) call_places: Option<Arc<dyn CallPlaces>>,
    /// The turns at services, likewise.
    pub(super) service_turns: Option<Arc<dyn ServiceTurns>>,
    /// The changes of runs, where other processes tell of them.
    pub(super) wakeups: Option<Arc<dyn RunWakeups>>,
}

impl StoreHandle {
    /// Opens the store that `settings` name, and creates it where there is none.
    pub(super) async fn open(settings: &Settings) -> Result<StoreHandle> {
        let bodies = page_bodies::open(&settings.pages_url, settings)?;
        match &settings.store_url {
            Some(url) => {
                let store = match &settings.store_pooler_url {
                    Some(pooler) => {
                        PostgresStore::open_pooled(url.expose(), pooler.expose()).await?
                    }
                    None => PostgresStore::open(url.expose()).await?,
                };
                let store = Arc::new(store.with_page_bodies(bodies).await?);
                let locks = store.locks();
                Ok(StoreHandle {
                    call_places: Some(Arc::new(PostgresCallPlaces::new(&locks))),
                    service_turns: Some(Arc::new(PostgresServiceTurns::new(&locks))),
                    wakeups: Some(store.wakeups()),
                    locks: Arc::new(locks),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    sessions: Arc::clone(&store) as Arc<dyn BrowserSessions>,
                    store,
                })
            }
            None => {
                let store = SqliteStore::open(&settings.data_dir).await?;
                let store = Arc::new(store.with_page_bodies(bodies).await?);
                Ok(StoreHandle {
                    locks: Arc::new(FileLocks::new(&settings.data_dir)),
                    accounts: Arc::clone(&store) as Arc<dyn Accounts>,
                    sessions: Arc::clone(&store) as Arc<dyn BrowserSessions>,
                    store,
                    call_places: None,
                    service_turns: None,
                    wakeups: None,
                })
            }
        }
    }
}
