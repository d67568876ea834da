//! The commands on stored runs: `ls`, `show`, `open`, `resume`, `finish`, `steer`, `cancel`, `rm`, `cite`.
use std::path::Path;

use serde_json::json;

use crate::args::{OutputArgs, RenderArgs, ReportFormat};
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::{INTERRUPTED, NO_ANSWER, find, find_unfinished, status_word, with_report};
use crate::fleet;
use crate::follow::follow;
use crate::progress::clip;
use crate::report_output::{self, RunOutput, check_output_path};
use crate::runtime::with_app;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::Vote;
use ibid_core::ports::{RunCommand, RunRow};
use ibid_core::record::RunStatus;
use ibid_core::{Error, ErrorKind};
use ibid_report::ExportOptions;
use ibid_report::escape::single_line;
use ibid_report::json as as_json;
use ibid_report::markdown::local_path;

/// `ibid ls`.
pub(super) fn ls(loaded: &LoadedConfig, json: bool, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let runs = app.runs().await?;
        if runs.is_empty() && !json {
            console.eprint_line("no runs yet; ask a question: ibid \"…\" --folder DIR");
        }
        for row in runs {
            if json {
                let text = serde_json::to_string(&row).map_err(|fault| {
                    Error::new(ErrorKind::Internal, "writing a run").with_source(fault)
                })?;
                console.print_line(&text)?;
                continue;
            }
            let status = if row.has_no_answer() {
                NO_ANSWER
            } else if row.status.ended() || app.is_running(&row.run_id).await? {
                status_word(row.status)
            } else {
                INTERRUPTED
            };
            let pad = " ".repeat(15usize.saturating_sub(status.len()));
            let painted = match row.status {
                RunStatus::Completed => console.out.green(status),
                RunStatus::Failed if row.has_no_answer() => console.out.yellow(status),
                RunStatus::Failed | RunStatus::Cancelled => console.out.red(status),
                _ => console.out.yellow(status),
            };
            let day: String = row.started_at.chars().take(16).collect();
            let follows = match &row.follows {
                Some(_) => "↳ ",
                None => "",
            };
            console.print_line(&format!(
                "{}  {}  {painted}{pad} {follows}{}{}",
                console.out.cyan(row.run_id.as_str()),
                console.out.dim(&day.replace('T', " ")),
                clip(&single_line(&row.question), 80),
                rating_text(&row, console)
            ))?;
        }
        Ok(ExitStatus::Delivered)
    })
}

/// The rating and the judge's score that follow a run in the list.
fn rating_text(row: &RunRow, console: Console) -> String {
    let rated = match row.rating {
        None => String::new(),
        Some(Vote::Up) => format!("  {}", console.out.green("rated up")),
        Some(Vote::Down) => format!("  {}", console.out.red("rated down")),
    };
    let judged = row.judged.map_or_else(String::new, |score| {
        format!("  {}", console.out.dim(&format!("judged {score:.2}")))
    });
    rated + &judged
}

/// `ibid show R`.
pub(super) fn show(
    loaded: &LoadedConfig,
    name: &str,
    render: &RenderArgs,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        if render.json {
            let run = app.run(&find(app, name).await?).await?;
            let exit = ExitStatus::from_run(&run, false);
            let pages = app.report_pages(run.report.as_deref()).await?;
            let object = as_json::result(&run, exit.subtype(), &pages, !render.no_quotes);
            console.print_line(&object.to_string())?;
            return Ok(ExitStatus::Delivered);
        }
        let (run, report) = with_report(app, name).await?;
        let pages = app.report_pages(Some(&report)).await?;
        if let Some(earlier) = run.question.and_then(|question| question.follows)
            && !console.quiet
        {
            console.eprint_line(&console.err.dim(&format!("follows {}", earlier.run)));
        }
        report_output::show(&report, render.form(None), render.options(), &pages, console)?;
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid export R` of a report.
pub(super) fn export(
    loaded: &LoadedConfig,
    name: &str,
    render: &RenderArgs,
    to: Option<&Path>,
    console: Console,
) -> CommandResult {
    let Some(to) = to else {
        return show(loaded, name, render, console);
    };
    with_app(loaded, async |app| {
        let (_, report) = with_report(app, name).await?;
        let pages = app.report_pages(Some(&report)).await?;
        let form = render.form(Some(to)).unwrap_or_default();
        let path = report_output::write(&report, form, render.options(), &pages, to)?;
        console.eprint_line(&format!("wrote {}", path.display()));
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid open R`: writes the report as an HTML file into the cache directory and prints its path. On a terminal, also
/// opens it in the browser.
pub(super) fn open(loaded: &LoadedConfig, name: &str, console: Console) -> CommandResult {
    let dir = loaded.settings.cache_dir.join("reports");
    with_app(loaded, async |app| {
        let (_, report) = with_report(app, name).await?;
        let pages = app.report_pages(Some(&report)).await?;
        std::fs::create_dir_all(&dir).map_err(|fault| {
            Error::new(ErrorKind::Setup, format!("creating {}", dir.display())).with_source(fault)
        })?;
        let path = report_output::write(
            &report,
            ReportFormat::Html,
            ExportOptions::default(),
            &pages,
            &dir,
        )?;
        console.print_line(&path.display().to_string())?;
        if console.live {
            open_in_desktop(path.as_os_str(), console);
        }
        Ok(ExitStatus::Delivered)
    })
}

/// Opens a file or an address with the desktop's default program, and says so if that is impossible.
pub(super) fn open_in_desktop(target: &std::ffi::OsStr, console: Console) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = std::process::Command::new(opener)
        .arg(target)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if opened.is_err() {
        console.eprint_line(&format!("(cannot run `{opener}`: open it yourself)"));
    }
}

