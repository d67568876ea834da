//! Calls of a few interfaces, written after their documentation: enough to show that each way through the readers works.
use serde_json::{Value, json};

use super::measure;
use crate::{Outcome, generated};

/// Replays them.
pub(crate) fn small(_: &[String]) -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("calls.jsonl");
    generated::write(&path, &rows())?;
    measure(&[path])
}

fn row(api: &str, url: &str, status: u16, body: &str) -> Value {
    let method = if url.contains('?') { "GET" } else { "POST" };
    json!({"id": format!("{api}-{status}"), "api": api, "request": {"method": method, "url": url},
        "response": {"status": status, "headers": {}, "body": body}})
}

fn rows() -> Vec<Value> {
    let chat = json!({"choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Cork floats."}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}});
    let piece = |text: &str| json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]});
    let last = json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let stream = format!(
        "data: {}\n\ndata: {}\n\ndata: {last}\n\ndata: [DONE]\n\n",
        piece("Cork "),
        piece("floats.")
    );
    let message = json!({"type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Cork floats."}],
        "usage": {"input_tokens": 12, "output_tokens": 3}});
    let candidates = json!({"candidates": [{"finishReason": "STOP",
        "content": {"role": "model", "parts": [{"text": "Cork floats."}]}}],
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 3, "totalTokenCount": 15}});
    let ollama = json!({"model": "m", "done": true, "done_reason": "stop",
        "message": {"role": "assistant", "content": "Cork floats."},
        "prompt_eval_count": 12, "eval_count": 3});
    let busy = json!({"error": {"message": "Rate limit reached", "type": "rate_limit_error"}});
    let vectors = json!({"data": [{"index": 0, "embedding": [0.5, -0.25]}],
        "usage": {"prompt_tokens": 2, "total_tokens": 2}});
    let work = json!({"status": "ok", "message": {"items": [{"DOI": "10.1000/cork",
        "title": ["How cork floats"], "published": {"date-parts": [[2019, 5, 2]]}}]}});
    let found = json!({"results": [{"title": "How cork floats", "url": "https://cork.example/floats",
        "content": "Cork floats."}]});
    let links = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/elink.fcgi?id=1";
    let openai = "https://api.openai.com/v1/chat/completions";
    let google = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent";
    vec![
        row("openai", openai, 200, &chat.to_string()),
        row("openai", openai, 200, &stream),
        row("openai", openai, 429, &busy.to_string()),
        row("openai", "https://api.openai.com/v1/embeddings", 200, &vectors.to_string()),
        row("anthropic", "https://api.anthropic.com/v1/messages", 200, &message.to_string()),
        row("gemini", google, 200, &candidates.to_string()),
        row("ollama", "http://localhost:11434/api/chat", 200, &ollama.to_string()),
        row("crossref", "https://api.crossref.org/works?query=cork", 200, &work.to_string()),
        row("pubmed", links, 200, "<?xml version=\"1.0\"?><eLinkResult><LinkSet/></eLinkResult>"),
        row("tavily", "https://api.tavily.com/search", 200, &found.to_string()),
    ]
}
