//! The points of a task in each of the sets, and how its score is made of their grades.
use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use crate::judge::answer_json::number_of;
use crate::judged::args::ProtocolArgs;
use crate::judged::tasks::{BenchmarkTask, read_tasks};
use crate::{Fault, sets};

/// The sets with rubrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RubricSet {
    /// DeepResearch Bench II: met or not, and not if a source is cited that must not be used.
    DeepResearchBench2,
    /// ResearchRubrics: weighted criteria, some of them faults with a negative weight.
    ResearchRubrics,
    /// ScholarQA-CS: weighted criteria with a grade of 0 to 10, half of the weight for supporting excerpts.
    ScholarQa,
    /// DeepScholar-Bench: nuggets of an expert's text.
    DeepScholar,
}

/// The grades that a point may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GradeScale {
    /// `met`, `not_met`, or `blocked` where the evidence cites a forbidden source.
    Blockable,
    /// `met`, `partly` or `not_met`.
    Partial,
    /// `met` or `not_met`.
    Binary,
    /// A number between 0 and 10.
    Tenths,
}

/// A point that a report is checked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RubricPoint {
    pub(crate) text: String,
    pub(crate) weight: f64,
    /// The part of the score that it belongs to.
    pub(crate) part: String,
    pub(crate) scale: GradeScale,
    /// The point without which this one does not count.
    pub(crate) only_with: Option<usize>,
}

/// The points of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskRubric {
    pub(crate) points: Vec<RubricPoint>,
    /// Points that are asked about together, all of one scale.
    pub(crate) groups: Vec<Range<usize>>,
    /// A source that must not be used, in words; empty if there is none.
    pub(crate) blocked: String,
}

/// The parts of DeepResearch Bench II.
const PARTS: [&str; 3] = ["info_recall", "analysis", "presentation"];

impl RubricSet {
    /// The set called `name`.
    pub(crate) fn by_name(name: &str) -> Result<RubricSet, Fault> {
        match name {
            "drb2" => Ok(RubricSet::DeepResearchBench2),
            "researchrubrics" => Ok(RubricSet::ResearchRubrics),
            "scholarqa" => Ok(RubricSet::ScholarQa),
            "deepscholar" => Ok(RubricSet::DeepScholar),
            _ => Err(format!(
                "--set {name}: rubrics has drb2, researchrubrics, scholarqa, deepscholar"
            )
            .into()),
        }
    }

    /// The judge of its published figures.
    pub(crate) fn published_judge(self) -> &'static str {
        match self {
            RubricSet::DeepResearchBench2 | RubricSet::ResearchRubrics => "gemini-2.5-pro",
            RubricSet::ScholarQa => "gpt-4-turbo",
            RubricSet::DeepScholar => "gpt-4o",
        }
    }

    /// The most points in one question, as published.
    fn together(self) -> usize {
        match self {
            RubricSet::DeepResearchBench2 => 50,
            RubricSet::DeepScholar => 10,
            RubricSet::ResearchRubrics | RubricSet::ScholarQa => 1,
        }
    }

    /// How its score departs from the published one.
    pub(crate) fn departure(self) -> &'static str {
        match self {
            RubricSet::DeepResearchBench2 => {
                "evidence must be in the report; only half of the tasks are there"
            }
            RubricSet::ResearchRubrics => {
                "evidence must be in the report; the grades are the three of the paper, where the published program has two"
            }
            RubricSet::ScholarQa => {
                "evidence must be in the report; the score is that of the annotators' criteria, without length, expertise, citations and \
                 excerpts; only half of the tasks are there"
            }
            RubricSet::DeepScholar => "evidence must be in the report",
        }
    }

    /// The tasks: those of `--tasks`, or else of the shared data.
    pub(crate) fn tasks(self, args: &ProtocolArgs) -> Result<Vec<BenchmarkTask>, Fault> {
        let own = match self {
            RubricSet::DeepResearchBench2 => Some("drb2/dev/tasks_and_rubrics.jsonl.gz"),
            RubricSet::ScholarQa => Some("scholarqa/dev/scholarqa_cs_rubrics.jsonl.gz"),
            RubricSet::ResearchRubrics | RubricSet::DeepScholar => None,
        };
        let own = own.map(sets::shared);
        let path = args.tasks.clone().or(own).ok_or_else(|| {
            format!("--set {} is not in the shared data: name its file with --tasks", args.set)
        })?;
        let mut tasks = read_tasks(&path)?;
        if self == RubricSet::ScholarQa {
            // Of two annotators of one question the first counts, as published.
            let mut seen = BTreeSet::new();
            tasks.retain(|task| seen.insert(task.prompt.clone()));
        }
        Ok(tasks)
    }

    /// The points of a task.
    pub(crate) fn rubric(self, task: &BenchmarkTask) -> Result<TaskRubric, String> {
        let points = match self {
            RubricSet::DeepResearchBench2 => parts_of(&task.row["content"]["rubric"]),
            RubricSet::ResearchRubrics => criteria_of(&task.row["rubrics"]),
            RubricSet::ScholarQa => {
                properties_of(&task.row["metric_config"]["config"]["other_properties"])
            }
            RubricSet::DeepScholar => nuggets_of(&task.row),
        };
        let points = points.map_err(|why| format!("task {}: {why}", task.id()))?;
        if points.is_empty() {
            return Err(format!("task {}: it has no points", task.id()));
        }
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, point) in points.iter().enumerate() {
            // The excerpts of one criterion are asked about together, however many there are.
            let joins = |group: &Range<usize>| match point.only_with {
                Some(_) => points[group.start].only_with == point.only_with,
                None => group.len() < self.together(),
            };
            match groups.last_mut() {
                Some(group) if joins(group) => group.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        let blocked = match self {
            RubricSet::DeepResearchBench2 => blocked_source(&task.row["content"]["blocked"]),
            _ => String::new(),
        };
        Ok(TaskRubric { points, groups, blocked })
    }

    /// The figures of a report: name and value between 0 and 100, the score first.
    pub(crate) fn figures(
        self,
        points: &[RubricPoint],
        grades: &[PointGrade],
    ) -> Vec<(String, f64)> {
        let pairs = || points.iter().zip(grades);
        let share = |part: Option<&str>, of: fn(&PointGrade) -> f64| {
            let all: Vec<f64> = pairs()
                .filter(|it| part.is_none_or(|part| it.0.part == part))
                .map(|it| of(it.1))
                .collect();
            (!all.is_empty()).then(|| 100.0 * all.iter().sum::<f64>() / all.len() as f64)
        };
        let full = |grade: &PointGrade| f64::from(u8::from(grade.score >= 1.0));
        let score = |grade: &PointGrade| grade.score;
        let named = |name: &str, value: Option<f64>| value.map(|value| (name.to_owned(), value));
        match self {
            RubricSet::DeepResearchBench2 => [("all points", None)]
                .into_iter()
                .chain(PARTS.map(|part| (part, Some(part))))
                .filter_map(|(name, part)| named(name, share(part, full)))
                .chain(named(
                    "points met from a blocked source",
                    share(None, |grade| f64::from(u8::from(grade.is_blocked))),
                ))
                .collect(),
            RubricSet::DeepScholar => [
                named("nuggets, strict", share(None, full)),
                named("nuggets", share(None, score)),
                named("vital nuggets, strict", share(Some("vital"), full)),
                named("vital nuggets", share(Some("vital"), score)),
            ]
            .into_iter()
            .flatten()
            .collect(),
            RubricSet::ResearchRubrics | RubricSet::ScholarQa => {
                let above: f64 = pairs().map(|it| it.0.weight * it.1.score).sum();
                let below: f64 = points.iter().map(|point| point.weight.max(0.0)).sum();
                let value = if below > 0.0 { 100.0 * above / below } else { 0.0 };
                vec![("weighted score".to_owned(), value)]
            }
        }
    }
}

