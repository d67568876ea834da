//! The server's metrics for Prometheus: base units, no ids in labels.
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use serde_json::json;

use ibid::app::ServerLoad;
use ibid_core::domain::Usage;
use ibid_core::record::{Envelope, Event, Run, SearchOutcome};

/// Labels: name and value.
type Labels = Vec<(&'static str, String)>;

type Counters = Family<Labels, Counter>;
type FloatCounters = Family<Labels, Counter<f64, AtomicU64>>;
type Gauges = Family<Labels, Gauge>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The most organisations with a count of their own: the largest.
const MAX_ORGS: usize = 20;
/// The name of those without an organisation. No id has brackets.
const NO_ORG: &str = "(none)";
/// The name of the organisations that are not among the largest, together.
const OTHER_ORGS: &str = "(others)";

/// All metrics of the server.
pub(super) struct ServerMetrics {
    registry: Registry,
    requests: Counters,
    request_seconds: Histograms,
    runs: Counters,
    run_seconds: Histograms,
    run_usd: FloatCounters,
    searches: Counters,
    reads: Counters,
    models: Counters,
    tokens: Counters,
    quotes: Counters,
    claims: Counters,
    model_seconds: Histograms,
    search_seconds: Histograms,
    waiting: Gauge,
    working: Gauge,
    waiting_by_org: Gauges,
    model_calls: Gauges,
    takeovers: Counter,
    /// When counting began, milliseconds since 1970.
    pub(super) since_ms: u64,
}

/// Buckets for requests and searches, seconds.
fn request_histogram() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0])
}

/// Buckets for runs and model calls, seconds.
fn run_histogram() -> Histogram {
    Histogram::new([1.0, 5.0, 20.0, 60.0, 180.0, 600.0, 1800.0, 3600.0])
}

impl ServerMetrics {
    /// Metrics without any counts. `since_ms` is when counting began.
    pub(super) fn new(since_ms: u64) -> ServerMetrics {
        let request_times = || Histograms::new_with_constructor(request_histogram);
        let run_times = || Histograms::new_with_constructor(run_histogram);
        let mut metrics = ServerMetrics {
            registry: Registry::with_prefix("ibid"),
            requests: Counters::default(),
            request_seconds: request_times(),
            runs: Counters::default(),
            run_seconds: run_times(),
            run_usd: FloatCounters::default(),
            searches: Counters::default(),
            reads: Counters::default(),
            models: Counters::default(),
            tokens: Counters::default(),
            quotes: Counters::default(),
            claims: Counters::default(),
            model_seconds: run_times(),
            search_seconds: request_times(),
            waiting: Gauge::default(),
            working: Gauge::default(),
            waiting_by_org: Gauges::default(),
            model_calls: Gauges::default(),
            takeovers: Counter::default(),
            since_ms,
        };
        metrics.register_counters();
        metrics.register_histograms();
        metrics.register_others();
        metrics
    }

    fn register_counters(&mut self) {
        for (name, help, counters) in [
            ("http_requests", "Requests by route, method and status", &self.requests),
            ("runs", "Runs that ended, by status, effort and why they stopped", &self.runs),
            ("search_requests", "Searches by engine and outcome", &self.searches),
            ("fetch_requests", "Pages by outcome", &self.reads),
            (
                "llm_requests",
                "Calls of language models by provider, role, model and outcome",
                &self.models,
            ),
            (
                "llm_tokens",
                "Tokens by role, model, direction and whether the provider had them in its cache",
                &self.tokens,
            ),
            ("quotes", "Quotes in reports by whether they stand in their page", &self.quotes),
            (
                "claims",
                "Sentences of reports that state a fact, by whether they are cited",
                &self.claims,
            ),
        ] {
            self.registry.register(name, help, counters.clone());
        }
    }

    fn register_histograms(&mut self) {
        for (name, help, histograms) in [
            ("http_request_duration", "Time until an answer begins", &self.request_seconds),
            ("run_duration", "Time from the first event to the last", &self.run_seconds),
            (
                "llm_request_duration",
                "Time of a language model's answer, waits and retries included",
                &self.model_seconds,
            ),
            (
                "search_duration",
                "Time of a search, waits and retries included",
                &self.search_seconds,
            ),
        ] {
            self.registry.register_with_unit(name, help, Unit::Seconds, histograms.clone());
        }
    }

    /// Cost, the queue, and the program's version.
    fn register_others(&mut self) {
        let registry = &mut self.registry;
        registry.register("run_cost_usd", "What runs cost, US dollars", self.run_usd.clone());
        registry.register("queue_depth", "Runs that wait", self.waiting.clone());
        registry.register("runs_in_flight", "Runs worked on", self.working.clone());
        let help =
            "Runs of all servers of the store that wait for their first turn, by organisation";
        registry.register("queue_waiting_runs", help, self.waiting_by_org.clone());
        let help = "Calls of language models in flight, by the name of the key";
        registry.register("llm_calls_in_flight", help, self.model_calls.clone());
        let help = "Runs that this server continued and another had begun";
        registry.register("run_takeovers", help, self.takeovers.clone());
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program", build);
    }

