//! Emits the draft while it is being written, before anything of it is checked.
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ask::shapes::WrittenSentence;
use crate::ask::{AnswerListener, SentenceStream};
use crate::draft::{DraftLine, DraftSection, ReportDraft};
use ibid_core::ports::EventLog;
use ibid_core::record::Event;

/// Emits a draft sentence by sentence. Sections are held back until the short answer is there: which of the
/// two a model finishes first is chance, and a replayed run must emit the same events.
pub(super) struct DraftPreview<'l> {
    log: &'l EventLog,
    state: Mutex<PreviewState>,
}

#[derive(Default)]
struct PreviewState {
    /// The short answer, once it is there. Every preview begins with it.
    short: Option<String>,
    held: Vec<PreviewEvent>,
    /// Whether sentences of the sections have been emitted or held back.
    started: bool,
}

/// A preview event.
enum PreviewEvent {
    /// The draft starts anew.
    Begin,
    /// Section title and text.
    Piece(String, String),
}

impl<'l> DraftPreview<'l> {
    pub(super) fn new(log: &'l EventLog) -> DraftPreview<'l> {
        DraftPreview { log, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, PreviewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Emits the short answer and everything held back. Only the first call counts.
    pub(super) fn release(&self, short: &[DraftLine]) {
        let mut state = self.state();
        if state.short.is_some() {
            return;
        }
        let short = join_lines(short);
        emit_piece(self.log, None, short.clone(), true);
        for it in std::mem::take(&mut state.held) {
            self.emit_event(&short, it);
        }
        state.short = Some(short);
    }

    /// A listener for the model that writes the sections. `holds` returns title and text of a sentence that
    /// may be shown.
    pub(super) fn listener<'s>(&'s self, holds: &'s PreviewFilter<'s>) -> PreviewListener<'s> {
        PreviewListener { stage: self, holds, sentences: SentenceStream::default() }
    }

    /// Emits the complete sections, unless they were emitted while being written.
    pub(super) fn emit_unless_started(&self, sections: &[DraftSection]) {
        if !self.state().started {
            self.emit_sections(sections);
        }
    }

    /// Discards the sections: they failed, though some of their sentences may have been emitted.
    pub(super) fn discard(&self) {
        let there = self.state().short.is_some();
        if there {
            self.restart();
        }
    }

    /// Emits sections that were not emitted yet.
    pub(super) fn emit_sections(&self, sections: &[DraftSection]) {
        emit_draft_sections(self.log, sections);
    }

    /// Starts the sections anew; what was emitted of them no longer counts.
    fn restart(&self) {
        if std::mem::take(&mut self.state().started) {
            self.push_event(PreviewEvent::Begin);
        }
    }

    fn push_event(&self, it: PreviewEvent) {
        let mut state = self.state();
        state.started |= matches!(it, PreviewEvent::Piece(..));
        match &state.short {
            Some(short) => self.emit_event(short, it),
            None => state.held.push(it),
        }
    }

    fn emit_event(&self, short: &str, it: PreviewEvent) {
        match it {
            PreviewEvent::Begin => emit_piece(self.log, None, short.to_owned(), true),
            PreviewEvent::Piece(section, text) => emit_piece(self.log, Some(section), text, false),
        }
    }
}

/// Returns the section title and text of a sentence, given the index and heading that the model gave its
/// section; `None` if the sentence will not be in the draft.
pub(super) type PreviewFilter<'h> =
    dyn Fn(usize, &str, &WrittenSentence) -> Option<(String, String)> + Sync + 'h;

/// Listens while a model writes the sections.
pub(super) struct PreviewListener<'s> {
    stage: &'s DraftPreview<'s>,
    holds: &'s PreviewFilter<'s>,
    sentences: SentenceStream,
}

impl AnswerListener for PreviewListener<'_> {
    fn restart(&mut self) {
        self.sentences = SentenceStream::default();
        self.stage.restart();
    }

    fn on_text(&mut self, piece: &str) {
        let (stage, holds) = (self.stage, self.holds);
        self.sentences.push(piece, &mut |nth, heading, it| {
            if let Some((section, text)) = holds(nth, heading, &it) {
                stage.push_event(PreviewEvent::Piece(section, text));
            }
        });
    }
}

/// Emits a finished draft, piece by piece.
pub(crate) fn emit_draft(log: &EventLog, draft: &ReportDraft) {
    emit_piece(log, None, join_lines(&draft.short), true);
    for (line, _) in &draft.findings {
        emit_piece(log, None, line.text.clone(), false);
    }
    emit_draft_sections(log, &draft.sections);
}

fn emit_draft_sections(log: &EventLog, sections: &[DraftSection]) {
    for section in sections {
        for paragraph in &section.paragraphs {
            emit_piece(log, Some(section.title.clone()), join_lines(paragraph), false);
        }
    }
}

fn emit_piece(log: &EventLog, section: Option<String>, text: String, begins: bool) {
    log.emit(Event::DraftDelta {
        text,
        section: section.filter(|section| !section.is_empty()),
        begins,
    });
}

fn join_lines(lines: &[DraftLine]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    lines.join(" ")
}
