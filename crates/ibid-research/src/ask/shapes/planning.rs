//! Refining the question, planning, and further queries.
use serde::Deserialize;
use serde_json::Value;

use super::supervising::{task_schema, valid_search_tasks};
use super::{
    at_least, check_no_citations, check_no_unknown_codes, check_searchable, ensure_that, join_rows,
    list, object, one_of, or_none, render_prompt, text, whole_number,
};
use crate::ask::template::{one_line, render};
use crate::prompts;
use ibid_core::Result;
use ibid_core::domain::{
    ChecklistItem, Complexity, CoverageRow, DialogueTurn, ItemId, QuestionKind, SearchTask,
    Variation,
};
use ibid_core::ports::Prompt;

/// The question kinds by the names a model uses.
const KINDS: &[&str] = &[
    "definition",
    "how_to",
    "comparison",
    "why",
    "causal",
    "list",
    "when",
    "who",
    "quantity",
    "where",
    "yes_no",
    "open",
];

/// The prompt that refines a question.
#[derive(Debug, Clone)]
pub struct RefinePrompt<'a> {
    /// The question as asked.
    pub question: &'a str,
    /// The day it was asked, `YYYY-MM-DD`.
    pub today: &'a str,
    /// Earlier turns of the conversation.
    pub dialogue: &'a [DialogueTurn],
}

/// The refined question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RefineReply {
    /// The kind of answer wanted.
    pub kind: QuestionKind,
    /// An unambiguous wording.
    pub question: String,
    /// What it is about, most important first.
    pub subjects: Vec<String>,
    /// Words to search for, most specific first.
    pub key_terms: Vec<String>,
    /// What a complete answer covers.
    pub scope_in: Vec<String>,
    /// What it leaves out.
    pub scope_out: Vec<String>,
    /// Two-letter language code of the question.
    pub lang: String,
    /// Questions to ask the person first; usually none.
    pub clarify: Vec<String>,
}

impl RefinePrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let turns = self.dialogue.iter().flat_map(|turn| {
            let sides = [("Person", &turn.user), ("System", &turn.assistant)];
            sides
                .map(|(who, words)| words.as_ref().map(|word| format!("{who}: {}", one_line(word))))
        });
        let dialogue = join_rows(turns.flatten());
        render_prompt(
            "refine",
            Self::schema(),
            &[
                ("question", self.question),
                ("today", self.today),
                ("dialogue", &dialogue),
                ("kinds", &KINDS.join(", ")),
            ],
        )
    }

    fn schema() -> Value {
        object(&[
            ("kind", one_of(KINDS)),
            ("question", text()),
            ("subjects", list(&text(), 6)),
            ("key_terms", list(&text(), 10)),
            ("scope_in", list(&text(), 8)),
            ("scope_out", list(&text(), 8)),
            ("lang", text()),
            ("clarify", list(&text(), 3)),
        ])
    }
}

impl RefineReply {
    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self) -> std::result::Result<(), String> {
        let length = self.question.trim().chars().count();
        ensure_that((3..=2_000).contains(&length), || {
            format!("`question` has {length} characters; it must be the question, made precise")
        })?;
        ensure_that(self.key_terms.iter().any(|key_term| !key_term.trim().is_empty()), || {
            "`key_terms` is empty".to_owned()
        })?;
        let code = self.lang.len() == 2 && self.lang.bytes().all(|byte| byte.is_ascii_lowercase());
        ensure_that(code, || "`lang` must be a two-letter language code such as en".to_owned())
    }
}

/// The prompt that breaks a question down.
#[derive(Debug, Clone)]
pub struct PlanPrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The kind of answer wanted, as in [`RefineReply::kind`].
    pub kind: QuestionKind,
    /// What a complete answer covers.
    pub scope_in: &'a [String],
    /// What it leaves out.
    pub scope_out: &'a [String],
    /// The day it was asked, `YYYY-MM-DD`.
    pub today: &'a str,
    /// The language to write in, by [`language_name`](super::language_name).
    pub language: &'a str,
    /// How many search tasks are wanted; 0 where gathering does not begin with them.
    pub tasks: u32,
    /// Who asks, and what for.
    pub context: Option<&'a str>,
}

/// The checklist and the writing plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlanReply {
    /// How much the question asks for.
    pub complexity: Complexity,
    /// What a complete answer must say: three to seven items.
    pub items: Vec<PlannedItem>,
    /// How to find the answer, in free text.
    #[serde(default)]
    pub approach: String,
    /// What the report is for.
    pub goal: String,
    /// Its tone.
    pub tone: String,
    /// Its sections, in order.
    pub sections: Vec<PlannedSection>,
    /// Other instructions to follow.
    pub directives: Vec<String>,
    /// What to search for first, where that was asked for.
    #[serde(default)]
    pub search_tasks: Vec<SearchTask>,
}

