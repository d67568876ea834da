//! What every page handler uses: the visitor, the page as a response, forms, redirects.
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::extract::rejection::BytesRejection;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::http::api_error::{ApiError, ApiResult};
use crate::http::auth::AuthMethod;
use crate::http::state::ServerState;
use crate::request_service::{Caller, CallerService};
use crate::view::{CONTENT_SECURITY_POLICY, PageLayout};

/// A page as a response.
pub(super) struct HtmlPage(pub(super) String);

impl IntoResponse for HtmlPage {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
            // Forms must send their origin to this server, and nothing to other sites.
            (header::REFERRER_POLICY, "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// The user of a page.
pub(super) struct Visitor {
    pub(super) server: Arc<ServerState>,
    pub(super) service: CallerService,
    pub(super) auth_method: AuthMethod,
}

impl FromRequestParts<Arc<ServerState>> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<ServerState>,
    ) -> Result<Visitor, ApiError> {
        let service = parts.extensions.get::<CallerService>().cloned();
        let auth_method = parts.extensions.get::<AuthMethod>().copied();
        match (service, auth_method) {
            (Some(service), Some(auth_method)) => {
                Ok(Visitor { server: Arc::clone(server), service, auth_method })
            }
            _ => Err(ApiError::not_found("page")),
        }
    }
}

impl Visitor {
    /// The frame of a page with this title.
    pub(super) fn shell(&self, title: impl Into<String>) -> PageLayout {
        shell(self.service.caller(), self.auth_method, title)
    }
}

/// The frame of a page for this caller.
pub(super) fn shell(
    caller: &Caller,
    auth_method: AuthMethod,
    title: impl Into<String>,
) -> PageLayout {
    PageLayout {
        signed_in: auth_method != AuthMethod::Anonymous,
        operator: auth_method != AuthMethod::Anonymous && caller.is_operator(),
        user_name: (auth_method == AuthMethod::Session).then(|| caller.name().to_owned()),
        ..PageLayout::new(title)
    }
}

/// Redirects the browser to `location` with GET.
pub(super) fn redirect(location: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(location) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// The fields of a submitted form, in order.
pub(super) struct FormFields(Vec<(String, String)>);

impl FormFields {
    /// Parses the body of a form.
    ///
    /// # Errors
    /// If the body is too large or incomplete.
    pub(super) fn parse(bytes: Result<Bytes, BytesRejection>) -> ApiResult<FormFields> {
        let bytes = bytes
            .map_err(|error| ApiError::new(error.status(), "too_large", "the form is too large"))?;
        Ok(FormFields::from_bytes(&bytes))
    }

    /// Parses a query.
    pub(super) fn from_query(query: Option<String>) -> FormFields {
        FormFields::from_bytes(query.unwrap_or_default().as_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> FormFields {
        FormFields(url::form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// Name and value of each field.
    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The values of every field `name`.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(field, _)| field == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The trimmed value of the first field `name`; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.all(name).next().map_or("", str::trim)
    }
}
