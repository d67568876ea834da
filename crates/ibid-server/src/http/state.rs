//! What handlers share.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::watch;

use super::access_policy::{AccessPolicy, hash_token};
use super::api_error::{ApiError, ApiResult};
use super::auth_throttle::AuthThrottle;
use super::connection_limits::Peer;
use super::metrics::ServerMetrics;
use super::open_requests::OpenRequests;
use super::sessions;
use super::viewer::run_stats::RunStatsCache;
use crate::request_service::{Caller, OperatorService, RequestService};

/// How long that check may take.
const USERS_TIMEOUT: Duration = Duration::from_millis(300);

/// How often a server with open access checks whether users were added, in milliseconds.
const USERS_CHECK_MS: u64 = 500;

/// The state that handlers share.
pub(crate) struct ServerState {
    pub(super) requests: Arc<RequestService>,
    /// Service for requests without a caller: readiness, metrics, webhooks.
    pub(super) operator: OperatorService,
    pub(super) access: AccessPolicy,
    pub(super) metrics: Arc<ServerMetrics>,
    /// Failed attempts with unknown tokens, by address.
    pub(super) auth_throttle: AuthThrottle,
    /// The open requests of each user.
    pub(super) open_requests: Arc<OpenRequests>,
    /// Whether users were added after a start without any.
    pub(super) users_added: AtomicBool,
    /// When that was checked last, milliseconds since 1970.
    pub(super) users_checked: AtomicU64,
    /// Figures of ended runs that are not in their rows.
    pub(super) run_stats: RunStatsCache,
    /// Becomes true when the server stops. Streams then end, so that clients reconnect elsewhere.
    pub(super) stopping: watch::Receiver<bool>,
    /// Largest request body, in bytes.
    pub(super) max_body_bytes: usize,
    /// How long a request body may take to arrive.
    pub(super) body_timeout: Duration,
}

impl ServerState {
    /// Whether every request is treated as the operator's. Ends once users were added.
    pub(super) async fn is_open_access(&self) -> ApiResult<bool> {
        if !self.access.open || self.users_added.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let now = self.operator.app().now_ms();
        if now.saturating_sub(self.users_checked.load(Ordering::Relaxed)) >= USERS_CHECK_MS {
            self.users_checked.store(now, Ordering::Relaxed);
            // A store that does not answer cannot leak anything, and health checks must not wait for it.
            let users = tokio::time::timeout(USERS_TIMEOUT, self.operator.app().users()).await;
            let Ok(Ok(users)) = users else {
                return Ok(true);
            };
            let known = !users.is_empty();
            self.users_added.store(known, Ordering::Relaxed);
            return Ok(!known);
        }
        Ok(true)
    }

    /// The caller with this token. `None` without a token, unless access is open.
    ///
    /// # Errors
    /// 401 for an unknown token; store errors.
    pub(super) async fn caller_for_token(&self, token: Option<&str>) -> ApiResult<Option<Caller>> {
        // Clients of OpenAI's API always send a token. With open access, any token will do.
        if self.is_open_access().await? {
            return Ok(Some(Caller::operator()));
        }
        let Some(token) = token else {
            return Ok(None);
        };
        if self.access.token == Some(hash_token(token)) {
            return Ok(Some(Caller::operator()));
        }
        let caller = self.requests.authenticate(token).await?;
        caller
            .map(Some)
            .ok_or_else(|| ApiError::new(StatusCode::UNAUTHORIZED, "bad_token", "unknown token"))
    }

    /// Counts an unknown token from `peer`. Returns `fault`, or after too many failures the error that asks the client to wait.
    pub(super) fn record_bad_token(&self, peer: Option<&Arc<Peer>>, fault: ApiError) -> ApiError {
        let Some(address) = peer.map(|peer| peer.address()) else {
            return fault;
        };
        let admitted = self.auth_throttle.check(address);
        self.auth_throttle.record_failure(address);
        admitted.err().unwrap_or(fault)
    }

    /// The caller of this session, if the token behind it is still valid.
    pub(super) async fn caller_for_session(&self, session: &str) -> ApiResult<Option<Caller>> {
        let (known, now) = self.requests.browser_sessions().await?;
        match sessions::token_hash(&*known, session, now).await? {
            None => Ok(None),
            Some(hash) if self.access.token.map(hex::encode).as_ref() == Some(&hash) => {
                Ok(Some(Caller::operator()))
            }
            Some(hash) => Ok(self.requests.authenticate_hash(&hash).await?),
        }
    }
}
