//! `ibid read … --task "…"`: what documents say about a task.
use crate::args::ReadArgs;
use crate::console::Console;
use crate::documents::{as_url, terminal_safe};
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::runtime::with_app;
use ibid::app::spending::SpendGrant;
use ibid::app::{App, PageSummary};
use ibid::config::LoadedConfig;
use ibid_core::domain::Question;
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;

/// Prints one object or passage per document, in the order of the command line. Documents that cannot be read are reported on
/// stderr, and in JSON by their status. The exit code is 0 if at least one document was read.
pub(super) fn read_for_task(
    args: &ReadArgs,
    task: &str,
    loaded: &LoadedConfig,
    console: Console,
) -> CommandResult {
    let settings = &loaded.settings;
    let today = jiff::Zoned::now().date().to_string();
    let question = Question {
        models: settings.models.clone(),
        budget: settings.budget,
        ..Question::new(task, today, settings.method.clone())
    };
    with_app(loaded, async |app| {
        let mut read = 0;
        for path in &args.paths {
            for summary in summarize(app, path, &question).await? {
                read += u32::from(summary.message.is_none());
                print_summary(&summary, args.json || args.jsonl, console)?;
            }
        }
        Ok(match read {
            0 => ExitStatus::Failure,
            _ => ExitStatus::Delivered,
        })
    })
}

async fn summarize(app: &App, path: &std::path::Path, task: &Question) -> Result<Vec<PageSummary>> {
    let grant = SpendGrant::for_operator(&task.budget);
    if let Some(url) = as_url(path) {
        return Ok(vec![app.summarize_page(url, task, &grant).await?]);
    }
    if path.is_dir() || path.as_os_str() == "-" {
        let doing = format!("reading {} for a task", path.display());
        return Err(Error::new(ErrorKind::Usage, doing)
            .with_hint("name files or web addresses; for a folder, ask: ibid \"…\" --folder DIR"));
    }
    app.summarize_file(path, task, &grant).await
}

fn print_summary(
    summary: &PageSummary,
    json: bool,
    console: Console,
) -> std::result::Result<(), CommandError> {
    if let Some(message) = &summary.message {
        console.print_error(&Error::new(ErrorKind::Malformed, message.clone()));
    }
    if let Some(reason) = &summary.unaided {
        console.eprint_line(&format!(
            "{} {}",
            console.err.yellow("without the model:"),
            single_line(reason)
        ));
    }
    if json {
        let row = serde_json::to_string(summary);
        let row = row
            .map_err(|fault| Error::new(ErrorKind::Internal, "writing a row").with_source(fault))?;
        return console.print_line(&row);
    }
    match summary.status.as_str() {
        "nothing" => console
            .eprint_line(&format!("{}: nothing relevant to the task", single_line(&summary.url))),
        "ok" => console.print(&format!(
            "{}\n{}\n",
            terminal_safe(&summary.title),
            terminal_safe(&summary.summary)
        ))?,
        _ => {}
    }
    Ok(())
}
