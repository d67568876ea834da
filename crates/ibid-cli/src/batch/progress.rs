//! The progress of a batch on stderr.
use std::time::Instant;

use crate::console::{Console, stderr_columns};
use crate::progress::{clip, clock};
use ibid_report::escape::single_line;

/// Width of the bar in columns.
const BAR_WIDTH: usize = 20;

/// How many rows are done, and whether the bar is on the terminal.
pub(super) struct BatchProgress {
    pub(super) console: Console,
    pub(super) began: Instant,
    /// Rows in FILE.
    pub(super) all: usize,
    /// Rows in OUT.
    pub(super) done: usize,
    /// Rows that failed in this process.
    pub(super) failed: usize,
    pub(super) drawn: bool,
}

impl BatchProgress {
    /// Draws the bar if stderr is a terminal.
    pub(super) fn draw(&mut self, running: usize) {
        if self.console.quiet || !self.console.live {
            return;
        }
        let filled = BAR_WIDTH * self.done / self.all.max(1);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR_WIDTH - filled));
        let failed = match self.failed {
            0 => String::new(),
            n => format!(" · {n} failed"),
        };
        let text = format!(
            "{bar} {}/{} · {running} running{failed} · {}",
            self.done,
            self.all,
            clock(self.began.elapsed().as_secs())
        );
        self.console.clear_line();
        self.console.eprint(&clip(&text, stderr_columns()));
        self.drawn = true;
    }

    /// Prints a line if stderr is not a terminal; on a terminal only with `-v`, above the bar.
    pub(super) fn print_line(&mut self, text: &str) {
        if self.console.quiet || (self.console.live && !self.console.verbose) {
            return;
        }
        self.clear();
        let at = clock(self.began.elapsed().as_secs());
        self.console.eprint_line(&format!(
            "[{at}] {}/{} {}",
            self.done,
            self.all,
            single_line(text)
        ));
    }

    /// Erases the bar.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            self.console.clear_line();
        }
    }
}
