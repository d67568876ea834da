//! OpenTelemetry: runs as traces and counts as metrics, sent by OTLP over HTTP where an operator says where to. Without that
//! nothing is made and nothing leaves the machine.
//!
//! A trace is made from the events of a run once it has ended, not while it goes on: so it is whole, and there once, however
//! often the run was killed. `semconv` holds every name.
mod metrics;
mod semconv;
mod spans;
mod thought;

use std::sync::Mutex;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::adapters::model::http::client;
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::record::Envelope;
use crate::seams::{Egress, Step, host_of};
use semconv::Conventions;
use spans::{Parent, pair};
use thought::Thoughts;

/// What is sent in one request at most, bytes of spans: collectors refuse more than some megabytes.
const LARGEST: usize = 2 << 20;

/// Which runs are told of.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sampler {
    /// The share of traces, 0 to 1.
    share: f64,
    /// Whether a caller's own decision counts more.
    by_parent: bool,
}

impl Sampler {
    /// The sampler that the specification calls `name`, with its argument.
    ///
    /// # Errors
    /// `Usage` for another name, and for an argument that is no share.
    fn of(name: &str, argument: &str) -> Result<Sampler> {
        let (by_parent, rest) = match name.strip_prefix("parentbased_") {
            Some(rest) => (true, rest),
            None => (false, name),
        };
        let share = match rest {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => match argument.trim() {
                "" => 1.0,
                it => it
                    .parse()
                    .ok()
                    .filter(|it| (0.0..=1.0).contains(it))
                    .ok_or_else(|| {
                        Error::new(
                            Kind::Usage,
                            format!("telemetry.sampler_arg `{it}` is no share"),
                        )
                        .hint("write a number from 0 to 1 in OTEL_TRACES_SAMPLER_ARG")
                    })?,
            },
            _ => {
                return Err(Error::new(
                    Kind::Usage,
                    format!("telemetry.sampler `{name}` is not known"),
                )
                .hint("always_on, always_off, traceidratio, or one of these after parentbased_"));
            }
        };
        Ok(Sampler { share, by_parent })
    }

    /// Whether this trace is told of. The same trace gets the same answer everywhere, as the specification wants it.
    fn takes(&self, trace: [u8; 16], parent: Option<Parent>) -> bool {
        if let (true, Some(parent)) = (self.by_parent, parent) {
            return parent.sampled;
        }
        let mut low = [0; 8];
        low.copy_from_slice(&trace[8..]);
        // The upper bound itself is taken: share 1 takes all.
        let bound = self.share * (1u64 << 63) as f64;
        ((u64::from_be_bytes(low) >> 1) as f64) < bound || self.share >= 1.0
    }
}

/// What an operator wants told, where and how.
#[derive(Default)]
pub struct Wanted {
    /// Where traces are told, the whole address.
    pub traces: Option<String>,
    /// Where metrics are told, the whole address.
    pub metrics: Option<String>,
    /// Headers sent along; values may be keys.
    pub headers: Vec<(String, String)>,
    /// How long sending may take.
    pub patience: Duration,
    /// How often metrics are told.
    pub every: Duration,
    /// Who tells.
    pub service: String,
    /// `key=value` with commas between.
    pub resource: String,
    /// Which runs are told, in the specification's words.
    pub sampler: String,
    /// The sampler's share.
    pub sampler_arg: String,
    /// Whether what people asked and models answered is told, too.
    pub content: bool,
    /// Which names are used, in the words of `OTEL_SEMCONV_STABILITY_OPT_IN`.
    pub conventions: String,
}

/// Where runs and counts are told.
pub struct Telemetry {
    client: Client,
    traces: Option<String>,
    counts: Option<String>,
    headers: HeaderMap,
    patience: Duration,
    every: Duration,
    names: Conventions,
    sampler: Sampler,
    content: bool,
    resource: Resource,
    /// What went wrong last, until somebody asks.
    fault: Mutex<Option<Error>>,
}

