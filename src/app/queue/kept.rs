//! What a queue asks of the store: to keep what is accepted, and to say how it stands with a run.
use super::super::App;
use super::super::spending::Submission;
use crate::domain::{Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Event, Run, VERSION};
use crate::seams::{Accepted, RunRow, Step};

impl App {
    /// Writes down that `run` was asked `question`, for whoever works on what waits: [`App::resume`] begins it. In the same
    /// commit its place and its money are reserved of the account of its owner, and its budget becomes what was granted.
    ///
    /// # Errors
    /// `Usage` for an empty question, `Exhausted` where the day's money is spent or reserved, `Setup` when the store cannot
    /// be written.
    pub async fn enqueue(
        &self,
        run: RunId,
        question: Question,
        on: Submission,
    ) -> Result<Accepted> {
        if question.text.trim().is_empty() {
            return Err(Error::new(Kind::Usage, "question is empty"));
        }
        let mut question = self.frozen(question)?;
        question.resembles = self.resembled(&question, on.owner.as_ref()).await?;
        // Only now is it known which models it asks, and within which bounds.
        let acceptance = self.acceptance(&question, &on).await?;
        let log = self.log(&run, &self.store().await?, &[]);
        log.emit(Event::RunCreated {
            question,
            version: VERSION,
            owner: on.owner,
        });
        log.emit(Event::RunQueued {
            request: on.request,
        });
        let accounts = self.accounts().await?;
        accounts.accept(&run, &log.unflushed(), &acceptance).await
    }

    /// Runs that servers accepted which are gone; `None` where no two servers work on the same runs.
    pub(super) async fn abandoned(&self) -> Result<Option<Vec<RunId>>> {
        self.locks().await?.abandoned().await
    }

    /// Whether a run that could not be worked on here because of `fault` is none of ours any more: it was never kept, or
    /// another server has taken it.
    pub(super) async fn is_none_of_ours(&self, run: &RunId, fault: &Error) -> Result<bool> {
        match fault.kind() {
            Kind::NotFound => match self.row(run).await {
                Err(it) if it.kind() == Kind::NotFound => Ok(true),
                row => row.map(|_| false),
            },
            Kind::Transient => self.locks().await?.taken_by_another(run).await,
            _ => Ok(false),
        }
    }

    pub(super) fn chance_bits(&self) -> u128 {
        self.parts.chance.bits()
    }

    /// Ends `run`, which cannot be worked on, with the reason.
    ///
    /// # Errors
    /// `Transient` where another process works on it after all; those of the store.
    pub async fn give_up(&self, run: &RunId, fault: &Error) -> Result<()> {
        let store = self.known(run).await?;
        let lock = self.need(run).await?;
        let store = App::held(store, run, &*lock);
        store.drain().await?;
        let past = store.events(run, 0).await?;
        if !Run::of(run.clone(), &past).status.ended() {
            let log = self.log(run, &store, &past);
            self.accounts().await?.charge(run, None).await?;
            log.emit(Event::RunFailed {
                reason: fault.chain(),
                hint: fault.help().map(str::to_owned),
                kind: Some(fault.kind()),
            });
            log.flush().await?;
        }
        lock.retire();
        Ok(())
    }

    /// How many words were left for `run`.
    pub(super) async fn words(&self, run: &RunId) -> Result<usize> {
        Ok(self.known(run).await?.orders(run).await?.len())
    }

    /// Whether the store answers; makes it where there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn ready(&self) -> Result<()> {
        self.store().await?.drain().await
    }

    /// Every call of `run` to the outside, in the order intended, as far as each came.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn steps(&self, run: &RunId) -> Result<Vec<Step>> {
        self.known(run).await?.steps(run).await
    }

    /// One line of `ibid ls`.
    ///
    /// # Errors
    /// `NotFound` for an unknown run.
    pub async fn row(&self, run: &RunId) -> Result<RunRow> {
        self.known(run).await?.row(run).await
    }
}
