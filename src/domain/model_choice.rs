//! Which models a question asks, by role, where "nobody has said" and "no model" are two different answers.
use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The parts that language models play in a run. Each may have a model of its own (row A11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// Understands the question and makes the plan.
    Planner,
    /// Says what to search for next, and what is still open.
    Researcher,
    /// Reads pages.
    Summarizer,
    /// Writes.
    Writer,
    /// Checks what was written.
    Verifier,
    /// Judges finished runs; no part of a run.
    Judge,
}

impl ModelRole {
    /// Those of a run, in the order of the flow.
    pub const ALL: [ModelRole; 5] = [
        ModelRole::Planner,
        ModelRole::Researcher,
        ModelRole::Summarizer,
        ModelRole::Writer,
        ModelRole::Verifier,
    ];

    /// Its name in settings and events.
    pub fn word(self) -> &'static str {
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

/// Which models a question asks. Reads as the map of roles to models, which is empty for [`ModelChoice::Unset`] and
/// [`ModelChoice::None`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelChoice {
    /// Nobody has said: the settings in force decide when the question is accepted.
    #[default]
    Unset,
    /// No model is asked, whatever the settings say.
    None,
    /// The model of each role, `provider:model`; a role without one is played without a model.
    Named(BTreeMap<ModelRole, String>),
}

/// What is read where no model is named.
static NO_MODELS: BTreeMap<ModelRole, String> = BTreeMap::new();

impl ModelChoice {
    /// Whether nobody has said.
    pub fn is_unset(&self) -> bool {
        matches!(self, ModelChoice::Unset)
    }

    /// Names the model of `role`.
    pub fn insert(&mut self, role: ModelRole, spec: String) {
        let mut models = std::mem::take(self).into_map();
        models.insert(role, spec);
        *self = ModelChoice::Named(models);
    }

    /// Keeps the roles that `keep` admits. Where none is left, no model is asked.
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

/// A map that names nobody asks nobody.
impl FromIterator<(ModelRole, String)> for ModelChoice {
    fn from_iter<T: IntoIterator<Item = (ModelRole, String)>>(models: T) -> ModelChoice {
        let models: BTreeMap<ModelRole, String> = models.into_iter().collect();
        match models.is_empty() {
            true => ModelChoice::None,
            false => ModelChoice::Named(models),
        }
    }
}

// As JSON it is `null`, `{}` or the map. Events of before this was told apart leave it out where it was empty.
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
