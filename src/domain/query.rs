//! What is looked for, in folders or outside.
use serde::Serialize;

use super::outbound::is_part;
use super::{ItemId, OutboundWords, Variation, Vertical, WordOrigin};

/// What is looked for, where, and for which item.
///
/// A query for folders takes any words. A query for the outside is made of [`OutboundWords`] alone, which text of private
/// documents cannot become: so neither its words nor where it goes can be set by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Query {
    words: QueryWords,
    /// For which item.
    pub item: ItemId,
    /// By which variation.
    pub variation: Variation,
    /// How many hits are wanted.
    pub limit: u32,
    /// Only these domains, where any are named.
    pub domains: Vec<String>,
    /// Never these domains.
    pub not_domains: Vec<String>,
    /// Published on or after, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// Published on or before, `YYYY-MM-DD`.
    pub until: Option<String>,
}

/// The words of a query and where they are sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
enum QueryWords {
    Folders(String),
    Outside(Vertical, OutboundWords),
}

impl Query {
    /// A query for folders of documents, without bounds on sites and days.
    pub fn local(text: impl Into<String>, item: ItemId, variation: Variation, limit: u32) -> Query {
        Query::asking(QueryWords::Folders(text.into()), item, variation, limit)
    }

    /// A query for the outside, without bounds on sites and days; one for folders where `vertical` says so.
    pub fn outside(
        words: OutboundWords,
        vertical: Vertical,
        item: ItemId,
        variation: Variation,
        limit: u32,
    ) -> Query {
        let asked = match vertical {
            Vertical::Local => QueryWords::Folders(words.text().to_owned()),
            _ => QueryWords::Outside(vertical, words),
        };
        Query::asking(asked, item, variation, limit)
    }

    fn asking(words: QueryWords, item: ItemId, variation: Variation, limit: u32) -> Query {
        Query {
            words,
            item,
            variation,
            limit,
            domains: Vec::new(),
            not_domains: Vec::new(),
            since: None,
            until: None,
        }
    }

    /// The words that are sent.
    pub fn text(&self) -> &str {
        match &self.words {
            QueryWords::Folders(text) => text,
            QueryWords::Outside(_, words) => words.text(),
        }
    }

    /// Where they are sent.
    pub fn vertical(&self) -> Vertical {
        match &self.words {
            QueryWords::Folders(_) => Vertical::Local,
            QueryWords::Outside(vertical, _) => *vertical,
        }
    }

    /// Where the words of a query for the outside come from; empty for folders.
    pub fn origins(&self) -> &[WordOrigin] {
        match &self.words {
            QueryWords::Folders(_) => &[],
            QueryWords::Outside(_, words) => words.origins(),
        }
    }

    /// The same query for folders, with other words.
    #[must_use]
    pub fn locally(&self, text: impl Into<String>) -> Query {
        Query {
            words: QueryWords::Folders(text.into()),
            ..self.clone()
        }
    }

    /// The same query with fewer words, where `cut` holds no other; else as it is.
    #[must_use]
    pub fn cut_to(&self, cut: &str) -> Query {
        let fewer = match &self.words {
            QueryWords::Folders(text) => {
                is_part(cut, text).then(|| QueryWords::Folders(cut.to_owned()))
            }
            QueryWords::Outside(vertical, words) => words
                .shortened(cut)
                .map(|it| QueryWords::Outside(*vertical, it)),
        };
        Query {
            words: fewer.unwrap_or_else(|| self.words.clone()),
            ..self.clone()
        }
    }
}
