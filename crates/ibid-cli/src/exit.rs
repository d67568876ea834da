//! Exit codes, and the result type of commands.
use ibid_core::record::{Run, RunStatus};
use ibid_core::{Error, Kind};
use ibid_report::json::ResultSubtype;

/// The exit codes. `docs/exit-codes.md` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Delivered = 0,
    /// A failure without a code of its own.
    Failure = 1,
    /// Invalid arguments or input.
    Usage = 2,
    /// The sources contain no answer.
    NoAnswer = 3,
    /// The installation needs fixing; `ibid doctor` says how.
    Setup = 4,
    /// The budget was spent before there was a report.
    Budget = 5,
    /// The conditions of `--strict` are not met.
    Strict = 6,
    /// Stopped by the user.
    Stopped = 130,
}

impl Exit {
    /// The code for an error.
    pub(super) fn from_kind(kind: Kind) -> Exit {
        match kind {
            Kind::Usage => Exit::Usage,
            Kind::Setup => Exit::Setup,
            Kind::Exhausted => Exit::Budget,
            Kind::Cancelled => Exit::Stopped,
            Kind::Transient | Kind::Malformed | Kind::NotFound | Kind::Internal => Exit::Failure,
        }
    }

    /// The `subtype` of the final JSON object.
    pub(super) fn subtype(self) -> ResultSubtype {
        match self {
            Exit::Delivered | Exit::Strict => ResultSubtype::Success,
            Exit::NoAnswer => ResultSubtype::NoAnswer,
            Exit::Budget => ResultSubtype::Budget,
            Exit::Failure | Exit::Usage | Exit::Setup | Exit::Stopped => ResultSubtype::Error,
        }
    }

    /// The code for an ended run.
    pub(super) fn from_run(run: &Run, strict: bool) -> Exit {
        match (ResultSubtype::from_run(run), run.status) {
            (ResultSubtype::Success, _) if strict && !passes_checks(run) => Exit::Strict,
            (ResultSubtype::Success, _) => Exit::Delivered,
            (ResultSubtype::NoAnswer, _) => Exit::NoAnswer,
            (ResultSubtype::Budget, _) => Exit::Budget,
            (ResultSubtype::Error, RunStatus::Failed) => {
                Exit::from_kind(run.failure.unwrap_or(Kind::Internal))
            }
            (ResultSubtype::Error, _) => Exit::Failure,
        }
    }
}

/// Whether every check and the evidence gate passed.
fn passes_checks(run: &Run) -> bool {
    run.report.as_ref().is_some_and(|report| {
        let checks = report.checks;
        checks.quotes.held == checks.quotes.total
            && checks.claims.held == checks.claims.total
            && checks.numbers.held == checks.numbers.total
            && checks.contradictions == 0
            && report.method.gate.pass
    })
}

/// Why a command ended early.
#[derive(Debug)]
pub enum CommandError {
    /// An error that is not printed yet.
    Fault(Error),
    /// An error that is already printed; the program ends with this code.
    Reported(Exit),
    /// The reader of stdout has closed the pipe, which is not a failure.
    PipeClosed,
}

impl From<Error> for CommandError {
    fn from(fault: Error) -> CommandError {
        CommandError::Fault(fault)
    }
}

/// The exit code of a command, or why it ended early.
pub(super) type CommandResult = std::result::Result<Exit, CommandError>;
