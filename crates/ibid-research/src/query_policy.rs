//! What the queries of a run may contain, and what may be kept of a model's words once it has read pages.
//!
//! A page is evidence, not an author: its prose never becomes a query or part of an event. It can only add a
//! few names, which must stand in evidence next to a word of the question. What a model writes after reading
//! is narrowed to the words of the question, the plan, the user and these names: it can select from them
//! but carry nothing over. For outside engines only names from public pages count; see [`OutboundWordPolicy`].
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::domain::words::{content_stems, tokens};
use ibid_core::domain::{
    Brief, FolderWordPolicy, Hit, ModelRole, ModelWord, OutboundWordPolicy, OutboundWords, Plan,
    PublicName, Question, Source, Vertical, is_name, is_public,
};
use ibid_core::ports::Providers;

use super::prompts;
use super::thesaurus;

/// Maximum number of names that pages may add in a run.
const MAX_NAMES_PER_RUN: usize = 12;

/// Words of the query templates.
const TEMPLATE_WORDS: &[&str] = &["definition", "step", "instructions", "code", "example"];
/// Words that may describe any gap.
const GAP_WORDS: &[&str] = &[
    "answer",
    "answered",
    "available",
    "data",
    "details",
    "evidence",
    "exact",
    "figures",
    "found",
    "given",
    "information",
    "known",
    "lack",
    "lacking",
    "lacks",
    "mentioned",
    "missing",
    "named",
    "none",
    "nothing",
    "provided",
    "question",
    "read",
    "report",
    "reported",
    "said",
    "says",
    "source",
    "sources",
    "specific",
    "state",
    "stated",
    "states",
    "still",
    "tells",
    "told",
    "unclear",
    "yet",
];

/// The policy of one run. Clones share its state.
#[derive(Debug, Clone)]
pub(crate) struct QueryPolicy(Arc<Mutex<PolicyState>>);

#[derive(Debug)]
struct PolicyState {
    outside: OutboundWordPolicy,
    folders: FolderWordPolicy,
    /// Whether private documents are searched or known.
    private: bool,
    /// Whether question and plan are free of earlier answers, which may quote private documents.
    clean: bool,
    /// Queries sent outside with fewer words than were written.
    sent: BTreeSet<(Vertical, Vec<String>)>,
    /// How many names pages have added, and below it those from evidence.
    names: usize,
    known: BTreeSet<String>,
}

impl QueryPolicy {
    /// The policy for a question without a run.
    pub(crate) fn from_question(question: &Question) -> QueryPolicy {
        let outside = OutboundWordPolicy::from_question(question, synonyms);
        QueryPolicy::new(outside, false, true)
    }

    /// The policy for a run, from its question and what was made of it before reading.
    pub(crate) fn from_plan(
        providers: &Providers,
        question: &Question,
        brief: &Brief,
        plan: &Plan,
    ) -> QueryPolicy {
        let mut outside = OutboundWordPolicy::from_question(question, synonyms);
        let local = |vertical: &Vertical| *vertical == Vertical::Local;
        let private = providers.search.iter().any(|it| it.verticals().iter().any(local))
            || providers.known.iter().any(|pair| !is_public(pair.0.kind));
        // Earlier answers may quote private documents, and a model that made the plan has seen them.
        let unknown = question.follows.is_some() && providers.known.is_empty();
        let by_person = question.given.is_some() || question.approve;
        let by_code = providers.models.get(ModelRole::Planner).is_none();
        let tainted = (private || unknown) && has_answers(question);
        let clean = by_person || by_code || !tainted;
        if clean {
            outside.add_plan(brief, plan);
        }
        for answer in brief.clarified.iter().filter_map(|it| it.answer.as_ref()) {
            outside.add_user_text(answer);
        }
        if !private {
            outside.add_general(prompts::weak_words().iter().copied());
        }
        let policy = QueryPolicy::new(outside, private, clean);
        policy.state().folders.add_plan(brief, plan);
        policy
    }

