//! `--live`: a run on the whole screen, drawn from its events, with keys to finish, steer, cancel and leave.
mod board;
mod draw;
mod screen;
mod terminal;

pub use board::{KeyPress, LiveCommand, LiveView};
pub(crate) use screen::{LiveScreen, STOPS_ON_LEAVE, next_command};
