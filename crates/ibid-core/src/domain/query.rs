//! Search queries, for folders or external engines.
use serde::Serialize;

use super::outbound::is_subset;
use super::{ItemId, OutboundWords, Variation, Vertical, WordOrigin};

/// A search query: its text, where it is sent, and for which item.
///
/// A folder query takes any text. An external query is constructed from [`OutboundWords`] only, which text of private
/// documents cannot become; therefore the text and the vertical cannot be set separately.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Query {
    words: QueryWords,
    /// The item it is for.
    pub item: ItemId,
    /// How it was derived from the item.
    pub variation: Variation,
    /// Number of hits to request.
    pub limit: u32,
    /// Restricts the search to these domains, unless empty.
    pub domains: Vec<String>,
    /// Excludes these domains.
    pub not_domains: Vec<String>,
    /// Published on or after, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// Published on or before, `YYYY-MM-DD`.
    pub until: Option<String>,
}

/// The text of a query and its destination.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
enum QueryWords {
    Folders(String),
    Outside(Vertical, OutboundWords),
}

impl Query {
    /// Creates a folder query, without limits on domains and dates.
    pub fn local(text: impl Into<String>, item: ItemId, variation: Variation, limit: u32) -> Query {
        Query::new(QueryWords::Folders(text.into()), item, variation, limit)
    }

    /// Creates an external query, without limits on domains and dates; a folder query if `vertical` is local.
    pub fn outbound(
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
        Query::new(asked, item, variation, limit)
    }

    /// Creates an external query of words that are part of the program.
    pub fn from_static(text: &'static str, vertical: Vertical, limit: u32) -> Query {
        let words = OutboundWords::from_static(text);
        Query::outbound(words, vertical, ItemId::new(1), Variation::Original, limit)
    }

    fn new(words: QueryWords, item: ItemId, variation: Variation, limit: u32) -> Query {
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

    /// The text that is sent.
    pub fn text(&self) -> &str {
        match &self.words {
            QueryWords::Folders(text) => text,
            QueryWords::Outside(_, words) => words.text(),
        }
    }

    /// The same query for another vertical of an outside engine. A folder query stays one: its words may not leave.
    #[must_use]
    pub fn for_vertical(&self, vertical: Vertical) -> Query {
        let mut query = self.clone();
        if let (QueryWords::Outside(of, _), true) = (&mut query.words, vertical != Vertical::Local)
        {
            *of = vertical;
        }
        query
    }

    /// The vertical it is sent to.
    pub fn vertical(&self) -> Vertical {
        match &self.words {
            QueryWords::Folders(_) => Vertical::Local,
            QueryWords::Outside(vertical, _) => *vertical,
        }
    }

    /// The origins of the words of an external query; empty for folder queries.
    pub fn origins(&self) -> &[WordOrigin] {
        match &self.words {
            QueryWords::Folders(_) => &[],
            QueryWords::Outside(_, words) => words.origins(),
        }
    }

    /// Returns the query with the text `cut` if that contains no other words; otherwise returns it unchanged.
    #[must_use]
    pub fn shortened(&self, cut: &str) -> Query {
        let fewer = match &self.words {
            QueryWords::Folders(text) => {
                is_subset(cut, text).then(|| QueryWords::Folders(cut.to_owned()))
            }
            QueryWords::Outside(vertical, words) => {
                words.shorten(cut).map(|it| QueryWords::Outside(*vertical, it))
            }
        };
        Query { words: fewer.unwrap_or_else(|| self.words.clone()), ..self.clone() }
    }
}
