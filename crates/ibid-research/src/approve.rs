//! Waits for the user to approve the plan, before anything is spent on it.
use ibid_core::Result;
use ibid_core::domain::{Approval, Brief, Plan};
use ibid_core::record::{Event, LogSource};

use super::llm_session::LlmSession;
use super::plan;
use super::run_context::RunContext;

/// How often a plan is revised at the user's request. After that they can only edit it.
const MAX_PLAN_CHANGES: usize = 3;

/// The brief and plan that the user approved.
pub(crate) async fn approve_plan(
    llm: &mut LlmSession<'_>,
    ctx: RunContext<'_>,
    mut plan: Plan,
) -> Result<(Brief, Plan)> {
    let log = ctx.log;
    let mut brief = ctx.brief.clone();
    if !ctx.question.approve {
        return Ok((brief, plan));
    }
    let first = (brief.clone(), plan.clone());
    let mut wishes: Vec<String> = Vec::new();
    for attempt in 1.. {
        log.emit(Event::PlanWaiting { attempt });
        log.flush().await?;
        match ctx.providers.steering.approve(attempt).await? {
            Approval::Approve => break,
            Approval::ReplacePlan(given) => {
                if given.brief != brief {
                    brief = given.brief;
                    log.emit(Event::BriefReady { brief: brief.clone() });
                }
                if given.plan != plan {
                    plan = given.plan;
                    log.emit(Event::PlanProposed { plan: plan.clone() });
                }
                break;
            }
            Approval::RequestChanges(words) => {
                log.emit(Event::PlanChanged { words: words.clone() });
                wishes.push(words);
                match revise_or_explain(llm, ctx, &plan, &wishes).await? {
                    Ok(revised) => {
                        plan = revised;
                        log.emit(Event::PlanProposed { plan: plan.clone() });
                    }
                    Err(why) => log.emit(Event::Log {
                        level: "warn".to_owned(),
                        message: format!("the plan is unchanged: {why}; edit it instead"),
                        source: Some(LogSource::Program),
                    }),
                }
            }
        }
    }
    let changed = (&brief, &plan) != (&first.0, &first.1);
    log.emit(Event::PlanApproved { by: "person".to_owned(), changed });
    log.flush().await?;
    Ok((brief, plan))
}

/// The plan, revised by all `wishes`, or why it was not revised.
async fn revise_or_explain(
    llm: &mut LlmSession<'_>,
    ctx: RunContext<'_>,
    plan: &Plan,
    wishes: &[String],
) -> Result<std::result::Result<Plan, String>> {
    if wishes.len() > MAX_PLAN_CHANGES {
        return Ok(Err(format!("it was revised {MAX_PLAN_CHANGES} times already")));
    }
    let revised = plan::revise_plan(llm, ctx.question, ctx.brief, plan, wishes).await?;
    Ok(revised.ok_or_else(|| "no model could revise it".to_owned()))
}
