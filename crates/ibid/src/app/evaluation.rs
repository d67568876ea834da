//! Ended runs: judged, rated, and summed up as metrics.
use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::App;
use super::run_worker::flush_traffic;
use super::state::TallyCache;
use super::store_access::LockedRun;
use ibid_core::domain::{Budget, Judgement, ModelChoice, ModelRole, Question, Rating, RunId};
use ibid_core::ports::{LanguageModel, RoleModel};
use ibid_core::record::{AggregateMetrics, Event, Run};
use ibid_core::{Error, ErrorKind, Result};
use ibid_research::judge;
use ibid_store::journal::{Journal, JournaledModel};

/// Runs whose metrics are cached, at most. Each takes half a kilobyte.
const CACHED_TALLIES: usize = 20_000;

impl App {
    /// Judges an ended run with the judge model of the settings, if any, and stores the judgement as an event of the run. Money, tokens and
    /// time of `budget` are limits. Calls that the journal has an answer for are not made again.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended or has no report, `Setup` for a model that
    /// cannot be opened, `Transient` if another process works on the run.
    pub async fn judge(&self, run: &RunId, budget: &Budget) -> Result<Judgement> {
        let locked = self.lock_ended_run(run).await?;
        let LockedRun { run: ended, store, past, .. } = &locked;
        let question = Question {
            budget: *budget,
            models: self.judge_model(),
            ..Question::new("", "", self.settings.method.clone())
        };
        let providers = if question.models.is_empty() {
            None
        } else {
            let open = &self.components.open;
            Some(open(&self.settings, &question, self.owner.as_ref()).await?)
        };
        let model = providers.as_ref().and_then(|providers| providers.models.get(ModelRole::Judge));
        let (report_fault, mut faults) = mpsc::channel(1);
        let journal = Journal::open(
            run.clone(),
            Arc::clone(store),
            Budget::default(),
            self.permits(),
            report_fault,
        )
        .await?;
        let journal = Arc::new(journal);
        let model = model.map(|judge| {
            let journaled = JournaledModel::new(Arc::clone(&judge.model), journal);
            RoleModel { model: Arc::new(journaled) as Arc<dyn LanguageModel>, window: judge.window }
        });
        let judged = tokio::select! {
            biased;
            Some(fault) = faults.recv() => Err(fault),
            judged = judge::judge(ended, past, model.as_ref()) => judged,
            () = sleep_secs(budget.seconds) => {
                let counted = judge::judge(ended, past, None).await;
                counted.map(|it| Judgement {
                    unaided_because: Some("the time limit of the budget is reached".to_owned()),
                    ..it
                })
            }
        };
        if let Some(providers) = &providers {
            flush_traffic(run, &**store, &providers.egress).await?;
        }
        let judgement = judged?;
        let event = Event::ReportJudged { judgement: Box::new(judgement.clone()) };
        self.append_event(locked, event).await?;
        Ok(judgement)
    }

    /// Stores a reader's rating of a run's report. It replaces the one before.
    ///
    /// # Errors
    /// As [`App::judge`]; `Usage` for a note that is too long.
    pub async fn rate(&self, run: &RunId, rating: Rating) -> Result<()> {
        let length = rating.note.as_ref().map_or(0, |note| note.chars().count());
        if length > Rating::NOTE_CHARS {
            return Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "--note has {length} characters; at most {} are allowed",
                    Rating::NOTE_CHARS
                ),
            )
            .with_hint("shorten the note"));
        }
        let locked = self.lock_ended_run(run).await?;
        if locked.run.report.is_none() {
            return Err(Error::new(ErrorKind::Usage, format!("run {run} has no report to rate"))
                .with_hint("see `ibid ls` for runs that are completed"));
        }
        let event = Event::ReportRated { rating };
        self.append_event(locked, event).await
    }

    /// The metrics of all stored runs. The metrics of ended runs are cached in this process until an event is added to them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn tally(&self) -> Result<AggregateMetrics> {
        let rows = self.runs().await?;
        let mut tally = AggregateMetrics::default();
        for row in &rows {
            let ended = row.status.ended();
            if let Some((_, it)) =
                self.tally_cache().get(&row.run_id).filter(|value| ended && value.0 == row.seq)
            {
                tally.merge(it);
                continue;
            }
            let events = match self.events(&row.run_id, 0).await {
                Ok(it) => it,
                // Deleted meanwhile.
                Err(fault) if fault.kind() == ErrorKind::NotFound => continue,
                Err(fault) => return Err(fault),
            };
            let run = Run::from_events(row.run_id.clone(), &events);
            let metrics = AggregateMetrics::from_run(&run, &events);
            tally.merge(&metrics);
            let mut cache = self.tally_cache();
            if run.status.ended() && cache.len() < CACHED_TALLIES {
                cache.insert(run.id, (run.seq, metrics));
            }
        }
        if self.owner.is_none() {
            let stored: BTreeSet<&RunId> = rows.iter().map(|row| &row.run_id).collect();
            self.tally_cache().retain(|run, _| stored.contains(run));
        }
        Ok(tally)
    }

    fn tally_cache(&self) -> MutexGuard<'_, TallyCache> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The judge model of the settings.
    fn judge_model(&self) -> ModelChoice {
        let named = self.settings.judging.model.iter();
        named.map(|it| (ModelRole::Judge, it.clone())).collect()
    }
}

/// Returns after `seconds`; without a limit, never.
async fn sleep_secs(seconds: Option<u64>) {
    match seconds {
        Some(it) => tokio::time::sleep(std::time::Duration::from_secs(it)).await,
        None => std::future::pending().await,
    }
}
