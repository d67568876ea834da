//! The extractive report: which sentences, where, and in which order.
mod confidence;
mod nearest;
mod order;
mod question_points;
mod sections;
mod synthesis;
mod time_line;
mod word_budget;

use std::collections::BTreeSet;

use crate::draft::{DraftComparison, DraftConflict, DraftLine, ReportDraft};
use crate::prompts;
use crate::prompts::fill_template;
use crate::research_state::ResearchState;
use crate::thresholds::{
    MIN_FINDING_WORTH_SHARE, MIN_ITEM_FINDING_WORTH_SHARE, MIN_RELEVANCE_SHARE,
};
use ibid_core::Result;
use ibid_core::domain::{
    Brief, Complexity, Confidence, ConfidenceMark, Coverage, CoverageRow, EvidenceStore, ItemId,
    OpenItem, OutputMode, Question, QuestionKind, SourceId, SourceKind, StopReason, YesNo,
};

use super::answer::{self, YesNoTally};
use super::answer_shape::asks_for_fact;
use super::claim_clusters::{ClaimCluster, build_claim_clusters};
use super::conflicts;
use super::editions;
use super::lexicon::{jaccard, sentence_case, spaced};
use super::procedure;
use super::question_parts;
use super::ranked_points::{self, RankedPoint};
use super::rival_answers::add_rival_answers;
use super::score::RelevanceScorer;
use super::side_name::SideName;
use super::tables::TablePoints;
use super::verdict;
use confidence::confidence_mark;
use nearest::mark_near;
use question_points::standing_points;
use sections::{covers_core_item, is_core_item, sections_by_item};
use time_line::DatedEvent;
use word_budget::WordBudget;
pub(crate) use word_budget::max_words;

/// Most key findings.
const MAX_KEY_FINDINGS: usize = 7;
/// Maximum number of words of a finding.
const FINDING_WORDS: usize = 45;
/// Maximum length of a title taken from the question, in characters.
const TITLE_CHARS: usize = 110;

