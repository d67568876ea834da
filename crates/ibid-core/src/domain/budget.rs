use serde::{Deserialize, Serialize};

/// Limits on what a run may spend. `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Money, in US dollars.
    pub usd: Option<f64>,
    /// Wall-clock seconds of work, summed over all sessions of the run.
    pub seconds: Option<u64>,
    /// External calls: searches and page reads together.
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
    /// Returns these limits with each one lowered to the limit in `most`.
    #[must_use]
    pub fn capped_by(self, most: &Budget) -> Budget {
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

    /// Returns how many searches and page reads are left, or `None` if they are unlimited.
    pub fn calls_left(&self, used: &Usage) -> Option<u64> {
        self.calls.map(|call| call.saturating_sub(used.calls()))
    }

    /// Returns how many searches are left, apart from [`Budget::calls_left`].
    pub fn searches_left(&self, used: &Usage) -> Option<u64> {
        self.searches.map(|search| search.saturating_sub(used.searches))
    }

    /// Returns how many pages may still be read, apart from [`Budget::calls_left`].
    pub fn pages_left(&self, used: &Usage) -> Option<u64> {
        self.pages.map(|page| page.saturating_sub(used.pages))
    }
}

/// What a run has spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Searches sent.
    pub searches: u64,
    /// Pages requested.
    pub pages: u64,
    /// Pages that could not be read.
    pub failed_pages: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens sent to models.
    pub tokens_in: u64,
    /// Tokens received from models, including reasoning.
    pub tokens_out: u64,
    /// Those of `tokens_out` that models spent on reasoning, as far as their services count it.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub tokens_reasoning: u64,
    /// US dollars; `None` while any price is unknown.
    pub usd: Option<f64>,
}

impl Usage {
    /// Returns this usage plus the model calls, tokens and cost in `models`.
    #[must_use]
    pub fn with_models(self, models: &Usage) -> Usage {
        Usage {
            model_calls: models.model_calls,
            tokens_in: models.tokens_in,
            tokens_out: models.tokens_out,
            tokens_reasoning: models.tokens_reasoning,
            usd: models.usd,
            ..self
        }
    }

    /// Searches and page reads together.
    pub fn calls(&self) -> u64 {
        self.searches + self.pages
    }
}

/// Why a run stopped searching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every item is covered and the evidence gate passed.
    CoverageReached,
    /// Enough items are covered, and their sources are trusted enough.
    TrustReached,
    /// A whole round found no new evidence.
    NoNewEvidence,
    /// All rounds allowed by `depth` or `max_iterations` have run.
    MaxIterations,
    /// All researchers that a supervisor may send out were sent.
    MaxResearchers,
    /// The cost limit is reached.
    BudgetUsd,
    /// The time limit is reached.
    BudgetTime,
    /// The call limit is reached.
    BudgetCalls,
    /// The user asked to finish with the evidence so far.
    UserFinish,
}

impl StopReason {
    /// Why research stopped, as a phrase after "because".
    pub fn phrase(self) -> &'static str {
        match self {
            StopReason::CoverageReached => "enough is covered",
            StopReason::TrustReached => "the sources are trusted enough",
            StopReason::NoNewEvidence => "a round found nothing new on what was open",
            StopReason::MaxIterations => "the round limit was reached",
            StopReason::MaxResearchers => "the limit of researchers was reached",
            StopReason::BudgetUsd => "the research share of the model budget was spent",
            StopReason::BudgetTime => "the time limit was reached",
            StopReason::BudgetCalls => "the call limit was reached",
            StopReason::UserFinish => "you asked to finish",
        }
    }
}

/// Traffic between a run and one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Requests begun.
    pub requests: u64,
    /// Bytes of bodies sent.
    pub sent: u64,
    /// Bytes of bodies received, as transferred.
    pub received: u64,
}

impl Traffic {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: Traffic) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// An estimate of the model calls of a run, made before it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct CostEstimate {
    /// Calls.
    pub calls: u64,
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// US dollars; `None` if a price is unknown.
    pub usd: Option<f64>,
}
