//! The parts that an App has of itself: this machine's clock and chance, local folders, the method.
use std::path::PathBuf;
use std::sync::Arc;

use super::parts::{Doors, Parts};
use super::{folders, meaning, models};
use crate::adapters::model::Limiters;
use crate::adapters::system;
use crate::config::Settings;
use crate::domain::Question;
use crate::error::Result;
use crate::research;

impl Parts {
    /// The machine's own clock, chance and doors, and the method of [`crate::research`].
    pub fn machine() -> Parts {
        // One key bears so many calls, whichever run they are of.
        let limiters = Arc::new(Limiters::default());
        Parts {
            clock: system::clock(),
            chance: system::chance(),
            open: Arc::new(move |settings, question| {
                let limiters = Arc::clone(&limiters);
                Box::pin(async move { local(settings, question, limiters).await })
            }),
            research: Arc::new(|world, log, run, question| {
                Box::pin(research::research(world, log, run, question))
            }),
            plan: Arc::new(research::plan),
        }
    }
}

/// The doors of a question over local folders.
async fn local(settings: &Settings, question: &Question, limiters: Arc<Limiters>) -> Result<Doors> {
    let paths: Vec<PathBuf> = question.folders.iter().map(PathBuf::from).collect();
    let embedder = meaning::embedder(settings)?;
    let ranker = meaning::ranker(settings, embedder.clone())?;
    let opened = folders::open(settings, &paths, embedder).await?;
    let (models, spent_before) =
        models::open(settings, &question.models, &question.budget, limiters)?;
    Ok(Doors {
        models,
        spent_before,
        ..folders::doors(opened, ranker)
    })
}
