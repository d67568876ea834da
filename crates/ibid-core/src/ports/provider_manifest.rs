use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Providers;
use crate::domain::ModelRole;

/// The names of the providers of a run. Together with the journaled answers it suffices to replay the run without
/// external calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProviderManifest {
    /// The search engines, in order; two folders have the same name.
    pub search: Vec<String>,
    /// The readers, in order.
    pub readers: Vec<String>,
    /// The ranker.
    pub ranker: String,
    /// The model of each role that has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<ModelRole, ModelInfo>,
}

/// The model of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Provider and model.
    pub name: String,
    /// Context window in tokens, prompt and answer together; prompts are cut to fit.
    pub window: u32,
}

impl ProviderManifest {
    /// Creates the manifest of `providers`.
    pub fn from_providers(providers: &Providers) -> ProviderManifest {
        let info = |role: ModelRole| {
            let role_model = providers.models.get(role)?;
            let name = role_model.model.name().to_owned();
            let window = role_model.window;
            Some((role, ModelInfo { name, window }))
        };
        ProviderManifest {
            search: providers.search.iter().map(|it| it.name().to_owned()).collect(),
            readers: providers.readers.iter().map(|reader| reader.name().to_owned()).collect(),
            ranker: providers.ranker.name().to_owned(),
            models: ModelRole::ALL.into_iter().filter_map(info).collect(),
        }
    }
}
