//! The sections of the extractive report.
use super::order::{reading_order, steps_by_page};
use super::word_budget::WordBudget;
use crate::draft::{DraftLine, DraftSection};
use crate::heuristic::answer_shape::is_free_form;
use crate::heuristic::claim_clusters::{ClaimCluster, select_by_mmr};
use crate::heuristic::procedure::{MIN_LISTED, is_step, leading_steps, whole_procedures};
use crate::heuristic::ranked_points::RankedPoint;
use crate::heuristic::score::RelevanceScorer;
use crate::prompts;
use crate::thresholds::{MIN_SECTION_SCORE_SHARE, MIN_SECTION_WORTH_SHARE, MIN_STEP_FIT};
use ibid_core::Result;
use ibid_core::domain::{
    Brief, EvidenceStore, ItemId, QuestionKind, SectionLayout, SourceId, Stance,
};

/// Probability of an answer, by the model that compares meaning, from which a sentence is told whatever words it uses.
const SURE_SECTION_PROBABILITY: f32 = 0.6;
/// Maximum number of sentences of the section on the question itself, and of the others.
const CORE_SENTENCES: usize = 9;
const SIDE_SENTENCES: usize = 5;
/// The same for a procedure or a list, which is told whole.
const MAX_STEPS: usize = 16;

