//! Refining the question, breaking it down, searching on.
use serde::Deserialize;
use serde_json::Value;

use super::supervising::{sound_tasks, task};
use super::{
    at_least, list, must, object, one_of, or_none, prompt, rows, searchable, text, whole_number,
    without_citations, without_marks,
};
use crate::domain::{
    Complexity, CoverageRow, Item, ItemId, QuestionKind, SearchTask, Turn, Variation,
};
use crate::error::Result;
use crate::research::ask::template::{one_line, render};
use crate::research::prompts;
use crate::seams::Prompt;

/// The kinds of question as a model names them.
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

/// Refining a question (rows B2, E3).
#[derive(Debug, Clone)]
pub struct RefineAsk<'a> {
    /// The words as asked.
    pub question: &'a str,
    /// The day it was asked, `YYYY-MM-DD`.
    pub today: &'a str,
    /// Earlier turns.
    pub dialogue: &'a [Turn],
}

/// The refined question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refined {
    /// What kind of answer it wants.
    pub kind: QuestionKind,
    /// An unambiguous version.
    pub question: String,
    /// What it is about, most important first.
    pub subjects: Vec<String>,
    /// Words to look for, most telling first.
    pub key_terms: Vec<String>,
    /// What a complete answer covers.
    pub scope_in: Vec<String>,
    /// What it leaves out.
    pub scope_out: Vec<String>,
    /// Two-letter language code of the question.
    pub lang: String,
    /// What to ask the person first; mostly nothing.
    pub clarify: Vec<String>,
}

impl RefineAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let said = self.dialogue.iter().flat_map(|turn| {
            let sides = [("Person", &turn.user), ("System", &turn.assistant)];
            sides.map(|(who, words)| words.as_ref().map(|it| format!("{who}: {}", one_line(it))))
        });
        let dialogue = rows(said.flatten());
        prompt(
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

impl Refined {
    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self) -> std::result::Result<(), String> {
        let length = self.question.trim().chars().count();
        must((3..=2_000).contains(&length), || {
            format!("`question` has {length} characters; it must be the question, sharpened")
        })?;
        must(
            self.key_terms.iter().any(|it| !it.trim().is_empty()),
            || "`key_terms` is empty".to_owned(),
        )?;
        let code = self.lang.len() == 2 && self.lang.bytes().all(|it| it.is_ascii_lowercase());
        must(code, || {
            "`lang` must be a two-letter language code such as en".to_owned()
        })
    }
}

/// Breaking a question down (rows B3, D2, A1).
#[derive(Debug, Clone)]
pub struct PlanAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// What kind of answer it wants, as [`Refined::kind`] names it.
    pub kind: QuestionKind,
    /// What a complete answer covers.
    pub scope_in: &'a [String],
    /// What it leaves out.
    pub scope_out: &'a [String],
    /// The day it was asked, `YYYY-MM-DD`.
    pub today: &'a str,
    /// What it is written in, by [`language`](super::language).
    pub language: &'a str,
    /// Search tasks wanted beside it; none where they are not what gathering begins with.
    pub tasks: u32,
}

/// The checklist and the writing plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Planned {
    /// How much the question asks for.
    pub complexity: Complexity,
    /// What a complete answer must say, three to seven.
    pub items: Vec<PlannedItem>,
    /// What the report is for.
    pub goal: String,
    /// Its tone.
    pub tone: String,
    /// Its sections in order.
    pub sections: Vec<PlannedSection>,
    /// Anything else to obey.
    pub directives: Vec<String>,
    /// What to search for first, where it was asked for (row A1).
    #[serde(default)]
    pub search_tasks: Vec<SearchTask>,
}

/// One thing that a complete answer must say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedItem {
    /// The heading of its section.
    pub heading: String,
    /// What it asks.
    pub asks: String,
    /// A search for it; where there is none, what it asks is searched for.
    pub query: String,
}

