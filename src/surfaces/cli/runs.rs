//! What was asked before: `ls`, `show`, `open`, `resume`, `finish`, `cancel`, `export`, `rm`, `cite`.
use std::path::Path;

use serde_json::json;

use super::args::{Form, Output, Shape};
use super::console::Console;
use super::exit::{Done, Exit};
use super::progress::clip;
use super::{follow, with_app};
use crate::app::App;
use crate::config::{Loaded, Surroundings};
use crate::domain::{Report, RunId, Vote};
use crate::error::{Error, Kind, Result};
use crate::record::{Run, RunStatus};
use crate::seams::{Order, RunRow};
use crate::surfaces::export::Options;
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::local;
use crate::surfaces::export::{json as as_json, passages};

/// The run that `name` means: an id, the unique beginning of one, or `last`.
pub(super) async fn find(app: &App, name: &str) -> Result<RunId> {
    let runs = app.runs().await?;
    let missing = |what: String| Error::new(Kind::NotFound, what).hint("see `ibid ls`");
    if name == "last" {
        return runs
            .first()
            .map(|it| it.run_id.clone())
            .ok_or_else(|| missing("there are no runs yet".to_owned()));
    }
    let bare = |id: &str| {
        let upper = id.to_uppercase();
        upper.strip_prefix("R_").unwrap_or(&upper).to_owned()
    };
    let wanted = bare(name);
    let mut found = runs
        .iter()
        .filter(|it| !wanted.is_empty() && bare(it.run_id.as_str()).starts_with(&wanted));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.run_id.clone()),
        (Some(one), Some(other)) => Err(Error::new(
            Kind::Usage,
            format!(
                "run `{name}` is not one but several: {}, {}, …",
                one.run_id, other.run_id
            ),
        )
        .hint("write more of the id")),
        (None, _) => Err(missing(format!("there is no run `{}`", line(name)))),
    }
}

/// The run that `name` means, with its report.
///
/// # Errors
/// `NotFound` where it has none: `last` is the newest run, never an older one in its place.
pub(super) async fn with_report(app: &App, name: &str) -> Result<(Run, Box<Report>)> {
    let run = app.run(&find(app, name).await?).await?;
    match run.report.clone() {
        Some(report) => Ok((run, report)),
        None => Err(reportless(app, &run).await?),
    }
}

/// Why there is nothing to show of `run`, and what to do instead.
async fn reportless(app: &App, run: &Run) -> Result<Error> {
    let id = &run.id;
    let (why, hint) = if run.status.ended() {
        let word = word(run.status);
        let hint = match newest_with_report(app).await? {
            Some(other) => {
                format!("ask again, or see the newest run with a report: ibid show {other}")
            }
            None => "ask again: it ended without one".to_owned(),
        };
        (word, hint)
    } else if app.live(id).await? {
        let hint = format!("wait for its end, or let it write now: ibid finish {id}");
        ("it is being worked on", hint)
    } else {
        (INTERRUPTED, format!("go on with: ibid resume {id}"))
    };
    let message = format!("run {id} has no report ({why})");
    Ok(Error::new(Kind::NotFound, message).hint(hint))
}

async fn newest_with_report(app: &App) -> Result<Option<RunId>> {
    for row in app.runs().await? {
        if row.status.ended() && app.run(&row.run_id).await?.report.is_some() {
            return Ok(Some(row.run_id));
        }
    }
    Ok(None)
}

/// Of a run that has not ended and that nobody works on.
const INTERRUPTED: &str = "interrupted";

fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Pending => "pending",
        RunStatus::InProgress => "in progress",
        RunStatus::Completed => "completed",
        RunStatus::MaxIterationsReached => "rounds used up",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Failed => "failed",
    }
}

