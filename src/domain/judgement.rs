use serde::{Deserialize, Serialize};

use super::Usage;

/// How good a finished run is, by whoever looked at it afterwards (row C15). Scores are from 0 to 1; `docs/judging.md`
/// tells how each comes about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// 0.6 of the answer's quality and 0.4 of the process's.
    pub composite: f64,
    /// How well the report answers the question.
    pub answer: Quality,
    /// How well the research was done: search strategy and diversity of sources.
    pub process: Quality,
    /// The model that judged, where one did; the scores are counted by code otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why a model that is set did not judge, or only one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaided_because: Option<String>,
    /// What judging cost.
    pub usage: Usage,
}

/// One quality and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The parts by their weights, 0 to 1.
    pub score: f64,
    /// Its parts, heaviest first.
    pub parts: Vec<Part>,
}

/// One part of a quality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What is looked at: `coverage`, `support`, …
    pub name: String,
    /// Its share of the quality, 0 to 1; those of one quality sum to 1.
    pub weight: f64,
    /// Its score, 0 to 1: what counts.
    pub score: f64,
    /// What code counted, 0 to 1; `None` for what only a model can see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<f64>,
    /// What a model said, 0 to 1, before it was held within what code counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<f64>,
    /// What was counted, with its denominator, or a model's reason.
    pub why: String,
}

impl Judgement {
    /// Share of the answer's quality in the whole (row C15: 60:40).
    pub const ANSWER_SHARE: f64 = 0.6;

    /// The judgement of these two qualities.
    pub fn of(answer: Quality, process: Quality) -> Judgement {
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

impl Quality {
    /// The quality of these parts, whose weights are brought to a sum of 1.
    pub fn of(mut parts: Vec<Part>) -> Quality {
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
        Quality {
            score: rounded(score / weight.max(f64::MIN_POSITIVE)),
            parts,
        }
    }
}

/// Three digits: more would promise what no judge can keep.
fn rounded(it: f64) -> f64 {
    (it * 1000.0).round() / 1000.0
}

/// What a reader thought of a report (row E15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    /// Which way the thumb points.
    pub vote: Vote,
    /// Why, in the reader's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A thumb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vote {
    /// Good.
    Up,
    /// Not good.
    Down,
}

impl Vote {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Vote::Up => "up",
            Vote::Down => "down",
        }
    }
}

impl Rating {
    /// Longest note kept, characters.
    pub const NOTE_CHARS: usize = 2_000;
}
