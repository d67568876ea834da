//! What each engine implements.
use async_trait::async_trait;

use ibid_core::Result;
use ibid_core::domain::{Hits, Query};
use ibid_net::service::ServiceClient;

/// The API of an engine: the calls that answer a query.
#[async_trait]
pub(super) trait EngineApi: Send + Sync {
    /// Headers for every request, besides those for all engines.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns hits for `query`, best first. The text of the query is not longer than the engine accepts.
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits>;
}

/// The settings of an engine.
#[derive(Debug, Clone, Default)]
pub struct EngineConfig {
    /// The key.
    pub key: Option<String>,
    /// The address, if it differs from that of the engine's [`EngineInfo`](super::EngineInfo).
    pub base_url: Option<String>,
    /// An e-mail address of the operator, sent to services that ask for one.
    pub contact: Option<String>,
}
