//! What the operator hears: one JSON object a line, without what anybody asked or sent.
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::{Map, Value};

use super::Server;
use super::fault::Within;
use crate::surfaces::desk::Caller;

/// Where log lines go.
#[derive(Clone)]
pub struct Telling {
    line: Arc<dyn Fn(&str) + Send + Sync>,
    /// Whether answers that went well are told, too.
    all: bool,
}

impl Telling {
    /// Tells every refusal and fault, and with `all` every answer, as a line of JSON to `line`.
    pub fn new(all: bool, line: impl Fn(&str) + Send + Sync + 'static) -> Telling {
        Telling {
            line: Arc::new(line),
            all,
        }
    }

    /// Tells that something happened.
    pub fn note(&self, what: &str, fields: &[(&str, Value)]) {
        let mut it = Map::new();
        let now = jiff::Timestamp::now();
        let ts = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        it.insert("ts".to_owned(), ts.into());
        it.insert("event".to_owned(), what.into());
        for (name, value) in fields {
            it.insert((*name).to_owned(), value.clone());
        }
        (self.line)(&Value::Object(it).to_string());
    }
}

/// Tells of each answer: route, status, time and whose it was. Never the path itself or a header: those may hold secrets.
pub(super) async fn told(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = request.method().to_string();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none".to_owned(), |it| it.as_str().to_owned());
    let mut response = next.run(request).await;
    let status = response.status();
    let within = response
        .extensions_mut()
        .remove::<Within>()
        .and_then(|it| it.0);
    let caller = response
        .extensions()
        .get::<Caller>()
        .map(|it| it.name.clone());
    let took = began.elapsed();
    server
        .metrics
        .request(&route, &method, status.as_u16(), took.as_secs_f64());
    if server.telling.all || status.is_client_error() || status.is_server_error() {
        let ms = took.as_millis() as u64;
        server.telling.note(
            "request",
            &[
                ("method", method.into()),
                ("route", route.into()),
                ("status", status.as_u16().into()),
                ("ms", ms.into()),
                ("caller", caller.into()),
                ("why", within.into()),
            ],
        );
    }
    response
}
