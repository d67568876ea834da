//! What a supervisor and its researchers decide, turn by turn, and the searches of a plan (rows A1, A9, C5, C6).
use serde::Deserialize;

use super::{
    list, must, object, one_of, or_none, prompt, rows, searchable, text, whole_number,
    without_citations, without_marks,
};
use crate::domain::{CoverageRow, ItemId, SearchTask};
use crate::error::Result;
use crate::research::ask::template::{one_line, untrusted};
use crate::research::prompts::{self, fill};
use crate::seams::Prompt;

/// Longest topic or thought, characters.
const SENTENCE_CHARS: usize = 600;
/// Queries of one turn, pages of one turn, notes of a researcher.
const MOST_QUERIES: usize = 3;
const MOST_PAGES: usize = 5;
const MOST_NOTES: usize = 12;

/// What a supervisor decides on.
#[derive(Debug, Clone)]
pub struct SuperviseAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// Where the items stand.
    pub rows: &'a [CoverageRow],
    /// What was found, compressed, one bullet a row.
    pub notes: &'a [String],
    /// What these rest on, in the words of the sources, one quote a row.
    pub raw: &'a [String],
    /// What the gate says, and what it said to the last wish to complete.
    pub gate: &'a str,
    /// Waves, researchers, searches and pages so far.
    pub so_far: &'a str,
    /// What it thought.
    pub thoughts: &'a [String],
    /// Researchers it may send out now.
    pub most: usize,
}

/// What a supervisor may do, in its tools' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum LeadAction {
    /// Send out researchers.
    ConductResearch,
    /// Be done, if the gate agrees.
    ResearchComplete,
    /// Write down a thought.
    #[serde(rename = "think")]
    Think,
}

/// A supervisor's decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Supervised {
    /// What to do.
    pub action: LeadAction,
    /// A thought; often empty.
    pub thought: String,
    /// Whom to send out.
    pub units: Vec<UnitRow>,
}

/// One researcher to send out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UnitRow {
    /// The item it is for.
    pub item: ItemId,
    /// What to find out.
    pub topic: String,
    /// The first search.
    pub query: String,
}

impl SuperviseAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids: Vec<String> = self.rows.iter().map(|it| it.id.to_string()).collect();
        let unit = object(&[("item", one_of(&ids)), ("topic", text()), ("query", text())]);
        let schema = object(&[
            (
                "action",
                one_of(&["ConductResearch", "ResearchComplete", "think"]),
            ),
            ("thought", text()),
            // More than may go out at once are counted as skipped, so they may be asked for.
            ("units", list(&unit, 3 * self.most.max(1))),
        ]);
        let items = rows(self.rows.iter().map(|it| {
            let gap = it.gap.as_deref().map(one_line);
            let gap = gap.map_or(String::new(), |it| format!("; missing: {it}"));
            format!(
                "{}: {} ({}{gap})",
                it.id,
                one_line(&it.text),
                it.state.judged()
            )
        }));
        let notes = or_none(self.notes.join("\n"));
        let raw = or_none(self.raw.join("\n"));
        prompt(
            "supervise",
            schema,
            &[
                ("question", self.question),
                ("items", &items),
                ("notes", &untrusted("notes", &notes)),
                ("raw", &untrusted("raw notes", &raw)),
                ("gate", self.gate),
                ("so_far", self.so_far),
                ("thoughts", &rows(self.thoughts)),
                ("most", &self.most.to_string()),
            ],
        )
    }

    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Supervised) -> std::result::Result<(), String> {
        match answer.action {
            LeadAction::ConductResearch => {
                let first = answer.units.iter().find_map(|it| self.hold(it).err());
                must(!self.sound(answer).is_empty(), || {
                    first.unwrap_or_else(|| "`units` is empty; nobody is sent out".to_owned())
                })
            }
            LeadAction::Think => must(!answer.thought.trim().is_empty(), || {
                "`thought` is empty".to_owned()
            }),
            LeadAction::ResearchComplete => Ok(()),
        }
    }

    /// The units that can be sent out.
    pub fn sound<'b>(&self, answer: &'b Supervised) -> Vec<&'b UnitRow> {
        let sent = answer.units.iter().filter(|it| self.hold(it).is_ok());
        sent.collect()
    }

    fn hold(&self, unit: &UnitRow) -> std::result::Result<(), String> {
        must(self.rows.iter().any(|it| it.id == unit.item), || {
            format!("there is no item {}", unit.item)
        })?;
        let length = unit.topic.trim().chars().count();
        must((3..=SENTENCE_CHARS).contains(&length), || {
            format!("a topic has {length} characters; it must be one sentence")
        })?;
        searchable(&unit.query)?;
        // What a page wants searched for is not searched for.
        let known = self
            .rows
            .iter()
            .flat_map(|it| [it.text.as_str(), it.gap.as_deref().unwrap_or_default()]);
        let known: Vec<&str> = known.chain([self.question]).collect();
        without_marks(&unit.query, known.iter().copied())?;
        without_marks(&unit.topic, known)
    }
}

