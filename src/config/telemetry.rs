//! Settings of telemetry, under the names that OpenTelemetry gave their variables.
use std::time::Duration;

use super::{Resolved, Secret};

/// Where runs and counts are told, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Where both are told; empty for nowhere.
    pub endpoint: String,
    /// Where traces are told instead.
    pub traces_endpoint: String,
    /// Where metrics are told instead.
    pub metrics_endpoint: String,
    /// `name=value` with commas between.
    pub headers: Option<Secret>,
    /// `http/protobuf`.
    pub protocol: String,
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
    /// Tells nothing.
    pub disabled: bool,
}

impl Telemetry {
    pub(super) fn of(values: &Resolved) -> Telemetry {
        let word = |name| values.word(name).to_owned();
        let ms = |name| Duration::from_millis(values.whole(name).unwrap_or(5000));
        Telemetry {
            endpoint: word("telemetry.endpoint"),
            traces_endpoint: word("telemetry.traces_endpoint"),
            metrics_endpoint: word("telemetry.metrics_endpoint"),
            headers: values.secret("telemetry.headers"),
            protocol: word("telemetry.protocol"),
            patience: ms("telemetry.timeout_ms"),
            every: ms("telemetry.every_ms"),
            service: word("telemetry.service"),
            resource: word("telemetry.resource"),
            sampler: word("telemetry.sampler"),
            sampler_arg: word("telemetry.sampler_arg"),
            content: values.is_set("telemetry.content"),
            conventions: word("telemetry.conventions"),
            disabled: values.is_set("telemetry.disabled"),
        }
    }
}
