//! Resources and prompts: reports to read, and ways to ask.
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ReadResourceResult,
};
use serde_json::{Value, json};

use super::{Answer, Mcp, complete, fault};
use crate::surfaces::desk::CallerService;
use crate::surfaces::export::{evidence, markdown};

/// Runs that are listed as resources.
const LISTED: usize = 50;

/// Name, what it does, and its arguments: name and what it is.
type Prompt = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

/// Ways to ask.
const PROMPTS: [Prompt; 4] = [
    (
        "literature_review",
        "Reviews what the literature says on a question.",
        &[("question", "What the review is about")],
        "Use the research tool with effort deep and engines scholar on this question, wait for its end with research_wait, then read the whole result and give it with its citations as they are: {question}",
    ),
    (
        "compare",
        "Compares two things by what sources say.",
        &[
            ("a", "The first"),
            ("b", "The second"),
            ("criteria", "What to compare them by"),
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
        "Answers in one line with sources.",
        &[("question", "The question")],
        "Use research with output answer on this question, wait for its end, and give the line with its sources: {question}",
    ),
];

pub(super) fn prompts() -> Answer<ListPromptsResult> {
    let each = PROMPTS.iter().map(|(name, does, arguments, _)| {
        let arguments = arguments.iter();
        let arguments: Vec<Value> = arguments
            .map(|(name, what)| json!({"name": name, "description": what, "required": true}))
            .collect();
        json!({"name": name, "description": does, "arguments": arguments})
    });
    complete(json!({"prompts": each.collect::<Vec<Value>>()}))
}

pub(super) fn prompt(request: &GetPromptRequestParams) -> Answer<GetPromptResult> {
    let Some((_, does, arguments, text)) = PROMPTS.iter().find(|it| it.0 == request.name) else {
        return Err(ErrorData::invalid_params("there is no such prompt", None));
    };
    let mut text = (*text).to_owned();
    for (name, _) in *arguments {
        let given = request.arguments.as_ref().and_then(|it| it.get(*name));
        let Some(given) = given.and_then(|it| json!(it).as_str().map(str::to_owned)) else {
            return Err(ErrorData::invalid_params(
                format!("{name} is missing"),
                None,
            ));
        };
        text = text.replace(&format!("{{{name}}}"), &given);
    }
    complete(json!({
        "description": does,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}

pub(super) fn templates() -> Answer<ListResourceTemplatesResult> {
    complete(json!({"resourceTemplates": [
        {"uriTemplate": "ibid://runs/{id}/report.md", "name": "report", "mimeType": "text/markdown", "description": "The report of a run."},
        {"uriTemplate": "ibid://runs/{id}/evidence.jsonl", "name": "evidence", "mimeType": "application/jsonl", "description": "Its evidence, one piece a line."},
        {"uriTemplate": "ibid://runs/{id}/sources.json", "name": "sources", "mimeType": "application/json", "description": "What it has read."},
    ]}))
}

impl Mcp {
    pub(super) async fn resources(&self, service: &CallerService) -> Answer<ListResourcesResult> {
        let rows = service.rows().await.map_err(|it| fault(&it))?;
        let each = rows
            .iter()
            .filter(|it| it.status.ended())
            .take(LISTED)
            .map(|it| {
                json!({
                    "uri": format!("ibid://runs/{}/report.md", it.run_id),
                    "name": it.run_id,
                    "title": it.question,
                    "mimeType": "text/markdown",
                })
            });
        complete(json!({"resources": each.collect::<Vec<Value>>()}))
    }

    pub(super) async fn resource(
        &self,
        service: &CallerService,
        uri: &str,
    ) -> Answer<ReadResourceResult> {
        let gone = || {
            ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))
        };
        let path = uri.strip_prefix("ibid://runs/").ok_or_else(gone)?;
        let (id, part) = path.split_once('/').ok_or_else(gone)?;
        let of = service.run(id).await.map_err(|_| gone())?;
        let events = of.events(0).await.map_err(|it| fault(&it))?;
        let run = crate::record::Run::of(of.id().clone(), &events);
        let (kind, text) = match part {
            "report.md" => {
                let report = run.report.as_deref().ok_or_else(gone)?;
                ("text/markdown", markdown::report(report, true))
            }
            "evidence.jsonl" => ("application/jsonl", evidence::lines(&events)),
            "sources.json" => ("application/json", json!(run.sources).to_string()),
            _ => return Err(gone()),
        };
        complete(json!({"contents": [{"uri": uri, "mimeType": kind, "text": text}]}))
    }
}
