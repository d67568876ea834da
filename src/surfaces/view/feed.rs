//! What happened, a line an event, for people.
use super::words::{clip, phase, since};
use crate::record::{Envelope, Event, Outcome, Phase};
use crate::surfaces::export::escape::{line, target};
use crate::surfaces::export::markdown::{counted, local};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Number of the event.
    pub seq: u64,
    /// Minutes and seconds since the run began.
    pub at: String,
    /// What kind of thing it is, as a class.
    pub class: &'static str,
    /// The same as a word.
    pub kind: &'static str,
    /// What happened.
    pub text: String,
    /// Where in the web it leads.
    pub link: Option<String>,
    /// Who did it, where there are several.
    pub agent: Option<String>,
}

/// The lines of one round, or of what comes before or after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// Its lines, latest first.
    pub lines: Vec<Told>,
}

/// Lines of events, in groups, latest first.
pub fn groups(events: &[Envelope], begun: &str) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for it in events.iter().rev() {
        let Some(told) = told(it, begun) else {
            continue;
        };
        let name = match it.wave {
            Some(n) => format!("Round {n}"),
            None => {
                let words = match it.phase {
                    Phase::Run => "start and end",
                    other => phase(other),
                };
                let mut chars = words.chars();
                chars.next().map_or_else(String::new, |it| {
                    it.to_uppercase().collect::<String>() + chars.as_str()
                })
            }
        };
        match out.last_mut() {
            Some(group) if group.name == name => group.lines.push(told),
            _ => out.push(Group {
                name,
                lines: vec![told],
            }),
        }
    }
    out
}

/// The line of an event; `None` for those that only figures tell.
pub fn told(it: &Envelope, begun: &str) -> Option<Told> {
    let (class, kind, text, link) = words(&it.event)?;
    Some(Told {
        seq: it.seq,
        at: since(begun, &it.ts),
        class,
        kind,
        text,
        link,
        agent: it.agent.as_deref().map(line),
    })
}

type Words = (&'static str, &'static str, String, Option<String>);

