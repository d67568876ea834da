//! How far each item is answered, and what is still missing (rows B6, D5, D6, E7).
use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};

use crate::domain::words::{is_stop, share};
use crate::domain::{
    Brief, Coverage, CoverageRow, Evidence, Item, ItemId, ModelRole, Notes, Plan, Usage,
};
use crate::error::Result;
use crate::record::Event;
use crate::seams::{Log, Mind};

use super::AT_ONCE;
use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{CoverAsk, Covered, language},
};
use super::foreign::says_otherwise;
use super::prompts::{self, fill};
use super::query_policy::QueryPolicy;
use super::unaided::choose::voices;
use super::unaided::intake::is_weak;
use super::unaided::score::Scale;

/// Share of items that must be covered for good coverage, beside none being open (row B6).
const GOOD: f32 = 0.6;
/// Score of evidence that answers its item rather than touches it.
const STRONG: f32 = 0.5;
/// Score of evidence that answers so well that one voice is enough where there is no other.
const PLAIN: f32 = 0.7;
/// Share of a told gap's words that a finding holds which says it.
const FOUND: f32 = 0.8;

/// Words that a gap names.
const NAMED: usize = 3;

/// Findings of an item that a model is shown, best first.
const SHOWN: usize = 12;

/// What an item lacks and what would find it.
pub(crate) struct Gap {
    pub(crate) text: String,
    pub(crate) query: String,
}

/// Where every item stands after a round.
#[derive(Default)]
pub(crate) struct Standing {
    pub(crate) rows: Vec<CoverageRow>,
    pub(crate) gaps: BTreeMap<ItemId, Gap>,
    /// What a model said of an item last.
    pub(in crate::research) judged: BTreeMap<ItemId, Covered>,
}

impl Standing {
    /// Derives all rows anew from the notes. `domains_seen` is how many voices exist at all.
    pub(crate) fn update(
        &mut self,
        brief: &Brief,
        notes: &Notes,
        scale: &mut Scale,
        wave: u32,
        domains_seen: u32,
    ) -> Result<()> {
        self.rows.clear();
        self.gaps.clear();
        for item in notes.plan.items() {
            let found = notes.for_item(item.id);
            let voices = voices(notes, found.iter().copied()).len();
            let state = state_of(&found, voices, domains_seen);
            let missing = scale.missing(&brief.key_terms, &found);
            let gap = gap(state, &found, voices, &missing, brief, &item.heading)?;
            self.rows.push(CoverageRow {
                id: item.id,
                text: item.asks.clone(),
                state,
                score: score_of(&found, voices),
                evidence: found.len() as u32,
                sources: found
                    .iter()
                    .map(|it| it.source)
                    .collect::<std::collections::BTreeSet<_>>()
                    .len() as u32,
                by_wave: (1..=wave)
                    .map(|nth| found.iter().filter(|it| it.wave == nth).count() as u32)
                    .collect(),
                proof: found
                    .first()
                    .map(|it| it.passage.text().expose().to_owned()),
                gap: gap.as_ref().map(|it| it.text.clone()),
            });
            if let Some(gap) = gap {
                self.gaps.insert(item.id, gap);
            }
        }
        Ok(())
    }

    /// Has a model judge the items for which the last wave found evidence; what it judged of the others still holds.
    ///
    /// Its word counts within what the evidence allows: with evidence an item is not open, one weak finding covers none,
    /// only sources that are several can disagree, and "nothing" is not believed where the words alone saw an answer.
    pub(crate) async fn judge(
        &mut self,
        aid: &mut Aid<'_>,
        brief: &Brief,
        notes: &Notes,
        wave: u32,
        policy: &QueryPolicy,
    ) -> Result<()> {
        let role = ModelRole::Researcher;
        let Some(mind) = aid.mind(Step::Cover, role) else {
            return Ok(());
        };
        let mut asking = Vec::new();
        for item in notes.plan.items() {
            let found = notes.for_item(item.id);
            if found.iter().any(|it| it.wave == wave) {
                asking.push(judged(mind, brief, notes, item, found));
            }
        }
        let answers: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
        for (item, model, answer) in answers {
            aid.settle(Step::Cover, role, model);
            match answer {
                Ok(it) => _ = self.judged.insert(item, it),
                Err(fault) => {
                    aid.without(Step::Cover, role, fault)?;
                    self.judged.remove(&item);
                }
            }
        }
        for row in &mut self.rows {
            let Some(judged) = self.judged.get(&row.id) else {
                continue;
            };
            // One that sees nothing where the words alone saw an answer does not see.
            if judged.state == Coverage::Open && row.state == Coverage::Covered {
                continue;
            }
            let found = notes.for_item(row.id);
            let best = found.first().map_or(0.0, |it| it.score);
            let enough = found.len() >= 2 || best >= STRONG;
            row.state = match judged.state {
                _ if found.is_empty() => Coverage::Open,
                Coverage::Covered if enough => Coverage::Covered,
                Coverage::Conflict if row.sources >= 2 => Coverage::Conflict,
                _ => Coverage::Partial,
            };
            let own = self.gaps.remove(&row.id);
            row.gap = None;
            if matches!(row.state, Coverage::Open | Coverage::Partial) {
                let gap = told(judged, brief, row, &found, policy)?.or(own);
                row.gap = gap.as_ref().map(|it| it.text.clone());
                self.gaps.extend(gap.map(|it| (row.id, it)));
            }
        }
        Ok(())
    }

