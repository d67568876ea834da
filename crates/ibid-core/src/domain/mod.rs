//! The domain types: plain values without I/O, clock or async.
//!
//! Read them in the order of the flow: [`Question`] →
//! [`Brief`] → [`Plan`] → [`Query`] → [`Hit`] → [`Page`] → [`Passage`] → [`Evidence`] → [`Claim`] → [`Report`].
mod budget;
mod chart;
mod claim;
mod critique;
mod evidence;
mod ids;
mod judgement;
mod model_choice;
mod outbound;
mod outline;
mod owner;
mod page;
mod page_parts;
mod plan;
pub mod pubmed;
mod query;
mod question;
mod report;
mod segment;
mod share;
mod short_answer;
mod source;
mod strategy;
mod synonym;
mod table;
mod thread;
mod untrusted;
pub mod words;
pub mod work;

pub use budget::{Budget, CostEstimate, StopReason, Traffic, Usage};
pub use chart::{Chart, ChartKind, ChartPoint};
pub use claim::{Citation, Claim};
pub use critique::{Critic, Objection, PatchOutcome};
pub use evidence::{
    Coverage, CoverageCounts, CoverageRow, Evidence, EvidenceGate, EvidenceStore, GateVerdict,
    Stance,
};
pub use ids::{ClaimId, EvidenceId, ItemId, PageHash, RunId, SourceId};
pub use judgement::{Judgement, QualityPart, QualityScore, Rating, Vote};
pub use model_choice::{ModelChoice, ModelRole, ReasoningEffort};
pub use outbound::{
    FolderWordPolicy, ModelWord, OnThisMachine, Outbound, OutboundWordPolicy, OutboundWords,
    PublicName, WordOrigin, WordPolicy, is_name, is_public,
};
pub use outline::{OutlineEdit, OutlineSection};
pub use owner::Owner;
pub use page::{
    Block, BlockKind, DraftLink, Hit, Hits, Page, PageDraft, PageLink, Passage, Sentence,
    UrlProvenance,
};
pub use page_parts::PassageMatches;
pub use plan::{
    ChecklistItem, Complexity, Plan, QueryExpansion, SearchEndpoint, SearchTask, SectionPlan,
    Variation, Vertical, WritingPlan,
};
pub use query::Query;
pub use question::{
    Brief, Clarification, DialogueTurn, Effort, OutputMode, ProvidedPlan, Question, QuestionKind,
    ResearchSettings, ThreadContext,
};
pub use report::{
    Answer, ComparisonRow, ComparisonTable, Confidence, ConfidenceMark, Conflict, ConflictCause,
    ConflictSide, Excerpt, Finding, FindingKind, FollowUpNote, MethodNote, OpenItem, Ratio, Report,
    ReportChecks, Section, SectionLayout, YesNo,
};
pub use segment::{opens_sentence, split_sentences};
pub use share::{ShareCreator, ShareLink};
pub use source::{Source, SourceKind, Trust, public_address};
pub use strategy::{
    GateStatus, ItemStatus, ResearcherProgress, ResearcherStatus, RuntimeProgress, Strategy,
    SupervisorSettings,
};
pub use synonym::Synonym;
pub use table::{Table, TableRow};
pub use thread::{Approval, IntakeDecision, TopicRelation};
pub use untrusted::Untrusted;
pub use work::Work;

/// Whether a field that is left out of JSON has the value that it is read as.
fn is_default<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
}