/// The draft that these notes carry, or `None` if they do not answer the question.
pub(crate) fn compose_report(
    question: &Question,
    brief: &Brief,
    state: &ResearchState,
    scorer: &mut RelevanceScorer,
) -> Result<Option<ReportDraft>> {
    let notes = &state.notes;
    let points = build_claim_clusters(notes, scorer.lexicon(), question.method.max_sources)?;
    let replaced = editions::superseded_sources(&notes.sources, &question.text);
    let tables = TablePoints::from_notes(notes, scorer, &replaced);
    // A superseded edition may be one side of a conflict, but is used nowhere else.
    let stands = |point: &ClaimCluster| has_other_source(notes, point, &replaced);
    let all = match standing_points(brief, notes, scorer, &points, stands)? {
        None if !tables.has_asked_names(notes, scorer) => return Ok(None),
        kept => kept.unwrap_or_default(),
    };
    let ranked = ranked_points::rank_points(brief, notes, scorer, &all)?;
    let mut page = WordBudget::new(notes, question.method.final_report_max_length);

    let current = ranked_points::current_points(notes, &ranked, stands);
    let leading = if current.is_empty() { &ranked } else { &current };
    let lean = YesNoTally::tally_ranked(brief, notes, leading);
    let parts = ranked_points::rank_parts(brief, notes, scorer, leading)?;
    let whole = &core_points(notes, leading);
    // What the short answer is taken from, and the answer line: of several parts, the first is asked first.
    let (base, line) = parts.first().map_or((whole, leading), |(_, first)| (first, first));
    let is_report = question.mode == OutputMode::Report;
    let answer = answer::answer_line(scorer, notes, line, lean.as_ref())?;
    let mut comparison = is_report.then(|| tables.comparison(brief, state)).flatten();
    let events = events(question, comparison.as_ref(), notes, leading);
    let mut short = time_line::short_events(&events);
    if short.is_empty() {
        short = parts_or_whole(brief, notes, &tables, (&parts, base, leading), lean.as_ref())?;
    }
    lead_with_fact(&mut short, brief.kind, notes, answer.as_ref());
    verdict::lead_with_majority(&mut short, lean.as_ref(), notes);
    let row = short.first().and_then(|it| tables.as_ranked(it));
    let answer = answer_or_first(scorer, notes, answer.filter(|_| row.is_none()), &short)?;
    let short_lines = write_short(&mut page, brief.kind, base, &short);
    let (mut conflicts, earlier) =
        all_conflicts(brief, notes, scorer, (&all, &ranked), &short_lines)?;
    let best = row.as_ref().or(nearest_said(brief.kind, base, &short)).or(base.first());
    let mut confidence = confidence_mark(notes, &short, &conflicts, best, lean.as_ref())?;
    mark_superseded(current.is_empty() && !ranked.is_empty(), &mut confidence)?;
    let verdict = verdict::verdict(brief, notes, &short, &conflicts, lean.as_ref());
    let listed = best.is_some_and(|it| it.headed || it.listed);
    let dated = !events.is_empty();
    let by_row = short.iter().any(|it| tables.as_ranked(it).is_some());
    let alone = parts.is_empty() && !is_decided(brief, verdict, lean.as_ref());
    let answer_form = (alone && !dated && !by_row, by_row && tables.are_extremes());
    let nearest_only =
        mark_near((brief, answer_form, best), notes, scorer, &short, &mut confidence)?;
    if nearest_only && is_on_other_things(scorer, &short) {
        return Ok(None);
    }

    let (mut findings, mut sections) = (Vec::new(), Vec::new());
    let (mut introduction, mut conclusion) = (Vec::new(), Vec::new());
    if is_report {
        comparison = comparison.or_else(|| time_line::time_line(&events, &mut page));
        let opening = synthesis::opening(brief, notes, &points, &page.used)?;
        introduction.extend(opening.map(|point| page.write_point(point)));
        let undisputed = undisputed_points(notes, leading, &conflicts);
        let picked = pick_findings(notes, brief.kind, &undisputed, &page)?;
        // What stands in the comparison is not told again.
        let told = comparison.is_some() || is_headed(base);
        let rows = if told { Vec::new() } else { tables.findings(&short) };
        findings = mark_findings(picked.into_iter().chain(rows), &conflicts, &mut page)?;
        sections = sections_by_item(brief, scorer, &undisputed, &parts, &mut page)?;
        conclusion = synthesis::conclusion(brief, notes, leading, earlier)?;
    }
    // What is only near a question for a list is told once.
    if nearest_only && brief.kind == QuestionKind::List {
        (conflicts, sections) = (Vec::new(), Vec::new());
    }
    let undecided = verdict::undecided(brief, scorer, leading, lean.as_ref())?;
    let found = dated || asks_for_fact(brief.kind) && !nearest_only;
    let open = open_points(state, found, dated || listed, undecided)?;
    Ok(Some(ReportDraft {
        short_list: if page.list_told { short_lines.clone() } else { Vec::new() },
        verdict,
        nearest_only,
        introduction,
        answer,
        findings,
        comparison,
        sections,
        conclusion,
        conflicts,
        open,
        ..ReportDraft::by_code(title(question, brief), short_lines, confidence)
    }))
}

/// Whether a point has a source besides the `replaced` ones.
fn has_other_source(
    notes: &EvidenceStore,
    point: &ClaimCluster,
    replaced: &BTreeSet<SourceId>,
) -> bool {
    point.evidence.iter().any(|at| !replaced.contains(&notes.evidence[*at].source))
}

/// The dated events of a report without a comparison: figures of each year tell more than what is dated.
fn events<'a>(
    question: &Question,
    comparison: Option<&DraftComparison>,
    notes: &EvidenceStore,
    leading: &[RankedPoint<'a>],
) -> Vec<DatedEvent<'a>> {
    let dates = question.mode == OutputMode::Report && comparison.is_none();
    if dates { time_line::dated_events(&question.text, notes, leading) } else { Vec::new() }
}

