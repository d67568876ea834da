//! Exit codes, and the result type of commands.
use ibid_core::record::{Run, RunStatus};
use ibid_core::{Error, ErrorKind};
use ibid_report::json::ResultSubtype;

/// The exit codes. `docs/exit-codes.md` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
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

impl ExitStatus {
    /// The code for an error.
    pub(super) fn from_kind(kind: ErrorKind) -> ExitStatus {
        match kind {
            ErrorKind::Usage => ExitStatus::Usage,
            ErrorKind::Setup => ExitStatus::Setup,
            ErrorKind::Exhausted => ExitStatus::Budget,
            ErrorKind::Cancelled => ExitStatus::Stopped,
            ErrorKind::Transient
            | ErrorKind::Malformed
            | ErrorKind::NotFound
            | ErrorKind::Internal => ExitStatus::Failure,
        }
    }

    /// The `subtype` of the final JSON object.
    pub(super) fn subtype(self) -> ResultSubtype {
        match self {
            ExitStatus::Delivered | ExitStatus::Strict => ResultSubtype::Success,
            ExitStatus::NoAnswer => ResultSubtype::NoAnswer,
            ExitStatus::Budget => ResultSubtype::Budget,
            ExitStatus::Failure | ExitStatus::Usage | ExitStatus::Setup | ExitStatus::Stopped => {
                ResultSubtype::Error
            }
        }
    }

    /// The code for an ended run.
    pub(super) fn from_run(run: &Run, strict: bool) -> ExitStatus {
        match (ResultSubtype::from_run(run), run.status) {
            (ResultSubtype::Success, _) if strict && !passes_checks(run) => ExitStatus::Strict,
            (ResultSubtype::Success, _) => ExitStatus::Delivered,
            (ResultSubtype::NoAnswer, _) => ExitStatus::NoAnswer,
            (ResultSubtype::Budget, _) => ExitStatus::Budget,
            (ResultSubtype::Error, RunStatus::Failed) => {
                ExitStatus::from_kind(run.failure.unwrap_or(ErrorKind::Internal))
            }
            (ResultSubtype::Error, _) => ExitStatus::Failure,
        }
    }
}

/// Whether every check and the evidence gate passed.
fn passes_checks(run: &Run) -> bool {
    run.report.as_ref().is_some_and(|report| {
        let checks = report.checks;
        checks.quotes.passed == checks.quotes.total
            && checks.claims.passed == checks.claims.total
            && checks.numbers.passed == checks.numbers.total
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
    Reported(ExitStatus),
    /// The reader of stdout has closed the pipe, which is not a failure.
    PipeClosed,
}

impl From<Error> for CommandError {
    fn from(fault: Error) -> CommandError {
        CommandError::Fault(fault)
    }
}

/// The exit code of a command, or why it ended early.
pub(super) type CommandResult = std::result::Result<ExitStatus, CommandError>;
