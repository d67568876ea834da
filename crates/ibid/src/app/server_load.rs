//! What a server's metrics tell besides what runs have done.
use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::timeout;

use super::App;
use ibid_core::{Error, ErrorKind, Result};

/// How long the store may take to count.
const COUNT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a server and its fleet have to do now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLoad {
    /// The runs of the store that wait for their first turn, by organisation, most first; without a name those of users without one.
    pub waiting: Vec<(Option<String>, usize)>,
    /// The calls of this process to models that are in flight, by the name of their key.
    pub model_calls: BTreeMap<String, usize>,
    /// The runs that this process has taken over since it started.
    pub takeovers: u64,
}

impl App {
    /// What this server and its fleet have to do now.
    ///
    /// # Errors
    /// When the store cannot be read in time.
    pub async fn server_load(&self) -> Result<ServerLoad> {
        let counted = async {
            let waiting = self.accounts().await?.waiting_runs_by_org().await?;
            let takeovers = self.locks().await?.takeovers();
            let model_calls = self.components.models.limiters.in_flight();
            Ok(ServerLoad { waiting, model_calls, takeovers })
        };
        timeout(COUNT_TIMEOUT, counted).await.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Transient, "the store did not count waiting runs in time")
                .with_hint("check that the database is up"))
        })
    }
}
