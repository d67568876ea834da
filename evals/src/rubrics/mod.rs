//! Rubrics: a judge checks every report against the points of its task and shows for each where the report says so. Evidence that is not in
//! the report makes a point 0 and is counted.
//!
//! `evals rubrics REPORTS --judge PROVIDER:MODEL --set drb2|researchrubrics|scholarqa|deepscholar [--limit N] [--tasks FILE]`.
mod grades;
mod sets;
mod small;

use ibid_core::ports::Prompt;

use crate::judge::Judge;
use crate::judged::args::ProtocolArgs;
use crate::judged::figures::FigureTable;
use crate::judged::interval::mean;
use crate::judged::reports::{JudgedReport, MatchedReports, ReportSet};
use crate::{Fault, Measured, Outcome};
use grades::{ArticleWords, PointQuestion, point_questions, read_grades};
use sets::{PointGrade, RubricSet, TaskRubric};

pub(crate) use small::small;

/// Judges the reports that the arguments name.
pub(crate) fn run(args: &[String]) -> Outcome {
    let args = ProtocolArgs::parse(args, "drb2")?;
    let set = RubricSet::by_name(&args.set)?;
    let tasks = set.tasks(&args)?;
    let matched = ReportSet::read(&args.reports)?.matched(&tasks, args.limit);
    let judge = args.open_judge()?;
    let asked = ask_about(&judge, set, matched)?;
    let cost = judge.cost(&asked.prompts());
    eprintln!("{}", cost.text(judge.name(), crate::judge::ATTEMPTS));
    cost.consent(args.yes)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut table = runtime.block_on(measure(&judge, &asked))?;
    table.title = format!("rubrics of {}, judge {}", args.set, judge.name());
    table.differs.push(format!("the words of the prompt are ours; {}", set.departure()));
    table.add_judge(&judge, set.published_judge());
    table.print(args.json);
    Ok(Measured::new(table.count("reports with a score").unwrap_or(0), "reports with a score"))
}

/// Reports with the questions about them.
pub(crate) struct RubricQuestions {
    set: RubricSet,
    reports: Vec<(JudgedReport, TaskRubric)>,
    /// Each with the index of its report.
    questions: Vec<(usize, PointQuestion)>,
    counts: Vec<(String, usize)>,
}

impl RubricQuestions {
    fn prompts(&self) -> Vec<Prompt> {
        self.questions.iter().map(|it| it.1.prompt.clone()).collect()
    }
}

fn ask_about(
    judge: &Judge,
    set: RubricSet,
    matched: MatchedReports,
) -> Result<RubricQuestions, Fault> {
    let (mut reports, mut questions) = (Vec::new(), Vec::new());
    for (at, report) in matched.reports.into_iter().enumerate() {
        let rubric = set.rubric(&report.task)?;
        let asked = point_questions(judge, &report.task.prompt, &report.article, &rubric)
            .map_err(|why| format!("task {}: {why}", report.task.id()))?;
        questions.extend(asked.into_iter().map(|question| (at, question)));
        reports.push((report, rubric));
    }
    Ok(RubricQuestions { set, reports, questions, counts: matched.counts })
}

/// Asks the judge and computes the figures. A report with a point that has no usable answer has no score.
pub(crate) async fn measure(judge: &Judge, asked: &RubricQuestions) -> Result<FigureTable, Fault> {
    let words: Vec<ArticleWords> =
        asked.reports.iter().map(|it| ArticleWords::of(&it.0.article)).collect();
    let answers = judge
        .ask(&asked.prompts(), |nth, answer| {
            let (at, question) = &asked.questions[nth];
            let points = &asked.reports[*at].1.points[question.points.clone()];
            read_grades(answer, points, &words[*at])
        })
        .await?;
    let mut grades: Vec<Vec<Option<PointGrade>>> =
        asked.reports.iter().map(|it| vec![None; it.1.points.len()]).collect();
    let (mut void, mut graded) = (0, 0);
    for ((at, question), answer) in asked.questions.iter().zip(&answers) {
        for (point, checked) in question.points.clone().zip(answer.iter().flatten()) {
            grades[*at][point] = Some(checked.grade);
            graded += 1;
            void += usize::from(checked.is_void);
        }
    }
    let mut scored: Vec<(&str, Vec<(String, f64)>)> = Vec::new();
    for ((report, rubric), grades) in asked.reports.iter().zip(&grades) {
        let Some(whole) = grades.iter().copied().collect::<Option<Vec<PointGrade>>>() else {
            continue;
        };
        // A point that depends on another does not count without it.
        let counted: Vec<PointGrade> = rubric
            .points
            .iter()
            .zip(&whole)
            .map(|(point, grade)| match point.only_with {
                Some(other) if whole[other].score <= 0.0 => PointGrade::default(),
                _ => *grade,
            })
            .collect();
        scored.push((&report.task.language, asked.set.figures(&rubric.points, &counted)));
    }
    let mut table = FigureTable { counts: asked.counts.clone(), ..FigureTable::default() };
    add_figures(&mut table, &scored);
    let cut = asked.questions.iter().filter(|it| it.1.is_cut).count();
    table.counts.extend([
        ("reports with a score".to_owned(), scored.len()),
        ("reports without a score".to_owned(), asked.reports.len() - scored.len()),
        ("points with a grade".to_owned(), graded),
        ("grades void, their evidence is not in the report".to_owned(), void),
    ]);
    if cut > 0 {
        table.differs.push(format!(
            "in {cut} of {} questions the report was shortened to fit a window of {} tokens",
            asked.questions.len(),
            judge.window
        ));
    }
    Ok(table)
}

/// The mean of every figure, and of the score in each language.
fn add_figures(table: &mut FigureTable, scored: &[(&str, Vec<(String, f64)>)]) {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in scored.iter().flat_map(|it| &it.1) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let values = |name: &str, language: Option<&str>| -> Vec<f64> {
        let of = scored.iter().filter(|it| language.is_none_or(|language| it.0 == language));
        of.flat_map(|it| it.1.iter().filter(|figure| figure.0 == name).map(|figure| figure.1))
            .collect()
    };
    for name in &names {
        let values = values(name, None);
        table.add(name, values.len(), mean(&values));
    }
    let mut languages: Vec<&str> =
        scored.iter().map(|it| it.0).filter(|it| !it.is_empty()).collect();
    languages.sort_unstable();
    languages.dedup();
    if let Some(score) = names.first() {
        for language in languages {
            let values = values(score, Some(language));
            table.add(&format!("{score}, {language}"), values.len(), mean(&values));
        }
    }
}
