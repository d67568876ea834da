//! `ibid init`: a few questions, each with an answer that is good enough, and everything is set up.
use std::io::BufRead as _;
use std::path::Path;

use super::console::Console;
use super::exit::{Done, Exit};
use super::wait;
use crate::app::discover::{Discovered, discover};
use crate::app::engines::standing;
use crate::config::{Loaded, Surroundings, by_key, file, layers};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::escape::line;

/// Engines whose key is asked for, best known first.
const ASKED: &[&str] = &[
    "SERPER_API_KEY",
    "TAVILY_API_KEY",
    "EXA_API_KEY",
    "BRAVE_API_KEY",
];

/// What the answers come to: settings, and variables for the file of keys.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    settings: Vec<(&'static str, String)>,
    keys: Vec<(String, String)>,
}

/// `ibid init`; with `yes` nothing is asked.
pub(super) fn init(surroundings: &Surroundings, yes: bool, console: Console) -> Done {
    let loaded = layers::load(surroundings, &[])?;
    console.tell(&console.err.bold(
        "Setting up Ibid. Enter takes what stands in brackets; everything can be changed later.",
    ));
    let found = wait(discover(&loaded.settings))?;
    let mut desk = Desk {
        console,
        yes,
        ended: false,
    };
    let plan = plan(&mut desk, &loaded, &found);
    let user = loaded.files.user.clone();
    for (name, value) in &plan.settings {
        let value = file::write(&user, name, value)?;
        console.tell(&format!(
            "{} {name} = {} in {}",
            console.err.green("✓"),
            value.shown(),
            user.display()
        ));
    }
    if !plan.keys.is_empty() {
        let keys = loaded.files.keys.clone();
        keep_keys(&keys, &plan.keys)?;
        let names: Vec<&str> = plan.keys.iter().map(|it| it.0.as_str()).collect();
        console.tell(&format!(
            "{} {} in {}, readable by you alone",
            console.err.green("✓"),
            names.join(", "),
            keys.display()
        ));
    }
    if plan == Plan::default() {
        console.tell("Nothing had to be changed.");
    }
    let next = match loaded.settings.folders.is_empty()
        && !plan.settings.iter().any(|it| it.0 == "folders")
    {
        true => "ibid \"your question\"",
        false => {
            "ibid \"your question\"            (your folders; add --engine web for the web too)"
        }
    };
    console.tell(&format!(
        "\nNow ask: {}\nLook over everything: ibid doctor",
        console.err.cyan(next)
    ));
    Ok(Exit::Delivered)
}

fn plan(desk: &mut Desk, loaded: &Loaded, found: &Discovered) -> Plan {
    let mut plan = Plan::default();
    model(desk, loaded, found, &mut plan);
    engine(desk, loaded, found, &mut plan);
    if loaded.settings.folders.is_empty() {
        let folder = desk.ask("A folder of documents to search always (nothing: none)", "");
        if !folder.is_empty() {
            plan.settings.push(("folders", folder));
        }
    }
    if loaded.settings.contact.is_empty() {
        let contact = desk.ask("Your e-mail address, for services that ask for one, as PubMed, Crossref and OpenAlex do (nothing: none)", "");
        if !contact.is_empty() {
            plan.settings.push(("contact", contact));
        }
    }
    plan
}

fn model(desk: &mut Desk, loaded: &Loaded, found: &Discovered, plan: &mut Plan) {
    if !loaded.settings.models.is_empty() && loaded.settings.models_by_key.is_none() {
        return desk.tell("A model is set already.");
    }
    if let Some((variable, model)) = found.keys.first() {
        return desk.tell(&format!(
            "{variable} is set, so {model} will be asked, at most $1 a run."
        ));
    }
    if let Some(model) = found.local_models.first() {
        desk.tell(&format!(
            "Ollama is running here with {}.",
            found.local_models.join(", ")
        ));
        let chosen = desk.ask(
            "Model to use (none: reports of the sources' own sentences)",
            model,
        );
        if chosen != "none" && !chosen.is_empty() {
            plan.settings.push(("model", chosen));
        }
        return;
    }
    let key = desk.ask("A key of OpenAI, Anthropic, OpenRouter, … (nothing: no model; reports are then made of the sources' own sentences)", "");
    if key.is_empty() {
        return;
    }
    let guess = match key.as_str() {
        it if it.starts_with("sk-ant-") => "ANTHROPIC_API_KEY",
        it if it.starts_with("sk-or-") => "OPENROUTER_API_KEY",
        it if it.starts_with("gsk_") => "GROQ_API_KEY",
        it if it.starts_with("AIza") => "GEMINI_API_KEY",
        it if it.starts_with("xai-") => "XAI_API_KEY",
        _ => "OPENAI_API_KEY",
    };
    let variable = desk.ask("Whose key it is, as the variable that holds it", guess);
    if by_key::rows().iter().any(|it| it.0 == variable) {
        plan.keys.push((variable, key));
    } else {
        desk.tell(&format!(
            "{} is no variable of a model's key; it was left out.",
            line(&variable)
        ));
    }
}

