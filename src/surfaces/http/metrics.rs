//! What is counted, for Prometheus: base units, no ids in labels.
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use serde_json::json;

use super::Server;
use super::fault::{Answer, Fault};
use crate::domain::Usage;
use crate::record::{Envelope, Event, Outcome, Run};
use crate::surfaces::desk::CallerService;

/// Labels in the order of their names.
type Labels = Vec<(&'static str, String)>;

type Counters = Family<Labels, Counter>;
type Sums = Family<Labels, Counter<f64, AtomicU64>>;
type Times = Family<Labels, Histogram, fn() -> Histogram>;

/// Everything that is counted.
pub(super) struct Metrics {
    registry: Registry,
    requests: Counters,
    request_seconds: Times,
    runs: Counters,
    run_seconds: Times,
    run_usd: Sums,
    searches: Counters,
    reads: Counters,
    models: Counters,
    tokens: Counters,
    quotes: Counters,
    claims: Counters,
    model_seconds: Times,
    search_seconds: Times,
    waiting: Gauge,
    working: Gauge,
    /// When counting began, milliseconds since 1970.
    since_ms: u64,
}

/// Seconds of an answer, and of a run.
fn quick() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0])
}
fn slow() -> Histogram {
    Histogram::new([1.0, 5.0, 20.0, 60.0, 180.0, 600.0, 1800.0, 3600.0])
}

