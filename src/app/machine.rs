//! The parts that an App has of itself: this machine's clock and chance, local folders, the method.
use std::path::PathBuf;
use std::sync::Arc;

use super::parts::{Doors, Parts};
use super::spending::SpendGrant;
use super::{engines, folders, meaning, models, readers, reading};
use crate::adapters::documents::Limits;
use crate::adapters::model::Limiters;
use crate::adapters::plans::KeptPlans;
use crate::adapters::service::Paces;
use crate::adapters::system;
use crate::adapters::web::manners::{Manners, OwnManners};
use crate::config::Settings;
use crate::domain::{ModelRole, Question};
use crate::error::Result;
use crate::research;
use crate::seams::{Egress, Mind};

impl Parts {
    /// The machine's own clock, chance and doors, and the method of [`crate::research`].
    pub fn machine() -> Parts {
        // One key bears so many calls, whichever run they are of.
        let limiters = Arc::new(Limiters::default());
        let paces = Arc::new(Paces::default());
        // Nor does a host care which run it is asked for.
        let manners = Arc::new(Manners::default());
        let shelves = Arc::new(folders::Shelves::default());
        Parts {
            clock: system::clock(),
            chance: system::chance(),
            open: Arc::new(move |settings, question, owner| {
                let (limiters, paces) = (Arc::clone(&limiters), Arc::clone(&paces));
                let manners = OwnManners::new(&manners, owner.map(|it| it.user.as_str()));
                let shelves = Arc::clone(&shelves);
                Box::pin(async move {
                    let limits = reading::limits_of(settings, owner);
                    open(
                        settings, question, limits, limiters, &paces, manners, &shelves,
                    )
                    .await
                })
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
    limits: Limits,
    limiters: Arc<Limiters>,
    paces: &Paces,
    manners: OwnManners,
    shelves: &folders::Shelves,
) -> Result<Doors> {
    let paths: Vec<PathBuf> = question.folders.iter().map(PathBuf::from).collect();
    let egress = Egress::default();
    let embedder = meaning::embedder(settings)?;
    let ranker = meaning::ranker(settings, embedder.clone())?;
    let planner = question.models.contains_key(&ModelRole::Planner);
    let cache = match question.engines.is_empty() && !planner {
        true => None,
        false => readers::cache(settings).await?,
    };
    let outside = engines::open(settings, &question.engines, paces, cache.as_ref(), &egress)?;
    let opened = shelves.open(settings, &limits, &paths, embedder).await?;
    let (mut models, spent_before) = models::open(
        settings,
        &question.models,
        &SpendGrant::of_run(question),
        limiters,
        &egress,
    )?;
    let (age, fresh) = (settings.web.search_cache, settings.web.fresh);
    if let (Some(mind), Some(cache)) = (models.of(ModelRole::Planner).cloned(), &cache)
        && !age.is_zero()
    {
        let model = Arc::new(KeptPlans::new(mind.model, Arc::clone(cache), age, fresh));
        models.give(ModelRole::Planner, Mind { model, ..mind });
    }
    let mut doors = Doors {
        models,
        spent_before,
        egress: egress.clone(),
        ..folders::doors(opened, ranker)
    };
    if !outside.is_empty() {
        doors.search.extend(outside);
        let readers = readers::open(settings, limits, manners, paces, cache, &egress)?;
        doors.readers.extend(readers);
    }
    Ok(doors)
}
