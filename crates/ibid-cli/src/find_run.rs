//! Which run a name on the command line means, and why a run has no report to show.
use ibid::app::App;
use ibid_core::domain::{Report, RunId};
use ibid_core::record::{Run, RunStatus};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;
use ibid_report::json::ResultSubtype;

/// The status shown for a run that has not ended while no process works on it.
pub(super) const INTERRUPTED: &str = "interrupted";

/// The newest run that has not ended; `None` if all have.
///
/// # Errors
/// Those of the store.
pub(super) async fn find_unfinished(app: &App) -> Result<Option<RunId>> {
    let runs = app.runs().await?;
    Ok(runs.into_iter().find(|row| !row.status.ended()).map(|row| row.run_id))
}

/// The run that `name` means: an ID, the unique beginning of one, or `last`.
///
/// # Errors
/// `NotFound` if there is no such run, `Usage` if there are several.
pub(super) async fn find(app: &App, name: &str) -> Result<RunId> {
    let runs = app.runs().await?;
    let missing =
        |message: String| Error::new(ErrorKind::NotFound, message).with_hint("see `ibid ls`");
    if name == "last" {
        return runs
            .first()
            .map(|row| row.run_id.clone())
            .ok_or_else(|| missing("there are no runs yet".to_owned()));
    }
    let bare = |id: &str| {
        let upper = id.to_uppercase();
        upper.strip_prefix("R_").unwrap_or(&upper).to_owned()
    };
    let prefix = bare(name);
    let mut found = runs
        .iter()
        .filter(|row| !prefix.is_empty() && bare(row.run_id.as_str()).starts_with(&prefix));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.run_id.clone()),
        (Some(one), Some(other)) => Err(Error::new(
            ErrorKind::Usage,
            format!("run `{name}` is ambiguous: {}, {}, …", one.run_id, other.run_id),
        )
        .with_hint("write more of the ID")),
        (None, _) => Err(missing(format!("there is no run `{}`", single_line(name)))),
    }
}

/// The run that `name` means, with its report.
///
/// # Errors
/// `NotFound` if it has no report. `last` is always the newest run, even if only an older one has a report.
pub(super) async fn with_report(app: &App, name: &str) -> Result<(Run, Box<Report>)> {
    let run = app.run(&find(app, name).await?).await?;
    match run.report.clone() {
        Some(report) => Ok((run, report)),
        None => Err(no_report_error(app, &run).await?),
    }
}

/// The error that says why `run` has no report and what to do instead.
async fn no_report_error(app: &App, run: &Run) -> Result<Error> {
    let id = &run.id;
    let (why, hint) = if run.status.ended() {
        let hint = match newest_with_report(app).await? {
            Some(other) => {
                format!("ask again, or show the newest run with a report: ibid show {other}")
            }
            None => "ask again: this run ended without a report".to_owned(),
        };
        let nothing = ResultSubtype::from_run(run) == ResultSubtype::NoAnswer;
        (if nothing { NO_ANSWER } else { status_word(run.status) }, hint)
    } else if app.is_running(id).await? {
        let hint = format!("wait for it, or end it early with: ibid finish {id}");
        ("it is still running", hint)
    } else {
        (INTERRUPTED, format!("continue it with: ibid resume {id}"))
    };
    let message = format!("run {id} has no report ({why})");
    Ok(Error::new(ErrorKind::NotFound, message).with_hint(hint))
}

async fn newest_with_report(app: &App) -> Result<Option<RunId>> {
    for row in app.runs().await? {
        if row.status.ended() && app.run(&row.run_id).await?.report.is_some() {
            return Ok(Some(row.run_id));
        }
    }
    Ok(None)
}

/// The word for a failed run that read nothing about its question.
pub(super) const NO_ANSWER: &str = "no answer";

/// A status in words.
pub(super) fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Pending => "pending",
        RunStatus::InProgress => "in progress",
        RunStatus::Completed => "completed",
        RunStatus::MaxIterationsReached => "round limit reached",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Failed => "failed",
    }
}
