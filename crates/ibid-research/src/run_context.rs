//! The inputs of a run that no step changes.
use ibid_core::domain::{Brief, Question};
use ibid_core::ports::{EventLog, Providers};

/// What every step of a run reads: providers, log, question and brief.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) providers: &'a Providers,
    pub(crate) log: &'a EventLog,
    /// The question as asked, with its settings and budget.
    pub(crate) question: &'a Question,
    /// The question as refined by intake.
    pub(crate) brief: &'a Brief,
}
