//! The API described for programs: `/openapi.json`. A test holds it to the routes there are.
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::surfaces::export::Form;

/// A route: method, path, what it does, names of query parameters, schema of its body, statuses and schemas of its answers.
struct Route {
    method: &'static str,
    path: &'static str,
    does: &'static str,
    query: &'static [&'static str],
    body: Option<&'static str>,
    answers: &'static [(u16, &'static str)],
}

const fn route(
    method: &'static str,
    path: &'static str,
    does: &'static str,
    query: &'static [&'static str],
    body: Option<&'static str>,
    answers: &'static [(u16, &'static str)],
) -> Route {
    Route {
        method,
        path,
        does,
        query,
        body,
        answers,
    }
}

/// A page for browsers, or a form that one sends: what comes of it is HTML, or leads to it.
const fn page(
    method: &'static str,
    path: &'static str,
    does: &'static str,
    query: &'static [&'static str],
) -> Route {
    let body = match method.as_bytes() {
        b"post" => Some("Form"),
        _ => None,
    };
    route(
        method,
        path,
        does,
        query,
        body,
        &[(200, "Page"), (303, "Page")],
    )
}

/// Every route of the API, and every page.
const ROUTES: &[Route] = &[
    route(
        "post",
        "/v1/runs",
        "Accept a question. It is on disk when this answers, and is worked on whoever stays connected.",
        &["wait", "shape"],
        Some("Question"),
        &[(200, "Run"), (202, "Run")],
    ),
    route(
        "get",
        "/v1/runs",
        "Your runs, newest first.",
        &["status", "q", "limit", "after"],
        None,
        &[(200, "Rows")],
    ),
    route(
        "get",
        "/v1/runs/{id}",
        "Where a run stands, and its result once there is one.",
        &["wait", "shape"],
        None,
        &[(200, "Run")],
    ),
    route(
        "delete",
        "/v1/runs/{id}",
        "Forget an ended run.",
        &[],
        None,
        &[(200, "Deleted")],
    ),
    route(
        "get",
        "/v1/runs/{id}/events",
        "What happened, as server-sent events that go on after Last-Event-ID; as a list with Accept: application/json.",
        &["after", "limit"],
        None,
        &[(200, "Events")],
    ),
    route(
        "post",
        "/v1/runs/{id}/finish",
        "Write with what there is.",
        &[],
        None,
        &[(202, "Run")],
    ),
    route(
        "post",
        "/v1/runs/{id}/cancel",
        "Stop for good.",
        &[],
        None,
        &[(202, "Run")],
    ),
    route(
        "post",
        "/v1/runs/{id}/steer",
        "Say what you want to know besides; it is gathered for before the report is written.",
        &[],
        Some("Steer"),
        &[(202, "Run")],
    ),
    route(
        "post",
        "/v1/runs/{id}/approve",
        "Go by the plan that waits, by another, or make it anew.",
        &[],
        Some("Approval"),
        &[(202, "Run")],
    ),
    route(
        "post",
        "/v1/runs/{id}/answers",
        "Answer the questions back.",
        &[],
        Some("Answers"),
        &[(202, "Run")],
    ),
    route(
        "post",
        "/v1/runs/{id}/rating",
        "Say whether the report was good.",
        &[],
        Some("Rating"),
        &[(200, "Rated")],
    ),
    route(
        "get",
        "/v1/runs/{id}/evidence",
        "Each piece of evidence as it was found.",
        &[],
        None,
        &[(200, "List")],
    ),
    route(
        "get",
        "/v1/runs/{id}/sources",
        "What was read.",
        &[],
        None,
        &[(200, "List")],
    ),
    route(
        "get",
        "/v1/runs/{id}/coverage",
        "How far each item of the plan is covered.",
        &[],
        None,
        &[(200, "List")],
    ),
    route(
        "get",
        "/v1/runs/{id}/plan",
        "The plan.",
        &[],
        None,
        &[(200, "Plan")],
    ),
    route(
        "get",
        "/v1/runs/{id}/trace",
        "Every call to the outside, in order.",
        &[],
        None,
        &[(200, "List")],
    ),
    route(
        "get",
        "/v1/runs/{id}/egress",
        "Which hosts were contacted, how often, with how many bytes.",
        &[],
        None,
        &[(200, "Object")],
    ),
    route(
        "get",
        "/v1/runs/{id}/pages/{hash}",
        "A page that the report rests on, as text.",
        &[],
        None,
        &[(200, "Object")],
    ),
    route(
        "get",
        "/v1/runs/{id}/{file}",
        "The report: report.md, report.json, report.docx and its other forms; an unknown one is answered with their names.",
        &["style"],
        None,
        &[(200, "Report")],
    ),
    route(
        "get",
        "/v1/runs/{a}/diff/{b}",
        "What changed from one run to another.",
        &[],
        None,
        &[(200, "Object")],
    ),
    route(
        "post",
        "/v1/plan",
        "What would be done with a question, and what it may cost; nothing is spent.",
        &[],
        Some("Question"),
        &[(200, "Plan")],
    ),
    route(
        "post",
        "/v1/responses",
        "OpenAI's Responses API: in the background, as a stream, or waited for.",
        &[],
        Some("ResponseRequest"),
        &[(200, "Response")],
    ),
    route(
        "get",
        "/v1/responses/{id}",
        "A response as it stands, or as a stream that goes on after starting_after.",
        &["stream", "starting_after"],
        None,
        &[(200, "Response")],
    ),
    route(
        "delete",
        "/v1/responses/{id}",
        "Forget an ended response.",
        &[],
        None,
        &[(200, "Object")],
    ),
    route(
        "post",
        "/v1/responses/{id}/cancel",
        "Stop a response for good.",
        &[],
        None,
        &[(200, "Response")],
    ),
    route(
        "post",
        "/v1/responses/{id}/finish",
        "Have a response written with what there is.",
        &[],
        None,
        &[(200, "Response")],
    ),
    route(
        "post",
        "/v1/responses/{id}/steer",
        "Say what you want to know besides.",
        &[],
        Some("Steer"),
        &[(200, "Response")],
    ),
    route(
        "post",
        "/v1/chat/completions",
        "OpenAI's Chat Completions, with the extras of jina's and Perplexity's.",
        &["think_tags"],
        Some("ChatRequest"),
        &[(200, "Completion")],
    ),
    route(
        "get",
        "/v1/models",
        "What can be asked for.",
        &[],
        None,
        &[(200, "Models")],
    ),
    route(
        "get",
        "/v1/models/{id}",
        "One of them.",
        &[],
        None,
        &[(200, "Object")],
    ),
    route(
        "get",
        "/metrics",
        "What is counted, for Prometheus.",
        &[],
        None,
        &[(200, "Metrics")],
    ),
    route(
        "get",
        "/healthz",
        "Whether the process lives.",
        &[],
        None,
        &[(200, "Health")],
    ),
    route(
        "get",
        "/readyz",
        "Whether it can take questions.",
        &[],
        None,
        &[(200, "Health")],
    ),
    route(
        "get",
        "/openapi.json",
        "This document.",
        &[],
        None,
        &[(200, "Object")],
    ),
    route(
        "get",
        "/llms.txt",
        "The server in words, for language models.",
        &[],
        None,
        &[(200, "Text")],
    ),
    page(
        "get",
        "/",
        "The runs, newest first, for a browser.",
        &["q", "status", "after"],
    ),
    page("get", "/new", "The form of a question.", &[]),
    page(
        "post",
        "/new",
        "Show the plan of a question, or begin its run.",
        &[],
    ),
    page("get", "/r/{id}", "A run as it goes.", &["before"]),
    page("get", "/r/{id}/live", "The part of it that changes.", &[]),
    page("get", "/r/{id}/report", "The report.", &["cite"]),
    page(
        "get",
        "/r/{id}/quote/{k}",
        "A quote of the report beside the page it stands in.",
        &[],
    ),
    page(
        "get",
        "/r/{id}/evidence",
        "What was found, passage by passage.",
        &["item", "from"],
    ),
    page(
        "get",
        "/r/{id}/sources",
        "What was read, and what came of it.",
        &[],
    ),
    page(
        "get",
        "/r/{id}/timeline",
        "When what happened, drawn and as a table.",
        &["from", "to"],
    ),
    page(
        "get",
        "/r/{id}/trace",
        "Every call to the outside.",
        &["from"],
    ),
    page(
        "get",
        "/r/{id}/trace/{n}",
        "One of them: what was asked, what came back.",
        &[],
    ),
    page("post", "/r/{id}/finish", "Write with what there is.", &[]),
    page(
        "post",
        "/r/{id}/steer",
        "Say what you want to know besides.",
        &[],
    ),
    page("post", "/r/{id}/cancel", "Stop for good.", &[]),
    page(
        "post",
        "/r/{id}/approve",
        "Go by the plan that waits, or have it made anew.",
        &[],
    ),
    page("post", "/r/{id}/answers", "Answer the questions back.", &[]),
    page(
        "post",
        "/r/{id}/rate",
        "Say whether the report was good.",
        &[],
    ),
    page("post", "/r/{id}/follow", "Ask on after the report.", &[]),
    page(
        "get",
        "/diff/{a}/{b}",
        "What changed from one run to another.",
        &[],
    ),
    page("get", "/costs", "What your runs come to.", &[]),
    page(
        "get",
        "/doctor",
        "Whether everything is set up; for the operator.",
        &[],
    ),
    page(
        "post",
        "/doctor",
        "The same, with those outside asked too.",
        &[],
    ),
    page("get", "/login", "Where to sign in.", &["next"]),
    page("post", "/login", "Sign in with a token.", &[]),
    page("post", "/logout", "Sign out.", &[]),
    page(
        "get",
        "/assets/style.css",
        "The stylesheet of the pages.",
        &[],
    ),
    page("get", "/assets/script.js", "The script of the pages.", &[]),
    page("get", "/assets/icon.svg", "The sign in the tab.", &[]),
    page(
        "get",
        "/favicon.ico",
        "The same, where browsers look by themselves.",
        &[],
    ),
];

