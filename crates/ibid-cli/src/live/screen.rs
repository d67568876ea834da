//! The board on the terminal. Prompts may take over the terminal for a while.
use std::io::IsTerminal as _;

use super::board::{LiveCommand, LiveView};
use super::terminal::FullScreen;
use crate::args::OutputArgs;
use crate::console::Console;
use crate::signals::Signals;
use ibid::app::App;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::ports::RunCommand;

/// What happens to the run when the user leaves.
pub(crate) const STOPS_ON_LEAVE: &str = "the run stops here and is kept";

/// The board, and the full screen unless it is released for a prompt.
pub(crate) struct LiveScreen {
    pub(crate) board: LiveView,
    screen: Option<FullScreen>,
}

impl LiveScreen {
    /// Enters the full screen if `--live` is set and stdin and stderr are terminals. Returns `None` otherwise.
    ///
    /// # Errors
    /// Those of [`FullScreen::enter`].
    pub(crate) fn open(
        id: &RunId,
        output: &OutputArgs,
        console: Console,
    ) -> Result<Option<LiveScreen>> {
        if !output.live || !console.live || console.quiet || !std::io::stdin().is_terminal() {
            return Ok(None);
        }
        Ok(Some(LiveScreen {
            board: LiveView::new(id.clone(), console.err, STOPS_ON_LEAVE),
            screen: Some(FullScreen::enter()?),
        }))
    }

    /// Leaves the full screen until the next [`LiveScreen::draw`].
    pub(crate) fn release(&mut self) {
        self.screen = None;
    }

    /// Draws the board. Enters the full screen again if it was released or lost.
    ///
    /// # Errors
    /// Those of [`FullScreen::enter`] and [`FullScreen::draw`].
    pub(crate) fn draw(&mut self) -> Result<()> {
        if self.screen.as_ref().is_some_and(FullScreen::is_lost) {
            self.screen = None;
        }
        let screen = match &mut self.screen {
            Some(screen) => screen,
            none => none.insert(FullScreen::enter()?),
        };
        screen.draw(&mut self.board)
    }

    /// Sends a command to the run and shows `done`, or the error.
    pub(crate) async fn send(&mut self, app: &App, id: &RunId, command: RunCommand, done: &str) {
        match app.send_command(id, command).await {
            Ok(()) => self.board.set_message(done),
            Err(fault) => self.board.set_message(&fault.chain()),
        }
    }

    /// The next command by a key. Never resolves while the screen is released.
    async fn next_command(&mut self) -> LiveCommand {
        let Some(screen) = &mut self.screen else {
            return std::future::pending().await;
        };
        loop {
            let key = screen.next_key().await;
            if let Some(command) = self.board.handle_key(key) {
                return command;
            }
            // Show typed text at once.
            if screen.draw(&mut self.board).is_err() {
                return LiveCommand::Leave;
            }
        }
    }
}

/// The next command, by a key or a signal. Cancel safe: a key is consumed only when it is acted upon.
pub(crate) async fn next_command(
    live: &mut Option<LiveScreen>,
    signals: &mut Signals,
) -> LiveCommand {
    match live {
        None => {
            signals.next().await;
            LiveCommand::Interrupt
        }
        Some(live) => tokio::select! {
            () = signals.next() => LiveCommand::Interrupt,
            command = live.next_command() => command,
        },
    }
}
