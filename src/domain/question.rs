use serde::{Deserialize, Serialize};

use super::{Budget, Complexity, ModelChoice, ModelRole, Plan, RunId, Strategy, Team};

/// A report, an answer of at most 140 characters, or what was found without prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A cited Markdown report.
    #[default]
    Report,
    /// One line of at most 140 characters, and its sources.
    Answer,
    /// The evidence itself: passages by source, and how far each topic is covered (row D1).
    Evidence,
}

/// How much work a question is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// One round, few queries.
    Quick,
    /// What most questions need.
    #[default]
    Standard,
    /// More rounds, more queries.
    Deep,
    /// All that the bounds allow.
    Max,
    /// By the question's complexity.
    Auto,
}

impl Effort {
    /// How it gathers; `auto` goes by how much the question asks for (row D12). A supervisor needs somebody to lead: without a
    /// model, coverage finds more (`evals strategies`).
    pub fn strategy(self, asked: Complexity, led: bool) -> Strategy {
        match (self, asked) {
            (Effort::Quick, _) | (Effort::Auto, Complexity::Simple) => Strategy::Planned,
            (Effort::Standard, _) | (Effort::Auto, Complexity::Moderate) => Strategy::Checklist,
            (Effort::Max, _) | (Effort::Auto, Complexity::Complex) if led => Strategy::Supervisor,
            (Effort::Deep | Effort::Max | Effort::Auto, _) => Strategy::Coverage,
        }
    }
}

/// An earlier turn of a conversation (row E1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// What the system said of itself.
    #[serde(default)]
    pub system: Option<String>,
    /// What the assistant asked or answered.
    #[serde(default)]
    pub assistant: Option<String>,
    /// What the person said.
    #[serde(default)]
    pub user: Option<String>,
}

/// What a follow-up follows: the run before it, and what was said in the thread so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Follows {
    /// The run before it.
    pub run: RunId,
    /// The questions of the thread with their short answers, oldest first. Frozen here, because the runs
    /// before may be forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
}

/// What was asked, how, on which day, within which budget. Everything a run depends on is frozen here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The words as asked.
    pub text: String,
    /// Report or answer.
    pub mode: Mode,
    /// The day it was asked, `YYYY-MM-DD`: "today" for every step, also on resume.
    pub asked_on: String,
    /// How it is to be researched: the numbers of rows A12, E1 and C13.
    pub method: Method,
    /// What may be spent.
    pub budget: Budget,
    /// Folders to search, as absolute paths.
    pub folders: Vec<String>,
    /// Search engines outside, by name, in the order they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
    /// Only these domains, where any are named.
    pub domains: Vec<String>,
    /// Never these domains.
    pub not_domains: Vec<String>,
    /// Only what was published on or after this day, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// Only what was published on or before this day, `YYYY-MM-DD`.
    pub until: Option<String>,
    /// Language of the answer; the question's own where none is given.
    pub lang: Option<String>,
    /// Earlier turns.
    pub dialogue: Vec<Turn>,
    /// Whether the person may be asked what the question leaves open, before the research begins (row C10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clarify: bool,
    /// The brief and plan to go by, where the person gives them: neither is made then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Box<Given>>,
    /// Whether the plan waits for the person's word before anything is spent on it (row C10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
    /// What it follows, if it is a follow-up (row C11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// An earlier run that was asked nearly the same of the same engines: what it read is weighed before anybody is asked (row
    /// B15). Found when the question is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resembles: Option<RunId>,
    /// The models it asks.
    #[serde(default, skip_serializing_if = "ModelChoice::is_unset")]
    pub models: ModelChoice,
}

impl Question {
    /// A report on `text`, asked on the day `asked_on`, by `method`; without bounds, places or models.
    pub fn new(text: impl Into<String>, asked_on: impl Into<String>, method: Method) -> Question {
        Question {
            text: text.into(),
            mode: Mode::Report,
            asked_on: asked_on.into(),
            method,
            budget: Budget::default(),
            folders: Vec::new(),
            engines: Vec::new(),
            domains: Vec::new(),
            not_domains: Vec::new(),
            since: None,
            until: None,
            lang: None,
            dialogue: Vec::new(),
            clarify: false,
            given: None,
            approve: false,
            follows: None,
            resembles: None,
            models: ModelChoice::Unset,
        }
    }

    /// How its evidence is gathered: as named, else by the effort.
    pub fn strategy(&self, asked: Complexity) -> Strategy {
        self.method.strategy.unwrap_or_else(|| match self.mode {
            // Whoever wants evidence and no prose wants every topic covered.
            Mode::Evidence => Strategy::Coverage,
            _ => {
                let led = self.models.contains_key(&ModelRole::Planner);
                self.method.effort.strategy(asked, led)
            }
        })
    }

    /// Longest question taken in, bytes: some 5,000 words. What is longer is a document.
    pub const MAX_BYTES: usize = 32 * 1024;
}

