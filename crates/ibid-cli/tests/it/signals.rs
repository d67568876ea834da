//! The program stopped by signals, kills and the clock at moments that the test chooses: what it
//! then delivers, and what it leaves.
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ibid_core::ports::INDEX_CRASH_POINTS;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cli::*;

const QUESTION: &str = "How much does a green roof weigh?";
/// Longer than anything here takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn library() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples/library")
}

/// The program at the desk, its clock and chance frozen if `frozen`. It compares words alone: vectors are killed in `vectors`.
fn command(desk: &TestHome, args: &[&str], frozen: bool) -> Command {
    let mut command = desk.command(args);
    // One of them is held; the others must see the signals.
    command.env("TOKIO_WORKER_THREADS", "4");
    if frozen {
        command.env("IBID_CLOCK", "1790000000000").env("IBID_SEED", "7");
    }
    command
}

/// A program that waits at a named point.
struct Held {
    child: Child,
    stderr: BufReader<ChildStderr>,
    gate: std::fs::File,
}

impl Held {
    /// Starts `command` and returns when it has come to `point`.
    fn at(desk: &TestHome, mut command: Command, point: &str) -> Held {
        let pipe = desk.path(&format!("pipe-{point}"));
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let mut child = command
            .env("IBID_HOLD_AT", point)
            .env("IBID_HOLD_PIPE", &pipe)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            // Opening to write waits for somebody who opens to read.
            let _ = tell.send(std::fs::File::options().write(true).open(pipe));
        });
        let Ok(gate) = told.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            let it: Outcome = child.wait_with_output().unwrap().into();
            panic!("{point} was never reached: {}", it.err);
        };
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Held { child, stderr, gate: gate.unwrap() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads what it says on stderr until a line contains `words`.
    fn says(&mut self, words: &str) {
        let mut all = String::new();
        loop {
            let from = all.len();
            let read = self.stderr.read_line(&mut all).unwrap();
            assert!(read > 0, "it never said {words:?}: {all}");
            if all[from..].contains(words) {
                return;
            }
        }
    }

    /// Lets it go on, and waits for its end.
    fn let_go(self) -> Outcome {
        drop(self.gate);
        ended(self.child)
    }

    /// Waits for its end without letting it go on.
    fn still_held(self) -> Outcome {
        let outcome = ended(self.child);
        drop(self.gate);
        outcome
    }
}

fn ended(child: Child) -> Outcome {
    // Its stderr is held by the reader, which outlives it: nobody blocks on a full pipe of so little.
    child.wait_with_output().unwrap().into()
}

fn asked(folder: &str) -> [&str; 4] {
    ["--folder", folder, "--json", QUESTION]
}

/// The final object without what the clock measured.
fn told(it: &Outcome) -> Value {
    let mut object = it.json();
    object.as_object_mut().unwrap().remove("duration_ms");
    object
}

#[test]
fn a_run_that_nobody_works_on_is_called_interrupted_and_one_that_is_worked_on_is_not() {
    let folder = library();
    let desk = TestHome::new();
    let command = command(&desk, &asked(folder.to_str().unwrap()), false);
    let held = Held::at(&desk, command, "page.after_commit:4");
    assert!(desk.ibid(&["ls"]).out.contains("in progress"));
    let live = desk.ibid(&["show", "last"]);
    assert!(live.err.contains("still running"), "{}", live.err);
    assert!(live.err.contains("ibid finish r_"), "{}", live.err);
    let resumed = desk.ibid(&["resume", "last"]);
    assert!(resumed.err.contains("ibid finish"), "{}", resumed.err);
    assert!(!resumed.err.contains("ibid show"), "{}", resumed.err);
    held.signal(Signal::KILL);
    held.still_held();
    assert!(desk.ibid(&["ls"]).out.contains("interrupted"));
    let left = desk.ibid(&["show", "last"]);
    assert!(left.err.contains("ibid resume r_"), "{}", left.err);
    let status = &desk.ibid(&["ls", "--json"]).json()["status"];
    assert_eq!(status, "in_progress", "the wire's word stays");
}