/// The grade of a point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PointGrade {
    /// 0 to 1.
    pub(crate) score: f64,
    /// Whether only a forbidden source is cited for it.
    pub(crate) is_blocked: bool,
}

fn point(text: &str, weight: f64, part: &str, scale: GradeScale) -> RubricPoint {
    RubricPoint { text: text.to_owned(), weight, part: part.to_owned(), scale, only_with: None }
}

fn rows<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("field `{name}` is no list"))
}

fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, String> {
    value[name].as_str().ok_or_else(|| format!("a point lacks the field `{name}`"))
}

fn parts_of(rubric: &Value) -> Result<Vec<RubricPoint>, String> {
    let mut points = Vec::new();
    for part in PARTS {
        for row in rubric[part].as_array().into_iter().flatten() {
            let text = row.as_str().ok_or_else(|| format!("a point of `{part}` is no text"))?;
            points.push(point(text, 1.0, part, GradeScale::Blockable));
        }
    }
    Ok(points)
}

fn criteria_of(rubrics: &Value) -> Result<Vec<RubricPoint>, String> {
    let read = |row: &Value| {
        let weight = number_of(&row["weight"]).ok_or("a criterion lacks the field `weight`")?;
        let axis = row["axis"].as_str().unwrap_or_default();
        Ok(point(text(row, "criterion")?, weight, axis, GradeScale::Partial))
    };
    rows(rubrics, "rubrics")?.iter().map(read).collect()
}

/// Criteria, each followed by its excerpts, which share half of its weight and count only if the criterion does.
fn properties_of(properties: &Value) -> Result<Vec<RubricPoint>, String> {
    let mut points: Vec<RubricPoint> = Vec::new();
    for row in rows(properties, "other_properties")? {
        let weight = number_of(&row["weight"]).ok_or("a property lacks the field `weight`")?;
        let excerpts: Vec<&str> =
            row["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let own = if excerpts.is_empty() { weight } else { weight / 2.0 };
        let criterion = points.len();
        points.push(point(text(row, "criterion")?, own, "criteria", GradeScale::Tenths));
        for excerpt in &excerpts {
            let text =
                format!("The report has, in part or whole, what this excerpt says: {excerpt}");
            let weight = weight / 2.0 / excerpts.len() as f64;
            points.push(RubricPoint {
                only_with: Some(criterion),
                ..point(&text, weight, "excerpts", GradeScale::Binary)
            });
        }
    }
    Ok(points)
}

fn nuggets_of(row: &Value) -> Result<Vec<RubricPoint>, String> {
    let nuggets = match &row["nuggets"] {
        Value::Null => &row["supported_nuggets"],
        nuggets => nuggets,
    };
    let read = |row: &Value| {
        let importance = row["importance"].as_str().unwrap_or("vital");
        Ok(point(text(row, "text")?, 1.0, importance, GradeScale::Partial))
    };
    rows(nuggets, "nuggets")?.iter().map(read).collect()
}

/// The forbidden source in words.
fn blocked_source(blocked: &Value) -> String {
    let title = blocked["title"].as_str().unwrap_or_default();
    let urls: Vec<&str> =
        blocked["urls"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (title, urls.is_empty()) {
        ("", true) => String::new(),
        _ => format!("{title} {}", urls.join(" ")).trim().to_owned(),
    }
}
