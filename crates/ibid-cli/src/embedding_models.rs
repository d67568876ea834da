//! `ibid models`: the embedding models on this machine.
use std::time::{Duration, Instant};

use crate::args::ModelsAction;
use crate::console::Console;
use crate::documents::size;
use crate::exit::{CommandResult, ExitStatus};
use crate::runtime::block_on;
use crate::setup;
use crate::signals::until_stopped;
use ibid::app::embedding_models::{EmbeddingModelInfo, ModelInstall, choose, install, list};
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_report::escape::single_line;

/// Minimum time between two redraws of the line.
const REDRAW: Duration = Duration::from_millis(100);
/// Characters of the bar.
const BAR: u64 = 24;

/// `ibid models …`.
pub(super) fn models(
    action: &ModelsAction,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    match action {
        ModelsAction::Ls { json } => ls(loaded, *json, console),
        ModelsAction::Get { from, name, sha256 } => {
            let local = env.cwd.join(from);
            let request = ModelInstall {
                from: match local.exists() {
                    true => local.to_string_lossy().into_owned(),
                    false => from.clone(),
                },
                name: name.clone(),
                sha256: sha256.clone(),
            };
            get(&request, loaded, console)
        }
        ModelsAction::Use { name } => {
            let value = block_on(choose(&loaded.settings, name))??;
            match value {
                Some(value) => setup::set("embedding.model", &value, env, console),
                None => setup::unset("embedding.model", env, console),
            }
        }
    }
}

fn ls(loaded: &LoadedConfig, as_json: bool, console: Console) -> CommandResult {
    let found = list(&loaded.settings)?;
    let wide = found.iter().map(|it| it.name.len()).max().unwrap_or(0);
    for model in &found {
        let text = match as_json {
            true => serde_json::json!(model).to_string(),
            false => format_model(model, wide, console),
        };
        console.print_line(&text)?;
    }
    let chosen = &loaded.settings.embedding.model;
    if !as_json && !chosen.is_empty() && found.iter().all(|it| !it.in_use) {
        let note = format!("in use: {}, as `embedding.model` says", single_line(chosen));
        console.print_line(&note)?;
    }
    Ok(ExitStatus::Delivered)
}

fn format_model(model: &EmbeddingModelInfo, wide: usize, console: Console) -> String {
    let state = match (model.in_use, model.installed) {
        (true, _) => "in use",
        (false, true) => "installed",
        (false, false) => "not installed",
    };
    let unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let place = model.path.as_ref().map_or_else(
        || format!("ibid models get {}", model.name),
        |path| single_line(&path.to_string_lossy()),
    );
    format!(
        "{}  {state:<13}  {:>8}  languages: {}; licence: {}\n{:wide$}  {}",
        console.out.cyan(&format!("{:<wide$}", single_line(&model.name))),
        size(model.bytes),
        unknown(&model.languages),
        unknown(&model.licence),
        "",
        console.out.dim(&place),
    )
}

fn get(request: &ModelInstall, loaded: &LoadedConfig, console: Console) -> CommandResult {
    let mut drawn: Option<Instant> = None;
    let mut on_progress = |file: &str, received: u64, whole: Option<u64>| {
        let ended = whole.is_some_and(|whole| received >= whole);
        if console.quiet {
        } else if !console.live {
            // A log has one line for each file.
            if received == 0 {
                console.eprint_line(&format!("downloading {}", single_line(file)));
            }
        } else if ended || drawn.is_none_or(|at| at.elapsed() >= REDRAW) {
            console.clear_line();
            console.eprint(&progress_bar(file, received, whole));
            drawn = Some(Instant::now());
        }
    };
    let settings = &loaded.settings;
    let installed = block_on(until_stopped(install(settings, request, &mut on_progress)))?;
    if drawn.is_some() {
        console.clear_line();
    }
    let path = installed?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    console.print_line(&format!("installed {name} in {}", path.display()))?;
    console.eprint_line(&format!("to use it: ibid models use {name}"));
    Ok(ExitStatus::Delivered)
}

/// How far a download is: `model.safetensors [#####-----] 12.3 MB of 90.9 MB`.
fn progress_bar(file: &str, received: u64, whole: Option<u64>) -> String {
    let file = single_line(file);
    let Some(whole) = whole.filter(|whole| *whole > 0) else {
        return format!("{file} {}", size(received));
    };
    let full = (BAR * received / whole).min(BAR) as usize;
    let bar = format!("{}{}", "#".repeat(full), "-".repeat(BAR as usize - full));
    format!("{file} [{bar}] {} of {}", size(received), size(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_as_bytes_arrive() {
        let bar = progress_bar("model.safetensors", 45_000_000, Some(90_000_000));
        assert_eq!(bar, "model.safetensors [############------------] 45.0 MB of 90.0 MB");
        assert_eq!(progress_bar("config.json", 612, None), "config.json 612 B");
    }
}
