//! Extractors of the path, the query and the caller's run. Their errors have the form of every API error.
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, Query, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::api_error::{ApiError, ApiResult};
use super::state::ServerState;
use crate::request_service::{CallerRun, CallerService};
use ibid_core::ErrorKind;
use ibid_core::domain::{Report, RunId};
use ibid_core::ports::RunCommand;
use ibid_core::record::Run;

/// The query parameters.
pub(super) struct QueryParams<T>(pub(super) T);

/// The path parameters.
pub(super) struct PathParams<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<QueryParams<T>, ApiError> {
        let found = Query::<T>::try_from_uri(&parts.uri);
        found.map(|pair| QueryParams(pair.0)).map_err(|_| {
            ApiError::new(StatusCode::BAD_REQUEST, "invalid_value", "invalid query parameters")
                .with_hint("give each parameter once")
        })
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParams<T>, ApiError> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        // A parameter that is not UTF-8 names nothing.
        found.map(|pair| PathParams(pair.0)).map_err(|_| ApiError::not_found("page"))
    }
}

/// The run that the path names, checked to be the caller's. A handler that takes it cannot forget the check.
pub(super) struct OwnedRun {
    pub(super) server: Arc<ServerState>,
    pub(super) run: CallerRun,
}

impl FromRequestParts<Arc<ServerState>> for OwnedRun {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<ServerState>,
    ) -> Result<OwnedRun, ApiError> {
        let service = parts.extensions.get::<CallerService>().cloned();
        let names = RawPathParams::from_request_parts(parts, server).await;
        let names = names.map_err(|_| ApiError::not_found("run"))?;
        let id = names.iter().find(|name| name.0 == "id").map(|name| name.1.to_owned());
        match (service, id) {
            (Some(service), Some(id)) => OwnedRun::lookup(server, &service, &id).await,
            _ => Err(ApiError::not_found("run")),
        }
    }
}

impl OwnedRun {
    /// Looks up the caller's run `id`.
    ///
    /// # Errors
    /// 404 for an unknown run and for a run of another caller alike.
    pub(super) async fn lookup(
        server: &Arc<ServerState>,
        service: &CallerService,
        id: &str,
    ) -> ApiResult<OwnedRun> {
        let run = match service.run(id).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => {
                return Err(ApiError::not_found("run"));
            }
            run => run?,
        };
        Ok(OwnedRun { server: Arc::clone(server), run })
    }

    /// Its id.
    pub(super) fn id(&self) -> &RunId {
        self.run.id()
    }

    /// Whether it had ended at the lookup.
    pub(super) fn has_ended(&self) -> bool {
        self.run.row().status.ended()
    }

    /// The run, folded from its events.
    pub(super) async fn run(&self) -> ApiResult<Run> {
        Ok(self.run.run().await?)
    }

    /// The run with its report.
    ///
    /// # Errors
    /// 404 if it has no report.
    pub(super) async fn report(&self) -> ApiResult<(Run, Report)> {
        let run = self.run().await?;
        let missing = ApiError::not_found("report");
        match run.report.clone() {
            Some(report) => Ok((run, *report)),
            None if self.has_ended() => Err(missing.with_hint("the run ended without one")),
            None => Err(missing.with_hint("the run has not written it yet")),
        }
    }

    /// Checks that the run has ended.
    ///
    /// # Errors
    /// 409 if it has not.
    pub(super) fn require_ended(&self) -> ApiResult<()> {
        if self.has_ended() {
            return Ok(());
        }
        let what = "the run has not ended; wait for its end, or cancel it";
        Err(ApiError::new(StatusCode::CONFLICT, "not_ended", what))
    }

    /// Deletes the run, which must have ended.
    pub(super) async fn remove(&self) -> ApiResult<()> {
        self.require_ended()?;
        Ok(self.run.remove().await?)
    }

    /// Sends a command to the run.
    ///
    /// # Errors
    /// 409 if it has ended.
    pub(super) async fn send_command(&self, command: RunCommand) -> ApiResult<()> {
        let over = || {
            let what = "the run has ended already";
            ApiError::new(StatusCode::CONFLICT, "ended", what)
        };
        if self.has_ended() {
            return Err(over());
        }
        match self.run.send_command(command).await {
            Ok(()) => Ok(()),
            // It ended after the lookup.
            Err(_) if self.run.has_ended().await? => Err(over()),
            Err(fault) => Err(fault.into()),
        }
    }
}
