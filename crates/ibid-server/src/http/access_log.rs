//! The operator's log: one JSON object a line, without questions or request bodies.
use std::sync::Arc;

use serde_json::{Map, Value};

/// Writes log lines.
#[derive(Clone)]
pub struct AccessLog {
    sink: Arc<dyn Fn(&str) + Send + Sync>,
    /// Whether successful requests are logged, too.
    pub(super) all: bool,
}

impl AccessLog {
    /// Writes each line of JSON to `line`: every error, and with `all` every request.
    pub fn new(all: bool, line: impl Fn(&str) + Send + Sync + 'static) -> AccessLog {
        AccessLog { sink: Arc::new(line), all }
    }

    /// Writes one event with its fields.
    pub fn record(&self, event: &str, fields: &[(&str, Value)]) {
        let mut line = Map::new();
        let now = jiff::Timestamp::now();
        let ts = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        line.insert("ts".to_owned(), ts.into());
        line.insert("event".to_owned(), event.into());
        for (name, value) in fields {
            line.insert((*name).to_owned(), value.clone());
        }
        (self.sink)(&Value::Object(line).to_string());
    }
}
