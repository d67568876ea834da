//! The twins of the steps that need no model: plain functions of nouns, without calls.
pub mod agree;
pub(crate) mod answer;
pub(crate) mod choose;
pub(crate) mod compose;
pub(crate) mod conflicts;
mod directions;
pub(crate) mod editions;
pub(crate) mod fits;
pub(crate) mod intake;
pub(crate) mod kinds;
pub(crate) mod language;
pub(crate) mod lexicon;
pub(crate) mod orders;
pub(crate) mod plan;
pub(crate) mod queries;
pub(crate) mod score;
pub(crate) mod sentence;
