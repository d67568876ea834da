use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Envelope, Event, Run, RunStatus};
use crate::domain::{Claim, Coverage, Mode, Report, RunId, Source, SourceKind};

/// What a long-running tool was asked, how far it is and what came of it (row B9): one row of `tool_traces`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolTrace {
    /// 36 characters. Of a run it is [`RunId::uuid`].
    pub id: String,
    /// Whose; empty where the program serves one person alone.
    pub user_id: String,
    /// Of which organisation.
    pub org_id: Option<String>,
    /// `deep_research`, `agentic_search`, or whatever tool made it.
    pub tool_name: String,
    /// What the tool was asked.
    pub input_params: Value,
    /// `pending`, `in_progress`, `completed`, `max_iterations`, `failed` or `cancelled`.
    pub status: String,
    /// 0 to 1.
    pub progress: f64,
    /// The stage, for people.
    pub current_stage: Option<String>,
    /// What the tool knows so far.
    pub state: Value,
    /// What came of it.
    pub result: Option<Value>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub started_at: Option<String>,
    /// RFC 3339.
    pub completed_at: Option<String>,
    /// What it counted (row B10).
    pub metrics: Value,
}

impl ToolTrace {
    /// Whether `event` is told where a run's trace changes: between two of these it stays as it is.
    pub fn turns_at(event: &Event) -> bool {
        matches!(
            event,
            Event::RunCreated { .. }
                | Event::RunStarted {}
                | Event::PlanProposed { .. }
                | Event::PlanApproved { .. }
                | Event::WaveStarted { .. }
                | Event::WaveFinished { .. }
                | Event::ReportReady { .. }
                | Event::RunCompleted { .. }
                | Event::RunFailed { .. }
                | Event::RunCancelled {}
        )
    }

    /// The trace of a run, as its events tell it; `None` before its question.
    pub fn of(run: &RunId, events: &[Envelope]) -> Option<ToolTrace> {
        let created = events.first()?;
        let Event::RunCreated {
            question, owner, ..
        } = &created.event
        else {
            return None;
        };
        let fold = Run::of(run.clone(), events);
        let told = Told::of(events);
        let done = fold.status.ended();
        let most = question.method.max_iterations.max(1);
        Some(ToolTrace {
            id: run.uuid(),
            user_id: owner.as_ref().map(|it| it.user.clone()).unwrap_or_default(),
            org_id: owner.as_ref().and_then(|it| it.org.clone()),
            tool_name: match question.mode {
                Mode::Evidence => "agentic_search",
                Mode::Report | Mode::Answer => "deep_research",
            }
            .to_owned(),
            input_params: plain(json!({
                "question": question.text,
                "context": context(question),
                "max_iterations": question.method.max_iterations,
            })),
            status: word(fold.status).to_owned(),
            progress: match done {
                true => 1.0,
                false => told.progress(fold.plan.is_some(), most),
            },
            current_stage: Some(told.stage),
            state: plain(state(&fold, &told.rounds, &told.facts)),
            result: fold.report.as_deref().map(|it| plain(result(it))),
            error_message: fold.error.as_ref().map(|it| scrubbed(it)),
            created_at: created.ts.clone(),
            started_at: told.started_at,
            completed_at: fold.updated_at.clone().filter(|_| done),
            metrics: json!({
                "total_iterations": told.rounds.len(),
                "pubmed_queries": told.pubmed,
                "web_queries": told.web,
                "local_queries": told.local,
                "articles_processed": told.articles,
                "pages_processed": fold.sources.len() - told.articles,
                "sources_processed": fold.sources.len(),
                "llm_calls": told.llm_calls,
            }),
        })
    }
}

/// One round.
#[derive(Default)]
struct Round {
    queries: Vec<String>,
    results: u32,
    progress: String,
}

/// What of the events a run's fold leaves out.
struct Told {
    stage: String,
    rounds: Vec<Round>,
    facts: Vec<String>,
    pubmed: u32,
    web: u32,
    local: u32,
    articles: usize,
    llm_calls: u32,
    /// Rounds that are over.
    over: u32,
    written: bool,
    started_at: Option<String>,
}

impl Told {
    fn of(events: &[Envelope]) -> Told {
        let mut told = Told {
            stage: "pending".to_owned(),
            rounds: Vec::new(),
            facts: Vec::new(),
            pubmed: 0,
            web: 0,
            local: 0,
            articles: 0,
            llm_calls: 0,
            over: 0,
            written: false,
            started_at: None,
        };
        for it in events {
            told.hear(it);
        }
        told
    }