/// One section of the report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedSection {
    /// Its heading.
    pub title: String,
    /// What belongs in it.
    pub guidance: String,
    /// The items it answers, counted from 1.
    pub items: Vec<u32>,
}

impl PlanAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let kind = serde_json::to_value(self.kind).unwrap_or_default();
        let tasks = match self.tasks {
            0 => String::new(),
            most => prompts::fill(&prompts::lines()?.tasks, &[("most", &most.to_string())]),
        };
        prompt(
            "plan",
            self.schema(),
            &[
                ("question", self.question),
                ("kind", kind.as_str().unwrap_or_default()),
                ("scope_in", &or_none(self.scope_in.join("; "))),
                ("scope_out", &or_none(self.scope_out.join("; "))),
                ("today", self.today),
                ("language", self.language),
                ("tasks", &tasks),
            ],
        )
    }

    fn schema(&self) -> Value {
        let item = object(&[("heading", text()), ("asks", text()), ("query", text())]);
        let section = object(&[
            ("title", text()),
            ("guidance", text()),
            ("items", list(&whole_number(), 7)),
        ]);
        let mut fields = vec![
            ("complexity", one_of(&["simple", "moderate", "complex"])),
            ("items", at_least(3, list(&item, 7))),
            ("goal", text()),
            ("tone", text()),
            ("sections", list(&section, 8)),
            ("directives", list(&text(), 5)),
        ];
        if self.tasks > 0 {
            fields.push(("search_tasks", list(&task(), self.tasks as usize)));
        }
        object(&fields)
    }
}

/// The prompt of a plan with what the person wants changed in the one before, oldest wish first.
///
/// # Errors
/// `Internal` if its file cannot be filled.
pub fn changed(mut prompt: Prompt, before: &[Item], wishes: &[String]) -> Result<Prompt> {
    let seen = rows(before.iter().map(|it| format!("- {}", one_line(&it.asks))));
    let wishes = rows(wishes.iter().map(|it| format!("- {}", one_line(it))));
    let values = [("plan", seen.as_str()), ("wishes", wishes.as_str())];
    let more = render("replan.md", prompts::asked("replan.md")?, &values)?.user;
    if let Some(asked) = prompt.messages.last_mut() {
        asked.text = format!("{}\n\n{more}", asked.text);
    }
    Ok(prompt)
}

impl Planned {
    /// What the answer must keep to: one item that can be used. Single items that cannot are no fault:
    /// [`sound`](Planned::sound) leaves them out.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self) -> std::result::Result<(), String> {
        let first = self.items.iter().find_map(|it| it.hold().err());
        must(!self.sound().is_empty(), || {
            first.unwrap_or_else(|| "`items` is empty; 3 to 7 are asked for".to_owned())
        })
    }

    /// The search tasks that can be sent, at most `most`; `question` is the refined question.
    pub fn sound_tasks(&self, question: &str, most: u32) -> Vec<SearchTask> {
        let asked = self.items.iter().map(|it| it.asks.as_str());
        let mut tasks = sound_tasks(self.search_tasks.clone(), asked.chain([question]));
        tasks.truncate(most as usize);
        tasks
    }

    /// The items that can be used, each once, with the numbers that sections call them by.
    pub fn sound(&self) -> Vec<(u32, &PlannedItem)> {
        let mut kept: Vec<(u32, &PlannedItem)> = Vec::new();
        for (nth, item) in (1..).zip(&self.items) {
            if item.hold().is_ok() && !kept.iter().any(|it| it.1.says_what(item)) {
                kept.push((nth, item));
            }
        }
        kept
    }
}

impl PlannedItem {
    fn hold(&self) -> std::result::Result<(), String> {
        must(!self.heading.trim().is_empty(), || {
            "an item has no heading".to_owned()
        })?;
        must(!self.asks.trim().is_empty(), || {
            "an item asks nothing".to_owned()
        })?;
        without_citations(&self.heading)?;
        without_citations(&self.asks)?;
        match self.query.trim() {
            "" => Ok(()),
            query => searchable(query),
        }
    }