/// One thing that a complete answer must say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedItem {
    /// The heading of its section.
    pub heading: String,
    /// The question it answers.
    pub asks: String,
    /// A query for it; if empty, `asks` is searched for.
    pub query: String,
}

/// One section of the report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedSection {
    /// Its heading.
    pub title: String,
    /// What belongs in it.
    pub guidance: String,
    /// The numbers of the items it answers, from 1.
    pub items: Vec<u32>,
}

impl PlanPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let kind = serde_json::to_value(self.kind).unwrap_or_default();
        let lines = prompts::prompt_lines()?;
        let context = prompts::context_line(self.context)?;
        let tasks = match self.tasks {
            0 => String::new(),
            most => prompts::fill_template(&lines.tasks, &[("most", &most.to_string())]),
        };
        render_prompt(
            "plan",
            self.schema(),
            &[
                ("question", self.question),
                ("kind", kind.as_str().unwrap_or_default()),
                ("scope_in", &or_none(self.scope_in.join("; "))),
                ("scope_out", &or_none(self.scope_out.join("; "))),
                ("today", self.today),
                ("context", &context),
                ("language", self.language),
                ("tasks", &tasks),
            ],
        )
    }

    fn schema(&self) -> Value {
        let item = object(&[("heading", text()), ("asks", text()), ("query", text())]);
        let section =
            object(&[("title", text()), ("guidance", text()), ("items", list(&whole_number(), 7))]);
        let mut fields = vec![
            ("complexity", one_of(&["simple", "moderate", "complex"])),
            ("items", at_least(3, list(&item, 7))),
            ("approach", text()),
            ("goal", text()),
            ("tone", text()),
            ("sections", list(&section, 8)),
            ("directives", list(&text(), 5)),
        ];
        if self.tasks > 0 {
            fields.push(("search_tasks", list(&task_schema(), self.tasks as usize)));
        }
        object(&fields)
    }
}

/// Renders the prompt of a plan with the changes the person wants in the previous one, oldest first.
///
/// # Errors
/// `Internal` when the template cannot be filled.
pub(crate) fn add_change_requests(
    mut prompt: Prompt,
    before: &[ChecklistItem],
    wishes: &[String],
) -> Result<Prompt> {
    let seen = join_rows(before.iter().map(|it| format!("- {}", one_line(&it.asks))));
    let wishes = join_rows(wishes.iter().map(|text| format!("- {}", one_line(text))));
    let values = [("plan", seen.as_str()), ("wishes", wishes.as_str())];
    let more = render("replan.md", prompts::prompt_template("replan.md")?, &values)?.user;
    if let Some(asked) = prompt.messages.last_mut() {
        asked.text = format!("{}\n\n{more}", asked.text);
    }
    Ok(prompt)
}

impl PlanReply {
    /// Checks that at least one item can be used. Other items that cannot are not errors:
    /// [`valid_items`](PlanReply::valid_items) leaves them out.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self) -> std::result::Result<(), String> {
        let first = self.items.iter().find_map(|item| item.check().err());
        ensure_that(!self.valid_items().is_empty(), || {
            first.unwrap_or_else(|| "`items` is empty; 3 to 7 are asked for".to_owned())
        })
    }

    /// The search tasks that can be sent, at most `most`. `question` is the refined question.
    pub fn valid_tasks(&self, question: &str, most: u32) -> Vec<SearchTask> {
        let asked = self.items.iter().map(|item| item.asks.as_str());
        let mut tasks = valid_search_tasks(self.search_tasks.clone(), asked.chain([question]));
        tasks.truncate(most as usize);
        tasks
    }

    /// The items that can be used, each once, with the numbers that sections use for them.
    pub fn valid_items(&self) -> Vec<(u32, &PlannedItem)> {
        let mut kept: Vec<(u32, &PlannedItem)> = Vec::new();
        for (nth, item) in (1..).zip(&self.items) {
            if item.check().is_ok() && !kept.iter().any(|pair| pair.1.is_same_item(item)) {
                kept.push((nth, item));
            }
        }
        kept
    }
}

