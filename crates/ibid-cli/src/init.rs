//! `ibid init`: sets up Ibid with a few questions, each with a default answer.
use std::io::BufRead as _;
use std::path::Path;

use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::runtime::block_on;
use ibid::app::discover::{Discovery, discover};
use ibid::app::engines::statuses;
use ibid::config::{LoadedConfig, ProcessEnv, default_model, file, layers};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;

/// The variables of engine keys that `init` accepts.
const ENGINE_KEYS: &[&str] = &["SERPER_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "BRAVE_API_KEY"];

/// The settings to write, and the variables to write to the file of keys.
#[derive(Debug, Default, PartialEq, Eq)]
struct InitPlan {
    settings: Vec<(&'static str, String)>,
    keys: Vec<(String, String)>,
}

/// `ibid init`. With `yes`, takes every default without asking.
pub(super) fn init(env: &ProcessEnv, yes: bool, console: Console) -> CommandResult {
    let loaded = layers::load(env, &[])?;
    console.eprint_line(&console.err.bold(
        "Setting up Ibid. Press Enter for the default in brackets; you can change everything later.",
    ));
    let found = block_on(discover(&loaded.settings))?;
    let mut prompter = InitPrompter { console, yes, ended: false };
    let plan = plan(&mut prompter, &loaded, &found);
    let user = loaded.files.user.clone();
    for (name, value) in &plan.settings {
        let value = file::write(&user, name, value)?;
        console.eprint_line(&format!(
            "{} {name} = {} in {}",
            console.err.green("✓"),
            value.to_display_string(),
            user.display()
        ));
    }
    if !plan.keys.is_empty() {
        let keys = loaded.files.keys.clone();
        save_keys(&keys, &plan.keys)?;
        let names: Vec<&str> = plan.keys.iter().map(|(name, _)| name.as_str()).collect();
        console.eprint_line(&format!(
            "{} {} in {}, which only you can read",
            console.err.green("✓"),
            names.join(", "),
            keys.display()
        ));
    }
    if plan == InitPlan::default() {
        console.eprint_line("Nothing had to be changed.");
    }
    let next = if loaded.settings.folders.is_empty()
        && !plan.settings.iter().any(|setting| setting.0 == "folders")
    {
        "ibid \"your question\""
    } else {
        "ibid \"your question\"            (searches your folders; add --engine web for the web)"
    };
    console.eprint_line(&format!(
        "\nNow ask: {}\nCheck the setup: ibid doctor",
        console.err.cyan(next)
    ));
    Ok(ExitStatus::Delivered)
}

fn plan(prompter: &mut InitPrompter, loaded: &LoadedConfig, found: &Discovery) -> InitPlan {
    let mut plan = InitPlan::default();
    model(prompter, loaded, found, &mut plan);
    engine(prompter, loaded, found, &mut plan);
    if loaded.settings.folders.is_empty() {
        let folder = prompter.ask("A folder of documents to always search (empty for none)", "");
        if !folder.is_empty() {
            plan.settings.push(("folders", folder));
        }
    }
    if loaded.settings.contact.is_empty() {
        let contact = prompter.ask("Your e-mail address, for services that ask for one, such as PubMed, Crossref and OpenAlex (empty for none)", "");
        if !contact.is_empty() {
            plan.settings.push(("contact", contact));
        }
    }
    plan
}

fn model(
    prompter: &mut InitPrompter,
    loaded: &LoadedConfig,
    found: &Discovery,
    plan: &mut InitPlan,
) {
    if !loaded.settings.models.is_empty() && loaded.settings.models_by_key.is_none() {
        return prompter.print("A model is already set.");
    }
    if let Some((variable, model)) = found.keys.first() {
        return prompter
            .print(&format!("{variable} is set, so runs use {model} for at most $1 each."));
    }
    if let Some(model) = found.local_models.first() {
        prompter.print(&format!(
            "Ollama is running on this machine with {}.",
            found.local_models.join(", ")
        ));
        let chosen = prompter
            .ask("Model to use (none: reports consist of sentences from the sources)", model);
        if chosen != "none" && !chosen.is_empty() {
            plan.settings.push(("model", chosen));
        }
        return;
    }
    prompter.print("Without a model, reports consist of sentences from the sources.");
    let key = prompter
        .ask("A key of OpenAI, Anthropic, OpenRouter or another provider (Enter for none)", "");
    if key.is_empty() {
        return;
    }
    let guess = match key.as_str() {
        key if key.starts_with("sk-ant-") => "ANTHROPIC_API_KEY",
        key if key.starts_with("sk-or-") => "OPENROUTER_API_KEY",
        key if key.starts_with("gsk_") => "GROQ_API_KEY",
        key if key.starts_with("AIza") => "GEMINI_API_KEY",
        key if key.starts_with("xai-") => "XAI_API_KEY",
        _ => "OPENAI_API_KEY",
    };
    let variable = prompter.ask("Environment variable for this key", guess);
    if default_model::rows().iter().any(|row| row.0 == variable) {
        plan.keys.push((variable, key));
    } else {
        prompter.print(&format!(
            "{} is not a known variable for a model key; the key was not saved.",
            single_line(&variable)
        ));
    }
}

fn engine(
    prompter: &mut InitPrompter,
    loaded: &LoadedConfig,
    found: &Discovery,
    plan: &mut InitPlan,
) {
    let set =
        statuses(&loaded.settings).into_iter().find(|status| status.configured && status.ready);
    if let Some(engine) = set {
        return prompter.print(&format!("{} is set up to search the web.", engine.name));
    }
    if let Some(url) = &found.searxng {
        prompter.print(&format!("SearXNG answers at {url} and will search the web."));
        return plan.keys.push(("SEARXNG_URL".to_owned(), url.clone()));
    }
    if let Some(url) = &found.searxng_without_json {
        prompter.print(&format!(
            "The SearXNG at {url} does not return JSON: add `json` under `search.formats` in its settings.yml, restart it, and run `ibid init` again."
        ));
    }
    prompter.print("Without a key, Ibid searches Wikipedia, PubMed and scholarly indexes.");
    let key = prompter
        .ask("A key of Serper, Tavily, Exa or Brave, to search the whole web (empty for none)", "");
    if key.is_empty() {
        return;
    }
    let guess = match key.as_str() {
        key if key.starts_with("tvly-") => "TAVILY_API_KEY",
        key if key.starts_with("BSA") => "BRAVE_API_KEY",
        key if key.len() == 36 && key.matches('-').count() == 4 => "EXA_API_KEY",
        _ => "SERPER_API_KEY",
    };
    let variable = prompter.ask("Environment variable for this key", guess);
    if ENGINE_KEYS.contains(&variable.as_str()) {
        plan.keys.push((variable, key))
    } else {
        prompter.print(&format!(
            "{} is not a known variable for an engine key; the key was not saved.",
            single_line(&variable)
        ))
    }
}

/// Asks questions on the terminal.
struct InitPrompter {
    console: Console,
    yes: bool,
    /// Whether input has ended. From then on every answer is the default.
    ended: bool,
}

impl InitPrompter {
    fn print(&self, text: &str) {
        self.console.eprint_line(text);
    }

    /// The answer to a question, or `default` for an empty line.
    fn ask(&mut self, question: &str, default: &str) -> String {
        if self.yes || self.ended {
            return default.to_owned();
        }
        let err = self.console.err;
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        self.console.eprint(&format!("{} {question}{} ", err.cyan("?"), err.dim(&shown)));
        let mut answer = String::new();
        match std::io::stdin().lock().read_line(&mut answer) {
            Ok(0) | Err(_) => {
                self.ended = true;
                // Nobody pressed Enter, so the prompt still stands on the line.
                self.console.eprint_line("");
            }
            Ok(_) => {}
        }
        match answer.trim() {
            "" => default.to_owned(),
            answer => answer.to_owned(),
        }
    }
}

/// Writes variables to the file of keys, which only its owner may read. Replaces the value of a variable that is there.
fn save_keys(path: &Path, keys: &[(String, String)]) -> Result<()> {
    let failed = |cause: std::io::Error| {
        Error::new(ErrorKind::Setup, format!("writing {}", path.display()))
            .with_source(cause)
            .with_hint("make the directory writable, or set the variables in your environment")
    };
    let before = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(failed(cause)),
    };
    let is_other = |text: &str| {
        !keys.iter().any(|(name, _)| text.trim_start().starts_with(&format!("{name}=")))
    };
    let mut lines: Vec<String> =
        before.lines().filter(|line| is_other(line)).map(str::to_owned).collect();
    for (name, value) in keys {
        // Quoted, because a value may contain characters that are special to a shell.
        lines.push(format!("{name}='{}'", value.replace(['\'', '\n', '\r'], "")));
    }
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(failed)?;
    std::io::Write::write_all(&mut file, format!("{}\n", lines.join("\n")).as_bytes())
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_for_their_owner_alone_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ibid").join("keys.env");
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        save_keys(&path, &pair("A_KEY", "one")).unwrap();
        save_keys(&path, &pair("B_KEY", "it's")).unwrap();
        save_keys(&path, &pair("A_KEY", "two")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "B_KEY='its'\nA_KEY='two'\n");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions())
                & 0o777,
            0o600
        );
    }
}
