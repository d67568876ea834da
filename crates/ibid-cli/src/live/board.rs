//! What the full screen shows and what keys do. Does not touch a terminal, so tests can inspect the drawn lines.
use jiff::Timestamp;

use super::draw;
use crate::console::Palette;
use ibid_core::domain::RunId;
use ibid_core::record::{Envelope, Run};
use ibid_report::escape::single_line;
use ibid_server::view::live::RunStateView;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPress {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Back,
    /// Ctrl-C.
    Interrupt,
    /// Another key.
    Other,
}

/// What the user asks of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveCommand {
    /// Write the report from the evidence so far.
    Finish,
    /// Cancel the run.
    Cancel,
    /// Look into this too.
    Steer(String),
    /// Leave the screen; the run stops and is kept.
    Leave,
    /// Ctrl-C: finish at first, stop at the second.
    Interrupt,
}

/// What the next key means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InputMode {
    /// A letter is a command.
    Keys,
    /// The answer to whether to cancel.
    ConfirmCancel,
    /// Part of the text to steer the run by, typed so far.
    Typing(String),
}

/// Maximum length of a text that steers a run, in characters.
const MAX_STEER_CHARS: usize = 2_000;

/// The content of the screen.
pub struct LiveView {
    run: Run,
    events: Vec<Envelope>,
    mode: InputMode,
    /// The result of the last command, or a notice.
    message: String,
    /// What happens to the run when the user leaves.
    leaving: &'static str,
    paint: Palette,
    /// The state drawn last, and the second in which it was computed.
    state: Option<(RunStateView, i64)>,
}

impl LiveView {
    /// The screen before the first event. `leaving` says what happens to the run when the user leaves.
    pub fn new(id: RunId, paint: Palette, leaving: &'static str) -> LiveView {
        LiveView {
            run: Run::from_events(id, &[]),
            events: Vec::new(),
            mode: InputMode::Keys,
            message: String::new(),
            leaving,
            paint,
            state: None,
        }
    }

    /// Takes in one more event.
    pub fn apply(&mut self, event: &Envelope) {
        self.run.apply(event);
        self.events.push(event.clone());
        self.state = None;
    }

    /// Shows a message in the last line until the next one.
    pub fn set_message(&mut self, text: &str) {
        self.message = single_line(text);
    }

    /// Handles a key. Returns the command that it completes, if any.
    pub fn handle_key(&mut self, key: KeyPress) -> Option<LiveCommand> {
        if key == KeyPress::Interrupt {
            self.mode = InputMode::Keys;
            return Some(LiveCommand::Interrupt);
        }
        match &mut self.mode {
            InputMode::Keys => self.handle_letter(key),
            InputMode::ConfirmCancel => {
                self.mode = InputMode::Keys;
                (key == KeyPress::Char('y')).then_some(LiveCommand::Cancel)
            }
            InputMode::Typing(words) => match key {
                KeyPress::Enter => {
                    let words = words.trim().to_owned();
                    self.mode = InputMode::Keys;
                    (!words.is_empty()).then_some(LiveCommand::Steer(words))
                }
                KeyPress::Escape => {
                    self.mode = InputMode::Keys;
                    None
                }
                KeyPress::Back => {
                    words.pop();
                    None
                }
                KeyPress::Char(c) if words.chars().count() < MAX_STEER_CHARS => {
                    words.push(c);
                    None
                }
                _ => None,
            },
        }
    }

    fn handle_letter(&mut self, key: KeyPress) -> Option<LiveCommand> {
        let running = !self.run.status.ended();
        match key {
            KeyPress::Char('q') => Some(LiveCommand::Leave),
            KeyPress::Char('f') if running => Some(LiveCommand::Finish),
            KeyPress::Char('c') if running => {
                self.mode = InputMode::ConfirmCancel;
                None
            }
            KeyPress::Char('s') if running => {
                self.mode = InputMode::Typing(String::new());
                None
            }
            _ => None,
        }
    }

    /// The lines of a screen of `width` columns and `height` lines at the time `now`.
    pub fn lines(&mut self, width: usize, height: usize, now: Timestamp) -> Vec<String> {
        let second = now.as_second();
        let cached = self.state.take().filter(|cached| cached.1 == second);
        let (state, _) = cached.unwrap_or_else(|| {
            let state = RunStateView::new(&self.run, &self.events, None, None, now);
            (state, second)
        });
        let lines = draw::screen_lines(&state, &self.footer(), self.paint, width, height);
        self.state = Some((state, second));
        lines
    }

    /// The last line: the keys, a question, or the text being typed.
    fn footer(&self) -> draw::FooterLine<'_> {
        match &self.mode {
            InputMode::ConfirmCancel => draw::FooterLine::Question(
                "Cancel the run, without a report? y yes, any other key no",
            ),
            InputMode::Typing(words) => draw::FooterLine::Typing(words),
            InputMode::Keys => draw::FooterLine::Keys {
                ended: self.run.status.ended(),
                message: &self.message,
                leaving: self.leaving,
            },
        }
    }
}
