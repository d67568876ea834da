//! Loads the settings: reads every layer, weakest first, and lets the last value win.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::origin::{LayerValue, SettingOrigin, validate};
use super::resolved::ResolvedSettings;
use super::settings::Settings;
use super::table::{SETTINGS, Setting};
use super::value::{RawValue, SettingKind, SettingValue};
use super::{effort, file, mcp_sources};
use ibid_core::{Error, ErrorKind, Result};
use ibid_llm::ModelProvider;

/// The parts of the process that settings depend on. Passed in, so that tests do not depend on the machine.
#[derive(Debug, Clone, Default)]
pub struct ProcessEnv {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The environment.
    pub env: BTreeMap<String, String>,
}

impl ProcessEnv {
    /// Those of this process. Variables that are not valid Unicode are left out.
    ///
    /// # Errors
    /// `Setup` when the working directory does not exist.
    pub fn from_process() -> Result<ProcessEnv> {
        let cwd = std::env::current_dir().map_err(|fault| {
            Error::new(ErrorKind::Setup, "finding the working directory")
                .with_source(fault)
                .with_hint("change to a directory that exists")
        })?;
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(ProcessEnv { cwd, env })
    }

    /// A variable, if it is set and not empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// `$XDG_…_HOME/ibid`, else the same under the home directory.
    fn xdg(&self, variable: &str, under_home: &str) -> PathBuf {
        match self.var(variable).map(Path::new) {
            // The XDG specification says to ignore relative values.
            Some(dir) if dir.is_absolute() => dir.join("ibid"),
            _ => self
                .var("HOME")
                .map_or_else(|| self.cwd.clone(), PathBuf::from)
                .join(under_home)
                .join("ibid"),
        }
    }
}

/// A value given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The setting.
    pub name: &'static str,
    /// The flag as typed: `--breadth`.
    pub flag: &'static str,
    /// The value.
    pub value: String,
}

