//! `--live`: a run on the whole screen, from its events alone, with keys to say something to it.
//!
//! [`Board`] is what is shown and what keys mean; it knows no terminal, so that a test can look at what is drawn. `terminal`
//! takes the screen and gives it back.
mod draw;
mod terminal;

use std::io::IsTerminal as _;

use jiff::Timestamp;

use super::args::Output;
use super::console::{Console, Paint};
use super::signals::Signals;
use crate::app::App;
use crate::domain::RunId;
use crate::error::Result;
use crate::record::{Envelope, Run};
use crate::seams::Order;
use crate::surfaces::export::escape::line;
use crate::surfaces::view::live::State;

use terminal::Full;

/// What becomes of a run that this process works on when the person leaves.
pub(super) const HERE: &str = "the run stops here and is kept";

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// The end of a line.
    Enter,
    /// Never mind.
    Escape,
    /// The last character was wrong.
    Back,
    /// Ctrl-C.
    Interrupt,
    /// None of these; it may be that the screen has another size now.
    Other,
}

/// What a person wants of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Write with what there is.
    Finish,
    /// Stop for good.
    Cancel,
    /// Look into this, too.
    Steer(String),
    /// Give the screen back.
    Leave,
    /// What Ctrl-C means elsewhere: finish, then stop.
    Interrupt,
}

/// What the next key is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    /// A letter says something to the run.
    Keys,
    /// Whether to cancel.
    Sure,
    /// The words to steer by, as far as they are typed.
    Typing(String),
}

/// The longest text that steers a run, characters.
const LONGEST_WISH: usize = 2_000;

/// What is on the screen.
pub struct Board {
    run: Run,
    events: Vec<Envelope>,
    mode: Mode,
    /// What was done last, or why it could not be.
    said: String,
    /// What becomes of the run when the person leaves.
    leaving: &'static str,
    paint: Paint,
    /// Where the run stood when it was last worked out, and in which second.
    state: Option<(State, i64)>,
}

impl Board {
    /// The screen of a run of which nothing is known yet. `leaving` says what becomes of it when the person leaves.
    pub fn new(id: RunId, paint: Paint, leaving: &'static str) -> Board {
        Board {
            run: Run::of(id, &[]),
            events: Vec::new(),
            mode: Mode::Keys,
            said: String::new(),
            leaving,
            paint,
            state: None,
        }
    }

    /// Takes note of what happened.
    pub fn apply(&mut self, event: &Envelope) {
        self.run.apply(event);
        self.events.push(event.clone());
        self.state = None;
    }

    /// Says something below, until something else is said.
    pub fn say(&mut self, text: &str) {
        self.said = line(text);
    }

    /// What a key wishes.
    pub fn key(&mut self, key: Key) -> Option<Wish> {
        if key == Key::Interrupt {
            self.mode = Mode::Keys;
            return Some(Wish::Interrupt);
        }
        match &mut self.mode {
            Mode::Keys => self.letter(key),
            Mode::Sure => {
                self.mode = Mode::Keys;
                (key == Key::Char('y')).then_some(Wish::Cancel)
            }
            Mode::Typing(words) => match key {
                Key::Enter => {
                    let words = words.trim().to_owned();
                    self.mode = Mode::Keys;
                    (!words.is_empty()).then_some(Wish::Steer(words))
                }
                Key::Escape => {
                    self.mode = Mode::Keys;
                    None
                }
                Key::Back => {
                    words.pop();
                    None
                }
                Key::Char(c) if words.chars().count() < LONGEST_WISH => {
                    words.push(c);
                    None
                }
                _ => None,
            },
        }
    }

    fn letter(&mut self, key: Key) -> Option<Wish> {
        let open = !self.run.status.ended();
        match key {
            Key::Char('q') => Some(Wish::Leave),
            Key::Char('f') if open => Some(Wish::Finish),
            Key::Char('c') if open => {
                self.mode = Mode::Sure;
                None
            }
            Key::Char('s') if open => {
                self.mode = Mode::Typing(String::new());
                None
            }
            _ => None,
        }
    }

    /// The lines of a screen so wide and so high, as it stands at `now`.
    pub fn lines(&mut self, wide: usize, high: usize, now: Timestamp) -> Vec<String> {
        let second = now.as_second();
        let known = self.state.take().filter(|it| it.1 == second);
        let (state, _) = known.unwrap_or_else(|| {
            let state = State::of(&self.run, &self.events, None, None, now);
            (state, second)
        });
        let lines = draw::whole(&state, &self.foot(), self.paint, wide, high);
        self.state = Some((state, second));
        lines
    }

    /// The last line: what can be done, what is being typed, or what was said.
    fn foot(&self) -> draw::Foot<'_> {
        match &self.mode {
            Mode::Sure => {
                draw::Foot::Asked("Cancel the run, without a report? y yes, any other key no")
            }
            Mode::Typing(words) => draw::Foot::Typing(words),
            Mode::Keys => draw::Foot::Keys {
                ended: self.run.status.ended(),
                said: &self.said,
                leaving: self.leaving,
            },
        }
    }
}

/// The board on a screen that is taken, or lent to who asks the person something.
pub(super) struct Whole {
    pub(super) board: Board,
    full: Option<Full>,
}

impl Whole {
    /// Takes the screen where that is wanted and a person sits at a terminal; elsewhere there are plain lines.
    ///
    /// # Errors
    /// Those of [`Full::enter`].
    pub(super) fn begin(id: &RunId, output: &Output, console: Console) -> Result<Option<Whole>> {
        if !output.live || !console.live || console.quiet || !std::io::stdin().is_terminal() {
            return Ok(None);
        }
        Ok(Some(Whole {
            board: Board::new(id.clone(), console.err, HERE),
            full: Some(Full::enter()?),
        }))
    }

    /// Gives the screen back for a while.
    pub(super) fn lend(&mut self) {
        self.full = None;
    }

    /// Draws, taking the screen again where it was lent or lost.
    ///
    /// # Errors
    /// Those of [`Full::enter`] and [`Full::draw`].
    pub(super) fn draw(&mut self) -> Result<()> {
        if self.full.as_ref().is_some_and(Full::is_lost) {
            self.full = None;
        }
        let full = match &mut self.full {
            Some(it) => it,
            none => none.insert(Full::enter()?),
        };
        full.draw(&mut self.board)
    }

    /// Leaves an order for the run, and says so, or why not.
    pub(super) async fn order(&mut self, app: &App, id: &RunId, order: Order, done: &str) {
        match app.order(id, order).await {
            Ok(()) => self.board.say(done),
            Err(fault) => self.board.say(&fault.chain()),
        }
    }

    /// The next wish; waits for ever while the screen is lent.
    async fn wish(&mut self) -> Wish {
        let Some(full) = &mut self.full else {
            return std::future::pending().await;
        };
        loop {
            let key = full.key().await;
            if let Some(wish) = self.board.key(key) {
                return wish;
            }
            // What is typed is seen at once.
            if full.draw(&mut self.board).is_err() {
                return Wish::Leave;
            }
        }
    }
}

/// The next wish of the person, by a key or by a signal. Cancel safe: a key is taken only when it is acted upon.
pub(super) async fn wish(whole: &mut Option<Whole>, signals: &mut Signals) -> Wish {
    match whole {
        None => {
            signals.next().await;
            Wish::Interrupt
        }
        Some(whole) => tokio::select! {
            () = signals.next() => Wish::Interrupt,
            wish = whole.wish() => wish,
        },
    }
}
