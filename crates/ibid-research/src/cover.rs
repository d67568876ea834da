//! How far each item is answered, and what is still missing.
use crate::thresholds::{
    MIN_ANSWERING_SCORE, MIN_CLOSED_GAP_OVERLAP, MIN_GOOD_COVERAGE, MIN_SINGLE_SITE_SCORE,
};
use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use ibid_core::Result;
use ibid_core::domain::words::{is_stop_word, stem_overlap};
use ibid_core::domain::{
    Brief, ChecklistItem, Coverage, CoverageRow, Evidence, EvidenceStore, ItemId, ModelRole, Plan,
    Usage,
};
use ibid_core::ports::{EventLog, RoleModel};
use ibid_core::record::Event;

use super::ask::{
    self,
    shapes::{CoverPrompt, CoverReply, language_name},
};
use super::grounding::has_unknown_statement;
use super::heuristic::claim_clusters::independent_sources;
use super::heuristic::intake::is_weak;
use super::heuristic::score::RelevanceScorer;
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::prompts::{self, fill_template};
use super::query_policy::{QueryPolicy, add_subject};
use crate::concurrency::MAX_CALLS_IN_FLIGHT;

/// Maximum number of words named in a gap.
const MAX_NAMED_WORDS: usize = 3;

/// Maximum number of findings of an item shown to a model, best first.
const MAX_SHOWN_FINDINGS: usize = 12;

/// What an item lacks, and a query for it.
pub(crate) struct Gap {
    pub(crate) text: String,
    pub(crate) query: String,
}

/// The notes after a round, and what they are compared with.
#[derive(Clone, Copy)]
pub(crate) struct CoverContext<'a> {
    pub(crate) brief: &'a Brief,
    pub(crate) notes: &'a EvidenceStore,
    pub(crate) round: u32,
}

/// The coverage of every item after a round.
#[derive(Default)]
pub(crate) struct CoverageState {
    pub(crate) rows: Vec<CoverageRow>,
    pub(crate) gaps: BTreeMap<ItemId, Gap>,
    /// A model's last judgement of each item.
    pub(crate) judged: BTreeMap<ItemId, CoverReply>,
    /// The items that the evidence covers and a model judged to be answered only in part.
    pub(crate) doubted: BTreeSet<ItemId>,
}

impl CoverageState {
    /// Computes all rows again from the notes. `domains_seen` is how many distinct sites any search has
    /// named.
    pub(crate) fn update(
        &mut self,
        ctx: CoverContext<'_>,
        scorer: &mut RelevanceScorer,
        domains_seen: u32,
    ) -> Result<()> {
        let CoverContext { brief, notes, round } = ctx;
        self.rows.clear();
        self.gaps.clear();
        self.doubted.clear();
        for (nth, item) in notes.plan.items().iter().enumerate() {
            let evidence = ItemEvidence::of(notes, item.id);
            let found = &evidence.found;
            let mut state = evidence.state(domains_seen);
            // A passage on Lagos without its population does not answer what its population is.
            let says_what_is_asked =
                nth > 0 || found.iter().any(|it| scorer.has_asked_head(&it.claim));
            if state == Coverage::Covered && !says_what_is_asked {
                state = Coverage::Partial;
            }
            let missing = scorer.missing_terms(&brief.key_terms, found);
            let gap = evidence.gap(state, &missing, brief, &item.heading)?;
            self.rows.push(CoverageRow {
                id: item.id,
                text: item.asks.clone(),
                state,
                score: evidence.score(),
                evidence: found.len() as u32,
                sources: found.iter().map(|it| it.source).collect::<BTreeSet<_>>().len() as u32,
                by_round: (1..=round)
                    .map(|nth| found.iter().filter(|it| it.round == nth).count() as u32)
                    .collect(),
                proof: found.first().map(|it| it.passage.text().expose().to_owned()),
                gap: gap.as_ref().map(|gap| gap.text.clone()),
            });
            if let Some(gap) = gap {
                self.gaps.insert(item.id, gap);
            }
        }
        Ok(())
    }

