//! Recordings as files: what is wrong with one is told with its line; and the program that writes and replays them.
use ibid::app::Recording;
use ibid_core::domain::PageHash;
use ibid_core::{Error, ErrorKind};
use serde_json::Value;

use super::worlds::{RAIN, asked, library, parts, recorded};
use crate::cli::{ASKED, TestHome};

/// `line` with the checksum of what now stands in it.
fn summed(line: &str) -> String {
    let body = format!("{{{}", line.split_once("\",").unwrap().1);
    let sum: String = PageHash::from_parts(&[&body]).as_str()[7..23].to_owned();
    format!("{{\"sum\":\"{sum}\",{}", &body[1..])
}

/// `text` with the `nth` line (from 1) changed.
fn with(text: &str, nth: usize, change: impl Fn(&str) -> String) -> String {
    let lines = (1..).zip(text.lines());
    let changed = lines.map(|(at, it)| match at == nth {
        true => change(it),
        false => it.to_owned(),
    });
    changed.map(|it| it + "\n").collect()
}

/// The number of the first line that begins with this, behind its checksum.
fn line_of(text: &str, kind: &str) -> usize {
    let at = |it: &str| it.split_once("\",").is_some_and(|it| it.1.starts_with(kind));
    1 + text.lines().position(at).unwrap()
}

fn without(text: &str, nth: usize) -> String {
    let lines = (1..).zip(text.lines()).filter(|it| it.0 != nth);
    lines.map(|it| it.1.to_owned() + "\n").collect()
}

fn refused(text: &[u8], line: usize, told: &str) -> Error {
    let fault = Recording::parse("bad.jsonl", text).unwrap_err();
    let chain = fault.chain();
    assert!(chain.contains(&format!("bad.jsonl line {line}: ")), "{told}: {chain}");
    assert!(chain.contains(told), "{chain}");
    assert!(fault.hint().is_some(), "{chain}");
    fault
}

#[tokio::test]
async fn a_torn_edited_or_unknown_recording_is_refused_with_its_line() {
    let text = recorded(parts(&library(&["web"]), None), asked(RAIN)).await;
    let text = text.to_jsonl().unwrap();
    let lines = text.lines().count();
    let (call, page) = (line_of(&text, "\"call\""), line_of(&text, "\"page\""));
    let event = line_of(&text, "\"event\"");

    refused(b"", 1, "the file is empty");
    refused(b"{\"type\":\"result\"}\n", 1, "not a recording");
    refused(b"{\"sum\":\"\",\"call\n", 1, "not a recording");
    // Torn within a line, behind its checksum.
    let before: usize = text.lines().take(page).map(|it| it.len() + 1).sum();
    refused(&text.as_bytes()[..before - 20], page, "edited or truncated");
    refused(without(&text, lines).as_bytes(), lines - 1, "its last line is missing");
    refused(
        format!("{text}{text}").as_bytes(),
        lines + 1,
        "the recording continues after its last line",
    );
    refused(without(&text, call + 1).as_bytes(), lines - 1, "calls");
    refused(without(&text, page).as_bytes(), lines - 1, "pages");
    refused(without(&text, event + 1).as_bytes(), event + 1, "event 2 of run");
    let mut foreign = text.clone().into_bytes();
    let third = text.match_indices('\n').nth(1).unwrap().0 + 10;
    foreign[third] = 0xff;
    refused(&foreign, 3, "not valid UTF-8");

    let edited = with(&text, page, |it| it.replace("roof", "rook"));
    refused(edited.as_bytes(), page, "edited or truncated");
    // Whoever mends the checksum as well still has the words against the hash they are cited by.
    let edited = with(&text, page, |it| summed(&it.replace("roof", "rook")));
    let fault = refused(edited.as_bytes(), page, "does not match its hash");
    assert_eq!(fault.kind(), ErrorKind::Usage);
    let search = line_of(&text, "\"call\":{\"key\":") + 1;
    let search = (search..).find(|it| text.lines().nth(it - 1).unwrap().contains("search:local"));
    let edited = with(&text, search.unwrap(), |it| {
        summed(&it.replacen("\"text\":\"", "\"text\":\"why ", 1))
    });
    refused(edited.as_bytes(), search.unwrap(), "does not match its key");
    let named = text.lines().nth(event - 1).unwrap();
    let run = named.split("\"run\":\"").nth(1).unwrap().split('"').next().unwrap();
    let outside = with(&text, 1, |it| summed(&it.replace(run, "../../elsewhere")));
    refused(outside.as_bytes(), 1, "the header cannot be read: run id `../../elsewhere`");
    let newer =
        with(&text, 1, |it| summed(&it.replace("\"version\":1,\"run\"", "\"version\":9,\"run\"")));
    let fault = refused(newer.as_bytes(), 1, "");
    assert_eq!(fault.kind(), ErrorKind::Setup);
    assert!(fault.chain().contains("version 9 is not supported; this Ibid reads version 1"));
}

