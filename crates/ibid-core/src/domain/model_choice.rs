//! The models chosen for a question, by role. An unset choice and an explicit choice of no model are distinct.
use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The roles that language models have in a run. Each may have its own model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// Interprets the question and makes the plan.
    Planner,
    /// Chooses what to search for next and judges what is still open.
    Researcher,
    /// Extracts evidence from pages.
    Summarizer,
    /// Writes the report.
    Writer,
    /// Verifies the report.
    Verifier,
    /// Judges finished runs; not part of a run.
    Judge,
}

impl ModelRole {
    /// The roles of a run, in the order of the flow.
    pub const ALL: [ModelRole; 5] = [
        ModelRole::Planner,
        ModelRole::Researcher,
        ModelRole::Summarizer,
        ModelRole::Writer,
        ModelRole::Verifier,
    ];

    /// The name in settings and events.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelRole::Planner => "planner",
            ModelRole::Researcher => "researcher",
            ModelRole::Summarizer => "summarizer",
            ModelRole::Writer => "writer",
            ModelRole::Verifier => "verifier",
            ModelRole::Judge => "judge",
        }
    }
}

/// How much a model should reason before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    /// As little as the model can.
    None,
    /// Little: for judgements that need a glance.
    Low,
    /// As much as most models do by themselves.
    Medium,
    /// Much.
    High,
}

impl ReasoningEffort {
    /// The word for it, which most providers share.
    pub fn as_str(self) -> &'static str {
        match self {
            ReasoningEffort::None => "none",
            ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            ReasoningEffort::High => "high",
        }
    }
}

/// The models chosen for a question. Dereferences to the map of roles to models, which is empty for
/// [`ModelChoice::Unset`] and [`ModelChoice::None`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelChoice {
    /// No choice was made: the settings in force when the question is accepted decide.
    #[default]
    Unset,
    /// No model is used, whatever the settings say.
    None,
    /// The model of each role, as `provider:model`. Roles that are missing work without a model.
    Named(BTreeMap<ModelRole, String>),
}

/// The map that unset and empty choices dereference to.
static NO_MODELS: BTreeMap<ModelRole, String> = BTreeMap::new();

impl ModelChoice {
    /// Whether no choice was made.
    pub fn is_unset(&self) -> bool {
        matches!(self, ModelChoice::Unset)
    }

    /// Sets the model of `role`.
    pub fn insert(&mut self, role: ModelRole, spec: String) {
        let mut models = std::mem::take(self).into_map();
        models.insert(role, spec);
        *self = ModelChoice::Named(models);
    }

    /// Keeps the roles for which `keep` returns true. If none is left, no model is used.
    pub fn retain(&mut self, mut keep: impl FnMut(ModelRole, &str) -> bool) {
        if let ModelChoice::Named(models) = self {
            models.retain(|role, spec| keep(*role, spec));
            if models.is_empty() {
                *self = ModelChoice::None;
            }
        }
    }

    fn into_map(self) -> BTreeMap<ModelRole, String> {
        match self {
            ModelChoice::Unset | ModelChoice::None => BTreeMap::new(),
            ModelChoice::Named(models) => models,
        }
    }
}

impl Deref for ModelChoice {
    type Target = BTreeMap<ModelRole, String>;

    fn deref(&self) -> &BTreeMap<ModelRole, String> {
        match self {
            ModelChoice::Unset | ModelChoice::None => &NO_MODELS,
            ModelChoice::Named(models) => models,
        }
    }
}

/// An empty map means that no model is used.
impl FromIterator<(ModelRole, String)> for ModelChoice {
    fn from_iter<T: IntoIterator<Item = (ModelRole, String)>>(models: T) -> ModelChoice {
        let models: BTreeMap<ModelRole, String> = models.into_iter().collect();
        if models.is_empty() { ModelChoice::None } else { ModelChoice::Named(models) }
    }
}

// In JSON: `null`, `{}` or the map. Events from before this distinction omit it where the map was empty.
impl Serialize for ModelChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ModelChoice::Unset => serializer.serialize_none(),
            ModelChoice::None => NO_MODELS.serialize(serializer),
            ModelChoice::Named(models) => models.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ModelChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModelChoice, D::Error> {
        let models = Option::<BTreeMap<ModelRole, String>>::deserialize(deserializer)?;
        Ok(models.map_or(ModelChoice::Unset, |models| models.into_iter().collect()))
    }
}
