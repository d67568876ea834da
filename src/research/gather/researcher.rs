//! A researcher: one topic, tools for searching and reading, a few turns, and notes that name what they rest on (rows C4, C6
//! to C9). Each turn is one decision made from what is known so far, by a model or by its twin without one.
use crate::domain::words::share;
use crate::domain::{
    Coverage, Evidence, Hit, Item, ItemId, Team, UnitProgress, UnitStatus, Variation,
};
use crate::error::Result;
use crate::research::aid::Counting;
use crate::research::ask::{
    self,
    shapes::{ResearchAsk, Researched, UnitAction, language},
};
use crate::research::query_policy::QueryPolicy;
use crate::seams::Mind;

use super::Gathering;

/// Thoughts in a row before one counts as the end: who only thinks does not research.
const THOUGHTS: u32 = 3;
/// Share of a claim's words that another holds which says the same.
const SAME: f32 = 0.8;
/// Longest reason that is told of a failure, characters (row C9).
const REASON: usize = 180;
/// What is told of a researcher whose model failed.
const EXECUTION: &str = "execution failed";

/// One researcher at work.
pub(super) struct Unit {
    pub(super) id: String,
    pub(super) topic: String,
    pub(super) item: ItemId,
    /// The first search, where the supervisor named one.
    query: String,
    /// What it may read: the hits it was last shown.
    pub(super) hits: Vec<Hit>,
    /// What was found, not yet in the notes.
    pub(super) findings: Vec<Evidence>,
    /// What it did and what came of it.
    pub(super) trail: Vec<String>,
    pub(super) searches: u32,
    pub(super) calls: u32,
    turns: u32,
    thoughts: u32,
    /// How many of its findings were there when it last read.
    known: usize,
    notes: Vec<(String, Vec<usize>)>,
    end: Option<UnitStatus>,
    failure: Option<String>,
    /// Whether code goes on for it, because it would have come back with nothing.
    pub(super) by_code: bool,
    began: u64,
    ms: u64,
}

/// What a researcher does next.
pub(super) enum Move {
    /// Search for these words.
    Search(Vec<String>),
    /// Read these of its hits.
    Read(Vec<usize>),
    /// Nothing that others see.
    Think(String),
    /// Come back with these notes; none are made of the findings.
    Finish(Vec<(String, Vec<usize>)>),
}

impl Move {
    /// The same with its queries narrowed to what they may be made of: a model that has read pages wrote them.
    pub(super) fn narrowed(self, policy: &QueryPolicy) -> Move {
        let Move::Search(queries) = self else {
            return self;
        };
        let queries: Vec<String> = queries
            .iter()
            .filter_map(|it| policy.narrowed(it))
            .collect();
        match queries.is_empty() {
            true => Move::Think("no word of these queries is asked for".to_owned()),
            false => Move::Search(queries),
        }
    }
}

