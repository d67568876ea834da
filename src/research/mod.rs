//! The method: brief, plan, then search, read and weigh until covered, then write, then check.
//!
//! Data flows down this file and never back up.
mod aid;
mod approve;
mod intake;
mod plan;
mod query_policy;
mod topic;

mod cover;
mod gather;
mod read;
mod search;
mod searches;
mod weigh;

mod authority;
mod check;
mod excerpts;
mod learning;
mod trust;
mod verify;
mod works;
mod write;

mod draft;
mod foreign;
mod gathered;
mod substituted;

pub mod ask;
pub mod attribution;
pub mod audit;
pub mod changes;
mod errand;
pub mod judge;
mod lookup;
mod shelf;
pub mod steps;

pub(crate) mod prompts;
mod thesaurus;
mod unaided;

pub use errand::{Errand, Told, errand, read_for};
pub use lookup::{Looked, look_up};
pub(crate) use read::by_any;
pub use topic::{alike, topic};
pub use unaided::agree;

use aid::Aid;
use gather::Gathering;
use write::Revision;

use crate::domain::{Brief, Expansion, Mode, Plan, Question, Report, RunId};
use crate::error::Result;
use crate::record::{Event, Phase};
use crate::seams::{Go, Log, Models, Steering, World};

/// Calls in flight at once; the answers are used in the order of the plan, whichever comes first.
pub(crate) const AT_ONCE: usize = 16;

/// Searches and reads handed over at once; how many of them are really out, the setting `concurrency` says.
pub(crate) const READ_AT_ONCE: usize = 256;

/// Answers `question` by what the doors of `world` give, telling `log` everything from
/// `brief.ready` to `report.ready`.
///
/// # Errors
/// `Usage` for a question without words, `NotFound` when nothing that was read speaks to it (no
/// report is invented), and what every search failed with when none came back.
pub async fn research(
    world: &World,
    log: &Log,
    run: &RunId,
    question: &Question,
) -> Result<Report> {
    let mut aid = Aid::new(&world.models, log);
    log.enter(Phase::Intake, None);
    let brief = intake::refine(&mut aid, &*world.steering, log, question).await?;
    log.emit(Event::BriefReady {
        brief: brief.clone(),
    });

    log.enter(Phase::Plan, None);
    let plan = match &question.given {
        Some(given) => given.plan.clone(),
        None => plan::break_down(&mut aid, question, &brief).await?,
    };
    log.emit(Event::PlanProposed { plan: plan.clone() });
    log.flush().await?;
    let (brief, plan) =
        approve::approved(&mut aid, &*world.steering, log, question, brief, plan).await?;

    let mut gathering = Gathering::begin(world, log, question, &brief, plan)?;
    gathering.recall(&mut aid).await?;
    gathering.until_enough(&mut aid).await?;
    gathering.steered(&mut aid).await?;

    log.enter(Phase::Write, None);
    gathering.told(world.steering.go("write").await?);
    let mut draft = write::compose(&mut aid, question, &brief, &mut gathering, None).await?;
    for nth in 1..=question.method.max_refinement_iterations {
        let wanted = std::mem::take(&mut draft.more);
        if wanted.is_empty() || !gathering.for_more(&mut aid, &wanted, nth).await? {
            break;
        }
        log.enter(Phase::Write, None);
        let last = Revision { draft: &draft, nth };
        draft = write::compose(&mut aid, question, &brief, &mut gathering, Some(last)).await?;
    }
    log.flush().await?;
    let gathered = &gathering.gathered;

    log.enter(Phase::Check, None);
    let draft = match question.mode {
        // Nothing was written in a model's words.
        Mode::Evidence => draft,
        mode => verify::verify(&mut aid, gathered, &brief, mode, draft).await?,
    };
    let mut report = check::hold(log, run, question, &brief, draft, gathered, &aid);
    if question.mode == Mode::Evidence {
        report.results = excerpts::of(&brief, gathered)?;
    }
    if question.mode == Mode::Answer && report.answer.is_none() {
        return Err(write::nothing(&brief, gathered)?);
    }
    log.emit(Event::ReportReady {
        report: Box::new(report.clone()),
    });
    log.flush().await?;
    Ok(report)
}

/// The refined question and the plan by the models of `world`: what a run does before it gathers.
///
/// # Errors
/// `Usage` for a question without words.
pub async fn plan_by_model(
    models: &Models,
    log: &Log,
    question: &Question,
) -> Result<(Brief, Plan)> {
    let mut aid = Aid::new(models, log);
    let brief = intake::refine(&mut aid, &Nobody, log, question).await?;
    let plan = plan::break_down(&mut aid, question, &brief).await?;
    Ok((brief, plan))
}

/// The steering where there is no run to steer: nobody answers.
struct Nobody;

#[async_trait::async_trait]
impl Steering for Nobody {
    async fn go(&self, _: &str) -> Result<Go> {
        Ok(Go::On)
    }
}

/// The refined question and the plan, without a call to the outside.
///
/// # Errors
/// `Usage` for a question without words.
pub fn plan(question: &Question) -> Result<(Brief, Plan)> {
    if let Some(given) = &question.given {
        return Ok((given.brief.clone(), given.plan.clone()));
    }
    let brief = intake::unaided(question)?;
    let plan = plan::unaided(&brief)?;
    Ok((brief, plan))
}

/// The queries that each item of a plan is asked by (row D3): its own words, other words, a step back, a step closer.
///
/// # Errors
/// `Internal` where the words to make them with are damaged.
pub fn expanded(brief: &Brief, plan: &Plan) -> Result<Vec<Expansion>> {
    unaided::queries::expanded(brief, plan)
}

/// The plan of a brief, without a model.
///
/// # Errors
/// `Internal` where no plan comes of it.
pub fn plan_of(brief: &Brief) -> Result<Plan> {
    plan::unaided(brief)
}