    /// Share of items covered, a partial one counting half.
    pub(crate) fn ratio(&self) -> f32 {
        CoverageRow::completeness(&self.rows)
    }

    /// Whether coverage is good enough to stop: all items covered, or none open, enough covered,
    /// and the ratio at the threshold (rows B6, D1).
    pub(crate) fn good(&self, threshold: f32) -> bool {
        let covered = self
            .rows
            .iter()
            .filter(|it| it.state.judged() == "satisfied")
            .count() as f32;
        let all = self.rows.len().max(1) as f32;
        let none_open = self.rows.iter().all(|it| it.state != Coverage::Open);
        covered == all || (none_open && covered / all >= GOOD && self.ratio() >= threshold)
    }

    pub(crate) fn tell(&self, log: &Log) {
        log.emit(Event::CoverageUpdated {
            rows: self.rows.clone(),
            ratio: self.ratio(),
        });
    }
}

/// The rows of a plan before anything was searched for.
pub(crate) fn unseen(plan: &Plan) -> Vec<CoverageRow> {
    let row = |it: &Item| CoverageRow::open(it.id, &it.asks);
    plan.items().iter().map(row).collect()
}

/// The gap that a model tells; none where it only says the question or what was found again. It has read pages: its words
/// stand where none of them is a page's own, else those of them that may be told name what is missing.
fn told(
    judged: &Covered,
    brief: &Brief,
    row: &CoverageRow,
    found: &[&Evidence],
    policy: &QueryPolicy,
) -> Result<Option<Gap>> {
    let text = judged.gap.trim();
    let asked = format!("{} {}", brief.asked(), row.text);
    let known = found.iter().any(|it| share(text, &it.claim) >= FOUND);
    if share(text, &asked) >= 1.0 || known {
        return Ok(None);
    }
    let query = policy.narrowed(&judged.gap_query);
    let claims = found.iter().map(|it| it.claim.as_str());
    Ok(Some(Gap {
        text: match policy.told(text) {
            Some(text) if !says_otherwise(text, claims.chain([asked.as_str()])) => text.to_owned(),
            _ => missing(text, found, &asked, policy)?,
        },
        query: query.unwrap_or_else(|| row.text.clone()),
    }))
}

/// A gap in words of the program, with those of a model's words that are `asked` for and were not found.
fn missing(text: &str, found: &[&Evidence], asked: &str, policy: &QueryPolicy) -> Result<String> {
    let words = &prompts::phrases()?.gap;
    let own = match found.is_empty() {
        true => &words.open,
        false => &words.weak,
    };
    let narrowed = policy.narrowed(text).unwrap_or_default();
    let named: Vec<&str> = narrowed
        .split(' ')
        .filter(|it| !is_stop(it) && !is_weak(it) && share(it, asked) >= 1.0)
        .filter(|it| found.iter().all(|own| share(it, &own.claim) < 1.0))
        .take(NAMED)
        .collect();
    Ok(match named.is_empty() {
        true => own.clone(),
        false => format!(
            "{own} {}",
            fill(&words.missing, &[("terms", &named.join(", "))])
        ),
    })
}

