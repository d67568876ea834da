//! OpenAI's APIs: the same runs, in the form that their clients read.
use serde_json::{Value, json};

use super::{Served, messages};
use crate::cli::{ASKED, TestHome};

/// The words that an annotation points at, counted in code points.
fn pointed<'t>(text: &'t str, from: &Value, to: &Value) -> Vec<&'t str> {
    let (from, to) = (from.as_u64().unwrap() as usize, to.as_u64().unwrap() as usize);
    let start = text.char_indices().nth(from).unwrap().0;
    let end = text.char_indices().nth(to).map_or(text.len(), |it| it.0);
    vec![&text[start..end]]
}

#[tokio::test]
async fn a_response_is_waited_for_and_its_marks_are_where_they_say() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let it = served
        .post(
            "/v1/responses",
            &json!({
                "model": "ibid",
                "input": ASKED,
                "metadata": {"project": "roofs"},
                "tools": [{"type": "web_search"}, {"type": "file_search"}],
                "include": ["ibid.coverage"],
            }),
        )
        .await;
    assert_eq!(it.status, 200, "{}", it.body);
    let it = it.json();
    assert_eq!(it["status"], "completed");
    assert_eq!(it["metadata"]["project"], "roofs");
    let verified = it["metadata"]["ibid.quotes_verified"].as_str().unwrap();
    let (held, total) = verified.split_once('/').unwrap();
    assert_eq!(held, total);
    let output = it["output"].as_array().unwrap();
    assert!(output.iter().any(|it| it["type"] == "reasoning"));
    assert!(output.iter().any(|it| it["type"] == "file_search_call"));
    assert!(output.iter().any(|it| it["type"] == "ibid:coverage"));
    let message = output.iter().find(|it| it["type"] == "message").unwrap();
    let text = message["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("56 %") && !text.contains("](#src"), "{text}");
    let annotations = message["content"][0]["annotations"].as_array().unwrap();
    assert!(!annotations.is_empty());
    for it in annotations {
        let at = match it["type"].as_str().unwrap() {
            "url_citation" => pointed(text, &it["start_index"], &it["end_index"])[0],
            "file_citation" => {
                let end = json!(it["index"].as_u64().unwrap() + 3);
                pointed(text, &it["index"], &end)[0]
            }
            other => panic!("{other}"),
        };
        assert!(at.starts_with('[') && at.ends_with(']'), "{at} in {text}");
    }
    let id = it["id"].as_str().unwrap();
    assert_eq!(served.get(&format!("/v1/responses/{id}")).await.json(), it);
    let next = served
        .post(
            "/v1/responses",
            &json!({"model": "ibid-answer", "input": "And how much does it weigh?", "previous_response_id": id}),
        )
        .await
        .json();
    assert_eq!(next["status"], "completed", "{next}");
    let text = next["output"].as_array().unwrap().last().unwrap()["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().chars().count() <= 140, "{text}");
}

/// The fields of a response that must be there, those that may be null after the bar.
const FIELDS: &str = "id object created_at status model output tools tool_choice truncation parallel_tool_calls text top_p \
presence_penalty frequency_penalty top_logprobs temperature store background service_tier metadata | completed_at \
incomplete_details previous_response_id instructions error reasoning usage max_output_tokens max_tool_calls \
safety_identifier prompt_cache_key";

/// Holds a response to what Open Responses knows: its fields, and no items or marks but these.
fn is_plain(it: &Value) {
    let (must, may) = FIELDS.split_once('|').unwrap();
    for name in must.split_whitespace() {
        assert!(!it[name].is_null(), "{name} in {it}");
    }
    for name in may.split_whitespace() {
        assert!(it.get(name).is_some(), "{name} in {it}");
    }
    for item in it["output"].as_array().unwrap() {
        is_plain_item(item);
    }
}

fn is_plain_item(item: &Value) {
    let fields = item.as_object().unwrap();
    assert!(fields.values().all(|it| !it.is_null()), "{item}");
    let parts = |name: &str| item[name].as_array().cloned().unwrap_or_default();
    match item["type"].as_str().unwrap() {
        "reasoning" => {
            for it in parts("summary") {
                assert_eq!(it["type"], "summary_text");
            }
        }
        "message" => {
            let marks = parts("content");
            let marks = marks.iter().flat_map(|it| it["annotations"].as_array());
            for it in marks.flatten() {
                assert_eq!(it["type"], "url_citation");
                assert!(it["url"].is_string() && it["title"].is_string(), "{it}");
            }
        }
        other => panic!("an item of type {other}"),
    }
}

#[tokio::test]
async fn who_names_no_tool_is_told_nothing_but_what_open_responses_knows() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let asked =
        json!({"model": "ibid", "input": [{"type": "message", "role": "user", "content": ASKED}]});
    let whole = served.post("/v1/responses", &asked).await.json();
    assert_eq!(whole["status"], "completed", "{whole}");
    is_plain(&whole);
    let thought = &whole["output"][0]["summary"];
    let thought: Vec<&str> =
        thought.as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert!(thought[0].starts_with("Items to answer:"), "{thought:?}");
    assert!(thought.iter().any(|it| it.starts_with("Searched local: ")), "{thought:?}");
    assert!(thought.iter().any(|it| it.starts_with("Read ")), "{thought:?}");
    let mut streaming = asked;
    streaming["stream"] = true.into();
    let told = messages(&served.post("/v1/responses", &streaming).await.body);
    let known = [
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.completed",
        "response.output_item.added",
        "response.output_item.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.output_text.annotation.added",
    ];
    // What is open, by its place in the output: every item is closed before the next begins.
    let mut open = None;
    let mut closed = Vec::new();
    for (name, _, data) in &told[..told.len() - 1] {
        assert!(known.contains(&name.as_str()), "{name}");
        let it: Value = serde_json::from_str(data).unwrap();
        if it["response"].is_object() {
            is_plain(&it["response"]);
        }
        if it["item"].is_object() {
            is_plain_item(&it["item"]);
        }
        match name.as_str() {
            "response.output_item.added" => {
                assert_eq!(open.replace(it["output_index"].clone()), None);
            }
            "response.output_item.done" => {
                assert_eq!(open.take(), Some(it["output_index"].clone()));
                closed.push(it["item"].clone());
            }
            "response.completed" => assert_eq!(it["response"]["output"], json!(closed)),
            _ if it["output_index"].is_number() => {
                assert_eq!(open.as_ref(), Some(&it["output_index"]));
            }
            _ => {}
        }
    }
    assert!(closed.len() >= 2, "{closed:?}");
}

