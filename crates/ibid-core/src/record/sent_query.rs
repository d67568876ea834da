//! The search queries that left the machine, and the origin of their words.
use serde::Serialize;

use super::{Envelope, Event};
use crate::domain::{Vertical, WordOrigin};

/// A query sent to an external engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentQuery {
    /// The engine.
    pub engine: String,
    /// The vertical.
    pub vertical: Vertical,
    /// The text.
    pub query: String,
    /// The origins of its words: `asked`, `person`, `plan`, `general`, `outside page URL`.
    pub origin: Vec<String>,
}

/// Returns the queries that a run sent to external engines, in order.
pub fn sent_queries(events: &[Envelope]) -> Vec<SentQuery> {
    let sent = events.iter().filter_map(|envelope| match &envelope.event {
        Event::SearchStarted { engine, query, vertical, origin, .. }
            if *vertical != Vertical::Local =>
        {
            Some(SentQuery {
                engine: engine.clone(),
                vertical: *vertical,
                query: query.clone(),
                origin: origin.iter().map(WordOrigin::to_string).collect(),
            })
        }
        _ => None,
    });
    sent.collect()
}
