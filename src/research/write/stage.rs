//! The draft as it is told while it is being written, before anything of it is checked (row E9).
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::Event;
use crate::research::ask::shapes::WrittenSentence;
use crate::research::ask::{Hear, Sentences};
use crate::research::draft::{Draft, DraftSection, Line};
use crate::seams::Log;

/// Where a draft is told sentence by sentence. What a model writes is held back until the short answer is there: which of
/// the two comes first is chance, and a run that is replayed tells the same.
pub(super) struct Stage<'l> {
    log: &'l Log,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The short answer, once it is there: every telling begins with it.
    short: Option<String>,
    held: Vec<Told>,
    /// Whether sentences of the sections have been told or held.
    heard: bool,
}

/// What is told.
enum Told {
    /// The draft begins anew.
    Begin,
    /// Section and words.
    Piece(String, String),
}

impl<'l> Stage<'l> {
    pub(super) fn new(log: &'l Log) -> Stage<'l> {
        Stage {
            log,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The short answer is there: it is told, and all that was held back. Only the first counts.
    pub(super) fn open(&self, short: &[Line]) {
        let mut state = self.state();
        if state.short.is_some() {
            return;
        }
        let short = joined(short);
        tell_piece(self.log, None, short.clone(), true);
        for it in std::mem::take(&mut state.held) {
            self.say(&short, it);
        }
        state.short = Some(short);
    }

    /// Who listens to a model that writes the sections; `holds` gives title and words of what may be told.
    pub(super) fn teller<'s>(&'s self, holds: &'s Holds<'s>) -> Teller<'s> {
        Teller {
            stage: self,
            holds,
            sentences: Sentences::default(),
        }
    }

    /// The sections are there; they are told now, unless they were told while they were written.
    pub(super) fn sections(&self, sections: &[DraftSection]) {
        if !self.state().heard {
            self.more(sections);
        }
    }

    /// The sections will not come, though some of their sentences may have been told.
    pub(super) fn lost(&self) {
        let there = self.state().short.is_some();
        if there {
            self.again();
        }
    }

    /// Tells what nobody has told yet.
    pub(super) fn more(&self, sections: &[DraftSection]) {
        tell_sections(self.log, sections);
    }

    /// The sections are written anew: what was told of them no longer counts.
    fn again(&self) {
        if std::mem::take(&mut self.state().heard) {
            self.hear(Told::Begin);
        }
    }

    fn hear(&self, it: Told) {
        let mut state = self.state();
        state.heard |= matches!(it, Told::Piece(..));
        match &state.short {
            Some(short) => self.say(short, it),
            None => state.held.push(it),
        }
    }

    fn say(&self, short: &str, it: Told) {
        match it {
            Told::Begin => tell_piece(self.log, None, short.to_owned(), true),
            Told::Piece(section, text) => tell_piece(self.log, Some(section), text, false),
        }
    }
}

/// Title of the section and words of a sentence, by number and heading of what a model takes for the section; nothing of a
/// sentence that will not stand.
pub(super) type Holds<'h> =
    dyn Fn(usize, &str, &WrittenSentence) -> Option<(String, String)> + Sync + 'h;

/// Who listens while the sections are being written.
pub(super) struct Teller<'s> {
    stage: &'s Stage<'s>,
    holds: &'s Holds<'s>,
    sentences: Sentences,
}

impl Hear for Teller<'_> {
    fn begin(&mut self) {
        self.sentences = Sentences::default();
        self.stage.again();
    }

    fn hear(&mut self, piece: &str) {
        let (stage, holds) = (self.stage, self.holds);
        self.sentences.hear(piece, &mut |nth, heading, it| {
            if let Some((section, text)) = holds(nth, heading, &it) {
                stage.hear(Told::Piece(section, text));
            }
        });
    }
}

/// Tells a draft that is there, piece by piece.
pub(super) fn tell(log: &Log, draft: &Draft) {
    tell_piece(log, None, joined(&draft.short), true);
    for (line, _) in &draft.findings {
        tell_piece(log, None, line.text.clone(), false);
    }
    tell_sections(log, &draft.sections);
}

fn tell_sections(log: &Log, sections: &[DraftSection]) {
    for section in sections {
        for paragraph in &section.paragraphs {
            tell_piece(log, Some(section.title.clone()), joined(paragraph), false);
        }
    }
}

fn tell_piece(log: &Log, section: Option<String>, text: String, begins: bool) {
    log.emit(Event::DraftDelta {
        text,
        section: section.filter(|it| !it.is_empty()),
        begins,
    });
}

fn joined(lines: &[Line]) -> String {
    let lines: Vec<&str> = lines.iter().map(|it| it.text.as_str()).collect();
    lines.join(" ")
}
