//! FACT, the protocol of DeepResearch Bench for citations: a judge says of every statement of a report whether the page that it cites bears it
//! out. The same verdicts give the citation precision and claim coverage of DeepScholar-Bench and the match rate of ReportBench; the works
//! cited are compared with ReportBench's bibliographies without a judge.
//!
//! `evals fact REPORTS --judge PROVIDER:MODEL --pages PATH [--set drb|reportbench] [--limit N] [--tasks FILE]`.
mod citations;
mod pages;
mod small;
mod works;

use ibid_core::ports::Prompt;

use crate::judge::Judge;
use crate::judged::args::ProtocolArgs;
use crate::judged::figures::FigureTable;
use crate::judged::interval::{mean, ratio};
use crate::judged::reports::{JudgedReport, MatchedReports, ReportSet};
use crate::judged::tasks::read_tasks;
use crate::{Fault, Measured, Outcome, sets};
use citations::{
    CitationVerdict, ReportCitations, ReportVerdicts, StatementQuestion, page_questions,
    read_verdicts, report_citations,
};
use pages::PageTexts;
use works::work_figures;

pub(crate) use small::small;

/// The judge of the published figures of DeepResearch Bench.
const PUBLISHED_JUDGE: &str = "gemini-2.5-flash";

/// Judges the citations of the reports that the arguments name.
pub(crate) fn run(args: &[String]) -> Outcome {
    let args = ProtocolArgs::parse(args, "drb")?;
    let own = match args.set.as_str() {
        "drb" => sets::shared("drb").join("dev/tasks_with_criteria.jsonl"),
        "reportbench" => sets::shared("reportbench").join("dev/tasks.jsonl.gz"),
        set => return Err(format!("--set {set}: fact has the sets drb and reportbench").into()),
    };
    let tasks = read_tasks(&args.tasks.clone().unwrap_or(own))?;
    let matched = ReportSet::read(&args.reports)?.matched(&tasks, args.limit);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Some(path) = &args.pages else {
        if args.set != "reportbench" {
            return Err(
                "--pages is missing: the store, file or folder with the texts of the cited pages"
                    .into(),
            );
        }
        let mut table = FigureTable { counts: matched.counts.clone(), ..FigureTable::default() };
        table.title = "works cited, without --pages and a judge".to_owned();
        add_works(&mut table, &matched.reports);
        table.differs.push(WORKS_DIFFER.to_owned());
        table.print(args.json);
        return Ok(Measured::new(matched.reports.len(), "reports"));
    };
    let texts = runtime.block_on(PageTexts::read(path))?;
    let judge = args.open_judge()?;
    let asked = ask_about(&judge, matched, &texts)?;
    let cost = judge.cost(&asked.prompts());
    eprintln!("{}", cost.text(judge.name(), crate::judge::ATTEMPTS));
    cost.consent(args.yes)?;
    let mut table = runtime.block_on(measure(&judge, &asked, &texts))?;
    table.title = format!("FACT, judge {}, pages {}", judge.name(), path.display());
    if args.set == "reportbench" {
        add_works(&mut table, &asked.reports);
        table.differs.push(WORKS_DIFFER.to_owned());
    }
    table.differs.push(
        "the words of the prompt are ours; statements are found and compared by rules; pages are as they were when read, not fetched anew; \
         only half of the tasks are there"
            .to_owned(),
    );
    table.add_judge(&judge, PUBLISHED_JUDGE);
    table.print(args.json);
    Ok(Measured::new(
        table.count("statements with a verdict").unwrap_or(0),
        "statements with a verdict",
    ))
}

/// How the comparison of works departs from ReportBench.
const WORKS_DIFFER: &str = "works are known by the titles in the list of sources, and every source counts as a work; ReportBench fetches each and asks a model";

/// Reports with the questions about them.
pub(crate) struct FactQuestions {
    reports: Vec<JudgedReport>,
    citations: Vec<ReportCitations>,
    /// Each with the index of its report.
    questions: Vec<(usize, StatementQuestion)>,
    counts: Vec<(String, usize)>,
}

impl FactQuestions {
    fn prompts(&self) -> Vec<Prompt> {
        self.questions.iter().map(|it| it.1.prompt.clone()).collect()
    }
}

fn ask_about(
    judge: &Judge,
    matched: MatchedReports,
    texts: &PageTexts,
) -> Result<FactQuestions, Fault> {
    let MatchedReports { reports, counts } = matched;
    let (mut citations, mut questions) = (Vec::new(), Vec::new());
    for (at, report) in reports.iter().enumerate() {
        let found = report_citations(&report.article, texts);
        for page in &found.pages {
            let text = texts.by_key(&page.page).unwrap_or_default();
            let of_page = page_questions(judge, page, text)
                .map_err(|why| format!("task {}: {why}", report.task.id()))?;
            questions.extend(of_page.into_iter().map(|question| (at, question)));
        }
        citations.push(found);
    }
    Ok(FactQuestions { reports, citations, questions, counts })
}

