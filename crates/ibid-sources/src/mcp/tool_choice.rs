//! Which tools of a server are called: those that the configuration names, else `search` and `fetch`.
use rmcp::model::Tool;
use serde_json::Value;

use super::answer::visible;
use super::config::McpSourceConfig;
use ibid_core::{Error, ErrorKind, Result};

/// Names of the argument of a search tool.
const QUERY_ARGS: &[&str] = &["query", "q", "search_query", "text"];
/// Names of the argument of a fetch tool.
const ID_ARGS: &[&str] = &["id", "uri", "url", "path"];
/// Maximum number of tool names that a message lists, and of characters of a name.
const SHOWN_NAMES: usize = 12;
const SHOWN_CHARS: usize = 40;

/// A tool and the name of its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpTool {
    pub(super) name: String,
    pub(super) arg: &'static str,
}

/// The tools that are called. No other tool of the server ever is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolChoice {
    pub(super) search: McpTool,
    pub(super) fetch: Option<McpTool>,
}

/// Chooses among the tools of a server. Of a tool, only its name, the names and types of its arguments and its hints are
/// looked at: its description is text of a stranger.
///
/// # Errors
/// `Setup` if there is no tool that searches, if a configured tool is missing or states that it changes things, or if it
/// takes other arguments.
pub(super) fn choose(config: &McpSourceConfig, tools: &[Tool]) -> Result<ToolChoice> {
    let name = config.search_tool.as_deref().unwrap_or("search");
    let search = find(config, tools, name, QUERY_ARGS)?;
    let fetch = match config.fetch_tool.as_deref() {
        Some(name) => Some(find(config, tools, name, ID_ARGS)?),
        // A tool named fetch beside a search tool of another name may be anything.
        None if config.search_tool.is_none() => find(config, tools, "fetch", &["id"]).ok(),
        None => None,
    };
    Ok(ToolChoice { search, fetch })
}

fn find(
    config: &McpSourceConfig,
    tools: &[Tool],
    name: &str,
    args: &[&'static str],
) -> Result<McpTool> {
    let engine = config.engine_name();
    let fault = |what: String| Error::new(ErrorKind::Setup, format!("{engine}: {what}"));
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names = tools.iter().take(SHOWN_NAMES).map(|tool| shown(&tool.name));
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(fault(format!("the server has no tool `{name}`")).with_hint(format!(
            "name its search tool with `search = \"…\"` in the configuration; it has: {names}"
        )));
    };
    let hints = tool.annotations.as_ref();
    // The hint says nothing where the tool is read-only.
    let read_only = hints.and_then(|it| it.read_only_hint);
    let destructive = hints.and_then(|it| it.destructive_hint) == Some(true);
    if destructive && read_only != Some(true) {
        return Err(fault(format!("the tool `{name}` states that it changes or deletes things"))
            .with_hint("name a tool that only reads"));
    }
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let is_text = |arg: &&&str| {
        properties.and_then(|all| all.get(**arg)).is_some_and(|schema| schema["type"] == "string")
    };
    let arg = args.iter().find(is_text).copied();
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let others = |arg: &str| required.is_some_and(|all| all.iter().any(|it| it != arg));
    match arg {
        Some(arg) if !others(arg) => Ok(McpTool { name: name.to_owned(), arg }),
        _ => Err(fault(format!(
            "the tool `{name}` does not take one text named {} alone",
            args.join(" or ")
        ))),
    }
}

/// A name of a stranger, for the operator.
fn shown(name: &str) -> String {
    visible(name).take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::McpEndpoint;
    use serde_json::json;

    fn config(search_tool: Option<&str>) -> McpSourceConfig {
        McpSourceConfig {
            name: "docs".to_owned(),
            endpoint: McpEndpoint::Url { url: "http://127.0.0.1:1".to_owned(), token: None },
            search_tool: search_tool.map(str::to_owned),
            fetch_tool: None,
        }
    }

    fn tool(name: &str, arg: &str, hints: Value) -> Tool {
        let schema =
            json!({"type": "object", "properties": {arg: {"type": "string"}}, "required": [arg]});
        serde_json::from_value(json!({"name": name, "inputSchema": schema, "annotations": hints}))
            .unwrap()
    }

    #[test]
    fn only_tools_that_read_and_take_one_text_are_chosen() {
        let tools = [
            tool("search", "query", json!({"readOnlyHint": true})),
            tool("fetch", "id", json!({})),
            tool("wipe", "query", json!({"destructiveHint": true})),
            tool("find", "q", json!({})),
            tool("move", "target", json!({})),
        ];
        let chosen = choose(&config(None), &tools).unwrap();
        assert_eq!((chosen.search.arg, chosen.fetch.unwrap().name.as_str()), ("query", "fetch"));
        let chosen = choose(&config(Some("find")), &tools).unwrap();
        assert_eq!((chosen.search.arg, chosen.fetch), ("q", None));
        for (name, says) in [("wipe", "changes"), ("move", "one text"), ("none", "no tool")] {
            let fault = choose(&config(Some(name)), &tools).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Setup);
            assert!(fault.chain().contains(says), "{}", fault.chain());
        }
    }
}