#[tokio::test]
async fn pictures_are_not_looked_at_and_tools_of_the_callers_own_are_not_called() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"});
    let content = json!([{"type": "input_text", "text": ASKED}, picture]);
    let it = served
        .post("/v1/responses", &json!({"input": [{"role": "user", "content": content}]}))
        .await
        .json();
    assert_eq!(it["status"], "completed", "{it}");
    assert_eq!(it["metadata"]["ibid.unseen"], "1 image", "{it}");
    let content = json!([{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": "https://example.test/a.png"}}]);
    let it = served
        .post("/v1/chat/completions", &json!({"messages": [{"role": "user", "content": content}]}))
        .await
        .json();
    assert_eq!(it["ibid"]["unseen"], "1 image", "{it}");
    let alone = json!({"input": [{"role": "user", "content": [picture]}]});
    let it = served.post("/v1/responses", &alone).await;
    assert_eq!((it.status, &it.json()["error"]["param"]), (400, &json!("input")));
    let tools = json!([{"type": "function", "name": "weather", "parameters": {"type": "object"}}]);
    let it = served
        .post("/v1/responses", &json!({"input": ASKED, "tools": tools, "tool_choice": "auto"}))
        .await
        .json();
    assert_eq!((&it["status"], &it["tools"]), (&json!("completed"), &json!([])), "{it}");
    is_plain(&it);
    for choice in [json!("required"), json!({"type": "function", "name": "weather"})] {
        let asked = json!({"input": ASKED, "tools": tools, "tool_choice": choice});
        let it = served.post("/v1/responses", &asked).await;
        assert_eq!(it.status, 400, "{choice}: {}", it.body);
        assert_eq!(it.json()["error"]["param"], "tool_choice");
    }
}

#[tokio::test]
async fn a_stream_that_broke_goes_on_at_its_number() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let it = served
        .post(
            "/v1/responses",
            &json!({"model": "ibid", "input": ASKED, "stream": true, "background": true}),
        )
        .await;
    let told = messages(&it.body);
    assert_eq!(told.last().unwrap().2, "[DONE]");
    let events: Vec<Value> =
        told[..told.len() - 1].iter().map(|it| serde_json::from_str(&it.2).unwrap()).collect();
    for (nth, (it, message)) in events.iter().zip(&told).enumerate() {
        assert_eq!(it["sequence_number"], nth);
        assert_eq!(it["type"], message.0.as_str());
    }
    let kinds: Vec<&str> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["response.created", "response.queued", "response.in_progress"]);
    assert_eq!(*kinds.last().unwrap(), "response.completed");
    let text: String = events
        .iter()
        .filter(|it| it["type"] == "response.output_text.delta")
        .map(|it| it["delta"].as_str().unwrap())
        .collect();
    let done = events.iter().find(|it| it["type"] == "response.output_text.done").unwrap();
    assert_eq!(done["text"], text);
    let id = events[0]["response"]["id"].as_str().unwrap();
    let rest = served.stream(&format!("/v1/responses/{id}?stream=true&starting_after=9")).await;
    assert_eq!(rest, told[10..]);
}

