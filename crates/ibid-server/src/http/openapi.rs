//! The OpenAPI document of the API, `/openapi.json`. A test compares it with the router.
use axum::extract::Extension;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::request_service::CallerService;
use ibid::app::engines;
use ibid_report::ReportFormat;

mod error_statuses;
mod routes;
mod schemas;

use error_statuses::DOCUMENTED_STATUSES;
use routes::{ROUTES, Route};

/// `GET /openapi.json`, with the folders and models of this server unless the caller is unauthenticated.
pub(super) async fn document(Extension(service): Extension<CallerService>) -> impl IntoResponse {
    let mut document = build_document();
    document["components"]["schemas"]["Engine"]["enum"] = engines::selector_names().into();
    if !service.caller().is_anonymous() {
        add_offered_names(&mut document["components"]["schemas"], &service);
    }
    ([(header::CONTENT_TYPE, "application/json")], document.to_string())
}

/// Adds the folders and models that the caller may name, and whether webhooks are supported.
fn add_offered_names(schemas: &mut Value, service: &CallerService) {
    let folders = service.folder_aliases();
    if folders.is_empty() {
        // No folder is served, so no value is valid.
        schemas["Folder"] = json!({"not": {}});
    } else {
        schemas["Folder"]["enum"] = json!(folders);
    }
    let models = service.models().into_iter().map(Value::from);
    let all = [Value::from(""), "none".into()];
    schemas["Model"]["enum"] = all.into_iter().chain(models).collect();
    if !service.has_webhooks() {
        schemas["Webhook"] = json!({"not": {}});
    }
}

/// Method and path of every documented route.
#[cfg(test)]
pub(super) fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.method, route.path))
}

/// The document without names of this server.
pub(super) fn build_document() -> Value {
    let (mut paths, mut pages) = (serde_json::Map::new(), serde_json::Map::new());
    for it in ROUTES {
        let all = if it.is_page() { &mut pages } else { &mut paths };
        let entry = all.entry(it.path).or_insert_with(|| json!({}));
        entry[it.method] = operation(it);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ibid",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Deep research in which every quote is checked against its page.",
        },
        "paths": paths,
        // Pages are not part of the API: their forms are accepted only from the viewer.
        "x-pages": pages,
        "components": {
            "schemas": schemas::components(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    })
}

fn schema_ref(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn operation(it: &Route) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    for name in it.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let schema = match name {
            // Other names in this position are separate routes.
            "file" => json!({"enum": report_file_names()}),
            _ => json!({"type": "string"}),
        };
        parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    let events = it.path == "/v1/runs/{id}/events";
    for name in it.query {
        // Events have other limits than runs.
        let of = if events { "_event" } else { "" };
        parameters.push(json!({"name": name, "in": "query", "required": false, "schema": schema_ref(&format!("query_{name}{of}"))}));
    }
    if events {
        parameters.push(json!({"name": "Last-Event-ID", "in": "header", "required": false, "schema": schema_ref("query_after_event")}));
    }
    let mut responses = serde_json::Map::new();
    for (status, name) in it.answers {
        responses.insert(
            status.to_string(),
            json!({"description": it.does, "content": response_content(it, name)}),
        );
    }
    let refused = |when: &str| json!({"description": when, "content": {"application/json": {"schema": schema_ref("Fault")}}});
    for refusal in DOCUMENTED_STATUSES.iter().filter(|refusal| refusal.applies_to(it)) {
        responses.insert(refusal.status.to_string(), refused(refusal.when));
    }
    let failed = "The error, with a hint.";
    responses.insert("default".to_owned(), refused(failed));
    let mut out = json!({"summary": it.does, "parameters": parameters, "responses": responses});
    if let Some(name) = it.body {
        let required = !["Approval", "Form", "ShareAsked"].contains(&name);
        let kind = match name {
            "Form" => "application/x-www-form-urlencoded",
            _ => "application/json",
        };
        out["requestBody"] = json!({
            "required": required,
            "content": {kind: {"schema": schema_ref(name)}},
        });
    }
    out
}

/// The file name of the report in each format.
fn report_file_names() -> Vec<String> {
    let built = ReportFormat::ALL.iter().filter(|it| it.is_built());
    built.map(|it| format!("report.{}", it.info().name)).collect()
}

fn response_content(it: &Route, name: &str) -> Value {
    match (it.path, name) {
        (_, "Events") => json!({
            "text/event-stream": {},
            "application/json": {"schema": schema_ref("List")},
        }),
        (_, "Report") => ReportFormat::ALL
            .iter()
            .filter(|it| it.is_built())
            .map(|it| {
                let of = match it {
                    ReportFormat::Json => schema_ref("Object"),
                    _ => json!({"type": "string"}),
                };
                (it.info().media_type.to_owned(), json!({"schema": of}))
            })
            .collect::<serde_json::Map<String, Value>>()
            .into(),
        (_, "Response" | "Completion") => json!({
            "application/json": {"schema": schema_ref(name)},
            "text/event-stream": {},
        }),
        (_, "Metrics") => json!({"application/openmetrics-text": {"schema": {"type": "string"}}}),
        (_, "Atom") => json!({"application/atom+xml": {"schema": {"type": "string"}}}),
        ("/assets/style.css", _) => json!({"text/css": {"schema": {"type": "string"}}}),
        ("/assets/script.js", _) => json!({"text/javascript": {"schema": {"type": "string"}}}),
        ("/assets/icon.svg" | "/favicon.ico", _) => {
            json!({"image/svg+xml": {"schema": {"type": "string"}}})
        }
        (_, "Page") => json!({"text/html": {"schema": {"type": "string"}}}),
        (_, "Text") => json!({"text/plain": {"schema": {"type": "string"}}}),
        _ => json!({"application/json": {"schema": schema_ref(name)}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_no_other() {
        let source = [include_str!("router.rs"), include_str!("viewer/mod.rs")].concat();
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
        let mut described: Vec<(String, String)> =
            routes().map(|route| (route.0.to_owned(), route.1.to_owned())).collect();
        there.sort();
        described.sort();
        assert_eq!(there, described);
    }

    #[test]
    fn events_are_counted_and_reports_named_by_their_forms() {
        let document = build_document();
        let parameters = |path: &str| document["paths"][path]["get"]["parameters"].clone();
        let of = |all: &Value, name: &str| {
            let all = all.as_array().unwrap();
            all.iter().find(|value| value["name"] == name).unwrap()["schema"].clone()
        };
        let events = parameters("/v1/runs/{id}/events");
        assert_eq!(of(&events, "after"), schema_ref("query_after_event"));
        assert_eq!(of(&events, "limit"), schema_ref("query_limit_event"));
        let runs = parameters("/v1/runs");
        assert_eq!(of(&runs, "after"), schema_ref("query_after"));
        let file = of(&parameters("/v1/runs/{id}/{file}"), "file");
        assert!(file["enum"].as_array().unwrap().contains(&json!("report.md")));
    }

    #[test]
    fn every_schema_that_is_named_is_there() {
        let document = build_document();
        let all = document["components"]["schemas"].as_object().unwrap();
        assert!(!all.is_empty());
        for part in document.to_string().split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(all.contains_key(name), "{name}");
        }
    }
}