#[test]
fn the_first_ctrl_c_finishes_with_what_is_there_and_so_does_sigterm() {
    let folder = library();
    for signal in [Signal::INT, Signal::TERM] {
        let desk = TestHome::new();
        let mut command = command(&desk, &asked(folder.to_str().unwrap()), false);
        // More than there is, so that one round is not enough and the next is asked about.
        command.env("IBID_MIN_EVIDENCE_RECORDS", "200");
        let mut held = Held::at(&desk, command, "page.after_commit:4");
        held.signal(signal);
        held.says("Finishing with");
        let it = held.let_go();
        assert_eq!(it.code, 0, "{}", it.out);
        let object = it.json();
        assert_eq!(object["stop_reason"], "user_finish");
        assert_eq!(object["subtype"], "success");
        assert!(!object["citations"].as_array().unwrap().is_empty());
        let checks = &object["checks"]["quotes"];
        assert_eq!(checks["verified"], checks["total"]);
    }
}

#[test]
fn the_second_ctrl_c_stops_at_once_and_resume_ends_with_the_same_report() {
    let folder = library();
    let args = asked(folder.to_str().unwrap());
    let calm = TestHome::new();
    let whole: Outcome = command(&calm, &args, true).output().unwrap().into();
    assert_eq!(whole.code, 0, "{}", whole.err);
    for point in ["call.after_intent:3", "page.after_commit:4"] {
        let desk = TestHome::new();
        let mut held = Held::at(&desk, command(&desk, &args, true), point);
        held.signal(Signal::INT);
        held.says("Finishing with");
        held.signal(Signal::INT);
        held.says("stopped; continue with: ibid resume");
        let it = held.still_held();
        assert_eq!(it.code, 130);
        assert!(it.out.is_empty(), "{}", it.out);
        let resume = command(&desk, &["resume", "last", "--json"], true).output();
        let resumed: Outcome = resume.unwrap().into();
        assert_eq!(resumed.code, 0, "{point}: {}", resumed.err);
        assert_eq!(told(&resumed), told(&whole), "{point}");
    }
}

#[test]
fn ctrl_c_while_indexing_stops_at_once_and_resume_goes_on() {
    let folder = library();
    let args = asked(folder.to_str().unwrap());
    let calm = TestHome::new();
    let whole: Outcome = command(&calm, &args, true).output().unwrap().into();
    let desk = TestHome::new();
    let mut held = Held::at(&desk, command(&desk, &args, true), "index.before_commit");
    held.signal(Signal::INT);
    held.says("what is indexed so far is kept; continue with: ibid resume");
    assert_eq!(held.let_go().code, 130);
    let resume = command(&desk, &["resume", "last", "--json"], true).output();
    assert_eq!(told(&resume.unwrap().into()), told(&whole));
}

#[test]
fn the_first_ctrl_c_of_a_batch_finishes_the_rows_begun_and_the_second_stops_at_once() {
    let folder = library();
    let desk = TestHome::new();
    let rows = "{\"id\": 1, \"prompt\": \"How much does a green roof weigh?\"}\n{\"id\": 2, \"prompt\": \"How deep is its substrate?\"}\n";
    let file = desk.write("q.jsonl", rows);
    let lines = |name: &str| {
        let text = std::fs::read_to_string(desk.path(name)).unwrap();
        text.lines().count()
    };
    let batch = |out: &str| {
        let folder = folder.to_str().unwrap();
        let args = ["batch", &file, "-o", out, "--jobs", "1", "--folder", folder];
        command(&desk, &args, false)
    };
    let mut held = Held::at(&desk, batch("first.jsonl"), "page.after_commit:4");
    held.signal(Signal::INT);
    held.says("Finishing 1 row");
    assert_eq!(held.let_go().code, 130, "a row was not begun");
    assert_eq!(lines("first.jsonl"), 1);
    let mut held = Held::at(&desk, batch("second.jsonl"), "page.after_commit:3");
    held.signal(Signal::INT);
    held.says("Finishing 1 row");
    held.signal(Signal::INT);
    held.says("stopped");
    assert_eq!(held.still_held().code, 130);
    assert_eq!(lines("second.jsonl"), 0);
    for out in ["first.jsonl", "second.jsonl"] {
        assert!(batch(out).status().unwrap().success());
        assert_eq!((lines(out), lines(&format!("{out}.runs"))), (2, 2), "{out}");
    }
}

