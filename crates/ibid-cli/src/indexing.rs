//! Progress on stderr while a folder is being indexed.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::console::Console;
use crate::progress::clock;
use ibid::app::{IndexProgress, ProgressFn};
use ibid_report::phrases::grouped;

/// Shorter indexing prints no line to a log.
const MIN_LOGGED: Duration = Duration::from_secs(1);
/// Minimum time between two redraws of the line.
const REDRAW: Duration = Duration::from_millis(50);

/// The progress in words: `indexing 3,120 of 5,730 documents`. If files have several documents each, counts both.
pub(super) fn progress_text(progress: IndexProgress) -> String {
    let (files, of) = (grouped(progress.files, ','), grouped(progress.total, ','));
    if progress.total == 0 {
        "scanning the folder".to_owned()
    } else if progress.embedding {
        format!("embedding {files} of {of} passages")
    } else if progress.documents > progress.total {
        format!("indexing {files} of {of} files, {} documents", grouped(progress.documents, ','))
    } else {
        format!("indexing {files} of {of} documents")
    }
}

/// Characters of the bar on a terminal.
const BAR: u64 = 20;

/// The bar of `progress`: `[████░░░░]`.
fn bar(progress: IndexProgress) -> String {
    let full = (BAR * progress.files.min(progress.total)) / progress.total.max(1);
    format!("[{}{}] ", "█".repeat(full as usize), "░".repeat((BAR - full) as usize))
}

/// Rate and time left of embedding after `elapsed`: `, 148/s, 0:30 left`. Empty until a second has passed.
fn pace(progress: IndexProgress, elapsed: Duration) -> String {
    let IndexProgress { files, total, .. } = progress;
    if files == 0 || elapsed < MIN_LOGGED {
        return String::new();
    }
    let rate = files as f64 / elapsed.as_secs_f64();
    let left = (total.saturating_sub(files) as f64 / rate).ceil() as u64;
    format!(", {rate:.0}/s, {} left", clock(left))
}

/// Prints on stderr how far indexing is. On a terminal, redraws one line; elsewhere, prints a line after
/// [`MIN_LOGGED`] and one at the end, when this is dropped.
pub(super) struct IndexingProgress {
    console: Console,
    began: Instant,
    last: Option<IndexProgress>,
    /// When the first passage was embedded.
    embedding_since: Option<Instant>,
    /// When the line was last drawn or printed.
    drawn: Option<Instant>,
}

impl IndexingProgress {
    /// Starts the clock; prints nothing yet.
    pub(super) fn new(console: Console) -> IndexingProgress {
        IndexingProgress {
            console,
            began: Instant::now(),
            last: None,
            embedding_since: None,
            drawn: None,
        }
    }

    /// Takes in the latest progress.
    pub(super) fn update(&mut self, progress: IndexProgress) {
        self.last = Some(progress);
        if progress.embedding {
            self.embedding_since.get_or_insert_with(Instant::now);
        }
        if self.console.quiet {
            return;
        }
        if self.console.live {
            if self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
                self.console.clear_line();
                let text = progress_text(progress);
                self.console.eprint(&match self.embedding_since {
                    Some(since) => bar(progress) + &text + &pace(progress, since.elapsed()),
                    None => text,
                });
                self.drawn = Some(Instant::now());
            }
        } else if self.drawn.is_none() && self.began.elapsed() >= MIN_LOGGED {
            self.print(&progress_text(progress));
            self.drawn = Some(Instant::now());
        }
    }

    fn print(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs();
        self.console.eprint_line(&format!("[{}] {text}", clock(seconds)));
    }
}

impl Drop for IndexingProgress {
    fn drop(&mut self) {
        let (Some(last), Some(_)) = (self.last, self.drawn) else {
            return;
        };
        if self.console.live {
            self.console.clear_line();
        } else {
            let text = progress_text(last).replacen("indexing", "indexed", 1);
            let rate = match self.embedding_since {
                Some(since) if last.files > 0 => {
                    format!(", {:.0}/s", last.files as f64 / since.elapsed().as_secs_f64())
                }
                _ => String::new(),
            };
            self.print(&(text.replacen("embedding", "embedded", 1) + &rate));
        }
    }
}

/// A callback that prints the progress of indexing until its last copy is dropped.
pub(super) fn progress_fn(console: Console) -> ProgressFn {
    let indexing = Mutex::new(IndexingProgress::new(console));
    Arc::new(move |progress| {
        let mut indexing = indexing.lock().unwrap_or_else(PoisonError::into_inner);
        indexing.update(progress);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_documents_are_told_apart_where_they_differ() {
        let at = |files, of, documents| {
            progress_text(IndexProgress { files, total: of, documents, embedding: false })
        };
        assert_eq!(at(3_120, 5_730, 3_119), "indexing 3,120 of 5,730 documents");
        assert_eq!(at(1, 3, 81_000), "indexing 1 of 3 files, 81,000 documents");
        assert_eq!(at(0, 0, 0), "scanning the folder");
    }

    #[test]
    fn embedding_has_a_bar_a_rate_and_the_time_left() {
        let half = IndexProgress { files: 600, total: 1_200, documents: 0, embedding: true };
        assert_eq!(bar(half), "[██████████░░░░░░░░░░] ");
        assert_eq!(pace(half, Duration::from_secs(4)), ", 150/s, 00:04 left");
        assert_eq!(pace(half, Duration::from_millis(10)), "");
    }
}
