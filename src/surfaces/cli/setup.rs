//! The installation: `config`, `completions`, `man`.
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::args::ConfigAction;
use super::console::Console;
use super::exit::{Done, Exit};
use super::help;
use crate::config::value::Value;
use crate::config::{Loaded, Origin, Setting, Surroundings, file, layers};
use crate::error::{Error, Kind, Result};

/// `ibid config …`.
pub(super) fn config(action: ConfigAction, surroundings: &Surroundings, console: Console) -> Done {
    match action {
        ConfigAction::Get {
            name,
            origins,
            json,
        } => get(
            &layers::load(surroundings, &[])?,
            name.as_deref(),
            origins,
            json,
            console,
        ),
        ConfigAction::Set { name, value } => set(&name, &value, surroundings, console),
        ConfigAction::Path { json } => path(&layers::load(surroundings, &[])?, json, console),
    }
}

fn get(
    loaded: &Loaded,
    name: Option<&str>,
    origins: bool,
    as_json: bool,
    console: Console,
) -> Done {
    let wanted = name.map(file::setting).transpose()?;
    let rows: Vec<(&Setting, &Value, &Origin)> = loaded
        .resolved
        .rows()
        .filter(|it| wanted.is_none_or(|setting| setting.name == it.0.name))
        .collect();
    if as_json {
        let mut out = Map::new();
        for (setting, value, origin) in rows {
            let shown = if origins {
                json!({"value": value.json(), "origin": origin.to_string()})
            } else {
                value.json()
            };
            out.insert(setting.name.to_owned(), shown);
        }
        console.line(&Json::from(out).to_string())?;
        return Ok(Exit::Delivered);
    }
    if let (Some(_), Some((_, value, origin))) = (wanted, rows.first()) {
        let note = if origins {
            console.out.dim(&format!("  # {origin}"))
        } else {
            String::new()
        };
        console.line(&format!("{}{note}", shown(value, origin)))?;
        return Ok(Exit::Delivered);
    }
    let wide = rows.iter().map(|it| it.0.name.len()).max().unwrap_or(0);
    for (setting, value, origin) in rows {
        let text = shown(value, origin);
        let name = format!("{:<wide$}", setting.name);
        let note = if origins {
            let pad = " ".repeat(24usize.saturating_sub(text.chars().count()));
            console.out.dim(&format!("{pad}  # {origin}"))
        } else {
            String::new()
        };
        console.line(&format!("{} = {text}{note}", console.out.cyan(&name)))?;
    }
    Ok(Exit::Delivered)
}

/// A secret shows that it is there and from where; nothing of it.
fn shown(value: &Value, origin: &Origin) -> String {
    match value {
        Value::Secret(_) => format!("set (from {origin})"),
        other => other.shown(),
    }
}

fn set(name: &str, value: &str, surroundings: &Surroundings, console: Console) -> Done {
    let setting = file::setting(name)?;
    let path = layers::files(surroundings)?.user;
    let value = file::write(&path, setting.name, value)?;
    console.tell(&format!(
        "{} = {} in {}",
        setting.name,
        value.shown(),
        path.display()
    ));
    // Something nearer may still win; that must not surprise.
    let loaded = layers::load(surroundings, &[])?;
    if let Some((_, now, origin)) = loaded.resolved.rows().find(|it| it.0.name == setting.name)
        && !matches!(origin, Origin::File(at, _) if *at == path)
    {
        console.tell(&format!(
            "{} {} stays {}: {origin} is nearer",
            console.err.yellow("note:"),
            setting.name,
            shown(now, origin)
        ));
    }
    Ok(Exit::Delivered)
}

fn path(loaded: &Loaded, as_json: bool, console: Console) -> Done {
    let files = &loaded.files;
    let settings = &loaded.settings;
    let rows = [
        ("user", Some(files.user.clone())),
        ("project", files.project.clone()),
        ("env", files.env.clone()),
        ("data", Some(settings.data_dir.clone())),
        ("cache", Some(settings.cache_dir.clone())),
        ("state", Some(files.state.clone())),
    ];
    if as_json {
        let out: Map<String, Json> = rows
            .into_iter()
            .map(|(name, path)| (name.to_owned(), json!(path)))
            .collect();
        console.line(&Json::from(out).to_string())?;
        return Ok(Exit::Delivered);
    }
    for (name, path) in rows {
        let shown = match &path {
            None => console.out.dim("none found"),
            Some(path) if path.exists() => path.display().to_string(),
            Some(path) => format!("{} {}", path.display(), console.out.dim("(not there yet)")),
        };
        console.line(&format!(
            "{} {shown}",
            console.out.cyan(&format!("{name:<8}"))
        ))?;
    }
    Ok(Exit::Delivered)
}

/// `ibid completions SHELL`.
pub(super) fn completions(shell: clap_complete::Shell, console: Console) -> Done {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut help::plain(), "ibid", &mut text);
    console.print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Delivered)
}

/// `ibid man [DIR]`.
pub(super) fn man(dir: Option<&Path>, console: Console) -> Done {
    let command = help::plain();
    let Some(dir) = dir else {
        console.print(&page(command)?)?;
        return Ok(Exit::Delivered);
    };
    let writing = |fault: std::io::Error| {
        Error::new(
            Kind::Setup,
            format!("writing manual pages into {}", dir.display()),
        )
        .because(fault)
    };
    std::fs::create_dir_all(dir).map_err(writing)?;
    let mut pages = vec![("ibid.1".to_owned(), command.clone())];
    for it in command.get_subcommands() {
        let name = format!("ibid-{}", it.get_name());
        pages.push((format!("{name}.1"), it.clone().name(name)));
    }
    for (name, command) in pages {
        std::fs::write(dir.join(name), page(command)?).map_err(writing)?;
    }
    console.tell(&format!("wrote manual pages into {}", dir.display()));
    Ok(Exit::Delivered)
}

fn page(command: clap::Command) -> Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .map_err(|fault| Error::new(Kind::Internal, "writing a manual page").because(fault))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
