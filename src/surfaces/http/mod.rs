//! The same runs over HTTP: an API of our own, and OpenAI's two. What is accepted is worked on whoever stays connected.
//!
//! `gate` lets in, `runs`, `found` and `story` are the API, `viewer/` the pages of browsers, `openai/` OpenAI's, `fault` is how
//! anything is refused.
mod extract;
mod fault;
mod found;
mod gate;
mod guesses;
mod listen;
mod metrics;
mod open;
mod openai;
mod openapi;
mod pages;
mod peers;
mod runs;
mod share;
mod story;
mod telling;
mod viewer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::{StreamExt as _, stream};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::App;
use crate::app::forgetting::{EVERY, forgetting};
use crate::app::queue::{Afterwards, Queue};
use crate::app::web::{OwnSocket, listens_at};
use crate::config::Surroundings;
use crate::error::{Error, Kind, Result};
use crate::record::Run;
use crate::surfaces::asked::Served;
use crate::surfaces::desk::{Caller, Desk, OperatorService};
use crate::surfaces::mcp::Mcp;

use fault::Answer;
pub use fault::Fault;
use gate::Gate;
use guesses::Guesses;
use metrics::Metrics;
use open::OpenRequests;
use openai::{chat, responses};
use peers::{Peer, Peers};
pub use telling::Telling;
use viewer::{Glances, Holder, Sessions};

/// How long a request may take that does not stream.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long that look may take.
const USERS_WAIT: Duration = Duration::from_millis(300);

/// How often a server that lets anybody in looks whether users were added, milliseconds.
const USERS_LOOK_MS: u64 = 500;

/// All that handlers need.
pub struct Server {
    desk: Arc<Desk>,
    /// What has no caller: readiness, counts, webhooks.
    operator: OperatorService,
    gate: Gate,
    telling: Telling,
    metrics: Arc<Metrics>,
    /// Who has signed in with a browser.
    sessions: Sessions,
    /// Who has tried to sign in with tokens that are not known here.
    guesses: Guesses,
    /// The requests of users that are open.
    open: Arc<OpenRequests>,
    /// Whether users were found after a start without any, and when that was looked for last, milliseconds since 1970.
    users_added: AtomicBool,
    users_looked: AtomicU64,
    /// What is known of ended runs beside their rows.
    glances: Glances,
    /// Turns true when the server stops: streams end, so that their clients come back elsewhere.
    stopping: watch::Receiver<bool>,
}

impl Server {
    /// Whether anybody is let in as the operator: not any more once users were added.
    async fn is_open(&self) -> Answer<bool> {
        if !self.gate.open || self.users_added.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let now = self.operator.app().now_ms();
        if now.saturating_sub(self.users_looked.load(Ordering::Relaxed)) >= USERS_LOOK_MS {
            self.users_looked.store(now, Ordering::Relaxed);
            // A store that does not answer has nothing to give away; whoever asks for health must not wait for it.
            let users = tokio::time::timeout(USERS_WAIT, self.operator.app().users()).await;
            let Ok(Ok(users)) = users else {
                return Ok(true);
            };
            let known = !users.is_empty();
            self.users_added.store(known, Ordering::Relaxed);
            return Ok(!known);
        }
        Ok(true)
    }

    /// Whose token it is; `None` for a request without one that is not let in by itself.
    async fn caller(&self, token: Option<&str>) -> Answer<Option<Caller>> {
        // Clients of OpenAI's API send a token always; where none is asked for, any will do.
        if self.is_open().await? {
            return Ok(Some(Caller::operator()));
        }
        let Some(token) = token else {
            return Ok(None);
        };
        if self.gate.token == Some(gate::hashed(token)) {
            return Ok(Some(Caller::operator()));
        }
        let caller = self.desk.recognised(token).await?;
        caller.map(Some).ok_or_else(|| {
            Fault::new(
                StatusCode::UNAUTHORIZED,
                "bad_token",
                "this token is not known here",
            )
        })
    }