/// Whether a question names a thing that no page has, and a short answer has none of its words: "How is the weather on Mars?" is not
/// answered by how warm a town was.
fn is_on_other_things(scorer: &mut RelevanceScorer, short: &[&ClaimCluster]) -> bool {
    scorer.asks_of_unknown_thing() && short.iter().all(|it| scorer.word_relevance(&it.text) == 0.0)
}

/// The one-line answer, or else a line of the first point of the short answer: what the report answers is not left without one.
fn answer_or_first(
    scorer: &mut RelevanceScorer,
    notes: &EvidenceStore,
    answer: Option<DraftLine>,
    short: &[&ClaimCluster],
) -> Result<Option<DraftLine>> {
    match (answer, short.first()) {
        (None, Some(first)) => answer::line_of_point(scorer, notes, first).map(Some),
        (answer, _) => Ok(answer),
    }
}

/// The parts of a question, each with the points that answer it.
type RankedParts<'a> = [(ItemId, Vec<RankedPoint<'a>>)];

/// The short answer to the parts of a question, or else to the whole. What stands under a heading that asks the question answers it
/// before a table, unless a row has all that it is about; no other row says how or why.
fn parts_or_whole<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    tables: &'a TablePoints,
    (parts, base, leading): (&RankedParts<'a>, &[RankedPoint<'a>], &[RankedPoint<'a>]),
    lean: Option<&YesNoTally>,
) -> Result<Vec<&'a ClaimCluster>> {
    let short = answer::answer_parts(parts, question_parts::is_of_one_thing(&brief.question)?);
    if !short.is_empty() {
        return Ok(short);
    }
    let short = answer::whole_answer(brief, notes, base, leading, lean);
    let by_heading = is_headed(base) && !tables.has_whole_topic();
    let tells = matches!(brief.kind, QuestionKind::HowTo | QuestionKind::Why);
    let told = tells && !short.is_empty() && !tables.has_whole_topic();
    // A list of what is asked for tells more than a row that has its name.
    let lists = brief.kind == QuestionKind::List && is_whole_list(brief.kind, notes, base, &short);
    Ok(if by_heading || told || lists { short } else { tables.short_answer(short) })
}

