//! What the queries of a run may be made of, and what a model's words may become once it has read pages.
//!
//! A page is evidence and no author: its prose never becomes a query or a line of the run's story. It can add names, few, and
//! only those that stand in evidence beside a word of what is asked. What a model writes after reading is narrowed to the words
//! of the question, the plan, the person and these names, so it can select and narrow, and carry nothing over. For the
//! outside only names of public pages count; see [`PermittedWords`].
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::words::{content_stems, tokens};
use crate::domain::{
    Brief, FolderWords, Hit, ModelRole, OutboundWords, OwnWord, PermittedWords, Plan, PublicName,
    Question, Source, Vertical, is_name, is_public,
};
use crate::seams::World;

use super::prompts;
use super::thesaurus;

/// Names that pages may add in a run.
const NAMES_A_RUN: usize = 12;

/// Words of the queries that code makes of a template.
const OF_TEMPLATES: &[&str] = &["definition", "step", "instructions", "code", "example"];
/// Words in which a gap is told, whatever it is.
const OF_GAPS: &[&str] = &[
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

/// The policy of one run. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct QueryPolicy(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    outside: PermittedWords,
    folders: FolderWords,
    /// Whether private documents are searched or known.
    private: bool,
    /// Whether question and plan hold no words of answers that may quote private documents.
    clean: bool,
    /// What was sent to the outside with fewer words than were written.
    sent: BTreeSet<(Vertical, Vec<String>)>,
    /// Names from pages: how many, and those that evidence led to.
    names: usize,
    known: BTreeSet<String>,
}

impl QueryPolicy {
    /// Of the question alone.
    pub(crate) fn asked(question: &Question) -> QueryPolicy {
        let outside = PermittedWords::asked(question, synonyms);
        QueryPolicy::with(outside, false, true)
    }

    /// Of a run: its question, and what was made of it before anything was read.
    pub(crate) fn planned(
        world: &World,
        question: &Question,
        brief: &Brief,
        plan: &Plan,
    ) -> QueryPolicy {
        let mut outside = PermittedWords::asked(question, synonyms);
        let local = |it: &Vertical| *it == Vertical::Local;
        let private = world
            .search
            .iter()
            .any(|it| it.verticals().iter().any(local))
            || world.known.iter().any(|it| !is_public(it.0.kind));
        // Answers of earlier runs may quote private documents, and a model that made the plan has seen them.
        let unknown = question.follows.is_some() && world.known.is_empty();
        let by_person = question.given.is_some() || question.approve;
        let by_code = world.models.of(ModelRole::Planner).is_none();
        let tainted = (private || unknown) && has_answers(question);
        let clean = by_person || by_code || !tainted;
        if clean {
            outside.planned(brief, plan);
        }
        for said in brief.clarified.iter().filter_map(|it| it.answer.as_ref()) {
            outside.said(said);
        }
        if !private {
            outside.general(prompts::weak().iter().copied());
        }
        let policy = QueryPolicy::with(outside, private, clean);
        policy.state().folders.planned(brief, plan);
        policy
    }

    fn with(mut outside: PermittedWords, private: bool, clean: bool) -> QueryPolicy {
        outside.general(OF_TEMPLATES.iter().copied());
        let mut folders = outside.for_folders();
        folders.general(OF_GAPS.iter().copied());
        folders.general(prompts::weak().iter().copied());
        QueryPolicy(Arc::new(Mutex::new(State {
            outside,
            folders,
            private,
            clean,
            sent: BTreeSet::new(),
            names: 0,
            known: BTreeSet::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What of `text` may be sent to `vertical`. Nothing where only words are left that were sent before.
    pub(crate) fn outbound(&self, vertical: Vertical, text: &str) -> Option<OutboundWords> {
        let mut state = self.state();
        let words = state.outside.cleared(text)?;
        let mut stems = content_stems(words.text());
        stems.sort();
        stems.dedup();
        let narrowed = content_stems(text).iter().any(|it| !stems.contains(it));
        let new = state.sent.insert((vertical, stems));
        (new || !narrowed).then_some(words)
    }

    /// What of a query in PubMed's syntax may be sent: all of it or nothing.
    pub(crate) fn outbound_syntax(&self, text: &str) -> Option<OutboundWords> {
        self.state().outside.cleared_syntax(text)
    }

    /// A query that a model wrote, narrowed to what it may be made of; `None` where nothing is left of it.
    pub(crate) fn narrowed(&self, query: &str) -> Option<String> {
        self.state().folders.narrowed(query)
    }

    /// A sentence that a model wrote, for the story of the run: as it is, where it holds no word of a page's own.
    pub(crate) fn told<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = text.trim();
        self.state().folders.permits(text).then_some(text)
    }

    /// What the person said while the run went on.
    pub(crate) fn said(&self, words: &str) {
        let mut state = self.state();
        state.outside.said(words);
        state.folders.said(words);
    }

    /// Takes in a name from a sentence of evidence; whether it is new and there was room for it.
    pub(crate) fn evident(&self, name: &str, source: &Source) -> bool {
        let mut state = self.state();
        if state.names == NAMES_A_RUN || !is_name(name) || !state.known.insert(name.to_owned()) {
            return false;
        }
        state.names += 1;
        if let Some(public) = PublicName::found(name, source) {
            state.outside.named(&public);
        }
        state.folders.named(name, &source.url);
        true
    }

    /// A query that a model wrote before it read anything: its own words are permitted too, except those that stand on a
    /// page, as `read` tells, and what is no plain word.
    pub(crate) fn thought(&self, query: &str, read: &dyn Fn(&str) -> bool) -> Option<String> {
        let mut state = self.state();
        if state.clean {
            for word in tokens(query) {
                if let Some(own) = OwnWord::thought(&word.text, read) {
                    state.outside.thought(&own);
                    state.folders.thought(&own);
                }
            }
        }
        state.folders.narrowed(query)
    }

    /// Whether `text` may be shown to a model whose own words may leave: of a run with private documents, only what may
    /// leave itself.
    pub(crate) fn may_be_shown(&self, text: &str) -> bool {
        let state = self.state();
        !state.private || state.outside.permits(text)
    }

    /// Takes in a name that a hit shows beside a word of the question; whether it may be asked for in folders, and outside.
    pub(crate) fn lead(&self, hit: &Hit, name: &str) -> (bool, bool) {
        if !is_name(name) {
            return (false, false);
        }
        let mut state = self.state();
        if state.names == NAMES_A_RUN {
            return (false, false);
        }
        state.names += 1;
        state.folders.named(name, &hit.url);
        match PublicName::shown(name, hit.vertical, &hit.url) {
            Some(public) => {
                state.outside.named(&public);
                (true, true)
            }
            None => (true, false),
        }
    }

    /// Takes in a name that titles of pages with evidence share.
    pub(crate) fn met(&self, name: &str, source: &Source) {
        let mut state = self.state();
        if state.names == NAMES_A_RUN || !is_name(name) {
            return;
        }
        state.names += 1;
        if let Some(public) = PublicName::found(name, source) {
            state.outside.named(&public);
        }
        state.folders.named(name, &source.url);
    }
}

fn synonyms(stem: &str) -> Vec<&'static str> {
    thesaurus::synonyms(stem).collect()
}

/// Whether somebody else than the person has spoken before.
fn has_answers(question: &Question) -> bool {
    let before = question.follows.iter().flat_map(|it| &it.turns);
    let mut turns = question.dialogue.iter().chain(before);
    turns.any(|it| it.assistant.is_some() || it.system.is_some())
}