    /// Has a model judge the items for which the last round found evidence. Its earlier judgements of the
    /// others still hold.
    ///
    /// A judgement counts only within what the evidence allows: an item with evidence is not open, one weak
    /// finding covers nothing, a conflict needs several sources, and "open" is not believed where the words
    /// alone saw an answer.
    pub(crate) async fn judge(
        &mut self,
        llm: &mut LlmSession<'_>,
        ctx: CoverContext<'_>,
        policy: &QueryPolicy,
    ) -> Result<()> {
        let CoverContext { brief, notes, round } = ctx;
        let role = ModelRole::Researcher;
        let Some(role_model) = llm.role_model(LlmStep::Cover, role) else {
            return Ok(());
        };
        let mut asking = Vec::new();
        for item in notes.plan.items() {
            let found = notes.for_item(item.id);
            if found.iter().any(|it| it.round == round) {
                asking.push(judge_item(role_model, brief, notes, item, found));
            }
        }
        let answers: Vec<_> = stream::iter(asking).buffered(MAX_CALLS_IN_FLIGHT).collect().await;
        for (item, model, answer) in answers {
            llm.record_usage(LlmStep::Cover, role, model);
            match answer {
                Ok(it) => _ = self.judged.insert(item, it),
                Err(fault) => {
                    llm.fall_back(LlmStep::Cover, role, fault)?;
                    self.judged.remove(&item);
                }
            }
        }
        for row in &mut self.rows {
            let Some(judged) = self.judged.get(&row.id) else {
                continue;
            };
            // A model that sees nothing where the words alone saw an answer is not believed.
            if judged.state == Coverage::Open && row.state == Coverage::Covered {
                continue;
            }
            let by_evidence = row.state;
            let found = notes.for_item(row.id);
            let best = found.first().map_or(0.0, |it| it.score);
            let enough = found.len() >= 2 || best >= MIN_ANSWERING_SCORE;
            row.state = match judged.state {
                _ if found.is_empty() => Coverage::Open,
                Coverage::Covered if enough => Coverage::Covered,
                Coverage::Conflict if row.sources >= 2 => Coverage::Conflict,
                _ => Coverage::Partial,
            };
            let evidence_gap = self.gaps.remove(&row.id);
            let evidence_gap_text = row.gap.take();
            if matches!(row.state, Coverage::Open | Coverage::Partial) {
                // What a model misses decides what to search for next. The report lists what the evidence lacks.
                let weak = || prompts::phrases().map(|phrases| phrases.gap.weak.clone());
                row.gap = Some(evidence_gap_text.map_or_else(weak, Ok)?);
                let gap = gap_from_model(judged, brief, row, &found, policy)?.or(evidence_gap);
                self.gaps.extend(gap.map(|gap| (row.id, gap)));
                if by_evidence == Coverage::Covered {
                    self.doubted.insert(row.id);
                }
            }
        }
        Ok(())
    }

    /// The rows for the report: an item that the evidence covers is covered, whatever a model judged.
    pub(crate) fn final_rows(&self) -> Vec<CoverageRow> {
        let settle = |row: &CoverageRow| {
            if self.doubted.contains(&row.id) {
                CoverageRow { state: Coverage::Covered, gap: None, ..row.clone() }
            } else {
                row.clone()
            }
        };
        self.rows.iter().map(settle).collect()
    }

    /// Share of items covered, a partial one counting half.
    pub(crate) fn ratio(&self) -> f32 {
        CoverageRow::completeness(&self.rows)
    }

    /// Whether coverage is good enough to stop: all items are covered; or none is open, enough are covered,
    /// and the ratio reaches `threshold`.
    pub(crate) fn is_good(&self, threshold: f32) -> bool {
        let covered =
            self.rows.iter().filter(|row| row.state.status_word() == "satisfied").count() as f32;
        let all = self.rows.len().max(1) as f32;
        let none_open = self.rows.iter().all(|row| row.state != Coverage::Open);
        covered == all
            || (none_open && covered / all >= MIN_GOOD_COVERAGE && self.ratio() >= threshold)
    }

