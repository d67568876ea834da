//! Where words go: stdout for what was asked for, stderr for what happens meanwhile.
use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal, Write};

use super::args::When;
use super::exit::Stop;
use crate::error::{Error, Kind};

/// The two streams, and whether each may be coloured.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    /// Whether stdout may be coloured.
    pub out: Paint,
    /// Whether stderr may be coloured.
    pub err: Paint,
    /// Whether a person reads stdout.
    pub read: bool,
    /// Whether a person watches stderr, so that lines may be redrawn.
    pub live: bool,
    /// No progress.
    pub quiet: bool,
    /// More of it.
    pub verbose: bool,
}

/// Whether a stream may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    /// `text` between the ANSI codes of `style`, where colour is wanted.
    pub fn on(self, style: &str, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\u{1b}[{style}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
    /// Bold.
    pub fn bold(self, text: &str) -> String {
        self.on("1", text)
    }
    /// Less loud.
    pub fn dim(self, text: &str) -> String {
        self.on("2", text)
    }
    /// Good.
    pub fn green(self, text: &str) -> String {
        self.on("32", text)
    }
    /// Look here.
    pub fn yellow(self, text: &str) -> String {
        self.on("33", text)
    }
    /// Bad.
    pub fn red(self, text: &str) -> String {
        self.on("31", text)
    }
    /// Disagreement.
    pub fn magenta(self, text: &str) -> String {
        self.on("35", text)
    }
    /// Names and numbers.
    pub fn cyan(self, text: &str) -> String {
        self.on("36", text)
    }
}

/// Whether a stream that is (or is no) terminal may be coloured: the flag, then `NO_COLOR`,
/// `CLICOLOR_FORCE` and `FORCE_COLOR`, then `TERM=dumb` and `CLICOLOR=0`, then whether it is a terminal.
/// Sources: <https://no-color.org>, <https://bixense.com/clicolors>, <https://force-color.org>.
pub fn coloured(when: When, terminal: bool, env: &BTreeMap<String, String>) -> bool {
    let var = |name: &str| {
        env.get(name)
            .map(String::as_str)
            .filter(|it| !it.is_empty())
    };
    let on = |name: &str| var(name).is_some_and(|it| it != "0");
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if var("NO_COLOR").is_some() => false,
        When::Auto if on("CLICOLOR_FORCE") || on("FORCE_COLOR") => true,
        When::Auto if var("TERM") == Some("dumb") || var("CLICOLOR") == Some("0") => false,
        When::Auto => terminal,
    }
}

impl Console {
    /// The process's own streams.
    pub fn of_process(
        when: When,
        quiet: bool,
        verbose: bool,
        env: &BTreeMap<String, String>,
    ) -> Console {
        let err = std::io::stderr().is_terminal();
        let out = std::io::stdout().is_terminal();
        Console {
            out: Paint(coloured(when, out, env)),
            err: Paint(coloured(when, err, env)),
            read: out,
            live: err && env.get("TERM").is_none_or(|it| it != "dumb"),
            quiet,
            verbose,
        }
    }

    /// Writes `text` to stdout.
    ///
    /// # Errors
    /// `Stop::PipeClosed` when nobody reads any more.
    pub fn print(self, text: &str) -> Result<(), Stop> {
        self.bytes(text.as_bytes())
    }

    /// Writes `bytes` to stdout as they are.
    ///
    /// # Errors
    /// `Stop::PipeClosed` when nobody reads any more.
    pub fn bytes(self, bytes: &[u8]) -> Result<(), Stop> {
        let mut out = std::io::stdout().lock();
        written(out.write_all(bytes).and_then(|()| out.flush()))
    }

    /// Writes `text` and a newline to stdout.
    ///
    /// # Errors
    /// `Stop::PipeClosed` when nobody reads any more.
    pub fn line(self, text: &str) -> Result<(), Stop> {
        self.print(&format!("{text}\n"))
    }

    /// Writes `text` and a newline to stderr. That nobody reads it is no fault.
    pub fn tell(self, text: &str) {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "{text}");
    }

    /// Writes `text` to stderr as it is. That nobody reads it is no fault.
    pub fn put(self, text: &str) {
        let mut err = std::io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    /// Wipes the line that stderr is on.
    pub fn wipe(self) {
        self.put("\r\u{1b}[K");
    }

    /// Tells an error and what would help.
    pub fn fault(self, fault: &Error) {
        self.tell(&format!(
            "{} {}",
            self.err.on("1;31", "error:"),
            clean(&fault.chain())
        ));
        if let Some(hint) = fault.help() {
            self.tell(&format!("{} {}", self.err.on("1;36", "hint:"), clean(hint)));
        }
    }
}

/// A message may quote a stranger's file name or words: one line, nothing that drives a terminal.
fn clean(text: &str) -> String {
    crate::surfaces::export::escape::line(text)
}

fn written(result: std::io::Result<()>) -> Result<(), Stop> {
    match result {
        Ok(()) => Ok(()),
        Err(fault) if fault.kind() == ErrorKind::BrokenPipe => Err(Stop::PipeClosed),
        Err(fault) => Err(Error::new(Kind::Setup, "writing to stdout")
            .because(fault)
            .into()),
    }
}

/// A text without its colour codes.
pub fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (true, 'm') => inside = false,
            (false, c) => out.push(c),
            (true, _) => {}
        }
    }
    out
}
