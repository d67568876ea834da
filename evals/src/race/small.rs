//! Three generated tasks and a scripted judge: known scores, a run that is killed and goes on, answers that cannot be used.
use std::path::Path;

use serde_json::{Value, json};

use super::{RacePairs, measure, pairs, planned};
use crate::judge::scripted::ScriptedJudge;
use crate::judged::figures::FigureTable;
use crate::judged::reports::ReportSet;
use crate::judged::tasks::BenchmarkTask;
use crate::{Fault, Measured, Outcome, generated};

/// A window in which the generated reports fit, and one in which they do not.
const WINDOWS: [u64; 2] = [60_000, 6_000];

/// Fails where a score, a resumed run or a count is wrong.
pub(crate) fn small(_: &[String]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for window in WINDOWS {
        let dir = tempfile::tempdir()?;
        runtime.block_on(known_scores(dir.path(), window))?;
    }
    let dir = tempfile::tempdir()?;
    runtime.block_on(killed_and_resumed(dir.path()))?;
    let dir = tempfile::tempdir()?;
    runtime.block_on(unusable(dir.path()))?;
    Ok(Measured::new(9, "reports with a score"))
}

/// The first two tasks have criteria; those of the third are written by the judge.
fn generate(dir: &Path) -> Result<RacePairs, Fault> {
    let criteria = |weight: f64| {
        json!([{"criterion": "Covers cork", "explanation": "It says what cork is.", "weight": weight},
            {"criterion": "Covers moss", "explanation": "It says what moss is.", "weight": 1.0 - weight}])
    };
    let row = |id: u32, language: &str| {
        json!({"id": id, "prompt": format!("What is material {id}?"), "language": language,
            "dimension_weight": {"comprehensiveness": 0.4, "insight": 0.3,
                "instruction_following": 0.2, "readability": 0.1},
            "criterions": {"comprehensiveness": criteria(0.75), "insight": criteria(0.5),
                "instruction_following": criteria(0.5), "readability": criteria(0.5)}})
    };
    let bare = json!({"id": 3, "prompt": "What is material 3?", "language": "en"});
    let tasks: Vec<BenchmarkTask> = [row(1, "en"), row(2, "zh"), bare]
        .into_iter()
        .map(BenchmarkTask::of)
        .collect::<Result<_, _>>()?;
    let article = |word: &str| {
        let section =
            |nth: usize| format!("## Part {nth}\n\n{}\n\n", format!("{word} [1]. ").repeat(60));
        (0..12).map(section).collect::<String>()
    };
    let rows = |word: &str| -> Vec<Value> {
        (1..=3).map(|id| json!({"id": id, "article": article(word)})).collect()
    };
    generated::write(&dir.join("target.jsonl"), &rows("Cork floats"))?;
    generated::write(&dir.join("reference.jsonl"), &rows("Moss grows"))?;
    let matched = ReportSet::read(&dir.join("target.jsonl"))?.matched(&tasks, None);
    pairs(matched, &ReportSet::read(&dir.join("reference.jsonl"))?)
}

/// 8 and 2 on the first criterion of each dimension, 6 and 4 on the second; every report is worth 72.5 in the first dimension, which has
/// weights 3 to 1, and 70 in the others.
fn answer(text: &str) -> String {
    if text.contains("Decide how much each dimension counts") {
        let of = |name: &str, weight: f64| json!({"dimension": name, "weight": weight});
        return json!({"weights": [of("comprehensiveness", 0.4), of("insight", 0.3),
            of("instruction_following", 0.2), of("readability", 0.1)]})
        .to_string();
    }
    if text.contains("Write five to eight criteria") {
        let first = if text.contains("one of them: comprehensiveness") { 3 } else { 1 };
        return json!({"criteria": [{"criterion": "Covers cork", "explanation": "", "weight": first},
            {"criterion": "Covers moss", "explanation": "", "weight": 1}]})
        .to_string();
    }
    let lines = text.lines().filter(|line| line.contains(". Covers "));
    let rows: Vec<Value> = lines
        .enumerate()
        .map(|(at, line)| {
            let (one, two) = if line.contains("cork") { (8, 2) } else { (6, 4) };
            json!({"criterion": at + 1, "comparison": "", "report_1": one, "report_2": two})
        })
        .collect();
    json!({"scores": rows}).to_string()
}

