//! The commands beside the run: read, search, check, index, config, doctor, completions.
use std::path::Path;
use std::process::Stdio;

use super::cli::*;

#[test]
fn documents_are_read_to_clean_text() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let cost = format!("{docs}/cost.html");
    let it = desk.ibid(&["read", &cost]);
    assert_eq!(it.code, 0);
    assert!(it.out.contains("110 euros") && !it.out.contains('<'), "{}", it.out);
    let row = desk.ibid(&["read", &cost, "--json"]).json();
    assert_eq!(row["title"], "What green roofs cost");
    for key in ["path", "url", "author", "date", "lang", "text", "markdown", "words", "warnings"] {
        assert!(row.get(key).is_some(), "{key}");
    }
    let missing = format!("{docs}/missing.html");
    let it = desk.ibid(&["read", "--jsonl", &cost, &missing, &format!("{docs}/rows.jsonl")]);
    assert_eq!(it.code, 0, "every file got its row, and two were read");
    let rows = it.lines();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[1]["path"], missing);
    assert!(rows[1]["warnings"][0].as_str().unwrap().contains("missing.html"));
    assert_eq!(rows[2]["date"], "2016-06-09");
    let it = desk.ibid(&["read", &missing]);
    assert_eq!(it.code, 1);
    assert!(it.err.contains("missing.html"), "{}", it.err);
    let it = desk.fed(
        &["read", "-", "--json"],
        b"<html><body><p>Hello from a pipe, dear reader.</p></body></html>",
    );
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.json()["text"].as_str().unwrap().contains("Hello from a pipe"));
}

#[test]
fn folders_are_searched_one_query_or_many() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let one = desk.ibid(&["search", "storm", "--folder", &docs, "--json"]).json();
    assert_eq!(one["results"][0]["id"], "a-1");
    assert_eq!(one["results"][0]["url"], "https://a.example/storm");
    assert!(one["results"][0]["score"].is_number());
    let it = desk.ibid(&["search", "storm", "--folder", &docs, "-n", "1"]);
    assert!(it.out.contains("Storm over the green roof"), "{}", it.out);
    let queries = desk.write(
        "q.jsonl",
        "{\"id\": 7, \"query\": \"euros\"}\n\n{\"id\": \"x\", \"query\": \"zyzzyva\"}\n",
    );
    let rows = desk.ibid(&["search", "--queries", &queries, "--folder", &docs, "--json"]).lines();
    assert_eq!(rows[0]["id"], 7);
    assert_eq!(rows[0]["results"][0]["title"], "What green roofs cost");
    assert_eq!(rows[1]["id"], "x");
    assert_eq!(rows[1]["results"].as_array().unwrap().len(), 0);
    let good = "{\"id\": 1, \"query\": \"a\"}\n".repeat(6);
    for (line, told) in [("{oops", "this is not JSON"), ("{\"id\": 2}", "field `query`")] {
        let bad = desk.write("bad.jsonl", &format!("{good}{line}\n"));
        let it = desk.ibid(&["search", "--queries", &bad, "--folder", &docs, "--json"]);
        assert_eq!(it.code, 2);
        assert!(it.err.contains("bad.jsonl line 7") && it.err.contains(told), "{}", it.err);
    }
}

#[test]
fn claims_are_judged_row_by_row() {
    let desk = TestHome::new();
    let rows = "{\"id\": 1, \"claim\": \"The roof weighs 120 kg.\", \"source\": \"The roof weighs 120 kg when wet.\"}\n{\"id\": 2, \"claim\": \"Bees can count.\", \"source\": [\"Rain fell.\", \"It was cold.\"]}\n";
    let file = desk.write("claims.jsonl", rows);
    let found = desk.ibid(&["check", "--claims", &file, "--json"]).lines();
    assert_eq!(found[0]["id"], 1);
    assert_eq!(found[0]["verdict"], "supported");
    assert_eq!(found[0]["quote"], "The roof weighs 120 kg when wet.");
    assert_eq!(found[1]["verdict"], "unsupported");
    let piped = desk.fed(&["check", "--claims", "-", "--json"], rows.as_bytes());
    assert_eq!(piped.lines(), found);
    let it = desk.fed(&["check", "--claims", "-", "--json"], b"{\"id\": 1, \"claim\": \"x\"}\n");
    assert_eq!(it.code, 2);
    assert!(it.err.contains("line 1") && it.err.contains("source"), "{}", it.err);

    let mixed = format!("{{\"id\": 0, \"claim\": \" \", \"source\": \"x\"}}\n{rows}");
    let it = desk.fed(&["check", "--claims", "-", "--json"], mixed.as_bytes());
    assert_eq!((it.code, &it.lines()[..2]), (2, &found[..]));
    assert!(it.err.contains("line 1") && it.err.contains("1 of 3 rows"), "{}", it.err);
}

