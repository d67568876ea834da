use serde::{Deserialize, Serialize};

use super::{EvidenceId, ItemId};

/// A section of the report that is being researched. Its title is its name: no two sections have the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutlineSection {
    /// Its heading.
    pub title: String,
    /// What it is to say.
    pub claim: String,
    /// The items it answers; none for one about the whole, such as an introduction.
    pub items: Vec<ItemId>,
    /// Its own evidence, best first; each piece belongs to one section.
    pub evidence: Vec<EvidenceId>,
    /// What it still lacks, in words.
    pub gaps: Vec<String>,
    /// Whether all its items are covered.
    pub answered: bool,
}

/// A change of the outline. Sections are named by their titles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
pub enum OutlineEdit {
    /// A section was added at the end.
    Add {
        /// Its title.
        title: String,
    },
    /// A section has enough evidence on several items to be one section for each.
    Split {
        /// Its title.
        title: String,
        /// The titles of the sections in its place.
        into: Vec<String>,
    },
    /// A section has too little to stand alone, and another speaks of the same.
    Merge {
        /// Its title.
        title: String,
        /// The title of the section that takes its items.
        into: String,
    },
    /// Nothing was found for a section.
    Drop {
        /// Its title.
        title: String,
    },
    /// A section was moved to this place, counted from 0.
    Move {
        /// Its title.
        title: String,
        /// Its new place.
        to: u32,
    },
    /// All items of a section are covered.
    MarkAnswered {
        /// Its title.
        title: String,
    },
    /// An item of an answered section is no longer covered.
    Reopen {
        /// Its title.
        title: String,
    },
}
