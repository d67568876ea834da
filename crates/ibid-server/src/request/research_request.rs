//! A question with its options, as a JSON object.
use jiff::civil::Date;
use serde_json::Value;

use super::dialogue::{DIALOGUE, parse_turns};
use super::json_fields::{JsonFields, invalid_field, is_field};
use super::served::ServedResources;
use super::validate::{check_date_order, method_for, parse_lang, select_engines};
use crate::dates::{DateBound, parse_day};
use ibid::app::plan_file::PlanFile;
use ibid::config::{Flag, LoadedConfig};
use ibid_core::domain::{DialogueTurn, Mode, Question};
use ibid_core::{Error, Kind, Result};
use ibid_report::escape::single_line;

/// A question with its options. Each field is validated, but names are not resolved yet.
#[derive(Debug, Clone, Default)]
pub struct ResearchRequest {
    /// The text of the question.
    pub text: String,
    /// The id of the run it follows, as written.
    pub follows: Option<String>,
    /// Report, answer or evidence, if given.
    pub mode: Option<Mode>,
    /// The settings it overrides.
    pub flags: Vec<Flag>,
    engines: Vec<String>,
    only_local: bool,
    /// The named folders; `None` means all, an empty list none. Paths once the request is resolved.
    pub folders: Option<Vec<String>>,
    domains: Vec<String>,
    not_domains: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    lang: Option<String>,
    model: Option<String>,
    dialogue: Vec<DialogueTurn>,
    clarify: bool,
    approve: bool,
    plan: Option<PlanFile>,
}

impl ResearchRequest {
    /// Parses a JSON object. `extra_fields` are fields that the caller of this function reads itself.
    ///
    /// # Errors
    /// `Usage` for a wrong value or an unknown field, naming the field.
    pub fn parse(value: &Value, extra_fields: &[&str]) -> Result<ResearchRequest> {
        let Value::Object(object) = value else {
            return Err(Error::new(Kind::Usage, "the request is not a JSON object")
                .with_hint("write {\"question\": \"…\"}"));
        };
        for name in object.keys() {
            if !is_field(name) && !extra_fields.contains(&name.as_str()) {
                return Err(Error::new(
                    Kind::Usage,
                    format!("there is no field `{}`", single_line(name)),
                )
                .with_hint("see /openapi.json for the fields of a question"));
            }
        }
        let fields = JsonFields(object);
        let mut request = ResearchRequest {
            text: fields.question()?,
            follows: fields.text("follows")?,
            mode: fields.mode()?,
            flags: fields.settings()?,
            // An empty list means no engines; a missing field means those of the settings.
            engines: match fields.text_list("engines")? {
                names if names.is_empty() && fields.get("engines").is_some() => {
                    vec!["none".to_owned()]
                }
                names => names,
            },
            only_local: fields.boolean("only_local")?,
            folders: fields
                .get("folders")
                .is_some()
                .then(|| fields.text_list("folders"))
                .transpose()?,
            domains: fields.text_list("domains")?,
            not_domains: fields.text_list("not_domains")?,
            since: fields.text("since")?,
            until: fields.text("until")?,
            lang: parse_lang("language", fields.text("language")?.as_deref())?,
            model: fields.text("model")?,
            clarify: fields.boolean("ask")?,
            ..ResearchRequest::default()
        };
        if let Some(rows) = fields.get(DIALOGUE) {
            request.dialogue = parse_turns(rows).map_err(|it| Error::new(Kind::Usage, it))?;
        }
        if let Some(context) = fields.text("context")? {
            request.dialogue.push(DialogueTurn {
                system: None,
                assistant: None,
                user: Some(context),
            });
        }
        match fields.get("plan") {
            None => {}
            Some(Value::String(word)) if word == "auto" => {}
            Some(Value::String(word)) if word == "require_approval" => request.approve = true,
            Some(plan @ Value::Object(_)) => {
                let text = plan.to_string();
                request.plan = Some(PlanFile::parse("of the request", &text)?);
            }
            Some(_) => {
                return Err(invalid_field("plan", "must be auto, require_approval or a plan"));
            }
        }
        Ok(request)
    }

    /// Builds the question with the settings `loaded` with [`ResearchRequest::flags`], and what is `served`.
    ///
    /// # Errors
    /// `Usage`, naming the field.
    pub fn to_question(
        &self,
        loaded: &LoadedConfig,
        served: &ServedResources,
        today: Date,
    ) -> Result<Question> {
        let settings = &loaded.settings;
        let folders = served.resolve_folders(self.folders.as_deref())?;
        let engines = select_engines(&self.engines, self.only_local, settings, !folders.is_empty())
            .map_err(|fault| {
                if self.engines.is_empty() {
                    // The settings name an unknown engine.
                    Error::new(Kind::Setup, "selecting the engines of the settings")
                        .with_source(fault)
                } else {
                    with_field("engines", &fault)
                }
            })?;
        if folders.is_empty() && engines.is_empty() {
            return Err(Error::new(Kind::Usage, "there is nothing to search")
                .with_hint("name engines, or start the server with --folder DIR"));
        }
        let parse = |field, text: &Option<String>, bound| {
            text.as_deref().map(|it| parse_day(field, it, bound, today)).transpose()
        };
        let since = parse("since", &self.since, DateBound::First)?;
        let until = parse("until", &self.until, DateBound::Last)?;
        check_date_order("", since.as_deref(), until.as_deref())?;
        let mode = self.mode.unwrap_or_default();
        let mut question = Question {
            mode,
            engines,
            budget: settings.budget,
            folders,
            domains: self.domains.clone(),
            not_domains: self.not_domains.clone(),
            since,
            until,
            lang: self.lang.clone(),
            models: served.resolve_models(self.model.as_deref(), settings)?,
            dialogue: self.dialogue.clone(),
            clarify: self.clarify,
            approve: self.approve,
            ..Question::new(self.text.clone(), today.to_string(), method_for(loaded, mode))
        };
        if let Some(plan) = &self.plan {
            question.given = Some(Box::new(plan.provided_plan(&question)?));
        }
        Ok(question)
    }

    /// Builds the question of a follow-up. `question` has this request's text, with the sources and settings of the earlier run.
    ///
    /// # Errors
    /// Those of [`LoadedConfig::apply_flags`]; `Usage` for a model that is not offered.
    pub fn to_follow_up(
        &self,
        mut question: Question,
        loaded: &LoadedConfig,
        served: &ServedResources,
    ) -> Result<Question> {
        loaded.apply_flags(&mut question)?;
        if let Some(model) = &self.model {
            question.models = served.resolve_models(Some(model), &loaded.settings)?;
        }
        question.mode = self.mode.unwrap_or(question.mode);
        question.lang = self.lang.clone().or(question.lang);
        question.clarify = self.clarify;
        question.approve = self.approve;
        Ok(question)
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