fn words(it: &Event) -> Option<Words> {
    let plain = |class, kind, text: String| Some((class, kind, text, None));
    match it {
        Event::RunCreated { .. } => plain("note", "start", "the question came in".to_owned()),
        Event::RunQueued { .. } => plain("note", "queue", "it waits for its turn".to_owned()),
        Event::RunStarted {} => plain("note", "start", "work began".to_owned()),
        Event::RunResumed { after, .. } => {
            plain("note", "start", format!("work goes on after event {after}"))
        }
        Event::RunFinishing { .. } => {
            plain("note", "finish", "writing with what there is".to_owned())
        }
        Event::RunCompleted { .. } => plain("good", "end", "completed".to_owned()),
        Event::RunFailed { reason, .. } => plain("bad", "failed", line(reason)),
        Event::RunCancelled {} => plain("bad", "end", "cancelled".to_owned()),
        Event::ClarifyAsked { questions } => plain(
            "note",
            "asks",
            questions
                .iter()
                .map(|it| line(it))
                .collect::<Vec<_>>()
                .join(" "),
        ),
        Event::ClarifyAnswered { answers } => plain(
            "note",
            "answer",
            format!("{} given", counted(answers.len() as u64, "answer")),
        ),
        Event::BriefReady { brief } => plain("note", "brief", clip(brief.asked(), 300)),
        Event::PlanProposed { plan } => plain(
            "note",
            "plan",
            format!(
                "{} to answer",
                counted(plan.items().len() as u64, "question")
            ),
        ),
        Event::PlanWaiting { .. } => {
            plain("note", "plan", "the plan waits for your word".to_owned())
        }
        Event::PlanChanged { words } => plain(
            "note",
            "plan",
            format!("to be changed: {}", clip(words, 300)),
        ),
        Event::PlanApproved { by, .. } => {
            plain("good", "plan", format!("gone by, as said by {}", line(by)))
        }
        Event::StrategyChosen { strategy, reason } => plain(
            "note",
            "plan",
            format!("{}: {}", strategy.word(), line(reason)),
        ),
        Event::KnownWeighed { sources, evidence } => plain(
            "read",
            "known",
            format!(
                "{} known from before, {evidence} passages of evidence in them",
                counted(sources.len() as u64, "source")
            ),
        ),
        Event::WaveStarted { items, queries } => plain(
            "note",
            "round",
            format!(
                "{} open, {queries} queries",
                counted(items.len() as u64, "question")
            ),
        ),
        Event::WaveFinished {
            new_evidence,
            new_sources,
        } => plain(
            "note",
            "round",
            format!(
                "ended: {new_evidence} new passages from {}",
                counted(u64::from(*new_sources), "new source")
            ),
        ),
        Event::SearchCompleted {
            engine,
            query,
            hits,
            new,
            outcome,
            error,
            ..
        } => {
            let class = match outcome {
                Outcome::Ok | Outcome::Empty => "ask",
                Outcome::RateLimited | Outcome::Error => "bad",
            };
            let came = match (outcome, error) {
                (Outcome::Ok, _) => format!("{}, {new} new", counted(u64::from(*hits), "hit")),
                (Outcome::Empty, _) => "nothing".to_owned(),
                (Outcome::RateLimited, _) => "it said: later".to_owned(),
                (Outcome::Error, why) => line(why.as_deref().unwrap_or("it failed")),
            };
            plain(
                class,
                "search",
                format!("{}: “{}” — {came}", line(engine), clip(query, 160)),
            )
        }
        Event::ReadCompleted {
            source, sentences, ..
        } => Some((
            "read",
            "read",
            format!(
                "{} — {}",
                clip(&source.title, 160),
                counted(u64::from(*sentences), "sentence")
            ),
            target(&source.url),
        )),
        Event::ReadFailed {
            url,
            reason,
            message,
        } => Some((
            "bad",
            "not read",
            format!(
                "{} — {}: {}",
                clip(&local(url), 120),
                reason.word().replace('_', " "),
                clip(message, 160)
            ),
            target(url),
        )),
        Event::DocumentFailed {
            path,
            reason,
            message,
            ..
        } => plain(
            "bad",
            "not read",
            format!(
                "{} — {}: {}",
                clip(path, 120),
                reason.word().replace('_', " "),
                clip(message, 160)
            ),
        ),
        Event::EvidenceAdded { evidence } => {
            let items: Vec<String> = evidence.items.iter().map(ToString::to_string).collect();
            plain(
                "found",
                "evidence",
                format!(
                    "{}: “{}”",
                    items.join(", "),
                    clip(evidence.passage.text().expose(), 240)
                ),
            )
        }
        Event::GapFound { item, gap, .. } => {
            plain("note", "gap", format!("{item}: {}", clip(gap, 200)))
        }
        Event::ConflictFound { conflict } => plain(
            "warm",
            "conflict",
            format!("sources disagree on {}", clip(&conflict.about, 200)),
        ),
        Event::LlmCompleted {
            role,
            model,
            step,
            ms,
            ..
        } => {
            let ms = ms.map_or_else(String::new, |it| {
                format!(
                    ", {}",
                    super::words::took(i64::try_from(it).unwrap_or(i64::MAX))
                )
            });
            plain(
                "model",
                "model",
                format!("{} for {} ({}){ms}", line(model), line(step), role.word()),
            )
        }
        Event::StepUnaided { step, reason, .. } => plain(
            "bad",
            "model",
            format!(
                "{} goes on without its model: {}",
                line(step),
                clip(reason, 200)
            ),
        ),
        Event::BudgetWarning { message } => plain("warm", "budget", line(message)),
        Event::ReportReady { report } => plain("good", "report", clip(&report.title, 160)),
        Event::ReportJudged { judgement } => {
            plain("note", "judged", format!("{:.2} of 1", judgement.composite))
        }
        Event::ReportRated { rating } => plain("note", "rated", rating.vote.word().to_owned()),
        Event::ReportShared { share } => plain(
            "note",
            "shared",
            format!("a link until {}", clip(&share.until, 40)),
        ),
        Event::ReportUnshared {} => plain("note", "shared", "every link taken back".to_owned()),
        Event::Log { message, .. } => plain("note", "note", line(message)),
        Event::IntakeDecided { .. }
        | Event::ItemUpdated { .. }
        | Event::SearchPrepared { .. }
        | Event::RuntimeProgress { .. }
        | Event::SearchStarted { .. }
        | Event::ReadStarted { .. }
        | Event::EvidenceRejected { .. }
        | Event::EvidenceMerged { .. }
        | Event::CoverageUpdated { .. }
        | Event::GateJudged { .. }
        | Event::BudgetUpdated { .. }
        | Event::DraftDelta { .. }
        | Event::ClaimChecked { .. } => None,
    }
}
