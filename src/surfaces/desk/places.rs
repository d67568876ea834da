//! Which places and models a question may name.
use std::path::Path;

use super::{Caller, Desk};
use crate::app::engines::resolve;
use crate::config::Settings;
use crate::domain::{ModelChoice, ModelRole, Question};
use crate::error::{Error, Kind, Result};
use crate::surfaces::asked::Asked;
use crate::surfaces::export::escape::line;

impl Desk {
    /// What was asked, with the path of each folder in place of what the caller calls it. Only the operator may call it by its path.
    ///
    /// # Errors
    /// `Usage` for a folder that is not served: the same for one that is on the server and for one that is not.
    pub(super) fn with_paths(&self, caller: &Caller, asked: &Asked) -> Result<Asked> {
        let mut asked = asked.clone();
        for (nth, name) in asked.folders.iter_mut().flatten().enumerate() {
            let by_path = || {
                let path = Path::new(name.as_str());
                let is_served = self.served.folders.iter().any(|it| it == path);
                (caller.is_operator() && is_served).then_some(path)
            };
            let found = self.names.path(name).or_else(by_path);
            let path = found.map(|it| it.to_string_lossy().into_owned());
            *name = path.ok_or_else(|| {
                // A path is not said back: paths in errors become names, which would tell what is there.
                let what = match name.contains('/') {
                    true => format!("folders[{nth}] is not served here"),
                    false => format!("folders: `{}` is not served here", line(name)),
                };
                let hint = "leave folders out to search all that are served";
                Error::new(Kind::Usage, what).hint(hint)
            })?;
        }
        Ok(asked)
    }

    /// Judges places and models that `question` has from an earlier run by what is served and offered now: what is not is left out,
    /// and a model gives way to the one that is set.
    ///
    /// # Errors
    /// `Usage` where nothing is left to search.
    pub(super) fn judge_anew(&self, question: &mut Question, settings: &Settings) -> Result<()> {
        let served = &self.served;
        let is_served = |it: &String| served.folders.iter().any(|path| path == Path::new(it));
        let is_known = |it: &String| resolve(settings, std::slice::from_ref(it)).is_ok();
        question.folders.retain(is_served);
        question.engines.retain(is_known);
        if question.folders.is_empty() && question.engines.is_empty() {
            let what = "follows: what that run searched is not served here any more";
            return Err(Error::new(Kind::Usage, what).hint("ask a question of its own"));
        }
        let is_offered = |it: &String| {
            served.models.contains(it) || settings.models.values().any(|set| set == it)
        };
        if let ModelChoice::Named(models) = &question.models {
            let now = |(role, model): (&ModelRole, &String)| {
                let now = match is_offered(model) {
                    true => model,
                    false => settings.models.get(role)?,
                };
                Some((*role, now.clone()))
            };
            question.models = models.iter().filter_map(now).collect();
        }
        Ok(())
    }
}
