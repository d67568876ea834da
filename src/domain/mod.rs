//! The nouns. Plain values: no I/O, no clock, no async.
//!
//! Read in the order of trust: each stage is made only by the one before it.
//! [`Question`] → [`Brief`] → [`Plan`] → [`Query`] → [`Hit`] → [`Page`] → [`Passage`] →
//! [`Evidence`] → [`Claim`] → [`Report`].
mod budget;
mod evidence;
mod ids;
mod judgement;
mod model_choice;
mod outbound;
mod owner;
mod page;
mod plan;
pub mod pubmed;
mod query;
mod question;
mod report;
mod segment;
mod share;
mod source;
mod strategy;
mod text;
mod thread;
pub mod words;
pub mod work;

pub use budget::{Budget, StopReason, Traffic, Usage};
pub use evidence::{
    Coverage, CoverageCounts, CoverageRow, Evidence, Gate, GateVerdict, Notes, Stance,
};
pub use ids::{ClaimId, EvidenceId, ItemId, PageHash, RunId, SourceId};
pub use judgement::{Judgement, Part, Quality, Rating, Vote};
pub use model_choice::{ModelChoice, ModelRole};
pub use outbound::{
    FolderWords, OutboundWords, OwnWord, PermittedWords, PublicName, WordOrigin, is_name, is_public,
};
pub use owner::Owner;
pub use page::{Block, BlockKind, Hit, Hits, Page, PageDraft, Passage, Sentence, Witness};
pub use plan::{
    Complexity, Endpoint, Expansion, Item, Plan, SearchTask, SectionPlan, Variation, Vertical,
    WritingPlan,
};
pub use query::Query;
pub use question::{
    Brief, Clarified, Effort, Follows, Given, Method, Mode, Question, QuestionKind, Turn,
};
pub use report::{
    Answer, Checks, Citation, Claim, Confidence, ConfidenceMark, Conflict, Counted, Excerpt,
    Finding, Followed, Learning, MethodNote, OpenPoint, Report, Section, Side,
};
pub use segment::sentences;
pub use share::{Share, ShareMaker};
pub use source::{Source, SourceKind, Trust};
pub use strategy::{
    GateStatus, ItemStatus, RuntimeProgress, Strategy, Team, UnitProgress, UnitStatus,
};
pub use text::Untrusted;
pub use thread::{Approval, IntakeDecision, Topic};
pub use work::Work;