impl Metrics {
    /// Nothing counted yet.
    pub(super) fn new(since_ms: u64) -> Metrics {
        let mut registry = Registry::with_prefix("ibid");
        let requests = Counters::default();
        let request_seconds = Times::new_with_constructor(quick);
        let (runs, run_usd) = (Counters::default(), Sums::default());
        let run_seconds = Times::new_with_constructor(slow);
        let (searches, reads) = (Counters::default(), Counters::default());
        let (models, tokens) = (Counters::default(), Counters::default());
        let (quotes, claims) = (Counters::default(), Counters::default());
        let model_seconds = Times::new_with_constructor(slow);
        let search_seconds = Times::new_with_constructor(quick);
        let (waiting, working) = (Gauge::default(), Gauge::default());
        for (name, help, it) in [
            (
                "http_requests",
                "Requests by route, method and status",
                &requests,
            ),
            (
                "runs",
                "Runs that ended, by status, effort and why they stopped",
                &runs,
            ),
            (
                "search_requests",
                "Searches by engine and outcome",
                &searches,
            ),
            ("fetch_requests", "Pages by outcome", &reads),
            (
                "llm_requests",
                "Calls of language models by provider, role, model and outcome",
                &models,
            ),
            (
                "llm_tokens",
                "Tokens by role, model, direction and whether the provider had them in its cache",
                &tokens,
            ),
            (
                "quotes",
                "Quotes in reports by whether they stand in their page",
                &quotes,
            ),
            (
                "claims",
                "Sentences of reports that state a fact, by whether they are cited",
                &claims,
            ),
        ] {
            registry.register(name, help, it.clone());
        }
        registry.register_with_unit(
            "http_request_duration",
            "Time until an answer begins",
            Unit::Seconds,
            request_seconds.clone(),
        );
        registry.register_with_unit(
            "run_duration",
            "Time from the first event to the last",
            Unit::Seconds,
            run_seconds.clone(),
        );
        for (name, help, it) in [
            (
                "llm_request_duration",
                "Time of a language model's answer, waits and retries included",
                &model_seconds,
            ),
            (
                "search_duration",
                "Time of a search, waits and retries included",
                &search_seconds,
            ),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, it.clone());
        }
        registry.register(
            "run_cost_usd",
            "What runs cost, US dollars",
            run_usd.clone(),
        );
        registry.register("queue_depth", "Runs that wait", waiting.clone());
        registry.register("runs_in_flight", "Runs worked on", working.clone());
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program", build);
        Metrics {
            registry,
            requests,
            request_seconds,
            runs,
            run_seconds,
            run_usd,
            searches,
            reads,
            models,
            tokens,
            quotes,
            claims,
            model_seconds,
            search_seconds,
            waiting,
            working,
            since_ms,
        }
    }

    /// Counts a request.
    pub(super) fn request(&self, route: &str, method: &str, status: u16, seconds: f64) {
        let by = vec![
            ("route", route.to_owned()),
            ("method", method.to_owned()),
            ("status", status.to_string()),
        ];
        self.requests.get_or_create(&by).inc();
        let by = vec![("route", route.to_owned())];
        self.request_seconds.get_or_create(&by).observe(seconds);
    }

    /// Counts a run that has ended, by its events.
    pub(super) fn ended(&self, run: &Run, events: &[Envelope]) {
        let word = |it: serde_json::Value| it.as_str().unwrap_or("none").to_owned();
        let effort = run.question.as_ref().map(|it| it.method.effort);
        let by = vec![
            ("status", word(json!(run.status))),
            ("effort", word(json!(effort))),
            ("stop_reason", word(json!(run.stop_reason))),
        ];
        self.runs.get_or_create(&by).inc();
        let at = |it: &Option<String>| it.as_ref()?.parse::<jiff::Timestamp>().ok();
        if let (Some(from), Some(to)) = (at(&run.started_at), at(&run.updated_at)) {
            let seconds = (to.as_millisecond() - from.as_millisecond()) as f64 / 1000.0;
            self.run_seconds.get_or_create(&Vec::new()).observe(seconds);
        }
        let usage: Usage = run.report.as_deref().map_or(run.usage, |it| it.usage);
        if let Some(usd) = usage.usd {
            self.run_usd.get_or_create(&Vec::new()).inc_by(usd);
        }
        if let Some(it) = run.report.as_deref().map(|it| it.checks.quotes) {
            for (word, n) in [("exact", it.held), ("lost", it.total - it.held)] {
                let by = vec![("match", word.to_owned())];
                self.quotes.get_or_create(&by).inc_by(u64::from(n));
            }
        }
        if let Some(it) = run.report.as_deref().map(|it| it.checks) {
            let stated = it.claims;
            for (word, n) in [
                ("cited", stated.held),
                ("uncited", stated.total - stated.held),
                ("removed", it.removed),
            ] {
                let by = vec![("status", word.to_owned())];
                self.claims.get_or_create(&by).inc_by(u64::from(n));
            }
        }
        for it in events {
            self.counted(&it.event);
        }
    }

    fn called(&self, role: &str, model: &str, outcome: &str) {
        let by = [
            ("provider", provider(model)),
            ("role", role),
            ("model", model),
            ("outcome", outcome),
        ];
        let by = by.map(|(name, it)| (name, it.to_owned())).to_vec();
        self.models.get_or_create(&by).inc();
    }

    fn counted(&self, it: &Event) {
        let outcome = |it: &str| ("outcome", it.to_owned());
        match it {
            Event::SearchCompleted {
                engine,
                outcome: how,
                ms,
                ..
            } => {
                let how = match how {
                    Outcome::Ok => "ok",
                    Outcome::Empty => "empty",
                    Outcome::RateLimited => "rate_limited",
                    Outcome::Error => "error",
                };
                let by = vec![("engine", engine.clone()), outcome(how)];
                self.searches.get_or_create(&by).inc();
                let by = vec![("engine", engine.clone())];
                self.search_seconds
                    .get_or_create(&by)
                    .observe(*ms as f64 / 1000.0);
            }
            Event::ReadCompleted { .. } => {
                self.reads.get_or_create(&vec![outcome("ok")]).inc();
            }
            Event::ReadFailed { reason, .. } => {
                self.reads
                    .get_or_create(&vec![outcome(reason.word())])
                    .inc();
            }
            Event::LlmCompleted {
                role,
                model,
                r#in,
                out,
                cached,
                ms,
                ..
            } => {
                let by = || vec![("role", role.word().to_owned()), ("model", model.clone())];
                self.called(role.word(), model, "ok");
                if let Some(ms) = ms {
                    self.model_seconds
                        .get_or_create(&by())
                        .observe(*ms as f64 / 1000.0);
                }
                let cached = cached.unwrap_or(0);
                let fresh = r#in.unwrap_or(0).saturating_sub(cached);
                for (direction, cache, n) in [
                    ("in", "miss", fresh),
                    ("in", "hit", cached),
                    ("out", "none", out.unwrap_or(0)),
                ] {
                    let mut by = by();
                    by.push(("direction", direction.to_owned()));
                    by.push(("cache", cache.to_owned()));
                    self.tokens.get_or_create(&by).inc_by(n);
                }
            }
            // Which of a role's models failed is told nowhere: all of them did.
            Event::StepUnaided { role, .. } => self.called(role.word(), "none", "failed"),
            _ => {}
        }
    }
}