    fn hear(&mut self, it: &Envelope) {
        match &it.event {
            Event::RunStarted {} => {
                self.stage = "refining".to_owned();
                self.started_at.get_or_insert_with(|| it.ts.clone());
            }
            Event::PlanProposed { .. } => self.stage = "planning".to_owned(),
            Event::WaveStarted { .. } => {
                self.rounds.push(Round::default());
                self.stage = format!("iteration_{}", self.rounds.len());
            }
            Event::SearchCompleted {
                engine,
                query,
                hits,
                ..
            } => {
                match &**engine {
                    "pubmed" => self.pubmed += 1,
                    "local" => self.local += 1,
                    _ => self.web += 1,
                }
                if let Some(round) = self.rounds.last_mut() {
                    round.queries.push(query.clone());
                    round.results += hits;
                }
            }
            Event::ReadCompleted { source, .. } if source.kind == SourceKind::Pubmed => {
                self.articles += 1;
            }
            Event::EvidenceAdded { evidence } => self.facts.push(evidence.claim.clone()),
            Event::CoverageUpdated { rows, .. } => {
                let satisfied = rows.iter().filter(|it| it.state.judged() == "satisfied");
                let progress = format!("{}/{}", satisfied.count(), rows.len());
                if let Some(round) = self.rounds.last_mut() {
                    round.progress = progress;
                }
            }
            Event::WaveFinished { .. } => self.over += 1,
            Event::LlmCompleted { .. } => self.llm_calls += 1,
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

    /// A guess at how much is done: rounds are most of it, and how many there will be is known only as a bound.
    fn progress(&self, planned: bool, most: u32) -> f64 {
        if self.written {
            return 0.95;
        }
        let begun = match (self.started_at.is_some(), planned) {
            (false, _) => 0.0,
            (true, false) => 0.05,
            (true, true) => 0.1,
        };
        begun + 0.75 * f64::from(self.over.min(most)) / f64::from(most)
    }
}

fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Pending => "pending",
        RunStatus::InProgress => "in_progress",
        RunStatus::Completed => "completed",
        RunStatus::MaxIterationsReached => "max_iterations",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Failed => "failed",
    }
}

/// What was said before the question, as the tool's `context`.
fn context(question: &crate::domain::Question) -> Option<String> {
    let said: Vec<&str> = question
        .dialogue
        .iter()
        .flat_map(|it| [&it.system, &it.user, &it.assistant])
        .flatten()
        .map(String::as_str)
        .collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

fn state(run: &Run, rounds: &[Round], facts: &[String]) -> Value {
    let items = run.plan.iter().flat_map(|it| it.items());
    let checklist: Vec<Value> = items
        .map(|item| {
            let row = run.coverage.iter().find(|it| it.id == item.id);
            json!({
                "id": item.id,
                "description": item.asks,
                "satisfied": row.is_some_and(|it| it.state.judged() == "satisfied"),
                "evidence": row.and_then(|it| it.proof.clone()),
            })
        })
        .collect();
    let gaps = run
        .coverage
        .iter()
        .filter(|it| it.state < Coverage::Covered);
    let gaps: Vec<&str> = gaps
        .map(|it| it.gap.as_deref().unwrap_or(&it.text))
        .collect();
    let iterations: Vec<Value> = rounds
        .iter()
        .zip(1..)
        .map(|(it, nth): (&Round, u32)| {
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
    json!({
        "refined_question": brief.map(|it| it.sharpened.as_ref().unwrap_or(&it.question)),
        "checklist": checklist,
        "knowledge_base": {
            "facts": facts,
            "sources": run.sources.iter().map(source).collect::<Vec<_>>(),
            "gaps": gaps,
        },
        "iterations": iterations,
    })
}

fn source(it: &Source) -> Value {
    json!({
        "id": it.id,
        "type": it.kind,
        "title": it.title,
        "url": it.url,
        "pmid": it.work.pmid,
    })
}

fn result(report: &Report) -> Value {
    let count = |word: &str| {
        let rows = report.coverage.iter();
        rows.filter(|it| it.state.judged() == word).count()
    };
    json!({
        "answer": answer(report),
        "sources": report.sources.iter().map(source).collect::<Vec<_>>(),
        "checklist_coverage": {
            "satisfied": count("satisfied"),
            "partial": count("partial"),
            "unsatisfied": count("unsatisfied"),
        },
    })
}

/// The sentences of a report with the numbers of what carries them.
fn answer(report: &Report) -> String {
    let said = |it: &Claim| {
        let marks: Vec<String> = it
            .citations()
            .iter()
            .map(|it| format!("[{}]", it.n))
            .collect();
        format!("{} {}", it.text(), marks.concat())
    };
    if let Some(it) = &report.answer {
        return it.text.clone();
    }
    let mut parts: Vec<String> = Vec::new();
    let short: Vec<String> = report.short.iter().map(said).collect();
    parts.push(short.join(" "));
    for section in &report.sections {
        parts.push(format!("## {}", section.title));
        for paragraph in &section.paragraphs {
            let sentences: Vec<String> = paragraph.iter().map(said).collect();
            parts.push(sentences.join(" "));
        }
    }
    parts.retain(|it| !it.is_empty());
    parts.join("\n\n")
}

/// The same without NUL, which columns of databases cannot hold: a stranger's page may have one.
pub fn plain(value: Value) -> Value {
    match value {
        Value::String(it) => Value::String(scrubbed(&it)),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, it)| (scrubbed(&name), plain(it)))
            .collect(),
        other => other,
    }
}

/// `text` with U+FFFD for each NUL.
pub fn scrubbed(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}
