//! `ibid view`: runs in the browser, served on this machine or written as a folder of pages.
use std::ffi::OsStr;
use std::path::Path;

use crate::args::{ServeArgs, ViewAction, ViewArgs};
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::{find, with_report};
use crate::report_output::write_text;
use crate::runs::open_in_desktop;
use crate::runtime::with_app;
use crate::serve::serve_with_page;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::{Error, ErrorKind};
use ibid_report::html;
use ibid_server::view::render;
use ibid_server::view::runs::{RunLine, RunStats};
use ibid_server::view::site::{ROBOTS, SitePage};

/// `ibid view [R]`: serves until Ctrl-C. On a terminal, also opens the page in the browser.
pub(super) fn view(
    args: &ViewArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    if let Some(ViewAction::Bundle { runs, output }) = &args.action {
        return bundle(runs, &env.cwd.join(output), loaded, console);
    }
    let mut page = "/".to_owned();
    if let Some(name) = &args.run {
        with_app(loaded, async |app| {
            let run = app.run(&find(app, name).await?).await?;
            page = match run.report {
                Some(_) => format!("/r/{}/report", run.id),
                None => format!("/r/{}", run.id),
            };
            Ok(ExitStatus::Delivered)
        })?;
    }
    let args =
        ServeArgs { addr: None, folder: args.folder.clone(), concurrency: None, fleet: false };
    serve_with_page(&args, loaded, env, console, |url| {
        if console.live {
            open_in_desktop(OsStr::new(&format!("{url}{page}")), console);
        }
        page
    })
}

/// `ibid view bundle`: a page per report, a page that lists them, and a `robots.txt`.
fn bundle(names: &[String], dir: &Path, loaded: &LoadedConfig, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let mut selected = Vec::new();
        for name in names {
            selected.push(with_report(app, name).await?.0.id);
        }
        std::fs::create_dir_all(dir).map_err(|fault| {
            Error::new(ErrorKind::Setup, format!("creating -o {}", dir.display()))
                .with_source(fault)
                .with_hint("name a writable directory")
        })?;
        let now = jiff::Timestamp::now();
        let mut lines = Vec::new();
        for row in app.runs().await? {
            if !row.status.ended() || !selected.is_empty() && !selected.contains(&row.run_id) {
                continue;
            }
            let run = app.run(&row.run_id).await?;
            let Some(report) = &run.report else { continue };
            let pages = app.report_pages(Some(report)).await?;
            let name = format!("{}.html", run.id);
            write_text(&dir.join(&name), &html::render_standalone(report, &pages)?)?;
            lines.push(RunLine {
                href: name,
                ..RunLine::new(&row, &RunStats::from_events(&run, &[]), now)
            });
        }
        if lines.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, "no run has a report")
                .with_hint("ask a question first: ibid \"What is cork?\" --folder DIR")
                .into());
        }
        let count = lines.len();
        write_text(&dir.join("index.html"), &render(&SitePage::new(lines))?)?;
        write_text(&dir.join("robots.txt"), ROBOTS)?;
        console.print_line(&dir.join("index.html").display().to_string())?;
        console.eprint_line(&format!(
            "wrote {}",
            ibid_report::markdown::pluralize(count as u64, "report")
        ));
        Ok(ExitStatus::Delivered)
    })
}