/// The lines of the short answer.
fn write_short(
    page: &mut WordBudget<'_>,
    kind: QuestionKind,
    base: &[RankedPoint<'_>],
    short: &[&ClaimCluster],
) -> Vec<DraftLine> {
    page.list_told = is_whole_list(kind, page.notes, base, short);
    short.iter().map(|it| page.write_point(it)).collect()
}

/// Whether a short answer is a list of what is asked for, or a whole procedure; no section repeats it.
fn is_whole_list(
    kind: QuestionKind,
    notes: &EvidenceStore,
    base: &[RankedPoint<'_>],
    short: &[&ClaimCluster],
) -> bool {
    let listed =
        |point: &&ClaimCluster| base.iter().any(|it| it.listed && std::ptr::eq(it.point, *point));
    match kind {
        QuestionKind::HowTo => procedure::tells_all_steps(notes, base, short),
        _ => short.len() >= procedure::MIN_LISTED && short.iter().all(listed),
    }
}

/// Lowers the confidence in what only `replaced` editions say.
fn mark_superseded(replaced: bool, confidence: &mut ConfidenceMark) -> Result<()> {
    if !replaced {
        return Ok(());
    }
    confidence.level = Confidence::VeryLow;
    confidence.why.push(prompts::phrases()?.confidence.superseded.clone());
    Ok(())
}

/// Where the question is for one fact, puts the point that the line is from before the others, if it
/// is one of them. What another point also quotes is dropped.
fn lead_with_fact(
    short: &mut Vec<&ClaimCluster>,
    kind: QuestionKind,
    notes: &EvidenceStore,
    line: Option<&DraftLine>,
) {
    answer::drop_repeats(notes, short);
    let Some(line) = line.filter(|_| asks_for_fact(kind)) else {
        return;
    };
    let of_line = |point: &&ClaimCluster| {
        point.evidence.iter().any(|at| line.evidence.contains(&notes.evidence[*at].id))
    };
    if let Some(at) = short.iter().position(of_line) {
        short[..=at].rotate_right(1);
    }
}

/// The findings with their confidence.
fn mark_findings<'a>(
    picked: impl Iterator<Item = RankedPoint<'a>>,
    conflicts: &[DraftConflict],
    page: &mut WordBudget<'_>,
) -> Result<Vec<(DraftLine, ConfidenceMark)>> {
    let mut findings = Vec::new();
    for it in picked {
        let mark = confidence_mark(page.notes, &[it.point], conflicts, Some(&it), None)?;
        findings.push((page.write_point(it.point), mark));
    }
    Ok(findings)
}

/// Whether the best point stands under a heading that asks the question.
fn is_headed(ranked: &[RankedPoint<'_>]) -> bool {
    ranked.first().is_some_and(|it| it.headed)
}

/// Whether a yes-or-no question is decided. A cause that sources affirm or deny is told without a yes or no.
fn is_decided(brief: &Brief, verdict: Option<YesNo>, lean: Option<&YesNoTally>) -> bool {
    let majority =
        lean.filter(|_| brief.kind == QuestionKind::Causal).and_then(YesNoTally::majority);
    verdict.is_some() || majority.is_some()
}

/// Of what the short answer says, the point nearest to the question: it tells how directly the question is answered. How two things
/// compare is told by what leads.
fn nearest_said<'r, 'a>(
    kind: QuestionKind,
    ranked: &'r [RankedPoint<'a>],
    short: &[&ClaimCluster],
) -> Option<&'r RankedPoint<'a>> {
    let short = if kind == QuestionKind::Comparison { short.get(..1)? } else { short };
    let said = ranked.iter().filter(|it| short.iter().any(|own| std::ptr::eq(*own, it.point)));
    said.max_by(|a, b| a.relevance.total_cmp(&b.relevance))
}

/// All conflicts among the sources: on figures and on yes or no first, then between sentences on the question; where it is for one fact,
/// between those that the `short` answer tells and others. Beside them what earlier editions had.
fn all_conflicts(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    (all, ranked): (&[ClaimCluster], &[RankedPoint<'_>]),
    short: &[DraftLine],
) -> Result<(Vec<DraftConflict>, Vec<DraftLine>)> {
    let mut conflicts = conflicts::find_conflicts(brief, notes, all, scorer.lexicon())?;
    // A sentence on something above or under one side does not compare the sides.
    let best = ranked.iter().map(|it| it.relevance).fold(0.0, f32::max);
    let is_told = |line: &DraftLine| {
        short.iter().flat_map(|it| &it.evidence).any(|id| line.evidence.contains(id))
    };
    let mut is_asked = |(_, line): &(String, DraftLine)| match asks_for_fact(brief.kind) {
        true => is_told(line),
        false => {
            scorer.relevance(&line.text) >= best * MIN_RELEVANCE_SHARE
                && scorer.aspect_words_share(&line.text) > 0.0
        }
    };
    conflicts.retain(|conflict| conflict.sides.iter().any(&mut is_asked));
    let names = SideName::of_brief(brief);
    let is_compared =
        |(_, line): &(String, DraftLine)| names.iter().any(|name| name.is_subject_in(&line.text));
    conflicts.retain(|conflict| names.is_empty() || conflict.sides.iter().any(is_compared));
    let stances = answer::deciding_stances(brief, notes, ranked);
    let split = conflicts::answer_conflict(notes, &stances, &conflicts)?;
    conflicts.splice(0..0, split);
    let answering = answer::answering_points(ranked);
    let figures = conflicts::figure_conflict(brief, notes, &answering, &conflicts, scorer)?;
    conflicts.splice(0..0, figures);
    add_rival_answers(notes, scorer, &mut conflicts)?;
    let earlier = synthesis::take_replaced(notes, short, &mut conflicts)?;
    Ok((conflicts, earlier))
}

/// The points on the question itself; all where none is.
fn core_points<'a>(notes: &EvidenceStore, ranked: &[RankedPoint<'a>]) -> Vec<RankedPoint<'a>> {
    let core: Vec<RankedPoint<'_>> =
        ranked.iter().filter(|it| covers_core_item(notes, it.point)).copied().collect();
    if core.is_empty() { ranked.to_vec() } else { core }
}

