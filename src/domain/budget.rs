use serde::{Deserialize, Serialize};

/// What a run may spend. `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Money, US dollars.
    pub usd: Option<f64>,
    /// Wall-clock seconds of work, over all sittings of the run.
    pub seconds: Option<u64>,
    /// Calls to the outside: searches and page reads together.
    pub calls: Option<u64>,
    /// Searches.
    pub searches: Option<u64>,
    /// Pages read.
    pub pages: Option<u64>,
    /// Tokens sent to models and received from them, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Budget {
    /// The same, where no bound is looser than that of `most`.
    #[must_use]
    pub fn within(self, most: &Budget) -> Budget {
        let least = |own: Option<u64>, most: Option<u64>| own.into_iter().chain(most).min();
        Budget {
            usd: self.usd.into_iter().chain(most.usd).reduce(f64::min),
            seconds: least(self.seconds, most.seconds),
            calls: least(self.calls, most.calls),
            searches: least(self.searches, most.searches),
            pages: least(self.pages, most.pages),
            tokens: least(self.tokens, most.tokens),
        }
    }

    /// Searches and page reads that may still be made, where they are bounded.
    pub fn calls_left(&self, used: &Usage) -> Option<u64> {
        self.calls.map(|it| it.saturating_sub(used.calls()))
    }

    /// Searches that may still be made, besides [`Budget::calls_left`].
    pub fn searches_left(&self, used: &Usage) -> Option<u64> {
        self.searches.map(|it| it.saturating_sub(used.searches))
    }

    /// Pages that may still be read, besides [`Budget::calls_left`].
    pub fn pages_left(&self, used: &Usage) -> Option<u64> {
        self.pages.map(|it| it.saturating_sub(used.pages))
    }
}

/// What a run has spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Searches sent.
    pub searches: u64,
    /// Pages asked for.
    pub pages: u64,
    /// Pages that could not be read.
    pub failed_pages: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens sent to models.
    pub tokens_in: u64,
    /// Tokens received from models.
    pub tokens_out: u64,
    /// US dollars; `None` while any price is unknown.
    pub usd: Option<f64>,
}

impl Usage {
    /// The same with what models were asked and cost.
    #[must_use]
    pub fn with_models(self, models: &Usage) -> Usage {
        Usage {
            model_calls: models.model_calls,
            tokens_in: models.tokens_in,
            tokens_out: models.tokens_out,
            usd: models.usd,
            ..self
        }
    }

    /// Searches and page reads together (row D11).
    pub fn calls(&self) -> u64 {
        self.searches + self.pages
    }
}

/// Why a run stopped looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every item is covered and the gate passed.
    CoverageReached,
    /// Enough is covered, and what carries it is trusted enough (row D11).
    TrustReached,
    /// A whole round brought nothing new.
    NoNewEvidence,
    /// The rounds that `depth` or `max_iterations` allow are used up.
    MaxIterations,
    /// The money is spent.
    BudgetUsd,
    /// The time is spent.
    BudgetTime,
    /// The calls are spent.
    BudgetCalls,
    /// Somebody asked to finish with what there is.
    UserFinish,
}

/// What went to one host for a run, and what came from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Requests begun.
    pub requests: u64,
    /// Bytes of bodies sent.
    pub sent: u64,
    /// Bytes of bodies received, as they came over the wire.
    pub received: u64,
}

impl Traffic {
    /// Adds another's counts.
    pub fn add(&mut self, other: Traffic) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
    }
}