/// `ibid resume R`; `last` is the newest run that has not ended. If the run has ended, prints its result again.
pub(super) fn resume(
    loaded: &LoadedConfig,
    name: &str,
    output: &OutputArgs,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    check_output_path(output, env)?;
    with_app(loaded, async |app| {
        let unfinished = if name == "last" { find_unfinished(app).await? } else { None };
        let id = match unfinished {
            Some(id) => id,
            None => find(app, name).await?,
        };
        let running = app.resume(&id).await?;
        follow(app, running, RunOutput::new(output, env, console)).await
    })
}

/// `ibid finish R`.
pub(super) fn finish(loaded: &LoadedConfig, name: &str, console: Console) -> CommandResult {
    send(loaded, name, RunCommand::Finish, "will finish with the evidence so far", console)
}

/// `ibid steer R "…"`.
pub(super) fn steer(
    loaded: &LoadedConfig,
    name: &str,
    text: &str,
    console: Console,
) -> CommandResult {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "TEXT is empty")
            .with_hint("say what to look into: ibid steer last \"And in winter?\"")
            .into());
    }
    let command = RunCommand::Steer(text.to_owned());
    send(loaded, name, command, "will look into that too", console)
}

/// `ibid cancel R`.
pub(super) fn cancel(loaded: &LoadedConfig, name: &str, console: Console) -> CommandResult {
    send(loaded, name, RunCommand::Cancel, "will stop for good", console)
}

/// Sends a command to a run that has not ended, and says what the run does `then`.
fn send(
    loaded: &LoadedConfig,
    name: &str,
    command: RunCommand,
    then: &str,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        let id = find(app, name).await?;
        let run = app.run(&id).await?;
        if run.status.ended() {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("run {id} has already ended ({})", status_word(run.status)),
            )
            .into());
        }
        fleet::send_command(app, &loaded.settings, &id, command).await?;
        console.eprint_line(&format!("run {id} {then}"));
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid rm R…`.
pub(super) fn rm(loaded: &LoadedConfig, names: &[String], console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        // All names are resolved before the first run is deleted, so `last` means one run and a typo deletes nothing.
        let mut ids = Vec::new();
        for name in names {
            ids.push(find(app, name).await?);
        }
        for id in ids {
            app.remove(&id).await?;
            console.eprint_line(&format!("deleted {id}"));
        }
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid cite R [N]`: the source, position and exact quote of citations.
pub(super) fn cite(
    loaded: &LoadedConfig,
    name: &str,
    n: Option<u32>,
    json: bool,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        let (run, report) = with_report(app, name).await?;
        let known = report.sources.len();
        if let Some(n) = n
            && !report.cited_passages().iter().any(|(number, _)| *number == n)
        {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("run {} has no citation {n}; there are 1 to {known}", run.id),
            )
            .into());
        }
        let pages = app.report_pages(Some(&report)).await?;
        let rows = as_json::citations(&report, &pages);
        let rows = rows.into_iter().filter(|row| n.is_none_or(|n| row["n"] == json!(n)));
        for row in rows {
            if json {
                console.print_line(&row.to_string())?;
            } else {
                console.print(&format_citation(&row, console))?;
            }
        }
        Ok(ExitStatus::Delivered)
    })
}

fn format_citation(row: &serde_json::Value, console: Console) -> String {
    let text = |key: &str| single_line(row[key].as_str().unwrap_or_default());
    let mut place = String::new();
    if let Some(page) = row["printed_page"].as_u64() {
        place = format!("p. {page} · ");
    }
    if let (Some(start), Some(end)) = (row["start"].as_u64(), row["end"].as_u64()) {
        place += &format!("characters {start}–{end} · ");
    }
    let id =
        row["doc_id"].as_str().map_or_else(String::new, |id| format!(" · {}", single_line(id)));
    let file = row["file"].as_str().map_or_else(String::new, |file| {
        format!(" · read from {}", single_line(&local_path(file)))
    });
    format!(
        "{} {}\n    {}\n    {}\n\n    “{}”\n\n",
        console.out.cyan(&format!("[{}]", row["n"])),
        console.out.bold(&text("title")),
        console.out.dim(&format!("{}{id}{file}", text("url"))),
        console.out.dim(&format!("{place}{}", clip(&text("page"), 20))),
        text("quote"),
    )
}