/// Asks, and records into `world.jsonl`.
fn world(desk: &TestHome) -> String {
    let asked = desk.ibid(&[ASKED, "--folder", &desk.docs(), "-q"]);
    assert_eq!(asked.code, 0, "{}", asked.err);
    let file = desk.path("world.jsonl").to_string_lossy().into_owned();
    let exported = desk.ibid(&["export", "last", "-f", "recording", "-o", &file]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    assert!(exported.err.contains("world.jsonl"), "{}", exported.err);
    file
}

#[test]
fn the_program_replays_offline_what_it_recorded() {
    let desk = TestHome::new();
    desk.write(".env", "OPENAI_API_KEY=sk-not-for-others\n");
    let file = world(&desk);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("sk-not-for-others"));
    let printed = desk.ibid(&["export", "last", "-f", "recording"]);
    assert_eq!(printed.out, text);
    let shown = desk.ibid(&["show", "last"]).out;
    let object = desk.ibid(&["show", "last", "--json"]).out;
    // Nothing of what the run was made from is there any more.
    std::fs::remove_dir_all(desk.path("docs")).unwrap();
    std::fs::remove_dir_all(desk.path("home")).unwrap();

    let again = desk.ibid(&["replay", "world.jsonl"]);
    assert_eq!((again.code, &again.out), (0, &shown), "{}", again.err);
    assert!(again.err.contains("are byte for byte as recorded"), "{}", again.err);
    let again = desk.fed(&["replay", "-", "--json", "-q"], text.as_bytes());
    assert_eq!((again.code, &again.out), (0, &object));
    assert_eq!(again.err, "");
    let told = desk.ibid(&["replay", "world.jsonl", "--jsonl"]).lines();
    let events = text.lines().filter_map(|it| {
        let line: Value = serde_json::from_str(it).unwrap();
        line.get("event").cloned()
    });
    assert_eq!(told[..told.len() - 1], events.collect::<Vec<_>>());
    let written = desk.ibid(&["replay", "world.jsonl", "-o", "again.md", "-q"]);
    assert_eq!((written.code, written.out.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(desk.path("again.md")).unwrap(), shown);
    assert!(!desk.path("home").exists(), "a replay keeps nothing");
}

#[test]
fn the_program_says_when_a_replay_differs_and_what_is_wrong_with_a_file() {
    let desk = TestHome::new();
    let file = world(&desk);
    let text = std::fs::read_to_string(&file).unwrap();
    let at = |it: &str| it.contains("\"report.ready\"");
    let ready = 1 + text.lines().position(at).unwrap();
    let changed =
        with(&text, ready, |it| summed(&it.replacen("\"title\":\"", "\"title\":\"Not ", 1)));
    desk.write("changed.jsonl", &changed);
    let it = desk.ibid(&["replay", "changed.jsonl"]);
    assert_eq!(it.code, 6, "{}", it.err);
    assert!(it.err.contains("different report than recorded (report.title)"), "{}", it.err);
    assert!(it.out.contains(ASKED), "what came out is printed: {}", it.out);

    let it = desk.ibid(&["replay", "nowhere.jsonl"]);
    assert_eq!(it.code, 2);
    assert!(it.err.contains("reading recording nowhere.jsonl"), "{}", it.err);
    desk.write("torn.jsonl", &text[..text.len() / 2]);
    let it = desk.ibid(&["replay", "torn.jsonl", "--json"]);
    assert_eq!(it.code, 2);
    assert_eq!(it.json()["error"]["kind"], "usage");
    let it = desk.ibid(&["show", "last", "-f", "recording"]);
    assert_eq!(it.code, 2, "a recording is no form of the report");
}

#[test]
fn the_program_forks_a_recording_with_other_settings_and_folders() {
    let desk = TestHome::new();
    world(&desk);
    // A file has no folder read: whoever wants the one it was recorded from names it.
    let it = desk.ibid(&["replay", "world.jsonl", "--effort", "deep"]);
    assert_eq!(it.code, 3, "{}", it.err);
    assert!(
        it.err.contains(" 0 live; ") && it.err.contains("not recorded and not made"),
        "{}",
        it.err
    );
    let it = desk.ibid(&["replay", "world.jsonl", "--effort", "deep", "--folder", "docs"]);
    assert!(
        !it.err.contains(" 0 live") && !it.err.contains("not recorded and not made"),
        "{}",
        it.err
    );
    std::fs::remove_dir_all(desk.path("docs")).unwrap();
    desk.write(
        "more/new.md",
        "# Green roofs and rain in 2026\n\nA green roof retained 91 % of annual rainfall in 2026.\n",
    );
    let it = desk.ibid(&["replay", "world.jsonl", "--folder", "more"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.contains("91 %") && it.out.contains("56 %"), "{}", it.out);
    let told = it.err.lines().last().unwrap();
    assert!(told.starts_with("calls: "), "{told}");
    assert!(told.contains(" answered from the recording, "), "{told}");
    assert!(!told.contains(" 0 live"), "{told}");
    let runs = desk.ibid(&["ls", "--json"]).lines();
    assert_eq!(runs.len(), 4, "a fork is a run of its own");

    let it = desk.ibid(&["replay", "world.jsonl", "--budget", "3calls", "--json", "-v"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.err.contains("calls: 3 answered from the recording, 0 live"), "{}", it.err);
    let it = desk.ibid(&["replay", "world.jsonl", "--breadth", "99"]);
    assert_eq!(it.code, 2);
    assert!(it.err.contains("flag --breadth"), "{}", it.err);
}
