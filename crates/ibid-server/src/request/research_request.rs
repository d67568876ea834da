//! The fields of a research request, as JSON.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::dialogue::check_turns;
use super::fields::{names, object, read_fields, setting, text};
use super::schemas::{
    DaySchema, DomainSchema, EngineSchema, FolderSchema, ModeSchema, ModelSchema, PlanSchema,
    QuestionSchema, TurnSchema, WebhookSchema, add_budget_ranges, add_setting_ranges,
    require_question,
};
use super::validate::{is_symbols_only, parse_lang, validate_question};
use ibid::app::plan_file::PlanFile;
use ibid::config::Flag;
use ibid_core::domain::{DialogueTurn, OutputMode};
use ibid_core::{Error, ErrorKind, Result};

/// A question. `query` is an alias of `question`, `output` of `mode`, `summaryTokens` of `summary_tokens`.
///
/// The common input of `ibid run --input`, the HTTP API and the MCP tools. Names of folders, engines and
/// models are not resolved yet. `null` counts as missing.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(
    rename = "Question",
    description = "A question. `query` is an alias of `question`, `output` of `mode`, `summaryTokens` of `summary_tokens`.",
    transform = add_setting_ranges,
    transform = require_question
)]
pub struct ResearchRequest {
    /// What to find out, as one clear question.
    #[schemars(with = "Option<QuestionSchema>")]
    pub question: Option<String>,
    /// What to find out, as one clear question.
    #[schemars(with = "Option<QuestionSchema>")]
    pub query: Option<String>,
    /// Who asks, and what for. It guides the plan and the tone, and is never searched for.
    #[serde(default, deserialize_with = "text")]
    #[schemars(length(max = 4_000))]
    pub context: Option<String>,
    /// A report, one line of at most 140 characters, or passages without prose.
    #[schemars(with = "Option<ModeSchema>")]
    pub mode: Option<OutputMode>,
    /// Alias of `mode`.
    #[schemars(with = "Option<ModeSchema>")]
    pub output: Option<OutputMode>,
    /// How much work to spend on the question.
    #[serde(default, deserialize_with = "setting")]
    pub effort: Option<String>,
    /// How evidence is gathered.
    #[serde(default, deserialize_with = "setting")]
    pub strategy: Option<String>,
    /// Maximum number of queries for each open checklist item in a round.
    #[serde(default, deserialize_with = "setting")]
    pub breadth: Option<String>,
    /// Rounds of searching, reading and weighing.
    #[serde(default, deserialize_with = "setting")]
    pub depth: Option<String>,
    /// Maximum number of rounds.
    #[serde(default, deserialize_with = "setting")]
    pub max_iterations: Option<String>,
    /// Share of the checklist that must be covered.
    #[serde(default, deserialize_with = "setting")]
    pub completeness_threshold: Option<String>,
    /// Alias of `summary_tokens`.
    #[serde(default, rename = "summaryTokens", deserialize_with = "setting")]
    pub summary_tokens_of_api: Option<String>,
    /// Length of the summary of a page, in tokens.
    #[serde(default, deserialize_with = "setting")]
    pub summary_tokens: Option<String>,
    /// Maximum number of sources that the report is written from.
    #[serde(default, deserialize_with = "setting")]
    pub max_sources: Option<String>,
    /// Whether to search again and request every page instead of reusing those of earlier runs.
    pub fresh: Option<bool>,
    /// Search engines, by name or as web, news, scholar. Default: the server's engines.
    #[serde(default, deserialize_with = "names")]
    #[schemars(with = "Option<Vec<EngineSchema>>", length(max = 50))]
    pub engines: Option<Vec<String>>,
    /// Whether to search folders only.
    pub only_local: Option<bool>,
    /// The folders to search. An empty list searches none; without this field all served folders are searched.
    #[serde(default, deserialize_with = "names")]
    #[schemars(with = "Option<Vec<FolderSchema>>", length(max = 50))]
    pub folders: Option<Vec<String>>,
    /// Only sources from these domains.
    #[serde(default, deserialize_with = "names")]
    #[schemars(with = "Option<Vec<DomainSchema>>", length(max = 50))]
    pub domains: Option<Vec<String>>,
    /// No sources from these domains.
    #[serde(default, deserialize_with = "names")]
    #[schemars(with = "Option<Vec<DomainSchema>>", length(max = 50))]
    pub not_domains: Option<Vec<String>>,
    /// Only sources published since this day: 2020, 2020-05-01 or 30d.
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "Option<DaySchema>")]
    pub since: Option<String>,
    /// Only sources published until this day.
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "Option<DaySchema>")]
    pub until: Option<String>,
    /// The language of the report.
    #[serde(default, deserialize_with = "text")]
    #[schemars(regex(pattern = "^([A-Za-z]{2})?$"))]
    pub language: Option<String>,
    /// A model that the operator offers.
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "Option<ModelSchema>")]
    pub model: Option<String>,
    /// The conversation before the question.
    #[serde(rename = "followUpDialogue")]
    #[schemars(with = "Option<Vec<TurnSchema>>", length(max = 50))]
    pub follow_up_dialogue: Option<Vec<DialogueTurn>>,
    /// Whether the run may ask clarifying questions.
    pub ask: Option<bool>,
    /// auto, require_approval (the run waits for POST …/approve), or the plan to use.
    #[schemars(with = "Option<PlanSchema>")]
    pub plan: Option<PlanChoice>,
    /// URL that is called once the run has ended. The SSRF guard must allow it.
    #[schemars(with = "Option<WebhookSchema>")]
    pub webhook_url: Option<String>,
    /// The finished run that this question follows up.
    #[serde(default, deserialize_with = "text")]
    #[schemars(length(max = 4_000))]
    pub follows: Option<String>,
    /// Limits of the run.
    #[serde(default, deserialize_with = "object")]
    pub budget: Option<BudgetFields>,
}

