//! Generated reports, pages and verdicts: known figures, a killed run, unusable answers, a page that is not there.
use std::path::Path;

use serde_json::{Value, json};

use super::{FactQuestions, add_works, ask_about, measure};
use crate::fact::pages::PageTexts;
use crate::judge::scripted::ScriptedJudge;
use crate::judged::figures::FigureTable;
use crate::judged::reports::ReportSet;
use crate::judged::tasks::BenchmarkTask;
use crate::{Fault, Measured, Outcome, generated};

/// A window in which the pages fit, and one in which they do not.
const WINDOWS: [u64; 2] = [30_000, 1_900];

/// Fails where a figure, a resumed run or a count is wrong.
pub(crate) fn small(_: &[String]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = tempfile::tempdir()?;
    let (reports, texts) = runtime.block_on(generate(dir.path()))?;
    for window in WINDOWS {
        let place = dir.path().join(window.to_string());
        runtime.block_on(known_figures(&place, window, &reports, &texts))?;
    }
    runtime.block_on(killed_and_resumed(dir.path(), &reports, &texts))?;
    runtime.block_on(unusable(dir.path(), &reports, &texts))?;
    Ok(Measured::new(6, "statements with a verdict"))
}

/// Two reports: one with four citations, of which one page is not there and one statement stands twice, and one without citations.
async fn generate(dir: &Path) -> Result<(Vec<Value>, PageTexts), Fault> {
    let page = |name: &str, said: &str| {
        let lines = format!("This line about {name} is here to make the page long.\n").repeat(60);
        json!({"url": format!("https://pages.example/{name}"), "text": format!("{lines}{said}\n{lines}")})
    };
    let rows = [
        page("cork", "Cork floats on water because its cells hold air."),
        page("moss", "Moss grows on the northern side of trees in wet woods."),
    ];
    generated::write(&dir.join("pages/pages.jsonl"), &rows)?;
    let article = "# Cork\n\nCork floats on water because its cells hold a lot of air [1].\n\n\
                   Cork floats on water because its cells hold a lot of air [1].\n\n\
                   Moss grows on the northern side of trees in woods that are wet [2][1]. \
                   Cork was first sold in the town of Halvern in the year 1830 [3].\n\n\
                   This sentence is long enough to count and cites no source at all.\n\n\
                   ## Sources\n\n1. A study of cork, https://pages.example/cork\n\
                   2. A long survey of wild moss, https://pages.example/moss\n\
                   3. Lost, https://pages.example/lost\n";
    let reports = vec![
        json!({"id": 1, "article": article}),
        json!({"id": 2, "article": "# Moss\n\nMoss is green in every season of the year, even in winter."}),
    ];
    Ok((reports, PageTexts::read(&dir.join("pages")).await?))
}

fn questions(
    judge: &crate::judge::Judge,
    dir: &Path,
    reports: &[Value],
    texts: &PageTexts,
) -> Result<FactQuestions, Fault> {
    let file = dir.join("reports.jsonl");
    generated::write(&file, reports)?;
    let gold = json!([{"title": "A long survey of wild moss"}, {"title": "Another"}]);
    let task =
        |id: u32| BenchmarkTask::of(json!({"id": id, "prompt": "What?", "gold_references": gold}));
    let tasks: Vec<BenchmarkTask> = (1..=2).map(task).collect::<Result<_, _>>()?;
    ask_about(judge, ReportSet::read(&file)?.matched(&tasks, None), texts)
}

/// A statement is supported where its first word is on the page outside of the lines that fill it.
fn answer(text: &str) -> String {
    let page = text.split("<statements>").next().unwrap_or_default();
    let statements = text.split("<statements>").nth(1).unwrap_or_default();
    let numbered = statements.lines().filter_map(|line| line.split_once(". "));
    let rows: Vec<Value> = numbered
        .filter_map(|(nth, statement)| {
            let nth: u32 = nth.trim().parse().ok()?;
            let word = statement.split(' ').next()?;
            let is_there =
                page.contains(&format!("{word} floats")) || page.contains(&format!("{word} grows"));
            let result = if is_there { "supported" } else { "unsupported" };
            Some(json!({"statement": nth, "result": result}))
        })
        .collect();
    json!({"results": rows}).to_string()
}

