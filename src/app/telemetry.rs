//! Runs told to whoever watches many programs.
use std::sync::Arc;

use super::App;
use crate::adapters::telemetry::Telemetry;
use crate::domain::RunId;
use crate::error::{Error, Result};
use crate::record::{Envelope, Event};
use crate::seams::Store;

impl App {
    /// Where runs and counts are told; `None` where nobody wants to hear of them.
    ///
    /// # Errors
    /// `Usage` for settings of telemetry that make no sense.
    pub fn telemetry(&self) -> Result<Option<Arc<Telemetry>>> {
        if let Some(known) = self.telemetry.get() {
            return Ok(known.clone());
        }
        let opened = Telemetry::open(&self.settings)?.map(Arc::new);
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
    telemetry.tell(run, events, &steps, sent.or(ambient)).await;
}
