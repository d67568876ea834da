use serde::{Deserialize, Serialize};

use super::ItemId;

/// The kind of search engine a query is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vertical {
    /// Web engines.
    Web,
    /// News engines.
    News,
    /// Scholarly indexes.
    Scholar,
    /// PubMed, in its own query syntax.
    Pubmed,
    /// Local folders.
    Local,
}

/// How a query was derived from an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variation {
    /// The item's own wording.
    Original,
    /// A paraphrase.
    Rephrased,
    /// A broader query.
    Broader,
    /// A narrower query.
    Narrower,
    /// A query for what an earlier search did not answer.
    Gap,
}

/// One thing that a complete answer must contain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChecklistItem {
    /// `Q1`, `Q2`, …
    pub id: ItemId,
    /// What it asks, as a sentence or phrase.
    pub asks: String,
    /// The heading of its section in the report.
    pub heading: String,
    /// Words that evidence for this item should contain, most distinctive first.
    pub terms: Vec<String>,
    /// The first query for it.
    pub query: String,
}

/// The queries for an item of the plan, broad first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryExpansion {
    /// The item.
    pub item: ItemId,
    /// The item's own wording.
    pub original_query: String,
    /// Other wordings, usually three, and more where the breadth is above four.
    pub variations: Vec<String>,
    /// A broader query.
    pub broad_query: String,
    /// A narrower query.
    pub specific_query: String,
}

/// The complexity of a question; it decides how many calls are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// One fact.
    Simple,
    /// A few aspects.
    Moderate,
    /// Many aspects.
    Complex,
}

/// One planned section of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SectionPlan {
    /// Its heading.
    pub title: String,
    /// What it should contain.
    pub guidance: String,
    /// The items it answers.
    pub items: Vec<ItemId>,
}

/// The endpoint of a search task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SearchEndpoint {
    /// The web, and folders of documents.
    #[serde(rename = "/search")]
    Search,
    /// Scholarly indexes.
    #[serde(rename = "/scholar")]
    Scholar,
    /// News.
    #[serde(rename = "/news")]
    News,
}

/// One of the initial searches of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchTask {
    /// The query.
    pub query: String,
    /// The endpoint.
    pub endpoint: SearchEndpoint,
    /// Number of hits to request.
    pub num_results: u32,
    /// The reason for this search.
    pub reasoning: String,
}

/// How the report is to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WritingPlan {
    /// The purpose of the report.
    pub overall_goal: String,
    /// Its tone.
    pub desired_tone: String,
    /// Its sections in order.
    pub sections: Vec<SectionPlan>,
    /// Further instructions.
    pub additional_directives: Vec<String>,
    /// Whether the report ends with a list of its sources.
    #[serde(default = "yes")]
    pub bibliography: bool,
}

fn yes() -> bool {
    true
}

/// The checklist of what a complete answer must contain, and how the report is to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    items: Vec<ChecklistItem>,
    /// How the planner model goes about the question, in free text; empty in a plan by code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approach: String,
    /// The initial searches of the `planned` strategy; if empty, they are derived from the items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search_tasks: Vec<SearchTask>,
    /// The complexity of the question.
    pub complexity: Complexity,
    /// How the report is to be written.
    pub writing: WritingPlan,
}

impl Plan {
    /// Creates a plan of 1 to 7 items. Returns `None` for any other number.
    pub fn new(
        items: Vec<ChecklistItem>,
        complexity: Complexity,
        writing: WritingPlan,
    ) -> Option<Plan> {
        (1..=7).contains(&items.len()).then_some(Plan {
            items,
            approach: String::new(),
            search_tasks: Vec::new(),
            complexity,
            writing,
        })
    }

    /// Returns the plan with one more item and a section for it, or `None` if it already has 7.
    pub fn with_item(&self, item: ChecklistItem) -> Option<Plan> {
        let mut plan = self.clone();
        plan.writing.sections.push(SectionPlan {
            title: item.heading.clone(),
            guidance: item.asks.clone(),
            items: vec![item.id],
        });
        plan.items.push(item);
        (plan.items.len() <= 7).then_some(plan)
    }

    /// The items in order.
    pub fn items(&self) -> &[ChecklistItem] {
        &self.items
    }

    /// Returns the item with this id.
    pub fn item(&self, id: ItemId) -> Option<&ChecklistItem> {
        self.items.iter().find(|item| item.id == id)
    }
}
