//! The installation: `config`, `completions`, `man`.
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use crate::args::ConfigAction;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::help;
use ibid::config::value::{SettingKind, SettingValue};
use ibid::config::{LoadedConfig, ProcessEnv, Setting, SettingOrigin, file, layers};
use ibid_core::{Error, ErrorKind, Result};

/// `ibid config …`.
pub(super) fn config(action: ConfigAction, env: &ProcessEnv, console: Console) -> CommandResult {
    match action {
        ConfigAction::Get { name, origins, json } => {
            get(&layers::load(env, &[])?, name.as_deref(), origins, json, console)
        }
        ConfigAction::Set { name, value } => set(&name, &value, env, console),
        ConfigAction::Path { json } => path(&layers::load(env, &[])?, json, console),
    }
}

fn get(
    loaded: &LoadedConfig,
    name: Option<&str>,
    origins: bool,
    as_json: bool,
    console: Console,
) -> CommandResult {
    let wanted = name.map(file::find_setting).transpose()?;
    let rows: Vec<(&Setting, &SettingValue, &SettingOrigin)> = loaded
        .resolved
        .rows()
        .filter(|row| wanted.is_none_or(|setting| setting.name == row.0.name))
        .collect();
    if as_json {
        let mut out = Map::new();
        for (setting, value, origin) in rows {
            let shown = if origins {
                json!({"value": value.to_json(), "origin": origin.to_string()})
            } else {
                value.to_json()
            };
            out.insert(setting.name.to_owned(), shown);
        }
        console.print_line(&Json::from(out).to_string())?;
        return Ok(ExitStatus::Delivered);
    }
    if let (Some(_), Some((setting, value, origin))) = (wanted, rows.first()) {
        let note = if origins { console.out.dim(&format!("  # {origin}")) } else { String::new() };
        console.print_line(&format!("{}{note}", format_value(setting.kind, value, origin)))?;
        return Ok(ExitStatus::Delivered);
    }
    let wide = rows.iter().map(|row| row.0.name.len()).max().unwrap_or(0);
    for (setting, value, origin) in rows {
        let text = format_value(setting.kind, value, origin);
        let name = format!("{:<wide$}", setting.name);
        let note = if origins {
            let pad = " ".repeat(24usize.saturating_sub(text.chars().count()));
            console.out.dim(&format!("{pad}  # {origin}"))
        } else {
            String::new()
        };
        console.print_line(&format!("{} = {text}{note}", console.out.cyan(&name)))?;
    }
    Ok(ExitStatus::Delivered)
}

/// A value in text. Of a secret, only its origin.
fn format_value(kind: SettingKind, value: &SettingValue, origin: &SettingOrigin) -> String {
    match value {
        // `none` is a word that some texts may be, and means another thing there.
        SettingValue::None if matches!(kind, SettingKind::Text | SettingKind::Path) => {
            "not set".to_owned()
        }
        SettingValue::Secret(_) => format!("set (from {origin})"),
        other => other.to_display_string(),
    }
}

/// Writes a setting to the user's configuration file, and says so if another origin still overrides it.
pub(super) fn set(name: &str, value: &str, env: &ProcessEnv, console: Console) -> CommandResult {
    let setting = file::find_setting(name)?;
    let path = layers::find_files(env)?.user;
    let value = file::write(&path, setting.name, value)?;
    console.eprint_line(&format!(
        "{} = {} in {}",
        setting.name,
        value.to_display_string(),
        path.display()
    ));
    // Say so if an origin of higher precedence still overrides the new value.
    let loaded = layers::load(env, &[])?;
    print_override(
        &loaded,
        setting,
        console,
        &|origin| matches!(origin, SettingOrigin::File(at, _) if *at == path),
    );
    Ok(ExitStatus::Delivered)
}

/// Removes a setting from the user's configuration file, and says so if another origin still sets it.
pub(super) fn unset(name: &str, env: &ProcessEnv, console: Console) -> CommandResult {
    let setting = file::find_setting(name)?;
    let path = layers::find_files(env)?.user;
    file::unset(&path, setting.name)?;
    console.eprint_line(&format!("{} is not set in {}", setting.name, path.display()));
    let loaded = layers::load(env, &[])?;
    print_override(&loaded, setting, console, &|origin| matches!(origin, SettingOrigin::Default));
    Ok(ExitStatus::Delivered)
}

/// Prints a note if the value of a setting does not have the origin that it should have.
fn print_override(
    loaded: &LoadedConfig,
    setting: &Setting,
    console: Console,
    is_meant: &dyn Fn(&SettingOrigin) -> bool,
) {
    if let Some((_, now, origin)) = loaded.resolved.rows().find(|row| row.0.name == setting.name)
        && !is_meant(origin)
    {
        console.eprint_line(&format!(
            "{} {} stays {}: {origin} takes precedence",
            console.err.yellow("note:"),
            setting.name,
            format_value(setting.kind, now, origin)
        ));
    }
}

fn path(loaded: &LoadedConfig, as_json: bool, console: Console) -> CommandResult {
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
        let out: Map<String, Json> =
            rows.into_iter().map(|(name, path)| (name.to_owned(), json!(path))).collect();
        console.print_line(&Json::from(out).to_string())?;
        return Ok(ExitStatus::Delivered);
    }
    for (name, path) in rows {
        let shown = match &path {
            None => console.out.dim("none found"),
            Some(path) if path.exists() => path.display().to_string(),
            Some(path) => format!("{} {}", path.display(), console.out.dim("(not created yet)")),
        };
        console.print_line(&format!("{} {shown}", console.out.cyan(&format!("{name:<8}"))))?;
    }
    Ok(ExitStatus::Delivered)
}

/// `ibid completions SHELL`.
pub(super) fn completions(shell: clap_complete::Shell, console: Console) -> CommandResult {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut help::plain_command(), "ibid", &mut text);
    console.print(&String::from_utf8_lossy(&text))?;
    Ok(ExitStatus::Delivered)
}

/// `ibid man [DIR]`.
pub(super) fn man(dir: Option<&Path>, console: Console) -> CommandResult {
    let command = help::plain_command();
    let Some(dir) = dir else {
        console.print(&page(command)?)?;
        return Ok(ExitStatus::Delivered);
    };
    let writing = |fault: std::io::Error| {
        Error::new(ErrorKind::Setup, format!("writing manual pages to {}", dir.display()))
            .with_source(fault)
    };
    std::fs::create_dir_all(dir).map_err(writing)?;
    let mut pages = vec![("ibid.1".to_owned(), command.clone())];
    for subcommand in command.get_subcommands() {
        let name = format!("ibid-{}", subcommand.get_name());
        pages.push((format!("{name}.1"), subcommand.clone().name(name)));
    }
    for (name, command) in pages {
        std::fs::write(dir.join(name), page(command)?).map_err(writing)?;
    }
    console.eprint_line(&format!("wrote manual pages to {}", dir.display()));
    Ok(ExitStatus::Delivered)
}

fn page(command: clap::Command) -> Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(|fault| {
        Error::new(ErrorKind::Internal, "writing a manual page").with_source(fault)
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
