//! Pages for browsers over the same runs as the API. What is shown comes from events, reports and steps alone; what is sent
//! goes through the same gate.
mod act;
mod back;
mod look;
mod many;
mod session;
mod sharing;
mod sign;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::Server;
use super::fault::{Answer, Fault, Told};
use super::gate::Came;
use crate::domain::RunId;
use crate::surfaces::desk::{Caller, CallerService};
use crate::surfaces::export::html::STYLE;
use crate::surfaces::view::runs::Glance;
use crate::surfaces::view::small::FaultPage;
use crate::surfaces::view::{ICON, POLICY, SCRIPT, Shell, page};

pub(super) use session::{Holder, Sessions};

/// What is known of ended runs beside their rows, so that a list need not read them again.
pub(super) type Glances = Mutex<BTreeMap<RunId, Glance>>;

/// Every page. `openapi.json` names each.
pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/", get(look::runs))
        .route("/new", get(act::new).post(act::ask))
        .route("/r/{id}", get(look::live))
        .route("/r/{id}/live", get(look::state))
        .route("/r/{id}/report", get(look::report))
        .route("/r/{id}/quote/{k}", get(look::quote))
        .route("/r/{id}/evidence", get(look::evidence))
        .route("/r/{id}/sources", get(look::sources))
        .route("/r/{id}/timeline", get(look::timeline))
        .route("/r/{id}/trace", get(look::trace))
        .route("/r/{id}/trace/{n}", get(look::step))
        .route("/r/{id}/finish", post(act::finish))
        .route("/r/{id}/cancel", post(act::cancel))
        .route("/r/{id}/steer", post(act::steer))
        .route("/r/{id}/approve", post(act::approve))
        .route("/r/{id}/answers", post(act::answers))
        .route("/r/{id}/rate", post(act::rate))
        .route("/r/{id}/follow", post(act::follow))
        .route("/r/{id}/share", get(sharing::shown).post(sharing::make))
        .route("/r/{id}/unshare", post(sharing::end))
        .route("/runs/export", get(many::export))
        .route("/runs/delete", get(many::sure).post(many::delete))
        .route("/s/{token}", get(super::share::open))
        .route("/diff/{a}/{b}", get(back::diff))
        .route("/costs", get(back::costs))
        .route("/doctor", get(back::doctor).post(back::doctor_outside))
        .route("/login", get(sign::form).post(sign::sign_in))
        .route("/logout", post(sign::out))
        .route("/assets/style.css", get(style))
        .route("/assets/script.js", get(script))
        .route("/assets/icon.svg", get(icon))
        .route("/favicon.ico", get(icon))
}

/// Whether a path is one of a page, and not of the API.
pub(super) fn is_page(path: &str) -> bool {
    let first = path
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    [
        "", "new", "r", "runs", "diff", "costs", "doctor", "login", "logout",
    ]
    .contains(&first)
}

/// A page as it is sent.
pub(super) struct Html(pub(super) String);

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            // Forms of these pages must say where they come from, and nobody else shall hear it.
            (header::REFERRER_POLICY, "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Who looks, and at what.
pub(super) struct Visitor {
    pub(super) server: Arc<Server>,
    pub(super) service: CallerService,
    pub(super) came: Came,
}

impl FromRequestParts<Arc<Server>> for Visitor {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Visitor, Fault> {
        let service = parts.extensions.get::<CallerService>().cloned();
        let came = parts.extensions.get::<Came>().copied();
        match (service, came) {
            (Some(service), Some(came)) => Ok(Visitor {
                server: Arc::clone(server),
                service,
                came,
            }),
            _ => Err(Fault::missing("page")),
        }
    }
}

impl Visitor {
    /// What surrounds a page of this title.
    pub(super) fn shell(&self, title: impl Into<String>) -> Shell {
        shell(self.service.caller(), self.came, title)
    }
}

fn shell(caller: &Caller, came: Came, title: impl Into<String>) -> Shell {
    Shell {
        inside: came != Came::Nobody,
        operator: came != Came::Nobody && caller.is_operator(),
        who: (came == Came::Session).then(|| caller.name().to_owned()),
        ..Shell::new(title)
    }
}

/// Shows a browser a refusal as a page, and where to sign in; everybody else is told as ever.
pub(super) async fn dressed(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let whole = request
        .uri()
        .path_and_query()
        .map_or_else(|| path.clone(), ToString::to_string);
    let looks = *request.method() == Method::GET;
    let shown = wants_page(request.headers()) && !is_api(&path);
    let response = next.run(request).await;
    if !shown {
        return response;
    }
    let Some(told) = response.extensions().get::<Told>().cloned() else {
        return response;
    };
    let (mut head, _) = response.into_parts();
    let answer = match head.status == StatusCode::UNAUTHORIZED && looks {
        true => to(&sign::place(&whole)),
        false => {
            let caller = head
                .extensions
                .get::<Caller>()
                .cloned()
                .unwrap_or_else(Caller::nobody);
            let came = head
                .extensions
                .get::<Came>()
                .copied()
                .unwrap_or(Came::Nobody);
            let shell = shell(&caller, came, "");
            let made = page(&FaultPage::of(
                shell,
                head.status.as_u16(),
                &told.message,
                told.hint,
            ));
            match made {
                Ok(text) => (head.status, Html(text)).into_response(),
                Err(_) => head.status.into_response(),
            }
        }
    };
    let (fresh, body) = answer.into_parts();
    head.status = fresh.status;
    head.headers.remove(header::CONTENT_LENGTH);
    for (name, value) in &fresh.headers {
        head.headers.insert(name, value.clone());
    }
    Response::from_parts(head, body)
}

/// Whether who asks would rather see a page than JSON: browsers say so.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|it| it.contains("text/html"))
}

/// Whether a path is one that programs ask.
fn is_api(path: &str) -> bool {
    [
        "/v1/",
        "/mcp",
        "/metrics",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/llms.txt",
    ]
    .iter()
    .any(|it| path.starts_with(it))
}

/// Sends a browser on, with a look at what is there now.
pub(super) fn to(place: &str) -> Response {
    let Ok(place) = HeaderValue::from_str(place) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

/// The fields of a form that was sent, in order.
pub(super) fn fields(bytes: Result<Bytes, BytesRejection>) -> Answer<Vec<(String, String)>> {
    let bytes =
        bytes.map_err(|it| Fault::new(it.status(), "too_large", "what was sent is too long"))?;
    Ok(url::form_urlencoded::parse(&bytes).into_owned().collect())
}

/// What of an ended run does not stand in its row, read once.
pub(super) fn remembered(server: &Server, run: &RunId) -> Option<Glance> {
    server
        .glances
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(run)
        .cloned()
}

/// Ended runs that are remembered at most.
const GLANCES: usize = 4_096;

pub(super) fn remember(server: &Server, run: RunId, glance: Glance) {
    let mut all = server
        .glances
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if all.len() >= GLANCES {
        all.pop_first();
    }
    all.insert(run, glance);
}

/// Something that changes only with the program: it is asked for by its stamp.
fn asset(kind: &'static str, text: &'static str) -> Response {
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        ],
        text,
    )
        .into_response()
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

async fn icon() -> Response {
    asset("image/svg+xml", ICON)
}
