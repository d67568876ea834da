//! Checks the draft: removes what does not hold, then numbers and counts what does.
use crate::prompts;
use crate::thresholds::MIN_CONFLICT_SIDE_WEIGHT;
use std::collections::BTreeMap;

use ibid_core::Result;
use ibid_core::domain::words::numbers;
use ibid_core::domain::{
    Answer, Brief, Citation, Claim, ClaimId, Clarification, ComparisonRow, ComparisonTable,
    ConfidenceMark, Conflict, ConflictSide, Coverage, CoverageRow, Evidence, EvidenceId,
    EvidenceStore, Finding, FollowUpNote, MethodNote, ModelRole, Page, PageHash, Question,
    QuestionKind, Ratio, Report, ReportChecks, RunId, Section, Source, SourceId, TopicRelation,
};
use ibid_core::ports::EventLog;
use ibid_core::record::Event;

use super::consistency;
use super::draft::{DraftComparison, DraftConflict, DraftLine, DraftSection, ReportDraft};
use super::finding_kind;
use super::heuristic::answer::ANSWER_CHARS;
use super::heuristic::tables::{add_conversions, asked_unit, chart_of};
use super::llm_session::LlmSession;
use super::research_state::ResearchState;
use super::run_context::RunContext;
use super::speaker;
use super::trust;
use super::write::told_answer;

/// The report of what holds: every quote is looked up in its page, every number in its quotes. Sources are numbered in
/// the order of first use; two readings of one work have one number.
pub(crate) fn check_report(
    ctx: RunContext<'_>,
    run: &RunId,
    mut draft: ReportDraft,
    state: &ResearchState,
    llm: &LlmSession<'_>,
) -> Result<Report> {
    let RunContext { log, question, brief, .. } = ctx;
    prefer_heavier_side(&mut draft, state, question);
    let answer = told_answer(&draft, question.mode);
    let mut builder = CitationBuilder::new(&state.notes, state.pages.pages(), Some(log));
    builder.checks.removed += draft.reworded;
    let short = builder.check_lines(&draft.short);
    let introduction = builder.check_lines(&draft.introduction);
    let findings = builder.check_findings(draft.findings);
    let drawn = draft.comparison.as_ref().map(|it| (it.by_row, it.asked));
    let comparison = draft.comparison.and_then(|it| builder.check_comparison(it));
    let sections = builder.check_sections(draft.sections);
    let mut conflicts = builder.check_conflicts(draft.conflicts);
    let conclusion = builder.check_lines(&draft.conclusion);
    let answer = answer.and_then(|line| builder.check_answer(&line));
    let (mut sources, checks) = builder.finish();
    trust::assign_trust(&mut sources, state, &conflicts, &question.asked_on);
    trust::weigh_sides(&mut conflicts, &sources);
    for conflict in &conflicts {
        log.emit(Event::ConflictFound { conflict: conflict.clone() });
    }
    let is_list = !draft.short_list.is_empty() && draft.short == draft.short_list;
    let mut report = Report {
        run: run.clone(),
        question: question.text.clone(),
        mode: question.mode,
        date: question.asked_on.clone(),
        depth: effort_name(&question.method.effort),
        title: draft.title,
        lang: brief.lang.clone(),
        short,
        verdict: draft.verdict,
        nearest_only: draft.nearest_only,
        short_converted: Vec::new(),
        short_is_list: is_list && brief.kind != QuestionKind::HowTo,
        short_is_steps: is_list && brief.kind == QuestionKind::HowTo,
        confidence: draft.confidence.clone(),
        answer,
        introduction,
        findings,
        comparison,
        chart: None,
        sections,
        conclusion,
        open: draft.open,
        method: method_note(ctx, state, llm),
        results: Vec::new(),
        sources,
        unlisted: !state.notes.plan.writing.bibliography,
        coverage: report_coverage(state, &draft.confidence, &conflicts, llm)?,
        conflicts,
        checks,
        usage: state.usage.with_models(&llm.usage()),
    };
    consistency::resolve_contradictions(&mut report, &state.notes)?;
    count_quotes(&mut report);
    convert_short_answer(&mut report);
    if let (Some(table), Some((by_row, asked))) = (&mut report.comparison, drawn)
        && !table.is_time_line
    {
        add_conversions(table, by_row);
        report.chart = asked.filter(|_| !by_row).and_then(|asked| chart_of(table, asked));
    }
    Ok(report)
}

