//! A recording and the lines of its file.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::journal::{ReplayLog, manifest_key};
use ibid_core::domain::{Page, PageHash, Question, Report, RunId};
use ibid_core::ports::{JournalCall, JournalCallState, ProviderManifest};
use ibid_core::record::{Envelope, Event, Run};
use ibid_core::{Error, ErrorKind, Result};

/// The name of the format in the first line.
pub(crate) const FORMAT: &str = "ibid-recording";
/// The version of the format. It is raised when an older Ibid would misread the file.
pub const VERSION: u32 = 1;

/// A run as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The name in errors: the path, if it has one.
    pub name: String,
    /// The run.
    pub run: RunId,
    /// The question, with everything that the run depends on.
    pub question: Question,
    /// The providers of the run.
    pub cast: ProviderManifest,
    /// The calls, in the order in which they were begun.
    pub steps: Vec<JournalCall>,
    /// The pages among the answers.
    pub pages: Arc<BTreeMap<PageHash, Page>>,
    /// The events.
    pub events: Vec<Envelope>,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordingLine {
    Recording(RecordingHeader),
    Call(JournalCall),
    Page(Page),
    Event(Envelope),
    End(RecordingCounts),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordingHeader {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) run: RunId,
    pub(super) started: String,
    pub(super) question: Question,
}

/// The last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordingCounts {
    pub(super) calls: usize,
    pub(super) pages: usize,
    pub(super) events: usize,
}

impl Recording {
    /// Makes the recording of a run from its stored events, calls and pages.
    ///
    /// # Errors
    /// `Usage` for a run that has not ended or that did not note its providers, `Internal` when the first event is missing.
    pub fn from_steps(
        run: &RunId,
        events: Vec<Envelope>,
        steps: Vec<JournalCall>,
        pages: BTreeMap<PageHash, Page>,
    ) -> Result<Recording> {
        if !Run::from_events(run.clone(), &events).status.ended() {
            return Err(Error::new(ErrorKind::Usage, format!("run {run} has not ended yet"))
                .with_hint(format!("continue it first: ibid resume {run}")));
        }
        let Some(Event::RunCreated { question, .. }) = events.first().map(|event| &event.event)
        else {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("the first event of run {run} is not run.created"),
            ));
        };
        let cast = find_manifest(&steps).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("run {run} has no provider manifest")).with_hint(
                "it was made by an older Ibid: ask the question again and record that run",
            )
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

    /// The report, if the run made one.
    pub fn report(&self) -> Option<&Report> {
        self.events.iter().rev().find_map(|event| match &event.event {
            Event::ReportReady { report } => Some(&**report),
            _ => None,
        })
    }

    /// The answers, for a run that may make no other calls (`complete`) or for one that may.
    pub fn replay_log(&self, complete: bool) -> ReplayLog {
        ReplayLog::new(&self.name, complete, &self.steps, Arc::clone(&self.pages))
    }

    /// The events of indexing folders, which is not a call and therefore not in the journal.
    pub fn index_events(&self) -> Vec<Event> {
        let before =
            self.events.iter().take_while(|event| !matches!(event.event, Event::BriefReady { .. }));
        before
            .map(|event| &event.event)
            .filter(|event| matches!(event, Event::Log { .. } | Event::DocumentFailed { .. }))
            .cloned()
            .collect()
    }
}

/// The providers that the run noted.
pub(super) fn find_manifest(steps: &[JournalCall]) -> Option<ProviderManifest> {
    let key = manifest_key();
    let step = steps.iter().find(|step| step.key == key)?;
    match &step.state {
        JournalCallState::Answered(answered) => {
            serde_json::from_value(answered.answer.clone()).ok()
        }
        _ => None,
    }
}
