//! What each step does without a model: plain functions without I/O.
pub(crate) mod answer;
pub(crate) mod answer_shape;
pub(crate) mod claim_clusters;
pub(crate) mod compose;
pub(crate) mod conflicts;
mod directives;
pub(crate) mod editions;
pub(crate) mod injection;
pub(crate) mod intake;
pub(crate) mod language;
pub(crate) mod lexicon;
pub(crate) mod plan;
pub(crate) mod queries;
pub(crate) mod question_kind;
pub(crate) mod score;
pub(crate) mod sentence;
pub mod text_answer;
