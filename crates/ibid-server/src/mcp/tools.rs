//! The tools: what a model reads about each, and the schemas of its arguments and results.
use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::arguments::{
    AgenticSearchInput, ClaimsInput, FetchInput, ResultInput, SearchInput, StartInput, WaitInput,
};
use crate::request::{ResearchRequest, tool_schema};

/// All tools, in the order in which hosts list them.
pub(super) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool(
            "deep_research",
            "Deep research",
            "Researches a question over several rounds in PubMed, the web, the scholarly record and the operator's documents, and answers with inline citations, each an exact quote checked by code. Use it for questions that need several sources, current or scholarly evidence, or a cited report. Do not use it if one search or your own knowledge suffices. It takes minutes: ask the user first. If it has not ended in time, call research_wait with the run_id.",
            deep_research_schema(),
            None,
        ),
        tool(
            "agentic_search",
            "Agentic search",
            "Finds evidence for a question over up to three rounds and returns it without prose: passages by source with their scores, and how far each topic is covered. Use it if you want to write the answer yourself. If it has not ended in time, call research_wait with the run_id.",
            tool_schema::<AgenticSearchInput>(),
            None,
        ),
        tool(
            "research",
            "Start research",
            "Starts research and returns at once with a run_id. Then call research_wait until status is completed, and research_result for the text.",
            tool_schema::<StartInput>(),
            Some(run_state()),
        ),
        tool(
            "research_wait",
            "Wait for research",
            "Waits up to wait_s seconds and returns the progress, or the summary, findings, sources and checks once the run has ended. `action` finish writes the report from the evidence so far; cancel stops the run without a report. `steer` adds a question before the report is written.",
            tool_schema::<WaitInput>(),
            Some(run_state()),
        ),
        tool(
            "research_result",
            "Read a result",
            "Returns a part of a run's result: summary, full, evidence, sources or section:N. Long texts are returned in pieces; continue with `offset`.",
            tool_schema::<ResultInput>(),
            Some(text_part()),
        ),
        tool(
            "search",
            "Search",
            "Searches the server's documents, its search engines and the pages of earlier runs once, without reading any page. Returns results with ids for fetch. Use it to look something up; for an answer with checked quotes use deep_research.",
            tool_schema::<SearchInput>(),
            None,
        ),
        tool(
            "fetch",
            "Fetch",
            "Returns the full text of a search result; with `find`, only its passages with given words; with `offset` and `max_chars`, a piece of it. Continue with `next_offset`.",
            tool_schema::<FetchInput>(),
            None,
        ),
        tool(
            "check_claims",
            "Check claims",
            "Checks each claim of a Markdown text against the sources it cites: supported, contradicted or not found, with the words of the source. Use it on your own draft before you show it.",
            tool_schema::<ClaimsInput>(),
            Some(checked_claims()),
        ),
    ]
});

/// A tool that changes nothing and reaches beyond the server.
fn tool(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    input: Map<String, Value>,
    output: Option<Value>,
) -> Tool {
    let tool = Tool::new(name, description, Arc::new(input)).with_title(title).with_annotations(
        ToolAnnotations::new().read_only(true).destructive(false).open_world(true),
    );
    match output {
        Some(Value::Object(output)) => tool.with_raw_output_schema(Arc::new(output)),
        _ => tool,
    }
}

/// The fields of a research request. `query` is accepted as well, but a model needs to know one name only.
fn deep_research_schema() -> Map<String, Value> {
    let mut schema = tool_schema::<ResearchRequest>();
    schema.insert("required".to_owned(), json!(["question"]));
    if let Some(properties) = schema.get_mut("properties") {
        properties["max_iterations"]["default"] = json!(10);
        properties["ask"]["description"] = json!(
            "Whether to ask clarifying questions if the question is unclear. Default: true if the host can show a form."
        );
    }
    schema
}

/// The state of a run.
fn run_state() -> Value {
    json!({
        "type": "object",
        "properties": {
            "run_id": {"type": "string"},
            "status": {"type": "string"},
            "poll_after_s": {"type": "integer"},
            "progress": {"type": "object"},
            "next": {"type": "string"}
        },
        "required": ["run_id", "status"]
    })
}

/// A part of a text.
fn text_part() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "next_offset": {"type": ["integer", "null"]},
            "total_chars": {"type": "integer"}
        },
        "required": ["text", "total_chars"]
    })
}

/// Claims, each with its verdict.
fn checked_claims() -> Value {
    json!({
        "type": "object",
        "properties": {"claims": {"type": "array", "items": {"type": "object"}}},
        "required": ["claims"]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str) -> Map<String, Value> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        (*tool.input_schema).clone()
    }

    #[test]
    fn hosts_get_plain_schemas_without_references_and_null() {
        for tool in TOOLS.iter() {
            let schema = Value::Object(input(&tool.name));
            let text = schema.to_string();
            assert_eq!(schema["type"], "object", "{text}");
            assert_eq!(schema["additionalProperties"], false, "{text}");
            for absent in ["$ref", "null", "oneOf", "pattern", "$schema", "uint"] {
                assert!(!text.contains(absent), "{}: {absent} in {text}", tool.name);
            }
        }
        assert_eq!(input("deep_research")["required"], json!(["question"]));
        assert_eq!(input("agentic_search")["required"], json!(["query"]));
        assert_eq!(input("agentic_search")["properties"]["max_iterations"]["default"], 3);
    }
}