/// Adds the figures of the short answer in the unit that the question asks for.
fn convert_short_answer(report: &mut Report) {
    let Some(unit) = asked_unit(&report.question).filter(|_| !report.nearest_only) else {
        return;
    };
    let is_english = report.lang == "en";
    for claim in &report.short {
        report.short_converted.extend(unit.conversions(claim.text(), is_english));
    }
    report.short_converted.dedup();
    if let Some(answer) = &mut report.answer
        && let [converted] = &unit.conversions(&answer.text, is_english)[..]
    {
        let told = format!("{} ({converted}, computed)", answer.text);
        if told.chars().count() <= ANSWER_CHARS {
            answer.text = told;
        }
    }
}

/// Counts each printed quote once, however many claims cite it, beside those that did not hold.
fn count_quotes(report: &mut Report) {
    let counted = report.checks.quotes;
    let passed = report.cited_passages().len() as u32;
    report.checks.quotes = Ratio { passed, total: passed + counted.total - counted.passed };
}

/// The coverage rows. An item that was covered and has a conflict in the report is in conflict. The question is answered in
/// part if the short answer, picked by code, answers it only in part.
fn report_coverage(
    state: &ResearchState,
    confidence: &ConfidenceMark,
    conflicts: &[Conflict],
    llm: &LlmSession<'_>,
) -> Result<Vec<CoverageRow>> {
    let words = prompts::phrases()?;
    let mut coverage = state.coverage.clone();
    let by_code = llm.heuristic_steps().iter().any(|step| step == "write");
    if by_code
        && [&words.confidence.indirect, &words.confidence.nearest]
            .into_iter()
            .any(|part| confidence.why.contains(part))
        && let Some(first) = coverage.first_mut().filter(|row| row.state == Coverage::Covered)
    {
        first.state = Coverage::Partial;
        first.gap = Some(words.gap.weak.clone());
    }
    for row in &mut coverage {
        if conflicts.iter().any(|it| it.item == row.id && it.is_disagreement())
            && row.state == Coverage::Covered
        {
            row.state = Coverage::Conflict;
        }
    }
    Ok(coverage)
}

/// How the report was made.
fn method_note(ctx: RunContext<'_>, state: &ResearchState, llm: &LlmSession<'_>) -> MethodNote {
    MethodNote {
        engines: state.engines.clone(),
        queries: state.queries.clone(),
        rounds: state.rounds,
        pages_read: (state.usage.pages - state.usage.failed_pages) as u32,
        pages_known: state.pages.known_count(),
        pages_failed: state
            .pages
            .failed()
            .iter()
            .map(|(url, unread)| (url.clone(), unread.message.clone()))
            .collect(),
        clarified: answered_clarifications(ctx.brief),
        followed: followed_run(ctx.question, ctx.brief, state),
        models: if llm.usage().model_calls == 0 { Vec::new() } else { model_names(ctx.question) },
        unaided: llm.heuristic_steps(),
        unaided_because: llm.fallback_reasons(),
        strategy: Some(state.strategy),
        stop: state.stop,
        gate: state.gate.clone(),
    }
}

/// Where the short answer gives a light side of a conflict, replaces it by the heaviest side. The light one
/// still appears with the conflict.
fn prefer_heavier_side(draft: &mut ReportDraft, state: &ResearchState, question: &Question) {
    for at in 0..draft.conflicts.len() {
        let sides = &draft.conflicts[at].sides;
        let weights = side_weights(sides, state, question);
        let Some(heaviest) = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]))
        else {
            continue;
        };
        let cites_side = |line: &DraftLine, of: usize| {
            let other = &sides[of].1.evidence;
            line.evidence.iter().any(|it| other.contains(it))
        };
        let light = |line: &DraftLine| {
            (0..sides.len()).any(|index| {
                cites_side(line, index)
                    && weights[index] < MIN_CONFLICT_SIDE_WEIGHT * weights[heaviest]
            })
        };
        let best = sides[heaviest].1.clone();
        let is_heaviest_cited = draft.short.iter().any(|it| cites_side(it, heaviest));
        match draft.short.iter().position(light) {
            Some(at) if is_heaviest_cited => drop(draft.short.remove(at)),
            Some(at) => {
                draft.findings.retain(|finding| finding.0.evidence != best.evidence);
                draft.short[at] = best;
            }
            None => {}
        }
    }
}

/// The weight of each side of a conflict.
fn side_weights(
    sides: &[(String, DraftLine)],
    state: &ResearchState,
    question: &Question,
) -> Vec<f32> {
    let mut builder = CitationBuilder::new(&state.notes, state.pages.pages(), None);
    let held: Vec<Option<ConflictSide>> =
        sides.iter().map(|(says, line)| builder.check_side(says.clone(), line)).collect();
    let (mut sources, _) = builder.finish();
    let mut conflicts = [Conflict {
        about: String::new(),
        item: ibid_core::domain::ItemId::new(1),
        sides: held.iter().flatten().cloned().collect(),
        likely: None,
        cause: None,
    }];
    trust::assign_trust(&mut sources, state, &conflicts, &question.asked_on);
    trust::weigh_sides(&mut conflicts, &sources);
    let mut weighed = conflicts[0].sides.iter().map(|side| side.weight);
    held.iter().map(|side| side.as_ref().and_then(|_| weighed.next()).unwrap_or(0.0)).collect()
}

