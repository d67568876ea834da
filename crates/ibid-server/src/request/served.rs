//! The folders and models that a server offers.
use std::path::{Path, PathBuf};

use ibid::config::Settings;
use ibid_core::domain::{ModelChoice, ModelRole};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;

/// The folders and models that callers of a server may name.
#[derive(Debug, Clone, Default)]
pub struct ServedResources {
    /// Folders, as absolute paths.
    pub folders: Vec<PathBuf>,
    /// Models besides the configured ones, `provider:model`.
    pub models: Vec<String>,
}

impl ServedResources {
    /// The paths of the named folders, given by path or last component. All folders if none are named.
    pub(super) fn resolve_folders(&self, named: Option<&[String]>) -> Result<Vec<String>> {
        let all = self.folders.iter();
        let Some(named) = named else {
            return Ok(all.map(|it| it.to_string_lossy().into_owned()).collect());
        };
        let mut found = Vec::new();
        for name in named {
            let is_named = |path: &&PathBuf| {
                path.as_path() == Path::new(name)
                    || path.file_name().is_some_and(|last| last == name.as_str())
            };
            let Some(path) = self.folders.iter().find(is_named) else {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("folders: `{}` is not a served folder", single_line(name)),
                )
                .with_hint("omit folders to search all served folders"));
            };
            let path = path.to_string_lossy().into_owned();
            if !found.contains(&path) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// The model of each role. Callers may name only models that the operator offers, since the operator pays for them.
    pub(super) fn resolve_models(
        &self,
        named: Option<&str>,
        settings: &Settings,
    ) -> Result<ModelChoice> {
        match named {
            None => Ok(settings.models.clone()),
            Some("none") => Ok(ModelChoice::None),
            Some(it) if self.models.iter().any(|known| known == it) || settings.models.values().any(|known| known == it) => {
                let each = ModelRole::ALL.into_iter();
                Ok(each.map(|role| (role, it.to_owned())).collect())
            }
            Some(it) => Err(Error::new(
                ErrorKind::Usage,
                format!("model: `{}` is not offered here", single_line(it)),
            )
            .with_hint("omit model for the configured one; the operator can offer others with `serve.models`")),
        }
    }
}
