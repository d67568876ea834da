//! All text templates in one place: the phrases of the heuristics, and the prompts.
//!
//! The text is in the files beside this one; here it gets its types.
mod languages;
mod phrase_set;
mod table_words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Deserialize;

pub(crate) use languages::{LanguageWords, language_words};
pub(crate) use phrase_set::PhraseSet;
pub(crate) use table_words::{MeasureWords, TableWords, table_words};

use crate::ask::template::one_line;
use ibid_core::domain::QuestionKind;
use ibid_core::{Error, ErrorKind, Result};

/// The checklist by kind of question.
#[derive(Debug, Deserialize)]
pub(crate) struct PlanWords {
    pub(crate) writing: WritingWords,
    pub(crate) scope: ScopeWords,
    kinds: BTreeMap<String, KindRow>,
    pub(crate) facets: BTreeMap<String, Facet>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WritingWords {
    pub(crate) overall_goal: String,
    pub(crate) desired_tone: String,
    pub(crate) guidance: String,
    pub(crate) unlisted: PhraseSet,
    pub(crate) directives: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ScopeWords {
    #[serde(rename = "in")]
    pub(crate) within: String,
    pub(crate) since: String,
    pub(crate) until: String,
    pub(crate) domains: String,
    pub(crate) out_domains: String,
}

#[derive(Debug, Deserialize)]
struct KindRow {
    items: Vec<String>,
}

/// One aspect of a question: its heading, its question, its query, and its cue words.
#[derive(Debug, Deserialize)]
pub(crate) struct Facet {
    pub(crate) heading: String,
    pub(crate) asks: String,
    pub(crate) query: String,
    /// Phrases used by sentences on it.
    pub(crate) cues: PhraseSet,
    /// Those that suffice by themselves; all, if there are none.
    pub(crate) strong: Option<PhraseSet>,
    /// Whether only sentences with a number count.
    #[serde(default)]
    pub(crate) numbers: bool,
    /// Whether only sentences with a date count.
    #[serde(default)]
    pub(crate) dates: bool,
}

impl PlanWords {
    /// The facets of a kind of question, core first.
    pub(crate) fn facets_of(&self, kind: QuestionKind) -> Vec<(&str, &Facet)> {
        self.facets_named(kind_name(kind))
    }

    /// The facets of a comparison of two things to choose from.
    pub(crate) fn facets_of_choice(&self) -> Vec<(&str, &Facet)> {
        self.facets_named("choice")
    }

    /// The facets of a question for what happened over some years.
    pub(crate) fn facets_of_history(&self) -> Vec<(&str, &Facet)> {
        self.facets_named("history")
    }

    fn facets_named(&self, name: &str) -> Vec<(&str, &Facet)> {
        self.kinds
            .get(name)
            .into_iter()
            .flat_map(|row| &row.items)
            .filter_map(|name| self.facets.get_key_value(name))
            .map(|(name, facet)| (name.as_str(), facet))
            .collect()
    }

    /// The facet with this heading, and its name.
    pub(crate) fn facet_by_heading(&self, heading: &str) -> Option<(&str, &Facet)> {
        self.facets
            .iter()
            .find(|(_, it)| it.heading == heading)
            .map(|(name, it)| (name.as_str(), it))
    }
}

fn kind_name(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Definition => "definition",
        QuestionKind::HowTo => "how_to",
        QuestionKind::Comparison => "comparison",
        QuestionKind::Why => "why",
        QuestionKind::Causal => "causal",
        QuestionKind::List => "list",
        QuestionKind::When => "when",
        QuestionKind::Who => "who",
        QuestionKind::Quantity => "quantity",
        QuestionKind::Where => "where",
        QuestionKind::YesNo => "yes_no",
        QuestionKind::Open => "open",
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        pub(crate) struct $name { $(pub(crate) $field: $ty),* }
    };
}

words!(
    /// Phrases by the step that uses them.
    Phrases {
        question: QuestionWords,
        thread: ThreadWords,
        query: QueryWords,
        sentence: SentenceWords,
        gap: GapWords,
        content: ContentWords,
        open: OpenWords,
        confidence: ConfidenceWords,
        conflict: ConflictWords,
        answer: AnswerWords,
        synthesis: SynthesisWords,
        nothing: NothingWords,
    }
);
words!(QuestionWords {
    auxiliaries: Vec<String>,
    causal: PhraseSet,
    comparison: PhraseSet,
    choice: PhraseSet,
    how_to: Vec<String>,
    quantity: Vec<String>,
    amount_verbs: Vec<String>,
    amount_nouns: Vec<String>,
    generic_heads: BTreeSet<String>,
    done_participles: Vec<String>,
    recurring: PhraseSet,
    aspects: BTreeSet<String>,
    aspect_facets: BTreeMap<String, String>,
    aspect_openings: Vec<String>,
    when: Vec<String>,
    who: Vec<String>,
    r#where: Vec<String>,
    why: Vec<String>,
    list: Vec<String>,
    definition: Vec<String>,
    asking: Vec<String>,
    parts: Vec<String>,
    follow_up: PhraseSet,
});
words!(ThreadWords {
    turning: PhraseSet,
    leading: Vec<String>,
    anywhere: PhraseSet,
    more: PhraseSet,
    than: PhraseSet,
    pronouns: PhraseSet,
    standing_for: Vec<String>,
    leads: Vec<String>,
    sides: Vec<String>,
    prepositions: Vec<String>,
});
words!(QueryWords {
    rephrased: String,
    broader: String,
    narrower: String,
    gap: String,
    pubmed: String,
});
words!(SentenceWords {
    leaning: Vec<String>,
    standing: Vec<String>,
    connectives: Vec<String>,
    labels: Vec<String>,
    aim_openings: Vec<String>,
    aims: PhraseSet,
    boilerplate: PhraseSet,
    citing: PhraseSet,
    orders: PhraseSet,
    orders_weak: Vec<String>,
    orders_to: PhraseSet,
    orders_verbs: BTreeSet<String>,
    orders_process_verbs: BTreeSet<String>,
    orders_process: PhraseSet,
    orders_lead: Vec<String>,
    orders_openings: Vec<String>,
    orders_yours: PhraseSet,
    orders_abroad: Vec<(Vec<String>, Vec<String>)>,
    pointing: PhraseSet,
    doubt: PhraseSet,
    reported_question: PhraseSet,
    negations: PhraseSet,
    lessening: PhraseSet,
    comparing: PhraseSet,
    ranking: PhraseSet,
    serving: PhraseSet,
    hard: PhraseSet,
    no_negation: Vec<String>,
    clause_breaks: Vec<String>,
    relating: BTreeSet<String>,
    framed: PhraseSet,
    saying: BTreeSet<String>,
    opinions: BTreeSet<String>,
    finding: BTreeSet<String>,
    evidence: BTreeSet<String>,
    fiction: BTreeSet<String>,
    fiction_titles: PhraseSet,
    debunking: PhraseSet,
    refuting: BTreeSet<String>,
    only: PhraseSet,
    every: PhraseSet,
    some: PhraseSet,
    enough: PhraseSet,
    requiring: PhraseSet,
    qualified: PhraseSet,
    only_if: PhraseSet,
    explaining: Vec<String>,
    concluding: Vec<String>,
    light_verbs: BTreeSet<String>,
    antonyms: Vec<(String, String)>,
    reporting: Vec<String>,
    verbs: BTreeSet<String>,
    imperatives: BTreeSet<String>,
    subject_verbs: BTreeSet<String>,
    clause_openings: BTreeSet<String>,
    announcements: Vec<String>,
    claimed_causes: PhraseSet,
    quoted_causes: PhraseSet,
    found_that: Vec<String>,
});
words!(ContentWords { definition: LackWords, steps: LackWords, code: LackWords });
words!(LackWords { gap: String, query: String });
words!(GapWords {
    open: String,
    thin: String,
    weak: String,
    unreported: String,
    untold: String,
    missing: String
});
words!(OpenWords {
    nothing: String,
    failed: String,
    failed_what: String,
    beside: String,
    beside_what: String,
    gate: String,
    undecided_split: String,
    undecided_words: String,
    undecided_framed: String,
    stopped: String,
    gate_what: String,
});
words!(ConfidenceWords {
    sources: String,
    same: String,
    none_disagrees: String,
    lean: String,
    lean_one: String,
    one_source: String,
    seller: String,
    open_part: String,
    agree: String,
    disagree: String,
    cases: String,
    doubt: String,
    direct: String,
    indirect: String,
    nearest: String,
    superseded: String,
});
words!(ConflictWords {
    compared: String,
    condition: String,
    cases: String,
    older: String,
    namesakes: String,
    other_things: String,
    about_number: String,
    about_name: String,
    yes: String,
    no: String,
    says_so: String,
    denies: String,
});
words!(AnswerWords { yes: String, no: String, yes_count: String, no_count: String });
words!(SynthesisWords {
    only_yes: String,
    only_no: String,
    replaced: String,
    superseded: String,
    further: String,
});
words!(NothingWords {
    none_found: String,
    none_found_one_page: String,
    none_found_no_pages: String,
    nearest: String,
    hint: String,
    hint_one_page: String,
    hint_no_pages: String,
});

words!(
    /// Single lines that are inserted into prompts.
    Lines {
        tasks: String,
        search_web: String,
        fetch_url: String,
        find_in_page: String,
        read_on: String,
        searches_made: String,
        approach: String,
        goal: String,
        length: String,
        more: String,
        earlier: String,
        patch: String,
        again: String,
        shorter: String,
        context: String,
        critique: BTreeMap<String, String>,
        catch_items: Vec<String>,
    }
);

/// The contents of `lines.toml`.
pub(crate) fn prompt_lines() -> Result<&'static Lines> {
    static WORDS: OnceLock<std::result::Result<Lines, String>> = OnceLock::new();
    parse_toml(&WORDS, include_str!("lines.toml"), "lines.toml")
}

