//! One question asked twice: `diff`, `rerun`.
use super::args::{Diff, Rerun};
use super::console::Console;
use super::exit::{Done, Exit};
use super::runs::{find, with_report};
use super::{follow, with_app};
use crate::app::{App, changes};
use crate::config::{Loaded, Surroundings};
use crate::domain::Question;
use crate::error::{Error, Kind};
use crate::surfaces::export::changes as shown;

/// `ibid diff R1 R2`.
pub(super) fn diff(it: &Diff, loaded: &Loaded, console: Console) -> Done {
    with_app(loaded, async |app| {
        let (_, before) = with_report(app, &it.before).await?;
        let (_, after) = with_report(app, &it.after).await?;
        let found = changes(&before, &after)?;
        match it.json {
            true => console.line(&shown::json(&found).to_string())?,
            false => console.print(&shown::text(&found))?,
        }
        Ok(Exit::Delivered)
    })
}

/// `ibid rerun R`: the same question, settings and places, asked today.
pub(super) fn rerun(
    it: &Rerun,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    follow::writable(&it.output, surroundings)?;
    with_app(loaded, async |app| {
        let id = find(app, &it.run).await?;
        let before = app.run(&id).await?;
        let Some(question) = before.question.clone() else {
            return Err(Error::new(
                Kind::Internal,
                format!("run {id} does not begin with its question"),
            )
            .into());
        };
        let day = question.asked_on.clone();
        let today = jiff::Zoned::now().date().to_string();
        let question = Question {
            asked_on: today,
            since: match it.since_last {
                true => Some(day.clone()),
                false => question.since.clone(),
            },
            lang: crate::surfaces::asked::lang("--lang", it.output.lang.as_deref())?
                .or(question.lang.clone()),
            ..question
        };
        if it.since_last && !console.quiet {
            console.tell(&format!(
                "looking only for what was published since {day}, when {id} was asked"
            ));
        }
        // What the question named then counts, not what the settings name now; and nothing kept of earlier runs.
        let mut settings = app.settings().clone();
        settings.models.clone_from(&question.models);
        settings.web.fresh = true;
        let again = App::open(settings).await?;
        let running = again.start(question).await?;
        let new = running.id.clone();
        let exit = follow::follow(&again, running, &it.output, surroundings, console).await?;
        if console.quiet {
            return Ok(exit);
        }
        let after = again.run(&new).await?;
        console.tell(&match (&before.report, &after.report) {
            (Some(before), Some(after)) => format!(
                "against {id}: {} (ibid diff {id} {new})",
                shown::sum(&changes(before, after)?)
            ),
            (None, _) => format!("run {id} has no report to compare with"),
            (_, None) => format!("no report to compare with that of {id}"),
        });
        Ok(exit)
    })
}
