//! The parts that an App has of itself: this machine's clock and chance, local folders, the method.
use std::path::PathBuf;
use std::sync::Arc;

use super::parts::{Doors, Parts};
use super::{folders, models};
use crate::adapters::ranker::Lexical;
use crate::adapters::system;
use crate::config::Settings;
use crate::domain::Question;
use crate::error::Result;
use crate::research;

impl Parts {
    /// The machine's own clock, chance and doors, and the method of [`crate::research`].
    pub fn machine() -> Parts {
        Parts {
            clock: system::clock(),
            chance: system::chance(),
            open: Arc::new(|settings, question| Box::pin(local(settings, question))),
            research: Arc::new(|world, log, run, question| {
                Box::pin(research::research(world, log, run, question))
            }),
            plan: Arc::new(research::plan),
        }
    }
}

/// The doors of a question over local folders.
async fn local(settings: &Settings, question: &Question) -> Result<Doors> {
    let paths: Vec<PathBuf> = question.folders.iter().map(PathBuf::from).collect();
    let opened = folders::open(settings, &paths).await?;
    Ok(Doors {
        models: models::open(settings, question)?,
        ..folders::doors(opened, Arc::new(Lexical))
    })
}