/// The files that settings may come from.
#[derive(Debug, Clone)]
pub struct ConfigFiles {
    /// `$XDG_CONFIG_HOME/ibid/config.toml`. It may not exist.
    pub user: PathBuf,
    /// The nearest `ibid.toml` from the working directory upwards.
    pub project: Option<PathBuf>,
    /// The `.env` in force.
    pub env: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME/ibid/keys.env`: keys that `ibid init` has stored. It may not exist.
    pub keys: PathBuf,
    /// `$XDG_STATE_HOME/ibid`, for logs.
    pub state: PathBuf,
}

/// The settings, with their origins.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// The typed settings.
    pub settings: Settings,
    /// Every value with its origin.
    pub resolved: ResolvedSettings,
    /// The files that were looked for.
    pub files: ConfigFiles,
    /// Variables named `IBID_…` that set nothing.
    pub unknown: Vec<String>,
}

/// Variables that begin with `IBID_` and are not settings.
const OTHER_VARIABLES: &[&str] = &[
    "IBID_ENV_FILE",
    "IBID_NO_PROMPT",
    "IBID_CRASH_AT",
    "IBID_HOLD_AT",
    "IBID_PANIC_AT",
    "IBID_HOLD_PIPE",
    "IBID_ACCEPT",
    "IBID_MODEL_BASE_URL",
    "IBID_MODEL_API_KEY",
];

/// Finds the files and resolves every setting.
///
/// # Errors
/// `Usage` for an invalid value or an invalid TOML file, naming file and line, variable or flag, and what is allowed; `Setup` for a file
/// that cannot be read.
pub fn load(process: &ProcessEnv, flags: &[Flag]) -> Result<LoadedConfig> {
    let files = find_files(process)?;
    // The `.env` of a project takes precedence over the keys of `ibid init`.
    let mut dotenv = if files.keys.exists() { read_dotenv(&files.keys)? } else { BTreeMap::new() };
    if let Some(path) = &files.env {
        dotenv.extend(read_dotenv(path)?);
    }
    let mut layers = LayerStack {
        rows: SETTINGS.iter().map(|_| (SettingValue::None, SettingOrigin::Default)).collect(),
        home: process.var("HOME").map(str::to_owned),
    };
    layers.apply_layer(&defaults(process), &process.cwd)?;
    for path in [Some(&files.user), files.project.as_ref()].into_iter().flatten() {
        let base = path.parent().unwrap_or(&process.cwd);
        layers.apply_layer(&file::read(path)?, base)?;
    }
    layers.apply_layer(&from_env(process, &dotenv, &files), &process.cwd)?;
    layers.apply_layer(&from_flags(flags), &process.cwd)?;
    layers.take_rounds_from_iterations();
    layers.give_local_models_time();
    let resolved = ResolvedSettings(layers.rows);
    // The environment takes precedence over `.env`.
    let variables = dotenv.iter().chain(&process.env);
    let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut settings = Settings::from_resolved(&resolved, variables)?;
    settings.mcp_sources = mcp_sources::read(&files.user, &settings.variables)?;
    if let Some(project) = &files.project {
        mcp_sources::refuse_in(project)?;
    }
    settings.search_path = process.var("PATH").unwrap_or_default().into();
    Ok(LoadedConfig { settings, resolved, files, unknown: unknown_variables(process, &dotenv) })
}

impl Settings {
    /// The default settings, with all files under `dir`. Ignores the environment, except the search path, and the configuration files of this
    /// machine: for tests and for programs that configure Ibid themselves.
    ///
    /// # Errors
    /// None for an absolute `dir`.
    pub fn defaults_in(dir: &Path) -> Result<Settings> {
        let process = ProcessEnv {
            cwd: dir.to_owned(),
            env: [
                ("IBID_DATA_DIR".to_owned(), dir.join("data")),
                ("IBID_CACHE_DIR".to_owned(), dir.join("cache")),
                ("XDG_CONFIG_HOME".to_owned(), dir.join("config")),
                ("PATH".to_owned(), std::env::var_os("PATH").unwrap_or_default().into()),
            ]
            .map(|(name, path)| (name, path.to_string_lossy().into_owned()))
            .into(),
        };
        load(&process, &[]).map(|it| it.settings)
    }
}

struct LayerStack {
    rows: Vec<(SettingValue, SettingOrigin)>,
    home: Option<String>,
}

impl LayerStack {
    /// Applies one layer over those below: first the preset of its effort, then its own values.
    fn apply_layer(&mut self, layer: &[LayerValue], base: &Path) -> Result<()> {
        for it in layer.iter().filter(|value| value.setting.name == "effort") {
            let value = validate(it)?;
            let effort = effort::parse(&value.to_display_string()).unwrap_or_default();
            for (name, text) in effort::preset(effort) {
                if let Some(setting) = Setting::by_name(name) {
                    let filled = LayerValue {
                        setting,
                        given: RawValue::Text(text.to_owned()),
                        origin: match &it.origin {
                            SettingOrigin::Default => SettingOrigin::Default,
                            other => SettingOrigin::Effort(Box::new(other.clone())),
                        },
                    };
                    self.set(&filled, base)?;
                }
            }
        }
        layer.iter().try_for_each(|value| self.set(value, base))
    }

    /// Where `max_iterations` is set and `depth` is not, it is the number of rounds, up to 12: a user who asks for ten rounds is not
    /// limited to the two of an effort.
    fn take_rounds_from_iterations(&mut self) {
        const MAX_ROUNDS: u64 = 12;
        let at = |name: &str| SETTINGS.iter().position(|row| row.name == name);
        let (Some(depth), Some(iterations)) = (at("depth"), at("max_iterations")) else {
            return;
        };
        let is_set = |row: usize| {
            !matches!(self.rows[row].1, SettingOrigin::Default | SettingOrigin::Effort(_))
        };
        if let (SettingValue::Whole(rounds), origin) = self.rows[iterations].clone()
            && is_set(iterations)
            && !is_set(depth)
        {
            self.rows[depth] = (SettingValue::Whole(rounds.min(MAX_ROUNDS)), origin);
        }
    }

    /// A model on this machine may take ten times as long as a hosted one, and costs nothing: where no time limit is set, that of the
    /// effort is ten times as long.
    fn give_local_models_time(&mut self) {
        const FACTOR: u64 = 10;
        let is_model = |setting: &Setting| {
            setting.name == "model"
                || setting.name.strip_prefix("models.").is_some_and(|role| !role.contains('.'))
        };
        let is_local = |spec: &str| {
            let provider = spec.trim().split([':', '/']).next().and_then(ModelProvider::by_name);
            provider.is_some_and(ModelProvider::is_local)
        };
        let local = SETTINGS.iter().zip(&self.rows).any(|(setting, (value, _))| match value {
            SettingValue::Text(specs) => is_model(setting) && specs.split(',').any(is_local),
            _ => false,
        });
        let seconds = SETTINGS.iter().position(|row| row.name == "budget.seconds");
        if let Some((
            SettingValue::Whole(seconds),
            SettingOrigin::Default | SettingOrigin::Effort(_),
        )) = seconds.filter(|_| local).map(|at| &mut self.rows[at])
        {
            *seconds *= FACTOR;
        }
    }

    fn set(&mut self, it: &LayerValue, base: &Path) -> Result<()> {
        let value = validate(it)?.resolve_paths(it.setting.kind, base, self.home.as_deref());
        if let Some(at) = SETTINGS.iter().position(|row| row.name == it.setting.name) {
            self.rows[at] = (value, it.origin.clone());
        }
        Ok(())
    }
}

fn defaults(process: &ProcessEnv) -> Vec<LayerValue> {
    SETTINGS
        .iter()
        .map(|setting| {
            let text = match setting.name {
                "data_dir" => {
                    process.xdg("XDG_DATA_HOME", ".local/share").to_string_lossy().into_owned()
                }
                "cache_dir" => {
                    process.xdg("XDG_CACHE_HOME", ".cache").to_string_lossy().into_owned()
                }
                _ => setting.default.to_owned(),
            };
            LayerValue { setting, given: RawValue::Text(text), origin: SettingOrigin::Default }
        })
        .collect()
}

/// The environment takes precedence over `.env`; within each, `IBID_*` over the aliases.
fn from_env(
    process: &ProcessEnv,
    dotenv: &BTreeMap<String, String>,
    files: &ConfigFiles,
) -> Vec<LayerValue> {
    let mut found = Vec::new();
    for setting in SETTINGS.iter() {
        let variables: Vec<String> =
            std::iter::once(setting.env()).chain(setting.former_env()).collect();
        let names = || variables.iter().map(String::as_str).chain(setting.aliases.iter().copied());
        let from_process = names().find_map(|name| {
            let value = process.var(name)?;
            Some((value, SettingOrigin::Env(name.to_owned())))
        });
        let from_dotenv = || {
            names().find_map(|name| {
                let value = dotenv.get(name).filter(|value| !value.is_empty())?;
                let path = files.env.clone().unwrap_or_else(|| files.keys.clone());
                Some((value.as_str(), SettingOrigin::DotEnv(name.to_owned(), path)))
            })
        };
        if let Some((value, origin)) = from_process.or_else(from_dotenv) {
            found.push(LayerValue { setting, given: RawValue::Text(value.to_owned()), origin });
        }
    }
    found
}

/// A flag that takes a list may be repeated; of any other, the last one wins.
fn from_flags(flags: &[Flag]) -> Vec<LayerValue> {
    let mut found: Vec<LayerValue> = Vec::new();
    for flag in flags {
        let Some(setting) = Setting::by_name(flag.name) else {
            continue;
        };
        let is_list = matches!(setting.kind, SettingKind::Paths | SettingKind::List);
        let earlier = found.iter_mut().find(|value| value.setting.name == flag.name);
        match (earlier, is_list) {
            (Some(earlier), true) => {
                if let RawValue::List(items) = &mut earlier.given {
                    items.push(flag.value.clone());
                }
            }
            (_, true) => found.push(LayerValue {
                setting,
                given: RawValue::List(vec![flag.value.clone()]),
                origin: SettingOrigin::Flag(flag.flag),
            }),
            (_, false) => found.push(LayerValue {
                setting,
                given: RawValue::Text(flag.value.clone()),
                origin: SettingOrigin::Flag(flag.flag),
            }),
        }
    }
    found
}

/// Finds the files that settings may come from.
///
/// # Errors
/// `Setup` when a variable names an `.env` file that does not exist.
pub fn find_files(process: &ProcessEnv) -> Result<ConfigFiles> {
    let upwards = |name: &str| {
        process.cwd.ancestors().map(|ancestor| ancestor.join(name)).find(|it| it.is_file())
    };
    let named = ["IBID_ENV_FILE", "DEEPRESEARCH_ENV_FILE"]
        .into_iter()
        .find_map(|name| Some((name, process.var(name)?)));
    let env = match named {
        Some((name, path)) => {
            let path = process.cwd.join(path);
            if !path.is_file() {
                return Err(Error::new(
                    ErrorKind::Setup,
                    format!("env {name}: there is no file {}", path.display()),
                )
                .with_hint(format!("fix or unset {name}")));
            }
            Some(path)
        }
        None => upwards(".env"),
    };
    Ok(ConfigFiles {
        user: process.xdg("XDG_CONFIG_HOME", ".config").join("config.toml"),
        project: upwards("ibid.toml"),
        env,
        keys: process.xdg("XDG_CONFIG_HOME", ".config").join("keys.env"),
        state: process.xdg("XDG_STATE_HOME", ".local/state"),
    })
}

/// Reads an `.env` without touching the process's environment.
fn read_dotenv(path: &Path) -> Result<BTreeMap<String, String>> {
    let doing = || format!("reading {}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|fault| Error::new(ErrorKind::Setup, doing()).with_source(fault))?;
    dotenvy::from_read_iter(text.as_bytes()).collect::<std::result::Result<_, _>>().map_err(
        |fault| {
            let (place, cause) = match &fault {
                // The line may contain a key, so only its number is shown.
                dotenvy::Error::LineParse(line, _) => (
                    text.lines()
                        .position(|it| it == line.as_str() || it.trim() == line.trim())
                        .map_or_else(String::new, |it| format!(" line {}", it + 1)),
                    "this is not of the form NAME=value".to_owned(),
                ),
                other => (String::new(), other.to_string()),
            };
            Error::new(ErrorKind::Usage, format!("{}{place}", doing()))
                .with_source(cause)
                .with_hint("write one NAME=value a line; put values with spaces in quotes")
        },
    )
}

/// Variables named `IBID_…` that are not settings: most likely misspelt.
fn unknown_variables(process: &ProcessEnv, dotenv: &BTreeMap<String, String>) -> Vec<String> {
    let mut names: Vec<String> = process
        .env
        .keys()
        .chain(dotenv.keys())
        .filter(|key| key.starts_with("IBID_"))
        .filter(|key| !OTHER_VARIABLES.contains(&key.as_str()))
        .filter(|key| {
            !SETTINGS
                .iter()
                .any(|row| row.env() == **key || row.former_env().as_ref() == Some(*key))
        })
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}
