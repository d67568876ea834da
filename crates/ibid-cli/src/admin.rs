//! `ibid admin` and `ibid store`: managing a server and its store.
use serde_json::json;

use crate::args::{AdminAction, NewUserArgs, OrgAction, StoreAction, UserAction};
use crate::console::Console;
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::runtime::with_app;
use ibid::app::App;
use ibid::app::store_copy;
use ibid::config::LoadedConfig;
use ibid_core::ports::{Org, User};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::markdown::pluralize;

/// The actor in the audit log for commands on this machine.
const OPERATOR: &str = "operator";

/// `ibid admin …`.
pub(super) fn admin(action: AdminAction, loaded: &LoadedConfig, console: Console) -> CommandResult {
    with_app(loaded, async |app| match action {
        AdminAction::User { action } => user(app, action, console).await,
        AdminAction::Org { action } => org(app, action, console).await,
        AdminAction::Audit { n, json } => {
            for entry in app.audit_log(n).await? {
                let text = if json {
                    json_line(&entry)?
                } else {
                    format!(
                        "{}  {:<16} {:<14} {}  {}",
                        entry.at,
                        plain(&entry.who),
                        plain(&entry.what),
                        plain(&entry.on),
                        plain(&entry.outcome)
                    )
                };
                console.print_line(&text)?;
            }
            Ok(ExitStatus::Delivered)
        }
        AdminAction::Purge { older_than } => {
            let days = older_than.or(loaded.settings.retention_days).ok_or_else(|| {
                Error::new(ErrorKind::Usage, "no retention time is set")
                    .with_hint("use --older-than 30d, or set `retention_days`")
            })?;
            let what = format!("older than {days} days");
            let gone = with_audit(app, "runs.purge", &what, app.purge(days)).await?;
            console.eprint_line(&format!("deleted {gone} runs"));
            Ok(ExitStatus::Delivered)
        }
    })
}

async fn user(app: &App, action: UserAction, console: Console) -> CommandResult {
    match action {
        UserAction::Add(args) => {
            let user = new_user(args);
            with_audit(app, "user.add", &user.id, app.add_user(&user)).await?;
            console.eprint_line(&format!(
                "added {}; create a token for them: ibid admin user token {}",
                user.id, user.id
            ));
        }
        UserAction::Ls { json } => list_users(app, json, console).await?,
        UserAction::Disable { user, undo } => {
            let what = if undo { "user.enable" } else { "user.disable" };
            with_audit(app, what, &user, app.disable_user(&user, !undo)).await?;
            console.eprint_line(&if undo {
                format!("enabled {user}")
            } else {
                format!("disabled {user}")
            });
        }
        UserAction::Token { user, revoke: Some(prefix) } => {
            let gone = app.revoke_token(&user, &prefix);
            with_audit(app, "token.revoke", &format!("{user} {prefix}"), gone).await?;
            console.eprint_line(&format!("revoked {prefix}… of {user}"));
        }
        UserAction::Token { user, revoke: None } => {
            let token = with_audit(app, "token.add", &user, app.add_token(&user)).await?;
            console.print_line(&token)?;
            console.eprint_line("this token is not shown again; only its hash is stored");
        }
        UserAction::Rm { user } => {
            with_audit(app, "user.remove", &user, app.remove_user(&user)).await?;
            console.eprint_line(&format!("deleted {user}; their runs stay"));
        }
    }
    Ok(ExitStatus::Delivered)
}

fn new_user(args: NewUserArgs) -> User {
    User {
        name: args.name.unwrap_or_else(|| args.user.clone()),
        id: args.user,
        org: args.org,
        admin: args.admin,
        disabled: false,
        daily_usd: args.daily_usd,
        concurrency: args.concurrency,
    }
}