/// The provider that the id of a model begins with.
fn provider(model: &str) -> &str {
    model.split_once([':', '/']).map_or("none", |it| it.0)
}

/// All that is counted, as OpenMetrics text.
fn text(server: &Server) -> Option<String> {
    let it = &server.metrics;
    let (waiting, working) = server.operator.queue().count();
    it.waiting.set(waiting as i64);
    it.working.set(working as i64);
    let mut out = String::new();
    encode(&mut out, &it.registry).ok()?;
    Some(out)
}

/// Tells the counts to whoever takes them, again and again; never ends.
pub(super) async fn told(server: &Server) {
    let wanted = server.operator.app().telemetry().ok().flatten();
    let Some(beat) = wanted.and_then(|it| it.beat()) else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(beat).await;
        tell(server).await;
    }
}

/// Tells the counts as they stand.
pub(super) async fn tell(server: &Server) {
    let app = server.operator.app();
    let wanted = app.telemetry().ok().flatten();
    if let (Some(to), Some(text)) = (wanted, text(server)) {
        to.count(&text, server.metrics.since_ms, app.now_ms()).await;
    }
    if let Some(fault) = app.telemetry_fault() {
        let why = fault.chain();
        server
            .telling
            .note("telemetry_lost", &[("why", why.into())]);
    }
}

/// `GET /metrics`: for the operator alone. What all callers together do is nobody's own.
pub(super) async fn metrics(
    State(server): State<Arc<Server>>,
    Extension(service): Extension<CallerService>,
) -> Answer<Response> {
    if !service.caller().is_operator() {
        let what = "only the operator may read the metrics";
        return Err(Fault::new(StatusCode::FORBIDDEN, "operator_only", what)
            .hint("ask with the operator's token"));
    }
    let out = text(&server).ok_or_else(|| {
        Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the metrics cannot be written",
        )
    })?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], out).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every name that `/metrics` may tell, as Prometheus keeps it.
    fn told() -> BTreeSet<String> {
        let Metrics {
            registry,
            requests,
            request_seconds,
            runs,
            run_seconds,
            run_usd,
            searches,
            reads,
            models,
            tokens,
            quotes,
            claims,
            model_seconds,
            search_seconds,
            waiting: _,
            working: _,
            since_ms: _,
        } = Metrics::new(0);
        let none = Labels::new();
        for it in [
            requests, runs, searches, reads, models, tokens, quotes, claims,
        ] {
            it.get_or_create(&none).inc();
        }
        for it in [request_seconds, run_seconds, model_seconds, search_seconds] {
            it.get_or_create(&none).observe(1.0);
        }
        run_usd.get_or_create(&none).inc_by(1.0);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let samples = text.lines().filter(|it| !it.starts_with('#'));
        samples
            .filter_map(|it| it.split(['{', ' ']).next())
            .map(str::to_owned)
            .collect()
    }

    fn named(text: &str) -> BTreeSet<String> {
        let word = |c: char| c.is_ascii_lowercase() || c == '_';
        text.split(|c| !word(c))
            .filter(|it| it.starts_with("ibid_"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_dashboard_draws_nothing_that_is_not_told() {
        let drawn = named(include_str!("../../../deploy/grafana.json"));
        assert!(drawn.len() > 5);
        let lost: Vec<_> = drawn.difference(&told()).cloned().collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn every_count_is_described_and_no_other() {
        let text = include_str!("../../../docs/telemetry.md");
        let rows = text.lines().filter(|it| it.starts_with("| `ibid_"));
        let described = rows.flat_map(|it| named(it.split('|').nth(1).unwrap()));
        // Of a histogram the one name that its three end in.
        let family = |it: &String| {
            let of = ["_bucket", "_sum", "_count"];
            of.iter()
                .find_map(|end| it.strip_suffix(end))
                .unwrap_or(it)
                .to_owned()
        };
        let told: BTreeSet<String> = told().iter().map(family).collect();
        assert_eq!(described.collect::<BTreeSet<_>>(), told);
    }
}