/// The line of a prompt that says who asks and what for; empty if this is unknown.
pub(crate) fn context_line(context: Option<&str>) -> Result<String> {
    let line = &prompt_lines()?.context;
    let filled = |context| fill_template(line, &[("context", &one_line(context))]);
    Ok(context.map_or_else(String::new, filled))
}

/// The contents of `plan.toml`.
pub(crate) fn plan_words() -> Result<&'static PlanWords> {
    static WORDS: OnceLock<std::result::Result<PlanWords, String>> = OnceLock::new();
    parse_toml(&WORDS, include_str!("plan.toml"), "plan.toml")
}

/// The contents of `phrases.toml`.
pub(crate) fn phrases() -> Result<&'static Phrases> {
    static WORDS: OnceLock<std::result::Result<Phrases, String>> = OnceLock::new();
    parse_toml(&WORDS, include_str!("phrases.toml"), "phrases.toml")
}

/// The grammar of sentences that direct writers, searchers or judges.
#[derive(Debug, Deserialize)]
pub(crate) struct DirectiveWords {
    pub(crate) outputs: BTreeSet<String>,
    pub(crate) outputs_plain: BTreeSet<String>,
    pub(crate) all_of_them: BTreeSet<String>,
    pub(crate) force: BTreeSet<String>,
    pub(crate) force_pairs: BTreeSet<String>,
    pub(crate) talk: BTreeSet<String>,
    pub(crate) talk_wide: BTreeSet<String>,
    pub(crate) imperative: BTreeSet<String>,
    pub(crate) imperative_of_docs: BTreeSet<String>,
    pub(crate) imperative_plain: BTreeSet<String>,
    pub(crate) objects: BTreeSet<String>,
    pub(crate) agents: BTreeSet<String>,
    pub(crate) all_who: BTreeSet<String>,
    pub(crate) speak: BTreeSet<String>,
    pub(crate) places: BTreeSet<String>,
    pub(crate) passwords: BTreeSet<String>,
    pub(crate) secrets: BTreeSet<String>,
    pub(crate) whenever: BTreeSet<String>,
    pub(crate) spoken_of: BTreeSet<String>,
    pub(crate) keys: BTreeSet<String>,
    pub(crate) leads: BTreeSet<String>,
    pub(crate) machines: Vec<String>,
    pub(crate) machine_topics: BTreeSet<String>,
    /// By language.
    pub(crate) abroad: BTreeMap<String, ForeignDirectiveWords>,
}

