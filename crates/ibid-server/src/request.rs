//! Research requests: validation of a question and its options, from the command line, forms and JSON.
mod dialogue;
mod json_fields;
mod research_request;
mod served;
mod validate;

pub use dialogue::{DIALOGUE, parse_turns};
pub(crate) use json_fields::is_field;
pub use research_request::ResearchRequest;
pub use served::ServedResources;
pub use validate::{check_date_order, method_for, parse_lang, select_engines, validate_question};
