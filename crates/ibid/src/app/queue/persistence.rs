//! What the queue asks of the store: to store an accepted run, to find abandoned ones, to end one that cannot be worked on.
use super::super::App;
use super::super::readers;
use super::super::spending::Submission;
use ibid_core::domain::{Question, RunId};
use ibid_core::ports::AcceptOutcome;
use ibid_core::record::{EVENT_VERSION, Event, Run};
use ibid_core::{Error, ErrorKind, Result};

impl App {
    /// Stores `question` as the queued run `run`; [`App::resume`] starts it. The same commit reserves a place and money of the owner's
    /// account, and sets the budget of the run to what was reserved.
    ///
    /// # Errors
    /// `Usage` for an empty question, `Exhausted` if the day's money is spent or reserved, `Setup` when the store cannot
    /// be written.
    pub async fn accept(
        &self,
        run: RunId,
        question: Question,
        submission: Submission,
    ) -> Result<AcceptOutcome> {
        if question.text.trim().is_empty() {
            return Err(Error::new(ErrorKind::Usage, "question is empty"));
        }
        let mut question = self.resolve_question(question)?;
        // A run is not begun that could not be opened.
        if !question.engines.is_empty() {
            readers::open_cache(&self.settings).await?;
        }
        let owner = submission.owner.as_ref();
        question.resembles = self.find_similar_run(&question, owner).await?;
        // Last, because it depends on the models and the budget of the resolved question.
        let request = self.accept_request(&question, &submission).await?;
        let log = self.open_log(&run, &self.store().await?, &[]);
        log.emit(Event::RunCreated { question, version: EVENT_VERSION, owner: submission.owner });
        log.emit(Event::RunQueued { request: submission.request });
        let accounts = self.accounts().await?;
        accounts.accept(&run, &log.unflushed_events(), &request).await
    }

    /// Accepted runs whose server has stopped; `None` if no two servers share the store.
    pub(super) async fn abandoned_runs(&self) -> Result<Option<Vec<RunId>>> {
        self.locks().await?.abandoned_runs().await
    }

    /// Whether a run that failed here with `fault` does not belong to this server: it was never stored, or another server has taken it.
    pub(super) async fn is_owned_elsewhere(&self, run: &RunId, fault: &Error) -> Result<bool> {
        match fault.kind() {
            ErrorKind::NotFound => match self.row(run).await {
                Err(it) if it.kind() == ErrorKind::NotFound => Ok(true),
                row => row.map(|_| false),
            },
            ErrorKind::Transient => self.locks().await?.is_taken_over(run).await,
            _ => Ok(false),
        }
    }

    /// Ends `run` as failed because of `fault`.
    ///
    /// # Errors
    /// `Transient` if another process works on it after all; those of the store.
    pub(crate) async fn fail_run(&self, run: &RunId, fault: &Error) -> Result<()> {
        let store = self.existing_store(run).await?;
        let lease = self.acquire_lease(run).await?;
        let store = App::with_lease(store, run, &*lease);
        store.drain().await?;
        let past = store.events(run, 0).await?;
        if !Run::from_events(run.clone(), &past).status.ended() {
            let log = self.open_log(run, &store, &past);
            store.charge(run, None).await?;
            log.emit(Event::RunFailed {
                reason: fault.chain(),
                hint: fault.hint().map(str::to_owned),
                kind: Some(fault.kind()),
            });
            log.flush().await?;
        }
        lease.release();
        Ok(())
    }
}
