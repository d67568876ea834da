//! The origin of a value, and its validation.
use std::fmt;
use std::path::PathBuf;

use super::table::Setting;
use super::value::{RawValue, SettingKind, SettingValue};
use ibid_core::{Error, ErrorKind, Result};

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The default.
    Default,
    /// A file and its line, from 1.
    File(PathBuf, usize),
    /// An environment variable.
    Env(String),
    /// A variable of an `.env` file.
    DotEnv(String, PathBuf),
    /// A flag.
    Flag(&'static str),
    /// The preset of an effort with this origin.
    Effort(Box<SettingOrigin>),
}

impl SettingOrigin {
    /// Whether a flag set the value, directly or as an effort.
    pub(crate) fn is_flag(&self) -> bool {
        match self {
            SettingOrigin::Flag(_) => true,
            SettingOrigin::Effort(of) => of.is_flag(),
            SettingOrigin::Default
            | SettingOrigin::File(..)
            | SettingOrigin::Env(_)
            | SettingOrigin::DotEnv(..) => false,
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => f.write_str("default"),
            SettingOrigin::File(path, line) => write!(f, "{} line {line}", path.display()),
            SettingOrigin::Env(name) => write!(f, "env {name}"),
            SettingOrigin::DotEnv(name, path) => write!(f, "env {name} ({})", path.display()),
            SettingOrigin::Flag(name) => write!(f, "flag {name}"),
            SettingOrigin::Effort(of) => write!(f, "effort ({of})"),
        }
    }
}

/// One value of one layer.
#[derive(Debug)]
pub(super) struct LayerValue {
    pub(super) setting: &'static Setting,
    pub(super) given: RawValue,
    pub(super) origin: SettingOrigin,
}

/// Validates one value. The error names its origin and what is allowed.
pub(super) fn validate(it: &LayerValue) -> Result<SettingValue> {
    it.setting.kind.validate(&it.given).map_err(|allowed| {
        let shown = match it.setting.kind {
            SettingKind::Secret => "the value".to_owned(),
            _ => it.given.to_string(),
        };
        Error::new(
            ErrorKind::Usage,
            format!("{}: {} must be {allowed}, not {shown}", it.origin, it.setting.name),
        )
    })
}