/// Limits of a run: the budget of a [`ResearchRequest`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, transform = add_budget_ranges)]
pub struct BudgetFields {
    /// Maximum cost of models in US dollars.
    #[serde(default, deserialize_with = "setting")]
    pub usd: Option<String>,
    /// Time limit in seconds. The report is then written from the evidence so far.
    #[serde(default, deserialize_with = "setting")]
    pub seconds: Option<String>,
    /// Maximum number of searches and page reads together.
    #[serde(default, deserialize_with = "setting")]
    pub calls: Option<String>,
    /// Maximum number of searches.
    #[serde(default, deserialize_with = "setting")]
    pub searches: Option<String>,
    /// Maximum number of pages read.
    #[serde(default, deserialize_with = "setting")]
    pub pages: Option<String>,
    /// Maximum number of model tokens.
    #[serde(default, deserialize_with = "setting")]
    pub tokens: Option<String>,
}

/// The field `plan`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub enum PlanChoice {
    /// Ibid makes and uses its own plan.
    Auto,
    /// The plan waits for approval.
    RequireApproval,
    /// Use this plan.
    Provided(PlanFile),
}

impl TryFrom<Value> for PlanChoice {
    type Error = String;

    fn try_from(value: Value) -> std::result::Result<PlanChoice, String> {
        match value.as_str() {
            Some("auto") => Ok(PlanChoice::Auto),
            Some("require_approval") => Ok(PlanChoice::RequireApproval),
            None if value.is_object() => {
                let plan = PlanFile::parse("of the request", &value.to_string());
                plan.map(PlanChoice::Provided).map_err(|fault| fault.to_string())
            }
            _ => Err("must be auto, require_approval or a plan".to_owned()),
        }
    }
}

impl ResearchRequest {
    /// Parses a JSON object.
    ///
    /// # Errors
    /// `Usage` for a missing, unknown or wrong field, naming it.
    pub fn parse(value: Value) -> Result<ResearchRequest> {
        let request = ResearchRequest::parse_options(value)?;
        request.text()?;
        Ok(request)
    }

    /// The same, where the question may be missing.
    ///
    /// # Errors
    /// `Usage` for an unknown or wrong field, naming it.
    pub fn parse_options(value: Value) -> Result<ResearchRequest> {
        let request: ResearchRequest = read_fields(value)?;
        request.lang()?;
        let turns = request.follow_up_dialogue.as_deref().unwrap_or_default();
        check_turns(turns).map_err(|error| Error::new(ErrorKind::Usage, error))?;
        Ok(request)
    }

