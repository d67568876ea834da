//! Which words left the machine in searches, and where they came from.
use serde::Serialize;

use super::{Envelope, Event};
use crate::domain::{Vertical, WordOrigin};

/// A query that was sent to an engine outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentQuery {
    /// Who was asked.
    pub engine: String,
    /// For what kind of document.
    pub vertical: Vertical,
    /// The words.
    pub query: String,
    /// Where they come from: `asked`, `person`, `plan`, `general`, `outside page URL`.
    pub origin: Vec<String>,
}

/// The queries of a run that were sent to the outside, in order.
pub fn sent_queries(events: &[Envelope]) -> Vec<SentQuery> {
    let sent = events.iter().filter_map(|it| match &it.event {
        Event::SearchStarted {
            engine,
            query,
            vertical,
            origin,
            ..
        } if *vertical != Vertical::Local => Some(SentQuery {
            engine: engine.clone(),
            vertical: *vertical,
            query: query.clone(),
            origin: origin.iter().map(WordOrigin::to_string).collect(),
        }),
        _ => None,
    });
    sent.collect()
}