    fn new(mut outside: OutboundWordPolicy, private: bool, clean: bool) -> QueryPolicy {
        outside.add_general(TEMPLATE_WORDS.iter().copied());
        let mut folders = outside.to_folder_words();
        folders.add_general(GAP_WORDS.iter().copied());
        folders.add_general(prompts::weak_words().iter().copied());
        QueryPolicy(Arc::new(Mutex::new(PolicyState {
            outside,
            folders,
            private,
            clean,
            sent: BTreeSet::new(),
            names: 0,
            known: BTreeSet::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, PolicyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of `text` that may be sent to `vertical`; `None` if only words are left that were sent
    /// before.
    pub(crate) fn outbound(&self, vertical: Vertical, text: &str) -> Option<OutboundWords> {
        let mut state = self.state();
        let words = state.outside.filter_text(text)?;
        let mut stems = content_stems(words.text());
        stems.sort();
        stems.dedup();
        let narrowed = content_stems(text).iter().any(|content_stem| !stems.contains(content_stem));
        let new = state.sent.insert((vertical, stems));
        (new || !narrowed).then_some(words)
    }

    /// A query in PubMed's syntax, if all of it may be sent.
    pub(crate) fn outbound_syntax(&self, text: &str) -> Option<OutboundWords> {
        self.state().outside.filter_pubmed_syntax(text)
    }

    /// A model's query, narrowed to permitted words; `None` if nothing is left.
    pub(crate) fn narrow(&self, query: &str) -> Option<String> {
        self.state().folders.filter_text(query)
    }

    /// A model's sentence for an event: unchanged, if it has no word that is private to a page.
    pub(crate) fn permitted_sentence<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = text.trim();
        self.state().folders.permits(text).then_some(text)
    }

    /// Permits words that the user said during the run.
    pub(crate) fn permit_words(&self, words: &str) {
        let mut state = self.state();
        state.outside.add_user_text(words);
        state.folders.add_user_text(words);
    }

    /// Adds a name from evidence. Returns whether it is new and there was room for it.
    pub(crate) fn permit_evidence_name(&self, name: &str, source: &Source) -> bool {
        let mut state = self.state();
        if state.names == MAX_NAMES_PER_RUN
            || !is_name(name)
            || !state.known.insert(name.to_owned())
        {
            return false;
        }
        state.names += 1;
        if let Some(public) = PublicName::from_source(name, source) {
            state.outside.add_name(&public);
        }
        state.folders.add_name(name, &source.url);
        true
    }

    /// A query that a model wrote before reading anything: its own words are permitted too, unless `read` finds
    /// them on a page or they are not plain words.
    pub(crate) fn narrow_own_query(
        &self,
        query: &str,
        read: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let mut state = self.state();
        if state.clean {
            for word in tokens(query) {
                if let Some(own) = ModelWord::new(&word.text, read) {
                    state.outside.add_model_word(&own);
                    state.folders.add_model_word(&own);
                }
            }
        }
        state.folders.filter_text(query)
    }

    /// Whether `text` may be shown to a model whose words may be sent outside: in a run with private
    /// documents, only text that may be sent itself.
    pub(crate) fn may_be_shown(&self, text: &str) -> bool {
        let state = self.state();
        !state.private || state.outside.permits(text)
    }

    /// Adds a name that a hit shows next to a word of the question. Returns whether it may be searched for in
    /// folders, and outside.
    pub(crate) fn permit_lead(&self, hit: &Hit, name: &str) -> (bool, bool) {
        if !is_name(name) {
            return (false, false);
        }
        let mut state = self.state();
        if state.names == MAX_NAMES_PER_RUN {
            return (false, false);
        }
        state.names += 1;
        state.folders.add_name(name, &hit.url);
        match PublicName::from_hit(name, hit.vertical, &hit.url) {
            Some(public) => {
                state.outside.add_name(&public);
                (true, true)
            }
            None => (true, false),
        }
    }

    /// Adds a name that several titles of pages with evidence share.
    pub(crate) fn permit_title_name(&self, name: &str, source: &Source) {
        let mut state = self.state();
        if state.names == MAX_NAMES_PER_RUN || !is_name(name) {
            return;
        }
        state.names += 1;
        if let Some(public) = PublicName::from_source(name, source) {
            state.outside.add_name(&public);
        }
        state.folders.add_name(name, &source.url);
    }
}

/// A model's query with the subject of the question before it, where it is a bare name or word that the question does not
/// have: `Germany` finds pages about Germany, not about what was asked.
pub(crate) fn add_subject(brief: &Brief, query: String) -> String {
    let own = content_stems(&query);
    let asked = content_stems(&format!("{} {}", brief.question, brief.key_terms.join(" ")));
    let has_anchor = own.len() > 2 || own.iter().any(|stem| asked.contains(stem));
    match brief.subjects.first() {
        Some(subject) if !has_anchor => format!("{subject} {query}"),
        _ => query,
    }
}

fn synonyms(stem: &str) -> Vec<&'static str> {
    thesaurus::synonyms(stem).collect()
}

/// Whether earlier turns contain answers.
fn has_answers(question: &Question) -> bool {
    let before = question.follows.iter().flat_map(|follow| &follow.turns);
    let mut turns = question.dialogue.iter().chain(before);
    turns.any(|turn| turn.assistant.is_some() || turn.system.is_some())
}