fn expect(table: &FigureTable, name: &str, wanted: f64) -> Result<(), Fault> {
    match table.figure(name) {
        Some(found) if (found - wanted).abs() < 1e-9 => Ok(()),
        found => Err(format!("`{name}` is {found:?} and should be {wanted}").into()),
    }
}

fn expect_counts(table: &FigureTable, wanted: &[(&str, usize)]) -> Result<(), Fault> {
    for (name, wanted) in wanted {
        if table.count(name) != Some(*wanted) {
            return Err(format!("{name}: {:?}, not {wanted}", table.count(name)).into());
        }
    }
    Ok(())
}

/// Two of three statements are supported; the one on moss is not by the page on cork.
async fn known_figures(
    dir: &Path,
    window: u64,
    reports: &[Value],
    texts: &PageTexts,
) -> Result<(), Fault> {
    let model = ScriptedJudge::new(answer, usize::MAX);
    let judge = model.judge(dir, window)?;
    let asked = questions(&judge, dir, reports, texts)?;
    let mut table = measure(&judge, &asked, texts).await?;
    add_works(&mut table, &asked.reports);
    expect(&table, "citation accuracy, all statements", 200.0 / 3.0)?;
    expect(&table, "effective citations of a task", 2.0)?;
    // The report: 1, 1, a half, and 0 without a citation. The other report has one sentence, without a citation.
    expect(&table, "citation precision of sentences", 100.0 * (2.5 / 4.0) / 2.0)?;
    expect(&table, "claim coverage", 100.0 * (3.0 / 4.0) / 2.0)?;
    // One of three sources is in the bibliography of two; the other report cites nothing.
    expect(&table, "precision of works cited", 100.0 / 6.0)?;
    expect(&table, "recall of works cited", 25.0)?;
    expect_counts(
        &table,
        &[
            ("reports without citations", 1),
            ("statements with a verdict", 3),
            ("statements on pages whose text is not there", 1),
        ],
    )?;
    match table.differs.iter().any(|why| why.contains("shortened")) == (window == WINDOWS[1]) {
        true => Ok(()),
        false => Err(format!("with a window of {window}: {:?}", table.differs).into()),
    }
}

/// Killed after each number of calls, the run goes on to the same figures, and no call is made twice.
async fn killed_and_resumed(dir: &Path, reports: &[Value], texts: &PageTexts) -> Result<(), Fault> {
    let model = ScriptedJudge::new(answer, usize::MAX);
    let judge = model.judge(&dir.join("whole"), WINDOWS[0])?;
    let asked = questions(&judge, dir, reports, texts)?;
    let whole = measure(&judge, &asked, texts).await?;
    for most in 0..model.answered() {
        let place = dir.join(format!("killed-{most}"));
        let first = ScriptedJudge::new(answer, most);
        let judge = first.judge(&place, WINDOWS[0])?;
        tokio::select! {
            _ = measure(&judge, &asked, texts) => return Err("a run went on without its judge".into()),
            () = first.silence() => {}
        }
        let second = ScriptedJudge::new(answer, usize::MAX);
        let table = measure(&second.judge(&place, WINDOWS[0])?, &asked, texts).await?;
        let calls = first.answered() + second.answered();
        if calls != model.answered() || table.json()["figures"] != whole.json()["figures"] {
            return Err(
                format!("killed after {most} calls: {calls} calls, or other figures").into()
            );
        }
    }
    Ok(())
}

/// An answer that leaves out a statement is asked for again and never counted as a verdict.
async fn unusable(dir: &Path, reports: &[Value], texts: &PageTexts) -> Result<(), Fault> {
    let model = ScriptedJudge::new(
        |text| match text.contains("line about moss") {
            true => json!({"results": [{"statement": 7, "result": "supported"}]}).to_string(),
            false => answer(text),
        },
        usize::MAX,
    );
    let judge = model.judge(&dir.join("unusable"), WINDOWS[0])?;
    let asked = questions(&judge, dir, reports, texts)?;
    let mut table = measure(&judge, &asked, texts).await?;
    table.add_judge(&judge, super::PUBLISHED_JUDGE);
    expect(&table, "citation accuracy, all statements", 50.0)?;
    expect_counts(
        &table,
        &[
            ("statements without a usable answer", 1),
            ("answers that were unusable", crate::judge::ATTEMPTS as usize),
            ("statements with a verdict", 2),
        ],
    )
}
