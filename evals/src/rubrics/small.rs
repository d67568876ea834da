//! Generated tasks of all four sets and a scripted judge: known scores, void evidence, a killed run, unusable answers.
use std::path::Path;

use serde_json::{Value, json};

use super::sets::RubricSet;
use super::{RubricQuestions, ask_about, measure};
use crate::judge::Judge;
use crate::judge::scripted::ScriptedJudge;
use crate::judged::figures::FigureTable;
use crate::judged::reports::ReportSet;
use crate::judged::tasks::BenchmarkTask;
use crate::{Fault, Measured, Outcome, generated};

/// A window in which the report fits, and one in which it does not.
const WINDOWS: [u64; 2] = [40_000, 2_000];

/// Fails where a score, a resumed run or a count is wrong.
pub(crate) fn small(_: &[String]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = tempfile::tempdir()?;
    let mut scores = 0;
    for window in WINDOWS {
        for (nth, (set, task, figures)) in known().into_iter().enumerate() {
            let place = dir.path().join(format!("{window}-{nth}"));
            let model = ScriptedJudge::new(answer, usize::MAX);
            let judge = model.judge(&place, window)?;
            let asked = questions(&judge, &place, set, &task)?;
            let table = runtime.block_on(measure(&judge, &asked))?;
            expect(set, &table, &figures)?;
            let is_cut = table.differs.iter().any(|why| why.contains("shortened"));
            if is_cut != (window == WINDOWS[1]) {
                return Err(format!("{set:?} in a window of {window}: {:?}", table.differs).into());
            }
            scores += 1;
        }
    }
    runtime.block_on(killed_and_resumed(dir.path()))?;
    runtime.block_on(unusable(dir.path()))?;
    Ok(Measured::new(scores, "reports with a score"))
}