/// The numbers of the method (rows A12, B1, C3, C13, D1, E1, E5, E8). Each is a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// How much work.
    pub effort: Effort,
    /// How to gather; by the effort where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Queries a round, 2 to 10.
    pub breadth: u32,
    /// Rounds, 1 to 5.
    pub depth: u32,
    /// Upper bound on rounds of any strategy (row B1).
    pub max_iterations: u32,
    /// Hits asked of each query (row B4).
    pub results_per_query: u32,
    /// Pages read for each query (row E5); 0 in runs of before this was a number.
    #[serde(default)]
    pub urls_per_query: u32,
    /// Search tasks of the first plan (row A1).
    pub max_initial_search_tasks: u32,
    /// Sources used whole (row A3).
    pub top_m_full_text_sources: u32,
    /// Further sources used by their best chunks (row A3).
    pub next_k_chunked_sources: u32,
    /// Chunks kept of each of those (row A6).
    pub top_n_chunks_per_source: u32,
    /// Rounds of refinement after the first draft (row A9).
    pub max_refinement_iterations: u32,
    /// Length of the report in tokens; 0 = no limit (row A10).
    pub final_report_max_length: u32,
    /// Length of a page summary in tokens, 100 to 1000 (row E1).
    pub summary_tokens: u32,
    /// Sources kept for writing (row E8).
    pub max_sources: u32,
    /// The gate: evidence records wanted (row C3).
    pub min_evidence_records: u32,
    /// The gate: records with a citation wanted (row C3).
    pub min_cited_records: u32,
    /// The gate: distinct domains wanted (rows C3, D8).
    pub min_source_domains: u32,
    /// Share of items that must be covered, 0 to 1 (row D1).
    pub completeness_threshold: f32,
    /// Mean trust of what carries the evidence from which research may end, 0 to 1 (row D11); 1 is never.
    #[serde(default = "never")]
    pub trust_threshold: f32,
    /// The numbers of a supervisor and its researchers.
    #[serde(default)]
    pub team: Team,
}

impl Method {
    /// The team of the settings, no larger than a question of this kind and complexity deserves (row D12): one researcher of ten
    /// calls for one fact, two to four of fifteen calls for a comparison, ten researchers where a few sides are asked for, and
    /// whatever the settings allow where many are.
    pub fn team_for(&self, kind: QuestionKind, complexity: Complexity) -> Team {
        let (at_once, in_all, calls) = match (complexity, kind) {
            (Complexity::Simple, _) => (1, 1, 10),
            (_, QuestionKind::Comparison) => (4, 4, 15),
            (Complexity::Moderate, _) => (4, 10, 15),
            (Complexity::Complex, _) => return self.team,
        };
        let team = self.team;
        Team {
            max_concurrent_research_units: team.max_concurrent_research_units.min(at_once),
            max_researcher_iterations: team.max_researcher_iterations.min(in_all),
            max_react_tool_calls: team.max_react_tool_calls.min(calls),
            researcher_search_budget: team.researcher_search_budget.min(calls),
            ..team
        }
    }
}

fn never() -> f32 {
    1.0
}

/// What kind of answer a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// "What is …": a definition first.
    Definition,
    /// "How to …": steps.
    HowTo,
    /// "… or …", "difference between …": sides and criteria.
    Comparison,
    /// "Why …": reasons.
    Why,
    /// "Does X cause Y": effect, evidence for and against.
    Causal,
    /// "Which …", "list …": members.
    List,
    /// "When …": a date.
    When,
    /// "Who …": a person or body.
    Who,
    /// "How many / how much …": a number with its unit.
    Quantity,
    /// "Where …": a place.
    Where,
    /// "Is …", "can …": yes or no, and why.
    YesNo,
    /// Anything else.
    Open,
}

/// The refined question (row B2): what exactly is asked, and what is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The question as asked, or the part of a long text that asks. What is found is measured by it.
    pub question: String,
    /// An unambiguous version in a model's words, where one was made. Models are asked by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharpened: Option<String>,
    /// What kind of answer it wants.
    pub kind: QuestionKind,
    /// What it is about, most important first: names and noun phrases as they stand in the question.
    pub subjects: Vec<String>,
    /// Words to look for, most telling first.
    pub key_terms: Vec<String>,
    /// What a complete answer covers.
    pub scope_in: Vec<String>,
    /// What it leaves out.
    pub scope_out: Vec<String>,
    /// Two-letter language code of the question.
    pub lang: String,
    /// What the question leaves open, with what the person said to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarified: Vec<Clarified>,
}

/// A question back to the person (rows C10, E3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarified {
    /// What was asked, or would have been.
    pub question: String,
    /// What they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Words by which a question asks for code.
const TECHNICAL: &[&str] = &[
    "api",
    "cli",
    "code",
    "command",
    "compile",
    "config",
    "configure",
    "css",
    "docker",
    "function",
    "git",
    "html",
    "javascript",
    "json",
    "kubernetes",
    "library",
    "linux",
    "python",
    "regex",
    "rust",
    "script",
    "sdk",
    "sql",
    "syntax",
    "terraform",
    "typescript",
    "yaml",
];

impl Brief {
    /// Whether a complete answer shows code (row D7).
    pub fn is_technical(&self) -> bool {
        let words = self.question.to_lowercase();
        let mut words = words.split(|it: char| !it.is_alphanumeric());
        matches!(
            self.kind,
            QuestionKind::HowTo | QuestionKind::Definition | QuestionKind::Open
        ) && words.any(|it| TECHNICAL.contains(&it))
    }

    /// The question in its least ambiguous words.
    pub fn asked(&self) -> &str {
        self.sharpened.as_deref().unwrap_or(&self.question)
    }

    /// The question with what the person said to questions back (row E3); `None` where they said nothing.
    pub fn combined_prompt(&self) -> Option<String> {
        let said = |it: &Clarified| {
            let answer = it.answer.as_deref()?;
            Some(format!("Q: {}\nA: {answer}", it.question))
        };
        let said: Vec<String> = self.clarified.iter().filter_map(said).collect();
        (!said.is_empty()).then(|| format!("{}\n{}", self.question, said.join("\n")))
    }
}

/// A brief and a plan that a person gives, instead of having them made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// The refined question.
    pub brief: Brief,
    /// The plan.
    pub plan: Plan,
}