    /// The text of the question.
    ///
    /// # Errors
    /// `Usage` if it is missing, empty or too long, or if `query` is given as well.
    pub fn text(&self) -> Result<String> {
        let given = match (&self.question, &self.query) {
            (Some(it), None) | (None, Some(it)) => it,
            (None, None) => {
                return Err(Error::new(ErrorKind::Usage, "question is missing")
                    .with_hint("write {\"question\": \"…\"}"));
            }
            (Some(_), Some(_)) => {
                let what = "question and query mean the same; give only one of them";
                return Err(Error::new(ErrorKind::Usage, what));
            }
        };
        // Accept symbols beyond ASCII here, since no JSON schema can tell them from letters; the question is checked again later.
        if is_symbols_only(given) {
            return Ok(given.trim().to_owned());
        }
        validate_question(given, false)
    }

    /// Report, answer or evidence, if given.
    pub fn mode(&self) -> Option<OutputMode> {
        self.mode.or(self.output)
    }

    /// The language of the report.
    ///
    /// # Errors
    /// `Usage` if it is not a two-letter code.
    pub fn lang(&self) -> Result<Option<String>> {
        parse_lang("language", self.language.as_deref())
    }

    /// The conversation before the question.
    pub fn dialogue(&self) -> Vec<DialogueTurn> {
        self.follow_up_dialogue.clone().unwrap_or_default()
    }

    /// Who asks, and what for.
    pub fn context(&self) -> Option<String> {
        let context = self.context.as_deref().map(str::trim);
        context.filter(|context| !context.is_empty()).map(str::to_owned)
    }

    /// The settings that it overrides, each with its field. The values are checked when the settings are resolved.
    pub fn flags(&self) -> Vec<Flag> {
        let budget = self.budget.clone().unwrap_or_default();
        let fresh = self.fresh.map(|it| it.to_string());
        let fields = [
            ("effort", "effort", &self.effort),
            ("strategy", "strategy", &self.strategy),
            ("breadth", "breadth", &self.breadth),
            ("depth", "depth", &self.depth),
            ("max_iterations", "max_iterations", &self.max_iterations),
            ("completeness_threshold", "completeness_threshold", &self.completeness_threshold),
            ("summary_tokens", "summaryTokens", &self.summary_tokens_of_api),
            ("summary_tokens", "summary_tokens", &self.summary_tokens),
            ("max_sources", "max_sources", &self.max_sources),
            ("fresh", "fresh", &fresh),
            ("budget.usd", "budget", &budget.usd),
            ("budget.seconds", "budget", &budget.seconds),
            ("budget.calls", "budget", &budget.calls),
            ("budget.searches", "budget", &budget.searches),
            ("budget.pages", "budget", &budget.pages),
            ("budget.tokens", "budget", &budget.tokens),
        ];
        let given = fields.into_iter().filter_map(|(name, flag, value)| {
            value.clone().map(|value| Flag { name, flag, value })
        });
        given.collect()
    }

    /// The fields besides the question, as they are kept with the run.
    pub(crate) fn extras(&self) -> Option<Value> {
        let url = self.webhook_url.as_ref()?;
        Some(serde_json::json!({"api": "runs", "webhook_url": url}))
    }

    /// Refuses a webhook: only a server sends them.
    ///
    /// # Errors
    /// `Usage` if the request has one.
    pub fn require_no_webhook(&self) -> Result<()> {
        match self.webhook_url {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::Usage, "webhook_url is not supported here")
                .with_hint("`ibid serve` sends webhooks")),
        }
    }

    /// Whether `name` is a field of a research request.
    pub(crate) fn has_field(name: &str) -> bool {
        use std::sync::LazyLock;
        static SCHEMA: LazyLock<serde_json::Map<String, Value>> =
            LazyLock::new(super::schemas::tool_schema::<ResearchRequest>);
        SCHEMA.get("properties").is_some_and(|value| value.get(name).is_some())
    }
}
