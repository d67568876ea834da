use serde::{Deserialize, Serialize};

use super::{
    Budget, Complexity, ModelChoice, ModelRole, Plan, RunId, Strategy, SupervisorSettings,
};

/// The form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// A cited Markdown report.
    #[default]
    Report,
    /// One line of at most 140 characters, with its sources.
    Answer,
    /// The evidence without prose: passages by source, and the coverage of each item.
    Evidence,
}

/// How much work to spend on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// One round, few queries.
    Quick,
    /// Enough for most questions.
    #[default]
    Standard,
    /// More rounds, more queries.
    Deep,
    /// Everything the limits allow.
    Max,
    /// Chosen by the question's complexity.
    Auto,
}

impl Effort {
    /// The strategy for this effort. `auto` decides by the complexity `asked`. `led` is whether a model can act as
    /// supervisor; without one, the coverage strategy finds more (`evals strategies`).
    pub fn strategy(self, asked: Complexity, led: bool) -> Strategy {
        match (self, asked) {
            (Effort::Quick, _) | (Effort::Auto, Complexity::Simple) => Strategy::Planned,
            (Effort::Max | Effort::Auto, _) if led => Strategy::Supervisor,
            (Effort::Standard, _) | (Effort::Auto, Complexity::Moderate) => Strategy::Checklist,
            (Effort::Deep | Effort::Max | Effort::Auto, _) => Strategy::Coverage,
        }
    }
}

/// An earlier turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogueTurn {
    /// The system message.
    #[serde(default)]
    pub system: Option<String>,
    /// The assistant's message.
    #[serde(default)]
    pub assistant: Option<String>,
    /// The user's message.
    #[serde(default)]
    pub user: Option<String>,
}

/// The context of a follow-up: the preceding run and the conversation so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadContext {
    /// The preceding run.
    pub run: RunId,
    /// The questions of the thread with their short answers, oldest first. Copied here because earlier runs may be
    /// deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<DialogueTurn>,
}

/// A question with everything a run depends on, fixed when the run starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The question as asked.
    pub text: String,
    /// The form of the result.
    pub mode: OutputMode,
    /// The date it was asked, `YYYY-MM-DD`: "today" for every step, also after a resume.
    pub asked_on: String,
    /// The settings of the research method.
    pub method: ResearchSettings,
    /// Limits on spending.
    pub budget: Budget,
    /// Folders to search, as absolute paths.
    pub folders: Vec<String>,
    /// External search engines, by name, in the order they are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
    /// Restricts the search to these domains, unless empty.
    pub domains: Vec<String>,
    /// Excludes these domains.
    pub not_domains: Vec<String>,
    /// Only include results published on or after this day, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// Only include results published on or before this day, `YYYY-MM-DD`.
    pub until: Option<String>,
    /// Language of the answer; the language of the question if `None`.
    pub lang: Option<String>,
    /// Earlier turns of the conversation.
    pub dialogue: Vec<DialogueTurn>,
    /// Who asks, and what for. It guides plan and tone and is never searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether the user may be asked clarifying questions before the research begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clarify: bool,
    /// A brief and plan given by the user; if set, neither is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Box<ProvidedPlan>>,
    /// Whether the plan must be approved before research begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
    /// The preceding run, for a follow-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<ThreadContext>,
    /// An earlier run with nearly the same question and the same engines. Its pages are reused before anything is
    /// searched. Determined when the question is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resembles: Option<RunId>,
    /// The models to use.
    #[serde(default, skip_serializing_if = "ModelChoice::is_unset")]
    pub models: ModelChoice,
}

impl Question {
    /// Creates a question for a report on `text`, asked on `asked_on`, without limits, sources or models.
    pub fn new(
        text: impl Into<String>,
        asked_on: impl Into<String>,
        method: ResearchSettings,
    ) -> Question {
        Question {
            text: text.into(),
            mode: OutputMode::Report,
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
            context: None,
            clarify: false,
            given: None,
            approve: false,
            follows: None,
            resembles: None,
            models: ModelChoice::Unset,
        }
    }

