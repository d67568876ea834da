//! Many questions of a file: each answered once, whatever happens in between.
use std::fs;

use serde_json::Value;

use crate::cli::{Outcome, TestHome};

const ROWS: &str = "{\"id\": 1, \"prompt\": \"How much rain does a green roof retain?\"}\n\
    {\"id\": \"two\", \"question\": \"How much does a green roof weigh?\"}\n\n\
    {\"id\": 3, \"query\": \"What does a green roof cost?\"}\n";

/// Answers `file` into `out.jsonl` at the desk.
fn batch(desk: &TestHome, file: &str, more: &[&str]) -> Outcome {
    let (docs, out) = (desk.docs(), out(desk));
    let mut args = vec!["batch", file, "-o", &out, "--folder", &docs];
    args.extend(more);
    desk.ibid(&args)
}

fn out(desk: &TestHome) -> String {
    desk.path("out.jsonl").to_string_lossy().into_owned()
}

fn lines(desk: &TestHome) -> Vec<Value> {
    let text = fs::read_to_string(out(desk)).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn ids(desk: &TestHome) -> Vec<String> {
    let mut ids: Vec<String> = lines(desk).iter().map(|it| it["id"].to_string()).collect();
    ids.sort();
    ids
}

fn runs(desk: &TestHome) -> usize {
    desk.ibid(&["ls", "--json"]).lines().len()
}

#[test]
fn every_row_becomes_a_line_with_a_cited_article_and_is_not_asked_again() {
    let desk = TestHome::new();
    let file = desk.write("q.jsonl", ROWS);
    let it = batch(&desk, &file, &["--jobs", "2"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.is_empty(), "{}", it.out);
    assert_eq!(ids(&desk), ["\"two\"", "1", "3"]);
    let text = fs::read_to_string(out(&desk)).unwrap();
    for row in text.lines() {
        let at = |key: &str| row.find(&format!("\"{key}\":")).unwrap();
        assert!(at("id") == 1 && at("id") < at("prompt") && at("prompt") < at("article"));
        let row: Value = serde_json::from_str(row).unwrap();
        assert_eq!(row.as_object().unwrap().len(), 3);
        let article = row["article"].as_str().unwrap();
        assert!(article.starts_with("# "), "an article has no front matter: {article}");
        assert!(!article.contains(&desk.docs()), "{article}");
        assert!(article.contains("folder:docs/") || article.contains("a.example"), "{article}");
        assert!(article.contains("[[1]](#src-1)") && article.contains("\n## Sources\n"));
    }
    let two = lines(&desk).into_iter().find(|it| it["id"] == "two").unwrap();
    assert_eq!(two["prompt"], "How much does a green roof weigh?");
    assert!(two["article"].as_str().unwrap().contains("120 kg"));
    assert_eq!(runs(&desk), 3);
    let again = batch(&desk, &file, &[]);
    assert_eq!(again.code, 0);
    assert!(again.err.contains("3 answered already"), "{}", again.err);
    assert_eq!((fs::read_to_string(out(&desk)).unwrap(), runs(&desk)), (text, 3));
}

#[test]
fn a_torn_last_line_is_taken_off_and_its_row_is_written_from_the_run_it_had() {
    let desk = TestHome::new();
    let file = desk.write("q.jsonl", ROWS);
    batch(&desk, &file, &["--jobs", "1"]);
    let whole = fs::read(out(&desk)).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|it| *it == b'\n').unwrap() + 1;
    // Torn in the middle of the line, and before its end alone.
    for keep in [last + 40, whole.len() - 1] {
        fs::write(out(&desk), &whole[..keep]).unwrap();
        let it = batch(&desk, &file, &[]);
        assert_eq!(it.code, 0, "{}", it.err);
        assert!(it.err.contains("torn"), "{}", it.err);
        assert_eq!(fs::read(out(&desk)).unwrap(), whole);
        assert_eq!(runs(&desk), 3, "nothing was asked again");
    }
    let beside = format!("{}.runs", out(&desk));
    let kept = fs::read(&beside).unwrap();
    fs::write(&beside, &kept[..kept.len() - 9]).unwrap();
    assert_eq!(batch(&desk, &file, &[]).code, 0);
    assert!(fs::read(&beside).unwrap().ends_with(b"\n"));
}

#[test]
fn a_killed_batch_goes_on_with_the_runs_it_had() {
    // Before a run is kept, while it works, and between its end and its line.
    for (point, begun) in
        [("accept.before_commit", 0), ("call.after_result:2", 1), ("completed.after_commit", 1)]
    {
        let desk = TestHome::new();
        let file = desk.write("q.jsonl", ROWS);
        let (docs, out) = (desk.docs(), out(&desk));
        let args = ["batch", &file, "-o", &out, "--folder", &docs, "--jobs", "1"];
        let killed = desk.command(&args).env("IBID_CRASH_AT", point).output().unwrap();
        assert!(!killed.status.success(), "{point}");
        assert_eq!((lines(&desk).len(), runs(&desk)), (0, begun), "{point}");
        let it = batch(&desk, &file, &["--jobs", "1"]);
        assert_eq!(it.code, 0, "{point}: {}", it.err);
        assert_eq!(it.err.matches("resumed").count(), begun, "{point}: {}", it.err);
        assert_eq!((ids(&desk).len(), runs(&desk)), (3, 3), "{point}");
    }
}

#[test]
fn a_row_that_fails_is_told_counted_and_tried_again() {
    let desk = TestHome::new();
    let rows = format!("{ROWS}{{\"id\": 4, \"prompt\": \"Who composed zyzzyva quodlibet?\"}}\n");
    let file = desk.write("q.jsonl", &rows);
    let it = batch(&desk, &file, &[]);
    assert_eq!(it.code, 3, "what failed has no answer: {}", it.err);
    assert!(it.err.contains("✗ row 4: "), "{}", it.err);
    assert!(it.err.contains("3 of 4 rows") && it.err.contains("1 failed"), "{}", it.err);
    assert_eq!((ids(&desk).len(), runs(&desk)), (3, 4));
    desk.write(
        "docs/new.md",
        "# Zyzzyva\n\nThe zyzzyva quodlibet was composed by Ada Lind in 1911.\n",
    );
    let it = batch(&desk, &file, &[]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert_eq!((ids(&desk).len(), runs(&desk)), (4, 5));
}

#[test]
fn rows_that_are_none_are_named_before_anything_is_asked() {
    let desk = TestHome::new();
    for (bad, told) in [
        ("{oops", "line 2: this is not JSON"),
        ("{\"prompt\": \"What is cork?\"}", "line 2: field `id`"),
        ("{\"id\": 9}", "line 2: field `prompt`"),
        ("{\"id\": 9, \"prompt\": \"-\"}", "line 2: field `prompt`"),
        ("{\"id\": 1, \"prompt\": \"What is cork?\"}", "line 2: field `id` is 1"),
    ] {
        let text = format!("{{\"id\": 1, \"prompt\": \"What is a green roof?\"}}\n{bad}\n");
        let file = desk.write("bad.jsonl", &text);
        let it = batch(&desk, &file, &[]);
        assert_eq!(it.code, 2, "{bad}: {}", it.err);
        assert!(it.err.contains(told), "{bad}: {}", it.err);
    }
    let none = desk.write("none.jsonl", "\n");
    assert_eq!(batch(&desk, &none, &[]).code, 2);
    assert!(!desk.path("out.jsonl").exists() && !desk.path("home/.local").exists());
}

#[test]
fn answers_of_something_else_are_never_written_over() {
    let desk = TestHome::new();
    let file = desk.write("q.jsonl", "{\"id\": 1, \"prompt\": \"What is a green roof?\"}\n");
    let other = "{\"id\": 1, \"prompt\": \"What is cork?\", \"article\": \"x\"}\n";
    for (there, told) in [
        (other, "another prompt with ID 1"),
        ("# My notes\n", "line 1 is not an object {id, prompt, article}"),
    ] {
        desk.write("out.jsonl", there);
        let it = batch(&desk, &file, &[]);
        assert_eq!(it.code, 2, "{}", it.err);
        assert!(it.err.contains(told), "{}", it.err);
        assert_eq!(fs::read_to_string(out(&desk)).unwrap(), there);
    }
}

#[test]
fn two_batches_do_not_write_into_one_file() {
    let desk = TestHome::new();
    let file = desk.write("q.jsonl", ROWS);
    let beside = desk.write("out.jsonl.runs", "");
    let held = fs::File::options().append(true).open(beside).unwrap();
    held.lock().unwrap();
    let it = batch(&desk, &file, &[]);
    assert_eq!(it.code, 1);
    assert!(it.err.contains("another batch"), "{}", it.err);
    drop(held);
    assert_eq!(batch(&desk, &file, &[]).code, 0);
}

#[test]
fn each_benchmark_gets_the_files_that_its_repository_reads() {
    let desk = TestHome::new();
    let prompt = "How much rain does a green roof retain?";
    let row = format!(
        "{{\"id\": \"task1+\", \"idx\": 7, \"sample_id\": \"68a\", \"arxiv_id\": \"2108.09522\", \"case_id\": \"d44\", \
         \"prompt\": \"{prompt}\"}}\n"
    );
    let file = desk.write("q.jsonl", &row);
    let read = |path: &str| fs::read_to_string(desk.path(path)).unwrap();
    for (format, id, path) in [
        ("drb2", "7", "out.jsonl.drb2/idx-7.md"),
        ("researchrubrics", "\"68a\"", "out.jsonl.researchrubrics/68a.md"),
        ("reportbench", "\"2108.09522\"", "out.jsonl.reportbench/2108.09522.json"),
        ("scholarqa", "\"d44\"", "out.jsonl.scholarqa.jsonl"),
    ] {
        let _ = fs::remove_file(out(&desk));
        let it = batch(&desk, &file, &["--format", format]);
        assert_eq!(it.code, 0, "{format}: {}", it.err);
        assert_eq!(ids(&desk), [id], "{format}");
        let article = lines(&desk)[0]["article"].as_str().unwrap().to_owned();
        match format {
            "reportbench" => {
                let row: Value = serde_json::from_str(&read(path)).unwrap();
                assert_eq!((&row["response"], &row["query"]), (&article.into(), &prompt.into()));
            }
            "scholarqa" => {
                let row: Value = serde_json::from_str(read(path).trim_end()).unwrap();
                assert_eq!(
                    (&row["answer_text"], &row["case_id"]),
                    (&article.into(), &"d44".into())
                );
            }
            _ => assert_eq!(read(path), article, "{format}"),
        }
    }
    // What is missing is written again without a run.
    fs::remove_file(desk.path("out.jsonl.scholarqa.jsonl")).unwrap();
    let before = runs(&desk);
    assert_eq!(batch(&desk, &file, &["--format", "scholarqa"]).code, 0);
    assert!(read("out.jsonl.scholarqa.jsonl").ends_with('\n'));
    assert_eq!(runs(&desk), before);
}

#[test]
fn an_id_that_cannot_be_the_name_of_a_file_is_refused_before_anything_is_asked() {
    let desk = TestHome::new();
    for (id, format) in [
        ("\"../x\"", "researchrubrics"),
        ("\"a/b\"", "reportbench"),
        ("\".\"", "researchrubrics"),
        ("\"x\"", "drb2"),
    ] {
        let file =
            desk.write("q.jsonl", &format!("{{\"id\": {id}, \"prompt\": \"What is cork?\"}}\n"));
        let it = batch(&desk, &file, &["--format", format]);
        assert_eq!(it.code, 2, "{id}: {}", it.err);
        assert!(it.err.contains("line 1: its ID is"), "{id}: {}", it.err);
    }
    assert!(!desk.path("out.jsonl").exists());
}