impl Unit {
    pub(super) fn sent_out(nth: u32, item: ItemId, topic: String, query: String, now: u64) -> Unit {
        Unit {
            id: format!("researcher-{nth}"),
            topic,
            item,
            query,
            hits: Vec::new(),
            findings: Vec::new(),
            trail: Vec::new(),
            searches: 0,
            calls: 0,
            turns: 0,
            thoughts: 0,
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

    /// Takes in what was decided: what is left of it to be done by others. Its bounds are held here.
    pub(super) fn takes(&mut self, next: Move, team: &Team, now: u64) -> Option<Move> {
        self.turns += 1;
        // Turns that call no tool count too, or a model that only thinks would never be stopped.
        let most = team.max_react_tool_calls;
        if !self.by_code && (self.calls >= most || self.turns > most) {
            self.failure = Some(format!("recursion limit of {} reached", most + 1));
            self.ends(Vec::new(), now);
            return None;
        }
        match next {
            Move::Think(thought) => {
                self.thoughts += 1;
                self.trail.push(format!("thought: {thought}"));
                if self.thoughts >= THOUGHTS {
                    self.ends(Vec::new(), now);
                }
                None
            }
            Move::Finish(notes) => {
                self.ends(notes, now);
                None
            }
            Move::Search(mut queries) => {
                self.thoughts = 0;
                let left = team.researcher_search_budget.saturating_sub(self.searches);
                queries.truncate(left as usize);
                if queries.is_empty() {
                    self.trail
                        .push("search_web: your searches are spent".to_owned());
                    return None;
                }
                self.searches += queries.len() as u32;
                self.calls += queries.len() as u32;
                Some(Move::Search(queries))
            }
            Move::Read(hits) => {
                self.thoughts = 0;
                self.calls += hits.len() as u32;
                self.known = self.findings.len();
                Some(Move::Read(hits))
            }
        }
    }

    /// Ends it; but one that would come back with nothing is gone on with by code, once.
    fn ends(&mut self, notes: Vec<(String, Vec<usize>)>, now: u64) {
        if self.findings.is_empty() && !self.by_code {
            self.by_code = true;
            self.turns = 0;
            return;
        }
        self.notes = notes;
        self.end = Some(match self.failure {
            None => UnitStatus::Completed,
            Some(_) => UnitStatus::Failed,
        });
        self.ms = now.saturating_sub(self.began);
    }

    /// Ends it for a reason that says nothing of the inside; what it found is kept.
    pub(super) fn fails(&mut self, reason: String, now: u64) {
        self.failure = Some(sanitised(&reason));
        self.end = Some(UnitStatus::Failed);
        self.ms = now.saturating_sub(self.began);
    }

    /// Its model has failed: that is told, not with what, and code goes on for it with what it has.
    pub(super) fn goes_on_by_code(&mut self) {
        self.failure = Some(EXECUTION.to_owned());
        self.by_code = true;
        self.turns = 0;
    }

    /// How it stands, as the supervisor tells it.
    pub(super) fn progress(&self, evidence: u32) -> UnitProgress {
        UnitProgress {
            id: self.id.clone(),
            topic: self.topic.clone(),
            item: self.item,
            status: self.end.unwrap_or(UnitStatus::Dispatched),
            tool_calls: self.calls,
            evidence,
            ms: self.ms,
            failure: self.failure.clone(),
        }
    }

    /// Its notes as sentences; those without a finding may be read, never cited.
    pub(super) fn said(&self) -> impl Iterator<Item = &(String, Vec<usize>)> {
        self.notes.iter()
    }

    /// The evidence of its notes, extracted by what they cite and not by a model (row C4): so many claims, of each so many
    /// sources. Notes that cite nothing leave the best findings.
    pub(super) fn records(&self, team: &Team) -> Vec<usize> {
        let mut cited = self.notes.iter().map(|it| it.1.clone());
        let mut claims: Vec<Vec<usize>> = cited.by_ref().filter(|it| !it.is_empty()).collect();
        if claims.is_empty() {
            claims = self.claims();
        }
        let mut kept: Vec<usize> = Vec::new();
        for claim in claims
            .iter()
            .take(team.max_evidence_claims_per_research_unit as usize)
        {
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

    /// Its findings, those that say the same together, best first.
    fn claims(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.findings.len()).collect();
        let own = |at: &usize| self.findings[*at].items.contains(&self.item);
        let score = |at: &usize| self.findings[*at].score;
        // What it was sent out for comes first; what it met on the way is kept as room is left.
        order.sort_by(|a, b| {
            (own(b), score(b))
                .partial_cmp(&(own(a), score(a)))
                .unwrap_or(std::cmp::Ordering::Equal)
                .then(a.cmp(b))
        });
        let mut claims: Vec<Vec<usize>> = Vec::new();
        for at in order {
            let text = &self.findings[at].claim;
            let same = |it: &&mut Vec<usize>| share(text, &self.findings[it[0]].claim) >= SAME;
            match claims.iter_mut().find(same) {
                Some(claim) => claim.push(at),
                None => claims.push(vec![at]),
            }
        }
        claims
    }
}

/// What a researcher decides, and who was asked.
pub(super) async fn decide<'m>(
    mind: &'m Mind,
    question: &str,
    lang: &str,
    searching: bool,
    team: &Team,
    unit: &Unit,
) -> (Counting<'m>, Result<Move>) {
    let hits: Vec<String> = unit.hits.iter().map(shown).collect();
    let findings: Vec<String> = unit.findings.iter().map(|it| it.claim.clone()).collect();
    let language = language(Some(lang));
    let asked = ResearchAsk {
        question,
        topic: &unit.topic,
        calls: (unit.calls, team.max_react_tool_calls),
        searches: searching.then_some((unit.searches, team.researcher_search_budget)),
        hits: &hits,
        findings: &findings,
        trail: &unit.trail,
        language: &language,
    };
    let model = Counting::of(mind);
    let answer = match asked.prompt() {
        Ok(prompt) => ask::typed(&model, prompt, |it: &Researched| asked.check(it)).await,
        Err(fault) => Err(fault),
    };
    let next = answer.map(|it| match it.value.action {
        UnitAction::SearchWeb => Move::Search(asked.queries(&it.value)),
        UnitAction::FetchUrl => Move::Read(asked.pages(&it.value)),
        UnitAction::Think => Move::Think(it.value.thought.trim().to_owned()),
        UnitAction::Finish => Move::Finish(asked.notes(&it.value)),
    });
    (model, next)
}

/// A hit as a researcher sees it.
fn shown(hit: &Hit) -> String {
    let words: String = hit.snippet.expose().chars().take(200).collect();
    format!("{} ({}): {words}", hit.title, hit.url)
}

/// What a researcher does without a model: search as the item says, read the best, search for the gap if that did not answer
/// it, and come back.
pub(super) fn unaided(it: &Gathering<'_>, unit: &Unit, queries: Vec<String>) -> Move {
    let answered = it
        .standing
        .rows
        .iter()
        .any(|row| row.id == unit.item && row.state == Coverage::Covered);
    let read_in_vain = unit.calls > unit.searches && unit.findings.len() == unit.known;
    if unit.searches == 0 {
        return Move::Search(queries);
    }
    if unit.hits.is_empty() || answered || read_in_vain || unit.turns >= 4 {
        return Move::Finish(Vec::new());
    }
    Move::Read((0..unit.hits.len()).collect())
}

/// The first searches of a researcher, in the order of row D3: what it was sent out with, then the item's variations.
pub(super) fn first_words(unit: &Unit, item: &Item, breadth: u32) -> Vec<String> {
    let mut words = vec![unit.query.clone(), item.query.clone()];
    words.extend(item.terms.iter().take(1).cloned());
    words.retain(|it| !it.trim().is_empty());
    let mut once: Vec<String> = Vec::new();
    for it in words {
        if !once.iter().any(|had| had.eq_ignore_ascii_case(&it)) {
            once.push(it);
        }
    }
    once.truncate(breadth.max(1) as usize);
    once
}

/// A reason as people may read it: without links and hosts, which say where we are or lead to somebody's page of help, and no
/// longer than a line or two (row C9).
fn sanitised(reason: &str) -> String {
    let leads = |it: &&str| {
        let word = it.trim_matches(|it: char| !it.is_alphanumeric());
        it.contains("://") || word.starts_with("www.") || word.parse::<std::net::IpAddr>().is_ok()
    };
    let words: Vec<&str> = reason.split_whitespace().filter(|it| !leads(it)).collect();
    words.join(" ").chars().take(REASON).collect()
}

/// What a failed read is told as: nothing of the inside (row C8).
pub(super) fn told(reason: &str) -> String {
    let lower = reason.to_lowercase();
    let code = reason
        .split("HTTP ")
        .nth(1)
        .map(|it| {
            it.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        })
        .filter(|it| it.len() == 3);
    match code {
        Some(code) => format!("remote server returned HTTP {code}"),
        None if lower.contains("timed out") || lower.contains("timeout") => {
            "request timed out".to_owned()
        }
        None if lower.contains("blocked_address") => "address not allowed".to_owned(),
        None => "network error while fetching URL".to_owned(),
    }
}

/// The variation that a researcher's search counts as.
pub(super) fn variation(unit: &Unit) -> Variation {
    match unit.calls > unit.searches {
        true => Variation::Gap,
        false => Variation::Original,
    }
}

#[cfg(test)]
mod tests {
    use super::{sanitised, told};

    #[test]
    fn a_reason_has_no_links_and_no_hosts_and_is_short() {
        let long = format!(
            "stopped at 10.0.0.7, see <https://help.example/limits> or www.help.example: {}",
            "x ".repeat(300)
        );
        let said = sanitised(&long);
        assert!(said.starts_with("stopped at see or x x"), "{said}");
        assert_eq!(said.chars().count(), 180);
        assert_eq!(
            sanitised("research unit timed out"),
            "research unit timed out"
        );
    }

    #[test]
    fn a_failed_page_says_nothing_of_the_inside() {
        for (reason, says) in [
            (
                "reading http://10.0.0.7/: timed out after 20 s",
                "request timed out",
            ),
            (
                "reading https://a.example/: HTTP 404: not there",
                "remote server returned HTTP 404",
            ),
            (
                "reading http://10.0.0.7/: blocked_address: private",
                "address not allowed",
            ),
            (
                "reading https://a.example/: connection reset by 10.0.0.7:443",
                "network error while fetching URL",
            ),
        ] {
            assert_eq!(told(reason), says);
        }
    }
}
