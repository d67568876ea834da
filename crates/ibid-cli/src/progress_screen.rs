//! The progress of a run on stderr: a redrawn block on a terminal, plain or JSON lines elsewhere.
use std::time::Instant;

use crate::args::OutputArgs;
use crate::console::{Console, stderr_columns};
use crate::exit::CommandError;
use crate::indexing::{self, IndexingProgress};
use crate::progress::{self, ProgressView};
use crate::progress_line::{ProgressLines, progress_line};
use ibid::app::IndexProgress;
use ibid_core::domain::RunId;
use ibid_core::record::{Envelope, ToolProgressTracker};
use ibid_core::{Error, ErrorKind};
use ibid_report::markdown::pluralize;

/// The progress of a run, as the output flags ask for it.
pub(super) struct ProgressScreen {
    view: ProgressView,
    lines: ProgressLines,
    console: Console,
    jsonl: bool,
    /// The state of `--progress-json`, if that is on.
    tool_progress: Option<ToolProgressTracker>,
    began: Instant,
    drawn: usize,
    frame: usize,
    /// The progress of indexing while folders are being indexed.
    indexing: Option<(IndexingProgress, IndexProgress)>,
}

impl ProgressScreen {
    pub(super) fn new(
        id: &RunId,
        output: &OutputArgs,
        console: Console,
        began: Instant,
    ) -> ProgressScreen {
        ProgressScreen {
            view: ProgressView::new(id.clone()),
            lines: ProgressLines::default(),
            // Output for a program has no redrawn block.
            console: Console { live: console.live && !output.progress_json, ..console },
            jsonl: output.jsonl,
            tool_progress: output.progress_json.then(ToolProgressTracker::default),
            began,
            drawn: 0,
            frame: 0,
            indexing: None,
        }
    }

    /// Takes in one more event and prints what the flags ask for.
    pub(super) fn show(&mut self, event: &Envelope) -> std::result::Result<(), CommandError> {
        self.view.apply(event);
        if self.jsonl {
            let line = serde_json::to_string(event).map_err(|fault| {
                Error::new(ErrorKind::Internal, "writing an event").with_source(fault)
            })?;
            self.console.print_line(&line)?;
        }
        if let Some(tracker) = &mut self.tool_progress {
            if let Some(progress) = tracker.update(event) {
                let line = serde_json::to_string(&progress).map_err(|fault| {
                    Error::new(ErrorKind::Internal, "writing progress").with_source(fault)
                })?;
                self.console.eprint_line(&line);
            }
            return Ok(());
        }
        if !self.console.quiet && !self.console.live {
            for text in self.lines.update(event, self.console.verbose) {
                let seconds = self.began.elapsed().as_secs();
                self.console.eprint_line(&format!("[{}] {text}", progress::clock(seconds)));
            }
        } else if !self.console.quiet && self.console.verbose {
            self.print_above(event);
        }
        Ok(())
    }

    /// Shows how far indexing is; `None` if it has ended. On a terminal that is a line of the block, elsewhere
    /// [`IndexingProgress`] prints lines.
    pub(super) fn show_indexing(&mut self, progress: Option<IndexProgress>) {
        let Some(progress) = progress else {
            self.indexing = None;
            return;
        };
        let console = self.console;
        let (lines, last) =
            self.indexing.get_or_insert_with(|| (IndexingProgress::new(console), progress));
        *last = progress;
        if !console.live {
            lines.update(progress);
        }
    }

    /// Prints the plain line above the block, on a terminal with `-v`.
    fn print_above(&mut self, event: &Envelope) {
        if let Some(text) = progress_line(event, true) {
            self.clear();
            let width = stderr_columns();
            self.console.eprint_line(&self.console.err.dim(&progress::clip(&text, width)));
            self.draw();
        }
    }

    /// Redraws the block, if there is one.
    pub(super) fn draw(&mut self) {
        if self.console.quiet || !self.console.live {
            return;
        }
        self.frame += 1;
        let mut lines = self.view.lines(
            self.console.err,
            stderr_columns(),
            self.frame,
            self.began.elapsed().as_secs(),
        );
        if let Some((_, progress)) = &self.indexing {
            let text = format!("  {}", indexing::progress_text(*progress));
            lines.push(progress::clip(&text, stderr_columns()));
        }
        let mut text = self.erase_codes();
        self.drawn = lines.len();
        text.push_str(&lines.join("\u{1b}[K\n"));
        self.console.eprint_line(&(text + "\u{1b}[K"));
    }

    /// The ANSI codes that move to the start of the block and erase it.
    fn erase_codes(&self) -> String {
        if self.drawn == 0 {
            return String::new();
        }
        format!("\u{1b}[{}A\u{1b}[J", self.drawn)
    }

    /// Erases the block.
    pub(super) fn clear(&mut self) {
        if self.drawn > 0 {
            self.console.eprint(&self.erase_codes());
            self.drawn = 0;
        }
    }

    /// Prints that the run finishes early.
    pub(super) fn print_finishing(&mut self, id: &RunId) {
        self.clear();
        let evidence = pluralize(u64::from(self.view.run().evidence), "passage");
        self.console.eprint_line(&format!(
            "Finishing with the {evidence} of evidence so far \
             (Ctrl-C again stops now; `ibid resume {id}` continues later)"
        ));
    }
}
