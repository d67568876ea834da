//! What a request says in its path and query, refused in the one form of all refusals.
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, Query, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::Server;
use super::fault::{Answer, Fault};
use crate::domain::{Report, RunId};
use crate::error::Kind;
use crate::record::Run;
use crate::seams::Order;
use crate::surfaces::desk::{CallerRun, CallerService};

/// The parameters after the `?`.
pub(super) struct Params<T>(pub(super) T);

/// The names in the path.
pub(super) struct Place<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Params<T>, Fault> {
        let found = Query::<T>::try_from_uri(&parts.uri);
        found.map(|it| Params(it.0)).map_err(|_| {
            Fault::new(
                StatusCode::BAD_REQUEST,
                "invalid_value",
                "the parameters after the ? cannot be read",
            )
            .hint("give each of them once")
        })
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Place<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Place<T>, Fault> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        // A name that is no text is the name of nothing.
        found
            .map(|it| Place(it.0))
            .map_err(|_| Fault::missing("page"))
    }
}

/// The run that the path names, which is the caller's: a handler that takes one cannot forget to ask whose it is.
pub(super) struct Mine {
    pub(super) server: Arc<Server>,
    pub(super) run: CallerRun,
}

impl FromRequestParts<Arc<Server>> for Mine {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Mine, Fault> {
        let service = parts.extensions.get::<CallerService>().cloned();
        let names = RawPathParams::from_request_parts(parts, server).await;
        let names = names.map_err(|_| Fault::missing("run"))?;
        let id = names
            .iter()
            .find(|it| it.0 == "id")
            .map(|it| it.1.to_owned());
        match (service, id) {
            (Some(service), Some(id)) => Mine::named(server, &service, &id).await,
            _ => Err(Fault::missing("run")),
        }
    }
}

impl Mine {
    /// The run of this id, if it is the caller's. What is not there and what is somebody else's are told alike.
    pub(super) async fn named(
        server: &Arc<Server>,
        service: &CallerService,
        id: &str,
    ) -> Answer<Mine> {
        let run = match service.run(id).await {
            Err(fault) if fault.kind() == Kind::NotFound => return Err(Fault::missing("run")),
            run => run?,
        };
        Ok(Mine {
            server: Arc::clone(server),
            run,
        })
    }

    /// Its id.
    pub(super) fn id(&self) -> &RunId {
        self.run.id()
    }

    /// Whether it had ended when it was looked up.
    pub(super) fn has_ended(&self) -> bool {
        self.run.row().status.ended()
    }

    /// The run as its events tell it.
    pub(super) async fn run(&self) -> Answer<Run> {
        Ok(self.run.run().await?)
    }

    /// The run with its report.
    pub(super) async fn report(&self) -> Answer<(Run, Report)> {
        let run = self.run().await?;
        let none = Fault::missing("report");
        match run.report.clone() {
            Some(report) => Ok((run, *report)),
            None if self.has_ended() => Err(none.hint("the run ended without one")),
            None => Err(none.hint("the run has not written it yet")),
        }
    }

    /// Refuses what is only for ended runs.
    pub(super) fn ended(&self) -> Answer<()> {
        match self.has_ended() {
            true => Ok(()),
            false => Err(Fault::new(
                StatusCode::CONFLICT,
                "not_ended",
                "the run has not ended; wait for its end, or cancel it",
            )),
        }
    }

    /// Deletes the run, which must have ended.
    pub(super) async fn remove(&self) -> Answer<()> {
        self.ended()?;
        Ok(self.run.remove().await?)
    }

    /// Leaves an order for the run, which must not have ended.
    pub(super) async fn order(&self, order: Order) -> Answer<()> {
        let over = || {
            let what = "the run has ended already";
            Fault::new(StatusCode::CONFLICT, "ended", what)
        };
        if self.has_ended() {
            return Err(over());
        }
        match self.run.order(order).await {
            Ok(()) => Ok(()),
            // It ended since it was looked up.
            Err(_) if self.run.has_ended().await? => Err(over()),
            Err(fault) => Err(fault.into()),
        }
    }
}