    fn says_what(&self, other: &PlannedItem) -> bool {
        let same = |a: &str, b: &str| a.trim().to_lowercase() == b.trim().to_lowercase();
        same(&self.heading, &other.heading) || same(&self.asks, &other.asks)
    }
}

/// Searching on for what is open (rows B4, D3).
#[derive(Debug, Clone)]
pub struct QueriesAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The open items, each with its row of the coverage table, where there is one.
    pub items: &'a [(&'a Item, Option<&'a CoverageRow>)],
    /// What was searched before.
    pub searched: &'a [String],
    /// Whether PubMed is asked: then each query is wanted in its syntax too (row B4).
    pub pubmed: bool,
}

/// Further queries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Queried {
    /// In the order of the items.
    pub queries: Vec<QueryRow>,
}

/// One query.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct QueryRow {
    /// For which item.
    pub item: ItemId,
    /// By which variation.
    pub variation: Variation,
    /// The words.
    pub query: String,
    /// The same search in PubMed's syntax, where that was asked for and can be sent.
    #[serde(default)]
    pub pubmed: Option<String>,
}

impl QueriesAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let items = rows(self.items.iter().map(|(item, row)| {
            let gap = row.and_then(|it| it.gap.as_deref()).map(one_line);
            let gap = gap.map_or(String::new(), |it| format!(" (missing: {it})"));
            format!("{}: {}{gap}", item.id, one_line(&item.asks))
        }));
        let searched = rows(self.searched);
        let ids: Vec<String> = self.items.iter().map(|it| it.0.id.to_string()).collect();
        let mut fields = vec![
            ("item", one_of(&ids)),
            (
                "variation",
                one_of(&["rephrased", "broader", "narrower", "gap"]),
            ),
            ("query", text()),
        ];
        if self.pubmed {
            fields.push(("pubmed", text()));
        }
        let row = object(&fields);
        let pubmed = match self.pubmed {
            true => format!(" {}", prompts::phrases()?.query.pubmed),
            false => String::new(),
        };
        let schema = object(&[("queries", list(&row, 3 * ids.len().max(1)))]);
        prompt(
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

    /// What the answer must keep to: something new to search for. Single queries that cannot be sent are no fault:
    /// [`sound`](QueriesAsk::sound) leaves them out.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Queried) -> std::result::Result<(), String> {
        let known = |row: &&QueryRow| {
            let query = row.query.trim();
            let is_known = |it: &String| it.trim().to_lowercase() == query.to_lowercase();
            self.searched.iter().any(is_known)
        };
        must(!answer.queries.is_empty(), || {
            "`queries` is empty".to_owned()
        })?;
        let sound = self.sound(answer);
        if sound.is_empty() {
            answer.queries.iter().try_for_each(|it| self.hold(it))?;
        }
        must(!sound.iter().all(known), || {
            "all these queries were searched before".to_owned()
        })
    }

    /// The queries that can be sent.
    pub fn sound<'b>(&self, answer: &'b Queried) -> Vec<&'b QueryRow> {
        let sent = answer.queries.iter().filter(|it| self.hold(it).is_ok());
        sent.collect()
    }

    /// What goes out holds no address and no code that was not asked for.
    fn hold(&self, row: &QueryRow) -> std::result::Result<(), String> {
        let items = self.items.iter().flat_map(|(item, row)| {
            let gap = row.and_then(|it| it.gap.as_deref());
            [Some(item.asks.as_str()), Some(&item.query), gap]
        });
        let known = items
            .flatten()
            .chain(self.searched.iter().map(String::as_str))
            .chain([self.question]);
        searchable(&row.query)?;
        // What is written for PubMed goes out too.
        let apart = |it: &str| it.replace(['(', ')', '[', ']', '"'], " ");
        let pubmed = row.pubmed.as_deref().map(apart);
        let words = format!("{} {}", row.query, pubmed.unwrap_or_default());
        without_marks(&words, known)
    }
}
