//! `ibid doctor` against services on loopback: what is amiss is told with its exact fix.
use serde_json::{Value, json};

use crate::cli::{Outcome, TestHome};
use crate::fetch::{Site, page};

/// A provider of models, readers, and what refuses a key. Its clock is that of an hour long ago.
fn services(_: u16, path: &str) -> Vec<u8> {
    let answer = |value: Value| {
        let headers = "content-type: application/json\r\ndate: Tue, 15 Nov 1994 08:12:31 GMT\r\n";
        page(headers, value.to_string().as_bytes())
    };
    let refused = |status: &str| {
        let body =
            r#"{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}"#;
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
    };
    match path.split('?').next().unwrap_or_default() {
        "/v1/models" => answer(json!({"data": [{"id": "gpt-5.1"}, {"id": "whisper-1"}]})),
        "/shut/models" => refused("401 Unauthorized"),
        "/api/tags" => answer(json!({"models": [{"name": "llama3.2:latest"}]})),
        "/crawl/md" => answer(
            json!({"url": "https://example.com/", "markdown": "# Example Domain", "success": true}),
        ),
        "/steel/v1/scrape" => refused("401 Unauthorized"),
        "/jina/https://example.com/" => answer(json!({"code": 200, "data": {"content": ""}})),
        _ => refused("404 Not Found"),
    }
}

/// The rows of this name, for these variables.
fn checks(desk: &TestHome, name: &str, variables: &[(&str, &str)]) -> Vec<Value> {
    let mut command = desk.command(&["doctor", "--json"]);
    command.env("IBID_ENGINES", "none");
    for (name, value) in variables {
        command.env(name, value);
    }
    let told: Outcome = command.output().unwrap().into();
    let rows = told.json()["checks"].as_array().unwrap().clone();
    rows.into_iter().filter(|it| it["name"] == name).collect()
}

