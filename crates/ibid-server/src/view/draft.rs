//! The draft of a report while it is written, before it is checked.
use super::format::truncate;
use ibid_core::record::{Envelope, Event};
use ibid_report::escape::single_line;

/// Maximum number of sentences shown: the last of a longer draft.
pub const MAX_SENTENCES: usize = 400;

/// Maximum length of a sentence or paragraph shown, in characters.
const MAX_SENTENCE_CHARS: usize = 2_000;

/// A section of the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftPart {
    /// Its title; the short answer and findings have none.
    pub title: Option<String>,
    /// Its sentences or paragraphs in order.
    pub sentences: Vec<String>,
}

/// The current draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftView {
    /// Its sections in the order they were begun.
    pub parts: Vec<DraftPart>,
    /// The latest sentence.
    pub last: String,
    /// Whether earlier sentences are not shown.
    pub cut: bool,
}

impl DraftView {
    /// The latest draft in `events`; `None` if there is none.
    pub fn from_events(events: &[Envelope]) -> Option<DraftView> {
        let mut latest = Vec::new();
        let mut cut = false;
        for envelope in events.iter().rev() {
            let Event::DraftDelta { text, section, begins } = &envelope.event else {
                continue;
            };
            if latest.len() == MAX_SENTENCES {
                cut = true;
                break;
            }
            latest.push((
                section.as_deref().map(single_line),
                truncate(&single_line(text), MAX_SENTENCE_CHARS),
            ));
            if *begins {
                break;
            }
        }
        latest.retain(|pair| !pair.1.is_empty());
        let last = latest.first()?.1.clone();
        let mut parts: Vec<DraftPart> = Vec::new();
        for (title, sentence) in latest.into_iter().rev() {
            match parts.iter_mut().find(|it| it.title == title) {
                Some(part) => part.sentences.push(sentence),
                None => parts.push(DraftPart { title, sentences: vec![sentence] }),
            }
        }
        Some(DraftView { parts, last, cut })
    }
}
