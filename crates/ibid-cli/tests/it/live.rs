//! A run on the whole screen: what is drawn, what keys mean, and that a real terminal is given back.
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibid_cli::console::Palette;
use ibid_cli::live::{KeyPress, LiveCommand, LiveView};
use ibid_core::record::{Envelope, Event, Phase};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::{ASKED, TestHome};
use crate::events::samples::{enveloped, run_id};
use crate::progress::{same_as_file, underway};

const LEAVING: &str = "the run stops here and is kept";

fn board(events: &[Envelope]) -> LiveView {
    let mut board = LiveView::new(run_id(), Palette(false), LEAVING);
    events.iter().for_each(|it| board.apply(it));
    board
}

fn drawn(board: &mut LiveView, wide: usize, high: usize) -> Vec<String> {
    let now = "2026-11-21T20:20:25Z".parse().unwrap();
    let lines = board.lines(wide, high, now);
    assert_eq!(lines.len(), high);
    for it in &lines {
        assert!(it.width() <= wide, "{} columns of {wide}: {it}", it.width());
    }
    lines.iter().map(|it| it.trim_end().to_owned()).collect()
}

fn typed(board: &mut LiveView, text: &str) -> Option<LiveCommand> {
    text.chars().filter_map(|it| board.handle_key(KeyPress::Char(it))).last()
}

#[test]
fn the_screen_is_as_recorded() {
    let mut now = String::new();
    for (wide, high) in [(80, 24), (120, 40)] {
        let lines = drawn(&mut board(&underway("cohorts")), wide, high).join("\n");
        now += &format!("--- {wide} by {high}\n{lines}\n");
    }
    same_as_file("live.txt", &now);
}

#[test]
fn no_size_of_the_screen_is_too_small_and_no_word_too_long() {
    let long = "長い言葉 ".repeat(80);
    for words in ["cohorts", long.as_str(), ""] {
        let mut board = board(&underway(words));
        for wide in [1, 2, 7, 9, 12, 13, 16, 18, 20, 39, 80, 111, 112, 200] {
            for high in [1, 2, 3, 5, 8, 13, 24, 60] {
                drawn(&mut board, wide, high);
            }
        }
        board.handle_key(KeyPress::Char('s'));
        typed(&mut board, &"長".repeat(300));
        drawn(&mut board, 20, 5);
    }
    drawn(&mut LiveView::new(run_id(), Palette(false), LEAVING), 80, 24);
}

#[test]
fn strangers_words_draw_nothing_but_words() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{9b}31m\u{202e}x";
    let mut board = board(&underway(evil));
    board.set_message(evil);
    let shown = drawn(&mut board, 120, 40).join("\n");
    assert!(shown.contains("]0;owned"), "the words themselves are shown: {shown}");
    let odd = shown.chars().find(|it| it.is_control() && *it != '\n' || *it == '\u{202e}');
    assert_eq!(odd, None, "{shown}");
}

#[test]
fn the_last_sentence_of_the_draft_has_a_line_where_there_is_room() {
    let evil = "Roofs \u{1b}[2Jhold\r\nhalf of the rain. \u{202e}";
    let mut events = underway("cohorts");
    for (text, begins) in [("An old one.", true), (evil, false)] {
        let told =
            Event::DraftDelta { text: text.to_owned(), section: Some("Water".to_owned()), begins };
        let seq = events.len() as u64 + 1;
        events.push(enveloped(seq, told, Phase::Write, None));
    }
    let mut it = board(&events);
    let shown = drawn(&mut it, 80, 24);
    let line = shown.iter().find(|it| it.starts_with("Draft"));
    assert_eq!(
        line.map(String::as_str),
        Some("Draft, not yet checked: Roofs [2Jhold half of the rain.")
    );
    assert!(shown[23].starts_with("f finish"));
    for high in [1, 5, 19] {
        let low = drawn(&mut it, 80, high);
        assert!(!low.iter().any(|it| it.starts_with("Draft")), "{high}");
    }
    for wide in [1, 9, 20, 21, 200] {
        drawn(&mut it, wide, 24);
    }
}

