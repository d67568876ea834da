//! The arguments of the tools.
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request::{
    BudgetFields, ModeSchema, NonblankSchema, ResearchRequest, add_setting_ranges, nonblank,
    setting, text, whole,
};
use ibid_core::domain::Mode;
use ibid_core::{Error, Kind, Result};

/// Rounds of `agentic_search` by default.
const EVIDENCE_ROUNDS: u64 = 3;

/// Longest time of a run, minutes.
const MAX_MINUTES: u64 = 10_000;

/// Arguments of `agentic_search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = add_setting_ranges)]
pub(super) struct AgenticSearchInput {
    /// What to find out, as one clear question.
    #[schemars(with = "NonblankSchema")]
    query: String,
    #[serde(default, deserialize_with = "setting")]
    #[schemars(extend("default" = 0.7))]
    completeness_threshold: Option<String>,
    #[serde(default, deserialize_with = "setting")]
    #[schemars(extend("default" = EVIDENCE_ROUNDS))]
    max_iterations: Option<String>,
    /// Whether to ask back where the question is unclear. Without it, that is done where the host can show the user a form.
    ask: Option<bool>,
}

impl From<AgenticSearchInput> for ResearchRequest {
    fn from(input: AgenticSearchInput) -> ResearchRequest {
        ResearchRequest {
            question: Some(input.query),
            mode: Some(Mode::Evidence),
            completeness_threshold: input.completeness_threshold,
            max_iterations: input.max_iterations.or(Some(EVIDENCE_ROUNDS.to_string())),
            ask: input.ask,
            ..ResearchRequest::default()
        }
    }
}

/// Arguments of `research`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = add_setting_ranges)]
pub(super) struct StartInput {
    /// What to find out, as one clear question.
    #[schemars(with = "NonblankSchema")]
    question: String,
    /// What was said before that the question depends on.
    #[serde(default, deserialize_with = "text")]
    context: Option<String>,
    /// How much work it is worth.
    #[serde(default, deserialize_with = "setting")]
    effort: Option<String>,
    /// Search engines by name, or web, news, scholar; the server's own choice without.
    #[serde(default, deserialize_with = "crate::request::names")]
    engines: Option<Vec<String>>,
    /// Only sources of these domains.
    #[serde(default, deserialize_with = "crate::request::names")]
    domains: Option<Vec<String>>,
    /// Only what was published since: 2020, 2020-05-01 or 30d.
    #[serde(default, deserialize_with = "text")]
    since: Option<String>,
    /// Only this folder of the server's documents, by name.
    #[serde(default, deserialize_with = "text")]
    folder: Option<String>,
    /// Most that models may cost.
    #[serde(default, deserialize_with = "setting")]
    #[schemars(extend("type" = "number", "minimum" = 0))]
    budget_usd: Option<String>,
    /// Most time; then the report is written from what is there.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("minimum" = 1))]
    max_minutes: Option<u64>,
    /// A report, one line of at most 140 characters, or passages without prose.
    #[schemars(with = "Option<ModeSchema>", extend("default" = "report"))]
    output: Option<Mode>,
    /// Whether to ask back where the question is unclear. Without it, that is done where the host can show the user a form.
    ask: Option<bool>,
}

impl TryFrom<StartInput> for ResearchRequest {
    type Error = Error;

    fn try_from(input: StartInput) -> Result<ResearchRequest> {
        if input.max_minutes.is_some_and(|max_minutes| !(1..=MAX_MINUTES).contains(&max_minutes)) {
            return Err(Error::new(Kind::Usage, "max_minutes must be a whole number from 1"));
        }
        let budget = BudgetFields {
            usd: input.budget_usd,
            seconds: input.max_minutes.map(|max_minute| (max_minute * 60).to_string()),
            ..BudgetFields::default()
        };
        Ok(ResearchRequest {
            question: Some(input.question),
            context: input.context,
            effort: input.effort,
            engines: input.engines,
            domains: input.domains,
            since: input.since,
            folders: input.folder.map(|folder| vec![folder]),
            budget: Some(budget),
            output: input.output,
            ask: input.ask,
            ..ResearchRequest::default()
        })
    }
}

/// Arguments of `research_wait`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitInput {
    /// From research.
    #[serde(deserialize_with = "nonblank")]
    pub(super) run_id: String,
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("maximum" = 25, "default" = 20))]
    pub(super) wait_s: Option<u64>,
    #[schemars(extend("default" = "none"))]
    pub(super) action: Option<WaitAction>,
    /// What to look into besides, as one clear question.
    #[serde(default, deserialize_with = "text")]
    #[schemars(length(min = 1, max = 2000))]
    pub(super) steer: Option<String>,
    /// What the user says to questions, one text for each; an empty list goes on without.
    #[schemars(length(max = 3))]
    pub(super) answers: Option<Vec<String>>,
}

/// What to do with a run.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, description = "")]
pub(super) enum WaitAction {
    None,
    Finish,
    Cancel,
}

/// Arguments of `research_result`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultInput {
    /// From research.
    #[serde(deserialize_with = "nonblank")]
    pub(super) run_id: String,
    /// summary, full, evidence, sources or section:N.
    #[schemars(extend("default" = "full"))]
    pub(super) part: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("default" = 0))]
    pub(super) offset: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("minimum" = 100, "maximum" = 100_000, "default" = 20_000))]
    pub(super) max_chars: Option<u64>,
}

/// Arguments of `search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// What to look for.
    #[serde(deserialize_with = "nonblank")]
    #[schemars(with = "NonblankSchema")]
    pub(super) query: String,
}

/// Arguments of `fetch`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchInput {
    /// From search.
    #[serde(deserialize_with = "nonblank")]
    #[schemars(with = "NonblankSchema")]
    pub(super) id: String,
}

/// Arguments of `check_claims`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimsInput {
    /// Markdown with links or a list of sources.
    #[serde(deserialize_with = "nonblank")]
    #[schemars(with = "NonblankSchema")]
    pub(super) text: String,
}