/// Asks the judge and computes the figures.
pub(crate) async fn measure(
    judge: &Judge,
    asked: &FactQuestions,
    texts: &PageTexts,
) -> Result<FigureTable, Fault> {
    let answers = judge
        .ask(&asked.prompts(), |nth, answer| {
            read_verdicts(answer, asked.questions[nth].1.statements.len())
        })
        .await?;
    let mut verdicts: Vec<ReportVerdicts> = Vec::new();
    verdicts.resize_with(asked.reports.len(), ReportVerdicts::default);
    let mut unjudged = 0;
    for ((at, question), answer) in asked.questions.iter().zip(&answers) {
        match answer {
            Some(answer) => verdicts[*at].add(question, answer),
            None => unjudged += question.statements.len(),
        }
    }
    let mut table = FigureTable { counts: asked.counts.clone(), ..FigureTable::default() };
    add_citations(&mut table, asked, &verdicts);
    let sentences: Vec<_> = verdicts
        .iter()
        .zip(&asked.citations)
        .filter_map(|(verdicts, of)| verdicts.sentences(&of.cited, texts))
        .collect();
    for (name, values) in [
        (
            "citation precision of sentences",
            sentences.iter().map(|it| it.precision).collect::<Vec<_>>(),
        ),
        ("claim coverage", sentences.iter().map(|it| it.coverage).collect()),
    ] {
        let values: Vec<f64> = values.into_iter().map(|value| 100.0 * value).collect();
        table.add(name, values.len(), mean(&values));
    }
    let sum = |verdict| verdicts.iter().map(|it| it.count(verdict)).sum::<usize>();
    let (supported, unsupported) =
        (sum(CitationVerdict::Supported), sum(CitationVerdict::Unsupported));
    let without_page = asked.citations.iter().map(|it| it.without_page).sum();
    table.counts.extend([
        ("statements with a verdict".to_owned(), supported + unsupported),
        ("statements on pages without content".to_owned(), sum(CitationVerdict::Unknown)),
        ("statements on pages whose text is not there".to_owned(), without_page),
        ("statements without a usable answer".to_owned(), unjudged),
    ]);
    let cut = asked.questions.iter().filter(|it| it.1.is_cut).count();
    if cut > 0 {
        table.differs.push(format!(
            "in {cut} of {} questions the page was shortened to fit a window of {} tokens",
            asked.questions.len(),
            judge.window
        ));
    }
    Ok(table)
}

/// Accuracy and effective citations. As in the published program, reports without citations are left out of the means.
fn add_citations(table: &mut FigureTable, asked: &FactQuestions, verdicts: &[ReportVerdicts]) {
    let citing = verdicts.iter().zip(&asked.citations).filter(|it| !it.1.cited.claims.is_empty());
    let counted: Vec<(f64, f64)> = citing
        .map(|(of, _)| {
            let supported = of.count(CitationVerdict::Supported) as f64;
            (supported, supported + of.count(CitationVerdict::Unsupported) as f64)
        })
        .collect();
    let percent = |it: &(f64, f64)| (100.0 * it.0, it.1);
    let accuracies: Vec<f64> =
        counted.iter().filter(|it| it.1 > 0.0).map(|it| 100.0 * it.0 / it.1).collect();
    let per_task = |of: fn(&(f64, f64)) -> f64| mean(&counted.iter().map(of).collect::<Vec<_>>());
    let tasks = counted.len();
    table.add(
        "citation accuracy, all statements",
        tasks,
        ratio(&counted.iter().map(percent).collect::<Vec<_>>()),
    );
    table.add("citation accuracy, mean of tasks", accuracies.len(), mean(&accuracies));
    table.add("effective citations of a task", tasks, per_task(|it| it.0));
    table.add("citations of a task", tasks, per_task(|it| it.1));
    table.counts.push(("reports without citations".to_owned(), verdicts.len() - tasks));
}

/// Precision and recall of the works cited.
fn add_works(table: &mut FigureTable, reports: &[JudgedReport]) {
    let figures: Vec<_> = reports
        .iter()
        .filter_map(|report| {
            let cited = ibid_research::audit::parse_citations(&report.article);
            work_figures(&cited, &report.task.row["gold_references"])
        })
        .collect();
    let mut add = |name: &str, values: Vec<f64>| table.add(name, values.len(), mean(&values));
    add("precision of works cited", figures.iter().map(|it| 100.0 * it.precision).collect());
    add("recall of works cited", figures.iter().map(|it| 100.0 * it.recall).collect());
    add("works cited", figures.iter().map(|it| it.cited as f64).collect());
}
