//! The webhook that a caller named with a run.
use serde_json::{Value, json};

use super::response_fold::{ResponseFold, unix_seconds};
use ibid_core::domain::RunId;
use ibid_core::record::{Envelope, Event, Run};

/// A webhook to send.
pub(in crate::http) struct Webhook {
    /// The address that the caller named.
    pub(in crate::http) url: String,
    /// The id of the event.
    pub(in crate::http) id: String,
    /// The event as JSON.
    pub(in crate::http) body: Value,
    /// Whether the operator named the address, not a user.
    pub(in crate::http) by_operator: bool,
}

impl Webhook {
    /// The webhook of a run that has ended; `None` if its caller named no address.
    pub(in crate::http) fn from_events(run: &RunId, events: &[Envelope]) -> Option<Webhook> {
        let mut fold = ResponseFold::new(Run::new(run.clone()));
        let messages: Vec<Value> = events.iter().flat_map(|event| fold.apply(event)).collect();
        let url = fold.extra("webhook_url")?.as_str()?.to_owned();
        let response = fold.response();
        let status = response["status"].as_str()?;
        let id = format!("evt_{}", run.as_str().trim_start_matches("r_"));
        let body = json!({
            "id": id,
            "object": "event",
            "type": format!("response.{status}"),
            "created_at": unix_seconds(events.last().map(|event| event.ts.as_str())),
            "data": {"id": response["id"]},
        });
        let created = events.first().map(|event| &event.event);
        let by_operator = matches!(created, Some(Event::RunCreated { owner: None, .. }));
        (!messages.is_empty()).then_some(Webhook { url, id, body, by_operator })
    }
}
