//! Where values come from, weakest first, and which one won.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::origin::{Found, Origin, judge};
use super::value::{Given, Kind as Takes, Secret, Value};
use super::{SETTINGS, Setting, Settings, effort, file};
use crate::error::{Error, Kind, Result};

/// What of the process and the machine decides on settings. Given from outside, so that nothing
/// here depends on where a test runs.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The environment.
    pub env: BTreeMap<String, String>,
}

impl Surroundings {
    /// Those of this process. Variables that are not Unicode are left out.
    ///
    /// # Errors
    /// Kind `Setup` when the working directory is gone.
    pub fn of_process() -> Result<Surroundings> {
        let cwd = std::env::current_dir().map_err(|fault| {
            Error::new(Kind::Setup, "finding the working directory")
                .because(fault)
                .hint("change to a directory that exists")
        })?;
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Surroundings { cwd, env })
    }

    /// A variable, where it is set and not empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env
            .get(name)
            .map(String::as_str)
            .filter(|it| !it.is_empty())
    }

    /// `$XDG_…_HOME/ibid`, else the same under the home directory.
    fn xdg(&self, variable: &str, under_home: &str) -> PathBuf {
        match self.var(variable).map(Path::new) {
            // The XDG specification: relative values are invalid and must be ignored.
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
    /// Its value.
    pub value: String,
}

/// The winning value of every setting, in the order of [`SETTINGS`].
#[derive(Debug, Clone)]
pub struct Resolved(Vec<(Value, Origin)>);

impl Resolved {
    /// Setting, value and origin, in the order of [`SETTINGS`].
    pub fn rows(&self) -> impl Iterator<Item = (&'static Setting, &Value, &Origin)> {
        SETTINGS
            .iter()
            .zip(&self.0)
            .map(|(setting, (value, origin))| (setting, value, origin))
    }

    fn get(&self, name: &str) -> &Value {
        self.rows()
            .find(|it| it.0.name == name)
            .map_or(&Value::None, |it| it.1)
    }

    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Value::Whole(it) => Some(*it),
            _ => None,
        }
    }

    pub(super) fn real(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Value::Real(it) => Some(*it),
            _ => None,
        }
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        *self.get(name) == Value::Bool(true)
    }

    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        match self.get(name) {
            Value::Secret(it) if !it.trim().is_empty() => Some(Secret::new(it.trim())),
            _ => None,
        }
    }

    pub(super) fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Text(it) => it,
            _ => "",
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(self.word(name))
    }

    pub(super) fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Value::List(it) => it,
            _ => &[],
        }
    }
}

