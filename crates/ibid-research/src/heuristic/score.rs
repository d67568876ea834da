//! How well each sentence of a page answers each item of the plan.
mod assertion;
mod best_sentences;
mod casing;
mod chunks;
mod compared_claims;
mod context;
mod item_matchers;
mod limits;
mod model_view;
mod page;
mod scorer;
mod section_heading;
mod sentence_score;
mod similarity;
mod stance;
mod stated_facts;
mod subject;
mod subject_words;
mod terms;
mod topic_words;
mod word_use;
mod yes_no_claim;

pub(crate) use chunks::chunk_ranges;
pub(crate) use limits::{CHUNK_CHARS, PAGE_CUT};
pub(crate) use page::{PageEvidence, PageInput, PageSentences};
pub(crate) use scorer::RelevanceScorer;
pub(crate) use sentence_score::similar_fit;
