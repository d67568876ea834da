//! What a request says in its path and query, refused in the one form of all refusals.
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::fault::Fault;

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
