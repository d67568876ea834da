//! Research requests: validation of a question and its options, from the command line, forms and JSON.
mod dialogue;
mod fields;
mod question;
mod research_request;
mod schemas;
mod served;
mod validate;

pub use dialogue::{DIALOGUE, parse_turns};
pub use fields::MAX_TEXT_CHARS;
pub(crate) use fields::{
    FieldError, caller_message, names, nonblank, read_fields, setting, text, whole, whole_number,
};
pub use research_request::{BudgetFields, PlanChoice, ResearchRequest};
pub(crate) use schemas::{
    ModeSchema, NonblankSchema, PlanFileSchema, VoteSchema, add_setting_ranges,
    component_generator, tool_schema,
};
pub use served::ServedResources;
pub use validate::{check_date_order, method_for, parse_lang, select_engines, validate_question};
