//! What a rerun has found, compared with the rerun before it.
use serde_json::{Value, json};

use crate::request_service::CallerService;
use ibid::app::{ReportDiff, diff_reports};
use ibid_core::Result;
use ibid_core::domain::{Report, RunId};
use ibid_core::record::{Run, RunStatus};
use ibid_report::changes;

/// A rerun that has ended, as its owner may see it.
pub(crate) struct RerunResult {
    /// The question.
    pub(crate) question: String,
    /// How it ended.
    pub(crate) status: RunStatus,
    /// The answer in one line or a few sentences, if there is a report.
    pub(crate) answer: Option<String>,
    /// The run with which it is compared.
    pub(crate) compared_with: Option<RunId>,
    /// What has changed since that run.
    pub(crate) comparison: Comparison,
}

/// The comparison of a rerun with the one before it.
pub(crate) enum Comparison {
    /// It is the first with a report.
    First,
    /// The run before it was deleted.
    Deleted,
    /// It has no report, for this reason.
    Failed(String),
    /// What has changed.
    Changes(Box<ReportDiff>),
}

impl RerunResult {
    /// Compares `run` with the report of `before`, if that is known.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn load(
        service: &CallerService,
        run: &RunId,
        before: Option<&RunId>,
    ) -> Result<RerunResult> {
        let run = service.run(run.as_str()).await?.run().await?;
        let question = run.question.as_ref().map(|question| question.text.clone());
        let (comparison, compared_with) = match (&run.report, before) {
            (None, _) => (Comparison::Failed(failure(&run)), None),
            (Some(_), None) => (Comparison::First, None),
            (Some(report), Some(before)) => match earlier_report(service, before).await {
                Some(earlier) => {
                    let diff = diff_reports(&earlier, report)?;
                    (Comparison::Changes(Box::new(diff)), Some(before.clone()))
                }
                None => (Comparison::Deleted, None),
            },
        };
        Ok(RerunResult {
            question: question.unwrap_or_default(),
            status: run.status,
            answer: run.report.as_deref().map(answer),
            compared_with,
            comparison,
        })
    }

    /// The result of a rerun whose run cannot be read, for the reason `why`.
    pub(crate) fn lost(question: String, why: String) -> RerunResult {
        RerunResult {
            question,
            status: RunStatus::Failed,
            answer: None,
            compared_with: None,
            comparison: Comparison::Failed(why),
        }
    }

    /// Whether it has a report.
    pub(crate) fn has_report(&self) -> bool {
        !matches!(self.comparison, Comparison::Failed(_))
    }

    /// What happened, in two or three words: `no change`, `changed`, …
    pub(crate) fn summary(&self) -> &'static str {
        match &self.comparison {
            Comparison::First => "first rerun",
            Comparison::Deleted => "nothing to compare with",
            Comparison::Failed(_) => "failed",
            Comparison::Changes(diff) if diff.is_empty() => "no change",
            Comparison::Changes(_) => "changed",
        }
    }

    /// The difference as text, and the answer.
    pub(crate) fn to_text(&self) -> String {
        let mut text = match &self.comparison {
            Comparison::First => {
                "This is the first rerun with a report; there is nothing to compare it with.\n"
                    .to_owned()
            }
            Comparison::Deleted => {
                "The rerun before this one was deleted; there is nothing to compare with.\n"
                    .to_owned()
            }
            Comparison::Failed(why) => format!("The rerun failed: {why}\n"),
            Comparison::Changes(diff) => {
                format!("{}\n\n{}", changes::summary_line(diff), changes::to_markdown(diff))
            }
        };
        if let Some(answer) = self.answer.as_ref().filter(|answer| !answer.is_empty()) {
            text += &format!("\nAnswer: {answer}\n");
        }
        text
    }

    /// The fields of a webhook.
    pub(crate) fn to_json(&self) -> Value {
        let (diff, changed) = match &self.comparison {
            Comparison::Changes(diff) => (Some(changes::to_json(diff)), Some(!diff.is_empty())),
            _ => (None, None),
        };
        let error = match &self.comparison {
            Comparison::Failed(why) => Some(why),
            _ => None,
        };
        json!({
            "question": self.question,
            "status": self.status,
            "summary": self.summary(),
            "changed": changed,
            "answer": self.answer,
            "compared_with": self.compared_with,
            "diff": diff,
            "error": error,
        })
    }
}

async fn earlier_report(service: &CallerService, run: &RunId) -> Option<Report> {
    let run = service.run(run.as_str()).await.ok()?.run().await.ok()?;
    run.report.map(|report| *report)
}

fn failure(run: &Run) -> String {
    match (&run.error, run.status) {
        (Some(error), _) => error.clone(),
        (None, RunStatus::Cancelled) => "the run was cancelled".to_owned(),
        (None, _) => "the run has no report".to_owned(),
    }
}

fn answer(report: &Report) -> String {
    match report.one_line_answer() {
        Some(line) => line.to_owned(),
        None => report.short.iter().map(|claim| claim.text()).collect::<Vec<_>>().join(" "),
    }
}