    /// The strategy: the one named in the settings, or else the one for the effort.
    pub fn strategy(&self, asked: Complexity) -> Strategy {
        self.method.strategy.unwrap_or_else(|| match self.mode {
            // Without prose, the evidence itself should cover every item.
            OutputMode::Evidence => Strategy::Coverage,
            _ => {
                let led = self.models.contains_key(&ModelRole::Planner);
                self.method.effort.strategy(asked, led)
            }
        })
    }

    /// Maximum length of a question, bytes: about 5,000 words. Longer text should be passed as a document.
    pub const MAX_BYTES: usize = 32 * 1024;
}

/// The parameters of the research method. Each is a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResearchSettings {
    /// How much work to spend.
    pub effort: Effort,
    /// The strategy; chosen by the effort if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Queries per round, 2 to 10.
    pub breadth: u32,
    /// Rounds, 1 to 5.
    pub depth: u32,
    /// Maximum rounds of any strategy.
    pub max_iterations: u32,
    /// Hits requested per query.
    pub results_per_query: u32,
    /// Pages read per query; 0 in runs from before this setting existed.
    #[serde(default)]
    pub urls_per_query: u32,
    /// Search tasks of the initial plan.
    pub max_initial_search_tasks: u32,
    /// Sources used in full.
    pub top_m_full_text_sources: u32,
    /// Further sources, used by their best chunks.
    pub next_k_chunked_sources: u32,
    /// Chunks kept of each of those.
    pub top_n_chunks_per_source: u32,
    /// Refinement rounds after the first draft.
    pub max_refinement_iterations: u32,
    /// Drafts that are written and merged; 0 in runs from before this setting existed.
    #[serde(default)]
    pub drafts: u32,
    /// Rounds in which a model criticizes the draft, 0 to 2; 0 in runs from before this setting existed.
    #[serde(default)]
    pub critique_rounds: u32,
    /// Maximum length of the report in tokens; 0 = unlimited.
    pub final_report_max_length: u32,
    /// Length of a page summary in tokens, 100 to 1000.
    pub summary_tokens: u32,
    /// Sources kept for writing.
    pub max_sources: u32,
    /// Evidence gate: minimum evidence records.
    pub min_evidence_records: u32,
    /// Evidence gate: minimum records with a citation.
    pub min_cited_records: u32,
    /// Evidence gate: minimum distinct domains.
    pub min_source_domains: u32,
    /// Share of items that must be covered, 0 to 1.
    pub completeness_threshold: f32,
    /// Mean trust of the sources at which research may end, 0 to 1; 1 disables this.
    #[serde(default = "never")]
    pub trust_threshold: f32,
    /// The limits of a supervisor and its researchers.
    #[serde(default)]
    pub team: SupervisorSettings,
}