/// The files that settings may come from.
#[derive(Debug, Clone)]
pub struct Files {
    /// `$XDG_CONFIG_HOME/ibid/config.toml`, whether it exists or not.
    pub user: PathBuf,
    /// The nearest `ibid.toml` from the working directory upwards.
    pub project: Option<PathBuf>,
    /// The `.env` in force.
    pub env: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME/ibid/keys.env`: variables that `ibid init` has kept, whether it exists or not.
    pub keys: PathBuf,
    /// `$XDG_STATE_HOME/ibid`: logs.
    pub state: PathBuf,
}

/// Settings, and how they came about.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What the program runs on.
    pub settings: Settings,
    /// Every value with its origin.
    pub resolved: Resolved,
    /// The files looked at.
    pub files: Files,
    /// Variables that look meant for Ibid but set nothing.
    pub unknown: Vec<String>,
}

/// Variables that begin with `IBID_` and are no settings.
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
/// Kind `Usage` for a value out of bounds or a file that is no TOML, naming file and line, variable
/// or flag, and what is allowed; kind `Setup` for a file that cannot be read.
pub fn load(surroundings: &Surroundings, flags: &[Flag]) -> Result<Loaded> {
    let files = files(surroundings)?;
    // Keys that `ibid init` has kept count least; the `.env` of a project beats them.
    let mut dotenv = match files.keys.exists() {
        true => read_dotenv(&files.keys)?,
        false => BTreeMap::new(),
    };
    if let Some(path) = &files.env {
        dotenv.extend(read_dotenv(path)?);
    }
    let mut all = Layers {
        rows: SETTINGS
            .iter()
            .map(|_| (Value::None, Origin::Default))
            .collect(),
        home: surroundings.var("HOME").map(str::to_owned),
    };
    all.lay(&defaults(surroundings), &surroundings.cwd)?;
    for path in [Some(&files.user), files.project.as_ref()]
        .into_iter()
        .flatten()
    {
        let base = path.parent().unwrap_or(&surroundings.cwd);
        all.lay(&file::read(path)?, base)?;
    }
    all.lay(&from_env(surroundings, &dotenv, &files), &surroundings.cwd)?;
    all.lay(&from_flags(flags), &surroundings.cwd)?;
    let resolved = Resolved(all.rows);
    // The real environment beats `.env`.
    let variables = dotenv.iter().chain(&surroundings.env);
    let variables = variables
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok(Loaded {
        settings: Settings::of(&resolved, variables),
        resolved,
        files,
        unknown: unknown(surroundings, &dotenv),
    })
}

struct Layers {
    rows: Vec<(Value, Origin)>,
    home: Option<String>,
}

impl Layers {
    /// Lays one layer over those below: first what its effort stands for, then what it says itself.
    fn lay(&mut self, layer: &[Found], base: &Path) -> Result<()> {
        for it in layer.iter().filter(|it| it.setting.name == "effort") {
            let value = judge(it)?;
            let meant = effort::parse(&value.shown()).unwrap_or_default();
            for (name, text) in effort::preset(meant) {
                if let Some(setting) = Setting::named(name) {
                    let filled = Found {
                        setting,
                        given: Given::Text(text.to_owned()),
                        origin: match &it.origin {
                            Origin::Default => Origin::Default,
                            other => Origin::Effort(Box::new(other.clone())),
                        },
                    };
                    self.put(&filled, base)?;
                }
            }
        }
        layer.iter().try_for_each(|it| self.put(it, base))
    }

    fn put(&mut self, it: &Found, base: &Path) -> Result<()> {
        let value = judge(it)?.anchored(it.setting.kind, base, self.home.as_deref());
        if let Some(at) = SETTINGS.iter().position(|row| row.name == it.setting.name) {
            self.rows[at] = (value, it.origin.clone());
        }
        Ok(())
    }
}

fn defaults(surroundings: &Surroundings) -> Vec<Found> {
    SETTINGS
        .iter()
        .map(|setting| {
            let text = match setting.name {
                "data_dir" => surroundings
                    .xdg("XDG_DATA_HOME", ".local/share")
                    .to_string_lossy()
                    .into_owned(),
                "cache_dir" => surroundings
                    .xdg("XDG_CACHE_HOME", ".cache")
                    .to_string_lossy()
                    .into_owned(),
                _ => setting.default.to_owned(),
            };
            Found {
                setting,
                given: Given::Text(text),
                origin: Origin::Default,
            }
        })
        .collect()
}

/// The real environment beats `.env`; within each, `IBID_*` beats the aliases.
fn from_env(
    surroundings: &Surroundings,
    dotenv: &BTreeMap<String, String>,
    files: &Files,
) -> Vec<Found> {
    let mut found = Vec::new();
    for setting in SETTINGS {
        let own = setting.env();
        let names = || std::iter::once(own.as_str()).chain(setting.aliases.iter().copied());
        let real = names().find_map(|name| {
            let value = surroundings.var(name)?;
            Some((value, Origin::Env(name.to_owned())))
        });
        let written = || {
            names().find_map(|name| {
                let value = dotenv.get(name).filter(|it| !it.is_empty())?;
                let path = files.env.clone().unwrap_or_else(|| files.keys.clone());
                Some((value.as_str(), Origin::DotEnv(name.to_owned(), path)))
            })
        };
        if let Some((value, origin)) = real.or_else(written) {
            found.push(Found {
                setting,
                given: Given::Text(value.to_owned()),
                origin,
            });
        }
    }
    found
}

/// A list flag given more than once adds up; of any other, the last one counts.
fn from_flags(flags: &[Flag]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for flag in flags {
        let Some(setting) = Setting::named(flag.name) else {
            continue;
        };
        let listed = matches!(setting.kind, Takes::Paths | Takes::Words);
        let earlier = found.iter_mut().find(|it| it.setting.name == flag.name);
        match (earlier, listed) {
            (Some(earlier), true) => {
                if let Given::List(items) = &mut earlier.given {
                    items.push(flag.value.clone());
                }
            }
            (_, true) => found.push(Found {
                setting,
                given: Given::List(vec![flag.value.clone()]),
                origin: Origin::Flag(flag.flag),
            }),
            (_, false) => found.push(Found {
                setting,
                given: Given::Text(flag.value.clone()),
                origin: Origin::Flag(flag.flag),
            }),
        }
    }
    found
}

/// The files that settings may come from.
///
/// # Errors
/// Kind `Setup` when a variable names an `.env` that is not there.
pub fn files(surroundings: &Surroundings) -> Result<Files> {
    let upwards = |name: &str| {
        surroundings
            .cwd
            .ancestors()
            .map(|it| it.join(name))
            .find(|it| it.is_file())
    };
    let named = ["IBID_ENV_FILE", "DEEPRESEARCH_ENV_FILE"]
        .into_iter()
        .find_map(|name| Some((name, surroundings.var(name)?)));
    let env = match named {
        Some((name, path)) => {
            let path = surroundings.cwd.join(path);
            if !path.is_file() {
                return Err(Error::new(
                    Kind::Setup,
                    format!("env {name}: there is no file {}", path.display()),
                )
                .hint(format!("mend or unset {name}")));
            }
            Some(path)
        }
        None => upwards(".env"),
    };
    Ok(Files {
        user: surroundings
            .xdg("XDG_CONFIG_HOME", ".config")
            .join("config.toml"),
        project: upwards("ibid.toml"),
        env,
        keys: surroundings
            .xdg("XDG_CONFIG_HOME", ".config")
            .join("keys.env"),
        state: surroundings.xdg("XDG_STATE_HOME", ".local/state"),
    })
}

/// Reads an `.env` without touching the process's environment.
fn read_dotenv(path: &Path) -> Result<BTreeMap<String, String>> {
    let doing = || format!("reading {}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|fault| Error::new(Kind::Setup, doing()).because(fault))?;
    dotenvy::from_read_iter(text.as_bytes())
        .collect::<std::result::Result<_, _>>()
        .map_err(|fault| {
            let (place, cause) = match &fault {
                // The line may hold a key: it is named by its number, never shown.
                dotenvy::Error::LineParse(line, _) => (
                    text.lines()
                        .position(|it| it == line.as_str() || it.trim() == line.trim())
                        .map_or_else(String::new, |it| format!(" line {}", it + 1)),
                    "this is not of the form NAME=value".to_owned(),
                ),
                other => (String::new(), other.to_string()),
            };
            Error::new(Kind::Usage, format!("{}{place}", doing()))
                .because(cause)
                .hint("write one NAME=value a line; put values with spaces in quotes")
        })
}

/// Variables called `IBID_…` that no setting has: most likely misspelt.
fn unknown(surroundings: &Surroundings, dotenv: &BTreeMap<String, String>) -> Vec<String> {
    let mut names: Vec<String> = surroundings
        .env
        .keys()
        .chain(dotenv.keys())
        .filter(|it| it.starts_with("IBID_"))
        .filter(|it| !OTHER_VARIABLES.contains(&it.as_str()))
        .filter(|it| !SETTINGS.iter().any(|row| row.env() == **it))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}