#[tokio::test]
async fn a_response_in_the_background_is_cancelled_and_forgotten() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let it = served
        .post(
            "/v1/responses",
            &json!({"input": ASKED, "background": true, "ibid": {"plan": "require_approval"}}),
        )
        .await
        .json();
    let id = it["id"].as_str().unwrap().to_owned();
    assert!(["queued", "in_progress"].contains(&it["status"].as_str().unwrap()), "{it}");
    let it = served.post(&format!("/v1/responses/{id}/cancel"), &json!({})).await.json();
    assert_eq!(it["status"], "cancelled", "{it}");
    let it = served.client.delete(format!("{}/v1/responses/{id}", served.at));
    assert_eq!(served.send(it).await.json()["deleted"], true);
    assert_eq!(served.get(&format!("/v1/responses/{id}")).await.status, 404);
}

#[tokio::test]
async fn a_chat_completion_has_the_fields_that_clients_of_three_apis_read() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let asked = json!({"model": "ibid", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
    ]});
    let it = served.post("/v1/chat/completions", &asked).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let it = it.json();
    let message = &it["choices"][0]["message"];
    let text = message["content"].as_str().unwrap();
    assert!(text.contains("56 %"));
    for it in message["annotations"].as_array().unwrap() {
        let it = &it["url_citation"];
        assert!(pointed(text, &it["start_index"], &it["end_index"])[0].starts_with('['));
        assert!(!it["exactQuote"].as_str().unwrap().is_empty());
    }
    assert_eq!(
        it["citations"].as_array().unwrap().len(),
        it["search_results"].as_array().unwrap().len()
    );
    assert!(it["usage"]["num_search_queries"].as_u64().unwrap() > 0);
    // A run that cannot begin is no fault of the server after which clients would ask, and pay, again.
    let mut nobody = asked.clone();
    nobody["search_provider"] = "kagi".into();
    let it = served.post("/v1/chat/completions", &nobody).await;
    assert_eq!(it.status, 422, "{}", it.body);
    assert_eq!(it.json()["error"]["code"], "run_failed");
    let mut streaming = asked;
    streaming["stream"] = true.into();
    streaming["stream_options"] = json!({"include_usage": true});
    let told = messages(&served.post("/v1/chat/completions", &streaming).await.body);
    assert_eq!(told.last().unwrap().2, "[DONE]");
    let chunks: Vec<Value> =
        told[..told.len() - 1].iter().map(|it| serde_json::from_str(&it.2).unwrap()).collect();
    let said: String =
        chunks.iter().filter_map(|it| it["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, text);
    assert!(chunks.iter().any(|it| it["choices"][0]["delta"]["reasoning_content"].is_string()));
    assert!(chunks.last().unwrap()["usage"]["total_tokens"].is_u64());
}

#[tokio::test]
async fn nothing_found_is_an_answer_and_a_wrong_request_names_its_field() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let it = served
        .post("/v1/chat/completions", &json!({"model": "ibid-answer", "messages": [{"role": "user", "content": "Who won the chess olympiad in 1978?"}]}))
        .await
        .json();
    assert_eq!(it["choices"][0]["message"]["content"], "No supported answer found.", "{it}");
    for (path, body, field) in [
        ("/v1/responses", json!({"model": "gpt-9", "input": "why?"}), "model"),
        ("/v1/responses", json!({"input": []}), "input"),
        ("/v1/runs", json!({"question": "why?", "bogus": 1}), "bogus"),
        (
            "/v1/responses",
            json!({"input": "why?", "reasoning": {"effort": "huge"}}),
            "reasoning.effort",
        ),
        (
            "/v1/responses",
            json!({"input": "why?", "tools": [{"type": "mcp", "server_url": "http://10.0.0.1"}]}),
            "tools",
        ),
        (
            "/v1/responses",
            json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "why?"}, {"type": "input_file"}]}]}),
            "input",
        ),
        ("/v1/chat/completions", json!({"messages": "why?"}), "messages"),
        (
            "/v1/chat/completions",
            json!({"messages": [{"role": "system", "content": "x"}]}),
            "messages",
        ),
    ] {
        let it = served.post(path, &body).await;
        assert!([400, 404].contains(&it.status), "{body}: {}", it.body);
        assert_eq!(it.json()["error"]["param"], field, "{body}");
    }
    let models = served.get("/v1/models").await.json();
    assert_eq!(models["data"].as_array().unwrap().len(), 3);
}