/// Whether one of `rows` has this state, and holds these words in what was found and in its fix.
fn told(rows: &[Value], state: &str, found: &str, fix: &str) -> bool {
    let has = |it: &Value, words: &str| {
        words.is_empty() || it.as_str().is_some_and(|it| it.contains(words))
    };
    rows.iter().any(|it| it["state"] == state && has(&it["found"], found) && has(&it["fix"], fix))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_model_is_looked_up_with_its_provider() {
    let (desk, site) = (TestHome::with_model(), Site::open_with(services).await);
    let (good, shut, ollama) = (site.url("/v1"), site.url("/shut"), site.url(""));
    let of = |model: &str, base: &str| {
        let set = [
            ("IBID_MODEL", model),
            ("OPENAI_API_KEY", "a-key-of-openai"),
            ("OPENAI_BASE_URL", base),
            ("OLLAMA_HOST", &ollama),
        ];
        checks(&desk, "models", &set)
    };
    let rows = of("openai/gpt-5.1", &good);
    assert!(told(&rows, "ok", "listed among 2 models", ""), "{rows:?}");
    let rows = of("openai/gtp-5.1,ollama/llama3.2", &good);
    assert!(
        told(&rows, "fault", "openai/gtp-5.1: model not listed", "did you mean openai/gpt-5.1?"),
        "{rows:?}"
    );
    assert!(told(&rows, "ok", "ollama/llama3.2", ""), "{rows:?}");
    let rows = of("ollama/mistral", &good);
    assert!(told(&rows, "fault", "model not listed", "ollama pull mistral"), "{rows:?}");
    let rows = of("openai/gpt-5.1", &shut);
    assert!(
        told(&rows, "fault", "Incorrect API key", "check the key in OPENAI_API_KEY"),
        "{rows:?}"
    );
    // The path of the interface is missing.
    let rows = of("openai/gpt-5.1", &ollama);
    assert!(
        told(&rows, "warning", "does not exist", &format!("OPENAI_BASE_URL={good}")),
        "{rows:?}"
    );
    let all = format!("{rows:?}");
    assert!(!all.contains("a-key-of-openai"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_told_with_its_variable() {
    let (desk, site) = (TestHome::with_model(), Site::open_with(services).await);
    let gone = format!("http://127.0.0.1:{}", closed());
    let set =
        [("IBID_MODEL", "vllm/a-model"), ("VLLM_BASE_URL", gone.as_str()), ("SEARXNG_URL", &gone)];
    let rows = checks(&desk, "models", &set);
    assert!(told(&rows, "fault", "checking vllm/a-model", "VLLM_BASE_URL"), "{rows:?}");
    let rows = checks(&desk, "engines", &set);
    assert!(told(&rows, "fault", "checking searxng", "SEARXNG_URL"), "{rows:?}");
    assert_eq!(site.asked(), 0);
}

/// A port that nobody listens at.
fn closed() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_reader_reads_one_small_page_and_clocks_are_compared() {
    let (desk, site) = (TestHome::with_model(), Site::open_with(services).await);
    let (crawl, steel, jina) = (site.url("/crawl"), site.url("/steel"), site.url("/jina"));
    let set = [
        ("CRAWL4AI_URL", crawl.as_str()),
        ("STEEL_URL", &steel),
        ("JINA_READER_URL", &jina),
        ("PATH", "/nowhere"),
    ];
    let rows = checks(&desk, "readers", &set);
    assert!(told(&rows, "ok", "crawl4ai reads", ""), "{rows:?}");
    assert!(told(&rows, "fault", "checking steel", "check the key in STEEL_API_KEY"), "{rows:?}");
    assert!(told(&rows, "fault", "the page is empty", "JINA_READER_URL"), "{rows:?}");
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!(site.asked(), 3, "each is asked once");
    let rows = checks(&desk, "clock", &set);
    assert!(told(&rows, "warning", "min ahead of 127.0.0.1", "set-ntp"), "{rows:?}");
    assert!(checks(&desk, "clock", &[]).is_empty(), "nobody told the time");
}

#[test]
fn a_browser_is_started_or_offered() {
    let desk = TestHome::with_model();
    std::fs::create_dir(desk.path("bin")).unwrap();
    let program = desk.write("bin/chromium", "#!/bin/sh\necho '<p>ranitsscript</p>'\n");
    let broken = desk.write("bin/broken", "#!/bin/sh\nexit 1\n");
    for it in [&program, &broken] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(it, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let bin = desk.path("bin");
    let of = |readers: &str, browser: &str| {
        let set = [
            ("PATH", bin.to_str().unwrap()),
            ("IBID_READERS", readers),
            ("IBID_CHROMIUM", browser),
        ];
        checks(&desk, "readers", &set)
    };
    let rows = of("auto", "");
    assert!(told(&rows, "ok", "is installed and not used", ""), "{rows:?}");
    let rows = of("auto,chromium", "");
    assert!(told(&rows, "ok", "bin/chromium runs", ""), "{rows:?}");
    let rows = of("auto,chromium", &broken);
    assert!(told(&rows, "fault", "bin/broken: exit status: 1", "sandbox"), "{rows:?}");
}

#[test]
fn the_open_web_out_of_reach_is_a_warning_and_not_asked_where_no_run_would() {
    let desk = TestHome::with_model();
    let nowhere = format!("http://127.0.0.1:{}", closed());
    let proxy = ("HTTPS_PROXY", nowhere.as_str());
    let rows = checks(&desk, "web", &[("IBID_ENGINES", "auto"), proxy]);
    assert!(
        told(&rows, "warning", "none of wikipedia, pubmed, openalex is reachable", "port 443"),
        "{rows:?}"
    );
    let docs = desk.docs();
    let folder = ("IBID_FOLDERS", docs.as_str());
    assert!(checks(&desk, "web", &[("IBID_ENGINES", "auto"), folder, proxy]).is_empty());
    assert!(checks(&desk, "web", &[]).is_empty());
}

#[test]
fn quiet_prints_only_what_is_wrong() {
    let desk = TestHome::with_model();
    let checked = |model: &str| {
        let mut command = desk.command(&["doctor", "-q"]);
        command.env("IBID_ENGINES", "none").env("IBID_MODEL", model);
        Outcome::from(command.output().unwrap())
    };
    let sound = checked("none");
    assert!(
        !sound.out.contains('✓') && !sound.out.contains("Settings that differ"),
        "{}",
        sound.out
    );
    let broken = checked("openai:gpt-5.1");
    assert!(broken.out.contains("OPENAI_API_KEY") && !broken.out.contains('✓'), "{}", broken.out);
}

#[test]
fn the_object_store_of_pages_is_tried_or_said_to_be_no_part_of_the_build() {
    let desk = TestHome::with_model();
    assert!(checks(&desk, "pages", &[]).is_empty());
    let url = format!("file://{}", desk.path("pages").display());
    let rows = checks(&desk, "pages", &[("IBID_PAGES_URL", &url)]);
    if cfg!(feature = "object-store") {
        assert!(told(&rows, "ok", "stores, returns and deletes objects", ""), "{rows:?}");
        let rows = checks(&desk, "pages", &[("IBID_PAGES_URL", "https://a.test/pages")]);
        assert!(told(&rows, "fault", "`pages.url`", "s3://bucket/prefix"), "{rows:?}");
    } else {
        assert!(told(&rows, "fault", "`pages.url`", "feature `object-store`"), "{rows:?}");
    }
}
