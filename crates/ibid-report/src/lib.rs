//! Renders a report in every supported format, and the events of a run as lines of text ([`event_line`]).
//!
//! [`ReportFormat::render`] is the entry point. Untrusted text goes through [`escape`].
//! Nothing is decided or looked up here: a report is printed as it is.
pub mod audit;
pub mod changes;
pub mod citation_spans;
pub mod document;
pub mod docx;
pub mod escape;
pub mod event_line;
pub mod evidence;
pub mod evidence_csv;
pub mod html;
pub mod introduction;
pub mod json;
pub mod judgement;
pub mod latex;
pub mod markdown;
pub mod markdown_dialects;
mod method_notes;
#[cfg(feature = "pdf")]
pub mod pdf;
pub mod phrases;
pub mod plan;
pub mod references;
pub mod report_format;
mod text_chart;

use std::collections::BTreeMap;

use ibid_core::domain::{Page, PageHash};

pub use report_format::{ExportOptions, ExportOutput, ReportFormat};

/// The stored pages of a report, by hash. Each function that takes them says what happens when one is missing.
pub type PagesByHash = BTreeMap<PageHash, Page>;
