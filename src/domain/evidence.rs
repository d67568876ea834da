use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{EvidenceId, ItemId, Method, Passage, Plan, Source, SourceId};

/// Which way a piece of evidence points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// It says so.
    For,
    /// It says the opposite.
    Against,
    /// It speaks to the item without taking a side.
    Neutral,
}

/// A passage that speaks to items of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// `e1`, `e2`, …
    pub id: EvidenceId,
    /// The items it speaks to, best first; never empty.
    pub items: Vec<ItemId>,
    /// The work it stands in.
    pub source: SourceId,
    /// The exact words.
    pub passage: Passage,
    /// What it says, as one sentence.
    pub claim: String,
    /// Which way it points.
    pub stance: Stance,
    /// How well it speaks to its best item, 0 to 1; comparable within a run.
    pub score: f32,
    /// Confidence in the claim; 0.5 unless measured (row C4).
    pub confidence: f32,
    /// Whether its words speak of doubt or contradiction (row C4).
    pub contradiction_or_uncertainty: bool,
    /// The round that found it, from 1.
    pub wave: u32,
}

/// How far an item is answered. Derived from the notes, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Nothing speaks to it.
    Open,
    /// Something does, but from one voice only or weakly.
    Partial,
    /// Enough does.
    Covered,
    /// Enough does, and it disagrees.
    Conflict,
}

impl Coverage {
    /// The word of rows B6 and B8: `satisfied`, `partial`, `unsatisfied`.
    pub fn judged(self) -> &'static str {
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
    /// The item.
    pub id: ItemId,
    /// What it asks.
    pub text: String,
    /// How far it is answered.
    pub state: Coverage,
    /// Coverage from 0 to 1 (row D5).
    pub score: f32,
    /// Pieces of evidence.
    pub evidence: u32,
    /// Distinct sources.
    pub sources: u32,
    /// New evidence in each round.
    pub by_wave: Vec<u32>,
    /// The exact words that best prove it (row D5).
    pub proof: Option<String>,
    /// What is still missing, in words (rows B5, D5).
    pub gap: Option<String>,
}

impl CoverageRow {
    /// The row of an item that nothing was found for.
    pub fn open(id: ItemId, text: impl Into<String>) -> CoverageRow {
        CoverageRow {
            id,
            text: text.into(),
            state: Coverage::Open,
            score: 0.0,
            evidence: 0,
            sources: 0,
            by_wave: Vec::new(),
            proof: None,
            gap: None,
        }
    }

    /// How many rows are judged how (row B8).
    pub fn counts(rows: &[CoverageRow]) -> CoverageCounts {
        let of = |word: &str| rows.iter().filter(|it| it.state.judged() == word).count() as u32;
        CoverageCounts {
            satisfied: of("satisfied"),
            partial: of("partial"),
            unsatisfied: of("unsatisfied"),
        }
    }

    /// The share of rows that are covered, a partial one counting half, 0 to 1 (row D1).
    pub fn completeness(rows: &[CoverageRow]) -> f32 {
        let points = rows.iter().map(|it| match it.state {
            Coverage::Covered | Coverage::Conflict => 1.0,
            Coverage::Partial => 0.5,
            Coverage::Open => 0.0,
        });
        // The sum of nothing is -0.0, which would be told so.
        (points.sum::<f32>() + 0.0) / rows.len().max(1) as f32
    }
}

/// How many items are judged how, in the words of rows B6 and B8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageCounts {
    /// Answered.
    pub satisfied: u32,
    /// Answered in part.
    pub partial: u32,
    /// Not answered.
    pub unsatisfied: u32,
}

/// All evidence against the whole plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// What must be answered.
    pub plan: Plan,
    /// What was read, in order.
    pub sources: Vec<Source>,
    /// What was found, in order.
    pub evidence: Vec<Evidence>,
}

impl Notes {
    /// An empty notebook for `plan`.
    pub fn new(plan: Plan) -> Notes {
        Notes {
            plan,
            sources: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// What was found for `item`, best first by score.
    pub fn for_item(&self, item: ItemId) -> Vec<&Evidence> {
        let mut found: Vec<&Evidence> = self
            .evidence
            .iter()
            .filter(|it| it.items.contains(&item))
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found
    }

    /// The work with this id.
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.sources.iter().find(|it| it.id == id)
    }

    /// The distinct voices among these pieces of evidence.
    pub fn domains<'a>(&self, evidence: impl IntoIterator<Item = &'a Evidence>) -> BTreeSet<&str> {
        evidence
            .into_iter()
            .filter_map(|it| self.source(it.source))
            .map(|it| it.domain.as_str())
            .collect()
    }
}

/// What the evidence gate asks for (rows C3, D8), lowered to what exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Evidence records wanted.
    pub min_evidence_records: u32,
    /// Records with a citation wanted.
    pub min_cited_records: u32,
    /// Distinct domains wanted.
    pub min_source_domains: u32,
}

/// What the gate said of the notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateVerdict {
    /// Whether research may end.
    pub pass: bool,
    /// Why not, in words; `None` when it passes.
    pub reason: Option<String>,
    /// Records there are.
    pub evidence_records: u32,
    /// Records with a citation there are.
    pub cited_records: u32,
    /// Distinct domains there are.
    pub source_domains: u32,
    /// What was asked for.
    pub gate: Gate,
    /// Whether the minima were lowered because less exists.
    pub lowered: bool,
}

impl Gate {
    /// The gate of the settings.
    pub fn of(method: &Method) -> Gate {
        Gate {
            min_evidence_records: method.min_evidence_records,
            min_cited_records: method.min_cited_records,
            min_source_domains: method.min_source_domains,
        }
    }

    /// Judges the notes. `domains_seen` is how many distinct domains any search has returned:
    /// the gate never asks for more voices than exist, and says so.
    pub fn judge(self, notes: &Notes, domains_seen: u32) -> GateVerdict {
        let records = notes.evidence.len() as u32;
        let domains = notes.domains(&notes.evidence).len() as u32;
        // Every record carries a passage, and so a citation: both counts are one by construction.
        let cited = records;
        let wanted = Gate {
            min_source_domains: self.min_source_domains.min(domains_seen.max(1)),
            ..self
        };
        let mut short = Vec::new();
        if records < wanted.min_evidence_records {
            short.push(format!(
                "{records} of {} evidence records",
                wanted.min_evidence_records
            ));
        }
        if cited < wanted.min_cited_records {
            short.push(format!(
                "{cited} of {} cited records",
                wanted.min_cited_records
            ));
        }
        if domains < wanted.min_source_domains {
            short.push(format!(
                "{domains} of {} distinct domains",
                wanted.min_source_domains
            ));
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
