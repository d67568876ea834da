//! The processes that parse strangers' documents: what they can do, whose they are, and when they end.
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ibid_extract::{DocumentOrigin, ExtractLimits, Parser, read_fetched};
use ibid_index::folder::{Folder, FolderOptions};
use serde_json::Value;

use super::{limits, parsed_by, pdf, zipped};
use crate::cli::TestHome;

const IBID: &str = env!("CARGO_BIN_EXE_ibid");

fn page(nth: usize) -> Vec<u8> {
    format!("<html><head><title>Page {nth}</title></head><body><main><h1>Page {nth}</h1><p>The dam of page {nth} was built in 1931 by the towns of the valley.</p></main></body></html>").into_bytes()
}

/// A page of many words, on which a parser works for long.
fn long_page() -> Vec<u8> {
    let row = "<p>The <a href=\"/dam\">dam</a> was raised in <b>two</b> stages, and the second was paid for by the towns.</p>";
    format!("<html><body><main>{}</main></body></html>", row.repeat(20_000)).into_bytes()
}

fn fetched(url: &str, content_type: &str) -> DocumentOrigin {
    DocumentOrigin::from_url(url, Some(content_type.to_owned()))
}

fn html() -> DocumentOrigin {
    fetched("https://dams.example/page", "text/html")
}

