//! Which sentences speak to which items (rows A6, B5, C4, D7, E7).
use crate::domain::{Brief, ModelRole, Notes, Question, SourceId};
use crate::error::Result;
use crate::record::Event;
use crate::seams::Log;

use super::aid::{Aid, Step};
use super::read::Shelf;
use super::unaided::score::{Lines, Reading, Scale};

/// Chunks of 4,000 characters kept of a page that is used whole: up to the cut of 25,000.
const WHOLE: usize = 7;

/// What one round weighs.
pub(crate) struct Round<'a> {
    pub(crate) question: &'a Question,
    pub(crate) brief: &'a Brief,
    /// The sources read in this round, best first.
    pub(crate) fresh: &'a [SourceId],
    pub(crate) wave: u32,
}

/// Weighs the pages of a round; gives how much evidence was found.
pub(crate) async fn weigh(
    log: &Log,
    aid: &mut Aid<'_>,
    round: &Round<'_>,
    scale: &mut Scale,
    notes: &mut Notes,
    shelf: &Shelf,
) -> Result<u32> {
    let Round { question, wave, .. } = *round;
    let readings: Vec<Reading<'_>> = round
        .fresh
        .iter()
        .enumerate()
        .filter_map(|(rank, id)| {
            let page = shelf.page(notes.source(*id)?)?;
            Some(Reading {
                page,
                source: *id,
                chunks: chunks(question, rank),
                tokens: question.method.summary_tokens as usize,
            })
        })
        .collect();
    // All pages of the round are taken in before any is weighed: how rare a word is must not
    // depend on which page came first.
    let lines: Vec<Lines> = readings.iter().map(|it| scale.take_in(it)).collect();
    scale.learn_topic(&lines);
    aid.mind(Step::Weigh, ModelRole::Summarizer);
    aid.mind(Step::Cover, ModelRole::Researcher);
    let before = notes.evidence.len();
    let mut next = before as u32 + 1;
    for (reading, lines) in readings.iter().zip(&lines) {
        let weighed = scale.weigh(reading, lines, wave, &mut next)?;
        let first = notes.plan.items()[0].id;
        let url = &reading.page.url;
        if weighed.orders > 0 {
            let reason = format!(
                "{} sentences give orders to whoever reads the page by machine",
                weighed.orders
            );
            log.emit(Event::EvidenceRejected {
                url: url.clone(),
                item: first,
                reason,
            });
        }
        if weighed.evidence.is_empty() {
            let reason = "no sentence speaks clearly enough of what is asked".to_owned();
            log.emit(Event::EvidenceRejected {
                url: url.clone(),
                item: first,
                reason,
            });
        }
        for it in weighed.evidence {
            log.emit(Event::EvidenceAdded {
                evidence: it.clone(),
            });
            notes.evidence.push(it);
        }
    }
    Ok((notes.evidence.len() - before) as u32)
}

/// How much of a long page is weighed: the best sources whole, the next by their best chunks
/// (rows A3, A6).
fn chunks(question: &Question, rank: usize) -> usize {
    if rank < question.method.top_m_full_text_sources as usize {
        WHOLE
    } else {
        WHOLE.min(question.method.top_n_chunks_per_source.max(1) as usize)
    }
}