/// The points that are no side of a conflict: those stand in it, beside what disputes them.
fn undisputed_points<'a>(
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
    conflicts: &[DraftConflict],
) -> Vec<RankedPoint<'a>> {
    let sides = || conflicts.iter().flat_map(|conflict| &conflict.sides);
    let disputed = |it: &RankedPoint<'_>| {
        let own = |at: &usize| notes.evidence[*at].id;
        sides()
            .any(|side| it.point.evidence.iter().map(own).any(|id| side.1.evidence.contains(&id)))
    };
    ranked.iter().filter(|it| !disputed(it)).copied().collect()
}

/// The best point of each item first, then the best of the rest; about a third of what there is. Steps are no
/// findings, nor are the items of a list: they stay together in their section.
fn pick_findings<'a>(
    notes: &EvidenceStore,
    kind: QuestionKind,
    ranked: &[RankedPoint<'a>],
    page: &WordBudget<'_>,
) -> Result<Vec<RankedPoint<'a>>> {
    let words = &prompts::phrases()?.sentence;
    let core = notes.plan.items()[0].id;
    let top = ranked.first().map_or(0.0, |it| it.worth);
    let shape = ranked.first().map_or(0.0, |it| it.fit.min(0.6));
    let left: Vec<&RankedPoint<'_>> = ranked
        .iter()
        .filter(|ranked_point| {
            page.is_fresh(ranked_point.point)
                && ranked_point.point.words <= FINDING_WORDS
                && ranked_point.worth >= top * MIN_ITEM_FINDING_WORTH_SHARE
        })
        .filter(|ranked_point| {
            kind != QuestionKind::HowTo || ranked_point.point.items.first() != Some(&core)
        })
        .filter(|ranked_point| kind != QuestionKind::Definition || ranked_point.early)
        // What was asked is no finding.
        .filter(|ranked_point| !words.reported_question.any_in(&spaced(&ranked_point.point.text)))
        // What stands under a heading that asks the question stays together in its section, too.
        .filter(|ranked_point| !ranked_point.listed && !ranked_point.headed)
        .collect();
    let most = (left.len() / 3).clamp(3, MAX_KEY_FINDINGS).min(left.len());
    let fresh = |picked: &[&ClaimCluster], it: &ClaimCluster| {
        picked.iter().all(|other| jaccard(&other.ids, &it.ids) < 0.5)
    };
    let mut picked: Vec<&ClaimCluster> = Vec::new();
    for item in notes.plan.items() {
        let best = left
            .iter()
            .map(|ranked_point| ranked_point.point)
            .filter(|point| {
                point.items.first() == Some(&item.id) && point.score >= 0.4 && fresh(&picked, point)
            })
            .max_by(|a, b| a.score.total_cmp(&b.score).then(b.evidence.cmp(&a.evidence)));
        if picked.len() < most {
            picked.extend(best);
        }
    }
    for it in left.iter().filter(|ranked_point| {
        ranked_point.worth >= top * MIN_FINDING_WORTH_SHARE && ranked_point.fit >= shape * 0.5
    }) {
        if picked.len() < most && fresh(&picked, it.point) {
            picked.push(it.point);
        }
    }
    let rank = |it: &ClaimCluster| ranked.iter().find(|rank| std::ptr::eq(rank.point, it)).copied();
    Ok(picked.into_iter().filter_map(rank).collect())
}