/// A task of a set, with the figures that its report must get.
type KnownTask = (RubricSet, Value, Vec<(&'static str, f64)>);

/// One of each set.
fn known() -> Vec<KnownTask> {
    let drb2 = json!({"id": "task1+", "idx": 1, "language": "en", "prompt": "What is cork?", "content": {
        "rubric": {"info_recall": ["It says that cork floats: met", "It says that cork sinks: absent",
            "It says that cork is old: invented"], "analysis": ["It compares: met"], "presentation": ["It quotes: blocked"]},
        "blocked": {"title": "The one book", "urls": ["https://book.example"]}}});
    let weighted = json!({"sample_id": "1", "prompt": "What is cork?", "rubrics": [
        {"criterion": "Cork floats: met", "weight": 3.0, "axis": "a"},
        {"criterion": "Cork is light: partly", "weight": 2.0, "axis": "a"},
        {"criterion": "Cork sinks: met", "weight": -1.0, "axis": "b"},
        {"criterion": "Cork is old: invented", "weight": 5.0, "axis": "b"}]});
    let scholar = json!({"case_id": "1", "initial_prompt": "What is cork?", "metric_config": {"config": {"other_properties": [
        {"name": "a", "criterion": "Cork floats: eight", "weight": 0.4, "evidence": ["one: met", "two: absent"]},
        {"name": "b", "criterion": "Cork sinks: zero", "weight": 0.2, "evidence": ["three: met"]}]}}});
    let nuggets = json!({"id": 1, "query": "What is cork?", "nuggets": [
        {"text": "floats: met", "importance": "vital"}, {"text": "light: partly", "importance": "vital"},
        {"text": "old: invented", "importance": "okay"}, {"text": "bark: met", "importance": "okay"}]});
    vec![
        (
            RubricSet::DeepResearchBench2,
            drb2,
            vec![
                ("all points", 40.0),
                ("info_recall", 100.0 / 3.0),
                ("analysis", 100.0),
                ("presentation", 0.0),
                ("points met from a blocked source", 20.0),
                ("all points, en", 40.0),
            ],
        ),
        // 3 + 1 - 1 of 10.
        (RubricSet::ResearchRubrics, weighted, vec![("weighted score", 30.0)]),
        // 0.2 of 0.8, half of 0.2, and nothing for the excerpt of a criterion that is not met, of 0.6.
        (RubricSet::ScholarQa, scholar, vec![("weighted score", 100.0 * (0.16 + 0.1) / 0.6)]),
        (
            RubricSet::DeepScholar,
            nuggets,
            vec![
                ("nuggets, strict", 50.0),
                ("nuggets", 62.5),
                ("vital nuggets, strict", 50.0),
                ("vital nuggets", 75.0),
            ],
        ),
    ]
}

fn questions(
    judge: &Judge,
    dir: &Path,
    set: RubricSet,
    task: &Value,
) -> Result<RubricQuestions, Fault> {
    let section = |nth: usize| format!("## Part {nth}\n\n{}\n\n", "Cork floats. ".repeat(40));
    let article: String = (0..12).map(section).collect();
    let file = dir.join("reports.jsonl");
    generated::write(&file, &[json!({"id": 1, "article": article})])?;
    let tasks = [BenchmarkTask::of(task.clone())?];
    ask_about(judge, set, ReportSet::read(&file)?.matched(&tasks, None))
}

/// The last word of a point says which grade it gets; `invented` gets evidence that the report does not hold.
fn answer(text: &str) -> String {
    let points = text.split("<points>").nth(1).and_then(|rest| rest.split("</points>").next());
    let numbered = points.unwrap_or_default().lines().filter_map(|line| line.split_once(". "));
    let rows: Vec<Value> = numbered
        .map(|(nth, point)| {
            let (grade, evidence) = match point.rsplit(": ").next().unwrap_or_default() {
                "eight" => (json!(8), "**Cork** floats."),
                "zero" => (json!(0), ""),
                "invented" => (json!("met"), "Cork was found by Ada Larch."),
                "absent" => (json!("not_met"), ""),
                word => (json!(word), "Cork floats."),
            };
            json!({"point": nth.trim().parse().unwrap_or(0), "reason": "", "evidence": evidence, "grade": grade})
        })
        .collect();
    json!({"results": rows}).to_string()
}

fn expect(set: RubricSet, table: &FigureTable, figures: &[(&str, f64)]) -> Result<(), Fault> {
    for (name, wanted) in figures {
        match table.figure(name) {
            Some(found) if (found - wanted).abs() < 1e-9 => {}
            found => {
                return Err(format!("{set:?}: `{name}` is {found:?} and should be {wanted}").into());
            }
        }
    }
    let void = "grades void, their evidence is not in the report";
    let wanted = usize::from(set != RubricSet::ScholarQa);
    match table.count(void) {
        Some(found) if found == wanted => Ok(()),
        found => Err(format!("{set:?}: {found:?} {void}, not {wanted}").into()),
    }
}

/// Killed after each number of calls, the run goes on to the same figures, and no call is made twice.
async fn killed_and_resumed(dir: &Path) -> Result<(), Fault> {
    for (nth, (set, task, _)) in known().into_iter().enumerate() {
        let model = ScriptedJudge::new(answer, usize::MAX);
        let place = dir.join(format!("whole-{nth}"));
        let judge = model.judge(&place, WINDOWS[0])?;
        let asked = questions(&judge, &place, set, &task)?;
        let whole = measure(&judge, &asked).await?;
        for most in 0..model.answered() {
            let place = dir.join(format!("killed-{nth}-{most}"));
            let first = ScriptedJudge::new(answer, most);
            let judge = first.judge(&place, WINDOWS[0])?;
            tokio::select! {
                _ = measure(&judge, &asked) => return Err("a run went on without its judge".into()),
                () = first.silence() => {}
            }
            let second = ScriptedJudge::new(answer, usize::MAX);
            let table = measure(&second.judge(&place, WINDOWS[0])?, &asked).await?;
            let calls = first.answered() + second.answered();
            if calls != model.answered() || table.json()["figures"] != whole.json()["figures"] {
                return Err(format!(
                    "{set:?} killed after {most} calls: {calls} calls, or other figures"
                )
                .into());
            }
        }
    }
    Ok(())
}

/// A grade that is none of the scale makes an answer unusable, and a report without all grades has no score.
async fn unusable(dir: &Path) -> Result<(), Fault> {
    let model = ScriptedJudge::new(|text| answer(text).replace("partly", "mostly"), usize::MAX);
    let place = dir.join("unusable");
    let judge = model.judge(&place, WINDOWS[0])?;
    let (set, task, _) = known().swap_remove(1);
    let mut table = measure(&judge, &questions(&judge, &place, set, &task)?).await?;
    table.add_judge(&judge, set.published_judge());
    for (name, wanted) in [
        ("reports with a score", 0),
        ("reports without a score", 1),
        ("points with a grade", 3),
        ("answers that were unusable", crate::judge::ATTEMPTS as usize),
    ] {
        if table.count(name) != Some(wanted) {
            return Err(format!("{name}: {:?}, not {wanted}", table.count(name)).into());
        }
    }
    Ok(())
}
