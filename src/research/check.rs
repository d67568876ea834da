//! The last word: what does not hold is struck, what holds is numbered and counted.
use std::collections::BTreeMap;

use crate::domain::words::numbers;
use crate::domain::{
    Answer, Brief, Checks, Citation, Claim, ClaimId, Clarified, Conflict, Counted, Coverage,
    Evidence, EvidenceId, Finding, MethodNote, ModelRole, Notes, Page, PageHash, Question, Report,
    RunId, Section, Side, Source, SourceId,
};
use crate::record::Event;
use crate::seams::Log;

use super::aid::Aid;
use super::draft::{Draft, Line};
use super::gathered::Gathered;
use super::trust;

/// The report that holds: every quote looked up in its page, every number in its quote; sources
/// numbered in the order of first use, the same work the same number.
pub(crate) fn hold(
    log: &Log,
    run: &RunId,
    question: &Question,
    brief: &Brief,
    draft: Draft,
    gathered: &Gathered,
    aid: &Aid<'_>,
) -> Report {
    let mut desk = Desk::new(&gathered.notes, gathered.shelf.pages());
    desk.checks.removed += draft.reworded;
    let short: Vec<Claim> = draft
        .short
        .iter()
        .filter_map(|it| desk.hold(log, it))
        .collect();
    let findings: Vec<Finding> = draft
        .findings
        .iter()
        .filter_map(|(line, mark)| {
            Some(Finding {
                claim: desk.hold(log, line)?,
                confidence: mark.clone(),
            })
        })
        .collect();
    let mut sections = Vec::new();
    for it in draft.sections {
        let paragraphs: Vec<Vec<Claim>> = it
            .paragraphs
            .iter()
            .map(|lines| {
                lines
                    .iter()
                    .filter_map(|line| desk.hold(log, line))
                    .collect::<Vec<_>>()
            })
            .filter(|it| !it.is_empty())
            .collect();
        if !paragraphs.is_empty() {
            sections.push(Section {
                title: it.title,
                item: it.item,
                paragraphs,
            });
        }
    }
    let mut conflicts = Vec::new();
    for it in draft.conflicts {
        let sides: Vec<Side> = it
            .sides
            .into_iter()
            .filter_map(|(says, line)| {
                Some(Side {
                    says,
                    claim: desk.hold(log, &line)?,
                    weight: 0.0,
                })
            })
            .collect();
        if sides.len() >= 2 {
            conflicts.push(Conflict {
                about: it.about,
                item: it.item,
                sides,
                likely: it.likely,
            });
        }
    }
    let answer = draft.answer.as_ref().and_then(|it| desk.answer(it));
    let (mut sources, checks) = desk.close();
    trust::tell(&mut sources, gathered, &conflicts, &question.asked_on);
    trust::weigh(&mut conflicts, &sources);
    for conflict in &conflicts {
        log.emit(Event::ConflictFound {
            conflict: conflict.clone(),
        });
    }
    let mut coverage = gathered.coverage.clone();
    for row in &mut coverage {
        if conflicts.iter().any(|it| it.item == row.id) && row.state == Coverage::Covered {
            row.state = Coverage::Conflict;
        }
    }
    Report {
        run: run.clone(),
        question: question.text.clone(),
        mode: question.mode,
        date: question.asked_on.clone(),
        depth: word(&question.method.effort),
        title: draft.title,
        lang: brief.lang.clone(),
        short,
        confidence: draft.confidence,
        answer,
        findings,
        sections,
        conflicts,
        open: draft.open,
        method: MethodNote {
            engines: gathered.engines.clone(),
            queries: gathered.queries.clone(),
            waves: gathered.waves,
            pages_read: (gathered.usage.pages - gathered.usage.failed_pages) as u32,
            pages_failed: gathered
                .shelf
                .failed()
                .iter()
                .map(|(url, why)| (url.clone(), why.clone()))
                .collect(),
            clarified: answered(brief),
            models: named(question),
            unaided: aid.unaided(),
            unaided_because: aid.unaided_because(),
            stop: gathered.stop,
            gate: gathered.gate.clone(),
        },
        sources,
        coverage,
        checks,
        usage: gathered.usage.with_models(&aid.usage()),
    }
}

/// What the person was asked back, as far as they answered.
fn answered(brief: &Brief) -> Vec<Clarified> {
    let all = brief.clarified.iter();
    all.filter(|it| it.answer.is_some()).cloned().collect()
}

/// The models of a question: one name where one plays all roles.
fn named(question: &Question) -> Vec<String> {
    let mut names: Vec<&String> = question.models.values().collect();
    names.dedup();
    match (
        names.as_slice(),
        question.models.len() == ModelRole::ALL.len(),
    ) {
        ([only], true) => vec![(*only).clone()],
        _ => question
            .models
            .iter()
            .map(|(role, name)| format!("{}: {name}", role.word()))
            .collect(),
    }
}

