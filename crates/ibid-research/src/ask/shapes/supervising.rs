//! The decisions of a supervisor and its researchers, turn by turn, and the searches of a plan.
use serde::Deserialize;

use super::{
    check_no_citations, check_no_unknown_codes, check_searchable, ensure_that, join_rows, list,
    object, one_of, or_none, render_prompt, text, whole_number,
};
use crate::ask::template::{one_line, untrusted};
use crate::prompts;
use crate::prompts::fill_template;
use ibid_core::Result;
use ibid_core::domain::{CoverageRow, ItemId, SearchTask};
use ibid_core::ports::Prompt;

/// Longest topic or thought, in characters.
const SENTENCE_CHARS: usize = 600;
/// Most queries or pages of one turn, and most notes of a researcher.
const MOST_QUERIES: usize = 3;
const MOST_PAGES: usize = 5;
const MOST_NOTES: usize = 12;
/// Most characters of the words to look for in a page.
const MOST_SOUGHT_CHARS: usize = 120;

/// The prompt for a supervisor's next decision.
#[derive(Debug, Clone)]
pub struct SupervisePrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// How the planner goes about it, or empty.
    pub approach: &'a str,
    /// The coverage of each item.
    pub rows: &'a [CoverageRow],
    /// The findings, compressed to one bullet per row.
    pub notes: &'a [String],
    /// The quotes they rest on, one per row.
    pub raw: &'a [String],
    /// What the gate says, and why it rejected the last attempt to complete.
    pub gate: &'a str,
    /// Counts of waves, researchers, searches and pages so far.
    pub so_far: &'a str,
    /// Its earlier thoughts.
    pub thoughts: &'a [String],
    /// How many researchers it may send out now.
    pub most: usize,
}

/// The supervisor's actions, by their tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum SupervisorAction {
    /// Send out researchers.
    ConductResearch,
    /// Finish, if the gate agrees.
    ResearchComplete,
    /// Write down a thought.
    #[serde(rename = "think")]
    Think,
}

/// A supervisor's decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SuperviseReply {
    /// What to do.
    pub action: SupervisorAction,
    /// A thought, or empty.
    pub thought: String,
    /// The researchers to send out.
    pub units: Vec<AssignmentRow>,
}

/// One researcher to send out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AssignmentRow {
    /// The item it is for.
    pub item: ItemId,
    /// What to find out.
    pub topic: String,
    /// The first search.
    pub query: String,
}

impl SupervisePrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids: Vec<String> = self.rows.iter().map(|row| row.id.to_string()).collect();
        let unit = object(&[("item", one_of(&ids)), ("topic", text()), ("query", text())]);
        let schema = object(&[
            ("action", one_of(&["ConductResearch", "ResearchComplete", "think"])),
            ("thought", text()),
            // More researchers than may run at once are counted as skipped, so the schema allows them.
            ("units", list(&unit, 3 * self.most.max(1))),
        ]);
        let items = join_rows(self.rows.iter().map(|row| {
            let gap = row.gap.as_deref().map(one_line);
            let gap = gap.map_or(String::new(), |gap| format!("; missing: {gap}"));
            format!("{}: {} ({}{gap})", row.id, one_line(&row.text), row.state.status_word())
        }));
        let notes = or_none(self.notes.join("\n"));
        let raw = or_none(self.raw.join("\n"));
        let line = &prompts::prompt_lines()?.approach;
        let approach = match self.approach {
            "" => String::new(),
            approach => fill_template(line, &[("approach", &one_line(approach))]),
        };
        render_prompt(
            "supervise",
            schema,
            &[
                ("question", self.question),
                ("approach", &approach),
                ("items", &items),
                ("notes", &untrusted("notes", &notes)),
                ("raw", &untrusted("raw notes", &raw)),
                ("gate", self.gate),
                ("so_far", self.so_far),
                ("thoughts", &join_rows(self.thoughts)),
                ("most", &self.most.to_string()),
            ],
        )
    }

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &SuperviseReply) -> std::result::Result<(), String> {
        match answer.action {
            SupervisorAction::ConductResearch => {
                let first = answer.units.iter().find_map(|unit| self.check_assignment(unit).err());
                ensure_that(!self.valid_assignments(answer).is_empty(), || {
                    first.unwrap_or_else(|| "`units` is empty; no researcher is started".to_owned())
                })
            }
            SupervisorAction::Think => {
                ensure_that(!answer.thought.trim().is_empty(), || "`thought` is empty".to_owned())
            }
            SupervisorAction::ResearchComplete => Ok(()),
        }
    }

    /// The assignments that can be sent out.
    pub fn valid_assignments<'b>(&self, answer: &'b SuperviseReply) -> Vec<&'b AssignmentRow> {
        let sent = answer.units.iter().filter(|unit| self.check_assignment(unit).is_ok());
        sent.collect()
    }

    fn check_assignment(&self, unit: &AssignmentRow) -> std::result::Result<(), String> {
        ensure_that(self.rows.iter().any(|row| row.id == unit.item), || {
            format!("there is no item {}", unit.item)
        })?;
        let length = unit.topic.trim().chars().count();
        ensure_that((3..=SENTENCE_CHARS).contains(&length), || {
            format!("a topic has {length} characters; it must be one sentence")
        })?;
        check_searchable(&unit.query)?;
        // Terms that only occur on a page are not searched for.
        let known = self
            .rows
            .iter()
            .flat_map(|row| [row.text.as_str(), row.gap.as_deref().unwrap_or_default()]);
        let known: Vec<&str> = known.chain([self.question]).collect();
        check_no_unknown_codes(&unit.query, known.iter().copied())?;
        check_no_unknown_codes(&unit.topic, known)
    }
}