impl ResearchSettings {
    /// Returns the team limits, reduced to what a question of this kind and complexity needs: one researcher with ten
    /// calls for a single fact, two to four with fifteen calls for a comparison, ten researchers for a moderately
    /// complex question, and the configured limits for a complex one.
    pub fn team_for(&self, kind: QuestionKind, complexity: Complexity) -> SupervisorSettings {
        let (at_once, in_all, calls) = match (complexity, kind) {
            (Complexity::Simple, _) => (1, 1, 10),
            (_, QuestionKind::Comparison) => (4, 4, 15),
            (Complexity::Moderate, _) => (4, 10, 15),
            (Complexity::Complex, _) => return self.team,
        };
        let team = self.team;
        SupervisorSettings {
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

/// The kind of answer that a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// "What is …": a definition first.
    Definition,
    /// "How to …": steps.
    HowTo,
    /// "… or …", "difference between …": options and criteria.
    Comparison,
    /// "Why …": reasons.
    Why,
    /// "Does X cause Y": effect, evidence for and against.
    Causal,
    /// "Which …", "list …": a list.
    List,
    /// "When …": a date.
    When,
    /// "Who …": a person or organisation.
    Who,
    /// "How many / how much …": a number with its unit.
    Quantity,
    /// "Where …": a place.
    Where,
    /// "Is …", "can …": yes or no, with the reason.
    YesNo,
    /// Anything else.
    Open,
}

/// The refined question: what exactly is asked, and what is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The question as asked, without instructions on the form of the answer, or the part of a long text that asks. What tells to list
    /// something is put as a question. Relevance is measured against it.
    pub question: String,
    /// The version for prompts, if another: an unambiguous one written by a model, or the question with its instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharpened: Option<String>,
    /// The kind of answer.
    pub kind: QuestionKind,
    /// The subjects, most important first: names and noun phrases as they occur in the question.
    pub subjects: Vec<String>,
    /// Search terms, most distinctive first.
    pub key_terms: Vec<String>,
    /// What a complete answer covers.
    pub scope_in: Vec<String>,
    /// What is out of scope.
    pub scope_out: Vec<String>,
    /// Two-letter language code of the question.
    pub lang: String,
    /// What the question leaves open, with the user's replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarified: Vec<Clarification>,
}

/// A clarifying question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarification {
    /// The question.
    pub question: String,
    /// The user's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Words of computing: a question with one of them asks for code.
const TECHNICAL: &[&str] = &[
    "ansible",
    "api",
    "apis",
    "awk",
    "bash",
    "cli",
    "css",
    "django",
    "docker",
    "dockerfile",
    "git",
    "github",
    "golang",
    "graphql",
    "html",
    "http",
    "java",
    "javascript",
    "jquery",
    "json",
    "kubectl",
    "kubernetes",
    "linux",
    "makefile",
    "mysql",
    "nginx",
    "nodejs",
    "npm",
    "numpy",
    "oauth",
    "pandas",
    "php",
    "postgresql",
    "powershell",
    "pytorch",
    "regex",
    "sdk",
    "sql",
    "sqlite",
    "ssh",
    "systemd",
    "tensorflow",
    "terraform",
    "toml",
    "typescript",
    "unix",
    "webpack",
    "xml",
    "yaml",
];

/// Words of computing that have other meanings (the function of an organ): a question with two of them asks for code.
const TECHNICAL_IN_PAIRS: &[&str] = &[
    "array",
    "code",
    "command",
    "compile",
    "compiler",
    "config",
    "configure",
    "database",
    "function",
    "import",
    "library",
    "loop",
    "module",
    "package",
    "parse",
    "program",
    "programming",
    "python",
    "query",
    "rust",
    "script",
    "software",
    "string",
    "syntax",
    "variable",
];

impl Brief {
    /// Whether a complete answer includes code.
    pub fn is_technical(&self) -> bool {
        let words = self.question.to_lowercase();
        let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).collect();
        let pairs = TECHNICAL_IN_PAIRS.iter().filter(|word| words.contains(word));
        matches!(self.kind, QuestionKind::HowTo | QuestionKind::Definition | QuestionKind::Open)
            && (words.iter().any(|word| TECHNICAL.contains(word)) || pairs.count() > 1)
    }

    /// The least ambiguous version of the question.
    pub fn effective_question(&self) -> &str {
        self.sharpened.as_deref().unwrap_or(&self.question)
    }

    /// The question with the user's replies to clarifying questions, or `None` if there are none.
    pub fn combined_prompt(&self) -> Option<String> {
        let dialogue = |clarification: &Clarification| {
            let answer = clarification.answer.as_deref()?;
            Some(format!("Q: {}\nA: {answer}", clarification.question))
        };
        let replies: Vec<String> = self.clarified.iter().filter_map(dialogue).collect();
        (!replies.is_empty()).then(|| format!("{}\n{}", self.question, replies.join("\n")))
    }
}

/// A brief and a plan given by the user instead of generated ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProvidedPlan {
    /// The refined question.
    pub brief: Brief,
    /// The plan.
    pub plan: Plan,
}