#[test]
fn keys_say_what_is_wished() {
    let mut it = board(&underway("cohorts"));
    assert_eq!(it.handle_key(KeyPress::Char('f')), Some(LiveCommand::Finish));
    assert_eq!(it.handle_key(KeyPress::Char('q')), Some(LiveCommand::Leave));
    assert_eq!(it.handle_key(KeyPress::Char('x')), None);
    // A cancel is asked twice.
    assert_eq!(it.handle_key(KeyPress::Char('c')), None);
    assert!(drawn(&mut it, 80, 24)[23].contains("without a report?"));
    assert_eq!(it.handle_key(KeyPress::Char('n')), None);
    assert_eq!(typed(&mut it, "cy"), Some(LiveCommand::Cancel));
    // Letters are letters while one types.
    assert_eq!(typed(&mut it, "sWhat of fquick costs?"), None);
    assert!(drawn(&mut it, 80, 24)[23].contains("What of fquick costs?"));
    it.handle_key(KeyPress::Back);
    assert_eq!(
        it.handle_key(KeyPress::Enter),
        Some(LiveCommand::Steer("What of fquick costs".to_owned()))
    );
    typed(&mut it, "s  ");
    assert_eq!(it.handle_key(KeyPress::Enter), None, "nothing is no wish");
    typed(&mut it, "sx");
    assert_eq!(it.handle_key(KeyPress::Escape), None);
    assert_eq!(it.handle_key(KeyPress::Char('q')), Some(LiveCommand::Leave));
    typed(&mut it, "sx");
    assert_eq!(it.handle_key(KeyPress::Interrupt), Some(LiveCommand::Interrupt));
    assert_eq!(
        it.handle_key(KeyPress::Char('f')),
        Some(LiveCommand::Finish),
        "and nothing is being typed any more"
    );
}

/// A program in a terminal of its own, and what is on its screen.
struct Pty {
    child: std::process::Child,
    heard: std::sync::mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    all: Vec<u8>,
}

impl Pty {
    fn start(desk: &TestHome, rows: u16, columns: u16, args: &str, more: &[(&str, &str)]) -> Pty {
        let line = format!("exec '{}' {args}", env!("CARGO_BIN_EXE_ibid"));
        Pty::shell(desk, rows, columns, &line, more)
    }