/// A folder of so many small documents that its index is made in two rounds.
fn large(desk: &TestHome) -> String {
    // A file that changed a moment ago is read again by the next command, whatever its time says.
    let yesterday = std::time::SystemTime::now() - Duration::from_secs(86_400);
    for n in 0..4_100 {
        let word = ["cork", "moss", "slate"][n % 3];
        let path = desk.write(
            &format!("large/{n}.txt"),
            &format!("Paper {n} tells of {word} and of {n} roofs."),
        );
        File::options().write(true).open(path).unwrap().set_modified(yesterday).unwrap();
    }
    desk.path("large").to_string_lossy().into_owned()
}

fn found(desk: &TestHome, folder: &str) -> Vec<Value> {
    let queries =
        "{\"id\": 1, \"query\": \"cork roofs\"}\n{\"id\": 2, \"query\": \"paper 4099\"}\n";
    let file = desk.write("queries.jsonl", queries);
    let args = ["search", "--queries", &file, "--folder", folder, "--json", "-n", "20"];
    let it: Outcome = command(desk, &args, false).output().unwrap().into();
    assert_eq!(it.code, 0, "{}", it.err);
    it.lines()
}

#[test]
fn an_index_killed_while_it_is_built_ends_as_one_built_in_peace() {
    let calm = TestHome::new();
    let folder = large(&calm);
    let expected = found(&calm, &folder);
    assert!(!expected[0]["results"].as_array().unwrap().is_empty());
    for point in INDEX_CRASH_POINTS {
        let desk = TestHome::new();
        let mut search = command(&desk, &["search", "cork", "--folder", &folder], false);
        let died = search.env("IBID_CRASH_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "{point} was never reached");
        assert_eq!(found(&desk, &folder), expected, "{point}");
    }
}

#[test]
fn ctrl_c_keeps_what_is_indexed_and_the_next_command_goes_on() {
    let desk = TestHome::new();
    let folder = large(&desk);
    let add = command(&desk, &["index", "add", &folder], false);
    let mut held = Held::at(&desk, add, "index.after_commit");
    held.signal(Signal::INT);
    held.says("stopped; what is indexed so far is kept");
    let it = held.let_go();
    assert_eq!(it.code, 130);
    let row = desk.ibid(&["index", "ls", "--json"]).json();
    assert_eq!(row["documents"], 4_000);
    let it: Outcome = command(&desk, &["index", "add", &folder], false).output().unwrap().into();
    assert!(it.out.contains("100 new, 0 changed, 0 gone, 4000 as before"), "{}", it.out);
}

#[test]
fn what_takes_long_to_index_is_told_once_at_its_start_and_once_at_its_end() {
    let desk = TestHome::new();
    let folder = large(&desk);
    let add = command(&desk, &["index", "add", &folder], false);
    let held = Held::at(&desk, add, "index.after_commit");
    // The program is held, so this is how long its index takes at least.
    std::thread::sleep(Duration::from_millis(1_200));
    let Held { child, mut stderr, gate } = held;
    drop(gate);
    let it = ended(child);
    assert_eq!(it.code, 0);
    let mut err = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut err).unwrap();
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(lines[0].contains("] indexing ") && lines[0].ends_with(" of 4,100 documents"), "{err}");
    assert!(lines[1].ends_with("] indexed 4,100 of 4,100 documents"), "{err}");
    assert!(!err.contains('\u{1b}'), "no redrawing in a pipe");
    let mut again = command(&desk, &["search", "cork", "--folder", &folder], false);
    let quick: Outcome = again.output().unwrap().into();
    assert_eq!(quick.err, "", "nothing to do is nothing to tell");
}