/// What a process behind these walls could do when it tried.
fn probed(walls: &str) -> Value {
    // Its output goes through a pipe: it may write no file.
    let told = Command::new(IBID)
        .args(["__document", "probe", "536870912", "20", walls])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(told.status.success(), "{told:?}");
    serde_json::from_slice(&told.stdout).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_locked_process_opens_no_file_reaches_nobody_and_starts_nothing() {
    let tried = ["read", "write", "network", "program"];
    let free = probed("none");
    for what in tried {
        assert_eq!(free["escapes"][what], true, "without walls {what}: {free}");
    }
    for walls in ["seccomp", "all"] {
        let held = probed(walls);
        assert_eq!(held["confinement"]["seccomp"], true, "{held}");
        for what in tried {
            assert_eq!(held["escapes"][what], false, "{walls} {what}: {held}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs Landlock"]
fn landlock_alone_lets_a_process_open_no_file_and_start_nothing() {
    let held = probed("landlock");
    assert!(!held["confinement"]["landlock"].is_null(), "this kernel has no Landlock: {held}");
    for what in ["read", "write", "program"] {
        assert_eq!(held["escapes"][what], false, "{what}: {held}");
    }
}

#[test]
fn doctor_says_what_holds_a_document_that_takes_its_parser_over() {
    let desk = TestHome::new();
    let mut command = desk.command(&["doctor", "--json"]);
    let told = command.env("IBID_ENGINES", "none").output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let found = checks.iter().find(|it| it["name"] == "document sandbox");
    let found = found.unwrap();
    let landlock = probed("landlock")["confinement"]["landlock"].as_i64();
    if let (true, Some(version)) = (cfg!(target_os = "linux"), landlock) {
        assert_eq!(found["found"], format!("Landlock ABI {version}, seccomp"));
        assert_eq!(found["state"], "ok", "{found}");
    } else {
        assert_eq!(found["state"], "warning", "{found}");
    }
}

/// A server, until this is dropped.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_server_tells_its_log_which_wall_is_missing() {
    let desk = TestHome::new();
    let log = desk.path("log");
    let server = desk
        .command(&["serve", "--addr", "127.0.0.1:0", "--folder", &desk.docs()])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let _server = ServerProcess(server);
    let told = |event: &str| {
        let text = std::fs::read_to_string(&log).unwrap();
        let whole = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
        let mut rows = whole.filter_map(|it| serde_json::from_str::<Value>(it).ok());
        rows.find(|it| it["event"] == event)
    };
    until("it does not listen", || told("listening")).await;
    if probed("all")["confinement"]["landlock"].is_null() {
        let said = until("it is not told", || told("document_sandbox")).await;
        let hint = said["hint"].as_str().unwrap().to_lowercase();
        assert!(hint.contains("landlock"), "{said}");
    } else {
        assert!(told("document_sandbox").is_none());
    }
}

#[tokio::test]
async fn what_a_child_makes_of_a_page_is_what_this_process_would() {
    let (child, here) = (limits(), ExtractLimits { parser: None, ..limits() });
    let cases: Vec<(DocumentOrigin, Vec<u8>)> = vec![
        (html(), page(1)),
        (
            fetched("https://dams.example/notes.md", "text/markdown"),
            b"# Dams\n\nThe dam was built in 1931.\n\n- one\n  - two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n".to_vec(),
        ),
        (
            fetched("https://dams.example/plain", "text/plain"),
            "Die Mauer wurde 1931 gebaut. Sie hält das Wasser der Täler.".as_bytes().to_vec(),
        ),
        (
            fetched("https://dams.example/latin", "text/html; charset=iso-8859-1"),
            b"<main><h1>D\xe9charge</h1><p>Le barrage a \xe9t\xe9 construit en 1931 par les villes.</p></main>".to_vec(),
        ),
        (html(), b"<html><body></body></html>".to_vec()),
        (fetched("https://dams.example/x.bin", "application/octet-stream"), vec![0; 900]),
    ];
    for (origin, bytes) in cases {
        let one = read_fetched(bytes.clone(), origin.clone(), &child).await;
        let other = read_fetched(bytes, origin.clone(), &here).await;
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(one, other, "{origin:?}"),
            (one, other) => {
                assert_eq!(one.unwrap_err().chain(), other.unwrap_err().chain(), "{origin:?}")
            }
        }
    }
}

#[tokio::test]
async fn what_was_fetched_is_where_it_was_fetched_whatever_it_says_of_itself() {
    let says = r#"{"url": "https://www.nature.example/1", "id": "nature-1", "title": "A", "text": "The dam was built in 1931."}"#;
    let cases = [
        ("application/json", "https://dams.example/data"),
        // One of many rows, whose number is told.
        ("application/x-ndjson", "https://dams.example/data#row=1"),
        ("text/plain", "https://dams.example/data"),
    ];
    for (kind, address) in cases {
        let origin = fetched("https://dams.example/data", kind);
        let draft = read_fetched(says.into(), origin, &limits()).await.unwrap();
        assert_eq!(draft.url, address, "{kind}");
        assert_eq!((draft.doc_id, draft.file), (None, None), "{kind}");
    }
}

/// A child that answers as one would that a document has taken over.
#[tokio::test]
async fn a_child_that_was_taken_over_cannot_forge_what_it_does_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let draft = serde_json::json!({
        "url": "https://www.nature.example/1",
        "file": "file:///etc/passwd",
        "doc_id": "doi:10.1000/forged",
        "title": "T".repeat(9_000),
        "author": null,
        "date": "<script>",
        "date_source": "json-ld",
        "lang": "../..",
        "site": null,
        "blocks": [{"kind": "prose", "text": "The dam was built in 1931.", "page": null, "level": 0}],
        "warnings": vec!["w".repeat(9_000); 90],
    });
    let frame = |value: &Value| {
        let text = value.to_string();
        [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
    };
    let ready = serde_json::json!({"Ready": {"landlock": 7, "seccomp": true}});
    let answers = |reply: &Value| {
        let answer = dir.path().join("answer");
        std::fs::write(&answer, [frame(&ready), frame(reply)].concat()).unwrap();
        let text = format!("cat {} >&0; exec sleep 600", answer.display());
        parsed_by(dir.path(), &text)
    };
    let parsed = answers(&serde_json::json!({"Parsed": {"Ok": draft}}));
    let draft = read_fetched(page(1), html(), &parsed).await.unwrap();
    assert_eq!(draft.url, "https://dams.example/page");
    assert_eq!(
        (draft.file, draft.doc_id, draft.date, draft.date_source, draft.lang),
        (None, None, None, None, None)
    );
    assert!(draft.title.len() <= 500 && draft.warnings.len() <= 20);
    assert!(draft.warnings.iter().all(|it| it.len() <= 400));
    let blamed = answers(
        &serde_json::json!({"Parsed": {"Err": {"reason": "robots", "message": "no\u{1b}[31m".repeat(500)}}}),
    );
    let fault = read_fetched(page(1), html(), &blamed).await.unwrap_err().chain();
    assert!(fault.len() < 600 && !fault.contains('\u{1b}'), "{fault}");
    for garbage in
        [serde_json::json!({"Ready": {"landlock": null, "seccomp": false}}), serde_json::json!([])]
    {
        assert!(read_fetched(page(1), html(), &answers(&garbage)).await.is_err());
    }
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

/// Waits until `done` says so, for as long as a loaded machine may need.
async fn until<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = done() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn written(path: &Path) -> Option<String> {
    let said = std::fs::read_to_string(path).ok()?;
    said.ends_with('\n').then(|| said.trim().to_owned())
}

#[tokio::test]
async fn a_document_that_nobody_waits_for_any_more_is_not_parsed_on() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let text = format!("echo $$ > {}; while :; do :; done", pid.display());
    let limits = ExtractLimits { pdf_seconds: 600, ..parsed_by(dir.path(), &text) };
    let reading = tokio::spawn(async move { read_fetched(page(1), html(), &limits).await });
    let pid = until("it was not begun", || written(&pid)).await;
    assert!(alive(&pid));
    reading.abort();
    until("it burns on", || (!alive(&pid)).then_some(())).await;
}

#[tokio::test]
async fn a_folder_that_nobody_waits_for_any_more_is_not_read_on_and_later_read_as_new() {
    let dir = tempfile::tempdir().unwrap();
    let (pid, docs) = (dir.path().join("pid"), dir.path().join("docs"));
    // The first child burns; those after it are parsers.
    let text = format!(
        "if [ -e {0} ]; then exec {IBID} \"$@\"; fi; echo $$ > {0}; while :; do :; done",
        pid.display()
    );
    let limits = ExtractLimits { pdf_seconds: 600, ..parsed_by(dir.path(), &text) };
    std::fs::create_dir(&docs).unwrap();
    let bytes = pdf(&["The dam was built in 1931."], "/Title (On dams)", "");
    std::fs::write(docs.join("dam.pdf"), bytes).unwrap();
    let options = FolderOptions::new(Vec::new(), limits);
    let folder = Folder::open(&docs, &dir.path().join("cache"), &options).unwrap();
    let (folder, stop) = (Arc::new(folder), Arc::new(AtomicBool::new(false)));
    let reading = std::thread::spawn({
        let (folder, stop) = (Arc::clone(&folder), Arc::clone(&stop));
        move || folder.refresh_until(&stop, &mut |_| {}).unwrap()
    });
    let child = until("it was not begun", || written(&pid)).await;
    assert!(alive(&child));
    stop.store(true, Ordering::Relaxed);
    until("it burns on", || (!alive(&child)).then_some(())).await;
    let told = reading.join().unwrap();
    assert!(told.stopped);
    assert_eq!((told.documents, told.added, told.faults), (0, 0, vec![]));
    let again = folder.refresh(&mut |_| {}).unwrap();
    assert_eq!((again.documents, again.added), (1, 1), "{:?}", again.faults);
}

/// A page of the size that pages of the web have.
fn usual_page() -> Vec<u8> {
    let row = "<p>The <a href=\"/dam\">dam</a> was raised in <b>two</b> stages, and the second was paid for by the towns.</p>";
    format!(
        "<html><head><title>Dams</title></head><body><main>{}</main></body></html>",
        row.repeat(300)
    )
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::print_stderr, reason = "a measurement says what it saw")]
async fn parsing_a_page_in_a_child_takes_little_longer_than_in_this_process() {
    let (child, here) = (limits(), ExtractLimits { parser: None, ..limits() });
    let (mut one, mut all) = ([Duration::MAX; 2], [Duration::MAX; 2]);
    let mut memory = Vec::new();
    // The best of some rounds, for others work on this machine meanwhile.
    for _ in 0..3 {
        for (nth, limits) in [&child, &here].into_iter().enumerate() {
            for _ in 0..5 {
                let begun = Instant::now();
                read_fetched(usual_page(), html(), limits).await.unwrap();
                one[nth] = one[nth].min(begun.elapsed());
            }
            let begun = Instant::now();
            let pages = (0..20).map(|_| read_fetched(usual_page(), html(), limits));
            let read = futures_util::future::join_all(pages).await;
            assert!(read.iter().all(Result::is_ok));
            all[nth] = all[nth].min(begun.elapsed());
            memory.extend(parsers().into_iter().filter_map(anonymous_memory));
        }
    }
    let memory = memory.into_iter().max();
    eprintln!(
        "one page {one:?}, 20 at once {all:?} (child, here); at most {memory:?} KiB in a child"
    );
    let bearable = |it: [Duration; 2]| it[0] < it[1] * 2 + Duration::from_millis(50);
    assert!(bearable(one) && bearable(all), "one page {one:?}, 20 at once {all:?} (child, here)");
}

/// Memory of its own that a process has, KiB.
fn anonymous_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The processes that this one has started to parse.
fn parsers() -> Vec<u32> {
    let own = std::process::id();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|it| {
        let name = it.ok()?.file_name().into_string().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        let after = stat.rsplit_once(')')?.1;
        let parent: u32 = after.split_whitespace().nth(1)?.parse().ok()?;
        let line = std::fs::read_to_string(format!("/proc/{name}/cmdline")).ok()?;
        let pid = name.parse().ok()?;
        (parent == own && line.contains("__document")).then_some(pid)
    });
    all.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_parsers_at_random_loses_no_more_than_the_document_that_each_was_at() {
    let limits = limits();
    let (ended, killed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let killer = std::thread::spawn({
        let (ended, killed) = (Arc::clone(&ended), Arc::clone(&killed));
        move || {
            while !ended.load(Ordering::Relaxed) {
                if let Some(pid) = parsers().first() {
                    let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
                    killed.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(30));
            }
        }
    });
    let (mut read, mut failed) = (0, 0);
    // Until enough were killed while documents came and went.
    while killed.load(Ordering::Relaxed) < 15 {
        let pages = (0..20).map(|nth| read_fetched(page(nth), html(), &limits));
        for (nth, found) in futures_util::future::join_all(pages).await.into_iter().enumerate() {
            match found {
                Ok(draft) => {
                    assert_eq!(draft.title, format!("Page {nth}"), "nobody gets another's page");
                    read += 1;
                }
                Err(fault) => {
                    assert!(fault.chain().contains("killed"), "{}", fault.chain());
                    failed += 1;
                }
            }
        }
    }
    ended.store(true, Ordering::Relaxed);
    killer.join().unwrap();
    assert!(failed * 5 < read, "{failed} failed, {read} read");
    let after = read_fetched(page(7), html(), &limits).await.unwrap();
    assert_eq!(after.title, "Page 7");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_pages_and_bombs_of_one_owner_leave_room_for_another() {
    let parser = Parser::with_concurrency(IBID, 2);
    let of = |owner: &str| ExtractLimits {
        parser: Some(parser.for_owner(owner)),
        pdf_seconds: 60,
        ..ExtractLimits::default()
    };
    let attributes: String = (0..60_000).map(|nth| format!(" a{nth}=\"{nth}\"")).collect();
    let bomb = format!("<html><body><p{attributes}>The dam was built in 1931.</p></body></html>");
    let (greedy, modest) = (of("greedy"), of("modest"));
    let done = Arc::new(AtomicUsize::new(0));
    let slow: Vec<_> = (0..24)
        .map(|nth| {
            let (limits, done) = (greedy.clone(), Arc::clone(&done));
            let bytes = if nth < 4 { bomb.clone().into_bytes() } else { long_page() };
            tokio::spawn(async move {
                let _ = read_fetched(bytes, html(), &limits).await;
                done.fetch_add(1, Ordering::SeqCst);
            })
        })
        .collect();
    until("nothing of the first owner was begun", || (parsers().len() >= 2).then_some(())).await;
    for nth in 0..20 {
        let draft = read_fetched(page(nth), html(), &modest).await.unwrap();
        assert_eq!(draft.title, format!("Page {nth}"));
    }
    let done = done.load(Ordering::SeqCst);
    assert!(done < 24, "the slow pages were not slow");
    assert!(done <= 16, "20 small pages waited for {done} slow ones of another");
    drop(greedy);
    slow.iter().for_each(tokio::task::JoinHandle::abort);
    // What was aborted, waiting or begun, takes no place any more: the first owner reads at once.
    let again = read_fetched(page(3), html(), &of("greedy")).await.unwrap();
    assert_eq!(again.title, "Page 3");
}

#[tokio::test]
async fn a_process_never_parses_for_two_owners() {
    let parser = Parser::with_concurrency(IBID, 1);
    let mut seen: Vec<u32> = Vec::new();
    for owner in ["alice", "bob", "carol", "alice"] {
        let limits =
            ExtractLimits { parser: Some(parser.for_owner(owner)), ..ExtractLimits::default() };
        read_fetched(page(1), html(), &limits).await.unwrap();
        read_fetched(page(2), html(), &limits).await.unwrap();
        let now = parsers();
        assert!(now.len() <= 2, "at most two places: {now:?}");
        seen.extend(now.iter().filter(|it| !seen.contains(it)).copied().collect::<Vec<_>>());
    }
    assert!(seen.len() >= 3, "each owner has had a process: {seen:?}");
    drop(parser);
    until("processes outlive their pool", || parsers().is_empty().then_some(())).await;
}

#[tokio::test]
async fn a_parser_without_a_program_says_so_and_text_is_read_all_the_same() {
    let here = ExtractLimits { parser: None, ..ExtractLimits::default() };
    assert!(read_fetched(page(1), html(), &here).await.is_ok());
    let docx = zipped(&[("word/document.xml", b"<w:document/>")]);
    let origin = fetched(
        "https://dams.example/a.docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    );
    let fault = read_fetched(docx, origin, &here).await.unwrap_err().chain();
    assert!(fault.contains("child process"), "{fault}");
    let gone = ExtractLimits {
        parser: Some(Parser::from_program("/nonexistent/ibid")),
        ..ExtractLimits::default()
    };
    let fault = read_fetched(page(1), html(), &gone).await.unwrap_err().chain();
    assert!(fault.contains("cannot be started"), "{fault}");
}
