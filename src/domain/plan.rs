use serde::{Deserialize, Serialize};

use super::ItemId;

/// Where a query is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vertical {
    /// Web engines.
    Web,
    /// News engines.
    News,
    /// The scholarly record.
    Scholar,
    /// PubMed, in its own syntax.
    Pubmed,
    /// Local folders.
    Local,
}

/// How a query was made from an item (row D3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variation {
    /// In the words of the item.
    Original,
    /// In other words.
    Rephrased,
    /// A step back.
    Broader,
    /// A step closer.
    Narrower,
    /// From what an earlier search found, or did not find.
    Gap,
}

/// One thing that a complete answer must say (rows B3, D2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// `Q1`, `Q2`, …
    pub id: ItemId,
    /// What it asks, as a full sentence or phrase a person can read.
    pub asks: String,
    /// The heading of its section in the report.
    pub heading: String,
    /// Words that evidence for this item should speak of, most telling first.
    pub terms: Vec<String>,
    /// The first query for it.
    pub query: String,
}

/// The queries that an item of the plan is asked by (row D3), broad first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expansion {
    /// For which item.
    pub item: ItemId,
    /// In the words of the item.
    pub original_query: String,
    /// The same in other words, three different ones as a rule.
    pub variations: Vec<String>,
    /// The step back.
    pub broad_query: String,
    /// The step closer.
    pub specific_query: String,
}

/// How many calls a question deserves (row D12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// One fact.
    Simple,
    /// A few sides.
    Moderate,
    /// Many sides.
    Complex,
}

/// One section of the report as planned (row A1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SectionPlan {
    /// Its heading.
    pub title: String,
    /// What belongs in it.
    pub guidance: String,
    /// The items it answers.
    pub items: Vec<ItemId>,
}

/// Where a search task is sent, in the words of row A1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Endpoint {
    /// The web, and folders of documents.
    #[serde(rename = "/search")]
    Search,
    /// The scholarly record.
    #[serde(rename = "/scholar")]
    Scholar,
    /// News.
    #[serde(rename = "/news")]
    News,
}

/// One of the first searches of a planned report (row A1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchTask {
    /// The words sent.
    pub query: String,
    /// Where.
    pub endpoint: Endpoint,
    /// How many hits are wanted.
    pub num_results: u32,
    /// Why this one.
    pub reasoning: String,
}

/// How the report is to be written (row A1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WritingPlan {
    /// What the report is for.
    pub overall_goal: String,
    /// Its tone.
    pub desired_tone: String,
    /// Its sections in order.
    pub sections: Vec<SectionPlan>,
    /// Anything else to obey.
    pub additional_directives: Vec<String>,
    /// Whether the report ends with the list of its sources (row A10).
    #[serde(default = "yes")]
    pub bibliography: bool,
}

fn yes() -> bool {
    true
}

/// The checklist of what a complete answer must say, and how it will be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    items: Vec<Item>,
    /// The first searches, where the strategy `planned` gathers; made by the items where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search_tasks: Vec<SearchTask>,
    /// How much the question asks for.
    pub complexity: Complexity,
    /// How the report is to be written.
    pub writing: WritingPlan,
}

impl Plan {
    /// A plan of 1 to 7 items, or `None` if there are none or too many.
    pub fn new(items: Vec<Item>, complexity: Complexity, writing: WritingPlan) -> Option<Plan> {
        (1..=7).contains(&items.len()).then_some(Plan {
            items,
            search_tasks: Vec::new(),
            complexity,
            writing,
        })
    }

    /// The same with one more item and a section for it; `None` where there are 7 already.
    pub fn with(&self, item: Item) -> Option<Plan> {
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
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The item with this id.
    pub fn item(&self, id: ItemId) -> Option<&Item> {
        self.items.iter().find(|it| it.id == id)
    }
}
