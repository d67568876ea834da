//! Who plays which part.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::LanguageModel;
use crate::domain::ModelRole;

/// A model with what must be known to ask it.
#[derive(Clone)]
pub struct Mind {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// Tokens of prompt and answer together that it takes.
    pub window: u32,
}

/// The model of each role that has one. Whoever has none is played without a model.
#[derive(Clone, Default)]
pub struct Models(BTreeMap<ModelRole, Mind>);

impl Models {
    /// Gives `role` to `mind`.
    pub fn give(&mut self, role: ModelRole, mind: Mind) {
        self.0.insert(role, mind);
    }

    /// Who plays `role`.
    pub fn of(&self, role: ModelRole) -> Option<&Mind> {
        self.0.get(&role)
    }

    /// Whether no role has a model.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same roles, each model changed by `change`.
    #[must_use]
    pub fn each(
        &self,
        change: impl Fn(&Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel>,
    ) -> Models {
        let changed = |(role, mind): (&ModelRole, &Mind)| {
            let mind = Mind {
                model: change(&mind.model),
                window: mind.window,
            };
            (*role, mind)
        };
        Models(self.0.iter().map(changed).collect())
    }
}