impl Telemetry {
    /// What tells as `wanted`. Nothing is sent yet.
    ///
    /// # Errors
    /// `Usage` for a header or a sampler that is none.
    pub fn open(wanted: Wanted) -> Result<Telemetry> {
        let mut headers = HeaderMap::new();
        for (name, value) in &wanted.headers {
            put(&mut headers, name, value)?;
        }
        let kind = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, kind);
        let names = Conventions::of(&wanted.conventions);
        let first = wanted.traces.as_deref().or(wanted.metrics.as_deref());
        Ok(Telemetry {
            client: client(first.unwrap_or_default(), "telemetry", wanted.patience)?,
            traces: wanted.traces,
            counts: wanted.metrics,
            headers,
            patience: wanted.patience,
            every: wanted.every,
            names,
            sampler: Sampler::of(&wanted.sampler, &wanted.sampler_arg)?,
            content: wanted.content,
            resource: resource(&wanted.service, &wanted.resource, names),
            fault: Mutex::default(),
        })
    }

    /// Whether what models were told and answered is wanted, too.
    pub fn wants_content(&self) -> bool {
        self.content
    }

    /// How often counts are told; `None` where nobody takes them.
    pub fn beat(&self) -> Option<Duration> {
        self.counts.as_ref().map(|_| self.every)
    }

    /// Tells of a run that has ended, by its events; `steps` are looked at where content is wanted, and what leaves the machine
    /// is noted in `egress`. What goes wrong is kept for [`Telemetry::fault`]: it is no fault of the run's.
    pub async fn tell(
        &self,
        run: &RunId,
        events: &[Envelope],
        steps: &[Step],
        parent: Option<&str>,
        egress: &Egress,
    ) {
        let Some(traces) = &self.traces else {
            return;
        };
        let parent = parent.and_then(Parent::read);
        if !self.sampler.takes(spans::trace_of(run, parent), parent) {
            return;
        }
        let mut thoughts = self.content.then(|| Thoughts::of(steps));
        let spans = spans::spans(run, events, parent, self.names, thoughts.as_mut());
        for part in parts(spans) {
            let body = ExportTraceServiceRequest {
                resource_spans: vec![ResourceSpans {
                    resource: Some(self.resource.clone()),
                    scope_spans: vec![ScopeSpans {
                        scope: Some(scope()),
                        spans: part,
                        ..ScopeSpans::default()
                    }],
                    ..ResourceSpans::default()
                }],
            };
            let body = body.encode_to_vec();
            egress.sent(&host_of(traces), body.len());
            self.send(traces, body, "traces").await;
        }
    }

    /// Tells what was counted, as `/metrics` writes it: OpenMetrics text.
    pub async fn count(&self, text: &str, since_ms: u64, now_ms: u64) {
        let Some(counts) = &self.counts else {
            return;
        };
        let metrics: Vec<Metric> = metrics::read(text, since_ms, now_ms, self.names);
        let body = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(self.resource.clone()),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(scope()),
                    metrics,
                    ..ScopeMetrics::default()
                }],
                ..ResourceMetrics::default()
            }],
        };
        self.send(counts, body.encode_to_vec(), "metrics").await;
    }

    /// What went wrong since somebody last asked.
    pub fn fault(&self) -> Option<Error> {
        self.fault.lock().ok()?.take()
    }

    async fn send(&self, url: &str, body: Vec<u8>, what: &str) {
        let asked = self
            .client
            .post(url)
            .headers(self.headers.clone())
            .timeout(self.patience)
            .body(body)
            .send()
            .await;
        let fault = match asked {
            Ok(it) if it.status().is_success() => return,
            Ok(it) => Error::new(
                Kind::Transient,
                format!("{what} were not taken: status {}", it.status().as_u16()),
            ),
            // Without its address, which may hold a key.
            Err(it) => Error::new(Kind::Transient, format!("{what} could not be sent"))
                .because(it.without_url()),
        };
        if let Ok(mut last) = self.fault.lock() {
            *last = Some(
                fault.hint("see OTEL_EXPORTER_OTLP_ENDPOINT and _HEADERS; the run itself is whole"),
            );
        }
    }
}

/// Spans in portions that a collector takes, in their order.
fn parts(spans: Vec<Span>) -> Vec<Vec<Span>> {
    let mut out: Vec<Vec<Span>> = Vec::new();
    let mut room = 0;
    for it in spans {
        let size = it.encoded_len();
        match out.last_mut() {
            Some(last) if size <= room => {
                room -= size;
                last.push(it);
            }
            _ => {
                room = LARGEST.saturating_sub(size);
                out.push(vec![it]);
            }
        }
    }
    out
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "ibid".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Who tells: the service's name, then `key=value` pairs with commas between, as the specification writes them.
fn resource(service: &str, words: &str, names: Conventions) -> Resource {
    let mut found: Vec<KeyValue> = Vec::new();
    for it in words.split(',') {
        if let Some((key, value)) = it.split_once('=') {
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            found.push(pair(key.trim(), value.as_ref()));
        }
    }
    let named = found.iter().any(|it| it.key == semconv::SERVICE_NAME);
    if !named || service != "ibid" {
        found.retain(|it| it.key != semconv::SERVICE_NAME);
        found.push(pair(semconv::SERVICE_NAME, service));
    }
    found.push(pair(semconv::SERVICE_VERSION, env!("CARGO_PKG_VERSION")));
    found.push(pair(semconv::CONVENTIONS, names.word()));
    Resource {
        attributes: found,
        ..Resource::default()
    }
}

/// Puts a header in, and never its value into a fault.
fn put(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let read = HeaderName::try_from(name)
        .ok()
        .zip(HeaderValue::try_from(value).ok());
    let (name, mut value) = read.ok_or_else(|| {
        Error::new(Kind::Usage, "telemetry.headers holds what is no header")
            .hint("write name=value with commas between, values percent-encoded")
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}