/// The clarifying questions that the user answered.
fn answered_clarifications(brief: &Brief) -> Vec<Clarification> {
    let all = brief.clarified.iter();
    all.filter(|it| it.answer.is_some()).cloned().collect()
}

/// The run that a follow-up continues; `None` if it started a new topic.
fn followed_run(question: &Question, brief: &Brief, state: &ResearchState) -> Option<FollowUpNote> {
    let same = super::detect_topic(question).ok() == Some(TopicRelation::Same);
    let follows = question.follows.as_ref().filter(|_| same)?;
    Some(FollowUpNote {
        run: follows.run.clone(),
        read_as: brief.question.clone(),
        known: state.pages.known_count(),
    })
}

/// The models of a question: a single name where one plays all roles.
fn model_names(question: &Question) -> Vec<String> {
    let mut names: Vec<&String> = question.models.values().collect();
    names.dedup();
    match (names.as_slice(), question.models.len() == ModelRole::ALL.len()) {
        ([only], true) => vec![(*only).clone()],
        _ => question
            .models
            .iter()
            .map(|(role, name)| format!("{}: {name}", role.as_str()))
            .collect(),
    }
}

/// The wire name of an effort.
fn effort_name(effort: &ibid_core::domain::Effort) -> String {
    serde_json::to_value(effort)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Checks claims against pages, numbers their sources, and counts the results.
struct CitationBuilder<'a> {
    notes: &'a EvidenceStore,
    pages: &'a BTreeMap<PageHash, Page>,
    evidence: BTreeMap<EvidenceId, &'a Evidence>,
    /// The number of each work, by a key that identifies it.
    numbered: BTreeMap<String, u32>,
    sources: Vec<Source>,
    claims: u32,
    checks: ReportChecks,
    /// Where each checked claim is emitted; `None` for a trial.
    log: Option<&'a EventLog>,
}

