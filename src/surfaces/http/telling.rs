//! What the operator hears: one JSON object a line, without what anybody asked or sent.
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};

use super::Server;
use super::fault::Within;
use super::openai::{self, Hook};
use crate::app::App;
use crate::domain::RunId;
use crate::error::Result;
use crate::seams::{KeyOwner, Remembered, RunRow};
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

/// How far back runs are looked at whose end may not have been told, milliseconds, and how many.
const MISSED_MS: u64 = 20 * 3_600_000;
const MISSED: usize = 1_000;
/// How many of them are told at once.
const AT_ONCE: usize = 32;

impl Telling {
    /// Tells whoever wanted to hear of the end of `run`, and keeps that it was told.
    pub(super) async fn hook(&self, app: &App, run: &RunId, it: Hook) {
        let fields = |why: String| [("run", run.as_str().into()), ("why", why.into())];
        let delivered = app.deliver(&it.url, &it.id, &it.body, it.by_operator);
        if let Err(fault) = delivered.await {
            self.note("webhook_lost", &fields(fault.chain()));
        }
        // What nobody took after all tries is not tried again, either.
        if let Err(fault) = noted(app, run).await {
            self.note("webhook_unnoted", &fields(fault.chain()));
        }
    }
}

/// Keeps that the end of `run` was told, and says whether that is new. The id beside it is one of nothing: whoever comes with
/// the id that is kept is taken for the one who was first.
async fn noted(app: &App, run: &RunId) -> Result<Remembered> {
    let run = run.as_str();
    app.remember(KeyOwner::Webhooks, run, &[], &app.new_id())
        .await
}

/// Tells of runs that ended before this start and whose end nobody was told: the server was killed in between. Then rests.
pub(super) async fn missed_hooks(server: &Server) {
    let (app, telling) = (server.operator.app(), &server.telling);
    let since = app.now_ms().saturating_sub(MISSED_MS);
    let rows = app.runs().await.unwrap_or_default();
    let at = |it: &RunRow| it.updated_at.parse::<jiff::Timestamp>().ok();
    let late = |it: &RunRow| at(it).is_some_and(|it| it.as_millisecond() >= since as i64);
    let ended = |it: &&RunRow| it.status.ended() && late(it);
    // Side by side: one that nobody takes is tried for an hour.
    let tell = async |it: &RunRow| {
        let run = &it.run_id;
        let Ok(events) = app.events(run, 0).await else {
            return;
        };
        let Some(hook) = openai::hook(run, &events) else {
            return;
        };
        // Remembered before it is told here: it was missed once, and is not told for ever.
        if let Ok(Remembered::New) = noted(app, run).await {
            telling.hook(app, run, hook).await;
        }
    };
    stream::iter(rows.iter().filter(ended).take(MISSED))
        .for_each_concurrent(AT_ONCE, tell)
        .await;
    std::future::pending().await
}

/// The method as it is counted and told: whoever makes up methods makes no new rows of counts, and no long lines.
fn label(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = [
        "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE",
    ];
    let known = KNOWN.into_iter().find(|it| *it == method.as_str());
    known.unwrap_or("other")
}

/// Tells of each answer: route, status, time and whose it was. Never the path itself or a header: those may hold secrets.
pub(super) async fn told(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = label(request.method());
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
        .map(|it| it.name().to_owned());
    let took = began.elapsed();
    server
        .metrics
        .request(&route, method, status.as_u16(), took.as_secs_f64());
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