/// What a researcher decides on.
#[derive(Debug, Clone)]
pub struct ResearchAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// What it was sent out for.
    pub topic: &'a str,
    /// Tool calls made, and how many are its own.
    pub calls: (u32, u32),
    /// Searches made, and how many are its own; none where nobody searches (row C6).
    pub searches: Option<(u32, u32)>,
    /// Hits nobody has read yet, one a row, counted from 1: title, site, a few words.
    pub hits: &'a [String],
    /// What was found, one claim a row, counted from 1.
    pub findings: &'a [String],
    /// What it did and what came of it.
    pub trail: &'a [String],
    /// What notes are written in, by [`language`](super::language).
    pub language: &'a str,
}

/// What a researcher may do, in its tools' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitAction {
    /// Search.
    SearchWeb,
    /// Read hits.
    FetchUrl,
    /// Write down a thought.
    Think,
    /// Be done.
    Finish,
}

/// A researcher's decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Researched {
    /// What to do.
    pub action: UnitAction,
    /// What to search for.
    pub queries: Vec<String>,
    /// Which hits to read, counted from 1.
    pub pages: Vec<i64>,
    /// A thought.
    pub thought: String,
    /// What it brings back.
    pub notes: Vec<NoteRow>,
}

/// One sentence of a researcher's notes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NoteRow {
    /// What it says.
    pub text: String,
    /// The findings it rests on, counted from 1. Without one it may be read, never cited.
    pub findings: Vec<i64>,
}

impl ResearchAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let mut actions = vec!["fetch_url", "think", "finish"];
        let words = prompts::lines()?;
        let mut tools = fill(&words.fetch_url, &[("most", &MOST_PAGES.to_string())]);
        let mut searches = String::new();
        if let Some((made, most)) = self.searches {
            actions.insert(0, "search_web");
            let counts = [("made", made.to_string()), ("most", most.to_string())];
            searches = fill(
                &words.searches_made,
                &counts.each_ref().map(|it| (it.0, it.1.as_str())),
            );
            let search = fill(&words.search_web, &[("most", &MOST_QUERIES.to_string())]);
            tools = format!("{search}\n{tools}");
        }
        let note = object(&[("text", text()), ("findings", list(&whole_number(), 5))]);
        let schema = object(&[
            ("action", one_of(&actions)),
            ("queries", list(&text(), MOST_QUERIES)),
            ("pages", list(&whole_number(), MOST_PAGES)),
            ("thought", text()),
            ("notes", list(&note, MOST_NOTES)),
        ]);
        let counted = |all: &[String]| {
            let lines = all.iter().enumerate();
            let lines = lines.map(|(nth, it)| format!("{}. {}", nth + 1, one_line(it)));
            or_none(lines.collect::<Vec<_>>().join("\n"))
        };
        prompt(
            "research",
            schema,
            &[
                ("question", self.question),
                ("topic", &one_line(self.topic)),
                ("calls", &self.calls.0.to_string()),
                ("most_calls", &self.calls.1.to_string()),
                ("searches", &searches),
                ("hits", &untrusted("hits", &counted(self.hits))),
                ("findings", &untrusted("findings", &counted(self.findings))),
                ("trail", &rows(self.trail)),
                ("tools", &tools),
                ("language", self.language),
            ],
        )
    }

    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Researched) -> std::result::Result<(), String> {
        match answer.action {
            UnitAction::SearchWeb => {
                must(self.searches.is_some(), || {
                    "there is nobody to search".to_owned()
                })?;
                let first = answer.queries.iter().find_map(|it| self.hold(it).err());
                must(!self.queries(answer).is_empty(), || {
                    first.unwrap_or_else(|| "`queries` is empty".to_owned())
                })
            }
            UnitAction::FetchUrl => must(!self.pages(answer).is_empty(), || {
                "`pages` names no hit that is there".to_owned()
            }),
            UnitAction::Think => must(!answer.thought.trim().is_empty(), || {
                "`thought` is empty".to_owned()
            }),
            UnitAction::Finish => Ok(()),
        }
    }

    /// The queries that can be sent.
    pub fn queries(&self, answer: &Researched) -> Vec<String> {
        let sent = answer.queries.iter().map(|it| it.trim().to_owned());
        let mut sent: Vec<String> = sent.filter(|it| self.hold(it).is_ok()).collect();
        sent.truncate(MOST_QUERIES);
        sent
    }

    /// The hits to read, counted from 0, each once.
    pub fn pages(&self, answer: &Researched) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for it in &answer.pages {
            let at = usize::try_from(*it).ok().and_then(|it| it.checked_sub(1));
            if let Some(at) = at.filter(|at| *at < self.hits.len() && !found.contains(at)) {
                found.push(at);
            }
        }
        found.truncate(MOST_PAGES);
        found
    }

    /// The notes, each with its findings counted from 0. An address or a number in brackets is no note: code writes those.
    pub fn notes(&self, answer: &Researched) -> Vec<(String, Vec<usize>)> {
        let sound = answer.notes.iter().filter(|it| {
            let length = it.text.trim().chars().count();
            (3..=SENTENCE_CHARS).contains(&length) && without_citations(&it.text).is_ok()
        });
        let findings = |it: &NoteRow| {
            let all = it.findings.iter();
            let all = all.filter_map(|n| usize::try_from(*n).ok()?.checked_sub(1));
            all.filter(|at| *at < self.findings.len()).collect()
        };
        sound
            .map(|it| (one_line(it.text.trim()), findings(it)))
            .collect()
    }

    fn hold(&self, query: &str) -> std::result::Result<(), String> {
        searchable(query)?;
        let known = [self.question, self.topic];
        without_marks(query, known)
    }
}

