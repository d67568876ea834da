//! A run with everything it was answered, in one file: to be told again offline, forked, or kept as a test.
//!
//! The file is JSON Lines. Its first line says what it is and what was asked; then come the calls with their
//! answers, the pages those name, the events, and a last line that counts them all. Each line begins with a
//! checksum of the rest, so that an edit or a torn end is found where it is. A checksum is no signature.
mod compare;
mod read;
mod silent;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::journal::{Tape, cast_key};
use crate::domain::{Page, PageHash, Question, Report, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, Run};
use crate::seams::{Cast, Step, StepState};

pub use compare::{Differences, differences};
pub use silent::Silent;

/// What the first line calls the format.
pub const FORMAT: &str = "ibid-recording";
/// Version of the format: raised when what an older Ibid would read of it means something else.
pub const VERSION: u32 = 1;

/// A run as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What errors call it: its path, where it has one.
    pub name: String,
    /// Whose.
    pub run: RunId,
    /// What was asked, with all that the run depends on.
    pub question: Question,
    /// Who stood behind its doors.
    pub cast: Cast,
    /// Its calls, in the order intended.
    pub steps: Vec<Step>,
    /// The pages it was answered with.
    pub pages: Arc<BTreeMap<PageHash, Page>>,
    /// Its story.
    pub events: Vec<Envelope>,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Recording(Head),
    Call(Step),
    Page(Page),
    Event(Envelope),
    End(Counts),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    run: RunId,
    started: String,
    question: Question,
}

/// The last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    calls: usize,
    pages: usize,
    events: usize,
}

impl Recording {
    /// The recording of a run from what the store keeps of it.
    ///
    /// # Errors
    /// `Usage` for a run that has not ended or that was begun before runs wrote down who stood behind their
    /// doors, `Internal` where an event or page is missing.
    pub fn of(
        run: &RunId,
        events: Vec<Envelope>,
        steps: Vec<Step>,
        pages: BTreeMap<PageHash, Page>,
    ) -> Result<Recording> {
        if !Run::of(run.clone(), &events).status.ended() {
            return Err(
                Error::new(Kind::Usage, format!("run {run} has not ended yet"))
                    .hint(format!("go on with it first: ibid resume {run}")),
            );
        }
        let Some(Event::RunCreated { question, .. }) = events.first().map(|it| &it.event) else {
            return Err(Error::new(
                Kind::Internal,
                format!("run {run} does not begin with its question"),
            ));
        };
        let cast = cast_of(&steps).ok_or_else(|| {
            Error::new(
                Kind::Usage,
                format!("run {run} did not write down who stood behind its doors"),
            )
            .hint("an older Ibid made it: ask the question again and record that")
        })?;
        Ok(Recording {
            name: run.to_string(),
            run: run.clone(),
            question: question.clone(),
            cast,
            steps,
            pages: Arc::new(pages),
            events,
        })
    }

    /// The report, where the run had one.
    pub fn report(&self) -> Option<&Report> {
        self.events.iter().rev().find_map(|it| match &it.event {
            Event::ReportReady { report } => Some(&**report),
            _ => None,
        })
    }

    /// Its answers, for a run that may ask nobody else (`whole`) or for one that asks on where they end.
    pub fn tape(&self, whole: bool) -> Tape {
        Tape::new(&self.name, whole, &self.steps, Arc::clone(&self.pages))
    }

    /// What bringing the folders up to date told: no call, and so in no journal.
    pub fn prepared(&self) -> Vec<Event> {
        let before = self
            .events
            .iter()
            .take_while(|it| !matches!(it.event, Event::BriefReady { .. }));
        before
            .map(|it| &it.event)
            .filter(|it| matches!(it, Event::Log { .. } | Event::DocumentFailed { .. }))
            .cloned()
            .collect()
    }
}

/// Who stood behind the doors, as the run itself noted it.
fn cast_of(steps: &[Step]) -> Option<Cast> {
    let key = cast_key();
    let step = steps.iter().find(|it| it.key == key)?;
    match &step.state {
        StepState::Answered(it) => serde_json::from_value(it.answer.clone()).ok(),
        _ => None,
    }
}
