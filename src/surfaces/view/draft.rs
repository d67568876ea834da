//! The draft of a report as far as it is told, before anything of it is checked.
use super::words::clip;
use crate::record::{Envelope, Event};
use crate::surfaces::export::escape::line;

/// Sentences shown at most; of a longer draft the last.
pub const SENTENCES: usize = 400;

/// Characters of a sentence, or of a paragraph that came at once, that are shown at most.
const LONGEST: usize = 2_000;

/// A section of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its title; the short answer and findings have none.
    pub title: Option<String>,
    /// Its sentences, or paragraphs, in the order told.
    pub sentences: Vec<String>,
}

/// What is told of the draft that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Its sections, in the order in which each was begun.
    pub parts: Vec<Part>,
    /// The sentence that was told last.
    pub last: String,
    /// Whether it begins further above than is shown.
    pub cut: bool,
}

impl Draft {
    /// The draft of which `events` tell; none where nothing of one is told.
    pub fn of(events: &[Envelope]) -> Option<Draft> {
        let mut told = Vec::new();
        let mut cut = false;
        for it in events.iter().rev() {
            let Event::DraftDelta {
                text,
                section,
                begins,
            } = &it.event
            else {
                continue;
            };
            if told.len() == SENTENCES {
                cut = true;
                break;
            }
            told.push((section.as_deref().map(line), clip(&line(text), LONGEST)));
            if *begins {
                break;
            }
        }
        told.retain(|it| !it.1.is_empty());
        let last = told.first()?.1.clone();
        let mut parts: Vec<Part> = Vec::new();
        for (title, sentence) in told.into_iter().rev() {
            match parts.iter_mut().find(|it| it.title == title) {
                Some(part) => part.sentences.push(sentence),
                None => parts.push(Part {
                    title,
                    sentences: vec![sentence],
                }),
            }
        }
        Some(Draft { parts, last, cut })
    }
}