#[test]
fn an_index_is_made_listed_and_forgotten() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let it = desk.ibid(&["index", "add", &docs]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.contains("4 documents"), "{}", it.out);
    let row = desk.ibid(&["index", "ls", "--json"]).json();
    assert_eq!((&row["path"], &row["documents"]), (&docs.as_str().into(), &4.into()));
    assert_eq!(desk.ibid(&["index", "rm", &docs]).code, 0);
    assert_eq!(desk.ibid(&["index", "ls"]).out, "");
    assert_eq!(desk.ibid(&["index", "rm", &docs]).code, 1);
    assert!(Path::new(&docs).join("rain.md").exists(), "the folder itself stays");
}

#[test]
fn settings_are_shown_set_and_explained() {
    let desk = TestHome::new();
    assert_eq!(desk.ibid(&["config", "get", "breadth"]).out, "4\n");
    let it = desk.ibid(&["config", "set", "breadth", "6"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert_eq!(desk.ibid(&["config", "get", "breadth"]).out, "6\n");
    desk.write(".env", "IBID_DEPTH=3\n");
    let all = desk.ibid(&["config", "get", "--origins", "--json"]).json();
    assert_eq!(all["breadth"]["value"], 6);
    assert!(all["breadth"]["origin"].as_str().unwrap().ends_with("config.toml line 1"));
    assert!(all["depth"]["origin"].as_str().unwrap().contains("IBID_DEPTH"));
    desk.write("ibid.toml", "breadth = 3\n");
    let it = desk.ibid(&["config", "set", "breadth", "7"]);
    assert!(it.err.contains("stays 3") && it.err.contains("ibid.toml line 1"), "{}", it.err);
    let paths = desk.ibid(&["config", "path", "--json"]).json();
    assert_eq!(paths["project"], desk.path("ibid.toml").to_str().unwrap());
    assert_eq!(desk.ibid(&["config", "set", "breadth", "99"]).code, 2);
}

#[test]
fn doctor_finds_what_is_wrong_and_says_the_fix() {
    let desk = TestHome::new();
    // Nobody outside is asked.
    desk.write(".env", "IBID_ENGINES=none\n");
    let it = desk.ibid(&["doctor"]);
    assert_eq!(it.code, 0, "{}", it.out);
    let object = desk.ibid(&["doctor", "--json"]).json();
    assert_eq!(object["ok"], true);
    let blocked = desk.write("blocked", "a file where a directory should be");
    let it: Outcome = desk
        .command(&["doctor"])
        .env("IBID_DATA_DIR", format!("{blocked}/data"))
        .env("IBID_BREATH", "3")
        .output()
        .unwrap()
        .into();
    assert_eq!(it.code, 4, "{}", it.out);
    assert!(it.out.contains("IBID_DATA_DIR") && it.out.contains("did you mean IBID_BREADTH?"));
    desk.write("ibid.toml", "breadth = \"many\"\n");
    let it = desk.ibid(&["doctor"]);
    assert_eq!(it.code, 4);
    assert!(it.out.contains("ibid.toml line 1"), "{}", it.out);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let desk = TestHome::new();
    let mut child = desk
        .command(&["config", "get"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let it: Outcome = child.wait_with_output().unwrap().into();
    assert_eq!((it.code, it.err.as_str()), (0, ""));
}

#[test]
fn completions_and_manual_pages_are_made() {
    let desk = TestHome::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let it = desk.ibid(&["completions", shell]);
        assert_eq!(it.code, 0);
        assert!(it.out.contains("ibid"));
    }
    assert!(desk.ibid(&["man"]).out.contains(".TH"));
    assert_eq!(desk.ibid(&["man", "pages"]).code, 0);
    assert!(desk.path("pages/ibid-search.1").exists());
}

#[test]
fn a_plan_is_told_in_words_and_broken_down_with_its_queries() {
    let desk = TestHome::new();
    let asked = "What is a green roof?";
    let it = desk.ibid(&["plan", asked, "--json"]).json();
    let prose = it["prose"].as_str().unwrap();
    let items = it["plan"]["items"].as_array().unwrap();
    assert!((3..=6).contains(&items.len()));
    for item in items {
        assert!(prose.contains(item["asks"].as_str().unwrap()), "{prose}");
        assert!(prose.contains(item["query"].as_str().unwrap()), "{prose}");
        let heading = item["heading"].as_str().unwrap();
        assert_eq!(it["topic_queries"][heading], item["query"]);
        assert!(it["topics"].as_array().unwrap().contains(&heading.into()));
    }
    assert_eq!(it["original_query"], asked);
    assert_eq!(it["complexity"], it["plan"]["complexity"]);
    let queries = it["multi_query"].as_array().unwrap();
    assert_eq!(queries.len(), items.len());
    for (own, item) in queries.iter().zip(items) {
        assert_eq!((&own["item"], &own["original_query"]), (&item["id"], &item["query"]));
        let variations = own["variations"].as_array().unwrap();
        let mut different: Vec<&str> = variations.iter().filter_map(|it| it.as_str()).collect();
        different.push(own["original_query"].as_str().unwrap());
        different.sort_unstable();
        different.dedup();
        assert_eq!((variations.len(), different.len()), (3, 4), "{own}");
        let words = |name: &str| own[name].as_str().unwrap().split(' ').count();
        assert!(words("broad_query") < words("original_query"), "{own}");
        assert_ne!(own["specific_query"], own["original_query"]);
    }
    let shown = desk.ibid(&["plan", asked]).out;
    assert!(shown.contains("In words"), "{shown}");
    // In a text, the list tells what the plan has, and the prose does not repeat it.
    for item in items {
        let asks = item["asks"].as_str().unwrap();
        assert!(shown.matches(asks).count() <= 1 + usize::from(asks == asked), "{shown}");
    }
    // What is told is left out of a plan that is gone by, and does no harm in it.
    let file = desk.write("plan.json", &it.to_string());
    let docs = desk.docs();
    let run = desk.ibid(&["run", "--plan", &file, "--folder", &docs, "--json"]);
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn evidence_takes_three_rounds_unless_somebody_says_otherwise() {
    let desk = TestHome::new();
    let docs = desk.docs();
    for (more, rounds) in [
        (&[][..], 3),
        (&["--max-iterations", "2"], 2),
        (&["--depth", "1"], 1),
        (&["--effort", "quick"], 1),
    ] {
        let mut args = vec!["evidence", "What is a green roof?", "--folder", &docs, "--jsonl"];
        args.extend(more);
        let it = desk.ibid(&args);
        assert_eq!(it.code, 0, "{}", it.err);
        let lines = it.lines();
        let method = &lines[0]["data"]["question"]["method"];
        let bound = method["depth"].as_u64().min(method["max_iterations"].as_u64());
        assert_eq!(bound, Some(rounds), "{more:?}");
        let end = lines.last().unwrap();
        assert!(end["topic_queries"].as_object().is_some_and(|it| it.len() >= 3));
        assert!(end["complexity"].is_string());
    }
    let report = desk.ibid(&["What is a green roof?", "--folder", &docs, "--jsonl"]);
    assert_eq!(report.lines()[0]["data"]["question"]["method"]["depth"], 2);
}

#[test]
fn progress_is_told_to_a_program_as_json() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let it = desk.ibid(&["What is a green roof?", "--folder", &docs, "--progress-json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.starts_with("---\n"), "the report is as ever: {}", it.out);
    let told: Vec<serde_json::Value> =
        it.err.lines().filter_map(|it| serde_json::from_str(it).ok()).collect();
    let stages: Vec<&str> = told.iter().filter_map(|it| it["stage"].as_str()).collect();
    assert_eq!((stages[0], *stages.last().unwrap()), ("refining", "completed"));
    assert!(stages.contains(&"iteration_1"));
    for it in &told {
        assert!(it["message"].is_string() && it["data"].is_object());
        assert!((0.0..=1.0).contains(&it["progress"].as_f64().unwrap()));
    }
}

#[test]
fn init_asks_what_is_missing_and_keeps_what_is_said() {
    let desk = TestHome::new();
    let docs = desk.docs();
    // A model's key and whose it is, no key of an engine, a folder, an address.
    let said = format!("sk-ant-123\n\n\n{docs}\nme@example.org\n");
    let it = desk.fed(&["init"], said.as_bytes());
    assert_eq!(it.code, 0, "{}", it.err);
    let at = |words: &str| it.err.find(words).unwrap_or_else(|| panic!("{words}: {}", it.err));
    assert!(at("A key of OpenAI") < at("Environment variable for this key"));
    assert!(at("[ANTHROPIC_API_KEY]") < at("A key of Serper"));
    assert!(at("A key of Serper") < at("A folder of documents"));
    assert!(at("A folder of documents") < at("Your e-mail address"));
    assert!(!it.err.contains("sk-ant-123"), "a key is not told again");
    let get = |name: &str| desk.ibid(&["config", "get", name]).out;
    assert!(get("folders").contains(&docs));
    assert!(get("contact").contains("me@example.org"));
    let keys = std::fs::read_to_string(desk.path("home/.config/ibid/keys.env")).unwrap();
    assert_eq!(keys, "ANTHROPIC_API_KEY='sk-ant-123'\n");
    // The second time, what is set is not asked for again.
    let ended = TestHome::new().ibid(&["init"]);
    assert!(ended.err.contains("(Enter for none) \n"), "{}", ended.err);
    let again = desk.fed(&["init"], b"\n");
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(!again.err.contains("A key of OpenAI") && !again.err.contains("A folder of documents"));
    assert!(again.err.contains("Nothing had to be changed."), "{}", again.err);
}
