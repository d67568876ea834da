//! Checks which folders and models a question may name.
use std::path::Path;

use super::caller::Caller;
use super::intake::RequestService;
use crate::request::ResearchRequest;
use ibid::app::engines::resolve;
use ibid::config::Settings;
use ibid_core::domain::{ModelChoice, ModelRole, Question};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;

impl RequestService {
    /// Replaces the folder names in `request` by their paths. Only the operator may name a folder by its path.
    ///
    /// # Errors
    /// `Usage` for a folder that is not served, whether or not it exists on the server.
    pub(super) fn with_paths(
        &self,
        caller: &Caller,
        request: &ResearchRequest,
    ) -> Result<ResearchRequest> {
        let mut request = request.clone();
        for (nth, name) in request.folders.iter_mut().flatten().enumerate() {
            let by_path = || {
                let path = Path::new(name.as_str());
                let is_served = self.served.folders.iter().any(|folder| folder == path);
                (caller.is_operator() && is_served).then_some(path)
            };
            let found = self.names.path(name).or_else(by_path);
            let path = found.map(|it| it.to_string_lossy().into_owned());
            *name = path.ok_or_else(|| {
                // Do not repeat a path: the rewriter replaces paths in errors by names, which would reveal which of them exist.
                let what = if name.contains('/') {
                    format!("folders[{nth}] is not served here")
                } else {
                    format!("folders: `{}` is not served here", single_line(name))
                };
                let hint = "omit folders to search all served folders";
                Error::new(ErrorKind::Usage, what).with_hint(hint)
            })?;
        }
        Ok(request)
    }

    /// Removes folders and engines of an earlier run that are no longer served from `question`, and replaces models that are no
    /// longer offered by those of the settings.
    ///
    /// # Errors
    /// `Usage` if nothing is left to search.
    pub(super) fn revalidate(&self, question: &mut Question, settings: &Settings) -> Result<()> {
        let served = &self.served;
        let is_served = |text: &String| served.folders.iter().any(|path| path == Path::new(text));
        let is_known = |text: &String| resolve(settings, std::slice::from_ref(text)).is_ok();
        let has_sources = |it: &Question| !it.folders.is_empty() || !it.engines.is_empty();
        // A follow-up that names no folder and no engine goes by the web pages that its thread has read.
        let had_sources = has_sources(question);
        question.folders.retain(is_served);
        question.engines.retain(is_known);
        if had_sources && !has_sources(question) {
            let what = "follows: nothing that run searched is still served here";
            return Err(Error::new(ErrorKind::Usage, what)
                .with_hint("ask a new question without `follows`"));
        }
        let is_offered = |text: &String| {
            served.models.contains(text) || settings.models.values().any(|set| set == text)
        };
        if let ModelChoice::Named(models) = &question.models {
            let now = |(role, model): (&ModelRole, &String)| {
                let now = if is_offered(model) { model } else { settings.models.get(role)? };
                Some((*role, now.clone()))
            };
            question.models = models.iter().filter_map(now).collect();
        }
        Ok(())
    }
}
