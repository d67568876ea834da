use serde::{Deserialize, Serialize};

use super::ItemId;

/// How evidence is gathered (row C1). All four fill the same notes and pass the same gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Level by level down a checklist, each item with its own queries (rows B and E).
    Checklist,
    /// A few searches, the best sources whole and the next by their best chunks, then refinement while writing (rows A).
    Planned,
    /// A supervisor sends out researchers in waves until the gate lets it complete (rows C).
    Supervisor,
    /// Topics that must be covered, broad first, then only the gaps (rows D).
    Coverage,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 4] = [
        Strategy::Checklist,
        Strategy::Planned,
        Strategy::Supervisor,
        Strategy::Coverage,
    ];

    /// Its word in settings and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::Checklist => "checklist",
            Strategy::Planned => "planned",
            Strategy::Supervisor => "supervisor",
            Strategy::Coverage => "coverage",
        }
    }

    /// The strategy that `word` names.
    pub fn named(word: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|it| it.word() == word)
    }
}

/// Where an item stands while it is being worked on (row E5). How far it is answered is its [`Coverage`](super::Coverage).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Waits for its level.
    Todo,
    /// Is being searched for, or found in part.
    InProgress,
    /// Is covered.
    Done,
    /// A whole level found nothing; it comes back with broader queries.
    Blocked,
}

/// The numbers of a supervisor and its researchers (rows C4 to C6, C13). Each is a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Team {
    /// Researchers at work at once.
    pub max_concurrent_research_units: u32,
    /// Researchers sent out in all.
    pub max_researcher_iterations: u32,
    /// Tool calls a researcher is told to keep to.
    pub max_react_tool_calls: u32,
    /// Searches a researcher is told to keep to.
    pub researcher_search_budget: u32,
    /// Bullets of notes that the supervisor sees.
    pub supervisor_notes_max_bullets: u32,
    /// Words of notes that the supervisor sees.
    pub supervisor_notes_word_budget: u32,
    /// Claims kept of a researcher.
    pub max_evidence_claims_per_research_unit: u32,
    /// Sources kept of a claim.
    pub max_source_urls_per_claim: u32,
}

impl Default for Team {
    fn default() -> Team {
        Team {
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

/// What the gate of a supervisor last said (row C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// Nobody has asked to complete.
    None,
    /// Research may end.
    Pass,
    /// It may not yet.
    Retry,
}

/// How a researcher ended, or that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitStatus {
    /// Sent out.
    Dispatched,
    /// Came back with notes.
    Completed,
    /// Ended by its bounds or a fault.
    Failed,
}

/// One researcher as the supervisor's progress tells it (row C2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitProgress {
    /// `researcher-1`, counted over the run.
    pub id: String,
    /// What it was sent out for.
    pub topic: String,
    /// The item that this belongs to.
    pub item: ItemId,
    /// How it stands.
    pub status: UnitStatus,
    /// Searches and reads it made.
    pub tool_calls: u32,
    /// Evidence kept of it.
    pub evidence: u32,
    /// How long it worked, milliseconds.
    pub ms: u64,
    /// Why it failed, in one of a few sentences (row C9).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
}

/// What a supervisor has done so far; the only thing a face may say of dispatch and gate (row C2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeProgress {
    /// Decisions made.
    pub supervisor_iteration: u32,
    /// Researchers sent out in all.
    pub dispatched_research_units: u32,
    /// Researchers asked for and not sent out, because of a bound.
    pub skipped_research_units: u32,
    /// What the gate last said.
    pub quality_gate_status: GateStatus,
    /// Why it said no.
    pub quality_gate_reason: Option<String>,
    /// Evidence there is.
    pub evidence_record_count: u32,
    /// Distinct domains it comes from.
    pub source_domain_count: u32,
    /// Which.
    pub source_domains: Vec<String>,
    /// What the gate asks for.
    pub min_evidence_records: u32,
    /// What the gate asks for.
    pub min_cited_records: u32,
    /// What the gate asks for.
    pub min_source_domains: u32,
    /// The researchers of this wave.
    pub research_units: Vec<UnitProgress>,
}