/// Word stems of a language.
#[derive(Debug, Deserialize)]
pub(crate) struct ForeignDirectiveWords {
    pub(crate) force: Vec<String>,
    pub(crate) texts: Vec<String>,
}

/// See [`DirectiveWords`].
pub(crate) fn directive_words() -> Result<&'static DirectiveWords> {
    static WORDS: OnceLock<std::result::Result<DirectiveWords, String>> = OnceLock::new();
    parse_toml(&WORDS, include_str!("directions.toml"), "directions.toml")
}

/// Words that occur in many questions and say little about their subject.
pub(crate) fn weak_words() -> &'static BTreeSet<&'static str> {
    static WORDS: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| include_str!("weak.txt").split_whitespace().collect())
}

/// Relations that connect a question for a figure or a date to a name: "how old is the mother of the director
/// of …".
pub(crate) fn role_words() -> &'static BTreeSet<&'static str> {
    static WORDS: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| include_str!("roles.txt").split_whitespace().collect())
}

/// The prompts, by file.
const ASKED: &[(&str, &str)] = &[
    ("refine.md", include_str!("refine.md")),
    ("plan.md", include_str!("plan.md")),
    ("replan.md", include_str!("replan.md")),
    ("queries.md", include_str!("queries.md")),
    ("supervise.md", include_str!("supervise.md")),
    ("research.md", include_str!("research.md")),
    ("weigh.md", include_str!("weigh.md")),
    ("cover.md", include_str!("cover.md")),
    ("critique.md", include_str!("critique.md")),
    ("write.md", include_str!("write.md")),
    ("answer.md", include_str!("answer.md")),
    ("answer_report.md", include_str!("answer_report.md")),
    ("verify.md", include_str!("verify.md")),
    ("judge_answer.md", include_str!("judge_answer.md")),
    ("judge_process.md", include_str!("judge_process.md")),
];

