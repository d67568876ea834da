//! Log events as lines on stderr: one JSON object each, without questions or request bodies.
use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::console::Console;

/// Writes the events of Ibid's own crates. Other crates log URLs and statements, which may contain secrets.
struct LogLines {
    write: Box<dyn Fn(&str) + Send + Sync>,
    level: LevelFilter,
}

/// Writes the log to stderr from now on: refusals and errors, and with `-v` every request.
pub(super) fn install(console: Console) {
    let level = if console.verbose { LevelFilter::DEBUG } else { LevelFilter::INFO };
    let write = Box::new(move |line: &str| console.eprint_line(line));
    // Fails only if a program that calls this one has its own subscriber, which then gets the events.
    let _ = tracing::subscriber::set_global_default(LogLines { write, level });
}

impl Subscriber for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let krate = target.split("::").next().unwrap_or(target);
        let ours = krate == "ibid" || krate.starts_with("ibid_");
        ours && metadata.is_event() && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        (self.write)(&line(event));
    }

    // Spans are never enabled.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message is the name of the event. A field without a value is null.
fn line(event: &Event<'_>) -> String {
    let mut fields = Fields(Map::new());
    let ts = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    fields.0.insert("ts".to_owned(), ts.into());
    for field in event.fields() {
        fields.insert(&field, Value::Null);
    }
    event.record(&mut fields);
    Value::Object(fields.0).to_string()
}

struct Fields(Map<String, Value>);

impl Fields {
    fn insert(&mut self, field: &Field, value: Value) {
        let name = if field.name() == "message" { "event" } else { field.name() };
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.insert(field, format!("{value:?}").into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_line_has_time_event_and_fields_in_their_order() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let write = Box::new(move |line: &str| kept.lock().unwrap().push(line.to_owned()));
        tracing::subscriber::with_default(LogLines { write, level: LevelFilter::INFO }, || {
            tracing::warn!(status = 404_u16, caller = None::<String>, why = "no run", "request");
            tracing::debug!(status = 200_u16, "request");
            tracing::warn!(target: "sqlx::query", "select");
        });
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        let (ts, rest) = lines[0].split_once(',').unwrap();
        assert!(ts.starts_with("{\"ts\":\"2") && ts.ends_with("Z\""), "{ts}");
        assert_eq!(rest, r#""event":"request","status":404,"caller":null,"why":"no run"}"#);
    }
}
