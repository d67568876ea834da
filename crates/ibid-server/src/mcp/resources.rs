//! Resources and prompts: reports to read, and templates of questions.
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ReadResourceResult,
};
use serde_json::{Value, json};

use super::protocol::{McpResult, complete_result, to_error_data};
use super::server::McpServer;
use crate::request_service::CallerService;
use ibid_report::{evidence, markdown};

/// Maximum number of runs listed as resources.
const MAX_LISTED: usize = 50;

/// Name, description, arguments (name and description) and text.
type PromptTemplate =
    (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

/// The offered prompts.
const PROMPTS: [PromptTemplate; 4] = [
    (
        "literature_review",
        "Reviews the literature on a question.",
        &[("question", "The question of the review")],
        "Use the research tool with effort deep and engines scholar on this question, wait until it ends with research_wait, then read the whole result and return it with its citations unchanged: {question}",
    ),
    (
        "compare",
        "Compares two things, with sources.",
        &[
            ("a", "The first thing"),
            ("b", "The second thing"),
            ("criteria", "The criteria of the comparison"),
        ],
        "Use deep_research to find out how {a} compares with {b} by {criteria}. Give a table with a citation in each cell, and say where sources disagree.",
    ),
    (
        "fact_check",
        "Checks a text claim by claim.",
        &[("text", "The text")],
        "Call check_claims with this text. For each claim that is not supported, use agentic_search to look for evidence. Then list every claim with its verdict and the exact words behind it:\n\n{text}",
    ),
    (
        "brief",
        "Answers a question in one line with sources.",
        &[("question", "The question")],
        "Use research with output answer on this question, wait until it ends, and return the line with its sources: {question}",
    ),
];

pub(super) fn prompts() -> McpResult<ListPromptsResult> {
    let each = PROMPTS.iter().map(|(name, does, arguments, _)| {
        let arguments = arguments.iter();
        let arguments: Vec<Value> = arguments
            .map(|(name, what)| json!({"name": name, "description": what, "required": true}))
            .collect();
        json!({"name": name, "description": does, "arguments": arguments})
    });
    complete_result(json!({"prompts": each.collect::<Vec<Value>>()}))
}

pub(super) fn prompt(request: &GetPromptRequestParams) -> McpResult<GetPromptResult> {
    let Some((_, does, arguments, text)) = PROMPTS.iter().find(|prompt| prompt.0 == request.name)
    else {
        return Err(ErrorData::invalid_params("unknown prompt", None));
    };
    let mut text = (*text).to_owned();
    for (name, _) in *arguments {
        let given = request.arguments.as_ref().and_then(|arguments| arguments.get(*name));
        let Some(given) = given.and_then(|it| json!(it).as_str().map(str::to_owned)) else {
            return Err(ErrorData::invalid_params(format!("argument `{name}` is missing"), None));
        };
        text = text.replace(&format!("{{{name}}}"), &given);
    }
    complete_result(json!({
        "description": does,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}

pub(super) fn resource_templates() -> McpResult<ListResourceTemplatesResult> {
    complete_result(json!({"resourceTemplates": [
        {"uriTemplate": "ibid://runs/{id}/report.md", "name": "report", "mimeType": "text/markdown", "description": "The report of a run."},
        {"uriTemplate": "ibid://runs/{id}/evidence.jsonl", "name": "evidence", "mimeType": "application/jsonl", "description": "The evidence of a run, one piece per line."},
        {"uriTemplate": "ibid://runs/{id}/sources.json", "name": "sources", "mimeType": "application/json", "description": "The sources that a run has read."},
    ]}))
}

impl McpServer {
    pub(super) async fn resources(
        &self,
        service: &CallerService,
    ) -> McpResult<ListResourcesResult> {
        let rows = service.rows().await.map_err(|error| to_error_data(&error))?;
        let each = rows.iter().filter(|row| row.status.ended()).take(MAX_LISTED).map(|row| {
            json!({
                "uri": format!("ibid://runs/{}/report.md", row.run_id),
                "name": row.run_id,
                "title": row.question,
                "mimeType": "text/markdown",
            })
        });
        complete_result(json!({"resources": each.collect::<Vec<Value>>()}))
    }

    pub(super) async fn resource(
        &self,
        service: &CallerService,
        uri: &str,
    ) -> McpResult<ReadResourceResult> {
        let gone = || ErrorData::resource_not_found("unknown resource", Some(json!({"uri": uri})));
        let path = uri.strip_prefix("ibid://runs/").ok_or_else(gone)?;
        let (id, part) = path.split_once('/').ok_or_else(gone)?;
        let handle = service.run(id).await.map_err(|_| gone())?;
        let events = handle.events(0).await.map_err(|error| to_error_data(&error))?;
        let run = ibid_core::record::Run::from_events(handle.id().clone(), &events);
        let (kind, text) = match part {
            "report.md" => {
                let report = run.report.as_deref().ok_or_else(gone)?;
                ("text/markdown", markdown::report(report, true))
            }
            "evidence.jsonl" => ("application/jsonl", evidence::to_jsonl(&events)),
            "sources.json" => ("application/json", json!(run.sources).to_string()),
            _ => return Err(gone()),
        };
        complete_result(json!({"contents": [{"uri": uri, "mimeType": kind, "text": text}]}))
    }
}
