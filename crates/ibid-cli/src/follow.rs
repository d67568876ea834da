//! Following a run: progress on stderr, the report or JSON on stdout, and what Ctrl-C, keys and answers do meanwhile.
use std::ops::ControlFlow;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::console::Console;
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::indexing;
use crate::live::{LiveCommand, LiveScreen, STOPS_ON_LEAVE, next_command};
use crate::online_eval::judge_online;
use crate::progress_screen::ProgressScreen;
use crate::prompts::Prompter;
use crate::report_output::{RunOutput, deliver};
use crate::signals::Signals;
use ibid::app::{App, IndexProgress, RunHandle};
use ibid::config::ProcessEnv;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::ports::RunCommand;
use ibid_core::record::Envelope;
use ibid_report::escape;

/// How often the display is redrawn.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Shows a run until it ends, then prints or writes its report.
///
/// # Errors
/// Those of the run, of the terminal and of the output.
pub(super) async fn follow(app: &App, running: RunHandle, output: RunOutput<'_>) -> CommandResult {
    let console = output.console;
    let mut view = RunFollower::open(app, running.id.clone(), output)?;
    let mut signals = Signals::listen()?;
    let mut tick = tokio::time::interval(REDRAW_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut events = running.follow(0);
    let finish = running.finish_handle();
    let mut indexing = running.preparation();
    let mut end = std::pin::pin!(running.wait());
    let run = loop {
        tokio::select! {
            run = &mut end => break run?,
            event = events.next() => match event? {
                Some(event) => view.show(&event)?,
                None => break end.await?,
            },
            answer = view.prompter.next_line() => {
                if view.take_answer(answer).await?.is_break() {
                    return Ok(ExitStatus::Stopped);
                }
            }
            Ok(()) = indexing.changed() => view.show_indexing(*indexing.borrow_and_update()),
            command = next_command(&mut view.live, &mut signals) => {
                let is_indexing = indexing.borrow().is_some();
                if view.handle_reply(command, is_indexing, &finish).await.is_break() {
                    return Ok(ExitStatus::Stopped);
                }
            }
            _ = tick.tick() => view.tick()?,
        }
    };
    while let Some(event) = events.next().await? {
        view.progress.show(&event)?;
    }
    view.close();
    let pages = app.report_pages(run.report.as_deref()).await?;
    let exit = deliver(&run, &pages, output)?;
    judge_online(app, &run, console).await;
    if let Some(fault) = app.telemetry_error() {
        console.eprint_line(&format!(
            "{} {}",
            console.err.yellow("warning:"),
            escape::single_line(&fault.chain())
        ));
    }
    Ok(exit)
}

/// The display of one run, and what the user has asked of it.
struct RunFollower<'a> {
    app: &'a App,
    id: RunId,
    env: &'a ProcessEnv,
    console: Console,
    progress: ProgressScreen,
    live: Option<LiveScreen>,
    prompter: Prompter,
    /// Whether the run was asked to finish: the next Ctrl-C stops it.
    finishing: bool,
}

impl<'a> RunFollower<'a> {
    fn open(app: &'a App, id: RunId, output: RunOutput<'a>) -> Result<RunFollower<'a>> {
        let RunOutput { args, env, console, began } = output;
        let live = LiveScreen::open(&id, args, console)?;
        // Only one of the two displays may draw.
        let progress_console = match live {
            Some(_) => Console { quiet: true, live: false, ..console },
            None => console,
        };
        Ok(RunFollower {
            app,
            env,
            console,
            progress: ProgressScreen::new(&id, args, progress_console, began),
            id,
            live,
            prompter: Prompter::default(),
            finishing: false,
        })
    }

    fn show(&mut self, event: &Envelope) -> std::result::Result<(), CommandError> {
        self.prompter.observe(&event.event);
        if let Some(live) = &mut self.live {
            live.board.apply(event);
        }
        self.progress.show(event)
    }

    fn show_indexing(&mut self, progress: Option<IndexProgress>) {
        match &mut self.live {
            Some(live) => {
                let text = progress.map_or_else(String::new, indexing::progress_text);
                live.board.set_message(&text);
            }
            None => self.progress.show_indexing(progress),
        }
    }

    /// Takes a line that the user typed; `None` is the end of input. Breaks if the run is left waiting for approval.
    async fn take_answer(&mut self, answer: Option<String>) -> Result<ControlFlow<()>> {
        let id = &self.id;
        match self.prompter.accept_answer(answer, id, self.env, self.console) {
            ControlFlow::Continue(command) => {
                if let Some(command) = command {
                    self.app.send_command(id, command).await?;
                }
                Ok(ControlFlow::Continue(()))
            }
            ControlFlow::Break(()) => {
                self.console.eprint_line(&format!(
                    "the plan still awaits approval; continue with: ibid resume {id}"
                ));
                Ok(ControlFlow::Break(()))
            }
        }
    }

    /// Does what a key or a signal asks for. Breaks if this process stops working on the run.
    async fn handle_reply(
        &mut self,
        command: LiveCommand,
        indexing: bool,
        finish: &impl Fn(),
    ) -> ControlFlow<()> {
        match (command, &mut self.live) {
            (LiveCommand::Leave, _) => {
                self.live = None;
                self.console.eprint_line(&format!(
                    "left; {STOPS_ON_LEAVE}; continue with: ibid resume {}",
                    self.id
                ));
                return ControlFlow::Break(());
            }
            (LiveCommand::Steer(words), Some(live)) => {
                let command = RunCommand::Steer(words);
                live.send(self.app, &self.id, command, "The run will look into it.").await;
                return ControlFlow::Continue(());
            }
            (LiveCommand::Cancel, Some(live)) => {
                live.send(self.app, &self.id, RunCommand::Cancel, "Cancelling…").await;
                return ControlFlow::Continue(());
            }
            (LiveCommand::Finish, Some(live)) if self.finishing || indexing => {
                live.board.set_message(if self.finishing {
                    "The run is finishing already."
                } else {
                    "There is no evidence yet to finish with."
                });
                return ControlFlow::Continue(());
            }
            _ => {}
        }
        // While folders are indexed or a plan awaits approval there is nothing to finish with.
        if self.finishing || indexing || self.prompter.is_approval_pending() {
            self.print_stopped(indexing);
            return ControlFlow::Break(());
        }
        self.finishing = true;
        finish();
        match &mut self.live {
            Some(live) => live
                .board
                .set_message("Finishing with the evidence so far… (Ctrl-C again stops now)"),
            None => self.progress.print_finishing(&self.id),
        }
        ControlFlow::Continue(())
    }

    fn print_stopped(&mut self, indexing: bool) {
        self.close();
        if self.prompter.is_open() {
            self.console.eprint_line("");
        }
        let note = if indexing { "; what is indexed so far is kept" } else { "" };
        self.console.eprint_line(&format!("stopped{note}; continue with: ibid resume {}", self.id));
    }

    /// Asks what is due, and redraws unless an answer is being typed.
    fn tick(&mut self) -> Result<()> {
        if self.prompter.has_pending() {
            self.progress.clear();
            if let Some(live) = &mut self.live {
                live.release();
            }
            self.prompter.begin(self.app, self.console)?;
        }
        if self.prompter.is_open() {
            return Ok(());
        }
        match &mut self.live {
            Some(live) => live.draw()?,
            None => self.progress.draw(),
        }
        Ok(())
    }

    fn close(&mut self) {
        self.live = None;
        self.progress.clear();
    }
}
