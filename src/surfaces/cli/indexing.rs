//! What a person sees while a folder is being indexed.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::console::Console;
use super::progress::clock;
use crate::app::{Heard, Progress};

/// What takes less is not worth a line in a log.
const WORTH_A_LINE: Duration = Duration::from_secs(1);
/// How often a line is redrawn, at most.
const REDRAW: Duration = Duration::from_millis(50);

/// `indexing 3,120 of 5,730 documents`; of files that hold many documents each, both are counted.
pub(super) fn words(it: Progress) -> String {
    let (files, of) = (grouped(it.files), grouped(it.of));
    if it.of == 0 {
        "looking through the folder".to_owned()
    } else if it.embedding {
        format!("embedding {files} of {of} passages")
    } else if it.documents > it.of {
        format!(
            "indexing {files} of {of} files, {} documents",
            grouped(it.documents)
        )
    } else {
        format!("indexing {files} of {of} documents")
    }
}

/// `5,730`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Tells on stderr how far an index is: one line redrawn where a person is looking, else a line when
/// it turns out to take a while and one at its end. Its end is its drop.
pub(super) struct Indexing {
    console: Console,
    began: Instant,
    last: Option<Progress>,
    /// When a line was last drawn or told.
    drawn: Option<Instant>,
}

impl Indexing {
    /// Nothing is told of it yet.
    pub(super) fn new(console: Console) -> Indexing {
        Indexing {
            console,
            began: Instant::now(),
            last: None,
            drawn: None,
        }
    }

    /// So far it is now.
    pub(super) fn heard(&mut self, it: Progress) {
        self.last = Some(it);
        if self.console.quiet {
            return;
        }
        if self.console.live {
            if self.drawn.is_none_or(|it| it.elapsed() >= REDRAW) {
                self.console.wipe();
                self.console.put(&words(it));
                self.drawn = Some(Instant::now());
            }
        } else if self.drawn.is_none() && self.began.elapsed() >= WORTH_A_LINE {
            self.tell(&words(it));
            self.drawn = Some(Instant::now());
        }
    }

    fn tell(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs();
        self.console.tell(&format!("[{}] {text}", clock(seconds)));
    }
}

impl Drop for Indexing {
    fn drop(&mut self) {
        let (Some(last), Some(_)) = (self.last, self.drawn) else {
            return;
        };
        if self.console.live {
            self.console.wipe();
        } else {
            self.tell(&words(last).replacen("indexing", "indexed", 1));
        }
    }
}

/// What hears an index being made and tells it until the last copy is dropped.
pub(super) fn told(console: Console) -> Heard {
    let indexing = Mutex::new(Indexing::new(console));
    Arc::new(move |it| {
        let mut indexing = indexing.lock().unwrap_or_else(PoisonError::into_inner);
        indexing.heard(it);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_documents_are_told_apart_where_they_differ() {
        let at = |files, of, documents| {
            words(Progress {
                files,
                of,
                documents,
                embedding: false,
            })
        };
        assert_eq!(at(3_120, 5_730, 3_119), "indexing 3,120 of 5,730 documents");
        assert_eq!(at(1, 3, 81_000), "indexing 1 of 3 files, 81,000 documents");
        assert_eq!(at(0, 0, 0), "looking through the folder");
    }
}