/// `GET /openapi.json`.
pub(super) async fn document() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/json")],
        described().to_string(),
    )
}

/// Method and path of every route that is described.
#[cfg(test)]
pub(super) fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().map(|it| (it.method, it.path))
}

/// The document.
pub(super) fn described() -> Value {
    let mut paths = serde_json::Map::new();
    for it in ROUTES {
        let entry = paths.entry(it.path).or_insert_with(|| json!({}));
        entry[it.method] = operation(it);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ibid",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Deep research whose every quote is checked against the page.",
        },
        "paths": paths,
        "components": {
            "schemas": serde_json::from_str::<Value>(SCHEMAS).unwrap_or_default(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    })
}

/// The schemas that routes name.
const SCHEMAS: &str = include_str!("schemas.json");

fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn operation(it: &Route) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    for name in it
        .path
        .split('/')
        .filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'))
    {
        parameters.push(
            json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
        );
    }
    for name in it.query {
        parameters.push(json!({"name": name, "in": "query", "required": false, "schema": schema(&format!("query_{name}"))}));
    }
    if it.path == "/v1/runs/{id}/events" {
        parameters.push(json!({"name": "Last-Event-ID", "in": "header", "required": false, "schema": schema("query_after_event")}));
    }
    let mut responses = serde_json::Map::new();
    for (status, name) in it.answers {
        responses.insert(
            status.to_string(),
            json!({"description": it.does, "content": content(it, name)}),
        );
    }
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "What went wrong, and what would help.",
            "content": {"application/json": {"schema": schema("Fault")}},
        }),
    );
    let mut out = json!({"summary": it.does, "parameters": parameters, "responses": responses});
    if let Some(name) = it.body {
        let required = !["Approval", "Form"].contains(&name);
        let kind = match name {
            "Form" => "application/x-www-form-urlencoded",
            _ => "application/json",
        };
        out["requestBody"] = json!({
            "required": required,
            "content": {kind: {"schema": schema(name)}},
        });
    }
    out
}

