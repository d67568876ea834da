//! Telemetry: exports ended runs over OTLP, as the settings say.
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::App;
use crate::config::{EnvVars, Settings, TelemetryConfig};
use crate::telemetry::TelemetryExporter;
use ibid_core::ports::{Egress, Store};
use ibid_core::record::{Envelope, Event};
use ibid_core::{Error, ErrorKind, Result};

impl App {
    /// The exporter of traces and metrics; `None` when no endpoint is set.
    ///
    /// # Errors
    /// `Usage` for invalid telemetry settings.
    pub fn telemetry(&self) -> Result<Option<Arc<TelemetryExporter>>> {
        if let Some(known) = self.telemetry.get() {
            return Ok(known.clone());
        }
        let opened = open_exporter(&self.settings)?.map(Arc::new);
        Ok(self.telemetry.get_or_init(|| opened).clone())
    }

    /// The last export error since the previous call of this function.
    pub fn telemetry_error(&self) -> Option<Error> {
        match self.telemetry() {
            Ok(exporter) => exporter?.take_error(),
            Err(fault) => Some(fault),
        }
    }
}

/// Exports the trace of a run that ended with `events`. Its parent is the `traceparent` of its request, else `trace_parent`.
pub(super) async fn export_run(
    telemetry: &TelemetryExporter,
    store: &dyn Store,
    events: &[Envelope],
    trace_parent: Option<&str>,
    egress: &Egress,
) {
    let steps = match events.first() {
        // When the steps cannot be read, the trace is sent without content.
        Some(first) if telemetry.wants_content() => {
            store.steps(&first.run).await.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let requested = events.iter().find_map(|event| match &event.event {
        Event::RunQueued { request } => request.as_ref()?.get("traceparent")?.as_str(),
        _ => None,
    });
    let parent = requested.or(trace_parent);
    telemetry.export_run(events, &steps, parent, egress).await;
}

/// The exporter of the settings; `None` when telemetry is off.
///
/// # Errors
/// `Usage` for an unsupported protocol, and those of [`TelemetryExporter::open`].
fn open_exporter(settings: &Settings) -> Result<Option<TelemetryExporter>> {
    let config = &settings.telemetry;
    if config.disabled {
        return Ok(None);
    }
    let service = detect_service(&settings.variables);
    let base = match config.endpoint.trim_end_matches('/') {
        "" => service.as_ref().map(|service| service.endpoint.clone()),
        endpoint => Some(endpoint.to_owned()),
    };
    let at = |endpoint: &str, path: &str| match (endpoint, &base) {
        ("", Some(base)) => format!("{base}/{path}"),
        _ => endpoint.to_owned(),
    };
    let traces_endpoint = at(&config.traces_endpoint, "v1/traces");
    // Langfuse and Phoenix accept traces only.
    let is_default =
        config.endpoint.is_empty() && config.metrics_endpoint.is_empty() && service.is_some();
    let metrics_endpoint =
        if is_default { String::new() } else { at(&config.metrics_endpoint, "v1/metrics") };
    if traces_endpoint.is_empty() && metrics_endpoint.is_empty() {
        return Ok(None);
    }
    if config.protocol != "http/protobuf" {
        let what = format!("telemetry.protocol `{}` is not supported", config.protocol);
        return Err(Error::new(ErrorKind::Usage, what).with_hint(
            "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and use the endpoint's port for it, usually 4318",
        ));
    }
    let mut headers = service.map(|service| service.headers).unwrap_or_default();
    let configured = config.headers.as_ref().map(|header| header.expose()).unwrap_or_default();
    for pair in configured.split(',').filter(|part| !part.trim().is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
        headers.push((name.trim().to_owned(), value.into_owned()));
    }
    let config = TelemetryConfig { traces_endpoint, metrics_endpoint, ..config.clone() };
    TelemetryExporter::open(config, &headers).map(Some)
}

/// A tracing service, detected by its key variables.
struct TelemetryService {
    endpoint: String,
    headers: Vec<(String, String)>,
}

/// Langfuse or Phoenix, if their variables are set.
fn detect_service(variables: &EnvVars) -> Option<TelemetryService> {
    let header = |name: &str, value: String| (name.to_owned(), value);
    let public = variables.get("LANGFUSE_PUBLIC_KEY");
    if let (Some(public), Some(secret)) = (public, variables.get("LANGFUSE_SECRET_KEY")) {
        let host = variables
            .get("LANGFUSE_HOST")
            .or_else(|| variables.get("LANGFUSE_BASE_URL"))
            .unwrap_or("https://cloud.langfuse.com");
        let credentials = STANDARD.encode(format!("{public}:{secret}"));
        return Some(TelemetryService {
            endpoint: format!("{}/api/public/otel", host.trim_end_matches('/')),
            headers: vec![
                header("authorization", format!("Basic {credentials}")),
                header("x-langfuse-ingestion-version", "4".to_owned()),
            ],
        });
    }
    let endpoint = variables.get("PHOENIX_COLLECTOR_ENDPOINT")?;
    let key = variables.get("PHOENIX_API_KEY");
    let key = key.map(|key| header("authorization", format!("Bearer {key}")));
    Some(TelemetryService {
        endpoint: endpoint.trim_end_matches('/').to_owned(),
        headers: key.into_iter().collect(),
    })
}