/// The prompt for a researcher's next decision.
#[derive(Debug, Clone)]
pub struct ResearcherPrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// Its assignment.
    pub topic: &'a str,
    /// Tool calls made, and the limit.
    pub calls: (u32, u32),
    /// Searches made, and the limit; `None` where there is nothing to search.
    pub searches: Option<(u32, u32)>,
    /// Unread hits, one per row, numbered from 1: title, site, a few words.
    pub hits: &'a [String],
    /// The findings, one claim per row, numbered from 1.
    pub findings: &'a [String],
    /// The pages it has read, one per row, numbered from 1: title, site, length.
    pub pages: &'a [String],
    /// What it last looked up in one of them, one passage per row with its place, numbered from 1.
    pub passages: &'a [String],
    /// Its earlier actions with their results.
    pub trail: &'a [String],
    /// The language of the notes, by [`language_name`](super::language_name).
    pub language: &'a str,
}

/// A researcher's actions, by their tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResearcherAction {
    /// Search.
    SearchWeb,
    /// Read hits.
    FetchUrl,
    /// Look for words in a page that was read.
    FindInPage,
    /// Read on in a page that was read.
    ReadOn,
    /// Write down a thought.
    Think,
    /// Finish.
    Finish,
}

/// A researcher's decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResearcherReply {
    /// What to do.
    pub action: ResearcherAction,
    /// What to search for, on the web or in a page.
    pub queries: Vec<String>,
    /// The hits to read, or the page that was read, numbered from 1.
    pub pages: Vec<i64>,
    /// A thought.
    pub thought: String,
    /// The notes it returns.
    pub notes: Vec<NoteRow>,
}

/// One sentence of a researcher's notes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NoteRow {
    /// The sentence.
    pub text: String,
    /// The findings it rests on, numbered from 1. Without any, the note may be read but never cited.
    pub findings: Vec<i64>,
}

/// Rows with their numbers.
fn counted(all: &[String]) -> String {
    let lines = all.iter().enumerate();
    let lines = lines.map(|(nth, it)| format!("{}. {}", nth + 1, one_line(it)));
    or_none(lines.collect::<Vec<_>>().join("\n"))
}

