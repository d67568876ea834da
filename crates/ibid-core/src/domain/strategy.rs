use serde::{Deserialize, Serialize};

use super::ItemId;

/// How evidence is gathered. All strategies produce the same notes and pass the same gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Level by level through a checklist, with separate queries for each item.
    Checklist,
    /// A few searches; the best sources in full and further ones by their best chunks, then refinement while writing.
    Planned,
    /// A supervisor sends researchers in rounds until the gate passes.
    Supervisor,
    /// Required topics are covered broadly first; then only gaps are searched.
    Coverage,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 4] =
        [Strategy::Checklist, Strategy::Planned, Strategy::Supervisor, Strategy::Coverage];

    /// The name in settings and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Checklist => "checklist",
            Strategy::Planned => "planned",
            Strategy::Supervisor => "supervisor",
            Strategy::Coverage => "coverage",
        }
    }
}

/// Work status of an item. How far it is answered is its [`Coverage`](super::Coverage).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Waiting for its level.
    Todo,
    /// Being searched for, or partially covered.
    InProgress,
    /// Covered.
    Done,
    /// A whole level found nothing; it is retried with broader queries.
    Blocked,
}

/// The limits of a supervisor and its researchers. Each is a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SupervisorSettings {
    /// Maximum researchers at a time.
    pub max_concurrent_research_units: u32,
    /// Maximum researchers in total.
    pub max_researcher_iterations: u32,
    /// Tool calls per researcher, as stated in its prompt.
    pub max_react_tool_calls: u32,
    /// Searches per researcher, as stated in its prompt.
    pub researcher_search_budget: u32,
    /// Maximum note bullets in the supervisor's prompt.
    pub supervisor_notes_max_bullets: u32,
    /// Maximum words of notes in the supervisor's prompt.
    pub supervisor_notes_word_budget: u32,
    /// Claims kept per researcher.
    pub max_evidence_claims_per_research_unit: u32,
    /// Sources kept per claim.
    pub max_source_urls_per_claim: u32,
}

impl Default for SupervisorSettings {
    fn default() -> SupervisorSettings {
        SupervisorSettings {
            max_concurrent_research_units: 4,
            max_researcher_iterations: 60,
            max_react_tool_calls: 40,
            researcher_search_budget: 15,
            supervisor_notes_max_bullets: 40,
            supervisor_notes_word_budget: 1200,
            max_evidence_claims_per_research_unit: 5,
            max_source_urls_per_claim: 5,
        }
    }
}

/// The latest gate result of a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// The gate was not checked yet.
    None,
    /// Research may end.
    Pass,
    /// Research must continue.
    Retry,
}

/// Status of a researcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResearcherStatus {
    /// Working.
    Dispatched,
    /// Returned its notes.
    Completed,
    /// Stopped by a limit or an error.
    Failed,
}

/// Progress of one researcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResearcherProgress {
    /// `researcher-1`, numbered over the whole run.
    pub id: String,
    /// Its task.
    pub topic: String,
    /// The item that the task belongs to.
    pub item: ItemId,
    /// Its status.
    pub status: ResearcherStatus,
    /// Searches and page reads made.
    pub tool_calls: u32,
    /// Pieces of evidence kept.
    pub evidence: u32,
    /// Working time, in milliseconds.
    pub ms: u64,
    /// Why it failed, as one of a few fixed sentences.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
}

/// Progress of a supervisor: the only source for what user interfaces show about researchers and the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeProgress {
    /// Decisions made.
    pub supervisor_iteration: u32,
    /// Researchers started in total.
    pub dispatched_research_units: u32,
    /// Researchers requested but not started because of a limit.
    pub skipped_research_units: u32,
    /// The latest gate result.
    pub quality_gate_status: GateStatus,
    /// Why the gate failed, or why it passed and the research is not complete.
    pub quality_gate_reason: Option<String>,
    /// Evidence records.
    pub evidence_record_count: u32,
    /// Distinct domains of the evidence.
    pub source_domain_count: u32,
    /// Those domains.
    pub source_domains: Vec<String>,
    /// Minimum evidence records.
    pub min_evidence_records: u32,
    /// Minimum records with a citation.
    pub min_cited_records: u32,
    /// Minimum distinct domains.
    pub min_source_domains: u32,
    /// The researchers of this round.
    pub research_units: Vec<ResearcherProgress>,
}
