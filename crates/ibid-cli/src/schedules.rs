//! `ibid schedule`: questions that a server asks again at intervals.
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::args::{AddScheduleArgs, AskArgs, ScheduleAction};
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::question::build_question;
use crate::runtime::with_app;
use crate::sources::named_folders;
use ibid::app::App;
use ibid::app::schedules::{NewSchedule, interval_text, parse_interval};
use ibid::config::{LoadedConfig, ProcessEnv, layers};
use ibid_core::domain::OutputMode;
use ibid_core::files::private_dir;
use ibid_core::ports::Schedule;
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;
use ibid_report::markdown::pluralize;
use ibid_server::request::{ResearchRequest, parse_lang};
use ibid_server::request_service::check_schedulable;

/// How much of an ID the table shows: the part that contains the milliseconds, and a little more.
const SHOWN_ID_CHARS: usize = 15;
/// How long a rerun may be due before no server seems to work on schedules, in milliseconds.
const OVERDUE_MS: i64 = 60_000;

/// `ibid schedule …`.
pub(super) fn schedules(
    action: ScheduleAction,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let args = match action {
        ScheduleAction::Add(args) => return add(&args, env, console),
        ScheduleAction::Ls { json } => return ls(json, &layers::load(env, &[])?, console),
        other => other,
    };
    with_app(&layers::load(env, &[])?, async |app| {
        let text = match &args {
            ScheduleAction::Pause(named) => {
                let id = find_schedule(app, &named.schedule).await?.id;
                app.pause_schedule(&id, true).await?;
                format!("paused {id}")
            }
            ScheduleAction::Resume(named) => {
                let id = find_schedule(app, &named.schedule).await?.id;
                app.pause_schedule(&id, false).await?;
                format!("resumed {id}")
            }
            ScheduleAction::Run(named) => {
                let id = find_schedule(app, &named.schedule).await?.id;
                app.run_schedule_now(&id).await?;
                format!("{id} is due now; `ibid serve` starts it")
            }
            ScheduleAction::Rm(named) => {
                let id = find_schedule(app, &named.schedule).await?.id;
                app.remove_schedule(&id).await?;
                format!("deleted {id}; its runs stay")
            }
            ScheduleAction::Add(_) | ScheduleAction::Ls { .. } => String::new(),
        };
        if !console.quiet {
            console.eprint_line(&text);
        }
        Ok(ExitStatus::Delivered)
    })
}

fn add(args: &AddScheduleArgs, env: &ProcessEnv, console: Console) -> CommandResult {
    let loaded = layers::load(env, &args.work.flags()?)?;
    let interval_secs = parse_interval("--every", &args.every)?;
    let request = request_json(args, env)?;
    check_schedulable(&ResearchRequest::parse(request.clone())?)?;
    // Finds wrong engines, dates and settings now instead of at the first rerun.
    let ask = AskArgs {
        question: Some(args.question.clone()),
        sources: args.sources.clone(),
        work: args.work.clone(),
        ..AskArgs::default()
    };
    build_question(&ask, OutputMode::Report, &loaded, env)?;
    let mail_dir = args.mail.as_deref().map(|dir| mail_dir(&env.cwd.join(dir))).transpose()?;
    with_app(&loaded, async |app| {
        if let Some(url) = &args.webhook {
            check_webhook(app, url)?;
        }
        let new =
            NewSchedule { request, interval_secs, webhook_url: args.webhook.clone(), mail_dir };
        let schedule = app.add_schedule(new).await?;
        if args.json {
            console.print_line(&to_json(&schedule).to_string())?;
        } else {
            console.print_line(&schedule.id)?;
        }
        if !console.quiet {
            console.eprint_line(&format!(
                "every {}, the first time at once; `ibid serve` on this store starts the reruns",
                interval_text(interval_secs)
            ));
        }
        Ok(ExitStatus::Delivered)
    })
}

/// Checks the address of `--webhook`.
///
/// # Errors
/// `Setup` if no key for signing is set, `Usage` if webhooks may not be sent to `url`.
fn check_webhook(app: &App, url: &str) -> Result<()> {
    if !app.has_webhooks() {
        let variable = &app.settings().serve.webhook_secret_env;
        return Err(Error::new(ErrorKind::Setup, "--webhook: no key for signing webhooks is set")
            .with_hint(format!("set {variable}, here and for `ibid serve`")));
    }
    app.check_webhook_url(url, true).map_err(|fault| {
        let what = "--webhook: webhooks may not be sent to this address";
        Error::new(ErrorKind::Usage, what).with_source(fault).with_hint(
            "give a public https address, or allow one of your own network with `allow_net`",
        )
    })
}

