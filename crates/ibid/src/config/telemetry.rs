//! Telemetry settings, with the names of the OpenTelemetry variables.
use std::time::Duration;

use serde::Deserialize;

use super::resolved::millis;
use super::value::SecretString;

/// The export of traces and metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TelemetryConfig {
    /// The OTLP endpoint of both; empty to export nothing.
    pub endpoint: String,
    /// The endpoint of traces, if another.
    pub traces_endpoint: String,
    /// The endpoint of metrics, if another.
    pub metrics_endpoint: String,
    /// Request headers: `name=value`, separated by commas.
    #[serde(skip)]
    pub headers: Option<SecretString>,
    /// The protocol; only `http/protobuf` is supported.
    pub protocol: String,
    /// The timeout of one export.
    #[serde(rename = "timeout_ms", deserialize_with = "millis")]
    pub timeout: Duration,
    /// The interval of metrics.
    #[serde(rename = "interval_ms", deserialize_with = "millis")]
    pub interval: Duration,
    /// The service name.
    pub service: String,
    /// Resource attributes: `key=value`, separated by commas.
    pub resource: String,
    /// The sampler, by its OpenTelemetry name.
    pub sampler: String,
    /// The argument of the sampler.
    pub sampler_arg: String,
    /// Whether questions, prompts and answers are exported.
    pub content: bool,
    /// The semantic conventions, as in `OTEL_SEMCONV_STABILITY_OPT_IN`.
    pub conventions: String,
    /// Whether export is off.
    pub disabled: bool,
}
