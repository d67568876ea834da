//! What the judge is asked about points, and the grades that its answers give. A grade needs evidence from the report.
use std::fmt::Write as _;
use std::ops::Range;

use ibid_core::domain::split_sentences;
use ibid_core::ports::Prompt;
use serde_json::{Value, json};

use super::sets::{GradeScale, PointGrade, RubricPoint, TaskRubric};
use crate::judge::Judge;
use crate::judge::answer_json::{answer_list, number_of};
use crate::judge::prompt_text::{fill, list_prompt};
use crate::judged::shorten::shorten;

/// Output tokens for one point, and for the rest of an answer.
const POINT_TOKENS: usize = 130;
const ANSWER_TOKENS: usize = 100;
/// Tokens of a report without which a grade says nothing.
const LEAST_TOKENS: u64 = 250;

/// A question about some points of a task.
pub(crate) struct PointQuestion {
    pub(crate) points: Range<usize>,
    pub(crate) prompt: Prompt,
    /// Whether a part of the report was left out.
    pub(crate) is_cut: bool,
}

/// The questions about all points of a task. Points are asked about in smaller groups where the report would else get less than half of the
/// window.
pub(crate) fn point_questions(
    judge: &Judge,
    task: &str,
    article: &str,
    rubric: &TaskRubric,
) -> Result<Vec<PointQuestion>, String> {
    let mut groups: Vec<(Range<usize>, u64)> = Vec::new();
    let mut waiting: Vec<Range<usize>> = rubric.groups.iter().rev().cloned().collect();
    while let Some(group) = waiting.pop() {
        let room = judge.room(&prompt(task, "", rubric, &group));
        if group.len() > 1 && room < judge.window / 2 {
            let middle = group.start + group.len() / 2;
            waiting.extend([middle..group.end, group.start..middle]);
        } else {
            groups.push((group, room));
        }
    }
    let room = groups.iter().map(|group| group.1).min().unwrap_or(0);
    if room < LEAST_TOKENS {
        return Err(format!("a window of {} tokens is too small for its points", judge.window));
    }
    // The same text for every point: it is fair, and services charge less for a beginning that they know.
    let report = shorten(article, room);
    let question = |(points, _): (Range<usize>, u64)| PointQuestion {
        prompt: prompt(task, &report.text, rubric, &points),
        points,
        is_cut: report.is_cut,
    };
    Ok(groups.into_iter().map(question).collect())
}

fn prompt(task: &str, report: &str, rubric: &TaskRubric, group: &Range<usize>) -> Prompt {
    let points = &rubric.points[group.clone()];
    let mut list = String::new();
    for (at, point) in points.iter().enumerate() {
        let _ = writeln!(list, "{}. {}", at + 1, point.text);
    }
    let scale = points.first().map_or(GradeScale::Binary, |point| point.scale);
    let mut words = scale_words(scale).to_owned();
    if scale == GradeScale::Blockable && !rubric.blocked.is_empty() {
        let _ = write!(
            words,
            "\n- \"blocked\": it would be met, but the sentence that shows it cites this source, which must not be used: {}",
            rubric.blocked
        );
    }
    let example = if scale == GradeScale::Tenths { "7" } else { "\"met\"" };
    let count = points.len().to_string();
    let values = [
        ("task", task),
        ("report", report),
        ("points", list.trim_end()),
        ("scale", &words),
        ("example", example),
        ("count", &count),
    ];
    let grade = match scale {
        GradeScale::Tenths => json!({"type": "number"}),
        GradeScale::Blockable => json!({"type": "string", "enum": ["met", "not_met", "blocked"]}),
        GradeScale::Partial => json!({"type": "string", "enum": ["met", "partly", "not_met"]}),
        GradeScale::Binary => json!({"type": "string", "enum": ["met", "not_met"]}),
    };
    let string = json!({"type": "string"});
    let fields = [
        ("point", json!({"type": "integer"})),
        ("reason", string.clone()),
        ("evidence", string),
        ("grade", grade),
    ];
    let most = (points.len() * POINT_TOKENS + ANSWER_TOKENS) as u32;
    list_prompt(fill(include_str!("check.md"), &values), "results", &fields, most)
}