/// The request of the reruns, as `POST /v1/runs` takes it.
///
/// # Errors
/// `Usage` for an invalid option, and for models of single roles.
fn request_json(args: &AddScheduleArgs, env: &ProcessEnv) -> Result<Value> {
    let mut request = Map::new();
    request.insert("question".to_owned(), args.question.trim().into());
    let mut budget = Map::new();
    for flag in args.work.flags()? {
        let value: Value = match flag.name {
            "fresh" => true.into(),
            _ => flag.value.into(),
        };
        if flag.name.starts_with("models.") {
            let what = "--model: a schedule has one model for all roles";
            return Err(Error::new(ErrorKind::Usage, what).with_hint(
                "write --model provider:model, or set the models of roles in the settings",
            ));
        }
        match flag.name.strip_prefix("budget.") {
            Some(name) => budget.insert(name.to_owned(), value),
            None => request.insert(flag.name.to_owned(), value),
        };
    }
    if !budget.is_empty() {
        request.insert("budget".to_owned(), budget.into());
    }
    let sources = &args.sources;
    let lists = [
        ("folders", named_folders("--folder", &sources.folder, env)?),
        ("engines", sources.engine.clone()),
        ("domains", sources.domain.clone()),
        ("not_domains", sources.not_domain.clone()),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            request.insert(name.to_owned(), list.into());
        }
    }
    if sources.only_local {
        request.insert("only_local".to_owned(), true.into());
    }
    let lang = parse_lang("--lang", args.lang.as_deref())?;
    for (name, text) in [("since", &sources.since), ("until", &sources.until), ("language", &lang)]
    {
        if let Some(text) = text {
            request.insert(name.to_owned(), text.clone().into());
        }
    }
    Ok(request.into())
}

/// The absolute path of the directory of mails, which is created if it does not exist.
fn mail_dir(dir: &Path) -> Result<String> {
    let prepared = private_dir(dir).and_then(|()| dir.canonicalize());
    let path = prepared.map_err(|cause| {
        Error::new(ErrorKind::Usage, format!("--mail: using the directory {}", dir.display()))
            .with_source(cause)
            .with_hint("name a directory in which the server may write")
    })?;
    path.into_os_string().into_string().map_err(|_| {
        Error::new(ErrorKind::Usage, "--mail: the path is not valid UTF-8")
            .with_hint("choose another directory")
    })
}

fn ls(json: bool, loaded: &LoadedConfig, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let all = app.schedules().await?;
        for schedule in &all {
            if json {
                console.print_line(&to_json(schedule).to_string())?;
            } else {
                console.print(&describe(schedule, console))?;
            }
        }
        if console.quiet {
            return Ok(ExitStatus::Delivered);
        }
        let overdue = all.iter().filter(|schedule| app.is_overdue(schedule, OVERDUE_MS)).count();
        if all.is_empty() {
            console.eprint_line("no schedules; add one: ibid schedule add \"…\" --every 7d");
        } else if overdue > 0 {
            console.eprint_line(&format!(
                "{} overdue: no server works on schedules; start one with `ibid serve`",
                pluralize(overdue as u64, "rerun")
            ));
        } else if !json {
            console.eprint_line("`ibid serve` starts and delivers the reruns");
        }
        Ok(ExitStatus::Delivered)
    })
}

/// A schedule in two to three lines.
fn describe(schedule: &Schedule, console: Console) -> String {
    let id: String = schedule.id.chars().take(SHOWN_ID_CHARS).collect();
    let state = match (&schedule.active_run, schedule.paused) {
        (Some(run), _) => format!("running: {run}"),
        (None, true) => "paused".to_owned(),
        (None, false) => format!("next {} UTC", minute(&schedule.next_at)),
    };
    let mut text = format!(
        "{}  every {}  {state}\n    {}\n",
        console.out.cyan(&id),
        interval_text(schedule.interval_secs),
        single_line(schedule.question()),
    );
    let latest = schedule.latest_run.as_ref().map(|run| format!("latest {run}"));
    let parts = [
        (schedule.reruns > 0).then(|| pluralize(schedule.reruns, "rerun")),
        latest,
        schedule.webhook_url.as_ref().map(|url| format!("webhook {}", single_line(url))),
        schedule.mail_dir.as_ref().map(|dir| format!("mail {}", single_line(dir))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        text += &format!("    {}\n", console.out.dim(&parts.join("; ")));
    }
    if let Some(error) = &schedule.last_error {
        text += &format!("    {}\n", console.out.red(&format!("failed: {}", single_line(error))));
    }
    text
}

/// A time without its seconds.
fn minute(time: &str) -> String {
    time.chars().take(16).collect::<String>().replace('T', " ")
}

fn to_json(schedule: &Schedule) -> Value {
    let mut object = json!(schedule);
    object["question"] = schedule.question().into();
    object["every"] = interval_text(schedule.interval_secs).into();
    object
}

/// The schedule that `name` means: an ID, or the unique beginning of one.
///
/// # Errors
/// `NotFound` if there is no such schedule, `Usage` if there are several.
async fn find_schedule(app: &App, name: &str) -> Result<Schedule> {
    let bare = |id: &str| {
        let upper = id.to_uppercase();
        upper.strip_prefix("S_").unwrap_or(&upper).to_owned()
    };
    let prefix = bare(name);
    let all = app.schedules().await?;
    let mut found = all
        .into_iter()
        .filter(|schedule| !prefix.is_empty() && bare(&schedule.id).starts_with(&prefix));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(one), Some(other)) => {
            let what = format!("schedule `{name}` is ambiguous: {}, {}, …", one.id, other.id);
            Err(Error::new(ErrorKind::Usage, what).with_hint("write more of the ID"))
        }
        (None, _) => {
            let what = format!("there is no schedule `{}`", single_line(name));
            Err(Error::new(ErrorKind::NotFound, what).with_hint("see `ibid schedule ls`"))
        }
    }
}