    fn shell(desk: &TestHome, rows: u16, columns: u16, line: &str, more: &[(&str, &str)]) -> Pty {
        let line = format!("stty rows {rows} cols {columns}; {line}");
        let mut command = Command::new("script");
        let mut child = command
            .args(["-qefc", &line, "/dev/null"])
            .current_dir(desk.path(""))
            .env_clear()
            .env("HOME", desk.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(more.iter().copied())
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        let (tell, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut piece) {
                if tell.send(piece[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        let size = |n: u16| std::num::NonZero::new(n).unwrap();
        Pty {
            child,
            heard,
            screen: vt100::Parser::new(size(rows), size(columns), 0),
            all: Vec::new(),
        }
    }

    fn shown(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen shows so.
    fn until(&mut self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !holds(self.screen.screen()) {
            let left = until.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(bytes) => {
                    self.screen.process(&bytes);
                    self.all.extend_from_slice(&bytes);
                }
                Err(_) => panic!(
                    "{what} never held: {}\n{}",
                    self.shown(),
                    String::from_utf8_lossy(&self.all)
                ),
            }
        }
    }

    fn type_in(&mut self, keys: &str) {
        let mut to = self.child.stdin.as_ref().unwrap();
        to.write_all(keys.as_bytes()).unwrap();
        to.flush().unwrap();
    }

    /// The exit code, and all that was written after the screen was given back.
    fn end(mut self) -> (i32, String) {
        let code = self.ended();
        let all = String::from_utf8_lossy(&self.all).into_owned();
        let after = all.rsplit("\u{1b}[?1049l").next().unwrap().to_owned();
        (code, after)
    }

    /// The exit code, once all is written.
    fn ended(&mut self) -> i32 {
        let code = loop {
            while let Ok(bytes) = self.heard.try_recv() {
                self.screen.process(&bytes);
                self.all.extend_from_slice(&bytes);
            }
            if let Some(it) = self.child.try_wait().unwrap() {
                break it.code().unwrap_or(-1);
            }
            if let Ok(bytes) = self.heard.recv_timeout(Duration::from_millis(50)) {
                self.screen.process(&bytes);
                self.all.extend_from_slice(&bytes);
            }
        };
        while let Ok(bytes) = self.heard.recv_timeout(Duration::from_secs(5)) {
            self.screen.process(&bytes);
            self.all.extend_from_slice(&bytes);
        }
        assert!(!self.screen.screen().alternate_screen(), "the screen is given back");
        assert!(!self.screen.screen().hide_cursor(), "with its cursor");
        code
    }
}

fn waiting(desk: &TestHome) -> String {
    format!("run '{ASKED}' --folder '{}' --live", desk.docs())
}

#[test]
fn a_run_fills_the_screen_and_leaves_its_report_below() {
    for (rows, columns) in [(24, 80), (40, 120)] {
        let desk = TestHome::new();
        let mut it = Pty::start(&desk, rows, columns, &waiting(&desk), &[]);
        it.until("the screen is taken", vt100::Screen::alternate_screen);
        let (code, after) = it.end();
        assert_eq!(code, 0, "{after}");
        assert!(after.contains("quotes verified"), "{after}");
    }
}

#[test]
fn without_a_terminal_live_is_plain_lines() {
    let desk = TestHome::new();
    let it = desk.ibid(&["run", ASKED, "--folder", &desk.docs(), "--live"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.err.contains("] plan: "), "{}", it.err);
    assert!(!it.err.contains('\u{1b}') && !it.out.contains('\u{1b}'));
}

/// The program, held at a named point until the pipe that is given is closed.
fn held(desk: &TestHome, point: &str) -> (Pty, std::fs::File) {
    held_with(desk, point, &[])
}

fn held_with(desk: &TestHome, point: &str, with: &[(&str, &str)]) -> (Pty, std::fs::File) {
    let pipe = desk.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let named = pipe.to_string_lossy().into_owned();
    let mut more = vec![
        ("IBID_HOLD_AT", point),
        ("IBID_HOLD_PIPE", named.as_str()),
        ("TOKIO_WORKER_THREADS", "4"),
    ];
    more.extend(with);
    let it = Pty::start(desk, 24, 80, &waiting(desk), &more);
    // Opening to write waits for the program, which opens to read where it is held.
    (it, std::fs::File::options().write(true).open(&pipe).unwrap())
}

fn shows(text: &'static str) -> impl Fn(&vt100::Screen) -> bool {
    move |it| it.contents().contains(text)
}

#[test]
fn keys_steer_ask_twice_and_leave_a_run_that_is_kept() {
    let desk = TestHome::new();
    let (mut it, gate) = held(&desk, "page.before_commit");
    it.until("the keys are told", shows("f finish"));
    it.type_in("s");
    it.until("words are asked for", shows("Look into"));
    it.type_in("What does it cost?\r");
    it.until("they are taken", shows("The run will look into it."));
    it.type_in("c");
    it.until("it is asked twice", shows("without a report?"));
    it.type_in("n");
    it.until("it goes on", shows("q leave"));
    it.type_in("q");
    let (code, after) = it.end();
    drop(gate);
    assert_eq!(code, 130, "{after}");
    assert!(after.contains("continue with: ibid resume r_"), "{after}");
    let list = desk.ibid(&["ls"]).out;
    assert!(list.contains("interrupted"), "{list}");
}

#[test]
fn a_panic_gives_the_screen_back_and_is_read_below() {
    let desk = TestHome::new();
    let line = format!(
        "'{}' {}; code=$?; stty -a; exit $code",
        env!("CARGO_BIN_EXE_ibid"),
        waiting(&desk)
    );
    let more = [("IBID_PANIC_AT", "call.before_intent")];
    let mut it = Pty::shell(&desk, 50, 120, &line, &more);
    it.until("the screen is taken", vt100::Screen::alternate_screen);
    it.until("the terminal tells how it is", |it| {
        !it.alternate_screen() && it.contents().contains("icanon")
    });
    let shown = it.shown();
    let (code, _) = it.end();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("IBID_PANIC_AT says so"), "{shown}");
    // What is typed next is seen and comes in lines, as before.
    for word in ["-icanon", "-echo ", "-isig", "-opost"] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
    let list = desk.ibid(&["ls"]).out;
    assert!(list.contains("failed"), "{list}");
}

#[test]
fn after_a_panic_that_the_run_outlives_the_screen_is_taken_again() {
    let desk = TestHome::new();
    let panics = ("IBID_PANIC_AT", "call.before_intent");
    let (mut it, gate) = held_with(&desk, "completed.before_commit", &[panics]);
    // What the panic prints may come before the screen is taken again.
    let panicked = shows("research panicked");
    it.until("it is drawn again", |screen| panicked(screen) && screen.alternate_screen());
    drop(gate);
    assert_eq!(it.ended(), 1, "{}", it.shown());
    let shown = it.shown();
    assert!(shown.contains("IBID_PANIC_AT says so"), "{shown}");
}

#[test]
fn a_kill_gives_the_screen_back() {
    let desk = TestHome::new();
    let (mut it, gate) = held(&desk, "page.before_commit");
    it.until("it is drawn", shows("─ Events ─"));
    let children = format!("/proc/{0}/task/{0}/children", it.child.id());
    let program = std::fs::read_to_string(children).unwrap();
    let terminate = || {
        let done = Command::new("kill").args(["-TERM", program.trim()]).status();
        assert!(done.unwrap().success());
    };
    terminate();
    it.until("the first finishes", shows("Finishing with the evidence so far"));
    terminate();
    let (code, after) = it.end();
    drop(gate);
    assert_eq!(code, 130, "{after}");
    assert!(after.contains("stopped; continue with"), "{after}");
}
