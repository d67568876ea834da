//! Extracts the main text of an HTML page: parses it, finds the visible blocks and keeps those that are content.
mod blocks;
mod boilerplate;
mod char_refs;
mod date_labels;
mod description_match;
mod dom;
mod element_hints;
mod features;
mod formatting;
mod json_dates;
mod landmarks;
mod links;
mod main_text;
mod mathml;
mod metadata;
mod microdata_date;
mod page;
mod publish_date;
mod smoothing;
mod text;
mod tokenizer;
mod visibility;

pub use links::links;
pub(crate) use page::{all_blocks, read};
pub use page::{describe_blocks, main_text_with};

#[cfg(test)]
mod publish_date_tests;
#[cfg(test)]
mod tests;