fn content(it: &Route, name: &str) -> Value {
    match (it.path, name) {
        (_, "Events") => json!({
            "text/event-stream": {},
            "application/json": {"schema": schema("List")},
        }),
        (_, "Report") => Form::ALL
            .iter()
            .filter(|it| it.is_built())
            .map(|it| {
                let of = match it {
                    Form::Json => schema("Object"),
                    _ => json!({"type": "string"}),
                };
                (it.about().media.to_owned(), json!({"schema": of}))
            })
            .collect::<serde_json::Map<String, Value>>()
            .into(),
        (_, "Response" | "Completion") => json!({
            "application/json": {"schema": schema(name)},
            "text/event-stream": {},
        }),
        (_, "Metrics") => json!({"application/openmetrics-text": {"schema": {"type": "string"}}}),
        ("/assets/style.css", _) => json!({"text/css": {"schema": {"type": "string"}}}),
        ("/assets/script.js", _) => json!({"text/javascript": {"schema": {"type": "string"}}}),
        ("/assets/icon.svg" | "/favicon.ico", _) => {
            json!({"image/svg+xml": {"schema": {"type": "string"}}})
        }
        (_, "Page") => json!({"text/html": {"schema": {"type": "string"}}}),
        (_, "Text") => json!({"text/plain": {"schema": {"type": "string"}}}),
        _ => json!({"application/json": {"schema": schema(name)}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_no_other() {
        let source = [include_str!("mod.rs"), include_str!("viewer/mod.rs")].concat();
        let mut there: Vec<(String, String)> = Vec::new();
        for rest in source.split(".route(").skip(1) {
            let (path, rest) = rest.split_once('"').unwrap().1.split_once('"').unwrap();
            let handlers = rest.split(".layer(").next().unwrap();
            for method in ["get", "post", "delete"] {
                if handlers.contains(&format!("{method}(")) {
                    there.push((method.to_owned(), path.to_owned()));
                }
            }
        }
        let mut described: Vec<(String, String)> = routes()
            .map(|it| (it.0.to_owned(), it.1.to_owned()))
            .collect();
        there.sort();
        described.sort();
        assert_eq!(there, described);
    }

    #[test]
    fn every_schema_that_is_named_is_there() {
        let document = described();
        let all = document["components"]["schemas"].as_object().unwrap();
        assert!(!all.is_empty());
        for part in document.to_string().split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(all.contains_key(name), "{name}");
        }
    }
}
