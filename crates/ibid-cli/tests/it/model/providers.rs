//! The table of providers: where a model is found, with which key, and that the documentation says the same.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ibid_core::ErrorKind;
use ibid_llm::{Dialect, ModelTarget, PROVIDERS, SchemaMode};

fn find(spec: &str, vars: &[(&str, &str)]) -> ibid_core::Result<ModelTarget> {
    ModelTarget::resolve(spec, &|name| {
        vars.iter().find(|it| it.0 == name).map(|it| it.1.to_owned())
    })
}

#[test]
fn a_model_is_found_by_provider_and_name() {
    let target = find("openrouter/anthropic/claude-x", &[("OPENROUTER_API_KEY", "k")]).unwrap();
    assert_eq!(target.model, "anthropic/claude-x");
    assert_eq!(target.name(), "openrouter/anthropic/claude-x");
    assert_eq!(target.base_url, "https://openrouter.ai/api/v1");
    let target = find("gemini:gemini-x", &[("GOOGLE_API_KEY", "k")]).unwrap();
    assert_eq!(target.provider.dialect, Dialect::Gemini);
    let local = find("ollama/qwen:7b", &[]).unwrap();
    assert_eq!((local.model.as_str(), local.key), ("qwen:7b", None));
}

#[test]
fn addresses_come_from_variables_in_the_forms_people_use() {
    let base = |spec: &str, var: &str, value: &str| {
        find(spec, &[(var, value), ("AZURE_OPENAI_API_KEY", "k")]).map(|it| it.base_url)
    };
    let host = |value| base("ollama/m", "OLLAMA_HOST", value).unwrap();
    assert_eq!(host("box:1234"), "http://box:1234");
    assert_eq!(host("0.0.0.0"), "http://127.0.0.1:11434");
    assert_eq!(host("https://box/"), "https://box");
    let azure = base("azure/d", "AZURE_OPENAI_ENDPOINT", "https://x.example/").unwrap();
    assert_eq!(azure, "https://x.example/openai/v1");
    for bad in ["ftp://x", "http://user:pw@x", "http://", "not a url"] {
        let error = base("custom/m", "IBID_MODEL_BASE_URL", bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Setup, "{bad}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let error = find("groq/m", &[("GROQ_API_KEY", " ")]).unwrap_err();
    assert_eq!(
        (error.kind(), error.hint()),
        (ErrorKind::Setup, Some("set GROQ_API_KEY to your key"))
    );
    let error = find("azure/m", &[]).unwrap_err();
    assert_eq!(error.hint(), Some("set AZURE_OPENAI_ENDPOINT to the server's URL"));
    for bad in ["gpt-5", "nobody/m", "openai/", ""] {
        assert_eq!(find(bad, &[]).unwrap_err().kind(), ErrorKind::Usage, "{bad}");
    }
}

#[test]
fn names_are_given_once() {
    let names: BTreeSet<&str> = PROVIDERS.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), PROVIDERS.len());
}

#[test]
fn the_documentation_lists_every_provider() {
    let code = |all: &[&str]| {
        let quoted: Vec<String> = all.iter().map(|it| format!("`{it}`")).collect();
        quoted.join(", ")
    };
    let mut want = String::from(
        "| provider | API | address | variable for the address | variable for the key | JSON schema |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for it in PROVIDERS {
        let speaks = match it.dialect {
            Dialect::OpenAiChat => "Chat Completions",
            Dialect::OpenAiResponses => "Responses",
            Dialect::Anthropic => "Messages",
            Dialect::Gemini => "generateContent",
            Dialect::Ollama => "Ollama's own",
            Dialect::Cohere => "Chat v2",
        };
        let schema = match it.schemas {
            SchemaMode::Native => "enforced",
            SchemaMode::JsonMode => "JSON enforced, schema in the prompt",
            SchemaMode::Tool => "by a tool",
            SchemaMode::Prompted => "in the prompt",
        };
        let address =
            if it.base_url.is_empty() { "yours".to_owned() } else { format!("`{}`", it.base_url) };
        let key = if it.needs_key { "" } else { " (optional)" };
        writeln!(
            want,
            "| `{}` | {speaks} | {address} | {} | {}{key} | {schema} |",
            it.name,
            code(it.base_vars),
            code(it.key_vars),
        )
        .unwrap();
    }
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/models.md");
    let text = fs::read_to_string(&path).unwrap();
    let from = text.find("<!-- providers:").unwrap();
    let start = from + text[from..].find('\n').unwrap() + 1;
    let end = start + text[start..].find("<!-- end -->").unwrap();
    let mut fresh = text.clone();
    fresh.replace_range(start..end, &want);
    let accepted = std::env::var_os("IBID_ACCEPT").is_some();
    if accepted {
        fs::write(&path, &fresh).unwrap();
    }
    assert!(
        text == fresh || accepted,
        "docs/models.md is behind the table: IBID_ACCEPT=1 cargo test mends it"
    );
}
