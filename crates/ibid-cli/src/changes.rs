//! Comparing two runs of a question: `diff`, `rerun`.
use crate::args::{DiffArgs, RerunArgs};
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::{find, with_report};
use crate::follow::follow;
use crate::report_output::{RunOutput, check_output_path};
use crate::runtime::with_app;
use ibid::app::{App, diff_reports};
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::Question;
use ibid_core::{Error, ErrorKind};
use ibid_report::changes;

/// `ibid diff R1 R2`.
pub(super) fn diff(args: &DiffArgs, loaded: &LoadedConfig, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let (_, before) = with_report(app, &args.before).await?;
        let (_, after) = with_report(app, &args.after).await?;
        let diff = diff_reports(&before, &after)?;
        if args.json {
            console.print_line(&changes::to_json(&diff).to_string())?
        } else {
            console.print(&changes::to_markdown(&diff))?
        }
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid rerun R`: the same question with the same settings and sources, asked today.
pub(super) fn rerun(
    args: &RerunArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    check_output_path(&args.output, env)?;
    with_app(loaded, async |app| {
        let id = find(app, &args.run).await?;
        let before = app.run(&id).await?;
        let Some(question) = before.question.clone() else {
            return Err(Error::new(ErrorKind::Internal, format!("run {id} has no question")).into());
        };
        let day = question.asked_on.clone();
        let today = jiff::Zoned::now().date().to_string();
        let question = Question {
            asked_on: today,
            since: if args.since_last { Some(day.clone()) } else { question.since.clone() },
            lang: ibid_server::request::parse_lang("--lang", args.output.lang.as_deref())?
                .or(question.lang.clone()),
            ..question
        };
        if args.since_last && !console.quiet {
            console.eprint_line(&format!(
                "searching only for what was published since {day}, when run {id} was asked"
            ));
        }
        // Use the models of the earlier question, not of the current settings, and no cached pages or searches.
        let mut settings = app.settings().clone();
        settings.models.clone_from(&question.models);
        settings.web.fresh = true;
        let again = App::open(settings).await?;
        let running = again.start(question).await?;
        let new = running.id.clone();
        let exit = follow(&again, running, RunOutput::new(&args.output, env, console)).await?;
        if console.quiet {
            return Ok(exit);
        }
        let after = again.run(&new).await?;
        console.eprint_line(&match (&before.report, &after.report) {
            (Some(before), Some(after)) => format!(
                "compared with {id}: {} (details: ibid diff {id} {new})",
                changes::summary_line(&diff_reports(before, after)?)
            ),
            (None, _) => format!("run {id} has no report to compare with"),
            (_, None) => format!("no new report to compare with that of {id}"),
        });
        Ok(exit)
    })
}
