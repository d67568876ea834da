//! One search, or one page, for somebody who reads for themselves: the doors of a run, without a run.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout, timeout_at};

use super::{App, Doors};
use crate::adapters::fair::OwnPlaces;
use crate::domain::{Hit, Hits, Page, Query, Question, Vertical};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::research::{self, Looked};
use crate::seams::{Go, Models, SearchProvider, Steering, World};

/// How long one engine is waited for, so that the next of its kind still has its turn.
const EACH: Duration = Duration::from_secs(8);

/// How long folders may take to be brought up to date; what they lack then is found the next time.
const FRESH: Duration = Duration::from_secs(6);

impl App {
    /// What the folders and engines of `question` have on its words, at most `n` hits, within `most`. What has not answered by
    /// then is one of the faults.
    ///
    /// # Errors
    /// `Usage` for a question without words or a folder that is not there, `Setup` where there is nowhere to search.
    pub async fn look_up(&self, question: &Question, n: usize, most: Duration) -> Result<Looked> {
        let until = Instant::now() + most;
        let mut doors = self.hold(question.clone()).await?;
        let _turn = timeout_at(until, self.places().acquire())
            .await
            .map_err(|_| late("the engines are busy with runs"))?;
        let mut remarks = Vec::new();
        if let Some(prepare) = doors.prepare.take() {
            let quiet: super::Heard = Arc::new(|_| {});
            match timeout(FRESH.min(most), prepare(quiet)).await {
                Ok(told) => remarks.extend(told?.into_iter().filter_map(remark)),
                Err(_) => remarks.push("some documents are not indexed yet".to_owned()),
            }
        }
        let within = |it| -> Arc<dyn SearchProvider> { Arc::new(Within { it, until }) };
        let world = World {
            search: doors.search.drain(..).map(within).collect(),
            ..self.bystander(doors)
        };
        let log = self.unheard().await?;
        let mut looked = research::look_up(&world, &log, question, n).await?;
        looked.faults.extend(remarks);
        Ok(looked)
    }

    /// The page behind a hit of [`App::look_up`] for the same question, within `most`: by the first reader that can, as in a run.
    ///
    /// # Errors
    /// What the reader failed with; `Transient` where it took too long.
    pub async fn look_into(&self, question: &Question, hit: &Hit, most: Duration) -> Result<Page> {
        let read = async {
            let doors = self.hold(question.clone()).await?;
            let _turn = self.places().acquire().await;
            research::by_any(&doors.readers, hit).await.0
        };
        let page = timeout(most, read).await;
        page.unwrap_or_else(|_| Err(late(&format!("reading {} took too long", hit.url))))
    }

    /// The places for searches and reads of who uses this app.
    pub(super) fn places(&self) -> OwnPlaces {
        let owner = self.owner.as_ref().map(|it| it.user.as_str());
        OwnPlaces::new(&self.at_once, owner)
    }

    /// The world of somebody who only looks: nobody steers, nothing was known before.
    fn bystander(&self, doors: Doors) -> World {
        World {
            search: doors.search,
            readers: doors.readers,
            ranker: doors.ranker,
            unreadable: Vec::new(),
            known: Vec::new(),
            // Who only looks asks no model: nobody has granted them anything.
            models: Models::default(),
            steering: Arc::new(Unsteered),
            clock: Arc::clone(&self.parts.clock),
            chance: Arc::clone(&self.parts.chance),
        }
    }
}

fn late(what: &str) -> Error {
    Error::new(Kind::Transient, what).hint("try again in a minute")
}

/// What getting the folders ready told, where it matters to who searches them.
fn remark(it: Event) -> Option<String> {
    match it {
        Event::Log { message, .. } => Some(message),
        _ => None,
    }
}

/// Nobody steers a look.
struct Unsteered;

#[async_trait]
impl Steering for Unsteered {
    async fn go(&self, _at: &str) -> Result<Go> {
        Ok(Go::On)
    }
}

/// One who searches, not waited for longer than the rest can bear.
struct Within {
    it: Arc<dyn SearchProvider>,
    until: Instant,
}

#[async_trait]
impl SearchProvider for Within {
    fn name(&self) -> &str {
        self.it.name()
    }

    fn verticals(&self) -> &[Vertical] {
        self.it.verticals()
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let until = self.until.min(Instant::now() + EACH);
        match timeout_at(until, self.it.search(query)).await {
            Ok(found) => found,
            Err(_) => Err(late("it did not answer in time")),
        }
    }
}
