use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{EvidenceId, ItemId, Passage, Plan, ResearchSettings, Source, SourceId};

/// Whether evidence supports or contradicts an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// Supports.
    For,
    /// Contradicts.
    Against,
    /// Relevant, without taking a side.
    Neutral,
}

/// A passage that is relevant to items of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// `e1`, `e2`, …
    pub id: EvidenceId,
    /// The items it is relevant to, best first; never empty.
    pub items: Vec<ItemId>,
    /// The source that contains it.
    pub source: SourceId,
    /// The exact words.
    pub passage: Passage,
    /// If the passage is of a table: its header, or else its caption, without which no row can be understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_header: Option<Passage>,
    /// The heading of its section, where the passage does not name what it is about and the heading does: "It has a warranty of
    /// two years".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<Passage>,
    /// Its statement as one sentence.
    pub claim: String,
    /// Whether it supports or contradicts the item.
    pub stance: Stance,
    /// Relevance to its best item, 0 to 1; comparable within a run.
    pub score: f32,
    /// Confidence in the claim; 0.5 unless measured.
    pub confidence: f32,
    /// Whether its wording expresses doubt or contradiction.
    pub contradiction_or_uncertainty: bool,
    /// The round that found it, from 1.
    #[serde(rename = "wave")]
    pub round: u32,
}

impl Evidence {
    /// Its quotes: the heading or the header of a table before the passage.
    pub fn quotes(&self) -> impl Iterator<Item = &Passage> {
        self.heading.iter().chain(&self.table_header).chain([&self.passage])
    }

    /// Whether its claim has more than its passage says alone.
    pub fn has_context(&self) -> bool {
        self.table_header.is_some() || self.heading.is_some()
    }
}

/// How far an item is answered. Derived from the evidence, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// No evidence, or no sentence of the report on it.
    Open,
    /// Evidence, but weak or from a single domain.
    Partial,
    /// Enough evidence.
    Covered,
    /// Enough evidence, but it disagrees.
    Conflict,
}

impl Coverage {
    /// The status in reports: `satisfied`, `partial`, `unsatisfied`.
    pub fn status_word(self) -> &'static str {
        match self {
            Coverage::Open => "unsatisfied",
            Coverage::Partial => "partial",
            Coverage::Covered | Coverage::Conflict => "satisfied",
        }
    }
}

/// One row of the coverage table, as events and views show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoverageRow {
    /// The item's id.
    pub id: ItemId,
    /// What it asks.
    pub text: String,
    /// How far it is answered.
    pub state: Coverage,
    /// Coverage from 0 to 1.
    pub score: f32,
    /// Pieces of evidence.
    pub evidence: u32,
    /// Distinct sources.
    pub sources: u32,
    /// New evidence in each round.
    #[serde(rename = "by_wave")]
    pub by_round: Vec<u32>,
    /// The exact words that best support it.
    pub proof: Option<String>,
    /// What is still missing, in words.
    pub gap: Option<String>,
}

impl CoverageRow {
    /// The row of an item without evidence.
    pub fn empty(id: ItemId, text: impl Into<String>) -> CoverageRow {
        CoverageRow {
            id,
            text: text.into(),
            state: Coverage::Open,
            score: 0.0,
            evidence: 0,
            sources: 0,
            by_round: Vec::new(),
            proof: None,
            gap: None,
        }
    }

    /// Counts the rows by status.
    pub fn counts(rows: &[CoverageRow]) -> CoverageCounts {
        let count =
            |word: &str| rows.iter().filter(|row| row.state.status_word() == word).count() as u32;
        CoverageCounts {
            satisfied: count("satisfied"),
            partial: count("partial"),
            unsatisfied: count("unsatisfied"),
        }
    }

    /// The share of covered rows, 0 to 1; a partial row counts half.
    pub fn completeness(rows: &[CoverageRow]) -> f32 {
        let points = rows.iter().map(|row| match row.state {
            Coverage::Covered | Coverage::Conflict => 1.0,
            Coverage::Partial => 0.5,
            Coverage::Open => 0.0,
        });
        // An empty sum of floats is -0.0, which would be displayed.
        points.fold(0.0, |sum, it| sum + it) / rows.len().max(1) as f32
    }
}

