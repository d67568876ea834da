//! The method: brief, plan, then search, read and weigh until covered, then write, then check.
//!
//! Data flows down this file and never back up.
mod aid;
mod intake;
mod plan;

mod cover;
mod gather;
mod read;
mod search;
mod searches;
mod weigh;

mod check;
mod trust;
mod verify;
mod works;
mod write;

mod draft;
mod foreign;
mod gathered;

pub mod ask;
pub mod attribution;
pub mod audit;
pub mod steps;

pub(crate) mod prompts;
mod thesaurus;
mod unaided;

pub use unaided::agree;

use aid::Aid;
use gather::Gathering;
use write::Revision;

use crate::domain::{Brief, Mode, Plan, Question, Report, RunId};
use crate::error::Result;
use crate::record::{Event, Phase};
use crate::seams::{Log, World};

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
    let plan = plan::break_down(&mut aid, question, &brief).await?;
    log.emit(Event::PlanProposed { plan: plan.clone() });
    log.flush().await?;

    let mut gathering = Gathering::begin(world, log, question, &brief, plan)?;
    gathering.until_enough(&mut aid).await?;

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
    let draft = verify::verify(&mut aid, gathered, &brief, question.mode, draft).await?;
    let report = check::hold(log, run, question, &brief, draft, gathered, &aid);
    if question.mode == Mode::Answer && report.answer.is_none() {
        return Err(write::nothing(&brief, gathered)?);
    }
    log.emit(Event::ReportReady {
        report: Box::new(report.clone()),
    });
    log.flush().await?;
    Ok(report)
}

/// The refined question and the plan, without a call to the outside.
///
/// # Errors
/// `Usage` for a question without words.
pub fn plan(question: &Question) -> Result<(Brief, Plan)> {
    let brief = intake::unaided(question)?;
    let plan = plan::unaided(&brief)?;
    Ok((brief, plan))
}