fn expect(table: &FigureTable, name: &str, wanted: f64) -> Result<(), Fault> {
    match table.figure(name) {
        Some(found) if (found - wanted).abs() < 1e-9 => Ok(()),
        found => Err(format!("`{name}` is {found:?} and should be {wanted}").into()),
    }
}

/// In a small window every dimension is asked about alone and reports are shortened; the scores are the same.
async fn known_scores(dir: &Path, window: u64) -> Result<(), Fault> {
    let pairs = generate(dir)?;
    let model = ScriptedJudge::new(answer, usize::MAX);
    let judge = model.judge(dir, window)?;
    let calls = planned(&judge, &pairs)?.len();
    let table = measure(&judge, &pairs).await?;
    expect(&table, "comprehensiveness", 75.0)?;
    expect(&table, "insight", 70.0)?;
    // 7.5 and 2.5 count 0.4, 7 and 3 count 0.6.
    expect(&table, "overall", 72.0)?;
    expect(&table, "overall, zh", 72.0)?;
    let is_small = window == WINDOWS[1];
    if table.differs.iter().any(|why| why.contains("shortened")) != is_small {
        return Err(format!("with a window of {window}: {:?}", table.differs).into());
    }
    if !is_small && model.answered() != calls {
        return Err(format!("{calls} calls were announced and {} made", model.answered()).into());
    }
    Ok(())
}

/// A run that is killed after every number of calls goes on to the same figures, and no call is made twice.
async fn killed_and_resumed(dir: &Path) -> Result<(), Fault> {
    let pairs = generate(dir)?;
    let model = ScriptedJudge::new(answer, usize::MAX);
    let whole = measure(&model.judge(&dir.join("whole"), WINDOWS[0])?, &pairs).await?;
    for most in 0..model.answered() {
        let place = dir.join(most.to_string());
        let first = ScriptedJudge::new(answer, most);
        let judge = first.judge(&place, WINDOWS[0])?;
        tokio::select! {
            _ = measure(&judge, &pairs) => return Err("a run went on without its judge".into()),
            () = first.silence() => {}
        }
        drop(judge);
        // A kill in the middle of a write leaves a part of a line.
        let file = place.join("judge.jsonl");
        let bytes = std::fs::read(&file)?;
        std::fs::write(&file, [bytes.as_slice(), b"{\"key\": \"torn"].concat())?;
        let second = ScriptedJudge::new(answer, usize::MAX);
        let table = measure(&second.judge(&place, WINDOWS[0])?, &pairs).await?;
        if first.answered() + second.answered() != model.answered() {
            return Err(
                format!("killed after {most} calls, {} were made anew", second.answered()).into()
            );
        }
        if table.json()["figures"] != whole.json()["figures"] {
            return Err(format!("killed after {most} calls, the figures differ").into());
        }
    }
    Ok(())
}

/// A judge that answers one task with nonsense: that task has no score, the answers are counted, the others keep their scores.
async fn unusable(dir: &Path) -> Result<(), Fault> {
    let pairs = generate(dir)?;
    let model = ScriptedJudge::new(
        |text| match text.contains("material 2?") {
            true => "I would rather not say.".to_owned(),
            false => answer(text),
        },
        usize::MAX,
    );
    let judge = model.judge(dir, WINDOWS[0])?;
    let mut table = measure(&judge, &pairs).await?;
    table.add_judge(&judge, super::PUBLISHED_JUDGE);
    expect(&table, "overall", 72.0)?;
    for (name, wanted) in [
        ("reports with a score", 2),
        ("reports without a score", 1),
        ("answers that were unusable", crate::judge::ATTEMPTS as usize),
        ("questions without a usable answer", 1),
    ] {
        if table.count(name) != Some(wanted) {
            return Err(format!("{name}: {:?}, not {wanted}", table.count(name)).into());
        }
    }
    match table.differs.first() {
        Some(why) if why.contains("the judge is scripted") => Ok(()),
        other => Err(format!("another judge is not said to be another: {other:?}").into()),
    }
}
