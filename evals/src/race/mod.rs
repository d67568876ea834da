//! RACE, the protocol of DeepResearch Bench for the quality of reports: a judge scores every report and a reference report side by side on
//! the criteria of its task, in four dimensions; a report's score is its share of both.
//!
//! `evals race REPORTS --judge PROVIDER:MODEL [--limit N] [--tasks FILE] [--reference REPORTS]`.
mod criteria;
mod score;
mod small;

use ibid_core::ports::Prompt;

use crate::judge::Judge;
use crate::judged::args::ProtocolArgs;
use crate::judged::figures::FigureTable;
use crate::judged::interval::mean;
use crate::judged::reports::{MatchedReports, ReportSet};
use crate::judged::shorten::without_citations;
use crate::judged::tasks::{BenchmarkTask, read_tasks};
use crate::{Fault, Measured, Outcome, sets};
use criteria::{
    DIMENSIONS, RaceDimension, criteria_prompts, given_criteria, made_criteria,
    read_criteria_answer, unwritten_criteria,
};
use score::{PairQuestions, RaceScore, ReportPair, pair_questions, race_score, read_scores};

pub(crate) use small::small;

/// The judge of the published figures.
const PUBLISHED_JUDGE: &str = "gemini-2.5-pro";
/// The reference of the published figures is not in the data. This system's reports are about as good: it reaches 49.3 to 50.6 against it.
const REFERENCE: &str = "langchain-odr-gpt-5";

/// Judges the reports that the arguments name.
pub(crate) fn run(args: &[String]) -> Outcome {
    let args = ProtocolArgs::parse(args, "drb")?;
    if args.set != "drb" {
        return Err(format!(
            "--set {}: race has the set drb alone; --tasks names others",
            args.set
        )
        .into());
    }
    let own = sets::shared("drb").join("dev");
    let tasks =
        read_tasks(&args.tasks.clone().unwrap_or_else(|| own.join("tasks_with_criteria.jsonl")))?;
    let (reference, of) = match &args.reference {
        Some(path) => (ReportSet::read(path)?, path.display().to_string()),
        None => (
            ReportSet::read(&own.join("reports").join(format!("{REFERENCE}.jsonl.gz")))?,
            REFERENCE.to_owned(),
        ),
    };
    let judge = args.open_judge()?;
    let matched = ReportSet::read(&args.reports)?.matched(&tasks, args.limit);
    let pairs = pairs(matched, &reference)?;
    let cost = judge.cost(&planned(&judge, &pairs)?);
    eprintln!("{}", cost.text(judge.name(), crate::judge::ATTEMPTS));
    cost.consent(args.yes)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut table = runtime.block_on(measure(&judge, &pairs))?;
    table.title = format!("RACE, judge {}, reference {of}", judge.name());
    table.differs.push(format!("the reference reports are those of {of}"));
    table.differs.push(
        "the words of the prompt are ours, citations are removed by rules, and only half of the tasks are there".to_owned(),
    );
    table.add_judge(&judge, PUBLISHED_JUDGE);
    table.print(args.json);
    Ok(Measured::new(table.count("reports with a score").unwrap_or(0), "reports with a score"))
}

/// The reports to judge, each with its reference, both without citations.
pub(crate) struct RacePairs {
    pairs: Vec<RacePair>,
    counts: Vec<(String, usize)>,
}

struct RacePair {
    task: BenchmarkTask,
    target: String,
    reference: String,
    /// The criteria of the set, if it has them.
    given: Option<Vec<RaceDimension>>,
}

fn pairs(matched: MatchedReports, reference: &ReportSet) -> Result<RacePairs, Fault> {
    let MatchedReports { reports, mut counts } = matched;
    let (mut pairs, mut without) = (Vec::new(), 0);
    for report in reports {
        match reference.article(&report.task) {
            None => without += 1,
            Some(other) => pairs.push(RacePair {
                given: given_criteria(&report.task)?,
                target: without_citations(&report.article),
                reference: without_citations(other),
                task: report.task,
            }),
        }
    }
    counts.push(("tasks without a reference report".to_owned(), without));
    Ok(RacePairs { pairs, counts })
}

