//! The last word: what does not hold is struck, what holds is numbered and counted.
use std::collections::BTreeMap;

use crate::domain::words::numbers;
use crate::domain::{
    Answer, Brief, Checks, Citation, Claim, ClaimId, Clarified, Conflict, Counted, Coverage,
    Evidence, EvidenceId, Finding, Followed, MethodNote, ModelRole, Notes, Page, PageHash,
    Question, Report, RunId, Section, Side, Source, SourceId, Topic,
};
use crate::record::Event;
use crate::seams::Log;

use super::aid::Aid;
use super::draft::{Draft, Line};
use super::gathered::Gathered;
use super::learning;
use super::trust;

/// The report that holds: every quote looked up in its page, every number in its quote; sources
/// numbered in the order of first use, the same work the same number.
pub(crate) fn hold(
    log: &Log,
    run: &RunId,
    question: &Question,
    brief: &Brief,
    mut draft: Draft,
    gathered: &Gathered,
    aid: &Aid<'_>,
) -> Report {
    tell_the_heavier(&mut draft, gathered, question);
    let mut desk = Desk::new(&gathered.notes, gathered.shelf.pages());
    desk.checks.removed += draft.reworded;
    let short: Vec<Claim> = draft
        .short
        .iter()
        .filter_map(|it| desk.hold(Some(log), it))
        .collect();
    learning::together(&mut draft.findings, |it| learning::kind(&it.0.text));
    let findings: Vec<Finding> = draft
        .findings
        .iter()
        .filter_map(|(line, mark)| {
            Some(Finding {
                learning: learning::kind(&line.text),
                claim: desk.hold(Some(log), line)?,
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
                    .filter_map(|line| desk.hold(Some(log), line))
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
            .filter_map(|(says, line)| side(&mut desk, says, &line, Some(log)))
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
            followed: followed(question, brief, gathered),
            models: named(question),
            unaided: aid.unaided(),
            unaided_because: aid.unaided_because(),
            strategy: Some(gathered.strategy),
            stop: gathered.stop,
            gate: gathered.gate.clone(),
        },
        results: Vec::new(),
        sources,
        unlisted: !gathered.notes.plan.writing.bibliography,
        coverage,
        checks,
        usage: gathered.usage.with_models(&aid.usage()),
    }
}

fn side(desk: &mut Desk<'_>, says: String, line: &Line, log: Option<&Log>) -> Option<Side> {
    let claim = desk.hold(log, line)?;
    Some(Side {
        says,
        claim,
        weight: 0.0,
    })
}

/// A side of a conflict that weighs less than this share of the heaviest does not speak for it in the short answer.
const SPEAKS: f32 = 0.6;

/// Where the short answer tells a light side of a conflict, lets it tell the heaviest instead: the light one stands in the
/// conflict's box.
fn tell_the_heavier(draft: &mut Draft, gathered: &Gathered, question: &Question) {
    for at in 0..draft.conflicts.len() {
        let sides = &draft.conflicts[at].sides;
        let weights = weights(sides, gathered, question);
        let Some(heaviest) = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]))
        else {
            continue;
        };
        let tells = |line: &Line, of: usize| {
            let other = &sides[of].1.evidence;
            line.evidence.iter().any(|it| other.contains(it))
        };
        let light = |line: &Line| {
            (0..sides.len()).any(|it| tells(line, it) && weights[it] < SPEAKS * weights[heaviest])
        };
        let best = sides[heaviest].1.clone();
        let told = draft.short.iter().any(|it| tells(it, heaviest));
        match draft.short.iter().position(light) {
            Some(at) if told => drop(draft.short.remove(at)),
            Some(at) => {
                draft.findings.retain(|it| it.0.evidence != best.evidence);
                draft.short[at] = best;
            }
            None => {}
        }
    }
}

/// The weights that the sides of one conflict have by themselves.
fn weights(sides: &[(String, Line)], gathered: &Gathered, question: &Question) -> Vec<f32> {
    let mut desk = Desk::new(&gathered.notes, gathered.shelf.pages());
    let held: Vec<Option<Side>> = sides
        .iter()
        .map(|(says, line)| side(&mut desk, says.clone(), line, None))
        .collect();
    let (mut sources, _) = desk.close();
    let mut conflicts = [Conflict {
        about: String::new(),
        item: crate::domain::ItemId::new(1),
        sides: held.iter().flatten().cloned().collect(),
        likely: None,
    }];
    trust::tell(&mut sources, gathered, &conflicts, &question.asked_on);
    trust::weigh(&mut conflicts, &sources);
    let mut weighed = conflicts[0].sides.iter().map(|it| it.weight);
    held.iter()
        .map(|it| it.as_ref().and_then(|_| weighed.next()).unwrap_or(0.0))
        .collect()
}

/// What the person was asked back, as far as they answered.
fn answered(brief: &Brief) -> Vec<Clarified> {
    let all = brief.clarified.iter();
    all.filter(|it| it.answer.is_some()).cloned().collect()
}

/// What a follow-up goes on with; nothing, where it began anew.
fn followed(question: &Question, brief: &Brief, gathered: &Gathered) -> Option<Followed> {
    let same = super::topic(question).ok() == Some(Topic::Same);
    let follows = question.follows.as_ref().filter(|_| same)?;
    Some(Followed {
        run: follows.run.clone(),
        read_as: brief.question.clone(),
        known: gathered.shelf.known(),
    })
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
    fn hold(&mut self, log: Option<&Log>, line: &Line) -> Option<Claim> {
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
        if let Some(log) = log {
            log.emit(Event::ClaimChecked {
                claim: claim.clone(),
                quotes_hold,
                numbers_hold,
            });
        }
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
