//! OpenTelemetry: exports runs as traces and counters as metrics, by OTLP over HTTP. Without an endpoint nothing is exported.
//!
//! A trace is made from the events of a run after it has ended, so that it is complete and sent once, however often the run was
//! interrupted. `semconv` has all names.
mod exchange;
mod metrics;
mod semconv;
mod spans;

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

use crate::config::TelemetryConfig;
use exchange::ModelExchanges;
use ibid_core::ports::{Egress, JournalCall, host_and_port};
use ibid_core::record::Envelope;
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::http::build_client;
use semconv::SemConvVersion;
use spans::{TraceParent, attribute};

/// Maximum number of bytes of spans in one request. Collectors refuse more than a few megabytes.
const MAX_BYTES: usize = 2 << 20;

/// Decides which runs are exported.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sampler {
    /// The share of traces, 0 to 1.
    share: f64,
    /// Whether the decision of the caller takes precedence.
    by_parent: bool,
}

impl Sampler {
    /// The sampler with this OpenTelemetry name and argument.
    ///
    /// # Errors
    /// `Usage` for an unknown name or an invalid argument.
    fn parse(name: &str, argument: &str) -> Result<Sampler> {
        let (by_parent, rest) = match name.strip_prefix("parentbased_") {
            Some(rest) => (true, rest),
            None => (false, name),
        };
        let share = match rest {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => match argument.trim() {
                "" => 1.0,
                it => it.parse().ok().filter(|parsed| (0.0..=1.0).contains(parsed)).ok_or_else(
                    || {
                        Error::new(
                            ErrorKind::Usage,
                            format!("invalid telemetry.sampler_arg `{it}`"),
                        )
                        .with_hint("write a number from 0 to 1 in OTEL_TRACES_SAMPLER_ARG")
                    },
                )?,
            },
            _ => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("unknown telemetry.sampler `{name}`"),
                )
                .with_hint(
                    "use always_on, always_off, traceidratio, or one of these after parentbased_",
                ));
            }
        };
        Ok(Sampler { share, by_parent })
    }

    /// Whether a trace is exported. The decision depends on the trace id only, as the specification requires.
    fn is_sampled(&self, trace: [u8; 16], parent: Option<TraceParent>) -> bool {
        if let (true, Some(parent)) = (self.by_parent, parent) {
            return parent.sampled;
        }
        let mut low = [0; 8];
        low.copy_from_slice(&trace[8..]);
        // A share of 1 includes the upper bound itself.
        let bound = self.share * (1u64 << 63) as f64;
        ((u64::from_be_bytes(low) >> 1) as f64) < bound || self.share >= 1.0
    }
}

/// Exports traces and metrics.
pub struct TelemetryExporter {
    client: Client,
    config: TelemetryConfig,
    headers: HeaderMap,
    names: SemConvVersion,
    sampler: Sampler,
    resource: Resource,
    /// The last error that was not taken yet.
    fault: Mutex<Option<Error>>,
}

impl TelemetryExporter {
    /// An exporter that sends to the traces endpoint and the metrics endpoint of `config`, to neither that is empty, with these request
    /// headers, whose values may be keys. Sends nothing yet.
    ///
    /// # Errors
    /// `Usage` for an invalid header or sampler.
    pub(crate) fn open(
        config: TelemetryConfig,
        headers: &[(String, String)],
    ) -> Result<TelemetryExporter> {
        let mut request_headers = HeaderMap::new();
        for (name, value) in headers {
            add_header(&mut request_headers, name, value)?;
        }
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        request_headers.insert(CONTENT_TYPE, protobuf);
        let names = SemConvVersion::parse(&config.conventions);
        let endpoint = match config.traces_endpoint.as_str() {
            "" => &config.metrics_endpoint,
            endpoint => endpoint,
        };
        Ok(TelemetryExporter {
            client: build_client(endpoint, "telemetry", config.timeout)?,
            headers: request_headers,
            names,
            sampler: Sampler::parse(&config.sampler, &config.sampler_arg)?,
            resource: resource(&config.service, &config.resource, names),
            config,
            fault: Mutex::default(),
        })
    }

    /// Whether prompts and answers are exported.
    pub(crate) fn wants_content(&self) -> bool {
        self.config.content
    }

    /// The interval of metrics; `None` when they have no endpoint.
    pub fn interval(&self) -> Option<Duration> {
        Some(self.config.interval).filter(|_| !self.config.metrics_endpoint.is_empty())
    }