fn scale_words(scale: GradeScale) -> &'static str {
    match scale {
        GradeScale::Blockable => {
            "- \"met\": the report clearly says it; a figure must be given and be the same\n- \"not_met\": it does not"
        }
        GradeScale::Partial => {
            "- \"met\": the report does it fully\n- \"partly\": it does a part of it\n- \"not_met\": it does not"
        }
        GradeScale::Binary => "- \"met\": the report does it\n- \"not_met\": it does not",
        GradeScale::Tenths => "a number between 0, not at all, and 10, fully",
    }
}

/// The grade of a point, and whether it was made void because its evidence is not in the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CheckedGrade {
    pub(crate) grade: PointGrade,
    pub(crate) is_void: bool,
}

/// Reads a grade for each of `points`. Evidence is looked up in `article`.
pub(crate) fn read_grades(
    answer: &str,
    points: &[RubricPoint],
    article: &ArticleWords,
) -> Result<Vec<CheckedGrade>, String> {
    let rows = answer_list(answer, "results")?;
    let read = |(at, point): (usize, &RubricPoint)| {
        let nth = at + 1;
        let row = rows.iter().find(|row| number_of(&row["point"]) == Some(nth as f64));
        let row = row.ok_or_else(|| format!("there is no grade of point {nth}"))?;
        let grade = grade(&row["grade"], point.scale)
            .ok_or_else(|| format!("the grade of point {nth} is none: {}", row["grade"]))?;
        let needs = grade.score > 0.0 || grade.is_blocked;
        let is_void = needs && !article.has(row["evidence"].as_str().unwrap_or_default());
        let grade = if is_void { PointGrade::default() } else { grade };
        Ok(CheckedGrade { grade, is_void })
    };
    points.iter().enumerate().map(read).collect()
}

fn grade(value: &Value, scale: GradeScale) -> Option<PointGrade> {
    let of = |score: f64| Some(PointGrade { score, is_blocked: false });
    if scale == GradeScale::Tenths {
        return number_of(value)
            .filter(|grade| (0.0..=10.0).contains(grade))
            .and_then(|grade| of(grade / 10.0));
    }
    match (value.as_str()?, scale) {
        ("met", _) => of(1.0),
        ("not_met", _) => of(0.0),
        ("partly", GradeScale::Partial) => of(0.5),
        ("blocked", GradeScale::Blockable) => Some(PointGrade { score: 0.0, is_blocked: true }),
        _ => None,
    }
}

/// The letters and digits of a report, in which evidence is looked up.
pub(crate) struct ArticleWords(String);

impl ArticleWords {
    /// Those of `article`.
    pub(crate) fn of(article: &str) -> ArticleWords {
        ArticleWords(letters(article))
    }

    /// Whether every sentence of `evidence` is in the report; marks, blanks and case do not count.
    pub(crate) fn has(&self, evidence: &str) -> bool {
        let is_in = |text: &str| {
            let text = letters(text);
            !text.is_empty() && self.0.contains(&text)
        };
        if is_in(evidence) {
            return true;
        }
        let pieces: Vec<&str> = evidence
            .split(['\n', '…'])
            .flat_map(|line| line.split("..."))
            .flat_map(|line| split_sentences(line).into_iter().map(move |range| &line[range]))
            .filter(|piece| piece.chars().any(char::is_alphanumeric))
            .collect();
        !pieces.is_empty() && pieces.into_iter().all(is_in)
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_found_whatever_its_marks_and_only_if_every_sentence_is_there() {
        let article = ArticleWords::of("# Cork\n\n**Cork** floats [1]. It is light.\n\n软木会浮。");
        for text in [
            "cork FLOATS",
            "Cork floats [1]. It is light.",
            "It is light. Cork floats",
            "软木会浮",
            "Cork … It is light.",
        ] {
            assert!(article.has(text), "{text}");
        }
        for text in ["", "…", "Cork sinks.", "It is light. It sinks."] {
            assert!(!article.has(text), "{text}");
        }
    }
}