/// `ibid ls`.
pub(super) fn ls(loaded: &Loaded, json: bool, console: Console) -> Done {
    with_app(loaded, async |app| {
        let runs = app.runs().await?;
        if runs.is_empty() && !json {
            console.tell("no runs yet; ask something: ibid \"…\" --folder DIR");
        }
        for row in runs {
            if json {
                let text = serde_json::to_string(&row)
                    .map_err(|fault| Error::new(Kind::Internal, "writing a run").because(fault))?;
                console.line(&text)?;
                continue;
            }
            let status = match row.status.ended() || app.live(&row.run_id).await? {
                true => word(row.status),
                false => INTERRUPTED,
            };
            let pad = " ".repeat(15usize.saturating_sub(status.len()));
            let painted = match row.status {
                RunStatus::Completed => console.out.green(status),
                RunStatus::Failed | RunStatus::Cancelled => console.out.red(status),
                _ => console.out.yellow(status),
            };
            let day: String = row.started_at.chars().take(16).collect();
            let follows = match &row.follows {
                Some(_) => "↳ ",
                None => "",
            };
            console.line(&format!(
                "{}  {}  {painted}{pad} {follows}{}{}",
                console.out.cyan(row.run_id.as_str()),
                console.out.dim(&day.replace('T', " ")),
                clip(&line(&row.question), 80),
                thought_of(&row, console)
            ))?;
        }
        Ok(Exit::Delivered)
    })
}

/// How a run was rated and judged, after its line.
fn thought_of(row: &RunRow, console: Console) -> String {
    let rated = match row.rating {
        None => String::new(),
        Some(Vote::Up) => format!("  {}", console.out.green("rated up")),
        Some(Vote::Down) => format!("  {}", console.out.red("rated down")),
    };
    let judged = row.judged.map_or_else(String::new, |it| {
        format!("  {}", console.out.dim(&format!("judged {it:.2}")))
    });
    rated + &judged
}

/// `ibid show R`.
pub(super) fn show(loaded: &Loaded, name: &str, shape: &Shape, console: Console) -> Done {
    with_app(loaded, async |app| {
        if shape.json {
            let run = app.run(&find(app, name).await?).await?;
            let exit = Exit::of_run(&run, false);
            let pages = crate::surfaces::export::pages(app, run.report.as_deref()).await?;
            let object = as_json::result(&run, exit.subtype(), &pages, !shape.no_quotes);
            console.line(&object.to_string())?;
            return Ok(Exit::Delivered);
        }
        let (run, report) = with_report(app, name).await?;
        let pages = crate::surfaces::export::pages(app, Some(&report)).await?;
        if let Some(it) = run.question.and_then(|it| it.follows)
            && !console.quiet
        {
            console.tell(&console.err.dim(&format!("follows {}", it.run)));
        }
        follow::show(&report, shape.form(None), shape.options(), &pages, console)?;
        Ok(Exit::Delivered)
    })
}

/// `ibid export R`.
pub(super) fn export(
    loaded: &Loaded,
    name: &str,
    shape: &Shape,
    to: Option<&Path>,
    console: Console,
) -> Done {
    let Some(to) = to else {
        return show(loaded, name, shape, console);
    };
    with_app(loaded, async |app| {
        let (_, report) = with_report(app, name).await?;
        let pages = crate::surfaces::export::pages(app, Some(&report)).await?;
        let form = shape.form(Some(to)).unwrap_or_default();
        let path = follow::write(&report, form, shape.options(), &pages, to)?;
        console.tell(&format!("wrote {}", path.display()));
        Ok(Exit::Delivered)
    })
}

/// `ibid open R`: writes the report as one HTML file beside the indexes, prints the path, and opens it where a person
/// is looking and the desktop has a way to.
pub(super) fn open(loaded: &Loaded, name: &str, console: Console) -> Done {
    let dir = loaded.settings.cache_dir.join("reports");
    with_app(loaded, async |app| {
        let (_, report) = with_report(app, name).await?;
        let pages = crate::surfaces::export::pages(app, Some(&report)).await?;
        std::fs::create_dir_all(&dir).map_err(|fault| {
            Error::new(Kind::Setup, format!("making {}", dir.display())).because(fault)
        })?;
        let path = follow::write(&report, Form::Html, Options::default(), &pages, &dir)?;
        console.line(&path.display().to_string())?;
        if console.live {
            shown_by_desktop(path.as_os_str(), console);
        }
        Ok(Exit::Delivered)
    })
}

/// Has the desktop open a file or an address.
pub(super) fn shown_by_desktop(what: &std::ffi::OsStr, console: Console) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let opened = std::process::Command::new(opener)
        .arg(what)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if opened.is_err() {
        console.tell(&format!("(no `{opener}` here: open it yourself)"));
    }
}

