//! Looking back at runs that have ended: judging, rating, and what all of them come to.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::sitting::note;
use super::{App, Tally};
use crate::adapters::journal::{Journal, JournaledModel};
use crate::domain::{Budget, Judgement, ModelChoice, ModelRole, Question, Rating, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, Run};
use crate::research::judge;
use crate::seams::{Hold, LanguageModel, Mind, Store};

/// What runs that have ended come to, each with the number of the last event it was made of.
pub(super) type Tallies = BTreeMap<RunId, (u64, Tally)>;

/// How many of them are kept at most; half a kilobyte each.
const TALLIES: usize = 20_000;

impl App {
    /// Judges an ended run with the judge of the settings, where there is one, and keeps what it says as an event of the
    /// run. Within `budget`, of which money, tokens and time count. What a judge has answered once it is not asked again.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended or has no report, `Setup` for a model that
    /// cannot be opened, `Transient` where another process works on the run.
    pub async fn judge(&self, run: &RunId, budget: &Budget) -> Result<Judgement> {
        let (store, past, lock) = self.looking_back(run).await?;
        let ended = Run::of(run.clone(), &past);
        let asked = Question {
            budget: *budget,
            models: self.judge_named(),
            ..Question::new("", "", self.settings.method.clone())
        };
        // Without a model nothing is opened, for nobody is asked.
        let doors = match asked.models.is_empty() {
            true => None,
            false => Some((self.parts.open)(&self.settings, &asked, self.owner.as_ref()).await?),
        };
        let mind = doors.as_ref().and_then(|it| it.models.of(ModelRole::Judge));
        let (report_fault, mut faults) = mpsc::channel(1);
        let journal = Journal::open(
            run.clone(),
            Arc::clone(&store),
            Budget::default(),
            self.places(),
            report_fault,
        )
        .await?;
        let journal = Arc::new(journal);
        let mind = mind.map(|it| {
            let journaled = JournaledModel::new(Arc::clone(&it.model), journal);
            Mind {
                model: Arc::new(journaled) as Arc<dyn LanguageModel>,
                window: it.window,
            }
        });
        let judged = tokio::select! {
            biased;
            Some(fault) = faults.recv() => Err(fault),
            judged = judge::judge(&ended, &past, mind.as_ref()) => judged,
            () = over(budget.seconds) => {
                let counted = judge::judge(&ended, &past, None).await;
                counted.map(|it| Judgement {
                    unaided_because: Some("the time of the budget is spent".to_owned()),
                    ..it
                })
            }
        };
        if let Some(doors) = &doors {
            note(run, &*store, &doors.egress).await?;
        }
        let judgement = judged?;
        let event = Event::ReportJudged {
            judgement: Box::new(judgement.clone()),
        };
        self.add(run, &store, &past, event, lock).await?;
        Ok(judgement)
    }

    /// Keeps what a reader thinks of a run's report; what was thought before no longer counts.
    ///
    /// # Errors
    /// As [`App::judge`]; `Usage` for a note that is too long.
    pub async fn rate(&self, run: &RunId, rating: Rating) -> Result<()> {
        let length = rating.note.as_ref().map_or(0, |it| it.chars().count());
        if length > Rating::NOTE_CHARS {
            return Err(Error::new(
                Kind::Usage,
                format!(
                    "--note has {length} characters; allowed are at most {}",
                    Rating::NOTE_CHARS
                ),
            )
            .hint("say it shorter"));
        }
        let (store, past, lock) = self.looking_back(run).await?;
        if Run::of(run.clone(), &past).report.is_none() {
            return Err(
                Error::new(Kind::Usage, format!("run {run} has no report to rate"))
                    .hint("see `ibid ls` for runs that are completed"),
            );
        }
        let event = Event::ReportRated { rating };
        self.add(run, &store, &past, event, lock).await
    }

    /// What all runs kept come to. The events of a run that has ended are read once as long as this program runs, and again
    /// where something was added to them.
    pub async fn tally(&self) -> Result<Tally> {
        let rows = self.runs().await?;
        let mut tally = Tally::default();
        for row in &rows {
            let ended = row.status.ended();
            if let Some((_, it)) = self
                .tallied()
                .get(&row.run_id)
                .filter(|it| ended && it.0 == row.seq)
            {
                tally.add(it);
                continue;
            }
            let events = match self.events(&row.run_id, 0).await {
                Ok(it) => it,
                // Deleted meanwhile.
                Err(fault) if fault.kind() == Kind::NotFound => continue,
                Err(fault) => return Err(fault),
            };
            let run = Run::of(row.run_id.clone(), &events);
            let it = Tally::of(&run, &events);
            tally.add(&it);
            let mut known = self.tallied();
            if run.status.ended() && known.len() < TALLIES {
                known.insert(run.id, (run.seq, it));
            }
        }
        if self.owner.is_none() {
            let there: BTreeSet<&RunId> = rows.iter().map(|it| &it.run_id).collect();
            self.tallied().retain(|it, _| there.contains(it));
        }
        Ok(tally)
    }

    fn tallied(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An ended run, held so that nobody else adds to its story meanwhile.
    pub(super) async fn looking_back(
        &self,
        run: &RunId,
    ) -> Result<(Arc<dyn Store>, Vec<Envelope>, Box<dyn Hold>)> {
        let store = self.known(run).await?;
        let past = store.events(run, 0).await?;
        let unended = || {
            Error::new(Kind::Usage, format!("run {run} has not ended yet"))
                .hint(format!("go on with it first: ibid resume {run}"))
        };
        if !Run::of(run.clone(), &past).status.ended() {
            return Err(unended());
        }
        let lock = self.need(run).await?;
        let store = App::held(store, run, &*lock);
        // Somebody may have added to it before the lock was ours.
        store.drain().await?;
        let past = store.events(run, 0).await?;
        Ok((store, past, lock))
    }

    /// Adds an afterword to a run.
    pub(super) async fn add(
        &self,
        run: &RunId,
        store: &Arc<dyn Store>,
        past: &[Envelope],
        event: Event,
        lock: Box<dyn Hold>,
    ) -> Result<()> {
        // A log takes an event that was told before for one told again. Thumbs up, down and up again are three
        // events, so only the last one counts as told.
        let last = past.len().saturating_sub(1);
        let log = self.log(run, store, &past[last..]);
        log.emit(event);
        log.flush().await?;
        lock.retire();
        Ok(())
    }

    /// The judge of the settings.
    fn judge_named(&self) -> ModelChoice {
        let named = self.settings.judging.model.iter();
        named.map(|it| (ModelRole::Judge, it.clone())).collect()
    }
}

/// Returns when so many seconds are over; never without a bound.
async fn over(seconds: Option<u64>) {
    match seconds {
        Some(it) => tokio::time::sleep(std::time::Duration::from_secs(it)).await,
        None => std::future::pending().await,
    }
}
