//! The output streams: results go to stdout; progress, notices and errors go to stderr.
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use crate::args::ColorMode;
use crate::exit::CommandError;
use ibid_core::{Error, ErrorKind};

/// How to write to the two streams.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    /// Whether stdout may be coloured.
    pub out: Palette,
    /// Whether stderr may be coloured.
    pub err: Palette,
    /// Whether stdout is a terminal.
    pub read: bool,
    /// Whether stderr is a terminal on which lines can be redrawn.
    pub live: bool,
    /// Whether only errors are printed.
    pub quiet: bool,
    /// Whether more progress is printed.
    pub verbose: bool,
}

/// Whether a stream may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette(pub bool);

impl Palette {
    /// `text` between the ANSI codes of `style`, if colour is on.
    pub fn style(self, style: &str, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\u{1b}[{style}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
    /// Bold.
    pub fn bold(self, text: &str) -> String {
        self.style("1", text)
    }
    /// Dim.
    pub fn dim(self, text: &str) -> String {
        self.style("2", text)
    }
    /// Green, for success.
    pub fn green(self, text: &str) -> String {
        self.style("32", text)
    }
    /// Yellow, for attention.
    pub fn yellow(self, text: &str) -> String {
        self.style("33", text)
    }
    /// Red, for failure.
    pub fn red(self, text: &str) -> String {
        self.style("31", text)
    }
    /// Magenta, for disagreement.
    pub fn magenta(self, text: &str) -> String {
        self.style("35", text)
    }
    /// Cyan, for names and numbers.
    pub fn cyan(self, text: &str) -> String {
        self.style("36", text)
    }
}

/// Whether a stream may be coloured. Checks the flag, then `NO_COLOR`,
/// `CLICOLOR_FORCE` and `FORCE_COLOR`, then `TERM=dumb` and `CLICOLOR=0`, then whether it is a terminal.
/// Sources: <https://no-color.org>, <https://bixense.com/clicolors>, <https://force-color.org>.
pub fn use_color(when: ColorMode, terminal: bool, env: &BTreeMap<String, String>) -> bool {
    let var = |name: &str| env.get(name).map(String::as_str).filter(|text| !text.is_empty());
    let on = |name: &str| var(name).is_some_and(|var| var != "0");
    match when {
        ColorMode::Always => true,
        ColorMode::Never => false,
        ColorMode::Auto if var("NO_COLOR").is_some() => false,
        ColorMode::Auto if on("CLICOLOR_FORCE") || on("FORCE_COLOR") => true,
        ColorMode::Auto if var("TERM") == Some("dumb") || var("CLICOLOR") == Some("0") => false,
        ColorMode::Auto => terminal,
    }
}

impl Console {
    /// The streams of this process.
    pub fn from_process(
        when: ColorMode,
        quiet: bool,
        verbose: bool,
        env: &BTreeMap<String, String>,
    ) -> Console {
        let err = std::io::stderr().is_terminal();
        let out = std::io::stdout().is_terminal();
        Console {
            out: Palette(use_color(when, out, env)),
            err: Palette(use_color(when, err, env)),
            read: out,
            live: err && env.get("TERM").is_none_or(|value| value != "dumb"),
            quiet,
            verbose,
        }
    }

    /// Writes `text` to stdout.
    ///
    /// # Errors
    /// `CommandError::PipeClosed` if the reader has closed the pipe, `Setup` for other failures.
    pub fn print(self, text: &str) -> Result<(), CommandError> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes `bytes` to stdout as they are.
    ///
    /// # Errors
    /// `CommandError::PipeClosed` if the reader has closed the pipe, `Setup` for other failures.
    pub fn print_bytes(self, bytes: &[u8]) -> Result<(), CommandError> {
        let mut out = std::io::stdout().lock();
        write_result(out.write_all(bytes).and_then(|()| out.flush()))
    }

    /// Writes `text` and a newline to stdout.
    ///
    /// # Errors
    /// `CommandError::PipeClosed` if the reader has closed the pipe, `Setup` for other failures.
    pub fn print_line(self, text: &str) -> Result<(), CommandError> {
        self.print(&format!("{text}\n"))
    }

    /// Writes `text` and a newline to stderr. Ignores failures.
    pub fn eprint_line(self, text: &str) {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "{text}");
    }

    /// Writes `text` to stderr as it is. Ignores failures.
    pub fn eprint(self, text: &str) {
        let mut err = std::io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    /// Erases the current line of stderr.
    pub fn clear_line(self) {
        self.eprint("\r\u{1b}[K");
    }

    /// Prints an error and its hint.
    pub fn print_error(self, fault: &Error) {
        self.eprint_line(&format!(
            "{} {}",
            self.err.style("1;31", "error:"),
            sanitize(&fault.chain())
        ));
        if let Some(hint) = fault.hint() {
            self.eprint_line(&format!("{} {}", self.err.style("1;36", "hint:"), sanitize(hint)));
        }
    }
}

/// Removes line breaks and control characters: a message may quote a file name or words from elsewhere.
fn sanitize(text: &str) -> String {
    ibid_report::escape::single_line(text)
}

fn write_result(result: std::io::Result<()>) -> Result<(), CommandError> {
    match result {
        Ok(()) => Ok(()),
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Err(CommandError::PipeClosed),
        Err(fault) => {
            Err(Error::new(ErrorKind::Setup, "writing to stdout").with_source(fault).into())
        }
    }
}

/// `text` without its colour codes.
pub fn strip_ansi(text: &str) -> String {
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

/// Columns of stderr that a line can use without wrapping.
pub(super) fn stderr_columns() -> usize {
    columns_of(std::io::stderr())
}

/// Columns of `stream` that a line can use without wrapping; 79 if it is not a terminal.
pub(super) fn columns_of(stream: impl std::os::fd::AsFd) -> usize {
    terminal_size::terminal_size_of(stream)
        .map_or(80, |size| usize::from(size.0.0))
        .saturating_sub(1)
        .max(20)
}