/// The template of this file.
pub(crate) fn prompt_template(file: &str) -> Result<&'static str> {
    ASKED
        .iter()
        .find(|pair| pair.0 == file)
        .map(|pair| pair.1)
        .ok_or_else(|| Error::new(ErrorKind::Internal, format!("looking for the prompt {file}")))
}

/// The phrases in the example of `step`'s prompt: every string of at least three words. An answer with one of
/// them was copied, because the examples are about a bridge that does not exist.
pub(crate) fn example_phrases(step: &str) -> Vec<String> {
    let text = prompt_template(&format!("{step}.md")).unwrap_or_default();
    let Some(at) =
        text.rfind("\n{{").map(|it| it + 1).or_else(|| text.find(": {{").map(|it| it + 2))
    else {
        return Vec::new();
    };
    let json = text[at..].replace("{{", "{").replace("}}", "}");
    let mut found = Vec::new();
    phrases_in(&serde_json::from_str(json.trim()).unwrap_or_default(), &mut found);
    found
}

fn phrases_in(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(it) if it.split(' ').count() > 2 => found.push(it.clone()),
        serde_json::Value::Array(all) => all.iter().for_each(|it| phrases_in(it, found)),
        serde_json::Value::Object(all) => all.values().for_each(|value| phrases_in(value, found)),
        _ => {}
    }
}

fn parse_toml<T: for<'a> Deserialize<'a>>(
    cell: &'static OnceLock<std::result::Result<T, String>>,
    text: &str,
    name: &str,
) -> Result<&'static T> {
    cell.get_or_init(|| toml_edit::de::from_str(text).map_err(|error| error.to_string()))
        .as_ref()
        .map_err(|fault| {
            Error::new(ErrorKind::Internal, format!("reading the words of {name}"))
                .with_source(fault.clone())
        })
}

/// `template` with each `{name}` replaced.
pub(crate) fn fill_template(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + 40);
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let Some(end) = tail.find('}') else {
            out.push_str(&rest[at..]);
            return out;
        };
        match values.iter().find(|(name, _)| *name == &tail[..end]) {
            Some((_, value)) => out.push_str(value),
            None => out.push_str(&rest[at..at + end + 2]),
        }
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_plan_of_three_to_six_facets_that_exist() {
        use QuestionKind::*;
        let words = plan_words().unwrap();
        for kind in [
            Definition, HowTo, Comparison, Why, Causal, List, When, Who, Quantity, Where, YesNo,
            Open,
        ] {
            let named = words.kinds[kind_name(kind)].items.len();
            assert!((3..=6).contains(&named), "{kind:?}");
            assert_eq!(words.facets_of(kind).len(), named, "{kind:?}");
        }
        assert_eq!(words.facets_of_choice().len(), words.kinds["choice"].items.len());
    }

    #[test]
    fn headings_are_unique() {
        let all: Vec<&str> =
            plan_words().unwrap().facets.values().map(|value| value.heading.as_str()).collect();
        let distinct: BTreeSet<&&str> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn phrases_parse() {
        assert!(!phrases().unwrap().sentence.orders.is_empty());
    }

    #[test]
    fn every_prompt_has_an_example_that_cannot_be_an_answer() {
        // The prompt that revises a plan is added to that of the plan, which has an example.
        for (file, _) in ASKED.iter().filter(|pair| pair.0 != "replan.md") {
            let said = example_phrases(file.trim_end_matches(".md"));
            assert!(!said.is_empty(), "{file}");
        }
    }

    #[test]
    fn values_are_never_templates_themselves() {
        assert_eq!(fill_template("{a} and {b}", &[("a", "{b}"), ("b", "x")]), "{b} and x");
    }
}