#[test]
fn the_time_budget_ends_the_search_and_a_report_comes_all_the_same() {
    let desk = TestHome::new();
    let folder = library();
    let args = ["--folder", folder.to_str().unwrap(), "--budget", "1s", "--json", QUESTION];
    let mut command = command(&desk, &args, false);
    command.env("IBID_MIN_EVIDENCE_RECORDS", "200");
    let held = Held::at(&desk, command, "page.after_commit:4");
    // The run began before it was held: by now its second is over.
    std::thread::sleep(Duration::from_millis(1_050));
    let it = held.let_go();
    assert_eq!(it.code, 0);
    let object = it.json();
    assert_eq!(object["stop_reason"], "budget_time");
    assert!(!object["citations"].as_array().unwrap().is_empty());
    assert_eq!(object["iterations_used"], 1);
}

#[test]
fn what_is_no_plain_file_is_left_alone_and_nothing_hangs() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let inside = |name: &str| desk.path(&format!("docs/{name}"));
    std::os::unix::fs::symlink("nowhere", inside("dangling.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", inside("away.txt")).unwrap();
    std::os::unix::fs::symlink(".", inside("loop")).unwrap();
    std::fs::create_dir(inside("folder.md")).unwrap();
    let made = Command::new("mkfifo").arg(inside("pipe.txt")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(inside("socket.html")).unwrap();
    let begun = Instant::now();
    for args in [
        &["read", &docs, "--jsonl"][..],
        &["search", "rain", "--folder", &docs, "--json", "-q"],
        &[ASKED, "--folder", &docs, "-q"],
    ] {
        let it = desk.ibid(args);
        assert_eq!((it.code, it.err.as_str()), (0, ""), "{args:?}");
        assert!(!it.out.contains("root:"), "{}", it.out);
    }
    assert!(begun.elapsed() < PATIENCE);
    let dangling = desk.path("docs/dangling.md");
    let it = desk.ibid(&["read", dangling.to_str().unwrap()]);
    assert_eq!(it.code, 1);
    assert!(it.err.contains("dangling.md"), "{}", it.err);
}

/// The program, run by somebody who is not root.
fn as_nobody(desk: &TestHome, args: &[&str]) -> Command {
    use std::os::unix::fs::PermissionsExt as _;
    let open = |path: PathBuf, mode| {
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(desk.path(""), 0o755);
    open(desk.path("home"), 0o777);
    let dropped = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut command = Command::new("setpriv");
    command
        .args(dropped)
        .arg(env!("CARGO_BIN_EXE_ibid"))
        .env_clear()
        .env("HOME", desk.path("home"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(desk.path(""))
        .stdin(Stdio::null());
    let mut trial = Command::new("setpriv");
    trial.args(dropped).arg(env!("CARGO_BIN_EXE_ibid")).arg("--version");
    let works = trial.output().is_ok_and(|it| it.status.success());
    assert!(works, "`setpriv` cannot run a program as another user here");
    command.args(args);
    command
}

#[test]
#[ignore = "needs setpriv"]
fn what_may_not_be_read_is_told_and_the_rest_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestHome::new();
    let docs = desk.docs();
    let secret = desk.write("docs/secret.md", "# Green roof secrets\n\nHush.\n");
    desk.write("docs/closed/inside.md", "# Inside\n\nHush.\n");
    let closed = desk.path("docs/closed");
    let mut ask = as_nobody(&desk, &[ASKED, "--folder", &docs]);
    let shut = |path: &Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap()
    };
    shut(Path::new(&secret));
    shut(&closed);
    let it: Outcome = ask.output().unwrap().into();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.contains("56 %"), "{}", it.out);
    for name in ["secret.md", "closed"] {
        let told = it.err.lines().filter(|it| it.contains(name)).count();
        assert_eq!(told, 1, "{name}: {}", it.err);
    }
    let mut read = as_nobody(&desk, &["read", &secret]);
    let it: Outcome = read.output().unwrap().into();
    assert_eq!(it.code, 1);
    assert!(it.err.contains("secret.md") && it.err.contains("ermission"), "{}", it.err);
}