    /// Counts a token from `peer` that is not known here. Told is `fault`, and after too many of them to wait.
    fn guessed(&self, peer: Option<&Arc<Peer>>, fault: Fault) -> Fault {
        let Some(address) = peer.map(|it| it.address()) else {
            return fault;
        };
        let admitted = self.guesses.admit(address);
        self.guesses.count(address);
        admitted.err().unwrap_or(fault)
    }

    /// Whose session it is, if their token still lets them in.
    async fn signed_in(&self, session: &str) -> Answer<Option<Caller>> {
        match self.sessions.holder(session) {
            None => Ok(None),
            Some(Holder::Operator) => Ok(self.gate.token.map(|_| Caller::operator())),
            Some(Holder::User(hash)) => Ok(self.desk.recognised_by(&hash).await?),
        }
    }
}

/// A server that listens and does not answer yet.
pub struct Listening {
    listener: TcpListener,
    server: Arc<Server>,
    stop: watch::Sender<bool>,
    connections: usize,
    peers: Arc<Peers>,
    /// Keeps what is fetched here from leading to this very server.
    own: OwnSocket,
}

impl Listening {
    /// Opens the address and takes in what was accepted before. `folders` are served besides those of the settings.
    ///
    /// # Errors
    /// `Setup` for an address that cannot be opened, or one that others reach where no token is set.
    pub async fn open(
        app: Arc<App>,
        surroundings: Surroundings,
        served: Served,
        telling: Telling,
    ) -> Result<Listening> {
        let settings = app.settings().clone();
        let serve = &settings.serve;
        let wanted: Vec<SocketAddr> = tokio::net::lookup_host(&serve.addr)
            .await
            .map_err(|it| {
                Error::new(
                    Kind::Usage,
                    format!("serve.addr `{}` is no address", serve.addr),
                )
                .because(it)
                .hint("write an address and a port, as in 127.0.0.1:7700")
            })?
            .collect();
        let token = settings.variables.get(&serve.token_env).map(gate::hashed);
        let loopback = wanted.iter().all(|it| it.ip().is_loopback());
        // Where there are users, everybody has to say who they are.
        let known = !app.users().await?.is_empty();
        if !loopback && token.is_none() && !known {
            return Err(Error::new(
                Kind::Setup,
                format!("others can reach {}, and no token is set", serve.addr),
            )
            .hint(format!(
                "set {} to a long random text, add users with `ibid admin user add`, or serve on 127.0.0.1",
                serve.token_env
            )));
        }
        let listener = listen::at(&wanted).map_err(|it| {
            Error::new(Kind::Setup, format!("listening on {}", serve.addr))
                .because(it)
                .hint("stop what listens there, or name another with --addr")
        })?;
        let addr = listener
            .local_addr()
            .map_err(|it| Error::new(Kind::Internal, "asking for the own address").because(it))?;
        let (stop, stopping) = watch::channel(false);
        let connections = serve.connections;
        let peers = Peers::new(serve.connections_per_address, &serve.proxies)?;
        let own = listens_at(addr, &serve.hosts);
        let hosts = Gate::hosts(addr, &serve.hosts);
        let metrics = Arc::new(Metrics::new(app.now_ms()));
        let then = afterwards(Arc::clone(&app), Arc::clone(&metrics), telling.clone());
        let (desk, operator, found) = Desk::open(app, surroundings, served, Some(then)).await?;
        if found > 0 {
            telling.note("recovered", &[("runs", found.into())]);
        }
        let server = Arc::new(Server {
            gate: Gate {
                hosts,
                open: loopback && token.is_none() && !known,
                token,
            },
            desk: Arc::new(desk),
            operator,
            telling,
            metrics,
            sessions: Sessions::default(),
            guesses: Guesses::default(),
            open: OpenRequests::new(serve.requests_each),
            users_added: AtomicBool::new(false),
            users_looked: AtomicU64::new(0),
            glances: Glances::default(),
            stopping,
        });
        Ok(Listening {
            listener,
            server,
            stop,
            connections,
            peers,
            own,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn addr(&self) -> Result<SocketAddr> {
        self.listener
            .local_addr()
            .map_err(|it| Error::new(Kind::Internal, "asking for the own address").because(it))
    }

    /// The runs that are taken on here.
    pub fn queue(&self) -> Arc<Queue> {
        Arc::clone(self.server.operator.queue())
    }

    /// Serves until `until` is done; then streams end, answers that were begun are finished, and runs stop where they are.
    pub async fn serve(self, until: impl Future<Output = ()>) {
        let Listening {
            listener,
            server,
            stop,
            connections,
            peers,
            own: _own,
        } = self;
        let operator = &server.operator;
        let work = Arc::clone(operator.queue()).work();
        let router = router(Arc::clone(&server));
        let missed = telling::missed_hooks(&server);
        let of_operator = server.desk.for_caller(Caller::operator());
        // Settings that change count from the next time on; what cannot be read forgets nothing.
        let days = || of_operator.loaded(&[]).ok()?.settings.serve.keep_days;
        let rest = async || tokio::time::sleep(EVERY).await;
        let forget = forgetting(operator.app(), rest, days, |days, outcome| {
            forgotten(&server, days, outcome)
        });
        let answer = listen::answer(listener, router, (connections, peers), until, stop);
        tokio::select! {
            () = work => {}
            () = metrics::told(&server) => {}
            () = missed => {}
            () = forget => {}
            () = answer => {}
        }
        metrics::tell(&server).await;
        let (waiting, working) = operator.queue().count();
        server.telling.note(
            "stopped",
            &[("waiting", waiting.into()), ("parked", working.into())],
        );
    }
}

/// Tells the operator that runs were forgotten, or why they could not be.
fn forgotten(server: &Server, days: u32, outcome: Result<u64>) {
    let days = ("older_than_days", days.into());
    match outcome {
        Ok(runs) => server
            .telling
            .note("forgot", &[("runs", runs.into()), days]),
        Err(fault) => {
            let why = ("why", fault.chain().into());
            server.telling.note("not_forgotten", &[why, days]);
        }
    }
}

/// Once a run has ended it is counted, and who wanted to hear of it is told.
fn afterwards(app: Arc<App>, metrics: Arc<Metrics>, telling: Telling) -> Afterwards {
    Arc::new(move |run| {
        let (app, metrics, telling) = (Arc::clone(&app), Arc::clone(&metrics), telling.clone());
        Box::pin(async move {
            let Ok(events) = app.events(&run, 0).await else {
                return;
            };
            let ended = Run::of(run.clone(), &events);
            metrics.ended(&ended, &events);
            // Who asked is told nothing of what the operator must mend.
            if let (Some(Kind::Setup | Kind::Internal), Some(why)) = (ended.failure, &ended.error) {
                let fields = [("run", run.as_str().into()), ("why", why.as_str().into())];
                telling.note("run_failed", &fields);
            }
            if let Some(fault) = app.telemetry_fault() {
                telling.note("telemetry_lost", &[("why", fault.chain().into())]);
            }
            if let Some(it) = openai::hook(&run, &events) {
                telling.hook(&app, &run, it).await;
            }
        })
    })
}

/// Every route. `openapi.json` names each, which a test holds it to.
fn router(server: Arc<Server>) -> Router {
    let of_operator = server.desk.for_caller(Caller::operator());
    let mcp = |limit| Mcp::http(of_operator.offers_agentic_search(), limit);
    let limit = server.operator.app().settings().serve.max_body_bytes;
    Router::new()
        .route("/v1/runs", post(runs::create).get(runs::list))
        .route("/v1/runs/{id}", get(runs::show).delete(runs::remove))
        .route("/v1/runs/{id}/events", get(story::events))
        .route("/v1/runs/{id}/finish", post(runs::finish))
        .route("/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/v1/runs/{id}/steer", post(runs::steer))
        .route("/v1/runs/{id}/approve", post(runs::approve))
        .route("/v1/runs/{id}/answers", post(runs::answers))
        .route("/v1/runs/{id}/rating", post(runs::rate))
        .route(
            "/v1/runs/{id}/share",
            get(share::list).post(share::create).delete(share::revoke),
        )
        .route("/v1/runs/{id}/evidence", get(found::evidence))
        .route("/v1/runs/{id}/sources", get(found::sources))
        .route("/v1/runs/{id}/coverage", get(found::coverage))
        .route("/v1/runs/{id}/plan", get(found::plan))
        .route("/v1/runs/{id}/trace", get(found::trace))
        .route("/v1/runs/{id}/egress", get(found::egress))
        .route("/v1/runs/{id}/pages/{hash}", get(found::page))
        .route("/v1/runs/{id}/{file}", get(found::report))
        .route("/v1/runs/{a}/diff/{b}", get(found::diff))
        .route("/v1/plan", post(found::preview))
        .route("/v1/responses", post(responses::create))
        .route(
            "/v1/responses/{id}",
            get(responses::show).delete(responses::remove),
        )
        .route("/v1/responses/{id}/cancel", post(responses::cancel))
        .route("/v1/responses/{id}/finish", post(responses::finish))
        .route("/v1/responses/{id}/steer", post(responses::steer))
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/models", get(openai::models))
        .route("/v1/models/{id}", get(openai::model))
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(pages::health))
        .route("/readyz", get(pages::ready))
        .route("/openapi.json", get(openapi::document))
        .route("/llms.txt", get(pages::llms))
        .route_service("/mcp", mcp(limit))
        .merge(viewer::routes())
        .fallback(pages::nowhere)
        .method_not_allowed_fallback(pages::wrong_method)
        .layer(DefaultBodyLimit::max(limit))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), timely))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&server),
            gate::pass,
        ))
        .layer(middleware::from_fn(viewer::dressed))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&server),
            telling::told,
        ))
        .with_state(server)
}