fn engine(desk: &mut Desk, loaded: &Loaded, found: &Discovered, plan: &mut Plan) {
    let set = standing(&loaded.settings)
        .into_iter()
        .find(|it| it.configured && it.ready);
    if let Some(it) = set {
        return desk.tell(&format!("The web is searched with {}.", it.name));
    }
    if let Some(url) = &found.searxng {
        desk.tell(&format!(
            "SearXNG answers at {url}; the web is searched with it."
        ));
        return plan.keys.push(("SEARXNG_URL".to_owned(), url.clone()));
    }
    if let Some(url) = &found.searxng_without_json {
        desk.tell(&format!(
            "A SearXNG at {url} has JSON switched off: add `json` under `search.formats` in its settings.yml, restart it, and run `ibid init` again."
        ));
    }
    desk.tell("Without a key, Wikipedia, PubMed and the scholarly record are searched.");
    let key = desk.ask(
        "A key of Serper, Tavily, Exa or Brave, to search the whole web (nothing: none)",
        "",
    );
    if key.is_empty() {
        return;
    }
    let guess = match key.as_str() {
        it if it.starts_with("tvly-") => "TAVILY_API_KEY",
        it if it.starts_with("BSA") => "BRAVE_API_KEY",
        it if it.len() == 36 && it.matches('-').count() == 4 => "EXA_API_KEY",
        _ => "SERPER_API_KEY",
    };
    let variable = desk.ask("Whose key it is, as the variable that holds it", guess);
    match ASKED.contains(&variable.as_str()) {
        true => plan.keys.push((variable, key)),
        false => desk.tell(&format!(
            "{} is no variable of an engine's key; it was left out.",
            line(&variable)
        )),
    }
}

/// Where questions are put and answered.
struct Desk {
    console: Console,
    yes: bool,
    /// Whether the input has ended: then every answer is the one in brackets.
    ended: bool,
}

impl Desk {
    fn tell(&self, text: &str) {
        self.console.tell(text);
    }

    /// The answer to a question, `default` where nothing is said.
    fn ask(&mut self, question: &str, default: &str) -> String {
        if self.yes || self.ended {
            return default.to_owned();
        }
        let err = self.console.err;
        let shown = if default.is_empty() {
            String::new()
        } else {
            format!(" [{default}]")
        };
        self.console
            .put(&format!("{} {question}{} ", err.cyan("?"), err.dim(&shown)));
        let mut said = String::new();
        match std::io::stdin().lock().read_line(&mut said) {
            Ok(0) | Err(_) => self.ended = true,
            Ok(_) => {}
        }
        match said.trim() {
            "" => default.to_owned(),
            said => said.to_owned(),
        }
    }
}

/// Adds variables to the file of keys, which its owner alone may read; of one that is there the value is replaced.
fn keep_keys(path: &Path, keys: &[(String, String)]) -> Result<()> {
    let failed = |cause: std::io::Error| {
        Error::new(Kind::Setup, format!("writing {}", path.display()))
            .because(cause)
            .hint("make the directory writable, or set the variables yourself")
    };
    let before = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(failed(cause)),
    };
    let is_new = |text: &str| {
        !keys
            .iter()
            .any(|(name, _)| text.trim_start().starts_with(&format!("{name}=")))
    };
    let mut lines: Vec<String> = before
        .lines()
        .filter(|it| is_new(it))
        .map(str::to_owned)
        .collect();
    for (name, value) in keys {
        // Quoted, for a value may hold what a shell would read.
        lines.push(format!(
            "{name}='{}'",
            value.replace(['\'', '\n', '\r'], "")
        ));
    }
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut kept = options.open(path).map_err(failed)?;
    std::io::Write::write_all(&mut kept, format!("{}\n", lines.join("\n")).as_bytes())
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
        keep_keys(&path, &pair("A_KEY", "one")).unwrap();
        keep_keys(&path, &pair("B_KEY", "it's")).unwrap();
        keep_keys(&path, &pair("A_KEY", "two")).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "B_KEY='its'\nA_KEY='two'\n"
        );
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions())
                & 0o777,
            0o600
        );
    }
}
