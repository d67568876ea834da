//! What the judge is asked about a pair of reports, and the score that its answers give.
use std::fmt::Write as _;

use ibid_core::ports::Prompt;
use serde_json::json;

use super::criteria::{DIMENSIONS, RaceDimension};
use crate::judge::Judge;
use crate::judge::answer_json::{answer_list, number_of};
use crate::judge::prompt_text::{fill, list_prompt};
use crate::judged::shorten::{shorten, tokens};

/// Output tokens for one criterion, and for the rest of an answer.
const CRITERION_TOKENS: usize = 160;
const ANSWER_TOKENS: usize = 200;
/// Tokens of a report without which a comparison says nothing.
const LEAST_TOKENS: u64 = 250;

/// A task, the report to judge and the one it is compared with.
pub(crate) struct ReportPair<'a> {
    pub(crate) task: &'a str,
    pub(crate) target: &'a str,
    pub(crate) reference: &'a str,
}

/// The questions about one pair.
pub(crate) struct PairQuestions {
    /// Each with the dimensions that it asks about.
    pub(crate) asked: Vec<(Vec<usize>, Prompt)>,
    /// Whether a part of a report was left out.
    pub(crate) is_cut: bool,
}

/// What to ask about a pair: one question about all criteria where both reports fit the window whole, or else one about each dimension.
pub(crate) fn pair_questions(
    judge: &Judge,
    pair: &ReportPair<'_>,
    dimensions: &[RaceDimension],
) -> Result<PairQuestions, String> {
    let all: Vec<usize> = (0..dimensions.len()).collect();
    let whole = prompt(pair, dimensions, &all);
    if judge.fits(&whole) {
        return Ok(PairQuestions { asked: vec![(all, whole)], is_cut: false });
    }
    // The same text in every dimension: it is fair, and services charge less for a beginning that they know.
    let empty = ReportPair { target: "", reference: "", ..*pair };
    let rooms = all.iter().map(|at| judge.room(&prompt(&empty, dimensions, &[*at])));
    let room = rooms.min().unwrap_or(0);
    if room < 2 * LEAST_TOKENS {
        return Err(format!("a window of {} tokens is too small for its criteria", judge.window));
    }
    // What the shorter report leaves is for the longer one.
    let (one, two) = (tokens(pair.target), tokens(pair.reference));
    let half = room / 2;
    let most = |own: u64, other: u64| if own <= half { own } else { room - other.min(half) };
    let (target, reference) =
        (shorten(pair.target, most(one, two)), shorten(pair.reference, most(two, one)));
    let short = ReportPair { target: &target.text, reference: &reference.text, ..*pair };
    Ok(PairQuestions {
        asked: all.into_iter().map(|at| (vec![at], prompt(&short, dimensions, &[at]))).collect(),
        is_cut: target.is_cut || reference.is_cut,
    })
}

fn prompt(pair: &ReportPair<'_>, dimensions: &[RaceDimension], asked: &[usize]) -> Prompt {
    let (mut criteria, mut count) = (String::new(), 0);
    for at in asked {
        let _ = writeln!(criteria, "{}:", DIMENSIONS[*at].0);
        for criterion in &dimensions[*at].criteria {
            count += 1;
            let _ = writeln!(criteria, "{count}. {}: {}", criterion.name, criterion.explanation);
        }
    }
    let number = count.to_string();
    let values = [
        ("task", pair.task),
        ("report_1", pair.target),
        ("report_2", pair.reference),
        ("criteria", criteria.trim_end()),
        ("count", &number),
    ];
    let fields = [
        ("criterion", json!({"type": "integer"})),
        ("comparison", json!({"type": "string"})),
        ("report_1", json!({"type": "number"})),
        ("report_2", json!({"type": "number"})),
    ];
    let most = (count * CRITERION_TOKENS + ANSWER_TOKENS) as u32;
    list_prompt(fill(include_str!("score.md"), &values), "scores", &fields, most)
}

/// The mean scores of both reports in one dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DimensionScore {
    pub(crate) dimension: usize,
    pub(crate) target: f64,
    pub(crate) reference: f64,
    /// Criteria that the answer leaves out; the others count for them.
    pub(crate) left_out: usize,
}

/// Reads the scores of the dimensions `asked`. Each needs at least one criterion with two scores between 0 and 10.
pub(crate) fn read_scores(
    answer: &str,
    dimensions: &[RaceDimension],
    asked: &[usize],
) -> Result<Vec<DimensionScore>, String> {
    let rows = answer_list(answer, "scores")?;
    let score = |nth: usize, report: &str| {
        let row = rows.iter().find(|row| number_of(&row["criterion"]) == Some(nth as f64))?;
        number_of(&row[report]).filter(|score| (0.0..=10.0).contains(score))
    };
    let (mut found, mut nth) = (Vec::new(), 0);
    for at in asked {
        let (mut target, mut reference, mut weights, mut left_out) = (0.0, 0.0, 0.0, 0);
        for criterion in &dimensions[*at].criteria {
            nth += 1;
            match (score(nth, "report_1"), score(nth, "report_2")) {
                (Some(one), Some(two)) => {
                    target += one * criterion.weight;
                    reference += two * criterion.weight;
                    weights += criterion.weight;
                }
                _ => left_out += 1,
            }
        }
        if weights <= 0.0 {
            return Err(format!("no criterion of {} has two scores", DIMENSIONS[*at].0));
        }
        let (target, reference) = (target / weights, reference / weights);
        found.push(DimensionScore { dimension: *at, target, reference, left_out });
    }
    Ok(found)
}

/// The scores of a report: overall and in each dimension, 0 to 100; 50 is as good as the reference.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RaceScore {
    pub(crate) overall: f64,
    pub(crate) dimensions: [f64; 4],
}

/// The score of a report of which all four dimensions were judged.
pub(crate) fn race_score(
    scores: &[DimensionScore],
    dimensions: &[RaceDimension],
) -> Option<RaceScore> {
    let share = |target: f64, reference: f64| match target + reference {
        sum if sum > 0.0 => 100.0 * target / sum,
        _ => 0.0,
    };
    let (mut target, mut reference, mut of) = (0.0, 0.0, [0.0; 4]);
    for (at, dimension) in dimensions.iter().enumerate() {
        let score = scores.iter().find(|score| score.dimension == at)?;
        target += score.target * dimension.weight;
        reference += score.reference * dimension.weight;
        of[at] = share(score.target, score.reference);
    }
    Some(RaceScore { overall: share(target, reference), dimensions: of })
}
