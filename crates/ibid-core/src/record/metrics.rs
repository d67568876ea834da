use serde::Serialize;

use super::Event;
use crate::domain::{SourceKind, Vertical};

/// Searches sent and pages read, by kind; updated by [`Run::apply`](super::Run::apply).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CountsByKind {
    /// Searches of PubMed.
    pub pubmed: u32,
    /// Web and news searches.
    pub web: u32,
    /// Searches of scholarly indexes other than PubMed.
    pub scholar: u32,
    /// Searches of folders.
    pub local: u32,
    /// Papers read.
    pub articles: u32,
    /// Everything else read.
    pub pages: u32,
}

impl CountsByKind {
    /// Counts an event. Events must be passed in order.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::SearchStarted { engine, vertical, .. } => {
                let of_kind = match (engine.as_str(), vertical) {
                    ("pubmed", _) => &mut self.pubmed,
                    (_, Vertical::Local) => &mut self.local,
                    (_, Vertical::Scholar | Vertical::Pubmed) => &mut self.scholar,
                    (_, Vertical::Web | Vertical::News) => &mut self.web,
                };
                *of_kind += 1;
            }
            Event::ReadCompleted { source, .. } => {
                let of_kind = match source.kind {
                    SourceKind::Pubmed | SourceKind::Scholar => &mut self.articles,
                    SourceKind::Web | SourceKind::News | SourceKind::Local => &mut self.pages,
                };
                *of_kind += 1;
            }
            _ => {}
        }
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunMetrics {
    /// Rounds of research.
    pub total_iterations: u32,
    /// Searches of PubMed.
    pub pubmed_queries: u32,
    /// Web and news searches.
    pub web_queries: u32,
    /// Searches of scholarly indexes other than PubMed.
    pub scholar_queries: u32,
    /// Searches of folders.
    pub local_queries: u32,
    /// Sources read.
    pub sources_processed: u32,
    /// Papers among them.
    pub articles_processed: u32,
    /// Other sources among them.
    pub pages_processed: u32,
    /// Completed model calls.
    pub llm_calls: u64,
}