    /// Emits the rows as the report will have them. What a model misses is reported as a gap.
    pub(crate) fn emit(&self, log: &EventLog) {
        let rows = self.final_rows();
        let ratio = CoverageRow::completeness(&rows);
        log.emit(Event::CoverageUpdated { rows, ratio });
    }
}

/// The rows of a plan before any search.
pub(crate) fn initial_rows(plan: &Plan) -> Vec<CoverageRow> {
    let row = |it: &ChecklistItem| CoverageRow::empty(it.id, &it.asks);
    plan.items().iter().map(row).collect()
}

/// The gap that a model names; `None` if it only repeats the question or what was found. The model has
/// read pages: its wording is kept if it uses no words private to a page, and otherwise the permitted words
/// of it name what is missing.
fn gap_from_model(
    judged: &CoverReply,
    brief: &Brief,
    row: &CoverageRow,
    found: &[&Evidence],
    policy: &QueryPolicy,
) -> Result<Option<Gap>> {
    let text = judged.gap.trim();
    if text.is_empty() && judged.gap_query.trim().is_empty() {
        return Ok(None);
    }
    let asked_text = format!("{} {}", brief.effective_question(), row.text);
    let known =
        found.iter().any(|evidence| stem_overlap(text, &evidence.claim) >= MIN_CLOSED_GAP_OVERLAP);
    if stem_overlap(text, &asked_text) >= 1.0 || known {
        return Ok(None);
    }
    let query = policy.narrow(&judged.gap_query).map(|query| add_subject(brief, query));
    let claims = found.iter().map(|evidence| evidence.claim.as_str());
    Ok(Some(Gap {
        text: match policy.permitted_sentence(text) {
            Some(text) if !has_unknown_statement(text, claims.chain([asked_text.as_str()])) => {
                text.to_owned()
            }
            _ => missing_text(text, found, &asked_text, policy)?,
        },
        query: query.unwrap_or_else(|| row.text.clone()),
    }))
}

/// A gap in the program's own wording, with the words of `text` that are `asked` for and were not found.
fn missing_text(
    text: &str,
    found: &[&Evidence],
    asked: &str,
    policy: &QueryPolicy,
) -> Result<String> {
    let words = &prompts::phrases()?.gap;
    let sentence = if found.is_empty() { &words.open } else { &words.weak };
    let narrowed = policy.narrow(text).unwrap_or_default();
    let named: Vec<&str> = narrowed
        .split(' ')
        .filter(|part| !is_stop_word(part) && !is_weak(part) && stem_overlap(part, asked) >= 1.0)
        .filter(|part| found.iter().all(|evidence| stem_overlap(part, &evidence.claim) < 1.0))
        .take(MAX_NAMED_WORDS)
        .collect();
    Ok(if named.is_empty() {
        sentence.clone()
    } else {
        format!("{sentence} {}", fill_template(&words.missing, &[("terms", &named.join(", "))]))
    })
}

/// Asks a model how far the evidence answers an item.
async fn judge_item<'a>(
    role_model: &'a RoleModel,
    brief: &Brief,
    notes: &EvidenceStore,
    item: &ChecklistItem,
    found: Vec<&Evidence>,
) -> (ItemId, TrackedModel<'a>, Result<CoverReply>) {
    let evidence: Vec<(String, String)> = found
        .iter()
        .take(MAX_SHOWN_FINDINGS)
        .map(|evidence| {
            let from = notes.source(evidence.source).map(|source| source.public_name().to_owned());
            (evidence.claim.clone(), from.unwrap_or_default())
        })
        .collect();
    let language = language_name(Some(&brief.lang));
    let prompt_input = CoverPrompt {
        question: brief.effective_question(),
        item,
        evidence: &evidence,
        language: &language,
    };
    let model = TrackedModel::new(role_model);
    let answer = match prompt_input.prompt() {
        Ok(prompt) => ask::ask_typed(&model, prompt, |it| prompt_input.check(it)).await,
        Err(fault) => Err(fault),
    };
    (item.id, model, answer.map(|answer| prompt_input.with_usable_hints(answer.value)))
}

