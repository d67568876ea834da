//! Builds the question of a research request.
use jiff::civil::Date;

use super::research_request::{PlanChoice, ResearchRequest};
use super::served::ServedResources;
use super::validate::{check_date_order, method_for, select_engines};
use crate::dates::{DateBound, parse_day};
use ibid::config::LoadedConfig;
use ibid_core::domain::Question;
use ibid_core::{Error, ErrorKind, Result};

impl ResearchRequest {
    /// Builds the question with the settings `loaded` with [`ResearchRequest::flags`], and what is `served`.
    ///
    /// # Errors
    /// `Usage`, naming the field.
    pub(crate) fn to_question(
        &self,
        loaded: &LoadedConfig,
        served: &ServedResources,
        today: Date,
    ) -> Result<Question> {
        let settings = &loaded.settings;
        let folders = served.resolve_folders(self.folders.as_deref())?;
        let named = self.engine_names();
        let only_local = self.only_local.unwrap_or_default();
        let engines =
            select_engines(&named, only_local, settings, !folders.is_empty()).map_err(|fault| {
                if named.is_empty() {
                    // The settings name an unknown engine.
                    Error::new(ErrorKind::Setup, "selecting the engines of the settings")
                        .with_source(fault)
                } else {
                    with_field("engines", &fault)
                }
            })?;
        if folders.is_empty() && engines.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "no folder or engine to search")
                .with_hint("name engines, or start the server with --folder DIR"));
        }
        let (since, until) = self.date_range(today)?;
        let mode = self.mode().unwrap_or_default();
        let mut question = Question {
            mode,
            engines,
            budget: settings.budget,
            folders,
            domains: self.domains.clone().unwrap_or_default(),
            not_domains: self.not_domains.clone().unwrap_or_default(),
            since,
            until,
            lang: self.lang()?,
            models: served.resolve_models(self.model.as_deref(), settings)?,
            dialogue: self.dialogue(),
            context: self.context(),
            clarify: self.ask.unwrap_or_default(),
            approve: self.requires_approval(),
            ..Question::new(self.text()?, today.to_string(), method_for(loaded, mode))
        };
        if let Some(PlanChoice::Provided(plan)) = &self.plan {
            question.given = Some(Box::new(plan.provided_plan(&question)?));
        }
        Ok(question)
    }

    /// Builds the question of a follow-up. `question` has this request's text, with the sources and settings of the earlier run; the
    /// fields of this request take their place.
    ///
    /// # Errors
    /// Those of [`LoadedConfig::apply_flags`]; `Usage`, naming the field, for a folder, engine, date or model that cannot be used.
    pub(crate) fn to_follow_up(
        &self,
        mut question: Question,
        loaded: &LoadedConfig,
        served: &ServedResources,
        today: Date,
    ) -> Result<Question> {
        loaded.apply_flags(&mut question)?;
        if self.folders.is_some() {
            question.folders = served.resolve_folders(self.folders.as_deref())?;
        }
        if self.only_local == Some(true) {
            question.engines.clear();
        } else if self.engines.is_some() {
            let (named, settings) = (self.engine_names(), &loaded.settings);
            question.engines = select_engines(&named, false, settings, false)
                .map_err(|fault| with_field("engines", &fault))?;
        }
        let (since, until) = self.date_range(today)?;
        question.since = since.or(question.since);
        question.until = until.or(question.until);
        question.domains = self.domains.clone().unwrap_or(question.domains);
        check_date_order("", question.since.as_deref(), question.until.as_deref())?;
        question.not_domains = self.not_domains.clone().unwrap_or(question.not_domains);
        question.context = self.context().or(question.context);
        if let Some(model) = &self.model {
            question.models = served.resolve_models(Some(model), &loaded.settings)?;
        }
        question.mode = self.mode().unwrap_or(question.mode);
        question.lang = self.lang()?.or(question.lang);
        question.clarify = self.ask.unwrap_or_default();
        question.approve = self.requires_approval();
        question.dialogue = self.dialogue();
        if let Some(PlanChoice::Provided(plan)) = &self.plan {
            question.given = Some(Box::new(plan.provided_plan(&question)?));
        }
        Ok(question)
    }

    /// The named engines. An empty list means no engines; a missing field means those of the settings.
    pub fn engine_names(&self) -> Vec<String> {
        match self.engines.as_deref() {
            Some([]) => vec!["none".to_owned()],
            Some(names) => names.to_vec(),
            None => Vec::new(),
        }
    }

    /// The first and the last day of `since` and `until`, `YYYY-MM-DD`.
    ///
    /// # Errors
    /// `Usage` for an invalid date, or if the first day is after the last.
    pub fn date_range(&self, today: Date) -> Result<(Option<String>, Option<String>)> {
        let parse = |field, text: &Option<String>, bound| {
            text.as_deref().map(|text| parse_day(field, text, bound, today)).transpose()
        };
        let since = parse("since", &self.since, DateBound::First)?;
        let until = parse("until", &self.until, DateBound::Last)?;
        check_date_order("", since.as_deref(), until.as_deref())?;
        Ok((since, until))
    }

    /// Whether the plan waits for approval.
    pub fn requires_approval(&self) -> bool {
        matches!(self.plan, Some(PlanChoice::RequireApproval))
    }
}

/// Prefixes the error with its field.
fn with_field(field: &str, fault: &Error) -> Error {
    let prefixed = Error::new(fault.kind(), format!("{field}: {}", fault.chain()));
    match fault.hint() {
        Some(hint) => prefixed.with_hint(hint),
        None => prefixed,
    }
}
