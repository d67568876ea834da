//! How the program ends.
use crate::error::{Error, Kind};
use crate::record::{Run, RunStatus};
use crate::surfaces::export::json::Subtype;

/// Every way to end, by its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// What was asked for was delivered.
    Delivered = 0,
    /// Something failed.
    Failure = 1,
    /// The caller's words are off.
    Usage = 2,
    /// No answer that sources carry.
    NoAnswer = 3,
    /// The operator must act; `ibid doctor` says how.
    Setup = 4,
    /// The budget ended before a report.
    Budget = 5,
    /// `--strict` was asked for and not met.
    Strict = 6,
    /// Stopped by the second Ctrl-C.
    Stopped = 130,
}

impl Exit {
    /// The code for an error.
    pub(super) fn of(kind: Kind) -> Exit {
        match kind {
            Kind::Usage => Exit::Usage,
            Kind::Setup => Exit::Setup,
            Kind::Exhausted => Exit::Budget,
            Kind::Cancelled => Exit::Stopped,
            Kind::Transient | Kind::Malformed | Kind::NotFound | Kind::Internal => Exit::Failure,
        }
    }

    /// The word for it in the final object.
    pub(super) fn subtype(self) -> Subtype {
        match self {
            Exit::Delivered | Exit::Strict => Subtype::Success,
            Exit::NoAnswer => Subtype::NoAnswer,
            Exit::Budget => Subtype::Budget,
            Exit::Failure | Exit::Usage | Exit::Setup | Exit::Stopped => Subtype::Error,
        }
    }

    /// The code for an ended run.
    pub(super) fn of_run(run: &Run, strict: bool) -> Exit {
        match (Subtype::of(run), run.status) {
            (Subtype::Success, _) if strict && !holds(run) => Exit::Strict,
            (Subtype::Success, _) => Exit::Delivered,
            (Subtype::NoAnswer, _) => Exit::NoAnswer,
            (Subtype::Budget, _) => Exit::Budget,
            (Subtype::Error, RunStatus::Failed) => Exit::of(run.failure.unwrap_or(Kind::Internal)),
            (Subtype::Error, _) => Exit::Failure,
        }
    }
}

/// Whether every check and the evidence gate passed.
fn holds(run: &Run) -> bool {
    run.report.as_ref().is_some_and(|it| {
        let checks = it.checks;
        checks.quotes.held == checks.quotes.total
            && checks.claims.held == checks.claims.total
            && checks.numbers.held == checks.numbers.total
            && it.method.gate.pass
    })
}

/// Why a command ended early.
#[derive(Debug)]
pub enum Stop {
    /// Something failed.
    Fault(Error),
    /// It has been told already; this is how the program ends.
    Told(Exit),
    /// Nobody reads our output any more: no failure.
    PipeClosed,
}

impl From<Error> for Stop {
    fn from(it: Error) -> Stop {
        Stop::Fault(it)
    }
}

/// How a command ends.
pub(super) type Done = std::result::Result<Exit, Stop>;
