use serde::{Deserialize, Serialize};

use super::Usage;

/// The quality scores of a finished run. Scores are from 0 to 1; `docs/judging.md` explains how each is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// 0.6 × the quality of the answer + 0.4 × the quality of the process.
    pub composite: f64,
    /// How well the report answers the question.
    pub answer: QualityScore,
    /// How well the research was done: search strategy and source diversity.
    pub process: QualityScore,
    /// The model that judged; `None` if the scores were computed without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why a configured model did not judge, or judged only one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaided_because: Option<String>,
    /// What judging cost.
    pub usage: Usage,
}

/// One quality score and its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QualityScore {
    /// The weighted sum of the parts, 0 to 1.
    pub score: f64,
    /// Its parts, heaviest first.
    pub parts: Vec<QualityPart>,
}

/// One part of a quality score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QualityPart {
    /// The criterion: `coverage`, `support`, …
    pub name: String,
    /// Weight within the quality, 0 to 1; the weights of one quality sum to 1.
    pub weight: f64,
    /// The final score, 0 to 1.
    pub score: f64,
    /// The score computed by code, 0 to 1; `None` if only a model can judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<f64>,
    /// The score given by a model, 0 to 1, before it was bounded by `counted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<f64>,
    /// The count with its denominator, or the model's reason.
    pub why: String,
}

impl Judgement {
    /// Weight of the answer in the composite score.
    pub const ANSWER_SHARE: f64 = 0.6;

    /// Combines two qualities into a judgement.
    pub fn new(answer: QualityScore, process: QualityScore) -> Judgement {
        let share = Judgement::ANSWER_SHARE;
        Judgement {
            composite: rounded(share * answer.score + (1.0 - share) * process.score),
            answer,
            process,
            by: None,
            unaided_because: None,
            usage: Usage::default(),
        }
    }
}

impl QualityScore {
    /// Combines parts into a quality. Weights are normalized to sum to 1.
    pub fn from_parts(mut parts: Vec<QualityPart>) -> QualityScore {
        let sum: f64 = parts.iter().map(|it| it.weight).sum();
        for it in &mut parts {
            it.weight = rounded(it.weight / sum.max(f64::MIN_POSITIVE));
            it.score = rounded(it.score.clamp(0.0, 1.0));
            it.counted = it.counted.map(rounded);
            it.said = it.said.map(rounded);
        }
        parts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let weight: f64 = parts.iter().map(|it| it.weight).sum();
        let score: f64 = parts.iter().map(|it| it.weight * it.score).sum();
        QualityScore { score: rounded(score / weight.max(f64::MIN_POSITIVE)), parts }
    }
}

/// Rounds to three digits; judging is not more precise.
fn rounded(it: f64) -> f64 {
    (it * 1000.0).round() / 1000.0
}

/// A reader's rating of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    /// Up or down.
    pub vote: Vote,
    /// The reader's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The direction of a rating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vote {
    /// Good.
    Up,
    /// Bad.
    Down,
}

impl Vote {
    /// The name in events and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Vote::Up => "up",
            Vote::Down => "down",
        }
    }
}

impl Rating {
    /// Maximum length of a note, in characters.
    pub const NOTE_CHARS: usize = 2_000;
}
