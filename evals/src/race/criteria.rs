//! The criteria of a task: those of the set, or else written by the judge as the benchmark's own were.
use ibid_core::ports::Prompt;
use serde_json::{Value, json};

use crate::judge::answer_json::{answer_list, number_of};
use crate::judge::prompt_text::{fill, list_prompt};
use crate::judged::tasks::BenchmarkTask;

/// The four dimensions, with what they mean.
pub(crate) const DIMENSIONS: [(&str, &str); 4] = [
    ("comprehensiveness", "how broad, detailed and relevant what a report covers is"),
    ("insight", "how deep, original, logical and useful its analysis is"),
    ("instruction_following", "how exactly it does what the task asks, within its limits"),
    ("readability", "how clear its structure, language and presentation of data are"),
];
/// How many times the judge is asked for the weights; their mean counts.
pub(crate) const WEIGHT_SAMPLES: usize = 5;
/// Tokens for the criteria of a dimension that the judge has yet to write.
const UNWRITTEN_TOKENS: u32 = 1_500;

/// What a report is judged by in one dimension.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RaceDimension {
    pub(crate) weight: f64,
    pub(crate) criteria: Vec<RaceCriterion>,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RaceCriterion {
    pub(crate) name: String,
    pub(crate) explanation: String,
    pub(crate) weight: f64,
}

/// The criteria in the row of a task, in the order of [`DIMENSIONS`]; `None` if it has none.
pub(crate) fn given_criteria(task: &BenchmarkTask) -> Result<Option<Vec<RaceDimension>>, String> {
    let (weights, criteria) = (&task.row["dimension_weight"], &task.row["criterions"]);
    if criteria.is_null() {
        return Ok(None);
    }
    let dimension = |name: &str| -> Result<RaceDimension, String> {
        let wrong =
            |field: &str| format!("task {}: field `{field}.{name}` is missing or wrong", task.id());
        let weight = number_of(&weights[name]).filter(|weight| *weight >= 0.0);
        let rows = criteria[name].as_array().ok_or_else(|| wrong("criterions"))?;
        let criteria = read_criteria(rows).map_err(|_| wrong("criterions"))?;
        Ok(RaceDimension { weight: weight.ok_or_else(|| wrong("dimension_weight"))?, criteria })
    };
    DIMENSIONS.iter().map(|(name, _)| dimension(name)).collect::<Result<_, _>>().map(Some)
}

/// Criteria, their weights scaled to a sum of 1.
fn read_criteria(rows: &[Value]) -> Result<Vec<RaceCriterion>, String> {
    let read = |row: &Value| {
        Some(RaceCriterion {
            name: row["criterion"].as_str().filter(|text| !text.trim().is_empty())?.to_owned(),
            explanation: row["explanation"].as_str().unwrap_or_default().to_owned(),
            weight: number_of(&row["weight"]).filter(|weight| *weight > 0.0)?,
        })
    };
    let mut criteria: Vec<RaceCriterion> = rows
        .iter()
        .map(|row| read(row).ok_or("a criterion lacks its name or a weight above 0"))
        .collect::<Result<_, _>>()?;
    let sum: f64 = criteria.iter().map(|it| it.weight).sum();
    if criteria.is_empty() {
        return Err("there are no criteria".to_owned());
    }
    criteria.iter_mut().for_each(|it| it.weight /= sum);
    Ok(criteria)
}

/// The questions that make the criteria of a task: first the samples of the weights, then the criteria of each dimension.
pub(crate) fn criteria_prompts(task: &BenchmarkTask) -> Vec<Prompt> {
    let fields = [
        ("dimension", json!({"type": "string"})),
        ("reason", json!({"type": "string"})),
        ("weight", json!({"type": "number"})),
    ];
    let text = fill(include_str!("weights.md"), &[("task", &task.prompt)]);
    let weights = (0..WEIGHT_SAMPLES).map(|nth| Prompt {
        // Samples differ in the cache by their purpose, which is not sent.
        purpose: format!("weights, sample {nth}"),
        temperature: None,
        ..list_prompt(text.clone(), "weights", &fields, 600)
    });
    let fields = [
        ("criterion", json!({"type": "string"})),
        ("explanation", json!({"type": "string"})),
        ("weight", json!({"type": "number"})),
    ];
    let criteria = DIMENSIONS.iter().map(|(name, meaning)| {
        let values = [("task", task.prompt.as_str()), ("dimension", name), ("meaning", meaning)];
        let text = fill(include_str!("criteria.md"), &values);
        list_prompt(text, "criteria", &fields, UNWRITTEN_TOKENS)
    });
    weights.chain(criteria).collect()
}

/// An answer to one of the questions of [`criteria_prompts`].
#[derive(Debug, Clone)]
pub(crate) enum CriteriaAnswer {
    Weights([f64; 4]),
    Criteria(Vec<RaceCriterion>),
}

/// Reads the answer to the `nth` question of [`criteria_prompts`].
pub(crate) fn read_criteria_answer(nth: usize, answer: &str) -> Result<CriteriaAnswer, String> {
    if nth >= WEIGHT_SAMPLES {
        return read_criteria(&answer_list(answer, "criteria")?).map(CriteriaAnswer::Criteria);
    }
    let rows = answer_list(answer, "weights")?;
    let mut weights = [0.0; 4];
    for (at, (name, _)) in DIMENSIONS.iter().enumerate() {
        let row = rows.iter().find(|row| row["dimension"] == *name);
        let weight = row.and_then(|row| number_of(&row["weight"])).filter(|weight| *weight >= 0.0);
        weights[at] = weight.ok_or_else(|| format!("there is no weight of {name}"))?;
    }
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return Err("all weights are 0".to_owned());
    }
    Ok(CriteriaAnswer::Weights(weights.map(|weight| weight / sum)))
}

/// The criteria made of the usable answers; `None` if a dimension has none or no weights are there.
pub(crate) fn made_criteria(answers: &[Option<CriteriaAnswer>]) -> Option<Vec<RaceDimension>> {
    let weights: Vec<[f64; 4]> = answers
        .iter()
        .filter_map(|answer| match answer {
            Some(CriteriaAnswer::Weights(weights)) => Some(*weights),
            _ => None,
        })
        .collect();
    let criteria: Vec<Vec<RaceCriterion>> = answers
        .iter()
        .filter_map(|answer| match answer {
            Some(CriteriaAnswer::Criteria(criteria)) => Some(criteria.clone()),
            _ => None,
        })
        .collect();
    if weights.is_empty() || criteria.len() != DIMENSIONS.len() {
        return None;
    }
    let weight = |at: usize| weights.iter().map(|it| it[at]).sum::<f64>() / weights.len() as f64;
    let dimensions = criteria.into_iter().enumerate();
    Some(dimensions.map(|(at, criteria)| RaceDimension { weight: weight(at), criteria }).collect())
}

/// Criteria as long as those that the judge may write, to tell the cost beforehand.
pub(crate) fn unwritten_criteria() -> Vec<RaceDimension> {
    let criterion =
        RaceCriterion { name: "x".repeat(60), explanation: "x".repeat(500), weight: 0.125 };
    let dimension = RaceDimension { weight: 0.25, criteria: vec![criterion; 8] };
    vec![dimension; DIMENSIONS.len()]
}