impl PlannedItem {
    fn check(&self) -> std::result::Result<(), String> {
        ensure_that(!self.heading.trim().is_empty(), || "an item has no heading".to_owned())?;
        ensure_that(!self.asks.trim().is_empty(), || "an item asks nothing".to_owned())?;
        check_no_citations(&self.heading)?;
        check_no_citations(&self.asks)?;
        match self.query.trim() {
            "" => Ok(()),
            query => check_searchable(query),
        }
    }

    fn is_same_item(&self, other: &PlannedItem) -> bool {
        let same = |a: &str, b: &str| a.trim().to_lowercase() == b.trim().to_lowercase();
        same(&self.heading, &other.heading) || same(&self.asks, &other.asks)
    }
}

/// The prompt for queries on what is still open.
#[derive(Debug, Clone)]
pub struct QueriesPrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The open items, each with its coverage row, where there is one.
    pub items: &'a [(&'a ChecklistItem, Option<&'a CoverageRow>)],
    /// What was searched before.
    pub searched: &'a [String],
    /// Whether each query is also wanted in PubMed's syntax.
    pub pubmed: bool,
}

/// Further queries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct QueriesReply {
    /// In the order of the items.
    pub queries: Vec<QueryRow>,
}

/// One query.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct QueryRow {
    /// The item it is for.
    pub item: ItemId,
    /// How it varies the item's own query.
    pub variation: Variation,
    /// The query.
    pub query: String,
    /// The same query in PubMed's syntax, where that was asked for and is valid.
    #[serde(default)]
    pub pubmed: Option<String>,
}

impl QueriesPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let items = join_rows(self.items.iter().map(|(item, row)| {
            let gap = row.and_then(|row| row.gap.as_deref()).map(one_line);
            let gap = gap.map_or(String::new(), |gap| format!(" (missing: {gap})"));
            format!("{}: {}{gap}", item.id, one_line(&item.asks))
        }));
        let searched = join_rows(self.searched);
        let ids: Vec<String> = self.items.iter().map(|item| item.0.id.to_string()).collect();
        let mut fields = vec![
            ("item", one_of(&ids)),
            ("variation", one_of(&["rephrased", "broader", "narrower", "gap"])),
            ("query", text()),
        ];
        if self.pubmed {
            fields.push(("pubmed", text()));
        }
        let row = object(&fields);
        let pubmed = if self.pubmed {
            format!(" {}", prompts::phrases()?.query.pubmed)
        } else {
            String::new()
        };
        let schema = object(&[("queries", list(&row, 3 * ids.len().max(1)))]);
        render_prompt(
            "queries",
            schema,
            &[
                ("question", self.question),
                ("items", &items),
                ("searched", &searched),
                ("pubmed", &pubmed),
            ],
        )
    }

    /// Checks that there is something new to search for. Other queries that cannot be sent are not errors:
    /// [`valid_queries`](QueriesPrompt::valid_queries) leaves them out.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &QueriesReply) -> std::result::Result<(), String> {
        let known = |row: &&QueryRow| {
            let query = row.query.trim();
            let is_known = |text: &String| text.trim().to_lowercase() == query.to_lowercase();
            self.searched.iter().any(is_known)
        };
        ensure_that(!answer.queries.is_empty(), || "`queries` is empty".to_owned())?;
        let sound = self.valid_queries(answer);
        if sound.is_empty() {
            answer.queries.iter().try_for_each(|query| self.check_row(query))?;
        }
        ensure_that(!sound.iter().all(known), || {
            "all these queries were searched before".to_owned()
        })
    }

    /// The queries that can be sent.
    pub fn valid_queries<'b>(&self, answer: &'b QueriesReply) -> Vec<&'b QueryRow> {
        let sent = answer.queries.iter().filter(|query| self.check_row(query).is_ok());
        sent.collect()
    }

    /// Checks that a query holds no address and no code beyond those in the question.
    fn check_row(&self, row: &QueryRow) -> std::result::Result<(), String> {
        let items = self.items.iter().flat_map(|(item, row)| {
            let gap = row.and_then(|row| row.gap.as_deref());
            [Some(item.asks.as_str()), Some(&item.query), gap]
        });
        let known =
            items.flatten().chain(self.searched.iter().map(String::as_str)).chain([self.question]);
        check_searchable(&row.query)?;
        // The query for PubMed leaves the machine, too.
        let apart = |text: &str| text.replace(['(', ')', '[', ']', '"'], " ");
        let pubmed = row.pubmed.as_deref().map(apart);
        let words = format!("{} {}", row.query, pubmed.unwrap_or_default());
        check_no_unknown_codes(&words, known)
    }
}
