//! Whether a run continues: commands from outside, the deadline, the call budget.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::journal::Journal;
use ibid_core::Result;
use ibid_core::domain::{Approval, Budget, RunId, StopReason};
use ibid_core::ports::{CheckpointDecision, Clock, EventLog, RunCommand, Steering, Store};
use ibid_core::record::{Envelope, Event};

/// The time of one session of a run, and whether the run is to finish. A session begins when the run is started or resumed.
/// The controller reads it between rounds, callers of models while they wait.
pub struct TimeBudget {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// When this session began, milliseconds since 1970.
    pub began: u64,
    /// The time worked in earlier sessions, in milliseconds.
    pub worked: u64,
    /// The limit of the time worked in all sessions, in seconds.
    pub seconds: Option<u64>,
    /// Set by the first Ctrl-C of this process, and by the task that receives a command to finish.
    pub finish: Arc<AtomicBool>,
    /// Whether a call to a model was abandoned because of the time.
    pub timed_out: AtomicBool,
    /// The time spent waiting for the user in this session, milliseconds. It does not count as worked.
    pub idle: AtomicU64,
}

/// How long to wait for an answer of the user, over all sessions.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How often to look for a reply.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl TimeBudget {
    /// Whether the run is to finish.
    pub fn is_finishing(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    /// Whether `percent` of the time limit has been worked.
    pub fn has_used_percent(&self, percent: u64) -> bool {
        let in_session = self.clock.unix_ms().saturating_sub(self.began);
        let active = self.worked + in_session.saturating_sub(self.idle.load(Ordering::Relaxed));
        let limit_ms = |seconds: u64| seconds.saturating_mul(10).saturating_mul(percent);
        self.seconds.is_some_and(|seconds| active >= limit_ms(seconds))
    }
}

/// How a run waits for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserWait {
    /// The number of commands when it last looked.
    pub commands_seen: usize,
    /// When it continues without an answer, if ever.
    pub until: Option<Instant>,
}

/// The steering of one session of a run. Each decision is journaled, so that a resumed run gets the same decisions.
pub struct JournaledSteering {
    /// The run.
    pub run: RunId,
    /// The journal of the run.
    pub journal: Arc<Journal>,
    /// The store that receives commands.
    pub store: Arc<dyn Store>,
    /// The events of the run. They are flushed at each checkpoint.
    pub log: Arc<EventLog>,
    /// The limits of calls.
    pub budget: Budget,
    /// The time of this session.
    pub bounds: Arc<TimeBudget>,
    /// Whether this session has emitted `run.finishing`.
    pub finish_logged: AtomicBool,
    /// When an earlier session asked the user a question that is still unanswered, milliseconds since 1970.
    pub asked_at: Option<u64>,
    /// The current wait for the user, if there is one.
    pub user_wait: watch::Sender<Option<UserWait>>,
}

#[async_trait]
impl Steering for JournaledSteering {
    async fn checkpoint(&self, point: &str) -> Result<CheckpointDecision> {
        let decision = self.journal.decide(point, self.decide());
        let (flushed, decision) = join(self.log.flush(), decision).await;
        if let Err(fault) = flushed {
            self.journal.fail(fault).await
        }
        if let Ok(CheckpointDecision::Finish(reason)) = decision
            && !self.finish_logged.swap(true, Ordering::Relaxed)
        {
            self.log.emit(Event::RunFinishing { reason });
        }
        decision
    }

    async fn clarify(&self, questions: &[String]) -> Result<Vec<String>> {
        let now = self.bounds.clock.unix_ms();
        let waited = self.asked_at.map_or(0, |asked_at| now.saturating_sub(asked_at));
        let left = REPLY_TIMEOUT.saturating_sub(Duration::from_millis(waited));
        let reply = self.while_idle(async {
            let until = Instant::now() + left;
            Ok(match timeout_at(until, self.reply(until)).await {
                Ok(reply) => reply,
                // A reply that came while no process worked on the run counts, however late.
                Err(_) => find_reply(self.commands().await).unwrap_or_default(),
            })
        });
        let point = format!("clarify: {}", questions.join(" / "));
        self.journal.decide(&point, reply).await
    }

    async fn extra_question(&self, nth: u32) -> Result<Option<String>> {
        let point = format!("steer-{nth}");
        let commands = self.commands().await.into_iter();
        let questions = commands.filter_map(|command| match command {
            RunCommand::Steer(question) => Some(question),
            _ => None,
        });
        let question = questions.take(nth as usize).nth(nth.saturating_sub(1) as usize);
        // Without a question there is no decision, in the journal and in a recording.
        if question.is_none() && !self.journal.is_decided(&point).await {
            return Ok(None);
        }
        self.journal.decide(&point, async { Ok(question) }).await
    }

    async fn approve(&self, nth: u32) -> Result<Approval> {
        // There is no time limit: a plan that the user has not seen is not approved.
        let approval = self.while_idle(async { Ok(self.approval(nth as usize).await) });
        self.journal.decide(&format!("approve-{nth}"), approval).await
    }
}