/// The question, if it is short enough for a title; otherwise its subject.
fn title(question: &Question, brief: &Brief) -> String {
    for text in [question.text.trim(), &brief.question] {
        if text.chars().count() <= TITLE_CHARS && !text.contains('\n') {
            return sentence_case(text);
        }
    }
    // Cut at a word: names without the words between them are no title.
    let all = brief.question.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = all.char_indices().nth(TITLE_CHARS).map_or(all.len(), |(at, _)| at);
    let end = all[..end].rfind(' ').unwrap_or(end);
    sentence_case(&format!("{}…", all[..end].trim_end_matches([',', ';', ':'])))
}

/// What could not be established, and why. Where the question is `told` whole, by a procedure, a list or a section on it, what one
/// source alone says of it is no open point. Who asks for one fact, and gets it (`found_fact`), or asks a simple question, has not
/// asked for what else is known.
fn open_points(
    state: &ResearchState,
    found_fact: bool,
    told: bool,
    undecided: impl IntoIterator<Item = OpenItem>,
) -> Result<Vec<OpenItem>> {
    let words = &prompts::phrases()?.open;
    let facets = prompts::plan_words()?;
    let found_fact = found_fact || state.notes.plan.complexity == Complexity::Simple;
    let plan = state.notes.plan.items();
    // Items of the question are listed one by one; side items are listed together.
    let beside = |coverage_row: &CoverageRow| {
        plan.iter()
            .skip(1)
            .find(|item| item.id == coverage_row.id)
            .filter(|item| facets.facet_by_heading(&item.heading).is_some())
    };
    let left = || {
        let open = |it: &&CoverageRow| match it.state {
            Coverage::Partial => !told || !is_core_item(&state.notes, it.id),
            state => state == Coverage::Open,
        };
        state.coverage.iter().filter(open)
    };
    let mut out: Vec<OpenItem> = left()
        .filter(|number| beside(number).is_none())
        .map(|coverage_row: &CoverageRow| OpenItem {
            item: Some(coverage_row.id),
            what: sentence_case(&coverage_row.text),
            why: coverage_row.gap.clone().unwrap_or_else(|| words.nothing.clone()),
        })
        .collect();
    let besides: Vec<String> = state
        .coverage
        .iter()
        .filter(|it| it.state == Coverage::Open)
        .filter_map(beside)
        .map(|it| it.heading.to_lowercase())
        .collect();
    if !besides.is_empty() && !found_fact {
        out.push(OpenItem {
            item: None,
            what: words.beside_what.clone(),
            why: fill_template(&words.beside, &[("headings", &besides.join("; "))]),
        });
    }
    // Documents of one's own are not measured by how many sites there are.
    let own = state.notes.sources.iter().all(|it| it.kind == SourceKind::Local);
    if let Some(reason) = state.gate.reason.as_deref().filter(|_| !own) {
        out.push(OpenItem {
            item: None,
            what: words.gate_what.clone(),
            why: fill_template(&words.gate, &[("reason", reason)]),
        });
    }
    let failed = state.pages.failed().len();
    if failed > 0 {
        let count = failed.to_string();
        out.push(OpenItem {
            item: None,
            what: words.failed_what.clone(),
            why: fill_template(&words.failed, &[("count", &count)]),
        });
    }
    if matches!(
        state.stop,
        StopReason::UserFinish
            | StopReason::BudgetCalls
            | StopReason::BudgetTime
            | StopReason::BudgetUsd
    ) && let Some(last) = out.last_mut()
    {
        let stop = serde_json::to_value(state.stop)
            .ok()
            .and_then(|value| value.as_str().map(|text| text.replace('_', " ")));
        last.why = format!(
            "{} {}",
            last.why,
            fill_template(&words.stopped, &[("stop", &stop.unwrap_or_default())])
        );
    }
    out.extend(undecided);
    Ok(out)
}
