//! Engines that are asked for one kind of search only.
use serde_json::json;

use crate::cli::TestHome;
use crate::model::http::{Act, answer, serve_in_turn};

#[tokio::test(flavor = "multi_thread")]
async fn news_are_asked_for_of_a_general_engine_if_only_they_are_wanted() {
    let page = "https://news.example/cork";
    let text = "Cork is stripped from the living tree every nine years.";
    let found = json!({"results": [{"url": page, "title": "What cork is", "content": text}]});
    let found = answer("200 OK", "content-type: application/json\r\n", &found.to_string());
    let server = serve_in_turn(vec![Act::Say(found)]).await;
    let desk = TestHome::new();
    for (engine, category) in [("news", "news"), ("searxng-scholar", "science"), ("web", "general")]
    {
        server.heard.lock().unwrap().clear();
        let mut command = desk.command(&["run", "What is cork?", "--engine", engine, "--json"]);
        command.env("SEARXNG_URL", &server.url).env("IBID_LOOKUPS", "false");
        command.env("WIKIPEDIA_BASE_URL", &server.url);
        let ended = command.output().unwrap();
        let heard = server.heard.lock().unwrap();
        let asked: Vec<&String> = heard.iter().filter(|it| it.contains("categories=")).collect();
        assert!(!asked.is_empty(), "{engine}: {}", String::from_utf8_lossy(&ended.stderr));
        let wanted = format!("categories={category}");
        assert!(asked.iter().all(|it| it.contains(&wanted)), "{engine}: {asked:?}");
    }
}
