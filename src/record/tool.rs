use serde::Serialize;
use serde_json::{Value, json};

use super::{Envelope, Event, Phase};
use crate::domain::{Coverage, CoverageRow, Mode, Question, Strategy, Vertical};

/// How far a run is, for whoever shows it as the work of a tool (row B11).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolProgress {
    /// `refining`, `iteration_1`, `iteration_2`, …, `synthesizing`, then `completed`, `failed` or `cancelled`.
    pub stage: String,
    /// One line for a person.
    pub message: String,
    /// From 0 to 1; never less than before.
    pub progress: f32,
    /// What the line is about: `{iteration, queries}` of a search, counts of the checklist, …
    pub data: Value,
}

/// The progress of one run: a fold of its events, so that every face says the same of it.
#[derive(Debug, Clone)]
pub struct ToolStory {
    /// Rounds that there may be.
    rounds: u32,
    iteration: u32,
    /// Documents that this round's searches have found and none before.
    results: u32,
    reading: bool,
    writing: bool,
    progress: f32,
}

/// Where the rounds begin and end on the way from 0 to 1.
const ROUNDS: (f32, f32) = (0.2, 0.85);

impl Default for ToolStory {
    fn default() -> ToolStory {
        ToolStory {
            rounds: 1,
            iteration: 0,
            results: 0,
            reading: false,
            writing: false,
            progress: 0.0,
        }
    }
}

impl ToolStory {
    /// What `it` comes to; nothing, where it is no progress that a person would want to read of. Events must come in order.
    pub fn heard(&mut self, it: &Envelope) -> Option<ToolProgress> {
        if it.event.is_afterword() {
            return None;
        }
        let ends = matches!(
            it.event,
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {}
        );
        if matches!(it.phase, Phase::Write | Phase::Check) && !self.writing && !ends {
            self.writing = true;
            let words = "Research complete. Synthesizing answer...";
            return Some(self.tell("synthesizing", words, 0.9, json!({})));
        }
        match &it.event {
            Event::RunCreated { question, .. } => {
                self.rounds = rounds(question);
                Some(self.tell("refining", "Starting deep research...", 0.0, json!({})))
            }
            Event::RunStarted {} => {
                let words = "Refining question and generating research plan...";
                Some(self.tell("refining", words, 0.1, json!({})))
            }
            Event::PlanProposed { plan } => {
                let items: Vec<&str> = plan.items().iter().map(|it| it.asks.as_str()).collect();
                let words = format!(
                    "Generated checklist with {} to investigate",
                    counted(items.len(), "item")
                );
                Some(self.tell("refining", &words, ROUNDS.0, json!({"items": items})))
            }
            Event::StrategyChosen {
                strategy: Strategy::Planned,
                ..
            } => {
                // It searches once; more comes only of what a writer lacks.
                self.rounds = 1;
                None
            }
            Event::WaveStarted { queries, .. } => {
                self.iteration += 1;
                self.rounds = self.rounds.max(self.iteration);
                (self.results, self.reading, self.writing) = (0, false, false);
                let words = format!("Iteration {}/{}", self.iteration, self.rounds);
                Some(self.within(&words, 0.0, json!({"query_count": queries})))
            }
            Event::SearchStarted {
                engine,
                query,
                vertical,
                ..
            } => {
                let words = format!("Searching {}: \"{query}\"", place(engine, *vertical));
                Some(self.within(&words, 0.2, json!({"queries": [query]})))
            }
            Event::SearchCompleted { new, .. } => {
                self.results += new;
                None
            }
            Event::ReadStarted { .. } if !self.reading => {
                self.reading = true;
                let n = self.results as usize;
                let words = format!("Processing {}", counted(n, "result"));
                Some(self.within(&words, 0.5, json!({"results_count": n})))
            }
            Event::CoverageUpdated { rows, .. } => Some(self.checklist(rows)),
            Event::RunCompleted { status, .. } => {
                let data = json!({"status": status, "iterations_used": self.iteration});
                Some(self.tell("completed", "Research complete.", 1.0, data))
            }
            Event::RunFailed { reason, .. } => {
                let words = format!("Research failed: {reason}");
                Some(self.tell("failed", &words, 0.0, json!({})))
            }
            Event::RunCancelled {} => {
                Some(self.tell("cancelled", "Research was cancelled.", 0.0, json!({})))
            }
            _ => None,
        }
    }

    fn checklist(&mut self, rows: &[CoverageRow]) -> ToolProgress {
        let counts = CoverageRow::counts(rows);
        let words = format!(
            "Checklist: {}/{} items satisfied",
            counts.satisfied,
            rows.len()
        );
        let gaps: Vec<&str> = rows
            .iter()
            .filter(|it| matches!(it.state, Coverage::Open | Coverage::Partial))
            .map(|it| it.text.as_str())
            .collect();
        self.within(&words, 1.0, json!({"checklist": counts, "gaps": gaps}))
    }

    /// Something of the round that is on; `part` of it is done.
    fn within(&mut self, message: &str, part: f32, mut data: Value) -> ToolProgress {
        let done = (self.iteration.saturating_sub(1) as f32 + part) / self.rounds as f32;
        if let Some(data) = data.as_object_mut() {
            data.insert("iteration".to_owned(), self.iteration.into());
        }
        let stage = format!("iteration_{}", self.iteration);
        let at = ROUNDS.0 + (ROUNDS.1 - ROUNDS.0) * done.min(1.0);
        self.tell(&stage, message, at, data)
    }

    fn tell(&mut self, stage: &str, message: &str, at: f32, data: Value) -> ToolProgress {
        // Two digits: more would look like knowledge.
        self.progress = self.progress.max((at * 100.0).round() / 100.0);
        ToolProgress {
            stage: stage.to_owned(),
            message: message.to_owned(),
            progress: self.progress,
            data,
        }
    }
}

/// Rounds that a question may take.
fn rounds(question: &Question) -> u32 {
    let method = &question.method;
    match (question.mode, method.strategy) {
        (Mode::Answer, _) => 1,
        (_, Some(Strategy::Supervisor)) => method.max_iterations.max(1),
        _ => method.depth.min(method.max_iterations).max(1),
    }
}

/// Where a search goes, as a person calls it.
fn place(engine: &str, vertical: Vertical) -> &'static str {
    match (engine, vertical) {
        ("pubmed", _) => "PubMed",
        (_, Vertical::Local) => "documents",
        (_, Vertical::Scholar | Vertical::Pubmed) => "scholarly record",
        (_, Vertical::News) => "News",
        (_, Vertical::Web) => "Web",
    }
}

/// `1 result`, `8 results`.
fn counted(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
