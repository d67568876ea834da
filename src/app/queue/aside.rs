//! Runs that wait for a person for long: they give up their place, and cost next to nothing until somebody speaks.
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::adapters::steering::Waits;

/// How often it is looked whether a word to runs that were put aside has come through another process.
pub(super) const LOOK_ASIDE: Duration = Duration::from_secs(300);

/// What a run that waits waits for.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// Its turn.
    None,
    /// A time at which it is tried again.
    Until(Instant),
    /// A word of a person, of whom it has heard so many: it has no turn before, but for a time at which it goes on without.
    Person(usize, Option<Instant>),
}

impl Rest {
    /// When it is over by itself.
    pub(super) fn ends(self) -> Option<Instant> {
        match self {
            Rest::None => None,
            Rest::Until(at) => Some(at),
            Rest::Person(_, until) => until,
        }
    }

    pub(super) fn is_for_person(self) -> bool {
        matches!(self, Rest::Person(..))
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        matches!(self, Rest::None) || self.ends().is_some_and(|it| it <= now)
    }
}

/// Comes to its end when a run that waits for a person is to give its turn to another: after `patience`, or as soon as a run
/// has none because every place is taken, as `crowded` tells. What it rests for.
pub(super) async fn waits(
    mut waits: watch::Receiver<Option<Waits>>,
    patience: Duration,
    mut crowded: watch::Receiver<bool>,
) -> Rest {
    loop {
        if waits.wait_for(Option::is_some).await.is_err() {
            break;
        }
        let went_on = tokio::select! {
            biased;
            went_on = timeout(patience, waits.wait_for(Option::is_none)) => went_on.ok().map(|it| it.is_ok()),
            Ok(_) = crowded.wait_for(|it| *it) => None,
        };
        match went_on {
            Some(true) => {}
            Some(false) => break,
            None => {
                let waiting = *waits.borrow();
                let over = |until: Option<Instant>| until.is_some_and(|at| at <= Instant::now());
                match waiting {
                    None => {}
                    // Nobody answered in time: it goes on by itself in a moment.
                    Some(it) if over(it.until) => {
                        let went_on = waits.wait_for(Option::is_none).await.is_ok();
                        if !went_on {
                            break;
                        }
                    }
                    Some(it) => return Rest::Person(it.heard, it.until),
                }
            }
        }
    }
    // The work has stopped: whoever worked on the run will say so.
    std::future::pending().await
}
