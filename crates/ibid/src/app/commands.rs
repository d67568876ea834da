//! Commands to a run: finish, cancel, steer, reply to its questions, approve its plan. Any process may send one; the worker of the run reads
//! them from the store.
use std::fmt;

use super::App;
use ibid_core::domain::{Approval, RunId};
use ibid_core::ports::RunCommand;
use ibid_core::record::{Envelope, Event, Phase, Run};
use ibid_core::{Error, ErrorKind, Result};

/// Commands that are stored for one run, at most.
const MAX_COMMANDS: usize = 100;

/// Answers in one reply, at most: more than a run ever asks for.
const MAX_ANSWERS: usize = 20;

/// Maximum length of the text of one command, or of one answer, in characters.
pub const MAX_TEXT_CHARS: usize = 2_000;

/// Maximum length of a plan in an approval, in bytes of its JSON.
const MAX_PLAN_BYTES: usize = 64 << 10;

/// Why a command was refused: the source of an error of kind `Usage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRefusal {
    /// A text is too long, or there are too many answers.
    TooLong,
    /// The run has too many commands already.
    TooMany,
    /// The run asked no question.
    NotWaiting,
}

impl fmt::Display for CommandRefusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandRefusal::TooLong => write!(
                to,
                "the limits are {MAX_TEXT_CHARS} characters of text, {MAX_ANSWERS} answers of as many each, and a plan of {} KiB",
                MAX_PLAN_BYTES >> 10
            ),
            CommandRefusal::TooMany => write!(to, "a run takes at most {MAX_COMMANDS} commands"),
            CommandRefusal::NotWaiting => to.write_str("the run asks for no answer"),
        }
    }
}

impl std::error::Error for CommandRefusal {}

impl App {
    /// Sends a command to a run, whichever process works on it. A cancel ends a run without a worker at once; a finish takes effect when
    /// such a run is resumed.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has ended or cannot take this command.
    pub async fn send_command(&self, run: &RunId, command: RunCommand) -> Result<()> {
        let store = self.existing_store(run).await?;
        let lease = match command {
            RunCommand::Cancel => self.locks().await?.acquire(run).await?,
            RunCommand::Finish
            | RunCommand::Reply(_)
            | RunCommand::Approve(_)
            | RunCommand::Steer(_) => None,
        };
        store.drain().await?;
        let past = store.events(run, 0).await?;
        let known = Run::from_events(run.clone(), &past);
        if let Err(refusal) = check_stage(&command, &known, &past) {
            if let Some(lease) = lease {
                lease.release();
            }
            return Err(refusal);
        }
        let Some(lease) = lease else {
            return if is_new(&command, &known, &store.commands(run).await?)? {
                store.send_command(run, command).await
            } else {
                Ok(())
            };
        };
        let store = App::with_lease(store, run, &*lease);
        let log = self.open_log(run, &store, &past);
        store.charge(run, None).await?;
        log.emit(Event::RunCancelled {});
        log.flush().await?;
        lease.release();
        Ok(())
    }

    /// Whether `run` has more commands than `seen`, or has ended.
    pub(super) async fn is_answered(&self, run: &RunId, seen: usize) -> Result<bool> {
        let store = self.existing_store(run).await?;
        Ok(store.commands(run).await?.len() > seen || self.row(run).await?.status.ended())
    }
}

/// Checks that a run at this stage can take `command`.
fn check_stage(command: &RunCommand, known: &Run, past: &[Envelope]) -> Result<()> {
    let run = &known.id;
    if known.status.ended() {
        return Err(Error::new(ErrorKind::Usage, format!("run {run} has ended already"))
            .with_hint(format!("see its result with `ibid show {run}`")));
    }
    // Whether it waits now is not asked: an approval may come before the event that says so is durable.
    let needs_approval = known.question.as_ref().is_some_and(|question| question.approve);
    let is_approval = |envelope: &Envelope| matches!(envelope.event, Event::PlanApproved { .. });
    let awaits_approval = needs_approval && !past.iter().any(is_approval);
    if matches!(command, RunCommand::Approve(_)) && !awaits_approval {
        let what = format!("run {run} has no plan that awaits approval");
        return Err(Error::new(ErrorKind::Usage, what)
            .with_hint("only a run that was started with --approve waits for approval"));
    }
    let is_late = |envelope: &Envelope| matches!(envelope.phase, Phase::Write | Phase::Check);
    if matches!(command, RunCommand::Steer(_)) && past.iter().any(is_late) {
        let what = format!("run {run} is being written already");
        return Err(Error::new(ErrorKind::Usage, what)
            .with_hint(format!("ask a follow-up afterwards: ibid ask {run} \"…\"")));
    }
    Ok(())
}

