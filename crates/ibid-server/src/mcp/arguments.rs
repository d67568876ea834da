//! The arguments of the tools.
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request::{
    BudgetFields, ModeSchema, NonblankSchema, ResearchRequest, add_setting_ranges, nonblank,
    setting, text, whole,
};
use ibid_core::domain::OutputMode;
use ibid_core::{Error, ErrorKind, Result};

/// Rounds of `agentic_search` by default.
const EVIDENCE_ROUNDS: u64 = 3;

/// Maximum time of a run in minutes.
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
    /// Whether to ask clarifying questions if the question is unclear. Default: true if the host can show a form.
    ask: Option<bool>,
}

impl From<AgenticSearchInput> for ResearchRequest {
    fn from(input: AgenticSearchInput) -> ResearchRequest {
        ResearchRequest {
            question: Some(input.query),
            mode: Some(OutputMode::Evidence),
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
    /// Context from the conversation that the question depends on.
    #[serde(default, deserialize_with = "text")]
    context: Option<String>,
    /// How much work to spend on the question.
    #[serde(default, deserialize_with = "setting")]
    effort: Option<String>,
    /// Search engines, by name or as web, news, scholar. Default: the server's engines.
    #[serde(default, deserialize_with = "crate::request::names")]
    engines: Option<Vec<String>>,
    /// Only sources from these domains.
    #[serde(default, deserialize_with = "crate::request::names")]
    domains: Option<Vec<String>>,
    /// Only sources published since this day: 2020, 2020-05-01 or 30d.
    #[serde(default, deserialize_with = "text")]
    since: Option<String>,
    /// Only this folder of the server's documents, by name.
    #[serde(default, deserialize_with = "text")]
    folder: Option<String>,
    /// Maximum cost of models in US dollars.
    #[serde(default, deserialize_with = "setting")]
    #[schemars(extend("type" = "number", "minimum" = 0))]
    budget_usd: Option<String>,
    /// Time limit in minutes. The report is then written from the evidence so far.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("minimum" = 1))]
    max_minutes: Option<u64>,
    /// A report, one line of at most 140 characters, or passages without prose.
    #[schemars(with = "Option<ModeSchema>", extend("default" = "report"))]
    output: Option<OutputMode>,
    /// Whether to ask clarifying questions if the question is unclear. Default: true if the host can show a form.
    ask: Option<bool>,
}

impl TryFrom<StartInput> for ResearchRequest {
    type Error = Error;

    fn try_from(input: StartInput) -> Result<ResearchRequest> {
        if input.max_minutes.is_some_and(|max_minutes| !(1..=MAX_MINUTES).contains(&max_minutes)) {
            return Err(Error::new(ErrorKind::Usage, "max_minutes must be a whole number from 1"));
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
    /// The run_id that `research` returned.
    #[serde(deserialize_with = "nonblank")]
    pub(super) run_id: String,
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("maximum" = 25, "default" = 20))]
    pub(super) wait_s: Option<u64>,
    #[schemars(extend("default" = "none"))]
    pub(super) action: Option<WaitAction>,
    /// A question to research as well, as one clear sentence.
    #[serde(default, deserialize_with = "text")]
    #[schemars(length(min = 1, max = 2000))]
    pub(super) steer: Option<String>,
    /// The user's answers, one per question. An empty list continues without answers.
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
    /// The run_id that `research` returned.
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
    /// What to search for.
    #[serde(deserialize_with = "nonblank")]
    #[schemars(with = "NonblankSchema")]
    pub(super) query: String,
}

/// Arguments of `fetch`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchInput {
    /// The id of a result of `search`.
    #[serde(deserialize_with = "nonblank")]
    #[schemars(with = "NonblankSchema")]
    pub(super) id: String,
    /// Return only the passages with these words.
    #[serde(default, deserialize_with = "text")]
    pub(super) find: Option<String>,
    /// Return the text from this character on.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("default" = 0))]
    pub(super) offset: Option<u64>,
    /// Return at most so many characters. Default: the whole text, or 20,000 characters from an offset.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("minimum" = 100, "maximum" = 100_000))]
    pub(super) max_chars: Option<u64>,
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