/// The number of items with each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageCounts {
    /// Items that are answered.
    pub satisfied: u32,
    /// Items that are answered in part.
    pub partial: u32,
    /// Items that are not answered.
    pub unsatisfied: u32,
}

/// All evidence gathered for a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceStore {
    /// What must be answered.
    pub plan: Plan,
    /// Sources read, in order.
    pub sources: Vec<Source>,
    /// Evidence found, in order.
    pub evidence: Vec<Evidence>,
}

impl EvidenceStore {
    /// Creates notes without evidence for `plan`.
    pub fn new(plan: Plan) -> EvidenceStore {
        EvidenceStore { plan, sources: Vec::new(), evidence: Vec::new() }
    }

    /// Returns the evidence for `item`, best score first.
    pub fn for_item(&self, item: ItemId) -> Vec<&Evidence> {
        let mut found: Vec<&Evidence> =
            self.evidence.iter().filter(|it| it.items.contains(&item)).collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found
    }

    /// Returns the source with this id.
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.sources.iter().find(|source| source.id == id)
    }

    /// Returns the distinct domains of these pieces of evidence.
    pub fn domains<'a>(&self, evidence: impl IntoIterator<Item = &'a Evidence>) -> BTreeSet<&str> {
        evidence
            .into_iter()
            .filter_map(|evidence| self.source(evidence.source))
            .map(|it| it.domain.as_str())
            .collect()
    }
}

/// The minimum evidence a run needs before it may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceGate {
    /// Minimum evidence records.
    pub min_evidence_records: u32,
    /// Minimum records with a citation.
    pub min_cited_records: u32,
    /// Minimum distinct domains.
    pub min_source_domains: u32,
}

/// The result of checking notes against the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateVerdict {
    /// Whether research may end.
    pub pass: bool,
    /// Why it failed, in words; `None` if it passed.
    pub reason: Option<String>,
    /// Evidence records found.
    pub evidence_records: u32,
    /// Records with a citation found.
    pub cited_records: u32,
    /// Distinct domains found.
    pub source_domains: u32,
    /// The minimums that applied.
    pub gate: EvidenceGate,
    /// Whether the minimums were lowered because less exists.
    pub lowered: bool,
}

impl EvidenceGate {
    /// Returns the gate that the settings define.
    pub fn from_settings(method: &ResearchSettings) -> EvidenceGate {
        EvidenceGate {
            min_evidence_records: method.min_evidence_records,
            // Every record is cited, so that fewer records are fewer cited ones.
            min_cited_records: method.min_cited_records.min(method.min_evidence_records),
            min_source_domains: method.min_source_domains,
        }
    }

    /// Checks `notes` against the gate. `domains_seen` is the number of distinct domains that any search has
    /// returned: the gate never requires more domains than exist, and reports that it was lowered.
    pub fn judge(self, notes: &EvidenceStore, domains_seen: u32) -> GateVerdict {
        let records = notes.evidence.len() as u32;
        let domains = notes.domains(&notes.evidence).len() as u32;
        // Every record carries a passage, and so a citation: both counts are equal by construction.
        let cited = records;
        let wanted = EvidenceGate {
            min_source_domains: self.min_source_domains.min(domains_seen.max(1)),
            ..self
        };
        let mut short = Vec::new();
        let min_records = wanted.min_evidence_records.max(wanted.min_cited_records);
        if records < min_records {
            short.push(format!("{records} of {min_records} evidence records"));
        }
        if domains < wanted.min_source_domains {
            short.push(format!("{domains} of {} distinct domains", wanted.min_source_domains));
        }
        GateVerdict {
            pass: short.is_empty(),
            reason: (!short.is_empty()).then(|| short.join(", ")),
            evidence_records: records,
            cited_records: cited,
            source_domains: domains,
            gate: wanted,
            lowered: wanted != self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_rows_yet_is_complete_to_nothing_and_not_to_less() {
        let none = CoverageRow::completeness(&[]);
        assert_eq!((none, none.is_sign_negative()), (0.0, false));
    }
}