/// A section for each of the plan that has something left to say, and one for the single sentences of the others. `parts` are the rankings for the parts of the question.
pub(super) fn sections_by_item(
    brief: &Brief,
    scorer: &RelevanceScorer,
    ranked: &[RankedPoint<'_>],
    parts: &[(ItemId, Vec<RankedPoint<'_>>)],
    page: &mut WordBudget<'_>,
) -> Result<Vec<DraftSection>> {
    let notes = page.notes;
    let (mut sections, mut further) = (Vec::new(), Vec::new());
    let steps = leading_steps(QuestionKind::HowTo, notes, ranked);
    let procedure_page = steps.first().map(|it| notes.evidence[it.point.evidence[0]].source);
    for planned in &notes.plan.writing.sections {
        let mut paragraphs = Vec::new();
        let mut layout = SectionLayout::Prose;
        for id in &planned.items {
            let asked = is_core_item(notes, *id) || !parts.is_empty() && scorer.asks_part(*id);
            let kind = scorer.part_question(*id).map_or(brief.kind, |part| part.0);
            let own: Vec<RankedPoint<'_>> = match parts.iter().find(|part| part.0 == *id) {
                Some((_, ranking)) => ranking.clone(),
                None if asked => ranked.to_vec(),
                None => {
                    ranked.iter().map(|it| RankedPoint { worth: it.point.score, ..*it }).collect()
                }
            };
            paragraphs.extend(section(notes, *id, asked.then_some(kind), &own, page));
            let lists = |it: &&RankedPoint<'_>| it.listed && it.point.items.first() == Some(id);
            let listed = own.iter().filter(lists).count() >= MIN_LISTED;
            layout = match asked.then_some(kind) {
                Some(QuestionKind::HowTo) => SectionLayout::Steps,
                Some(_) if listed => SectionLayout::List,
                Some(QuestionKind::List) => SectionLayout::List,
                _ => layout,
            };
        }
        // Other sentences of the page whose procedure the short answer tells are not steps of it.
        if layout == SectionLayout::Steps && page.list_told {
            let is_beside = |it: &mut Vec<DraftLine>| source_of(notes, it) == procedure_page;
            further.extend(paragraphs.extract_if(.., is_beside).flatten());
        }
        // A single sentence of a page is no procedure: such sentences stand beside each other in no order.
        if layout == SectionLayout::Steps && paragraphs.iter().all(|it| it.len() == 1) {
            layout = SectionLayout::List;
            paragraphs = vec![paragraphs.concat()];
            if page.list_told {
                further.extend(paragraphs.drain(..).flatten());
            }
        }
        if !paragraphs.is_empty() {
            let (title, item) = (planned.title.clone(), planned.items.first().copied());
            sections.push(DraftSection { title, item, layout, paragraphs });
        }
    }
    let facets = prompts::plan_words()?;
    let is_stray = |it: &mut DraftSection| {
        it.item.is_some_and(|id| !is_core_item(notes, id))
            && facets.facet_by_heading(&it.title).is_some()
            && it.paragraphs.iter().map(Vec::len).sum::<usize>() == 1
    };
    // One stray sentence is no section.
    let strays: Vec<DraftSection> = sections.extract_if(.., is_stray).collect();
    further.extend(strays.into_iter().flat_map(|it| it.paragraphs).flatten());
    if !further.is_empty() {
        let (title, layout) = (prompts::phrases()?.synthesis.further.clone(), SectionLayout::List);
        sections.push(DraftSection { title, item: None, layout, paragraphs: vec![further] });
    }
    Ok(sections)
}

/// The page that the first line of a paragraph is from.
fn source_of(notes: &EvidenceStore, paragraph: &[DraftLine]) -> Option<SourceId> {
    let cited = *paragraph.first()?.evidence.first()?;
    notes.evidence.iter().find(|it| it.id == cited).map(|it| it.source)
}

/// Whether an item is the question itself.
pub(super) fn is_core_item(notes: &EvidenceStore, id: ItemId) -> bool {
    notes.plan.items().first().is_some_and(|item| item.id == id)
}

/// Whether a point is on the question itself.
pub(super) fn covers_core_item(notes: &EvidenceStore, point: &ClaimCluster) -> bool {
    point.items.iter().any(|item| is_core_item(notes, *item))
}

/// The paragraphs of one item: chosen by MMR, then put into reading order. `wanted` is what kind of answer is wanted, of an
/// item that asks the question itself or a part of it. `ranked` gives each point its worth for the item.
fn section(
    notes: &EvidenceStore,
    item: ItemId,
    wanted: Option<QuestionKind>,
    ranked: &[RankedPoint<'_>],
    page: &mut WordBudget<'_>,
) -> Vec<Vec<DraftLine>> {
    let most = if wanted.is_some() { CORE_SENTENCES } else { SIDE_SENTENCES };
    // A list is told whole where the short answer only begins it.
    let is_listed = |it: &RankedPoint<'_>| wanted.is_some_and(|kind| is_step(kind, it));
    let of_list: Vec<&RankedPoint<'_>> =
        ranked.iter().filter(|it| is_listed(it) && it.point.items.first() == Some(&item)).collect();
    let is_procedure = wanted == Some(QuestionKind::HowTo) && of_list.len() >= MIN_LISTED;
    let list_told =
        page.list_told || !is_procedure && of_list.iter().all(|it| !page.is_fresh(it.point));
    let told = |it: &RankedPoint<'_>| (list_told || !is_listed(it)) && !page.is_fresh(it.point);
    // A step with a figure, "Wait for 48 hours", is a step first.
    let is_own_step = |it: &RankedPoint<'_>| {
        wanted == Some(QuestionKind::HowTo)
            && is_step(QuestionKind::HowTo, it)
            && it.point.items.contains(&item)
    };
    // Beside a procedure told whole, more steps may be of use, but not talk about them.
    let is_beside = page.list_told && wanted == Some(QuestionKind::HowTo);
    let belongs = |it: &RankedPoint<'_>| {
        is_own_step(it) || !is_beside && it.point.items.first() == Some(&item)
    };
    let own: Vec<&RankedPoint<'_>> = ranked.iter().filter(|it| belongs(it) && !told(it)).collect();
    let best = own.iter().map(|it| it.point.score).fold(0.0, f32::max);
    let top = ranked.iter().map(|it| it.worth).fold(0.0, f32::max);
    // Half a procedure or half a list is of no use: a step or item stays, however few words it has of the question. So does
    // what says yes or no.
    let whole = |it: &RankedPoint<'_>| {
        let step = wanted == Some(QuestionKind::HowTo) && it.fit >= MIN_STEP_FIT;
        let decides = notes.evidence[it.point.evidence[0]].stance != Stance::Neutral;
        let under_heading = it.headed && wanted.is_some_and(|kind| kind != QuestionKind::HowTo);
        // "With more insulation we found no saving" has few of the words asked for, and answers.
        let free = wanted.is_some_and(|kind| kind == QuestionKind::YesNo || is_free_form(kind));
        let sure = free && it.probability >= Some(SURE_SECTION_PROBABILITY);
        step || it.listed || under_heading || sure || wanted == Some(QuestionKind::YesNo) && decides
    };
    let steps: Vec<&ClaimCluster> = own
        .iter()
        .filter(|it| wanted.is_some_and(|kind| is_step(kind, it)))
        .map(|it| it.point)
        .collect();
    let in_list = |point: &ClaimCluster| steps.iter().any(|step| std::ptr::eq(*step, point));
    let already: &[Vec<u32>] = if steps.is_empty() { &page.used } else { &[] };
    let own: Vec<(&ClaimCluster, f32)> = own
        .into_iter()
        .filter(|it| it.point.score >= best * MIN_SECTION_SCORE_SHARE || whole(it))
        .filter(|it| wanted.is_none() || it.worth >= top * MIN_SECTION_WORTH_SHARE || whole(it))
        .map(|it| (it.point, it.worth))
        .collect();
    let most = if steps.len() > most { MAX_STEPS } else { most };
    let picked = select_by_mmr(&own, already, most, page.room);
    let chosen: Vec<&ClaimCluster> = picked.into_iter().map(|nth| own[nth].0).collect();
    let ordered = match wanted {
        Some(QuestionKind::HowTo) => {
            let listed = |it: &&RankedPoint<'_>| it.listed && in_list(it.point);
            let lists = ranked.iter().filter(listed).count() >= MIN_LISTED;
            let member = |point: &ClaimCluster| {
                let own = ranked.iter().find(|it| std::ptr::eq(it.point, point));
                in_list(point) && (!lists || own.is_some_and(|it| it.listed))
            };
            whole_procedures(steps_by_page(notes, chosen), member)
        }
        Some(QuestionKind::List) => steps_by_page(notes, chosen),
        Some(_) if steps.len() >= MIN_LISTED => {
            whole_procedures(steps_by_page(notes, chosen), in_list)
        }
        _ => reading_order(notes, &chosen),
    };
    ordered
        .into_iter()
        .map(|paragraph| paragraph.into_iter().map(|it| page.write_point(it)).collect())
        .collect()
}