/// What a model says of an item: how far its evidence answers it.
async fn judged<'a>(
    mind: &'a Mind,
    brief: &Brief,
    notes: &Notes,
    item: &Item,
    found: Vec<&Evidence>,
) -> (ItemId, Counting<'a>, Result<Covered>) {
    let evidence: Vec<(String, String)> = found
        .iter()
        .take(SHOWN)
        .map(|it| {
            let voice = notes
                .source(it.source)
                .map(|it| match it.domain.is_empty() {
                    true => it.title.clone(),
                    false => it.domain.clone(),
                });
            (it.claim.clone(), voice.unwrap_or_default())
        })
        .collect();
    let language = language(Some(&brief.lang));
    let asked = CoverAsk {
        question: brief.asked(),
        item,
        evidence: &evidence,
        language: &language,
    };
    let model = Counting::of(mind);
    let answer = match asked.prompt() {
        Ok(prompt) => ask::typed(&model, prompt, |it| asked.check(it)).await,
        Err(fault) => Err(fault),
    };
    (item.id, model, answer.map(|it| it.value))
}

fn state_of(found: &[&Evidence], voices: usize, domains_seen: u32) -> Coverage {
    let best = found.first().map_or(0.0, |it| it.score);
    let alone = domains_seen < 2 && found.len() >= 2;
    match found.len() {
        0 => Coverage::Open,
        _ if best >= PLAIN || (best >= STRONG && (voices >= 2 || alone)) => Coverage::Covered,
        n if n >= 3 && voices >= 2 => Coverage::Covered,
        _ => Coverage::Partial,
    }
}

fn score_of(found: &[&Evidence], voices: usize) -> f32 {
    let best = found.first().map_or(0.0, |it| it.score);
    let score = 0.5 * best.min(1.0)
        + 0.25 * (voices.min(2) as f32 / 2.0)
        + 0.25 * (found.len().min(3) as f32 / 3.0);
    (score * 100.0).round() / 100.0
}

fn gap(
    state: Coverage,
    found: &[&Evidence],
    voices: usize,
    missing: &[String],
    brief: &Brief,
    heading: &str,
) -> Result<Option<Gap>> {
    let phrases = prompts::phrases()?;
    let words = &phrases.gap;
    let mut text = match state {
        Coverage::Covered | Coverage::Conflict => return Ok(None),
        Coverage::Open => words.open.clone(),
        Coverage::Partial if voices < 2 && found[0].score >= STRONG => words.thin.clone(),
        Coverage::Partial => words.weak.clone(),
    };
    let named: Vec<&str> = missing.iter().take(3).map(String::as_str).collect();
    if !named.is_empty() && state == Coverage::Partial {
        text = format!(
            "{text} {}",
            fill(&words.missing, &[("terms", &named.join(", "))])
        );
    }
    let subject = brief.subjects.first().cloned().unwrap_or_default();
    // Of what is open, ask in broader words; of what is thin, for the words not met yet.
    let wanted = if named.is_empty() || state == Coverage::Open {
        heading.to_lowercase()
    } else {
        named.join(" ")
    };
    let query = fill(
        &phrases.query.gap,
        &[("subject", &subject), ("missing", &wanted)],
    );
    Ok(Some(Gap { text, query }))
}

/// What is told when the calls are spent.
pub(crate) fn spent_message(usage: &Usage) -> String {
    format!(
        "the calls of the budget are spent: {} searches, {} pages",
        usage.searches, usage.pages
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(states: &[Coverage]) -> Standing {
        let rows = states.iter().zip(1..).map(|(state, nth)| CoverageRow {
            state: *state,
            ..CoverageRow::open(ItemId::new(nth), "What is it?")
        });
        Standing {
            rows: rows.collect(),
            ..Standing::default()
        }
    }

    #[test]
    fn three_of_five_covered_are_good_where_none_is_open_and_fewer_are_not() {
        use Coverage::{Conflict, Covered, Open, Partial};
        let good = |states: &[Coverage]| standing(states).good(0.7);
        assert!(good(&[Covered, Covered, Covered, Partial, Partial]));
        assert!(!good(&[Covered, Covered, Partial, Partial, Partial]));
        assert!(!good(&[Covered, Covered, Covered, Covered, Open]));
        // A conflict that is shown is an answer.
        assert!(good(&[Covered, Covered, Conflict, Partial, Partial]));
        // The threshold is asked for beside, but not where all are covered.
        let three = standing(&[Covered, Covered, Covered, Partial, Partial]);
        assert!(!three.good(0.9));
        assert!(standing(&[Covered, Covered]).good(1.0));
    }
}
