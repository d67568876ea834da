//! `search` and `fetch` for agents: folders and engines are asked, and the text behind an id is the page's.
use serde_json::{Value, json};

use super::mcp::Host;
use crate::cli::TestHome;
use crate::fetch::Site;
use crate::outside::web;

/// What a tool of ChatGPT's contract says: one text that holds JSON.
fn said(answer: &Value) -> Value {
    assert_eq!(answer["isError"], false, "{answer}");
    let content = answer["content"].as_array().unwrap();
    assert_eq!(content.len(), 1);
    serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
}

fn fault(answer: &Value) -> String {
    assert_eq!(answer["isError"], true, "{answer}");
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

const QUERY: &str = "How often is a cork oak harvested?";

#[tokio::test(flavor = "multi_thread")]
async fn engines_are_asked_and_the_text_of_a_page_is_fetched_through_the_guard() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let searxng = site.url("/searxng");
    let env = [
        ("SEARXNG_URL", searxng.as_str()),
        ("IBID_ENGINES", "searxng"),
        ("IBID_ALLOW_NET", "127.0.0.0/8"),
        ("IBID_LOOKUPS", "false"),
    ];
    let mut host = Host::start_with(&desk, &["--folder", &desk.docs()], &env);
    let found = said(&host.call("search", &json!({"query": QUERY})));
    let results = found["results"].as_array().unwrap().clone();
    let of = |words: &str| {
        let of = results.iter().find(|it| it["url"].as_str().unwrap().contains(words));
        of.unwrap_or_else(|| panic!("{words}: {results:?}"))["id"].clone()
    };
    let barks = results.iter().filter(|it| it["title"] == "How cork is harvested");
    assert_eq!(barks.count(), 1, "one page by two addresses: {results:?}");
    let page = said(&host.call("fetch", &json!({"id": of("/bark")})));
    assert!(page["text"].as_str().unwrap().contains("every 9 years"), "{page}");
    assert_eq!(page["id"], of("/bark"));
    // What leads inside is found, and not read.
    let before = site.paths().len();
    let why = fault(&host.call("fetch", &json!({"id": of("10.1.2.3")})));
    assert!(why.contains("10.1.2.3"), "{why}");
    assert_eq!(site.paths().len(), before);
    // Both are searched where engines are named.
    let docs =
        said(&host.call("search", &json!({"query": "annual rainfall retained by a green roof"})));
    let titles: Vec<&str> =
        docs["results"].as_array().unwrap().iter().filter_map(|it| it["title"].as_str()).collect();
    assert!(titles.contains(&"Green roofs and rain"), "{titles:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_fails_is_told_and_so_is_that_there_is_none() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let broken = site.url("/broken");
    let env = [
        ("SEARXNG_URL", broken.as_str()),
        ("IBID_ENGINES", "searxng"),
        ("IBID_ALLOW_NET", "127.0.0.0/8"),
    ];
    let mut host = Host::start_with(&desk, &[], &env);
    let why = fault(&host.call("search", &json!({"query": QUERY})));
    assert!(why.contains("no engine answered") && why.contains("searxng"), "{why}");
    let mut nowhere = Host::start_with(&desk, &[], &[("IBID_ENGINES", "none")]);
    let why = fault(&nowhere.call("search", &json!({"query": QUERY})));
    assert!(why.contains("no folder or engine to search") && why.contains("--folder"), "{why}");
    let why = fault(&nowhere.call("search", &json!({"query": " "})));
    assert!(why.contains("query"), "{why}");
    // With documents beside it, what is wrong with the engine is a remark.
    let mut both = Host::start_with(&desk, &["--folder", &desk.docs()], &env);
    let found = said(&both.call("search", &json!({"query": "annual rainfall retained"})));
    assert!(!found["results"].as_array().unwrap().is_empty());
    assert!(found["remarks"].to_string().contains("searxng"), "{found}");
}
