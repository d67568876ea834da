use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::World;
use crate::domain::ModelRole;

/// Who stands behind the doors of a run, by name: with the answers of its journal, all that is needed to
/// open the same doors again without asking anybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cast {
    /// Who searches, in order; two folders have one name.
    pub search: Vec<String>,
    /// Who reads, in order.
    pub readers: Vec<String>,
    /// Who ranks.
    pub ranker: String,
    /// Who plays each role that a model plays.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<ModelRole, Player>,
}

/// The model of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Player {
    /// Provider and model.
    pub name: String,
    /// Tokens of prompt and answer together that it takes: prompts are cut to it.
    pub window: u32,
}

impl Cast {
    /// Who stands behind the doors of `world`.
    pub fn of(world: &World) -> Cast {
        let player = |role: ModelRole| {
            let mind = world.models.of(role)?;
            let name = mind.model.name().to_owned();
            let window = mind.window;
            Some((role, Player { name, window }))
        };
        Cast {
            search: world.search.iter().map(|it| it.name().to_owned()).collect(),
            readers: world
                .readers
                .iter()
                .map(|it| it.name().to_owned())
                .collect(),
            ranker: world.ranker.name().to_owned(),
            models: ModelRole::ALL.into_iter().filter_map(player).collect(),
        }
    }
}