    /// Counts a request.
    pub(super) fn record_request(&self, route: &str, method: &str, status: u16, seconds: f64) {
        let by = vec![
            ("route", route.to_owned()),
            ("method", method.to_owned()),
            ("status", status.to_string()),
        ];
        self.requests.get_or_create(&by).inc();
        let by = vec![("route", route.to_owned())];
        self.request_seconds.get_or_create(&by).observe(seconds);
    }

    /// Counts an ended run and its events.
    pub(super) fn record_run(&self, run: &Run, events: &[Envelope]) {
        let word = |value: serde_json::Value| value.as_str().unwrap_or("none").to_owned();
        let effort = run.question.as_ref().map(|question| question.method.effort);
        let by = vec![
            ("status", word(json!(run.status))),
            ("effort", word(json!(effort))),
            ("stop_reason", word(json!(run.stop_reason))),
        ];
        self.runs.get_or_create(&by).inc();
        let at = |text: &Option<String>| text.as_ref()?.parse::<jiff::Timestamp>().ok();
        if let (Some(from), Some(to)) = (at(&run.started_at), at(&run.updated_at)) {
            let seconds = (to.as_millisecond() - from.as_millisecond()) as f64 / 1000.0;
            self.run_seconds.get_or_create(&Vec::new()).observe(seconds);
        }
        let usage: Usage = run.report.as_deref().map_or(run.usage, |report| report.usage);
        if let Some(usd) = usage.usd {
            self.run_usd.get_or_create(&Vec::new()).inc_by(usd);
        }
        if let Some(it) = run.report.as_deref().map(|report| report.checks.quotes) {
            for (word, n) in [("exact", it.passed), ("lost", it.total - it.passed)] {
                let by = vec![("match", word.to_owned())];
                self.quotes.get_or_create(&by).inc_by(u64::from(n));
            }
        }
        if let Some(it) = run.report.as_deref().map(|report| report.checks) {
            let stated = it.claims;
            for (word, n) in [
                ("cited", stated.passed),
                ("uncited", stated.total - stated.passed),
                ("removed", it.removed),
            ] {
                let by = vec![("status", word.to_owned())];
                self.claims.get_or_create(&by).inc_by(u64::from(n));
            }
        }
        for it in events {
            self.record_event(&it.event);
        }
    }

    /// Sets what is counted elsewhere.
    pub(super) fn set_load(&self, load: &ServerLoad) {
        let largest = load.waiting.iter().take(MAX_ORGS);
        let named = largest.map(|it| (it.0.as_deref().unwrap_or(NO_ORG), it.1));
        let others: usize = load.waiting.iter().skip(MAX_ORGS).map(|it| it.1).sum();
        let rest = (others > 0).then_some((OTHER_ORGS, others));
        set_gauges(&self.waiting_by_org, "org", named.chain(rest));
        let calls = load.model_calls.iter().map(|it| (it.0.as_str(), *it.1));
        set_gauges(&self.model_calls, "key", calls);
        self.takeovers.inner().fetch_max(load.takeovers, Ordering::Relaxed);
    }

    /// All metrics as OpenMetrics text, with the current depth of the queue.
    pub(super) fn encode(&self, waiting: usize, working: usize) -> Option<String> {
        self.waiting.set(waiting as i64);
        self.working.set(working as i64);
        let mut out = String::new();
        encode(&mut out, &self.registry).ok()?;
        Some(out)
    }

    fn record_model_call(&self, role: &str, model: &str, outcome: &str) {
        let by =
            [("provider", provider(model)), ("role", role), ("model", model), ("outcome", outcome)];
        let by = by.map(|(name, it)| (name, it.to_owned())).to_vec();
        self.models.get_or_create(&by).inc();
    }

