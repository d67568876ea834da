//! Where a value comes from, and whether it may stand.
use std::fmt;
use std::path::PathBuf;

use super::table::Setting;
use super::value::{Given, Kind as Takes, Value};
use crate::error::{Error, Kind, Result};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said otherwise.
    Default,
    /// A file and its line, from 1.
    File(PathBuf, usize),
    /// A variable of the environment.
    Env(String),
    /// A variable of an `.env` file.
    DotEnv(String, PathBuf),
    /// A flag.
    Flag(&'static str),
    /// The effort that was set there.
    Effort(Box<Origin>),
}

impl Origin {
    /// Whether a flag set the value, itself or by the effort it names.
    pub fn is_flag(&self) -> bool {
        match self {
            Origin::Flag(_) => true,
            Origin::Effort(of) => of.is_flag(),
            Origin::Default | Origin::File(..) | Origin::Env(_) | Origin::DotEnv(..) => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path, line) => write!(f, "{} line {line}", path.display()),
            Origin::Env(name) => write!(f, "env {name}"),
            Origin::DotEnv(name, path) => write!(f, "env {name} ({})", path.display()),
            Origin::Flag(name) => write!(f, "flag {name}"),
            Origin::Effort(of) => write!(f, "effort ({of})"),
        }
    }
}

/// One value of one layer.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) setting: &'static Setting,
    pub(super) given: Given,
    pub(super) origin: Origin,
}

/// Judges one value; the error names where it stands and what is allowed.
pub(super) fn judge(it: &Found) -> Result<Value> {
    it.setting.kind.judge(&it.given).map_err(|allowed| {
        let shown = match it.setting.kind {
            Takes::Secret => "the value".to_owned(),
            _ => it.given.to_string(),
        };
        Error::new(
            Kind::Usage,
            format!(
                "{}: {} must be {allowed}, not {shown}",
                it.origin, it.setting.name
            ),
        )
    })
}
