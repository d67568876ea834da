//! Runs told to whoever watches many programs.
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::App;
use crate::adapters::telemetry::{Telemetry, Wanted};
use crate::config::{Settings, Variables};
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event};
use crate::seams::{Egress, Store};

impl App {
    /// Where runs and counts are told; `None` where nobody wants to hear of them.
    ///
    /// # Errors
    /// `Usage` for settings of telemetry that make no sense.
    pub fn telemetry(&self) -> Result<Option<Arc<Telemetry>>> {
        if let Some(known) = self.telemetry.get() {
            return Ok(known.clone());
        }
        let wanted = wanted(&self.settings)?;
        let opened = wanted.map(Telemetry::open).transpose()?.map(Arc::new);
        Ok(self.telemetry.get_or_init(|| opened).clone())
    }

    /// Why something was not told since somebody last asked.
    pub fn telemetry_fault(&self) -> Option<Error> {
        match self.telemetry() {
            Ok(it) => it?.fault(),
            Err(fault) => Some(fault),
        }
    }
}

/// Tells of a run that has ended with `events`.
pub(super) async fn told(
    telemetry: &Telemetry,
    store: &dyn Store,
    run: &RunId,
    events: &[Envelope],
    ambient: Option<&str>,
    egress: &Egress,
) {
    let steps = match telemetry.wants_content() {
        // A trace without content is better than none.
        true => store.steps(run).await.unwrap_or_default(),
        false => Vec::new(),
    };
    let sent = events.iter().find_map(|it| match &it.event {
        Event::RunQueued { request } => request.as_ref()?.get("traceparent")?.as_str(),
        _ => None,
    });
    let parent = sent.or(ambient);
    telemetry.tell(run, events, &steps, parent, egress).await;
}

/// What the settings ask for; `None` where they ask for none.
///
/// # Errors
/// `Usage` for a protocol that is not spoken here.
fn wanted(settings: &Settings) -> Result<Option<Wanted>> {
    let it = &settings.telemetry;
    if it.disabled {
        return Ok(None);
    }
    let keyed = keyed(&settings.variables);
    let base = match it.endpoint.trim_end_matches('/') {
        "" => keyed.as_ref().map(|it| it.endpoint.clone()),
        own => Some(own.to_owned()),
    };
    let at = |own: &str, path: &str| match own {
        "" => base.as_ref().map(|it| format!("{it}/{path}")),
        own => Some(own.to_owned()),
    };
    let traces = at(&it.traces_endpoint, "v1/traces");
    // Langfuse and Phoenix take traces alone.
    let by_key = it.endpoint.is_empty() && it.metrics_endpoint.is_empty() && keyed.is_some();
    let metrics = at(&it.metrics_endpoint, "v1/metrics").filter(|_| !by_key);
    if traces.is_none() && metrics.is_none() {
        return Ok(None);
    }
    if it.protocol != "http/protobuf" {
        let what = format!("telemetry.protocol `{}` is not spoken", it.protocol);
        return Err(Error::new(Kind::Usage, what).hint(
            "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and the endpoint's port for it, which is 4318 as a rule",
        ));
    }
    let mut headers = keyed.map(|it| it.headers).unwrap_or_default();
    let own = it
        .headers
        .as_ref()
        .map(|it| it.expose())
        .unwrap_or_default();
    for pair in own.split(',').filter(|it| !it.trim().is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
        headers.push((name.trim().to_owned(), value.into_owned()));
    }
    Ok(Some(Wanted {
        traces,
        metrics,
        headers,
        patience: it.patience,
        every: it.every,
        service: it.service.clone(),
        resource: it.resource.clone(),
        sampler: it.sampler.clone(),
        sampler_arg: it.sampler_arg.clone(),
        content: it.content,
        conventions: it.conventions.clone(),
    }))
}

/// A service that is known by its keys.
struct Keyed {
    endpoint: String,
    headers: Vec<(String, String)>,
}

/// Langfuse or Phoenix, where their variables are set.
fn keyed(variables: &Variables) -> Option<Keyed> {
    let header = |name: &str, value: String| (name.to_owned(), value);
    let public = variables.get("LANGFUSE_PUBLIC_KEY");
    if let (Some(public), Some(secret)) = (public, variables.get("LANGFUSE_SECRET_KEY")) {
        let host = variables
            .get("LANGFUSE_HOST")
            .or_else(|| variables.get("LANGFUSE_BASE_URL"))
            .unwrap_or("https://cloud.langfuse.com");
        let both = STANDARD.encode(format!("{public}:{secret}"));
        return Some(Keyed {
            endpoint: format!("{}/api/public/otel", host.trim_end_matches('/')),
            headers: vec![
                header("authorization", format!("Basic {both}")),
                header("x-langfuse-ingestion-version", "4".to_owned()),
            ],
        });
    }
    let endpoint = variables.get("PHOENIX_COLLECTOR_ENDPOINT")?;
    let key = variables.get("PHOENIX_API_KEY");
    let key = key.map(|it| header("authorization", format!("Bearer {it}")));
    Some(Keyed {
        endpoint: endpoint.trim_end_matches('/').to_owned(),
        headers: key.into_iter().collect(),
    })
}
