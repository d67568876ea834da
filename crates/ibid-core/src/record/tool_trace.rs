use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Envelope, Event, Run, RunStatus};
use crate::domain::{Coverage, Objection, OutlineEdit, OutputMode, Report, RunId, Source};

/// Progress from the first round to the last one, as a share of the whole.
const ROUNDS_SHARE: f64 = 0.75;
/// Progress once the report is written and only checks are left.
const WRITTEN_PROGRESS: f64 = 0.95;

/// The tools whose traces follow the events of a run. No other tool may have such a name.
pub const RUN_TOOLS: [&str; 2] = ["deep_research", "agentic_search"];

/// The request, state and result of a long-running tool: one row of `tool_traces`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolTrace {
    /// 36 characters; for a run, [`RunId::uuid`].
    pub id: String,
    /// The user; empty if the program serves a single user.
    pub user_id: String,
    /// The user's organisation.
    pub org_id: Option<String>,
    /// `deep_research`, `agentic_search`, or the name of another tool.
    pub tool_name: String,
    /// The tool's input.
    pub input_params: Value,
    /// `pending`, `in_progress`, `completed`, `max_iterations`, `failed` or `cancelled`.
    pub status: String,
    /// 0 to 1.
    pub progress: f64,
    /// The current stage, for display.
    pub current_stage: Option<String>,
    /// Intermediate state.
    pub state: Value,
    /// The result.
    pub result: Option<Value>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub started_at: Option<String>,
    /// RFC 3339.
    pub completed_at: Option<String>,
    /// Metrics.
    pub metrics: Value,
}

/// A trace in a list: without its input, state and result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    /// As in [`ToolTrace`], like every field.
    pub id: String,
    /// The user; empty if the program serves a single user.
    pub user_id: String,
    /// The user's organisation.
    pub org_id: Option<String>,
    /// The name of the tool.
    pub tool_name: String,
    /// The status.
    pub status: String,
    /// 0 to 1.
    pub progress: f64,
    /// The current stage, for display.
    pub current_stage: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub started_at: Option<String>,
    /// RFC 3339.
    pub completed_at: Option<String>,
}

impl ToolTrace {
    /// Whether traces of the tool `name` are those of runs.
    pub fn is_run_tool(name: &str) -> bool {
        RUN_TOOLS.contains(&name)
    }

    /// Whether it is the trace of a run.
    pub fn is_of_run(&self) -> bool {
        ToolTrace::is_run_tool(&self.tool_name)
    }

    /// Whether `event` changes the trace of a run.
    pub fn is_changed_by(event: &Event) -> bool {
        matches!(
            event,
            Event::RunCreated { .. }
                | Event::RunStarted {}
                | Event::PlanProposed { .. }
                | Event::PlanApproved { .. }
                | Event::RoundStarted { .. }
                | Event::RoundFinished { .. }
                | Event::ReportReady { .. }
                | Event::RunCompleted { .. }
                | Event::RunFailed { .. }
                | Event::RunCancelled {}
        )
    }

    /// Computes the trace of a run from its events; `None` before its question.
    pub fn from_events(run: &RunId, events: &[Envelope]) -> Option<ToolTrace> {
        let created = events.first()?;
        let Event::RunCreated { question, owner, .. } = &created.event else {
            return None;
        };
        let fold = Run::from_events(run.clone(), events);
        let trace = TraceFacts::from_events(events);
        let done = fold.status.ended();
        let most = question.method.max_iterations.max(1);
        Some(ToolTrace {
            id: run.uuid(),
            user_id: owner.as_ref().map(|owner| owner.user.clone()).unwrap_or_default(),
            org_id: owner.as_ref().and_then(|owner| owner.org.clone()),
            tool_name: match question.mode {
                OutputMode::Report | OutputMode::Answer => RUN_TOOLS[0],
                OutputMode::Evidence => RUN_TOOLS[1],
            }
            .to_owned(),
            input_params: replace_nul_in_json(json!({
                "question": question.text,
                "context": question.context.clone().or_else(|| dialogue(question)),
                "max_iterations": question.method.max_iterations,
            })),
            status: status_name(fold.status).to_owned(),
            progress: if done { 1.0 } else { trace.progress(fold.plan.is_some(), most) },
            current_stage: Some(trace.stage.clone()),
            state: replace_nul_in_json(state(&fold, &trace)),
            result: fold.report.as_deref().map(|report| replace_nul_in_json(result(report))),
            error_message: fold.error.as_ref().map(|error| replace_nul(error)),
            created_at: created.ts.clone(),
            started_at: trace.started_at.clone(),
            completed_at: fold.updated_at.clone().filter(|_| done),
            metrics: json!(fold.metrics()),
        })
    }
}

/// One round.
#[derive(Default)]
struct TraceRound {
    queries: Vec<String>,
    results: u32,
    progress: String,
}

/// Facts from the events that [`Run`] does not keep.
struct TraceFacts {
    stage: String,
    rounds: Vec<TraceRound>,
    facts: Vec<String>,
    /// What changed in the outline.
    edits: Vec<OutlineEdit>,
    /// What critics objected to in the drafts, and what became of it.
    objections: Vec<Objection>,
    /// Completed rounds.
    over: u32,
    written: bool,
    started_at: Option<String>,
}

impl TraceFacts {
    fn from_events(events: &[Envelope]) -> TraceFacts {
        let mut trace = TraceFacts {
            stage: "pending".to_owned(),
            rounds: Vec::new(),
            facts: Vec::new(),
            edits: Vec::new(),
            objections: Vec::new(),
            over: 0,
            written: false,
            started_at: None,
        };
        for it in events {
            trace.apply(it);
        }
        trace
    }

    fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::RunStarted {} => {
                self.stage = "refining".to_owned();
                self.started_at.get_or_insert_with(|| envelope.ts.clone());
            }
            Event::PlanProposed { .. } => self.stage = "planning".to_owned(),
            Event::RoundStarted { .. } => {
                self.rounds.push(TraceRound::default());
                self.stage = format!("iteration_{}", self.rounds.len());
            }
            Event::SearchCompleted { query, hits, .. } => {
                if let Some(round) = self.rounds.last_mut() {
                    round.queries.push(query.clone());
                    round.results += hits;
                }
            }
            Event::EvidenceAdded { evidence } => self.facts.push(evidence.claim.clone()),
            Event::CoverageUpdated { rows, .. } => {
                let satisfied = rows.iter().filter(|row| row.state.status_word() == "satisfied");
                let progress = format!("{}/{}", satisfied.count(), rows.len());
                if let Some(round) = self.rounds.last_mut() {
                    round.progress = progress;
                }
            }
            Event::OutlineUpdated { edits, .. } => self.edits.extend_from_slice(edits),
            Event::DraftCriticized { objections, .. } => {
                self.objections.extend_from_slice(objections);
            }
            Event::RoundFinished { .. } => self.over += 1,
            Event::ReportReady { .. } => {
                self.written = true;
                self.stage = "writing".to_owned();
            }
            Event::RunCompleted { .. } => self.stage = "completed".to_owned(),
            Event::RunFailed { .. } => self.stage = "failed".to_owned(),
            Event::RunCancelled {} => self.stage = "cancelled".to_owned(),
            _ => {}
        }
    }

    /// Estimates progress. Rounds take most of it; only an upper limit of their number is known.
    fn progress(&self, planned: bool, most: u32) -> f64 {
        if self.written {
            return WRITTEN_PROGRESS;
        }
        let begun = match (self.started_at.is_some(), planned) {
            (false, _) => 0.0,
            (true, false) => 0.05,
            (true, true) => 0.1,
        };
        begun + ROUNDS_SHARE * f64::from(self.over.min(most)) / f64::from(most)
    }
}

fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Pending => "pending",
        RunStatus::InProgress => "in_progress",
        RunStatus::Completed => "completed",
        RunStatus::MaxIterationsReached => "max_iterations",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Failed => "failed",
    }
}

/// The conversation before the question.
fn dialogue(question: &crate::domain::Question) -> Option<String> {
    let messages: Vec<&str> = question
        .dialogue
        .iter()
        .flat_map(|it| [&it.system, &it.user, &it.assistant])
        .flatten()
        .map(String::as_str)
        .collect();
    (!messages.is_empty()).then(|| messages.join("\n"))
}

fn state(run: &Run, trace: &TraceFacts) -> Value {
    let coverage = run.coverage_rows();
    let items = run.plan.iter().flat_map(|it| it.items());
    let checklist: Vec<Value> = items
        .map(|item| {
            let row = coverage.iter().find(|it| it.id == item.id);
            json!({
                "id": item.id,
                "description": item.asks,
                "satisfied": row.is_some_and(|row| row.state.status_word() == "satisfied"),
                "evidence": row.and_then(|row| row.proof.clone()),
            })
        })
        .collect();
    let gaps = coverage.iter().filter(|it| it.state < Coverage::Covered);
    let gaps: Vec<&str> = gaps.map(|gap| gap.gap.as_deref().unwrap_or(&gap.text)).collect();
    let iterations: Vec<Value> = trace
        .rounds
        .iter()
        .zip(1..)
        .map(|(it, nth): (&TraceRound, u32)| {
            json!({
                "iteration": nth,
                "queries": it.queries,
                "results_count": it.results,
                "results_summary": format!("{} results of {} queries", it.results, it.queries.len()),
                "checklist_progress": it.progress,
            })
        })
        .collect();
    let brief = run.brief.as_ref();
    let mut state = json!({
        "refined_question": brief.map(|brief| brief.sharpened.as_ref().unwrap_or(&brief.question)),
        "checklist": checklist,
        "knowledge_base": {
            "facts": trace.facts,
            "sources": run.sources.iter().map(source).collect::<Vec<_>>(),
            "gaps": gaps,
        },
        "iterations": iterations,
    });
    if !trace.edits.is_empty() {
        state["outline_edits"] = json!(trace.edits);
    }
    if !trace.objections.is_empty() {
        state["objections"] = json!(trace.objections);
    }
    state
}

fn source(source: &Source) -> Value {
    json!({
        "id": source.id,
        "type": source.kind,
        "title": source.title,
        "url": source.url,
        "pmid": source.work.pmid,
    })
}

fn result(report: &Report) -> Value {
    let count = |word: &str| {
        let rows = report.coverage.iter();
        rows.filter(|row| row.state.status_word() == word).count()
    };
    let sources = report.sources.iter().enumerate().map(|(at, it)| {
        let mut row = source(it);
        row["snippet"] = json!(report.snippet(at));
        row
    });
    let sources: Vec<Value> = sources.collect();
    json!({
        "answer": report.cited_text(),
        "one_line_answer": report.one_line_answer(),
        "sources": sources,
        "checklist_coverage": {
            "satisfied": count("satisfied"),
            "partial": count("partial"),
            "unsatisfied": count("unsatisfied"),
        },
    })
}

/// Replaces NUL characters, which database columns cannot store, with U+FFFD.
pub fn replace_nul_in_json(value: Value) -> Value {
    match value {
        Value::String(it) => Value::String(replace_nul(&it)),
        Value::Array(items) => items.into_iter().map(replace_nul_in_json).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, it)| (replace_nul(&name), replace_nul_in_json(it)))
            .collect(),
        other => other,
    }
}

/// Replaces each NUL in `text` with U+FFFD.
pub fn replace_nul(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}