/// Every question that may be asked, where criteria have yet to be written with some of the same length.
fn planned(judge: &Judge, pairs: &RacePairs) -> Result<Vec<Prompt>, Fault> {
    let mut prompts = Vec::new();
    for pair in &pairs.pairs {
        if pair.given.is_none() {
            prompts.extend(criteria_prompts(&pair.task));
        }
        let dimensions = pair.given.clone().unwrap_or_else(unwritten_criteria);
        let questions = pair.questions(judge, &dimensions)?;
        prompts.extend(questions.asked.into_iter().map(|asked| asked.1));
    }
    Ok(prompts)
}

impl RacePair {
    fn questions(
        &self,
        judge: &Judge,
        dimensions: &[RaceDimension],
    ) -> Result<PairQuestions, Fault> {
        let pair = ReportPair {
            task: &self.task.prompt,
            target: &self.target,
            reference: &self.reference,
        };
        pair_questions(judge, &pair, dimensions)
            .map_err(|why| format!("task {}: {why}", self.task.id()).into())
    }
}

/// Asks the judge and computes the figures.
pub(crate) async fn measure(judge: &Judge, pairs: &RacePairs) -> Result<FigureTable, Fault> {
    let mut table = FigureTable { counts: pairs.counts.clone(), ..FigureTable::default() };
    let mut known = Vec::new();
    for pair in &pairs.pairs {
        known.push(match &pair.given {
            Some(given) => Some(given.clone()),
            None => made_criteria(
                &judge.ask(&criteria_prompts(&pair.task), read_criteria_answer).await?,
            ),
        });
    }
    let mut asked: Vec<(usize, Vec<usize>, Prompt)> = Vec::new();
    let (mut cut, mut split) = (0, 0);
    for (at, (pair, dimensions)) in pairs.pairs.iter().zip(&known).enumerate() {
        let Some(dimensions) = dimensions else { continue };
        let questions = pair.questions(judge, dimensions)?;
        cut += usize::from(questions.is_cut);
        split += usize::from(questions.asked.len() > 1);
        asked.extend(questions.asked.into_iter().map(|(of, prompt)| (at, of, prompt)));
    }
    let prompts: Vec<Prompt> = asked.iter().map(|it| it.2.clone()).collect();
    let answers = judge
        .ask(&prompts, |nth, answer| {
            let (at, of, _) = &asked[nth];
            read_scores(answer, known[*at].as_deref().unwrap_or_default(), of)
        })
        .await?;
    let (mut scored, mut left_out) = (Vec::new(), 0);
    for (at, (pair, dimensions)) in pairs.pairs.iter().zip(&known).enumerate() {
        let of_pair = asked.iter().zip(&answers).filter(|(asked, _)| asked.0 == at);
        let scores: Vec<_> = of_pair.filter_map(|it| it.1.clone()).flatten().collect();
        left_out += scores.iter().map(|score| score.left_out).sum::<usize>();
        if let Some(score) = dimensions.as_deref().and_then(|of| race_score(&scores, of)) {
            scored.push((pair.task.language.clone(), score));
        }
    }
    add_figures(&mut table, &scored);
    table.counts.extend([
        ("reports with a score".to_owned(), scored.len()),
        ("reports without a score".to_owned(), pairs.pairs.len() - scored.len()),
        ("criteria that answers leave out".to_owned(), left_out),
    ]);
    if cut + split > 0 {
        table.differs.push(format!(
            "{split} of {} pairs were judged one dimension at a time and {cut} shortened to fit a window of {} tokens",
            pairs.pairs.len(),
            judge.window
        ));
    }
    Ok(table)
}

/// The means overall, of each dimension and of each language.
fn add_figures(table: &mut FigureTable, scored: &[(String, RaceScore)]) {
    let mut add = |name: &str, values: Vec<f64>| table.add(name, values.len(), mean(&values));
    add("overall", scored.iter().map(|it| it.1.overall).collect());
    for (at, (name, _)) in DIMENSIONS.iter().enumerate() {
        add(name, scored.iter().map(|it| it.1.dimensions[at]).collect());
    }
    let mut languages: Vec<&String> = scored.iter().map(|it| &it.0).collect();
    languages.sort();
    languages.dedup();
    for language in languages {
        let of = scored.iter().filter(|it| it.0 == *language);
        add(&format!("overall, {language}"), of.map(|it| it.1.overall).collect());
    }
}