/// The wire word of an effort.
fn word(effort: &crate::domain::Effort) -> String {
    serde_json::to_value(effort)
        .ok()
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Where claims are held against pages, and what was counted so far.
struct Desk<'a> {
    notes: &'a Notes,
    pages: &'a BTreeMap<PageHash, Page>,
    evidence: BTreeMap<EvidenceId, &'a Evidence>,
    /// Works by what tells them apart, with their numbers.
    numbered: BTreeMap<String, u32>,
    sources: Vec<Source>,
    claims: u32,
    checks: Checks,
}

impl<'a> Desk<'a> {
    fn new(notes: &'a Notes, pages: &'a BTreeMap<PageHash, Page>) -> Desk<'a> {
        Desk {
            notes,
            pages,
            evidence: notes.evidence.iter().map(|it| (it.id, it)).collect(),
            numbered: BTreeMap::new(),
            sources: Vec::new(),
            claims: 0,
            checks: Checks::default(),
        }
    }

    /// The claim with those citations that hold; `None`, and counted as removed, when none does.
    fn hold(&mut self, log: &Log, line: &Line) -> Option<Claim> {
        let quotes: Vec<&Evidence> = line
            .evidence
            .iter()
            .filter_map(|id| self.evidence.get(id).copied())
            .collect();
        let standing: Vec<&Evidence> = quotes
            .iter()
            .copied()
            .filter(|it| self.stands(it))
            .collect();
        let (matched, total) = numbers_in(&line.text, &standing);
        let quotes_hold = !standing.is_empty() && standing.len() == quotes.len();
        let numbers_hold = matched == total;
        if standing.is_empty() || !numbers_hold {
            self.checks.removed += 1;
            return None;
        }
        self.checks.quotes.held += standing.len() as u32;
        self.checks.quotes.total += quotes.len() as u32;
        self.checks.numbers.held += matched;
        self.checks.numbers.total += total;
        self.claims += 1;
        let citations = self.cite(&standing);
        let claim = Claim::new(ClaimId::new(self.claims), line.text.clone(), citations);
        add(&mut self.checks.claims, claim.is_some());
        let claim = claim?;
        log.emit(Event::ClaimChecked {
            claim: claim.clone(),
            quotes_hold,
            numbers_hold,
        });
        Some(claim)
    }

    fn answer(&mut self, line: &Line) -> Option<Answer> {
        let standing: Vec<&Evidence> = line
            .evidence
            .iter()
            .filter_map(|id| self.evidence.get(id).copied())
            .filter(|it| self.stands(it))
            .collect();
        let citations = self.cite(&standing);
        (!citations.is_empty()).then(|| Answer {
            text: line.text.clone(),
            citations,
        })
    }

    fn stands(&self, it: &Evidence) -> bool {
        self.pages
            .get(it.passage.page())
            .is_some_and(|page| it.passage.stands_in(page))
    }

    fn cite(&mut self, standing: &[&Evidence]) -> Vec<Citation> {
        let mut citations: Vec<Citation> = Vec::new();
        for it in standing {
            let Some(n) = self.number(it.source) else {
                continue;
            };
            citations.push(Citation {
                n,
                evidence: it.id,
                passage: it.passage.clone(),
            });
        }
        citations.sort_by_key(|it| it.n);
        citations
    }

    /// The number of a work: by its own id or place, so that two readings of one work are one.
    fn number(&mut self, id: SourceId) -> Option<u32> {
        let source = self.notes.source(id)?;
        let key = source.key().to_owned();
        if let Some(n) = self.numbered.get(&key) {
            return Some(*n);
        }
        self.sources.push(source.clone());
        let n = self.sources.len() as u32;
        self.numbered.insert(key, n);
        Some(n)
    }

    fn close(self) -> (Vec<Source>, Checks) {
        (self.sources, self.checks)
    }
}

fn add(count: &mut Counted, held: bool) {
    count.held += u32::from(held);
    count.total += 1;
}

/// How many numbers of `text` stand in one of the quotes, of how many.
fn numbers_in(text: &str, quotes: &[&Evidence]) -> (u32, u32) {
    let quoted: Vec<f64> = quotes
        .iter()
        .flat_map(|it| numbers(it.passage.text().expose()))
        .map(|it| it.value)
        .collect();
    let said = numbers(text);
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    let matched = said
        .iter()
        .filter(|it| quoted.iter().any(|other| same(it.value, *other)))
        .count();
    (matched as u32, said.len() as u32)
}