/// Takes the whole body in within the time that it has, so that no handler waits for somebody who sends slowly. One
/// that is too large is left to the handler, which refuses it without reading on.
async fn received(server: &Server, request: Request) -> Answer<Request> {
    let serve = &server.operator.app().settings().serve;
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let (head, body) = request.into_parts();
    let mut rest = body.into_data_stream();
    let mut had: Vec<u8> = Vec::new();
    let taken = tokio::time::timeout(serve.body_within, async {
        while let Some(piece) = rest.next().await {
            had.extend_from_slice(&piece?);
            if had.len() > serve.max_body_bytes {
                break;
            }
        }
        Ok::<(), axum::Error>(())
    });
    match taken.await {
        Ok(Ok(())) if had.len() > serve.max_body_bytes => {
            let had = stream::once(std::future::ready(Ok(Bytes::from(had))));
            Ok(Request::from_parts(
                head,
                Body::from_stream(had.chain(rest)),
            ))
        }
        Ok(Ok(())) => Ok(Request::from_parts(head, Body::from(had))),
        Ok(Err(_)) => Err(Fault::new(
            StatusCode::BAD_REQUEST,
            "broken_body",
            "the body broke off",
        )),
        Err(_) => Err(Fault::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow_body",
            "the body took too long to come",
        )
        .hint("the operator bounds it with `serve.body_seconds`")),
    }
}

/// Bounds the time until an answer begins, and says of every answer that nobody may keep or guess at it.
async fn timely(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let request = match received(&server, request).await {
        Ok(request) => request,
        Err(fault) => {
            // What has not come yet is not waited for.
            let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
            return headed((close, fault).into_response());
        }
    };
    // Who asks OpenAI's APIs without a stream waits for the whole run.
    let whole = ["/v1/responses", "/v1/chat/completions"].contains(&request.uri().path());
    let answer = match whole {
        true => Ok(next.run(request).await),
        false => tokio::time::timeout(PATIENCE, next.run(request)).await,
    };
    headed(answer.unwrap_or_else(|_| {
        Fault::new(StatusCode::GATEWAY_TIMEOUT, "timeout", "this took too long").into_response()
    }))
}

/// An answer with the headers that every one has.
fn headed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ] {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}
