//! Whether the claims of any text are supported by the sources it cites.
//!
//! [`parse_citations`] splits the text into claims and their citations. The caller fetches the pages.
//! [`audit_by_code`], and with a model [`audit_by_model`], then check each claim against each of its pages.
mod address;
mod blocks;
mod citation_labels;
mod citation_marks;
mod citation_parser;
mod clean_text;
mod page_check;
mod source_list;
mod verdicts;

pub use address::{host_of, page_key};
pub use citation_parser::{CitedClaim, CitedSource, CitedText, UncitedSentence, parse_citations};
pub use page_check::{AuditVerdict, PageCheck, PageQuote};
pub use verdicts::{
    Audit, AuditedClaim, SourceLookup, SourceVerdict, audit_by_code, audit_by_model,
};
