//! A researcher: one topic, tools to search and read, a few turns, and notes that cite findings. Each turn is
//! one decision, by a model or by heuristics.
use std::collections::BTreeSet;

use crate::ask;
use crate::ask::shapes::{ResearcherAction, ResearcherPrompt, ResearcherReply, language_name};
use crate::llm_session::TrackedModel;
use crate::page_set::UnreadPage;
use crate::query_policy::QueryPolicy;
use crate::thresholds::MIN_SAME_CLAIM_OVERLAP;
use ibid_core::domain::words::stem_overlap;
use ibid_core::domain::{
    Brief, ChecklistItem, Coverage, Evidence, Hit, ItemId, ResearcherProgress, ResearcherStatus,
    SourceId, SupervisorSettings, Variation, public_address,
};
use ibid_core::ports::RoleModel;
use ibid_core::{ReadFailure, Result};

use super::research_loop::ResearchLoop;

/// Thoughts in a row that end a researcher.
const MAX_THOUGHTS: u32 = 3;
/// Idle turns in a row that end a researcher: a model that only asks in other words would spend all its calls.
const MAX_IDLE_TURNS: u32 = 3;
/// Maximum number of the last tool calls that are kept for reading what was found.
const MAX_CALLS_FOR_READING: u32 = 4;
/// Maximum length of a reason shown for a failure, in characters.
const MAX_REASON_CHARS: usize = 180;
/// The reason shown when a researcher's model failed.
const EXECUTION: &str = "execution failed";

/// One researcher at work.
pub(super) struct Researcher {
    pub(super) id: String,
    pub(super) topic: String,
    pub(super) item: ItemId,
    /// The first search, if the supervisor named one.
    query: String,
    /// The queries it has sent.
    pub(super) queries: Vec<String>,
    /// The hits it was last shown, and may read.
    pub(super) hits: Vec<Hit>,
    /// The pages it may look into, in the order of reading.
    pub(super) read: Vec<ReadPage>,
    /// What it last looked up in one of them.
    pub(super) passages: Vec<String>,
    /// Its findings, not yet in the notes.
    pub(super) findings: Vec<Evidence>,
    /// Its actions with their results.
    pub(super) trail: Vec<String>,
    pub(super) searches: u32,
    pub(super) calls: u32,
    turns: u32,
    thoughts: u32,
    /// The keys of all hits that it was shown.
    shown: BTreeSet<String>,
    /// How many hits it was ever shown, how many pages and findings it has, and how many hits it may read, as of its last search or
    /// reading.
    progress_made: (usize, usize, usize),
    /// Idle turns since.
    idle_turns: u32,
    /// How many findings it had when it last read.
    known: usize,
    notes: Vec<(String, Vec<usize>)>,
    end: Option<ResearcherStatus>,
    failure: Option<String>,
    /// Whether heuristics continue for it.
    pub(super) by_code: bool,
    began: u64,
    ms: u64,
}

/// A page that a researcher has read.
pub(super) struct ReadPage {
    pub(super) source: SourceId,
    /// The sentence with which it reads on.
    pub(super) next: usize,
    /// As shown to the researcher: title, address, length.
    pub(super) row: String,
}

/// What a researcher does next.
pub(super) enum ResearcherStep {
    /// Search for these queries.
    Search(Vec<String>),
    /// Read these of its hits.
    Read(Vec<usize>),
    /// Look for words in this of the pages it has read.
    FindInPage(usize, String),
    /// Read on in this of the pages it has read.
    ReadOn(usize),
    /// Record a thought.
    Think(String),
    /// Return these notes. If there are none, they are made from the findings.
    Finish(Vec<(String, Vec<usize>)>),
}

impl ResearcherStep {
    /// Narrows the queries to permitted words, because a model that has read pages wrote them.
    pub(super) fn narrow_queries(self, policy: &QueryPolicy) -> ResearcherStep {
        let ResearcherStep::Search(queries) = self else {
            return self;
        };
        let queries: Vec<String> =
            queries.iter().filter_map(|query| policy.narrow(query)).collect();
        if queries.is_empty() {
            ResearcherStep::Think("no word of these queries is asked for".to_owned())
        } else {
            ResearcherStep::Search(queries)
        }
    }
}