impl ResearcherPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let mut actions = vec!["fetch_url", "think", "finish"];
        let words = prompts::prompt_lines()?;
        let mut tools = fill_template(&words.fetch_url, &[("most", &MOST_PAGES.to_string())]);
        let mut searches = String::new();
        if let Some((made, most)) = self.searches {
            let counts = [("made", made.to_string()), ("most", most.to_string())];
            searches = fill_template(
                &words.searches_made,
                &counts.each_ref().map(|pair| (pair.0, pair.1.as_str())),
            );
            if made < most {
                actions.insert(0, "search_web");
                let search =
                    fill_template(&words.search_web, &[("most", &MOST_QUERIES.to_string())]);
                tools = format!("{search}\n{tools}");
            }
        }
        let mut pages = String::new();
        if !self.pages.is_empty() {
            let at = actions.len() - 2;
            actions.splice(at..at, ["find_in_page", "read_on"]);
            tools = format!("{tools}\n{}\n{}", words.find_in_page, words.read_on);
            pages = format!(
                "\n\n{}\n\n{}",
                untrusted("read pages", &counted(self.pages)),
                untrusted("passages", &counted(self.passages))
            );
        }
        let note = object(&[("text", text()), ("findings", list(&whole_number(), 5))]);
        let schema = object(&[
            ("action", one_of(&actions)),
            ("queries", list(&text(), MOST_QUERIES)),
            ("pages", list(&whole_number(), MOST_PAGES)),
            ("thought", text()),
            ("notes", list(&note, MOST_NOTES)),
        ]);
        render_prompt(
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
                ("pages", &pages),
                ("trail", &join_rows(self.trail)),
                ("tools", &tools),
                ("language", self.language),
            ],
        )
    }

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &ResearcherReply) -> std::result::Result<(), String> {
        match answer.action {
            ResearcherAction::SearchWeb => {
                ensure_that(self.searches.is_some(), || {
                    "no search engine is available".to_owned()
                })?;
                let first = answer.queries.iter().find_map(|query| self.check_query(query).err());
                ensure_that(!self.valid_queries(answer).is_empty(), || {
                    first.unwrap_or_else(|| "`queries` is empty".to_owned())
                })
            }
            ResearcherAction::FetchUrl => ensure_that(!self.valid_pages(answer).is_empty(), || {
                "`pages` names no hit that was shown".to_owned()
            }),
            ResearcherAction::FindInPage | ResearcherAction::ReadOn => {
                ensure_that(self.named_page(answer).is_some(), || {
                    "`pages` names no page that was read".to_owned()
                })?;
                let finds = answer.action == ResearcherAction::FindInPage;
                ensure_that(!finds || !self.sought_words(answer).is_empty(), || {
                    "`queries` has no words to look for".to_owned()
                })
            }
            ResearcherAction::Think => {
                ensure_that(!answer.thought.trim().is_empty(), || "`thought` is empty".to_owned())
            }
            ResearcherAction::Finish => Ok(()),
        }
    }

    /// The queries that can be sent.
    pub fn valid_queries(&self, answer: &ResearcherReply) -> Vec<String> {
        let sent = answer.queries.iter().map(|query| query.trim().to_owned());
        let mut sent: Vec<String> = sent.filter(|it| self.check_query(it).is_ok()).collect();
        sent.truncate(MOST_QUERIES);
        sent
    }

    /// The indices of the hits to read, from 0, each once.
    pub fn valid_pages(&self, answer: &ResearcherReply) -> Vec<usize> {
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

    /// The index of the page to look into, from 0.
    pub fn named_page(&self, answer: &ResearcherReply) -> Option<usize> {
        let all = answer.pages.iter();
        let mut all = all.filter_map(|n| usize::try_from(*n).ok()?.checked_sub(1));
        all.find(|at| *at < self.pages.len())
    }

    /// The words to look for in a page, on one line. They are sent nowhere.
    pub fn sought_words(&self, answer: &ResearcherReply) -> String {
        let words = one_line(&answer.queries.join(" "));
        words.trim().chars().take(MOST_SOUGHT_CHARS).collect()
    }

    /// The notes, each with the indices of its findings, from 0. Notes with an address or a number in
    /// brackets are dropped: only code writes those.
    pub fn valid_notes(&self, answer: &ResearcherReply) -> Vec<(String, Vec<usize>)> {
        let sound = answer.notes.iter().filter(|note| {
            let length = note.text.trim().chars().count();
            (3..=SENTENCE_CHARS).contains(&length) && check_no_citations(&note.text).is_ok()
        });
        let findings = |note_row: &NoteRow| {
            let all = note_row.findings.iter();
            let all = all.filter_map(|n| usize::try_from(*n).ok()?.checked_sub(1));
            all.filter(|at| *at < self.findings.len()).collect()
        };
        sound.map(|it| (one_line(it.text.trim()), findings(it))).collect()
    }

    fn check_query(&self, query: &str) -> std::result::Result<(), String> {
        check_searchable(query)?;
        let known = [self.question, self.topic];
        check_no_unknown_codes(query, known)
    }
}

/// The schema of one search task.
pub(super) fn task_schema() -> serde_json::Value {
    object(&[
        ("query", text()),
        ("endpoint", one_of(&["/search", "/scholar", "/news"])),
        ("num_results", whole_number()),
        ("reasoning", text()),
    ])
}

/// The tasks that can be sent: each query once, with a result count that engines accept.
pub(super) fn valid_search_tasks<'a>(
    tasks: Vec<SearchTask>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Vec<SearchTask> {
    let mut sound: Vec<SearchTask> = Vec::new();
    for mut it in tasks {
        it.query = it.query.trim().to_owned();
        it.num_results = it.num_results.clamp(1, 100);
        let holds = check_searchable(&it.query)
            .and_then(|()| check_no_unknown_codes(&it.query, known.clone()));
        let is_known = |other: &SearchTask| {
            other.query.eq_ignore_ascii_case(&it.query) && other.endpoint == it.endpoint
        };
        if holds.is_ok() && !sound.iter().any(is_known) {
            sound.push(it);
        }
    }
    sound
}