impl JournaledSteering {
    /// Waits for the user. The time does not count as worked, and all events are flushed before.
    async fn while_idle<T>(&self, wait: impl Future<Output = Result<T>>) -> Result<T> {
        if let Err(fault) = self.log.flush().await {
            self.journal.fail(fault).await
        }
        let since = self.bounds.clock.unix_ms();
        let answer = wait.await;
        self.user_wait.send_replace(None);
        let waited = self.bounds.clock.unix_ms().saturating_sub(since);
        self.bounds.idle.fetch_add(waited, Ordering::Relaxed);
        answer
    }

    /// Returns the `nth` answer to the plan, as soon as there is one. If the user asked to finish, this approves the plan
    /// so that a report is written.
    async fn approval(&self, nth: usize) -> Approval {
        loop {
            let commands = self.commands().await;
            let seen = commands.len();
            let mut approvals = commands.into_iter().filter_map(|command| match command {
                RunCommand::Approve(approval) => Some(approval),
                _ => None,
            });
            if let Some(approval) = approvals.nth(nth.saturating_sub(1)) {
                return approval;
            }
            if self.bounds.is_finishing() {
                return Approval::Approve;
            }
            self.wait_for_commands(seen, None).await;
        }
    }

    /// Returns the reply of the user, as soon as there is one; an empty one when the run is to finish.
    async fn reply(&self, until: Instant) -> Vec<String> {
        loop {
            let commands = self.commands().await;
            let seen = commands.len();
            if let Some(answers) = find_reply(commands) {
                return answers;
            }
            if self.bounds.is_finishing() {
                return Vec::new();
            }
            self.wait_for_commands(seen, Some(until)).await;
        }
    }

    /// Publishes that the run still waits after the first `seen` commands, and pauses until the next look.
    async fn wait_for_commands(&self, seen: usize, until: Option<Instant>) {
        let wait = Some(UserWait { commands_seen: seen, until });
        self.user_wait.send_if_modified(|current| {
            let changed = *current != wait;
            *current = wait;
            changed
        });
        tokio::time::sleep(POLL_INTERVAL).await;
    }

    async fn decide(&self) -> Result<CheckpointDecision> {
        if self.bounds.is_finishing() || self.commands().await.contains(&RunCommand::Finish) {
            return Ok(CheckpointDecision::Finish(StopReason::UserFinish));
        }
        // A call to a model is abandoned only when the time is over.
        if self.bounds.has_used_percent(100) || self.bounds.timed_out.load(Ordering::Relaxed) {
            return Ok(CheckpointDecision::Finish(StopReason::BudgetTime));
        }
        let usage = self.journal.usage();
        let spent = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        if spent(self.budget.calls, usage.calls())
            || spent(self.budget.searches, usage.searches)
            || spent(self.budget.pages, usage.pages)
        {
            return Ok(CheckpointDecision::Finish(StopReason::BudgetCalls));
        }
        Ok(CheckpointDecision::Continue)
    }

    async fn commands(&self) -> Vec<RunCommand> {
        match self.store.commands(&self.run).await {
            Ok(commands) => commands,
            Err(fault) => self.journal.fail(fault).await,
        }
    }
}

/// The first reply among `commands`.
fn find_reply(commands: Vec<RunCommand>) -> Option<Vec<String>> {
    commands.into_iter().find_map(|command| match command {
        RunCommand::Reply(answers) => Some(answers),
        _ => None,
    })
}

/// When the run asked the user a question that is still unanswered after the events `past`, milliseconds since 1970.
pub fn unanswered_since(past: &[Envelope]) -> Option<u64> {
    let asks = |event: &&Envelope| {
        matches!(event.event, Event::ClarifyAsked { .. } | Event::ClarifyAnswered { .. })
    };
    let last = past.iter().rfind(asks)?;
    let at = last.ts.parse::<jiff::Timestamp>().ok()?;
    matches!(last.event, Event::ClarifyAsked { .. }).then(|| at.as_millisecond().max(0) as u64)
}

/// The time worked in the sessions among the events `past`, milliseconds: from the first to the last event of each session,
/// without waiting for the user.
pub fn worked_ms(past: &[Envelope]) -> u64 {
    let mut total = 0;
    let mut session = None;
    let mut asked = None;
    for event in past {
        let Ok(at) = event.ts.parse::<jiff::Timestamp>() else {
            continue;
        };
        let at = at.as_millisecond();
        if matches!(event.event, Event::RunStarted {} | Event::RunResumed { .. }) {
            total += session.map_or(0, |(from, to): (i64, i64)| to - from);
            session = Some((at, at));
        } else if let Some((from, to)) = &mut session {
            *to = at.max(*to);
            match event.event {
                Event::ClarifyAsked { .. } | Event::PlanWaiting { .. } => asked = Some(at),
                // Waiting for the user is not work.
                Event::ClarifyAnswered { .. }
                | Event::PlanChanged { .. }
                | Event::PlanApproved { .. } => *from += asked.take().map_or(0, |asked| at - asked),
                _ => {}
            }
        }
    }
    total += session.map_or(0, |(from, to)| to - from);
    u64::try_from(total).unwrap_or(0)
}