impl Researcher {
    pub(super) fn new(
        nth: u32,
        item: ItemId,
        topic: String,
        query: String,
        now: u64,
    ) -> Researcher {
        Researcher {
            id: format!("researcher-{nth}"),
            topic,
            item,
            query,
            queries: Vec::new(),
            hits: Vec::new(),
            read: Vec::new(),
            passages: Vec::new(),
            findings: Vec::new(),
            trail: Vec::new(),
            searches: 0,
            calls: 0,
            turns: 0,
            thoughts: 0,
            shown: BTreeSet::new(),
            progress_made: (0, 0, 0),
            idle_turns: 0,
            known: 0,
            notes: Vec::new(),
            end: None,
            failure: None,
            by_code: false,
            began: now,
            ms: 0,
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.end.is_none()
    }

    /// Applies a decision within the researcher's limits. Returns the part of it that others must carry out.
    pub(super) fn apply_step(
        &mut self,
        next: ResearcherStep,
        team: &SupervisorSettings,
        now: u64,
    ) -> Option<ResearcherStep> {
        self.turns += 1;
        // Turns without a tool call count too, or a model that only thinks would never stop.
        let most = team.max_react_tool_calls;
        if self.calls >= most || !self.by_code && self.turns > most {
            if !self.by_code {
                self.failure = Some(recursion_limit(most));
            }
            self.finish_or_continue(Vec::new(), now);
            return None;
        }
        match next {
            ResearcherStep::Think(thought) => {
                self.thoughts += 1;
                self.trail.push(format!("thought: {thought}"));
                if self.thoughts >= MAX_THOUGHTS {
                    self.finish_or_continue(Vec::new(), now);
                }
                None
            }
            ResearcherStep::Finish(notes) => {
                self.finish_or_continue(notes, now);
                None
            }
            ResearcherStep::Search(mut queries) => {
                self.thoughts = 0;
                self.passages.clear();
                // Without a page read, a search is spent for nothing.
                let for_reading = MAX_CALLS_FOR_READING.min(most / 3);
                let calls_left = most.saturating_sub(for_reading).saturating_sub(self.calls);
                let left = team.researcher_search_budget.saturating_sub(self.searches);
                queries.truncate(left.min(calls_left) as usize);
                if queries.is_empty() {
                    self.trail.push("search_web: your searches are spent".to_owned());
                    // Out of tool calls it is at its limit; out of searches it has done what it may.
                    if calls_left == 0 && self.idle_turns + 1 >= MAX_IDLE_TURNS {
                        self.failure = Some(recursion_limit(most));
                    }
                    self.count_idle_turn(now);
                    return None;
                }
                self.searches += queries.len() as u32;
                self.calls += queries.len() as u32;
                Some(ResearcherStep::Search(queries))
            }
            ResearcherStep::FindInPage(..) | ResearcherStep::ReadOn(_) => {
                self.thoughts = 0;
                self.calls += 1;
                Some(next)
            }
            ResearcherStep::Read(mut hits) => {
                self.thoughts = 0;
                self.passages.clear();
                hits.truncate((most - self.calls) as usize);
                self.calls += hits.len() as u32;
                self.known = self.findings.len();
                Some(ResearcherStep::Read(hits))
            }
        }
    }

    /// Counts a turn of searching or reading as idle if it brought no new hit, page or finding. After [`MAX_IDLE_TURNS`] in a row
    /// it ends.
    pub(super) fn count_idle_turn(&mut self, now: u64) {
        self.shown.extend(self.hits.iter().map(|hit| hit.key().to_owned()));
        // A page that cannot be read is progress, too: it is no longer among the hits.
        let progress = (self.shown.len(), self.read.len() + self.findings.len(), self.hits.len());
        self.idle_turns = if progress == self.progress_made { self.idle_turns + 1 } else { 0 };
        self.progress_made = progress;
        if self.idle_turns >= MAX_IDLE_TURNS && self.is_active() && !self.by_code {
            self.finish_or_continue(Vec::new(), now);
        }
    }

    /// Ends it. If it has found nothing, heuristics continue for it, once.
    fn finish_or_continue(&mut self, notes: Vec<(String, Vec<usize>)>, now: u64) {
        if self.findings.is_empty() && !self.by_code {
            self.by_code = true;
            self.turns = 0;
            return;
        }
        self.notes = notes;
        self.end = Some(match self.failure {
            None => ResearcherStatus::Completed,
            Some(_) => ResearcherStatus::Failed,
        });
        self.ms = now.saturating_sub(self.began);
    }

    /// Ends it for a reason, cleaned of internal details. Its findings are kept.
    pub(super) fn fail(&mut self, reason: String, now: u64) {
        self.failure = Some(sanitize_reason(&reason));
        self.end = Some(ResearcherStatus::Failed);
        self.ms = now.saturating_sub(self.began);
    }

    /// Records that its model failed, without the details. Heuristics continue for it.
    pub(super) fn continue_by_code(&mut self) {
        self.failure = Some(EXECUTION.to_owned());
        self.by_code = true;
        self.turns = 0;
    }

    /// Its state for the progress event.
    pub(super) fn progress(&self, evidence: u32) -> ResearcherProgress {
        ResearcherProgress {
            id: self.id.clone(),
            topic: self.topic.clone(),
            item: self.item,
            status: self.end.unwrap_or(ResearcherStatus::Dispatched),
            tool_calls: self.calls,
            evidence,
            ms: self.ms,
            failure: self.failure.clone(),
        }
    }

    /// Its notes. Those without a finding may be read, never cited.
    pub(super) fn written_notes(&self) -> impl Iterator<Item = &(String, Vec<usize>)> {
        self.notes.iter()
    }

    /// The findings to keep, taken from what its notes cite and not from a model: a limited number of claims,
    /// each with a limited number of sources. If no note cites anything, the best findings are kept.
    pub(super) fn recorded_findings(&self, team: &SupervisorSettings) -> Vec<usize> {
        let mut cited = self.notes.iter().map(|note| note.1.clone());
        let mut claims: Vec<Vec<usize>> = cited.by_ref().filter(|it| !it.is_empty()).collect();
        if claims.is_empty() {
            claims = self.grouped_findings();
        }
        let mut kept: Vec<usize> = Vec::new();
        for claim in claims.iter().take(team.max_evidence_claims_per_research_unit as usize) {
            let mut sources = Vec::new();
            for at in claim {
                let Some(finding) = self.findings.get(*at) else {
                    continue;
                };
                if sources.contains(&finding.source) {
                    kept.push(*at);
                } else if sources.len() < team.max_source_urls_per_claim as usize {
                    sources.push(finding.source);
                    kept.push(*at);
                }
            }
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// Its findings, grouped by what they say, best first.
    fn grouped_findings(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.findings.len()).collect();
        let own = |at: &usize| self.findings[*at].items.contains(&self.item);
        let score = |at: &usize| self.findings[*at].score;
        // Findings on its own item come first; others are kept if there is room.
        order.sort_by(|a, b| {
            (own(b), score(b))
                .partial_cmp(&(own(a), score(a)))
                .unwrap_or(std::cmp::Ordering::Equal)
                .then(a.cmp(b))
        });
        let mut claims: Vec<Vec<usize>> = Vec::new();
        for at in order {
            let text = &self.findings[at].claim;
            let same = |number: &&mut Vec<usize>| {
                stem_overlap(text, &self.findings[number[0]].claim) >= MIN_SAME_CLAIM_OVERLAP
            };
            match claims.iter_mut().find(same) {
                Some(claim) => claim.push(at),
                None => claims.push(vec![at]),
            }
        }
        claims
    }
}

/// Asks a model for the next decision. Also returns the model's usage.
pub(super) async fn decide_by_model<'m>(
    role_model: &'m RoleModel,
    brief: &Brief,
    searching: bool,
    team: &SupervisorSettings,
    unit: &Researcher,
) -> (TrackedModel<'m>, Result<ResearcherStep>) {
    let hits: Vec<String> = unit.hits.iter().map(hit_summary).collect();
    let findings: Vec<String> = unit.findings.iter().map(|finding| finding.claim.clone()).collect();
    let pages: Vec<String> = unit.read.iter().map(|page| page.row.clone()).collect();
    let language = language_name(Some(&brief.lang));
    let prompt_input = ResearcherPrompt {
        question: brief.effective_question(),
        topic: &unit.topic,
        calls: (unit.calls, team.max_react_tool_calls),
        searches: searching.then_some((unit.searches, team.researcher_search_budget)),
        hits: &hits,
        findings: &findings,
        pages: &pages,
        passages: &unit.passages,
        trail: &unit.trail,
        language: &language,
    };
    let model = TrackedModel::new(role_model);
    let answer = match prompt_input.prompt() {
        Ok(prompt) => {
            ask::ask_typed(&model, prompt, |researcher_reply: &ResearcherReply| {
                prompt_input.check(researcher_reply)
            })
            .await
        }
        Err(fault) => Err(fault),
    };
    let next = answer.map(|answer| step_of_reply(&prompt_input, &answer.value));
    (model, next)
}

/// What a checked reply asks for.
fn step_of_reply(prompt: &ResearcherPrompt<'_>, reply: &ResearcherReply) -> ResearcherStep {
    let page = prompt.named_page(reply).unwrap_or_default();
    match reply.action {
        ResearcherAction::SearchWeb => ResearcherStep::Search(prompt.valid_queries(reply)),
        ResearcherAction::FetchUrl => ResearcherStep::Read(prompt.valid_pages(reply)),
        ResearcherAction::FindInPage => {
            ResearcherStep::FindInPage(page, prompt.sought_words(reply))
        }
        ResearcherAction::ReadOn => ResearcherStep::ReadOn(page),
        ResearcherAction::Think => ResearcherStep::Think(reply.thought.trim().to_owned()),
        ResearcherAction::Finish => ResearcherStep::Finish(prompt.valid_notes(reply)),
    }
}

/// A hit as shown to a researcher.
fn hit_summary(hit: &Hit) -> String {
    let words: String = hit.snippet.expose().chars().take(200).collect();
    format!("{} ({}): {words}", hit.title, public_address(&hit.url))
}

/// The decision without a model: search as the item says, read the best hits, search for the gap if the item
/// is not answered, and return.
pub(super) fn decide_by_heuristics(
    research: &ResearchLoop<'_>,
    unit: &Researcher,
    queries: Vec<String>,
) -> ResearcherStep {
    let answered = research
        .coverage
        .rows
        .iter()
        .any(|row| row.id == unit.item && row.state == Coverage::Covered);
    let read_in_vain = unit.calls > unit.searches && unit.findings.len() == unit.known;
    if unit.searches == 0 {
        return ResearcherStep::Search(queries);
    }
    if unit.hits.is_empty() || answered || read_in_vain || unit.turns >= 4 {
        return ResearcherStep::Finish(Vec::new());
    }
    ResearcherStep::Read((0..unit.hits.len()).collect())
}

/// The first searches of a researcher: its assignment, then the item's own queries.
pub(super) fn first_queries(unit: &Researcher, item: &ChecklistItem, breadth: u32) -> Vec<String> {
    let mut words = vec![unit.query.clone(), item.query.clone()];
    words.extend(item.terms.iter().take(1).cloned());
    words.retain(|word| !word.trim().is_empty());
    let mut once: Vec<String> = Vec::new();
    for it in words {
        if !once.iter().any(|had| had.eq_ignore_ascii_case(&it)) {
            once.push(it);
        }
    }
    once.truncate(breadth.max(1) as usize);
    once
}

/// The reason shown for a researcher that has made as many tool calls as it may.
fn recursion_limit(most: u32) -> String {
    format!("recursion limit of {} reached", most + 1)
}

/// Cleans a reason for display: removes links and hosts, which reveal internal addresses or lead elsewhere,
/// and limits its length.
fn sanitize_reason(reason: &str) -> String {
    let leads = |text: &&str| {
        let word = text.trim_matches(|c: char| !c.is_alphanumeric());
        text.contains("://") || word.starts_with("www.") || word.parse::<std::net::IpAddr>().is_ok()
    };
    let words: Vec<&str> = reason.split_whitespace().filter(|word| !leads(word)).collect();
    words.join(" ").chars().take(MAX_REASON_CHARS).collect()
}

/// The description of a failed read for the researcher, without internal details.
pub(super) fn read_failure_text(unread: &UnreadPage) -> String {
    match (unread.reason, unread.status) {
        (Some(ReadFailure::BlockedAddress), _) => "address not allowed".to_owned(),
        (_, Some(status)) => format!("remote server returned HTTP {status}"),
        (Some(ReadFailure::Timeout), None) => "request timed out".to_owned(),
        _ => "network error while fetching URL".to_owned(),
    }
}

/// The variation of a researcher's searches.
pub(super) fn search_variation(unit: &Researcher) -> Variation {
    if unit.calls > unit.searches { Variation::Gap } else { Variation::Original }
}

#[cfg(test)]
mod tests {
    use super::{ReadFailure, UnreadPage, read_failure_text, sanitize_reason};

    #[test]
    fn a_reason_has_no_links_and_no_hosts_and_is_short() {
        let long = format!(
            "stopped at 10.0.0.7, see <https://help.example/limits> or www.help.example: {}",
            "x ".repeat(300)
        );
        let said = sanitize_reason(&long);
        assert!(said.starts_with("stopped at see or x x"), "{said}");
        assert_eq!(said.chars().count(), 180);
        assert_eq!(sanitize_reason("research unit timed out"), "research unit timed out");
    }

    #[test]
    fn a_failed_page_says_nothing_of_the_inside() {
        for (reason, status, text) in [
            (Some(ReadFailure::Timeout), None, "request timed out"),
            (Some(ReadFailure::BlockedAddress), Some(403), "address not allowed"),
            (Some(ReadFailure::NotFound), Some(404), "remote server returned HTTP 404"),
            (None, None, "network error while fetching URL"),
        ] {
            let message = "reading http://10.0.0.7/: broken".to_owned();
            assert_eq!(read_failure_text(&UnreadPage { message, reason, status }), text);
        }
    }
}
