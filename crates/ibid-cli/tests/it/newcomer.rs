//! What a newcomer met: hints that lead on, and words that are true.
use serde_json::Value;

use crate::cli::{ASKED, TestHome};

const UNANSWERED: &str = "Who won the chess championship of Ruritania?";

#[test]
fn a_plan_needs_no_folder_and_goes_where_it_is_sent() {
    let desk = TestHome::with_model();
    let it = desk.ibid(&["plan", ASKED, "--depth", "1", "-o", "plan.txt"]);
    assert_eq!((it.code, it.out.as_str()), (0, ""), "{}", it.err);
    let text = std::fs::read_to_string(desk.path("plan.txt")).unwrap();
    assert!(text.contains("Q1"), "{text}");
    assert!(text.contains("Rounds    one, then 2 rounds for what the report lacks"), "{text}");
    let it = desk.ibid(&["plan", ASKED, "-o", "plan.json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let text = std::fs::read_to_string(desk.path("plan.json")).unwrap();
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(object["type"], "plan");
}

#[test]
fn a_plan_tells_how_much_models_that_reason_are_asked_to() {
    let desk = TestHome::with_model();
    let plan = |model: &str, more: &[(&str, &str)], args: &[&str]| {
        let args = [&["plan", ASKED, "--model", model][..], args].concat();
        let mut command = desk.command(&args);
        command.env("OPENAI_API_KEY", "k").envs(more.iter().copied());
        let it = command.output().unwrap();
        assert!(it.status.success(), "{}", String::from_utf8_lossy(&it.stderr));
        String::from_utf8(it.stdout).unwrap()
    };
    let it = plan("openai:gpt-5.1", &[("IBID_MODELS_WRITER_REASONING", "high")], &[]);
    let line = it.lines().find(|it| it.starts_with("  Effort")).unwrap();
    assert_eq!(
        line,
        "  Effort    of reasoning: low for intake, weigh, cover, verify; medium for plan; \
         high for answer, write"
    );
    let it = plan("openai:gpt-5.1", &[], &["--strategy", "supervisor", "--json"]);
    let it: Value = serde_json::from_str(&it).unwrap();
    assert_eq!(it["reasoning_effort"]["supervise"], "medium", "{it}");
    assert_eq!(it["reasoning_effort"]["weigh"], "low");
    // Nothing is told of a model that does not reason, nor without one.
    let it = plan("openai:gpt-4o", &[], &[]);
    assert!(!it.contains("Effort"), "{it}");
    let it: Value = serde_json::from_str(&plan("none", &[], &["--json"])).unwrap();
    assert_eq!(it["reasoning_effort"], serde_json::json!({}));
}

#[test]
fn a_plan_bounds_the_queries_that_are_sent() {
    let desk = TestHome::with_model();
    let args = ["--breadth", "2", "--depth", "1", "--json", "-q"];
    let plan = desk.ibid(&[&["plan", ASKED][..], &args].concat()).json();
    let docs = desk.docs();
    let run = desk.ibid(&[&[ASKED, "--folder", &docs][..], &args].concat());
    let most = plan["estimate"]["max_searches"].as_u64().unwrap();
    assert!(run.json()["num_searches"].as_u64().unwrap() <= most, "{plan}");
}

#[test]
fn a_budget_that_is_too_small_says_what_to_raise() {
    let desk = TestHome::with_model();
    let docs = desk.docs();
    let it = desk.ibid(&[ASKED, "--folder", &docs, "--budget", "1calls", "--json"]);
    assert_eq!(it.code, 5, "{}", it.err);
    assert!(it.err.contains("hint: raise the bound with --budget"), "{}", it.err);
    let object = it.json();
    assert_eq!(object["is_error"], true);
    assert_eq!(object["error"]["kind"], "exhausted");
}

#[test]
fn last_is_the_newest_run_also_when_it_has_no_report() {
    let desk = TestHome::with_model();
    let docs = desk.docs();
    desk.ibid(&[ASKED, "--folder", &docs, "-q"]);
    let it = desk.ibid(&[UNANSWERED, "--folder", &docs, "--json", "-q", "-o", "o.json"]);
    let text = std::fs::read_to_string(desk.path("o.json")).unwrap();
    assert_eq!(text, it.out, "the file gets the object that stdout gets");
    let rows = desk.ibid(&["ls", "--json"]).lines();
    let (newer, older) = (&rows[0]["run_id"], &rows[1]["run_id"]);
    for args in [&["show", "last"][..], &["cite", "last"], &["export", "last", "-o", "x.md"]] {
        let it = desk.ibid(args);
        assert_eq!(it.code, 1, "{args:?}");
        assert!(it.err.contains(newer.as_str().unwrap()), "{}", it.err);
        let hint = format!("ibid show {}", older.as_str().unwrap());
        assert!(it.err.contains(&hint), "{}", it.err);
    }
    assert_eq!(desk.ibid(&["show", "last", "--json"]).json()["run_id"], *newer);
}

#[test]
fn help_is_a_command() {
    let desk = TestHome::with_model();
    assert_eq!(desk.ibid(&["help"]).out, desk.ibid(&["--help"]).out);
    let it = desk.ibid(&["help", "show"]);
    assert_eq!((it.code, it.out), (0, desk.ibid(&["show", "--help"]).out));
    let it = desk.ibid(&["help", "shwo"]);
    assert_eq!(it.code, 2);
    assert!(it.err.contains("`ibid help show`"), "{}", it.err);
}

#[test]
fn an_empty_domain_is_refused() {
    let desk = TestHome::with_model();
    for flag in ["--domain", "--not-domain"] {
        let it = desk.ibid(&[ASKED, "--folder", &desk.docs(), flag, ""]);
        assert_eq!(it.code, 2, "{}", it.err);
        assert!(it.err.contains(flag), "{}", it.err);
    }
}

#[test]
fn what_is_no_text_is_not_checked() {
    let desk = TestHome::with_model();
    for bytes in [&b"%PDF-1.4 broken"[..], b"caf\xe9 [1]"] {
        std::fs::write(desk.path("broken.pdf"), bytes).unwrap();
        let it = desk.ibid(&["check", "broken.pdf"]);
        assert_eq!(it.code, 2, "{}", it.err);
        assert!(it.err.contains("hint: name a Markdown file"), "{}", it.err);
    }
}

#[test]
fn a_quotation_behind_a_label_is_compared_alone() {
    let desk = TestHome::with_model();
    desk.write(
        "report.md",
        "> - **no** — \"A green roof retained 56 % of annual rainfall on average.\"[1]\n\n## Sources\n\n1. Green roofs and rain. docs/rain.md\n",
    );
    let it = desk.ibid(&["check", "report.md", "--folder", &desk.docs(), "--json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let object = it.json();
    assert_eq!(object["claims"][0]["verdict"], "supported", "{object}");
    assert_eq!(
        object["claims"][0]["text"], "A green roof retained 56 % of annual rainfall on average.",
        "{object}"
    );
}
