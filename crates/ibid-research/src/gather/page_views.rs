//! What a researcher looks up in pages it has read: passages with given words, and the page part by part.
//!
//! Both take no request and no model: the page is already there, and its sentences are weighed by words.
use ibid_core::Result;
use ibid_core::domain::words::stem_overlap;
use ibid_core::domain::{Evidence, Page, SourceId, public_address};
use ibid_core::record::Event;

use super::names;
use super::research_loop::ResearchLoop;
use super::researcher::{ReadPage, Researcher, ResearcherStep};
use crate::ask::template::one_line;
use crate::thresholds::MIN_SAME_CLAIM_OVERLAP;
use crate::weigh::{WeighContext, weigh_part};
use std::ops::Range;

/// Most of a page that is shown at once, in bytes.
const VIEW_BYTES: usize = 8_000;
/// Most passages that are shown at once.
const MAX_PASSAGES: usize = 8;

/// Lets `unit` look into a page that was read. It is listed once.
pub(super) fn add_read_page(research: &ResearchLoop<'_>, unit: &mut Researcher, id: SourceId) {
    if unit.read.iter().any(|page| page.source == id) {
        return;
    }
    let notes = &research.state.notes;
    let Some(source) = notes.source(id) else {
        return;
    };
    let Some(page) = research.state.pages.page(source) else {
        return;
    };
    let length = page.text().expose().chars().count();
    let title = research.scorer.shown_title(page);
    let row = format!("{title} ({}), {length} characters", public_address(&source.url));
    unit.read.push(ReadPage { source: id, next: 0, row });
}

/// Looks for words in a page or reads on in it, adds what answers the question to the findings of `unit`, and shows it the
/// passages.
pub(super) fn view_page(
    research: &mut ResearchLoop<'_>,
    round: u32,
    unit: &mut Researcher,
    step: &ResearcherStep,
) -> Result<()> {
    let (ResearcherStep::FindInPage(at, _) | ResearcherStep::ReadOn(at)) = step else {
        return Ok(());
    };
    let (notes, pages) = (&research.state.notes, &research.state.pages);
    let Some(read) = unit.read.get_mut(*at) else {
        return Ok(());
    };
    let source = read.source;
    let Some(page) = notes.source(source).and_then(|it| pages.page(it)).cloned() else {
        return Ok(());
    };
    let address = public_address(&page.url);
    let chars = |bytes: usize| {
        page.text().expose().get(..bytes).map_or(0, |text| text.chars().count()) as u32
    };
    let (ranges, event, done) = match step {
        ResearcherStep::FindInPage(_, words) => {
            let matches = page.find_passages(words, MAX_PASSAGES, VIEW_BYTES);
            let done = format!("find_in_page {}: \"{}\"", address, one_line(words));
            let event = Event::PageSearched {
                source,
                words: research.targets.policy().narrow(words).unwrap_or_default(),
                found: matches.found as u32,
                shown: matches.passages.len() as u32,
            };
            (matches.passages, event, done)
        }
        _ => {
            let range = page.sentences_from(read.next, VIEW_BYTES);
            read.next = range.end;
            let bytes = page.bytes_of(&range);
            let total = page.text().expose().chars().count() as u32;
            let (from, to) = match range.is_empty() {
                true => (total, total),
                false => (chars(bytes.start), chars(bytes.end)),
            };
            let event = Event::PageContinued { source, from, to, total };
            let done = format!("read_on {address}: characters {from} to {to} of {total}");
            (if range.is_empty() { Vec::new() } else { vec![range] }, event, done)
        }
    };
    research.ctx.log.emit_as(Some(&unit.id), event);
    let harmless = research.scorer.harmless_sentences(&page, &ranges);
    unit.passages = ranges.iter().map(|range| shown_passage(&page, range, &harmless)).collect();
    let found = new_findings(research, round, unit, (&page, source), harmless)?;
    let count = found.len();
    unit.trail.push(format!("{done}: {} passages, {count} new findings", ranges.len()));
    unit.findings.extend(found);
    Ok(())
}

/// What the sentences of a part of a page add to the findings of `unit`.
fn new_findings(
    research: &mut ResearchLoop<'_>,
    round: u32,
    unit: &Researcher,
    (page, source): (&Page, SourceId),
    only: Vec<usize>,
) -> Result<Vec<Evidence>> {
    let ctx = research.ctx;
    let round = WeighContext {
        log: ctx.log,
        question: ctx.question,
        brief: ctx.brief,
        fresh: &[],
        round,
        chunks: None,
        ranker: None,
    };
    let mut found = weigh_part(&round, &mut research.scorer, (page, source), only)?;
    found.retain(|new| {
        let known = |old: &Evidence| {
            old.source == new.source
                && old.passage.first() <= new.passage.last()
                && new.passage.first() <= old.passage.last()
                && stem_overlap(&new.claim, &old.claim) >= MIN_SAME_CLAIM_OVERLAP
        };
        !unit.findings.iter().any(known) && !research.state.notes.evidence.iter().any(known)
    });
    let policy = research.targets.policy();
    names::learn_names(policy, ctx.brief, &research.state.notes, found.iter());
    Ok(found)
}

/// A passage as shown: where it stands, and its sentences without those that give orders.
fn shown_passage(page: &Page, range: &Range<usize>, harmless: &[usize]) -> String {
    let shown: Vec<&str> =
        range.clone().filter(|n| harmless.contains(n)).map(|n| page.sentence(n).trim()).collect();
    let first = page.sentences().get(range.start);
    let mut place = format!("sentence {} of {}", range.start + 1, page.sentences().len());
    if let Some(number) = first.and_then(|sentence| sentence.page) {
        place += &format!(", page {number}");
    }
    format!("({place}) {}", shown.join(" "))
}
