//! `ibid admin` and `ibid store`: for who runs a server.
use serde_json::json;

use super::args::{AdminAction, NewUser, OrgAction, StoreAction, UserAction};
use super::console::Console;
use super::exit::{Done, Exit, Stop};
use super::with_app;
use crate::app::App;
use crate::app::copying;
use crate::config::Loaded;
use crate::error::{Error, Kind, Result};
use crate::seams::{Org, User};
use crate::surfaces::export::markdown::counted;

/// Who did it, in the audit log: whoever may run commands here.
const OPERATOR: &str = "operator";

/// `ibid admin …`.
pub(super) fn admin(action: AdminAction, loaded: &Loaded, console: Console) -> Done {
    with_app(loaded, async |app| match action {
        AdminAction::User { action } => user(app, action, console).await,
        AdminAction::Org { action } => org(app, action, console).await,
        AdminAction::Audit { n, json } => {
            for it in app.audited(n).await? {
                let text = match json {
                    true => one_line(&it)?,
                    false => format!(
                        "{}  {:<16} {:<14} {}  {}",
                        it.at,
                        plain(&it.who),
                        plain(&it.what),
                        plain(&it.on),
                        plain(&it.outcome)
                    ),
                };
                console.line(&text)?;
            }
            Ok(Exit::Delivered)
        }
        AdminAction::Purge { older_than } => {
            let days = older_than
                .or(loaded.settings.retention_days)
                .ok_or_else(|| {
                    Error::new(Kind::Usage, "nothing says how long runs are kept")
                        .hint("name it, as in --older-than 30d, or set `retention_days`")
                })?;
            let what = format!("older than {days} days");
            let gone = audited(app, "runs.purge", &what, app.purge(days)).await?;
            console.tell(&format!("forgot {gone} runs"));
            Ok(Exit::Delivered)
        }
    })
}

async fn user(app: &App, action: UserAction, console: Console) -> Done {
    match action {
        UserAction::Add(it) => {
            let user = new_user(it);
            audited(app, "user.add", &user.id, app.add_user(&user)).await?;
            console.tell(&format!(
                "added {}; give them a token: ibid admin user token {}",
                user.id, user.id
            ));
        }
        UserAction::Ls { json } => list_users(app, json, console).await?,
        UserAction::Disable { user, undo } => {
            let what = if undo { "user.enable" } else { "user.disable" };
            audited(app, what, &user, app.disable_user(&user, !undo)).await?;
            console.tell(&match undo {
                true => format!("{user} may ask again"),
                false => format!("{user} may not ask any more"),
            });
        }
        UserAction::Token {
            user,
            revoke: Some(prefix),
        } => {
            let gone = app.revoke_token(&user, &prefix);
            audited(app, "token.revoke", &format!("{user} {prefix}"), gone).await?;
            console.tell(&format!("took back {prefix}… of {user}"));
        }
        UserAction::Token { user, revoke: None } => {
            let token = audited(app, "token.add", &user, app.add_token(&user)).await?;
            console.line(&token)?;
            console.tell("this is the only time that it is shown; it is kept as a hash");
        }
        UserAction::Rm { user } => {
            audited(app, "user.remove", &user, app.remove_user(&user)).await?;
            console.tell(&format!("forgot {user}; their runs stay"));
        }
    }
    Ok(Exit::Delivered)
}

fn new_user(it: NewUser) -> User {
    User {
        name: it.name.unwrap_or_else(|| it.user.clone()),
        id: it.user,
        org: it.org,
        admin: it.admin,
        disabled: false,
        daily_usd: it.daily_usd,
        concurrency: it.concurrency,
    }
}

async fn list_users(app: &App, as_json: bool, console: Console) -> std::result::Result<(), Stop> {
    let tokens = app.tokens().await?;
    for user in app.users().await? {
        let own = tokens.iter().filter(|it| it.user == user.id);
        let prefixes: Vec<&str> = own.map(|it| it.prefix.as_str()).collect();
        let text = match as_json {
            true => json!({"user": user, "tokens": prefixes}).to_string(),
            false => {
                let mut words = vec![format!("{:<20} {}", user.id, plain(&user.name))];
                words.extend(user.org.iter().map(|it| format!("of {it}")));
                words.extend(user.daily_usd.map(|it| format!("${it} a day")));
                words.extend(user.admin.then(|| "admin".to_owned()));
                words.extend(user.disabled.then(|| "disabled".to_owned()));
                words.push(counted(prefixes.len() as u64, "token"));
                words.join(" · ")
            }
        };
        console.line(&text)?;
    }
    Ok(())
}

async fn org(app: &App, action: OrgAction, console: Console) -> Done {
    match action {
        OrgAction::Add {
            org: id,
            name,
            daily_usd,
        } => {
            let org = Org {
                name: name.unwrap_or_else(|| id.clone()),
                id,
                daily_usd,
            };
            audited(app, "org.add", &org.id, app.add_org(&org)).await?;
            console.tell(&format!("added {}", org.id));
        }
        OrgAction::Ls { json } => {
            for it in app.orgs().await? {
                let text = match (json, it.daily_usd) {
                    (true, _) => one_line(&it)?,
                    (false, Some(usd)) => {
                        format!("{:<20} {} · ${usd} a day", it.id, plain(&it.name))
                    }
                    (false, None) => format!("{:<20} {}", it.id, plain(&it.name)),
                };
                console.line(&text)?;
            }
        }
    }
    Ok(Exit::Delivered)
}

/// `ibid store …`.
pub(super) fn store(action: &StoreAction, loaded: &Loaded, console: Console) -> Done {
    let StoreAction::Copy { from, to } = action;
    let settings = &loaded.settings;
    let (from, to) = (
        copying::Place::of(from, settings),
        copying::Place::of(to, settings),
    );
    with_app(loaded, async |_| {
        let copied = copying::copy(&from, &to, &|run, nth, of| {
            console.tell(&format!("{nth} of {of}: {run}"));
        })
        .await?;
        console.tell(&format!(
            "{} copied, there already: {}; {}, {}, {} and {} of the audit log added; all counts agree",
            counted(copied.runs, "run"),
            copied.there,
            counted(copied.users, "user"),
            counted(copied.orgs, "organisation"),
            counted(copied.tokens, "token"),
            counted(copied.audited, "line")
        ));
        Ok(Exit::Delivered)
    })
}

/// Does it and writes down how that went: what nobody can write down is not done in silence.
async fn audited<T>(
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
    app.audit(OPERATOR, what, on, &outcome).await?;
    done
}

fn one_line(it: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(it).map_err(|it| Error::new(Kind::Internal, "writing a line").because(it))
}

/// What somebody else wrote, without what a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}
