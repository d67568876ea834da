//! The models of a run, by role.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::LanguageModel;
use crate::domain::ModelRole;

/// A model with its context window.
#[derive(Clone)]
pub struct RoleModel {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// Context window in tokens, prompt and answer together.
    pub window: u32,
}

/// The model of each role that has one. Roles without one work without a model.
#[derive(Clone, Default)]
pub struct RoleModels(BTreeMap<ModelRole, RoleModel>);

impl RoleModels {
    /// Sets the model of `role`.
    pub fn insert(&mut self, role: ModelRole, model: RoleModel) {
        self.0.insert(role, model);
    }

    /// Returns the model of `role`.
    pub fn get(&self, role: ModelRole) -> Option<&RoleModel> {
        self.0.get(&role)
    }

    /// Whether no role has a model.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies `change` to each model.
    #[must_use]
    pub fn map_models(
        &self,
        change: impl Fn(&Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel>,
    ) -> RoleModels {
        let changed = |(role, own): (&ModelRole, &RoleModel)| {
            let changed = RoleModel { model: change(&own.model), window: own.window };
            (*role, changed)
        };
        RoleModels(self.0.iter().map(changed).collect())
    }
}
