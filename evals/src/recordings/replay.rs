//! One row through the program.
use ibid_core::ports::Completion;
use ibid_llm::Dialect;
use ibid_llm::embeddings::{Embeddings, parse_scores};
use ibid_llm::model_list::{ModelList, parse_list};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;
use serde_json::Value;

use super::route::RecordedRoute;
use super::{bytes, check, route, walk};

/// What became of a row.
pub(super) enum Verdict {
    /// What it should.
    Right,
    /// It could not be read, or became the wrong kind of error.
    Unread(String),
    /// It was read, and says something else than the row.
    Differs(String),
    /// The program panicked.
    Panicked,
}

/// Sizes of pieces in which a body is fed, besides the whole.
const PIECES: [usize; 3] = [1, 7, 1024];

/// Replays `row`.
pub(super) fn row(row: &Value) -> (Verdict, &'static str) {
    let body = bytes::body(row);
    let headers = bytes::headers(row);
    let status = row.pointer("/response/status").and_then(Value::as_u64).unwrap_or(200);
    let status = u16::try_from(status).unwrap_or(0);
    let values = walk::values(&String::from_utf8_lossy(&body));
    let route = route::of(row, &values);
    let verdict = match route {
        RecordedRoute::None => Err("no adapter yet".to_owned()),
        RecordedRoute::Chat(dialect) => {
            return (chat(dialect, status, &headers, &body, &values), "completions");
        }
        RecordedRoute::Embeddings => embeddings(status, &headers, &body, &values),
        RecordedRoute::Scores => parse_scores(status, &headers, &body)
            .map(|found| found.len() == list(&values, "/results"))
            .or_else(|fault| refused(status, &values, &fault).map(|()| true))
            .and_then(|same| same.then_some(()).ok_or("not every score was read".to_owned())),
        RecordedRoute::Models => parse_list(status, &headers, &body)
            .map(|found| match found {
                Some(ModelList::Names(names, _)) => names.len(),
                _ => 0,
            })
            .map(|count| count == list(&values, "/data").max(list(&values, "/models")))
            .or_else(|fault| refused(status, &values, &fault).map(|()| true))
            .and_then(|same| same.then_some(()).ok_or("not every model was read".to_owned())),
        RecordedRoute::Other => other(status, &headers, &body, &values),
    };
    let verdict = verdict.map_or_else(Verdict::Unread, |()| Verdict::Right);
    let name = match route {
        RecordedRoute::None => "without an adapter",
        RecordedRoute::Other => "by their form alone, because Ibid does not call the endpoint",
        _ => "lists, embeddings and scores",
    };
    (verdict, name)
}

fn list(values: &[Value], path: &str) -> usize {
    let found = values.first().and_then(|value| value.pointer(path)).and_then(Value::as_array);
    found.map_or(0, Vec::len)
}

/// Whether a fault is right where a list was asked for: there must be one in the row.
fn refused(status: u16, values: &[Value], fault: &ServiceError) -> Result<(), String> {
    let told = |it: &Value| it.get("error").is_some_and(|value| !value.is_null());
    if (200..300).contains(&status) && !values.iter().any(told) {
        Err(fault.to_string())
    } else {
        check::fault(status, values, fault)
    }
}

type ReplayedAnswer = Result<Completion, ServiceError>;

fn chat(
    dialect: Dialect,
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
    values: &[Value],
) -> Verdict {
    if !(200..300).contains(&status) {
        return match dialect.parse(status, headers, body, None) {
            Ok(_) => Verdict::Unread("an error was read as a completion".to_owned()),
            Err(fault) => check::fault(status, values, &fault)
                .map_or_else(Verdict::Unread, |()| Verdict::Right),
        };
    }
    let (whole, told) = fed(dialect, body, body.len().max(1));
    let unary = dialect.parse(status, headers, body, None);
    for size in PIECES {
        let (answer, heard) = fed(dialect, body, size);
        if answer != whole {
            return Verdict::Differs(format!("pieces of {size} bytes give another answer"));
        }
        if answer.is_ok() && heard != told {
            return Verdict::Differs(format!("pieces of {size} bytes tell another text"));
        }
    }
    let seen = walk::completion(dialect, values);
    let completion = match whole {
        Ok(completion) => completion,
        Err(fault) if seen.error => {
            return check::fault(status, values, &fault)
                .map_or_else(Verdict::Unread, |()| Verdict::Right);
        }
        // A recording may end where somebody hung up.
        Err(fault) if !seen.ended && fault == ServiceError::truncated() => return Verdict::Right,
        Err(fault) => return Verdict::Unread(fault.to_string()),
    };
    if seen.error {
        return Verdict::Differs("an error inside the answer was overlooked".to_owned());
    }
    if unary.as_ref() != Ok(&completion) {
        return Verdict::Differs("read as a whole it gives another answer".to_owned());
    }
    if !completion.text.starts_with(&told) && !seen.restarted {
        return Verdict::Differs("the text told on the way is not the answer's".to_owned());
    }
    check::completion(&completion, &seen).map_or_else(Verdict::Differs, |()| Verdict::Right)
}

/// The answer that `body` gives in pieces of `size` bytes, and the text told on the way.
fn fed(dialect: Dialect, body: &[u8], size: usize) -> (ReplayedAnswer, String) {
    let mut stream = dialect.stream(None);
    let mut told = String::new();
    for piece in body.chunks(size) {
        match stream.feed(piece) {
            Ok(fresh) => told.push_str(&fresh),
            Err(fault) => return (Err(fault), told),
        }
    }
    (stream.finish(), told)
}

fn embeddings(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
    values: &[Value],
) -> Result<(), String> {
    let found = match Embeddings::parse(status, headers, body) {
        Ok(found) => found,
        Err(fault) => return refused(status, values, &fault),
    };
    let rows = list(values, "/data")
        .max(list(values, "/embeddings"))
        .max(list(values, "/embeddings/float"))
        .max(1);
    if found.vectors.len() != rows {
        return Err(format!("{} vectors of {rows}", found.vectors.len()));
    }
    let first = values.first().and_then(|value| value.pointer("/data/0/embedding/0"));
    match first.and_then(Value::as_f64) {
        Some(first) if (first as f32) != found.vectors[0][0] => Err("another number".to_owned()),
        _ => Ok(()),
    }
}

/// An endpoint that Ibid does not call: JSON, XML or BibTeX must be well-formed, and an error must be of its kind.
fn other(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
    values: &[Value],
) -> Result<(), String> {
    if !(200..300).contains(&status) {
        return check::fault(status, values, &ServiceError::from_response(status, headers, body));
    }
    let kind = headers.get("content-type").unwrap_or_default();
    let text = body.trim_ascii();
    if text.starts_with(b"@") {
        let count = |brace: u8| text.iter().filter(|byte| **byte == brace).count();
        let is_closed = text.ends_with(b"}") && count(b'{') == count(b'}');
        return is_closed.then_some(()).ok_or("a BibTeX entry that is not closed".to_owned());
    }
    if text.starts_with(b"<?xml") {
        return ibid_extract::xml::walk(body, &mut |_| {}).map_err(|fault| format!("{fault:?}"));
    }
    let is_json = kind.is_empty() || kind.contains("json") || kind.contains("event-stream");
    if values.is_empty() && is_json && !text.is_empty() {
        Err("neither JSON nor events of JSON".to_owned())
    } else {
        Ok(())
    }
}