/// Whether `command` adds something to the commands in `before`: a second command to finish or to cancel does not.
///
/// # Errors
/// `Usage`, with an [`CommandRefusal`] as its source.
fn is_new(command: &RunCommand, run: &Run, before: &[RunCommand]) -> Result<bool> {
    let refused = |why: CommandRefusal| {
        Err(Error::new(ErrorKind::Usage, "this command is not accepted").with_source(why))
    };
    let is_long = |text: &String| text.chars().count() > MAX_TEXT_CHARS;
    let too_long = match command {
        RunCommand::Finish | RunCommand::Cancel => return Ok(!before.contains(command)),
        RunCommand::Steer(text) => is_long(text),
        RunCommand::Reply(answers) => answers.len() > MAX_ANSWERS || answers.iter().any(is_long),
        RunCommand::Approve(Approval::RequestChanges(text)) => is_long(text),
        RunCommand::Approve(_) => {
            let json = serde_json::to_string(command);
            json.is_ok_and(|json| json.len() > MAX_PLAN_BYTES)
        }
    };
    if too_long {
        return refused(CommandRefusal::TooLong);
    }
    let replied = || before.iter().any(|command| matches!(command, RunCommand::Reply(_)));
    let asks = run.question.as_ref().is_some_and(|question| question.clarify);
    if matches!(command, RunCommand::Reply(_)) && (!asks || replied()) {
        return refused(CommandRefusal::NotWaiting);
    }
    if before.len() >= MAX_COMMANDS { refused(CommandRefusal::TooMany) } else { Ok(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(command: &RunCommand, before: &[RunCommand]) -> Option<CommandRefusal> {
        let run = Run::new(RunId::new(0, 0));
        let fault = is_new(command, &run, before).err()?;
        std::error::Error::source(&fault)?.downcast_ref().copied()
    }

    #[test]
    fn orders_are_bounded_in_number_and_length() {
        let steer = |n: usize| RunCommand::Steer("x".repeat(n));
        assert_eq!(refusal(&steer(MAX_TEXT_CHARS), &[]), None);
        let long = refusal(&steer(MAX_TEXT_CHARS + 1), &[]);
        assert_eq!(long, Some(CommandRefusal::TooLong));
        let words = RunCommand::Approve(Approval::RequestChanges("x".repeat(900_000)));
        assert_eq!(refusal(&words, &[]), Some(CommandRefusal::TooLong));
        let many = vec![steer(1); MAX_COMMANDS];
        assert_eq!(refusal(&steer(1), &many), Some(CommandRefusal::TooMany));
        assert_eq!(refusal(&steer(1), &many[1..]), None);
        // A command to end the run is accepted however many there are, and once.
        let run = Run::new(RunId::new(0, 0));
        assert!(is_new(&RunCommand::Cancel, &run, &many).unwrap());
        assert!(!is_new(&RunCommand::Cancel, &run, &[RunCommand::Cancel]).unwrap());
    }

    #[test]
    fn a_reply_without_a_question_is_refused() {
        let reply = RunCommand::Reply(vec!["y".to_owned()]);
        assert_eq!(refusal(&reply, &[]), Some(CommandRefusal::NotWaiting));
        let many = RunCommand::Reply(vec!["y".to_owned(); 100_000]);
        assert_eq!(refusal(&many, &[]), Some(CommandRefusal::TooLong));
    }
}
