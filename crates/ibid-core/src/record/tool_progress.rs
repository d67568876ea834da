use serde::Serialize;
use serde_json::{Value, json};

use super::{Envelope, Event, Phase};
use crate::domain::{Coverage, CoverageRow, OutputMode, Question, Strategy, Vertical};

/// Progress of a run, for clients that show it as a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolProgress {
    /// `refining`, `iteration_1`, `iteration_2`, …, `synthesizing`, then `completed`, `failed` or `cancelled`.
    pub stage: String,
    /// A line of text for the user.
    pub message: String,
    /// From 0 to 1; never decreases.
    pub progress: f32,
    /// Details of the message: `{iteration, queries}` of a search, checklist counts, …
    pub data: Value,
}

/// Computes the progress of a run from its events, so that all interfaces show the same.
#[derive(Debug, Clone)]
pub struct ToolProgressTracker {
    /// Maximum number of rounds.
    rounds: u32,
    iteration: u32,
    /// Documents found first in this round.
    results: u32,
    reading: bool,
    writing: bool,
    progress: f32,
}

/// The share of the progress bar that the rounds take.
const ROUNDS: (f32, f32) = (0.2, 0.85);

impl Default for ToolProgressTracker {
    fn default() -> ToolProgressTracker {
        ToolProgressTracker {
            rounds: 1,
            iteration: 0,
            results: 0,
            reading: false,
            writing: false,
            progress: 0.0,
        }
    }
}

impl ToolProgressTracker {
    /// Returns the progress after `envelope`, or `None` if the event is not worth showing. Events must be passed in
    /// order.
    pub fn update(&mut self, envelope: &Envelope) -> Option<ToolProgress> {
        if envelope.event.is_post_run() {
            return None;
        }
        let ends = matches!(
            envelope.event,
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {}
        );
        if matches!(envelope.phase, Phase::Write | Phase::Check) && !self.writing && !ends {
            self.writing = true;
            let words = "Research complete. Synthesizing answer...";
            return Some(self.progress_at("synthesizing", words, 0.9, json!({})));
        }
        match &envelope.event {
            Event::RunCreated { question, .. } => {
                self.rounds = rounds(question);
                Some(self.progress_at("refining", "Starting deep research...", 0.0, json!({})))
            }
            Event::RunStarted {} => {
                let words = "Refining question and generating research plan...";
                Some(self.progress_at("refining", words, 0.1, json!({})))
            }
            Event::PlanProposed { plan } => {
                let items: Vec<&str> = plan.items().iter().map(|item| item.asks.as_str()).collect();
                let words = format!(
                    "Generated checklist with {} to investigate",
                    pluralize(items.len(), "item")
                );
                Some(self.progress_at("refining", &words, ROUNDS.0, json!({"items": items})))
            }
            Event::StrategyChosen { strategy: Strategy::Planned, .. } => {
                // This strategy searches once; later searches only fill gaps while writing.
                self.rounds = 1;
                None
            }
            Event::RoundStarted { queries, .. } => {
                self.iteration += 1;
                self.rounds = self.rounds.max(self.iteration);
                (self.results, self.reading, self.writing) = (0, false, false);
                let words = format!("Iteration {}/{}", self.iteration, self.rounds);
                Some(self.round_progress(&words, 0.0, json!({"query_count": queries})))
            }
            Event::SearchStarted { engine, query, vertical, .. } => {
                let words = format!("Searching {}: \"{query}\"", search_label(engine, *vertical));
                Some(self.round_progress(&words, 0.2, json!({"queries": [query]})))
            }
            Event::SearchCompleted { new, .. } => {
                self.results += new;
                None
            }
            Event::ReadStarted { .. } if !self.reading => {
                self.reading = true;
                let n = self.results as usize;
                let words = format!("Processing {}", pluralize(n, "result"));
                Some(self.round_progress(&words, 0.5, json!({"results_count": n})))
            }
            Event::CoverageUpdated { rows, .. } => Some(self.checklist(rows)),
            Event::RunCompleted { status, .. } => {
                let data = json!({"status": status, "iterations_used": self.iteration});
                Some(self.progress_at("completed", "Research complete.", 1.0, data))
            }
            Event::RunFailed { reason, .. } => {
                let words = format!("Research failed: {reason}");
                Some(self.progress_at("failed", &words, 0.0, json!({})))
            }
            Event::RunCancelled {} => {
                Some(self.progress_at("cancelled", "Research was cancelled.", 0.0, json!({})))
            }
            _ => None,
        }
    }

    fn checklist(&mut self, rows: &[CoverageRow]) -> ToolProgress {
        let counts = CoverageRow::counts(rows);
        let words = format!("Checklist: {}/{} items satisfied", counts.satisfied, rows.len());
        let gaps: Vec<&str> = rows
            .iter()
            .filter(|row| matches!(row.state, Coverage::Open | Coverage::Partial))
            .map(|row| row.text.as_str())
            .collect();
        self.round_progress(&words, 1.0, json!({"checklist": counts, "gaps": gaps}))
    }

    /// Progress within the current round, of which `part` is done.
    fn round_progress(&mut self, message: &str, part: f32, mut data: Value) -> ToolProgress {
        let done = (self.iteration.saturating_sub(1) as f32 + part) / self.rounds as f32;
        if let Some(data) = data.as_object_mut() {
            data.insert("iteration".to_owned(), self.iteration.into());
        }
        let stage = format!("iteration_{}", self.iteration);
        let at = ROUNDS.0 + (ROUNDS.1 - ROUNDS.0) * done.min(1.0);
        self.progress_at(&stage, message, at, data)
    }

    fn progress_at(&mut self, stage: &str, message: &str, at: f32, data: Value) -> ToolProgress {
        // Two digits; the estimate is not more precise.
        self.progress = self.progress.max((at * 100.0).round() / 100.0);
        ToolProgress {
            stage: stage.to_owned(),
            message: message.to_owned(),
            progress: self.progress,
            data,
        }
    }
}

/// Maximum rounds of a question.
fn rounds(question: &Question) -> u32 {
    let method = &question.method;
    match (question.mode, method.strategy) {
        (OutputMode::Answer, _) => 1,
        (_, Some(Strategy::Supervisor)) => method.max_iterations.max(1),
        _ => method.depth.min(method.max_iterations).max(1),
    }
}

/// The name of a search for display.
fn search_label(engine: &str, vertical: Vertical) -> &'static str {
    match (engine, vertical) {
        ("pubmed", _) => "PubMed",
        (_, Vertical::Local) => "documents",
        (_, Vertical::Scholar | Vertical::Pubmed) => "scholarly record",
        (_, Vertical::News) => "News",
        (_, Vertical::Web) => "Web",
    }
}

/// `1 result`, `8 results`.
fn pluralize(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