/// Searching for what a draft lacks.
#[derive(Debug, Clone)]
pub struct RefineSearchAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// What is lacking.
    pub topics: &'a [String],
    /// What was searched before.
    pub searched: &'a [String],
    /// How many results are usual.
    pub usual: u32,
}

/// Search tasks, in a model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TasksRow {
    /// One to three.
    pub search_tasks: Vec<SearchTask>,
}

/// The schema of one search task.
pub(super) fn task() -> serde_json::Value {
    object(&[
        ("query", text()),
        ("endpoint", one_of(&["/search", "/scholar", "/news"])),
        ("num_results", whole_number()),
        ("reasoning", text()),
    ])
}

/// The tasks that can be sent: sizes within what engines give, each query once.
pub(super) fn sound_tasks<'a>(
    tasks: Vec<SearchTask>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Vec<SearchTask> {
    let mut sound: Vec<SearchTask> = Vec::new();
    for mut it in tasks {
        it.query = it.query.trim().to_owned();
        it.num_results = it.num_results.clamp(1, 100);
        let holds = searchable(&it.query).and_then(|()| without_marks(&it.query, known.clone()));
        let said = |other: &SearchTask| {
            other.query.eq_ignore_ascii_case(&it.query) && other.endpoint == it.endpoint
        };
        if holds.is_ok() && !sound.iter().any(said) {
            sound.push(it);
        }
    }
    sound
}

impl RefineSearchAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        prompt(
            "refine_search",
            object(&[("search_tasks", list(&task(), 2))]),
            &[
                ("question", self.question),
                ("topics", &rows(self.topics.iter().map(|it| one_line(it)))),
                ("searched", &rows(self.searched)),
                ("usual", &self.usual.to_string()),
            ],
        )
    }

    /// What the answer must keep to: something to search for.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &TasksRow) -> std::result::Result<(), String> {
        must(!self.sound(answer.clone()).is_empty(), || {
            "`search_tasks` holds no query that can be sent".to_owned()
        })
    }

    /// The tasks that can be sent.
    pub fn sound(&self, answer: TasksRow) -> Vec<SearchTask> {
        let topics = self.topics.iter().map(String::as_str);
        sound_tasks(answer.search_tasks, topics.chain([self.question]))
    }
}