    fn record_event(&self, it: &Event) {
        let outcome = |text: &str| ("outcome", text.to_owned());
        match it {
            Event::SearchCompleted { engine, outcome: how, ms, .. } => {
                let how = match how {
                    SearchOutcome::Ok => "ok",
                    SearchOutcome::Empty => "empty",
                    SearchOutcome::RateLimited => "rate_limited",
                    SearchOutcome::Unreachable => "unreachable",
                    SearchOutcome::Error => "error",
                };
                let by = vec![("engine", engine.clone()), outcome(how)];
                self.searches.get_or_create(&by).inc();
                let by = vec![("engine", engine.clone())];
                self.search_seconds.get_or_create(&by).observe(*ms as f64 / 1000.0);
            }
            Event::ReadCompleted { .. } => {
                self.reads.get_or_create(&vec![outcome("ok")]).inc();
            }
            Event::ReadFailed { reason, .. } => {
                self.reads.get_or_create(&vec![outcome(reason.as_str())]).inc();
            }
            Event::LlmCompleted { role, model, r#in, out, cached, ms, .. } => {
                let by = || vec![("role", role.as_str().to_owned()), ("model", model.clone())];
                self.record_model_call(role.as_str(), model, "ok");
                if let Some(ms) = ms {
                    self.model_seconds.get_or_create(&by()).observe(*ms as f64 / 1000.0);
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
            // The event names no model, because all models of the role failed.
            Event::StepUnaided { role, .. } => {
                self.record_model_call(role.as_str(), "none", "failed")
            }
            _ => {}
        }
    }
}

/// Sets the gauges with these labels, and removes the others.
fn set_gauges<'a>(
    gauges: &Gauges,
    label: &'static str,
    counts: impl Iterator<Item = (&'a str, usize)>,
) {
    gauges.clear();
    for (name, count) in counts {
        gauges.get_or_create(&vec![(label, name.to_owned())]).set(count as i64);
    }
}

/// The provider prefix of a model id.
fn provider(model: &str) -> &str {
    model.split_once([':', '/']).map_or("none", |parts| parts.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every sample name that `/metrics` may contain.
    fn exported_names() -> BTreeSet<String> {
        let ServerMetrics {
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
            waiting_by_org,
            model_calls,
            takeovers: _,
            since_ms: _,
        } = ServerMetrics::new(0);
        let none = Labels::new();
        for it in [requests, runs, searches, reads, models, tokens, quotes, claims] {
            it.get_or_create(&none).inc();
        }
        for it in [request_seconds, run_seconds, model_seconds, search_seconds] {
            it.get_or_create(&none).observe(1.0);
        }
        for it in [waiting_by_org, model_calls] {
            it.get_or_create(&none).set(1);
        }
        run_usd.get_or_create(&none).inc_by(1.0);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples.filter_map(|sample| sample.split(['{', ' ']).next()).map(str::to_owned).collect()
    }

    fn names_in(text: &str) -> BTreeSet<String> {
        let word = |c: char| c.is_ascii_lowercase() || c == '_';
        text.split(|c| !word(c))
            .filter(|part| part.starts_with("ibid_"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_dashboards_use_only_exported_metrics() {
        for dashboard in [
            include_str!("../../../../deploy/grafana.json"),
            include_str!("../../../../deploy/fleet/grafana.json"),
        ] {
            let drawn = names_in(dashboard);
            assert!(drawn.len() > 5);
            let lost: Vec<_> = drawn.difference(&exported_names()).cloned().collect();
            assert!(lost.is_empty(), "{lost:?}");
        }
    }

    #[test]
    fn the_largest_organisations_have_a_count_and_the_others_have_one_together() {
        let metrics = ServerMetrics::new(0);
        let org = |nth: usize| (Some(format!("org-{nth:02}")), 100 - nth);
        let load = ServerLoad {
            waiting: [(None, 200)].into_iter().chain((0..30).map(org)).collect(),
            model_calls: [("OPENAI_API_KEY".to_owned(), 3)].into(),
            takeovers: 2,
        };
        metrics.set_load(&load);
        let text = metrics.encode(0, 0).unwrap();
        let counts: Vec<_> =
            text.lines().filter(|it| it.starts_with("ibid_queue_waiting_runs{")).collect();
        assert_eq!(counts.len(), MAX_ORGS + 1, "{text}");
        assert!(counts.contains(&"ibid_queue_waiting_runs{org=\"(none)\"} 200"), "{text}");
        assert!(counts.contains(&"ibid_queue_waiting_runs{org=\"org-18\"} 82"), "{text}");
        let others: usize = (19..30).map(|nth| 100 - nth).sum();
        let others = format!("ibid_queue_waiting_runs{{org=\"(others)\"}} {others}");
        assert!(counts.contains(&others.as_str()), "{text}");
        assert!(text.contains("ibid_llm_calls_in_flight{key=\"OPENAI_API_KEY\"} 3"), "{text}");
        assert!(text.contains("ibid_run_takeovers_total 2"), "{text}");
        // Who waits no more has no row.
        metrics.set_load(&ServerLoad::default());
        let text = metrics.encode(0, 0).unwrap();
        assert!(!text.contains("org-") && !text.contains("OPENAI"), "{text}");
        assert!(text.contains("ibid_run_takeovers_total 2"), "{text}");
    }

    #[test]
    fn exactly_the_exported_metrics_are_documented() {
        let text = include_str!("../../../../docs/telemetry.md");
        let rows = text.lines().filter(|line| line.starts_with("| `ibid_"));
        let described = rows.flat_map(|row| names_in(row.split('|').nth(1).unwrap()));
        // The three samples of a histogram share one name.
        let family = |text: &String| {
            let of = ["_bucket", "_sum", "_count"];
            of.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text).to_owned()
        };
        let told: BTreeSet<String> = exported_names().iter().map(family).collect();
        assert_eq!(described.collect::<BTreeSet<_>>(), told);
    }
}
