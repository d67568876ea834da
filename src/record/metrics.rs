use serde::Serialize;
use serde_json::{Value, json};

use super::Event;
use crate::domain::{SourceKind, Vertical};

/// Searches sent and pages read, by kind; counted by [`Run::apply`](super::Run::apply).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ByKind {
    /// Searches of PubMed.
    pub pubmed: u32,
    /// Searches of the web and of news.
    pub web: u32,
    /// Searches of the scholarly record elsewhere than at PubMed.
    pub scholar: u32,
    /// Searches of folders.
    pub local: u32,
    /// Papers read, from PubMed or the scholarly record.
    pub articles: u32,
    /// Everything else read.
    pub pages: u32,
}

impl ByKind {
    /// Takes in one more event.
    pub(super) fn heed(&mut self, it: &Event) {
        match it {
            Event::SearchStarted {
                engine, vertical, ..
            } => {
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

/// What a run took, under the names of row B10.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Rounds made.
    pub total_iterations: u32,
    /// Searches of PubMed.
    pub pubmed_queries: u32,
    /// Searches of the web and of news.
    pub web_queries: u32,
    /// Searches of the scholarly record elsewhere than at PubMed.
    pub scholar_queries: u32,
    /// Searches of folders.
    pub local_queries: u32,
    /// Sources read.
    pub sources_processed: u32,
    /// Of these, papers.
    pub articles_processed: u32,
    /// Of these, everything else.
    pub pages_processed: u32,
    /// Answers of language models.
    pub llm_calls: u64,
}

impl Metrics {
    /// The same under the names of the view that row B9 asks for.
    pub fn in_view(&self) -> Value {
        json!({
            "total_iterations": self.total_iterations,
            "total_pubmed_queries": self.pubmed_queries,
            "total_web_queries": self.web_queries,
            "total_articles_processed": self.articles_processed,
            "total_pages_processed": self.pages_processed,
        })
    }
}