/// The evidence for one item.
struct ItemEvidence<'a> {
    /// Best first.
    found: Vec<&'a Evidence>,
    independent_sources: usize,
}

impl ItemEvidence<'_> {
    fn of(notes: &EvidenceStore, item: ItemId) -> ItemEvidence<'_> {
        let found = notes.for_item(item);
        let independent_sources = independent_sources(notes, found.iter().copied()).len();
        ItemEvidence { found, independent_sources }
    }

    fn best_score(&self) -> f32 {
        self.found.first().map_or(0.0, |evidence| evidence.score)
    }

    fn state(&self, domains_seen: u32) -> Coverage {
        let (best, count) = (self.best_score(), self.found.len());
        let several_sources = self.independent_sources >= 2;
        let alone = domains_seen < 2 && count >= 2;
        match count {
            0 => Coverage::Open,
            _ if best >= MIN_SINGLE_SITE_SCORE
                || (best >= MIN_ANSWERING_SCORE && (several_sources || alone)) =>
            {
                Coverage::Covered
            }
            _ if count >= 3 && several_sources => Coverage::Covered,
            _ => Coverage::Partial,
        }
    }

    fn score(&self) -> f32 {
        let score = 0.5 * self.best_score().min(1.0)
            + 0.25 * (self.independent_sources.min(2) as f32 / 2.0)
            + 0.25 * (self.found.len().min(3) as f32 / 3.0);
        (score * 100.0).round() / 100.0
    }

    fn gap(
        &self,
        state: Coverage,
        missing: &[String],
        brief: &Brief,
        heading: &str,
    ) -> Result<Option<Gap>> {
        let phrases = prompts::phrases()?;
        let words = &phrases.gap;
        let answered_once =
            self.independent_sources < 2 && self.best_score() >= MIN_ANSWERING_SCORE;
        let mut text = match state {
            Coverage::Covered | Coverage::Conflict => return Ok(None),
            Coverage::Open => words.open.clone(),
            Coverage::Partial if answered_once => words.thin.clone(),
            Coverage::Partial => words.weak.clone(),
        };
        let named: Vec<&str> = missing.iter().take(3).map(String::as_str).collect();
        if !named.is_empty() && state == Coverage::Partial {
            let terms = fill_template(&words.missing, &[("terms", &named.join(", "))]);
            text = format!("{text} {terms}");
        }
        let subject = brief.subjects.first().cloned().unwrap_or_default();
        // For an open item, search in broader words; for a thin one, for the words not found yet.
        let wanted = if named.is_empty() || state == Coverage::Open {
            heading.to_lowercase()
        } else {
            named.join(" ")
        };
        let query =
            fill_template(&phrases.query.gap, &[("subject", &subject), ("missing", &wanted)]);
        Ok(Some(Gap { text, query }))
    }
}

/// The warning when the call limit was reached.
pub(crate) fn spent_message(usage: &Usage) -> String {
    format!("the call limit was reached: {} searches, {} pages", usage.searches, usage.pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(states: &[Coverage]) -> CoverageState {
        let rows = states.iter().zip(1..).map(|(state, nth)| CoverageRow {
            state: *state,
            ..CoverageRow::empty(ItemId::new(nth), "What is it?")
        });
        CoverageState { rows: rows.collect(), ..CoverageState::default() }
    }

    #[test]
    fn three_of_five_covered_are_good_where_none_is_open_and_fewer_are_not() {
        use Coverage::{Conflict, Covered, Open, Partial};
        let good = |states: &[Coverage]| standing(states).is_good(0.7);
        assert!(good(&[Covered, Covered, Covered, Partial, Partial]));
        assert!(!good(&[Covered, Covered, Partial, Partial, Partial]));
        assert!(!good(&[Covered, Covered, Covered, Covered, Open]));
        // A conflict that the report shows is an answer.
        assert!(good(&[Covered, Covered, Conflict, Partial, Partial]));
        // The threshold applies too, unless all items are covered.
        let three = standing(&[Covered, Covered, Covered, Partial, Partial]);
        assert!(!three.is_good(0.9));
        assert!(standing(&[Covered, Covered]).is_good(1.0));
    }
}