/// `ibid resume R`; of an ended run it tells the result again.
pub(super) fn resume(
    loaded: &Loaded,
    name: &str,
    output: &Output,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    follow::writable(output, surroundings)?;
    with_app(loaded, async |app| {
        let id = find(app, name).await?;
        let running = app.resume(&id).await?;
        follow::follow(app, running, output, surroundings, console).await
    })
}

/// `ibid finish R`.
pub(super) fn finish(loaded: &Loaded, name: &str, console: Console) -> Done {
    order(
        loaded,
        name,
        Order::Finish,
        "will write with what it has",
        console,
    )
}

/// `ibid steer R "…"`.
pub(super) fn steer(loaded: &Loaded, name: &str, text: &str, console: Console) -> Done {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::new(Kind::Usage, "TEXT is empty")
            .hint("say what to look into, as in: ibid steer last \"And in winter?\"")
            .into());
    }
    let order_of = Order::Steer(text.to_owned());
    order(loaded, name, order_of, "will look into that, too", console)
}

/// `ibid cancel R`.
pub(super) fn cancel(loaded: &Loaded, name: &str, console: Console) -> Done {
    order(loaded, name, Order::Cancel, "is stopped for good", console)
}

fn order(loaded: &Loaded, name: &str, order: Order, then: &str, console: Console) -> Done {
    with_app(loaded, async |app| {
        let id = find(app, name).await?;
        let run = app.run(&id).await?;
        if run.status.ended() {
            return Err(Error::new(
                Kind::Usage,
                format!("run {id} has ended already ({})", word(run.status)),
            )
            .into());
        }
        app.order(&id, order).await?;
        console.tell(&format!("run {id} {then}"));
        Ok(Exit::Delivered)
    })
}

/// `ibid rm R…`.
pub(super) fn rm(loaded: &Loaded, names: &[String], console: Console) -> Done {
    with_app(loaded, async |app| {
        // All are looked up before the first goes, so that `last` and a typing error do no harm.
        let mut ids = Vec::new();
        for name in names {
            ids.push(find(app, name).await?);
        }
        for id in ids {
            app.remove(&id).await?;
            console.tell(&format!("forgot {id}"));
        }
        Ok(Exit::Delivered)
    })
}

/// `ibid cite R [N]`: source, place, exact words.
pub(super) fn cite(
    loaded: &Loaded,
    name: &str,
    n: Option<u32>,
    json: bool,
    console: Console,
) -> Done {
    with_app(loaded, async |app| {
        let (run, report) = with_report(app, name).await?;
        let known = report.sources.len();
        if let Some(n) = n
            && !passages(&report).iter().any(|it| it.0 == n)
        {
            return Err(Error::new(
                Kind::NotFound,
                format!("run {} has no citation {n}; there are 1 to {known}", run.id),
            )
            .into());
        }
        let pages = crate::surfaces::export::pages(app, Some(&report)).await?;
        let rows = as_json::citations(&report, &pages);
        let rows = rows
            .into_iter()
            .filter(|it| n.is_none_or(|n| it["n"] == json!(n)));
        for row in rows {
            if json {
                console.line(&row.to_string())?;
            } else {
                console.print(&cited(&row, console))?;
            }
        }
        Ok(Exit::Delivered)
    })
}

fn cited(row: &serde_json::Value, console: Console) -> String {
    let text = |key: &str| line(row[key].as_str().unwrap_or_default());
    let mut place = String::new();
    if let Some(page) = row["printed_page"].as_u64() {
        place = format!("p. {page} · ");
    }
    if let (Some(start), Some(end)) = (row["start"].as_u64(), row["end"].as_u64()) {
        place += &format!("characters {start}–{end} · ");
    }
    let id = row["doc_id"]
        .as_str()
        .map_or_else(String::new, |it| format!(" · {}", line(it)));
    let file = row["file"].as_str().map_or_else(String::new, |it| {
        format!(" · read from {}", line(&local(it)))
    });
    format!(
        "{} {}\n    {}\n    {}\n\n    “{}”\n\n",
        console.out.cyan(&format!("[{}]", row["n"])),
        console.out.bold(&text("title")),
        console.out.dim(&format!("{}{id}{file}", text("url"))),
        console
            .out
            .dim(&format!("{place}{}", clip(&text("page"), 20))),
        text("quote"),
    )
}
