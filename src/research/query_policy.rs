//! What the queries of a run may be made of, and what a model's words may become once it has read pages.
//!
//! A page is evidence and no author: its prose never becomes a query or a line of the run's story. It can add names, few, and
//! only those that stand in evidence beside a word of what is asked. What a model writes after reading is narrowed to the words
//! of the question, the plan, the person and these names, so it can select and narrow, and carry nothing over. For the
//! outside only names of public pages count; see [`PermittedWords`].
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::words::{Token, content_stems, is_stop, stem, tokens};
use crate::domain::{
    Brief, Evidence, FolderWords, Hit, Notes, OutboundWords, PermittedWords, Plan, PublicName,
    Question, Turn, Vertical, is_name, is_public, sentences,
};
use crate::seams::World;

use super::prompts;
use super::steps;
use super::thesaurus;
use super::unaided::intake::is_weak;

/// Names that pages may add in a round, in a run, and one page in a round.
const NAMES_A_ROUND: usize = 4;
const NAMES_A_RUN: usize = 12;
const NAMES_A_PAGE: usize = 2;
/// Small words that may stand between a name and the word that asks for it.
const BETWEEN: usize = 4;

/// Words of the queries that code makes of a template.
const OF_TEMPLATES: &[&str] = &["definition", "step", "instructions", "code", "example"];
/// Words in which a gap is told, whatever it is.
const OF_GAPS: &[&str] = &[
    "answer", "answered", "available", "data", "details", "evidence", "exact", "figures", "found", "given",
    "information", "known", "lack", "lacking", "lacks", "mentioned", "missing", "named", "none", "nothing",
    "provided", "question", "read", "report", "reported", "said", "says", "source", "sources", "specific", "state",
    "stated", "states", "still", "tells", "told", "unclear", "yet",
];

/// The policy of one run. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct QueryPolicy(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    outside: PermittedWords,
    folders: FolderWords,
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
        QueryPolicy::with(outside)
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
        let private = world.search.iter().any(|it| it.verticals().iter().any(local))
            || world.known.iter().any(|it| !is_public(it.0.kind));
        // Answers of earlier runs may quote private documents, and a model that refined the question has seen them.
        let unknown = question.follows.is_some() && world.known.is_empty();
        let by_person = question.given.is_some() || question.approve;
        let quoted = match (private || unknown) && !by_person {
            true => answers(question),
            false => BTreeSet::new(),
        };
        outside.planned(brief, plan, |word| !quoted.contains(&stem(word)));
        if !private {
            outside.general(prompts::weak().iter().copied());
        }
        QueryPolicy::with(outside)
    }

    fn with(mut outside: PermittedWords) -> QueryPolicy {
        outside.general(OF_TEMPLATES.iter().copied());
        let mut folders = outside.for_folders();
        folders.general(OF_GAPS.iter().copied());
        folders.general(prompts::weak().iter().copied());
        QueryPolicy(Arc::new(Mutex::new(State {
            outside,
            folders,
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

    /// The names that new evidence leads to.
    pub(crate) fn learn<'e>(
        &self,
        brief: &Brief,
        notes: &Notes,
        new: impl Iterator<Item = &'e Evidence>,
    ) {
        let mut left = NAMES_A_ROUND;
        let mut by_page: Vec<(crate::domain::SourceId, usize)> = Vec::new();
        for it in new {
            let Some(source) = notes.source(it.source) else {
                continue;
            };
            let asks = it.items.iter().filter_map(|id| notes.plan.item(*id));
            let asks: Vec<&str> = asks.map(|it| it.asks.as_str()).collect();
            let asked = format!("{} {}", brief.question, asks.join(" "));
            for name in asked_for(&asked, it.passage.text().expose()) {
                let mut state = self.state();
                let of_page = by_page.iter().filter(|had| had.0 == it.source).count();
                let full = left == 0 || state.names == NAMES_A_RUN || of_page == NAMES_A_PAGE;
                if full || state.known.contains(&name) {
                    continue;
                }
                state.known.insert(name.clone());
                left -= 1;
                state.names += 1;
                by_page.push((it.source, of_page));
                if let Some(public) = PublicName::found(&name, source) {
                    state.outside.named(&public);
                }
                state.folders.named(&name, &source.url);
            }
        }
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
        match PublicName::shown(name, hit) {
            Some(public) => {
                state.outside.named(&public);
                (true, true)
            }
            None => (true, false),
        }
    }

    /// Takes in a name that titles of pages with evidence share.
    pub(crate) fn met(&self, name: &str, source: &crate::domain::Source) {
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

/// The stems of what assistants said before.
fn answers(question: &Question) -> BTreeSet<String> {
    let before = question.follows.iter().flat_map(|it| &it.turns);
    let said = |it: &Turn| [it.assistant.clone(), it.system.clone()];
    let all = question.dialogue.iter().chain(before).flat_map(said);
    all.flatten().flat_map(|it| content_stems(&it)).collect()
}

/// The names in `text` that `asked` asks for: those with a word of it right before or behind them, small words aside.
/// "directed by Clarence Brown" is asked for by "director". Names of the question itself ask for nothing.
pub(crate) fn asked_for(asked: &str, text: &str) -> Vec<String> {
    let own = tokens(asked);
    let named = |it: &&Token| it.span.start > 0 && asked[it.span.clone()].starts_with(char::is_uppercase);
    let names: BTreeSet<String> = own.iter().filter(named).map(|it| stem(&it.text)).collect();
    let sought: Vec<String> = content_stems(asked)
        .into_iter()
        .filter(|it| !names.contains(it))
        .collect();
    let asks = |word: &Token| {
        let stem = stem(&word.text);
        sought.iter().any(|it| {
            steps::alike(it, &stem) || thesaurus::synonyms(it).any(|other| other == stem)
        })
    };
    let small = |word: &Token| is_stop(&word.text) || is_weak(&word.text);
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences(text) {
        let text = &text[sentence];
        let words = tokens(text);
        for (name, at) in steps::names(text, &words) {
            let length = tokens(&name).len();
            let known = content_stems(&name).iter().all(|it| names.contains(it) || sought.contains(it));
            let before = words[..at].iter().rev();
            let before = before.take(BETWEEN + 1).find(|it| asks(it) || !small(it));
            let behind = words[(at + length).min(words.len())..].iter();
            let behind = behind.take(2).find(|it| asks(it) || !small(it));
            let beside = before.is_some_and(&asks) || behind.is_some_and(&asks);
            if beside && !known && is_name(&name) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}