    /// Exports the trace of an ended run. `steps` are used only when content is exported; the traffic is counted in `egress`. An error is kept
    /// for [`TelemetryExporter::take_error`]: the run does not fail because of it.
    pub(crate) async fn export_run(
        &self,
        events: &[Envelope],
        steps: &[JournalCall],
        parent: Option<&str>,
        egress: &Egress,
    ) {
        let endpoint = &self.config.traces_endpoint;
        let Some(run) = events.first().map(|event| &event.run).filter(|_| !endpoint.is_empty())
        else {
            return;
        };
        let parent = parent.and_then(TraceParent::parse);
        if !self.sampler.is_sampled(spans::trace_id(run, parent), parent) {
            return;
        }
        let mut exchanges = self.config.content.then(|| ModelExchanges::from_steps(steps));
        let spans = spans::build_spans(run, events, parent, self.names, exchanges.as_mut());
        for batch in batches(spans) {
            let body = ExportTraceServiceRequest {
                resource_spans: vec![ResourceSpans {
                    resource: Some(self.resource.clone()),
                    scope_spans: vec![ScopeSpans {
                        scope: Some(scope()),
                        spans: batch,
                        ..ScopeSpans::default()
                    }],
                    ..ResourceSpans::default()
                }],
            };
            let body = body.encode_to_vec();
            egress.record_sent(&host_and_port(endpoint), body.len());
            self.send(endpoint, body, "traces").await;
        }
    }

    /// Exports the metrics in `text`, which is OpenMetrics as `/metrics` writes it.
    pub async fn export_metrics(&self, text: &str, since_ms: u64, now_ms: u64) {
        let endpoint = &self.config.metrics_endpoint;
        if endpoint.is_empty() {
            return;
        }
        let metrics: Vec<Metric> = metrics::parse(text, since_ms, now_ms, self.names);
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
        self.send(endpoint, body.encode_to_vec(), "metrics").await;
    }

    /// The last error since the previous call of this function.
    pub(crate) fn take_error(&self) -> Option<Error> {
        self.fault.lock().ok()?.take()
    }

    async fn send(&self, url: &str, body: Vec<u8>, what: &str) {
        let response = self
            .client
            .post(url)
            .headers(self.headers.clone())
            .timeout(self.config.timeout)
            .body(body)
            .send()
            .await;
        let fault = match response {
            Ok(response) if response.status().is_success() => return,
            Ok(response) => Error::new(
                ErrorKind::Transient,
                format!("{what} were refused: status {}", response.status().as_u16()),
            ),
            // Without the URL, which may contain a key.
            Err(cause) => Error::new(ErrorKind::Transient, format!("{what} could not be sent"))
                .with_source(cause.without_url()),
        };
        if let Ok(mut last) = self.fault.lock() {
            *last = Some(fault.with_hint(
                "check OTEL_EXPORTER_OTLP_ENDPOINT and _HEADERS; the run itself is complete",
            ));
        }
    }
}

/// The spans in batches of at most [`MAX_BYTES`], in their order.
fn batches(spans: Vec<Span>) -> Vec<Vec<Span>> {
    let mut out: Vec<Vec<Span>> = Vec::new();
    let mut room = 0;
    for span in spans {
        let size = span.encoded_len();
        match out.last_mut() {
            Some(last) if size <= room => {
                room -= size;
                last.push(span);
            }
            _ => {
                room = MAX_BYTES.saturating_sub(size);
                out.push(vec![span]);
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

/// The resource: the service name and `attributes` of the form `key=value`, separated by commas and percent-encoded.
fn resource(service: &str, attributes: &str, names: SemConvVersion) -> Resource {
    let mut found: Vec<KeyValue> = Vec::new();
    for pair in attributes.split(',') {
        if let Some((key, value)) = pair.split_once('=') {
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            found.push(attribute(key.trim(), value.as_ref()));
        }
    }
    let has_name = found.iter().any(|value| value.key == semconv::SERVICE_NAME);
    if !has_name || service != "ibid" {
        found.retain(|value| value.key != semconv::SERVICE_NAME);
        found.push(attribute(semconv::SERVICE_NAME, service));
    }
    found.push(attribute(semconv::SERVICE_VERSION, env!("CARGO_PKG_VERSION")));
    found.push(attribute(semconv::CONVENTIONS, names.name()));
    Resource { attributes: found, ..Resource::default() }
}

/// Adds a header. Its value never appears in the error.
fn add_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let read = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
    let (name, mut value) = read.ok_or_else(|| {
        Error::new(ErrorKind::Usage, "invalid header in telemetry.headers")
            .with_hint("write name=value separated by commas, with percent-encoded values")
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}
