//! The bodies of requests about a run, and of their responses.
use ibid_core::domain::{Rating, ShareLink, Vote};
use ibid_core::record::RUN_TOOLS;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::request::{NonblankSchema, PlanFileSchema, VoteSchema, whole};

/// What to find out besides.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Steer")]
pub(super) struct SteerBody {
    #[schemars(with = "NonblankSchema", extend("maxLength" = 2000))]
    pub(super) text: String,
}

/// An empty object approves the plan. `plan` replaces it; `change` says what the planner should change.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "Approval", extend("not" = {"required": ["plan", "change"]}))]
pub(super) struct ApprovalBody {
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "PlanFileSchema")]
    pub(super) plan: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "NonblankSchema")]
    pub(super) change: Option<String>,
}

/// Answers to the questions of a run.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Answers")]
pub(super) struct AnswersBody {
    /// One text for each question.
    pub(super) answers: Vec<String>,
}

/// Whether the report was good.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Rating")]
pub(super) struct RatingBody {
    #[schemars(with = "VoteSchema")]
    pub(super) vote: Vote,
    #[schemars(length(max = Rating::NOTE_CHARS))]
    pub(super) note: Option<String>,
}

/// A stored rating.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Rated")]
pub(super) struct RatedBody {
    pub(super) id: String,
    #[schemars(with = "VoteSchema")]
    pub(super) vote: Vote,
    pub(super) note: Option<String>,
}

/// A deleted run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Deleted")]
pub(super) struct DeletedBody {
    pub(super) id: String,
    #[schemars(extend("const" = "run.deleted"))]
    pub(super) object: &'static str,
    #[schemars(extend("const" = true))]
    pub(super) deleted: bool,
}

/// How long a link lasts, and what it shows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShareAsked")]
pub(super) struct ShareBody {
    /// How long the link lasts.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(extend("minimum" = 1, "maximum" = ShareLink::MAX_DAYS, "default" = ShareLink::DAYS))]
    pub(super) days: Option<u64>,
    /// Whether it shows the quotes of local documents.
    #[schemars(extend("default" = false))]
    pub(super) include_private: Option<bool>,
}

/// A link to a report.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShareObject {
    #[schemars(extend("const" = "share"))]
    pub(super) object: &'static str,
    pub(super) run: String,
    #[schemars(extend("format" = "date-time"))]
    pub(super) expires_at: String,
    pub(super) include_private: bool,
}

/// A new link to a report.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Share")]
pub(super) struct CreatedShare {
    #[serde(flatten)]
    pub(super) share: ShareObject,
    /// The link, below the address of the server.
    pub(super) path: String,
}

/// Revoked links.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ShareRevoked")]
pub(super) struct RevokedShares {
    pub(super) id: String,
    #[schemars(extend("const" = "share.revoked"))]
    pub(super) object: &'static str,
    /// Links that lasted until now.
    pub(super) revoked: usize,
}

/// A trace for a tool that takes long.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewTrace")]
pub(super) struct NewTraceBody {
    /// The name of the tool; not deep_research or agentic_search, whose traces are those of runs.
    #[schemars(with = "NonblankSchema", extend("maxLength" = 100, "not" = {"enum": RUN_TOOLS}))]
    pub(super) tool: String,
    /// What the tool works on, at most 1 MiB.
    pub(super) input: Option<Value>,
}

/// What a tool reports. A missing field stays as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TraceUpdate")]
pub(super) struct TraceUpdateBody {
    /// in_progress if missing.
    #[schemars(extend("enum" = ["in_progress", "completed", "failed", null]))]
    pub(super) status: Option<String>,
    /// The stage that the tool is in.
    #[schemars(length(min = 1, max = 100), extend("pattern" = "\\S"))]
    pub(super) stage: Option<String>,
    #[schemars(range(min = 0, max = 1))]
    pub(super) progress: Option<f64>,
    /// Intermediate state, at most 1 MiB.
    pub(super) state: Option<Value>,
    /// The result, with the status completed, at most 1 MiB.
    pub(super) result: Option<Value>,
    /// Metrics, at most 1 MiB.
    pub(super) metrics: Option<Value>,
    /// Why it failed, with the status failed.
    #[schemars(length(max = 4000))]
    pub(super) error: Option<String>,
}

/// Deserializes a value that may be missing, but not `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}
