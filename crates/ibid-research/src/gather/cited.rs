//! Reads the primary sources that the pages of a round name for what they say, in the same round.
use super::research_loop::ResearchLoop;
use crate::cited_sources::cited_sources;
use crate::heuristic::same_voice::repeats_primary;
use crate::llm_session::LlmSession;
use crate::{read, weigh};
use ibid_core::Result;
use ibid_core::domain::work::is_within_domains;
use ibid_core::domain::{Evidence, EvidenceStore, Hit, OutputMode, Vertical, Work};

/// Most primary sources that are read in a round, and in a run.
const MAX_CITED_PER_ROUND: usize = 3;
const MAX_CITED_PER_RUN: usize = 9;
/// What a primary source's score is above that of the page that repeats it.
const PRIMARY_LEAD: f32 = 0.01;

impl ResearchLoop<'_> {
    /// Reads the primary sources that the evidence of this round names, within the budget, and weighs them. Returns how much
    /// evidence and how many sources that added.
    ///
    /// Their addresses stand on public pages alone, so that nothing private leads outside. They are requested as any hit is:
    /// through the guard, with robots.txt and the pace of their host.
    pub(super) async fn follow_cited_sources(
        &mut self,
        llm: &mut LlmSession<'_>,
    ) -> Result<(u32, u32)> {
        let ctx = self.ctx;
        let state = &mut self.state;
        let round = state.rounds;
        let fresh = state.notes.evidence.iter().filter(|it| it.round == round);
        let mut cited = cited_sources(&state.notes, &state.pages, fresh)?;
        let question = ctx.question;
        cited.retain(|it| {
            is_within_domains(&it.url, &question.domains, &question.not_domains)
                && !state.pages.is_tried(hit_at(&it.url).key())
        });
        let per_round = match question.mode {
            OutputMode::Answer => 1,
            _ => MAX_CITED_PER_ROUND,
        };
        let left = MAX_CITED_PER_RUN.saturating_sub(state.pages.cited_count());
        cited.truncate(per_round.min(left));
        if cited.is_empty() || self.is_spent() {
            return Ok((0, 0));
        }
        let state = &mut self.state;
        let mut wanted = Vec::new();
        for it in cited {
            let hit = hit_at(&it.url);
            state.pages.add_cited(hit.key(), it.by);
            wanted.push(hit);
        }
        let fresh = read::read_pages(ctx, wanted, state).await?;
        ctx.log.flush().await?;
        let context = weigh::WeighContext {
            log: ctx.log,
            question,
            brief: ctx.brief,
            fresh: &fresh,
            round,
            chunks: None,
            ranker: Some(ctx.providers.ranker.as_ref()),
        };
        let scorer = &mut self.scorer;
        let mut found =
            weigh::find_evidence(llm, &context, scorer, &state.notes, &state.pages).await?;
        prefer_primary(&state.notes, &mut found);
        let new = found.len() as u32;
        for evidence in found {
            weigh::add_evidence(ctx.log, None, &mut state.notes, evidence);
        }
        Ok((new, fresh.len() as u32))
    }
}

/// The document at an address that a page names.
fn hit_at(url: &str) -> Hit {
    let mut hit = Hit::new("cited", url, "", "");
    hit.work = Work::from_url(url);
    hit.doc_id = hit.work.key();
    hit.vertical = if hit.doc_id.is_some() { Vertical::Scholar } else { Vertical::Web };
    hit
}

/// Ranks what a primary source says above what repeats it.
fn prefer_primary(notes: &EvidenceStore, found: &mut [Evidence]) {
    for primary in found {
        let repeating = notes.evidence.iter().filter(|it| repeats_primary(notes, it, primary));
        let best = repeating.map(|it| it.score).fold(0.0, f32::max);
        if best > 0.0 {
            primary.score = primary.score.max((best + PRIMARY_LEAD).min(1.0));
        }
    }
}
