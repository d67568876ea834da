//! The person's word on the plan, before anything is spent on it (row C10).
use crate::domain::{Approval, Brief, Plan, Question};
use crate::error::Result;
use crate::record::Event;
use crate::seams::{Log, Steering};

use super::aid::Aid;
use super::plan;

/// How often a plan is made anew by the person's words; after that they can edit it.
const MOST_CHANGES: usize = 3;

/// The brief and plan that the person goes by.
pub(crate) async fn approved(
    aid: &mut Aid<'_>,
    steering: &dyn Steering,
    log: &Log,
    question: &Question,
    mut brief: Brief,
    mut plan: Plan,
) -> Result<(Brief, Plan)> {
    if !question.approve {
        return Ok((brief, plan));
    }
    let first = (brief.clone(), plan.clone());
    let mut wishes: Vec<String> = Vec::new();
    for attempt in 1.. {
        log.emit(Event::PlanWaiting { attempt });
        log.flush().await?;
        match steering.approve(attempt).await? {
            Approval::Go => break,
            Approval::Plan(given) => {
                if given.brief != brief {
                    brief = given.brief;
                    let told = brief.clone();
                    log.emit(Event::BriefReady { brief: told });
                }
                if given.plan != plan {
                    plan = given.plan;
                    log.emit(Event::PlanProposed { plan: plan.clone() });
                }
                break;
            }
            Approval::Words(words) => {
                log.emit(Event::PlanChanged {
                    words: words.clone(),
                });
                let why = match wishes.len() {
                    MOST_CHANGES => format!("it was made anew {MOST_CHANGES} times already"),
                    _ => {
                        wishes.push(words);
                        match plan::anew(aid, question, &brief, &plan, &wishes).await? {
                            Some(other) => {
                                plan = other;
                                log.emit(Event::PlanProposed { plan: plan.clone() });
                                continue;
                            }
                            None => "no model made it anew".to_owned(),
                        }
                    }
                };
                log.emit(Event::Log {
                    level: "warn".to_owned(),
                    message: format!("the plan stays as it is: {why}; edit it instead"),
                });
            }
        }
    }
    let changed = (&brief, &plan) != (&first.0, &first.1);
    log.emit(Event::PlanApproved {
        by: "person".to_owned(),
        changed,
    });
    log.flush().await?;
    Ok((brief, plan))
}