impl<'a> CitationBuilder<'a> {
    fn new(
        notes: &'a EvidenceStore,
        pages: &'a BTreeMap<PageHash, Page>,
        log: Option<&'a EventLog>,
    ) -> CitationBuilder<'a> {
        CitationBuilder {
            log,
            notes,
            pages,
            evidence: notes.evidence.iter().map(|it| (it.id, it)).collect(),
            numbered: BTreeMap::new(),
            sources: Vec::new(),
            claims: 0,
            checks: ReportChecks::default(),
        }
    }

    /// The claim with the citations that hold. `None` when none does; it then counts as removed.
    fn check_line(&mut self, line: &DraftLine) -> Option<Claim> {
        let quotes: Vec<&Evidence> =
            line.evidence.iter().filter_map(|id| self.evidence.get(id).copied()).collect();
        let verified: Vec<&Evidence> =
            quotes.iter().copied().filter(|quote| self.is_quoted_in_page(quote)).collect();
        let (matched, total) = matched_numbers(&line.text, &verified);
        let quotes_hold = !verified.is_empty() && verified.len() == quotes.len();
        let numbers_hold = matched == total;
        if verified.is_empty() || !numbers_hold {
            self.checks.removed += 1;
            return None;
        }
        self.checks.quotes.passed += verified.len() as u32;
        self.checks.quotes.total += quotes.len() as u32;
        self.checks.numbers.passed += matched;
        self.checks.numbers.total += total;
        self.claims += 1;
        let citations = self.cite(&verified);
        let claim = Claim::new(ClaimId::new(self.claims), line.text.clone(), citations);
        count_check(&mut self.checks.claims, claim.is_some());
        let speaker = verified.first().and_then(|it| self.notes.source(it.source));
        let speaker = speaker.and_then(|it| speaker::speaker(&line.text, it));
        let claim = claim?.said_by(speaker);
        if let Some(log) = self.log {
            log.emit(Event::ClaimChecked { claim: claim.clone(), quotes_hold, numbers_hold });
        }
        Some(claim)
    }

    /// The claims of the lines that hold.
    fn check_lines(&mut self, lines: &[DraftLine]) -> Vec<Claim> {
        lines.iter().filter_map(|line| self.check_line(line)).collect()
    }

    /// The findings that hold, those of one kind of learning together.
    fn check_findings(&mut self, mut findings: Vec<(DraftLine, ConfidenceMark)>) -> Vec<Finding> {
        finding_kind::group_by_kind(&mut findings, |pair| {
            finding_kind::classify_learning(&pair.0.text)
        });
        findings
            .into_iter()
            .filter_map(|(line, mark)| {
                Some(Finding {
                    learning: finding_kind::classify_learning(&line.text),
                    claim: self.check_line(&line)?,
                    confidence: mark,
                })
            })
            .collect()
    }

    /// The sections with the sentences that hold; a section without any is left out.
    fn check_sections(&mut self, sections: Vec<DraftSection>) -> Vec<Section> {
        let mut checked = Vec::new();
        for section in sections {
            let mut paragraphs: Vec<Vec<Claim>> = Vec::new();
            for lines in &section.paragraphs {
                paragraphs.push(self.check_lines(lines));
            }
            paragraphs.retain(|claims| !claims.is_empty());
            if !paragraphs.is_empty() {
                let DraftSection { title, item, layout, .. } = section;
                checked.push(Section { title, item, layout, paragraphs });
            }
        }
        checked
    }

    /// The comparison with the cells that hold. A row without any is left out, and a comparison of fewer than two rows.
    fn check_comparison(&mut self, it: DraftComparison) -> Option<ComparisonTable> {
        let mut rows = Vec::new();
        for (label, cells) in it.rows {
            let check = |lines: Vec<DraftLine>| -> Vec<Claim> {
                lines.iter().filter_map(|line| self.check_line(line)).collect()
            };
            let cells: Vec<Vec<Claim>> = cells.into_iter().map(check).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                rows.push(ComparisonRow { label, cells, converted: Vec::new() });
            }
        }
        (rows.len() >= 2).then_some(ComparisonTable {
            columns: it.columns,
            rows,
            is_time_line: it.is_time_line,
        })
    }

    /// The conflicts of which at least two sides hold.
    fn check_conflicts(&mut self, conflicts: Vec<DraftConflict>) -> Vec<Conflict> {
        let mut checked = Vec::new();
        for conflict in conflicts {
            let sides = conflict.sides.into_iter();
            let sides: Vec<ConflictSide> =
                sides.filter_map(|(says, line)| self.check_side(says, &line)).collect();
            if sides.len() >= 2 {
                checked.push(Conflict {
                    about: conflict.about,
                    item: conflict.item,
                    sides,
                    cause: conflict.likely.as_ref().map(|it| it.cause),
                    likely: conflict.likely.map(|it| it.text),
                });
            }
        }
        checked
    }

    fn check_side(&mut self, says: String, line: &DraftLine) -> Option<ConflictSide> {
        Some(ConflictSide { says, claim: self.check_line(line)?, weight: 0.0 })
    }

    fn check_answer(&mut self, line: &DraftLine) -> Option<Answer> {
        let verified: Vec<&Evidence> = line
            .evidence
            .iter()
            .filter_map(|id| self.evidence.get(id).copied())
            .filter(|it| self.is_quoted_in_page(it))
            .collect();
        let citations = self.cite(&verified);
        (!citations.is_empty()).then(|| Answer { text: line.text.clone(), citations })
    }

    fn is_quoted_in_page(&self, it: &Evidence) -> bool {
        let page = self.pages.get(it.passage.page());
        page.is_some_and(|page| it.quotes().all(|quote| quote.is_found_in(page)))
    }

    fn cite(&mut self, verified: &[&Evidence]) -> Vec<Citation> {
        let mut citations: Vec<Citation> = Vec::new();
        for it in verified {
            let Some(n) = self.source_number(it.source) else {
                continue;
            };
            for passage in it.quotes() {
                // Two rows of a table have one header.
                if citations.iter().all(|known| known.passage != *passage) {
                    citations.push(Citation { n, evidence: it.id, passage: passage.clone() });
                }
            }
        }
        citations.sort_by_key(|citation| citation.n);
        citations
    }

    /// The number of a work, by its own id or address, so that two readings of one work share it.
    fn source_number(&mut self, id: SourceId) -> Option<u32> {
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

    fn finish(self) -> (Vec<Source>, ReportChecks) {
        (self.sources, self.checks)
    }
}

fn count_check(count: &mut Ratio, held: bool) {
    count.passed += u32::from(held);
    count.total += 1;
}

/// How many numbers of `text` are in one of the quotes, and how many there are.
fn matched_numbers(text: &str, quotes: &[&Evidence]) -> (u32, u32) {
    let quoted: Vec<f64> = quotes
        .iter()
        .flat_map(|evidence| evidence.quotes())
        .flat_map(|passage| numbers(passage.text().expose()))
        .map(|it| it.value)
        .collect();
    let stated = numbers(text);
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    let matched =
        stated.iter().filter(|it| quoted.iter().any(|other| same(it.value, *other))).count();
    (matched as u32, stated.len() as u32)
}
