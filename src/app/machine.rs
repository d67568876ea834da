//! The parts that an App has of itself: this machine's clock and chance, local folders, the method.
use std::path::PathBuf;
use std::sync::Arc;

use super::parts::{Doors, Parts};
use super::{engines, folders, meaning, models};
use crate::adapters::model::Limiters;
use crate::adapters::service::Paces;
use crate::adapters::system;
use crate::config::Settings;
use crate::domain::Question;
use crate::error::Result;
use crate::research;
use crate::seams::Egress;

impl Parts {
    /// The machine's own clock, chance and doors, and the method of [`crate::research`].
    pub fn machine() -> Parts {
        // One key bears so many calls, whichever run they are of.
        let limiters = Arc::new(Limiters::default());
        let paces = Arc::new(Paces::default());
        Parts {
            clock: system::clock(),
            chance: system::chance(),
            open: Arc::new(move |settings, question| {
                let (limiters, paces) = (Arc::clone(&limiters), Arc::clone(&paces));
                Box::pin(async move { open(settings, question, limiters, &paces).await })
            }),
            research: Arc::new(|world, log, run, question| {
                Box::pin(research::research(world, log, run, question))
            }),
            plan: Arc::new(research::plan),
        }
    }
}

/// The doors of a question: its folders, its engines, and who reads what these find.
async fn open(
    settings: &Settings,
    question: &Question,
    limiters: Arc<Limiters>,
    paces: &Paces,
) -> Result<Doors> {
    let paths: Vec<PathBuf> = question.folders.iter().map(PathBuf::from).collect();
    let egress = Egress::default();
    let embedder = meaning::embedder(settings)?;
    let ranker = meaning::ranker(settings, embedder.clone())?;
    let outside = engines::open(settings, &question.engines, paces, &egress)?;
    let opened = folders::open(settings, &paths, embedder).await?;
    let (models, spent_before) = models::open(
        settings,
        &question.models,
        &question.budget,
        limiters,
        &egress,
    )?;
    let mut doors = Doors {
        models,
        spent_before,
        egress: egress.clone(),
        ..folders::doors(opened, ranker)
    };
    if !outside.is_empty() {
        doors.search.extend(outside);
        doors.readers.extend(engines::readers(settings, &egress)?);
    }
    Ok(doors)
}