async fn list_users(
    app: &App,
    as_json: bool,
    console: Console,
) -> std::result::Result<(), CommandError> {
    let tokens = app.tokens().await?;
    for user in app.users().await? {
        let own = tokens.iter().filter(|token| token.user == user.id);
        let prefixes: Vec<&str> = own.map(|it| it.prefix.as_str()).collect();
        let text = if as_json {
            json!({"user": user, "tokens": prefixes}).to_string()
        } else {
            let mut words = vec![format!("{:<20} {}", user.id, plain(&user.name))];
            words.extend(user.org.iter().map(|org| format!("of {org}")));
            words.extend(user.daily_usd.map(|usd| format!("${usd} per day")));
            words.extend(user.admin.then(|| "admin".to_owned()));
            words.extend(user.disabled.then(|| "disabled".to_owned()));
            words.push(pluralize(prefixes.len() as u64, "token"));
            words.join(" · ")
        };
        console.print_line(&text)?;
    }
    Ok(())
}

async fn org(app: &App, action: OrgAction, console: Console) -> CommandResult {
    match action {
        OrgAction::Add { org: id, name, daily_usd, weight } => {
            let org = Org { name: name.unwrap_or_else(|| id.clone()), id, daily_usd, weight };
            with_audit(app, "org.add", &org.id, app.add_org(&org)).await?;
            console.eprint_line(&format!("added {}", org.id));
        }
        OrgAction::Weight { org, weight } => {
            with_audit(app, "org.weight", &org, app.set_org_weight(&org, weight)).await?;
            console.eprint_line(&format!("{org} has weight {weight}"));
        }
        OrgAction::Ls { json } => {
            for org in app.orgs().await? {
                let text = if json {
                    json_line(&org)?
                } else {
                    let mut words = vec![format!("{:<20} {}", org.id, plain(&org.name))];
                    words.extend(org.daily_usd.map(|usd| format!("${usd} per day")));
                    words.extend((org.weight != 1.0).then(|| format!("weight {}", org.weight)));
                    words.join(" · ")
                };
                console.print_line(&text)?;
            }
        }
    }
    Ok(ExitStatus::Delivered)
}

/// `ibid store …`.
pub(super) fn store(
    action: &StoreAction,
    loaded: &LoadedConfig,
    console: Console,
) -> CommandResult {
    let settings = &loaded.settings;
    let StoreAction::Copy { from, to, from_pages, to_pages } = action else {
        return with_app(loaded, async |app| {
            let deleted = app.sweep_pages().await?;
            console.eprint_line(&format!("deleted {}", pluralize(deleted, "object")));
            Ok(ExitStatus::Delivered)
        });
    };
    let pages = store_copy::CopyPages::open(from_pages.as_deref(), to_pages.as_deref(), settings)?;
    let (from, to) = (
        store_copy::StoreLocation::parse(from, settings),
        store_copy::StoreLocation::parse(to, settings),
    );
    with_app(loaded, async |_| {
        let copied = store_copy::copy(&from, &to, pages, &|run, nth, of| {
            console.eprint_line(&format!("{nth} of {of}: {run}"));
        })
        .await?;
        console.eprint_line(&format!(
            "copied {}, {} already there; added {}, {}, {} and {} of the audit log; all counts agree",
            pluralize(copied.runs, "run"),
            copied.there,
            pluralize(copied.users, "user"),
            pluralize(copied.orgs, "organisation"),
            pluralize(copied.tokens, "token"),
            pluralize(copied.audited, "line")
        ));
        Ok(ExitStatus::Delivered)
    })
}

/// Runs `doing` and records its outcome in the audit log. If it cannot be recorded, that is an error too.
async fn with_audit<T>(
    app: &App,
    what: &str,
    on: &str,
    doing: impl Future<Output = Result<T>>,
) -> Result<T> {
    let done = doing.await;
    let outcome = match &done {
        Ok(_) => "ok".to_owned(),
        Err(fault) => fault.to_string(),
    };
    app.record_audit(OPERATOR, what, on, &outcome).await?;
    done
}

fn json_line(row: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(row)
        .map_err(|fault| Error::new(ErrorKind::Internal, "writing a line").with_source(fault))
}

/// `text` without control characters.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
