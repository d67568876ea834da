//! A report as HTML, for served pages and for the standalone file.
//!
//! [`ReportBody`] holds what is shown; the templates escape all of its text. [`render_standalone()`] makes the single file.
mod chart_drawing;
mod diagram;
mod method_rows;
mod quote_numbers;
mod report_body;
mod shared_report;
mod source_card;
mod source_text;
mod standalone;
mod style;
mod view_models;

pub use chart_drawing::{ChartDrawing, ChartMark, ChartShape};
pub use diagram::{Diagram, DiagramNode, mermaid};
pub use report_body::ReportBody;
pub use shared_report::{has_local, render_shared};
pub use source_card::{SourceCard, url_file_name};
pub use source_text::{live_url, passage_location, source};
pub use standalone::{VIEWER_POLICY, content_security_policy, render_standalone};
pub use style::STYLE;
pub use view_models::{
    ChartBar, CitationChip, ComparisonCell, ComparisonView, ConfidenceBadge, ConflictSideView,
    ConflictView, EvidenceTableRow, ExcerptView, FindingGroup, FindingView, QuoteView,
    ReportSentence, SectionView, TocEntry, TopicView,
};
