//! The text of a run's events: one vocabulary for the viewer, the live screen and the progress lines. A surface chooses which events it
//! shows and how; the words are from here.
use std::borrow::Cow;

use ibid_core::ReadFailure;
use ibid_core::domain::{
    CoverageRow, GateStatus, ItemId, Objection, OutlineEdit, OutlineSection, PatchOutcome,
    RuntimeProgress, TopicRelation, Vote,
};
use ibid_core::record::{Envelope, Event, SearchOutcome};

use crate::escape::{single_line, truncate, web_url};
use crate::introduction::conflict_title;
use crate::phrases::{duration, local_path, pluralize, pluralize_as};

/// Maximum length of a query or title within a line, in characters.
const MAX_NAME_CHARS: usize = 160;
/// Maximum length of quoted evidence, in characters.
const MAX_QUOTE_CHARS: usize = 240;

/// What a line is about, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTone {
    /// Anything else.
    Neutral,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// A warning.
    Warning,
    /// A search.
    Search,
    /// A page that was read.
    Read,
    /// Evidence.
    Evidence,
    /// A model call.
    Model,
}

/// The line of an event. Label and text are on one line, without control characters; HTML is not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    /// What the line is about.
    pub tone: LineTone,
    /// The label: `search`, `round 2`.
    pub label: Cow<'static, str>,
    /// The text.
    pub text: String,
    /// The web address of the page it is about.
    pub link: Option<String>,
}

impl EventLine {
    /// Every line is made here, so that no text reaches a surface unsanitised.
    fn new(tone: LineTone, label: &'static str, text: impl AsRef<str>) -> EventLine {
        let text = single_line(text.as_ref());
        EventLine { tone, label: Cow::Borrowed(label), text, link: None }
    }

    fn neutral(label: &'static str, text: impl AsRef<str>) -> EventLine {
        EventLine::new(LineTone::Neutral, label, text)
    }

    fn in_round(round: Option<u32>, text: impl AsRef<str>) -> EventLine {
        let label = round.map(|round| Cow::Owned(format!("round {round}")));
        let line = EventLine::neutral("round", text);
        EventLine { label: label.unwrap_or(line.label), ..line }
    }

    fn with_link(self, url: &str) -> EventLine {
        EventLine { link: web_url(url), ..self }
    }
}

/// The line of an event; `None` for events that only change counters.
pub fn event_line(envelope: &Envelope) -> Option<EventLine> {
    match &envelope.event {
        Event::RunCreated { .. }
        | Event::RunQueued { .. }
        | Event::RunStarted {}
        | Event::RunResumed { .. }
        | Event::RunFinishing { .. }
        | Event::RunCompleted { .. }
        | Event::RunFailed { .. }
        | Event::RunCancelled {} => run_line(&envelope.event),
        Event::IntakeDecided { .. }
        | Event::ClarifyAsked { .. }
        | Event::ClarifyAnswered { .. }
        | Event::BriefReady { .. } => question_line(&envelope.event),
        Event::PlanProposed { .. }
        | Event::StrategyChosen { .. }
        | Event::ItemUpdated { .. }
        | Event::PlanWaiting { .. }
        | Event::PlanChanged { .. }
        | Event::PlanApproved { .. } => plan_line(&envelope.event),
        Event::RoundStarted { .. }
        | Event::RoundFinished { .. }
        | Event::RuntimeProgress { .. }
        | Event::CoverageUpdated { .. }
        | Event::OutlineUpdated { .. }
        | Event::DraftCriticized { .. }
        | Event::GateJudged { .. }
        | Event::GapFound { .. } => round_line(envelope),
        Event::SearchPrepared { .. }
        | Event::PageSearched { .. }
        | Event::PageContinued { .. }
        | Event::SearchCompleted { .. }
        | Event::ReadCompleted { .. }
        | Event::ReadFailed { .. }
        | Event::DocumentFailed { .. } => source_line(&envelope.event),
        Event::KnownWeighed { .. }
        | Event::EvidenceAdded { .. }
        | Event::EvidenceRejected { .. }
        | Event::EvidenceMerged { .. }
        | Event::ConflictFound { .. } => evidence_line(&envelope.event),
        Event::LlmCompleted { .. } | Event::StepUnaided { .. } | Event::BudgetWarning { .. } => {
            model_line(&envelope.event)
        }
        Event::DraftDelta { .. }
        | Event::ReportReady { .. }
        | Event::ReportJudged { .. }
        | Event::ReportRated { .. }
        | Event::ReportShared { .. }
        | Event::ReportUnshared {} => report_line(&envelope.event),
        Event::Log { level, message, .. } => Some(log_line(level, message)),
        Event::SearchStarted { .. }
        | Event::ReadStarted { .. }
        | Event::BudgetUpdated { .. }
        | Event::ClaimChecked { .. } => None,
    }
}

/// Start and end of the run.
fn run_line(event: &Event) -> Option<EventLine> {
    let line = |text: &str| Some(EventLine::neutral("run", text));
    match event {
        Event::RunCreated { question, .. } => {
            line(&format!("question received: {}", question.text))
        }
        Event::RunQueued { .. } => line("queued"),
        Event::RunStarted {} => line("started"),
        Event::RunResumed { after, in_doubt_usd, .. } => {
            let charged = in_doubt_usd.map_or_else(String::new, |usd| {
                format!("; at most ${usd:.4} is charged for calls whose answer was lost")
            });
            line(&format!("resumed after event {after}{charged}"))
        }
        Event::RunFinishing { .. } => line("finishing with the evidence so far"),
        Event::RunCompleted { .. } => Some(EventLine::new(LineTone::Good, "run", "completed")),
        Event::RunFailed { reason, .. } => {
            Some(EventLine::new(LineTone::Bad, "run", format!("failed: {reason}")))
        }
        Event::RunCancelled {} => Some(EventLine::new(LineTone::Bad, "run", "cancelled")),
        _ => None,
    }
}

/// What the question means.
fn question_line(event: &Event) -> Option<EventLine> {
    let text = match event {
        Event::IntakeDecided { topic: TopicRelation::Shift, follows: Some(run), .. } => {
            format!("new topic; the sources of {run} are not reused")
        }
        Event::IntakeDecided { topic: TopicRelation::Same, follows: Some(run), .. } => {
            format!("same topic as {run}; its sources are reused")
        }
        Event::ClarifyAsked { questions } => {
            format!("clarification needed: {}", questions.join(" / "))
        }
        Event::ClarifyAnswered { answers } => {
            match answers.iter().filter(|answer| !answer.is_empty()).count() {
                0 => "clarification skipped".to_owned(),
                n => format!("clarified with {}", pluralize(n as u64, "answer")),
            }
        }
        Event::BriefReady { brief } => brief.effective_question().to_owned(),
        _ => return None,
    };
    Some(EventLine::neutral("question", text))
}

fn plan_line(event: &Event) -> Option<EventLine> {
    let line = |text: String| Some(EventLine::neutral("plan", text));
    match event {
        Event::PlanProposed { plan } => {
            let items: Vec<String> =
                plan.items().iter().map(|item| format!("{} {}", item.id, item.heading)).collect();
            line(format!("{}: {}", pluralize(items.len() as u64, "item"), items.join("; ")))
        }
        Event::StrategyChosen { strategy, reason } => {
            Some(EventLine::neutral("strategy", format!("{} ({reason})", strategy.as_str())))
        }
        Event::ItemUpdated { item, status } => {
            let status = serde_json::to_value(status).unwrap_or_default();
            let status = status.as_str().unwrap_or_default().replace('_', " ");
            line(format!("{item} is {status}"))
        }
        Event::PlanWaiting { .. } => line("waiting for approval".to_owned()),
        Event::PlanChanged { words } => line(format!("changes requested: {words}")),
        Event::PlanApproved { by, changed } => {
            let by = if by == "person" { "the user" } else { by.as_str() };
            let changes = if *changed { " with changes" } else { "" };
            Some(EventLine::new(LineTone::Good, "plan", format!("approved by {by}{changes}")))
        }
        _ => None,
    }
}

/// A round, and what is still missing after it.
fn round_line(envelope: &Envelope) -> Option<EventLine> {
    match &envelope.event {
        Event::RoundStarted { items, queries } => {
            let queries = pluralize_as(u64::from(*queries), "query", "queries");
            let items = pluralize(items.len() as u64, "item");
            Some(EventLine::in_round(envelope.round, format!("{queries} for {items}")))
        }
        Event::RoundFinished { new_evidence, new_sources } => {
            let text = format!(
                "{} from {}",
                pluralize(u64::from(*new_evidence), "new passage"),
                pluralize(u64::from(*new_sources), "new source")
            );
            Some(EventLine::in_round(envelope.round, text))
        }
        Event::RuntimeProgress { progress } => {
            Some(EventLine::neutral("researchers", researchers_text(progress)))
        }
        Event::CoverageUpdated { rows, .. } => {
            let satisfied = CoverageRow::counts(rows).satisfied;
            let text = format!("{satisfied} of {} covered", pluralize(rows.len() as u64, "item"));
            Some(EventLine::neutral("coverage", text))
        }
        Event::GateJudged { verdict } => Some(EventLine::neutral(
            "gate",
            match &verdict.reason {
                Some(reason) => format!("not passed: {reason}"),
                None => "passed".to_owned(),
            },
        )),
        Event::OutlineUpdated { edits, sections } => outline_line(edits, sections),
        Event::DraftCriticized { objections, .. } => Some(critique_line(objections)),
        Event::GapFound { item, gap, .. } => {
            Some(EventLine::neutral("gap", format!("{item}: {gap}")))
        }
        _ => None,
    }
}

/// How many objections critics had, and what they changed. What was left as it is stands in the event alone.
fn critique_line(objections: &[Objection]) -> EventLine {
    let changed = objections.iter().filter_map(|it| {
        let what = match &it.outcome {
            PatchOutcome::Added => "added".to_owned(),
            PatchOutcome::Removed => "removed".to_owned(),
            PatchOutcome::Moved { to: Some(to) } => format!("moved to “{to}”"),
            PatchOutcome::Moved { to: None } => "moved to the short answer".to_owned(),
            PatchOutcome::Rejected { .. } => return None,
        };
        Some(format!("{what}: “{}”", beginning(&it.sentence)))
    });
    let changed: Vec<String> = changed.collect();
    let count = pluralize(objections.len() as u64, "objection");
    let text = match (changed.len(), objections.len() - changed.len()) {
        (0, _) => format!("{count}, nothing changed"),
        (_, 0) => format!("{count}; {}", changed.join("; ")),
        (_, left) => format!("{count}, {left} without a change; {}", changed.join("; ")),
    };
    EventLine::neutral("critics", text)
}

/// The beginning of a sentence, cut at a word.
fn beginning(sentence: &str) -> String {
    const LONGEST: usize = 80;
    let Some((cut, _)) = sentence.char_indices().nth(LONGEST) else {
        return sentence.to_owned();
    };
    // Some languages have no spaces.
    let end = sentence[..cut].rfind(' ').filter(|at| *at > 0).unwrap_or(cut);
    format!("{} …", &sentence[..end])
}

/// What changed in the outline; `None` if only evidence was added.
fn outline_line(edits: &[OutlineEdit], sections: &[OutlineSection]) -> Option<EventLine> {
    let told: Vec<String> = edits.iter().filter_map(edit_text).collect();
    let answered = sections.iter().filter(|section| section.answered).count();
    let text = format!("{answered} of {} answered", pluralize(sections.len() as u64, "section"));
    (!edits.is_empty()).then(|| match told.as_slice() {
        [] => EventLine::neutral("outline", text),
        told => EventLine::neutral("outline", format!("{text}; {}", told.join("; "))),
    })
}

/// An edit of the outline; `None` for those that the count of answered sections tells.
fn edit_text(edit: &OutlineEdit) -> Option<String> {
    Some(match edit {
        OutlineEdit::Add { title } => format!("added “{title}”"),
        OutlineEdit::Split { title, into } => format!("split “{title}” into {}", into.join(", ")),
        OutlineEdit::Merge { title, into } => format!("merged “{title}” into “{into}”"),
        OutlineEdit::Drop { title } => format!("dropped “{title}”"),
        OutlineEdit::Move { title, to } => format!("moved “{title}” to place {}", to + 1),
        OutlineEdit::MarkAnswered { .. } | OutlineEdit::Reopen { .. } => return None,
    })
}

/// What a supervisor has done so far.
fn researchers_text(progress: &RuntimeProgress) -> String {
    let mut text = format!(
        "{} started, {} skipped; {} from {}",
        progress.dispatched_research_units,
        progress.skipped_research_units,
        pluralize(u64::from(progress.evidence_record_count), "passage"),
        pluralize(u64::from(progress.source_domain_count), "site")
    );
    match (progress.quality_gate_status, &progress.quality_gate_reason) {
        (GateStatus::None, _) => {}
        (GateStatus::Pass, None) => text += "; gate passed",
        (GateStatus::Pass, Some(reason)) => text += &format!("; gate passed, but {reason}"),
        (GateStatus::Retry, None) => text += "; gate not passed",
        (GateStatus::Retry, Some(reason)) => text += &format!("; gate not passed: {reason}"),
    }
    for unit in &progress.research_units {
        if let Some(failure) = &unit.failure {
            text += &format!("; {} failed: {}", unit.id, researcher_failure(failure));
        }
    }
    text
}

/// Why a researcher failed, in plain words.
pub fn researcher_failure(failure: &str) -> Cow<'_, str> {
    let steps =
        failure.strip_prefix("recursion limit of ").and_then(|rest| rest.strip_suffix(" reached"));
    match steps {
        Some(steps) => Cow::Owned(format!("hit tool call limit ({steps} steps)")),
        None => Cow::Borrowed(failure),
    }
}

/// Searches and reads.
fn source_line(event: &Event) -> Option<EventLine> {
    match event {
        Event::SearchPrepared { found, shown, .. } => Some(EventLine::neutral(
            "search",
            format!("{shown} of {} passed to the researcher", pluralize((*found).into(), "hit")),
        )),
        Event::PageSearched { source, words, found, shown } => {
            let result = pluralize((*found).into(), "sentence");
            let text = match words.as_str() {
                "" => format!("searched {source}: {result}, {shown} passed to the researcher"),
                words => {
                    let words = truncate(words, MAX_NAME_CHARS);
                    format!("“{words}” in {source}: {result}, {shown} passed to the researcher")
                }
            };
            Some(EventLine::new(LineTone::Read, "find", text))
        }
        Event::PageContinued { source, from, to, total } => Some(EventLine::new(
            LineTone::Read,
            "read on",
            format!("{source}: characters {from} to {to} of {total}"),
        )),
        Event::SearchCompleted { engine, query, hits, new, outcome, error, .. } => {
            let result = match outcome {
                SearchOutcome::Ok => format!("{}, {new} new", pluralize((*hits).into(), "hit")),
                SearchOutcome::Empty => "no hits".to_owned(),
                SearchOutcome::RateLimited => failed_search("rate limited", error.as_deref()),
                SearchOutcome::Unreachable => failed_search("not reached", error.as_deref()),
                SearchOutcome::Error => failed_search("search failed", error.as_deref()),
            };
            let tone = match outcome {
                SearchOutcome::Ok | SearchOutcome::Empty => LineTone::Search,
                SearchOutcome::RateLimited | SearchOutcome::Unreachable | SearchOutcome::Error => {
                    LineTone::Bad
                }
            };
            let query = truncate(query, MAX_NAME_CHARS);
            Some(EventLine::new(tone, "search", format!("{engine} “{query}”: {result}")))
        }
        Event::ReadCompleted { source, sentences, .. } => {
            let title = truncate(&source.title, MAX_NAME_CHARS);
            let mut text = format!("{title}: {}", pluralize(u64::from(*sentences), "sentence"));
            if let Some(by) = source.cited_by {
                text += &format!(", the source that {by} names");
            }
            Some(EventLine::new(LineTone::Read, "read", text).with_link(&source.url))
        }
        Event::ReadFailed { url, reason, message } => {
            Some(unread_line(url, None, *reason, message).with_link(url))
        }
        Event::DocumentFailed { path, place, reason, message } => {
            Some(unread_line(path, place.as_deref(), *reason, message))
        }
        _ => None,
    }
}

fn failed_search(outcome: &str, error: Option<&str>) -> String {
    error.map_or_else(|| outcome.to_owned(), |error| format!("{outcome}: {error}"))
}

/// A page or document that could not be read. Most messages name it and the reason; then neither is repeated.
fn unread_line(path: &str, place: Option<&str>, reason: ReadFailure, message: &str) -> EventLine {
    let name = reason.as_str();
    let mut text = String::new();
    if !message.contains(&format!(": {name}: ")) {
        text += &format!("{}: ", name.replace('_', " "));
    }
    let shown = local_path(path);
    if !message.contains(path) && !message.contains(&shown) {
        let place = place.map_or_else(String::new, |place| format!(" {place}"));
        text += &format!("{shown}{place}: ");
    }
    EventLine::new(LineTone::Bad, "not read", text + message)
}

fn evidence_line(event: &Event) -> Option<EventLine> {
    match event {
        Event::KnownWeighed { sources, evidence } => {
            let text = format!(
                "{} from earlier runs, with {}",
                pluralize(sources.len() as u64, "source"),
                match evidence {
                    0 => "no passages".to_owned(),
                    n => pluralize(u64::from(*n), "passage"),
                }
            );
            Some(EventLine::new(LineTone::Read, "reused", text))
        }
        Event::EvidenceAdded { evidence } => {
            let items: Vec<String> = evidence.items.iter().map(ItemId::to_string).collect();
            let quote = truncate(evidence.passage.text().expose(), MAX_QUOTE_CHARS);
            let text = format!("{} for {}: “{quote}”", evidence.id, items.join(", "));
            Some(EventLine::new(LineTone::Evidence, "evidence", text))
        }
        Event::EvidenceRejected { url, item, reason } => {
            let text = format!("{} for {item}: {reason}", local_path(url));
            Some(EventLine::neutral("rejected", text))
        }
        Event::EvidenceMerged { url, into } => {
            let text = format!("{} into {}", local_path(url), local_path(into));
            Some(EventLine::neutral("merged", text))
        }
        Event::ConflictFound { conflict } => {
            let sides: Vec<&str> = conflict.sides.iter().map(|side| side.says.as_str()).collect();
            let title = conflict_title(conflict);
            let (first, rest) = title.split_at(1);
            let text = format!("{}{rest}: {}", first.to_lowercase(), sides.join(" / "));
            Some(EventLine::new(LineTone::Warning, "conflict", text))
        }
        _ => None,
    }
}

/// Models and limits.
fn model_line(event: &Event) -> Option<EventLine> {
    match event {
        Event::LlmCompleted { role, model, step, r#in, out, reasoning, effort, ms, .. } => {
            let tokens = |n: &Option<u64>| n.map_or("?".to_owned(), |n| n.to_string());
            let took = ms.map_or_else(String::new, |ms| {
                format!(", {}", duration(i64::try_from(ms).unwrap_or(i64::MAX)))
            });
            let reasoned =
                reasoning.map_or_else(String::new, |tokens| format!(" ({tokens} for reasoning)"));
            let asked = effort.map_or_else(String::new, |it| format!(", {} effort", it.as_str()));
            let text = format!(
                "{model} for {step} ({}{asked}): {} tokens in, {} out{reasoned}{took}",
                role.as_str(),
                tokens(r#in),
                tokens(out)
            );
            Some(EventLine::new(LineTone::Model, "model", text))
        }
        Event::StepUnaided { step, reason, hint, .. } => {
            let hint = hint.as_deref().map_or_else(String::new, |hint| format!(" ({hint})"));
            let text = format!("{step} continues without a model: {reason}{hint}");
            Some(EventLine::new(LineTone::Bad, "model", text))
        }
        Event::BudgetWarning { message } => {
            Some(EventLine::new(LineTone::Warning, "budget", message))
        }
        _ => None,
    }
}

fn report_line(event: &Event) -> Option<EventLine> {
    let line = |text: String| Some(EventLine::neutral("report", text));
    match event {
        Event::DraftDelta { text, .. } => Some(EventLine::neutral("draft", text)),
        Event::ReportReady { report } => {
            Some(EventLine::new(LineTone::Good, "report", format!("ready: {}", report.title)))
        }
        Event::ReportJudged { judgement } => {
            line(format!("judged {:.2} of 1", judgement.composite))
        }
        Event::ReportRated { rating } => match rating.vote {
            Vote::Up => line("rated good".to_owned()),
            Vote::Down => line("rated not good".to_owned()),
        },
        Event::ReportShared { share } => {
            line(format!("shared until {}", share.until.get(..10).unwrap_or(&share.until)))
        }
        Event::ReportUnshared {} => line("all share links revoked".to_owned()),
        _ => None,
    }
}

fn log_line(level: &str, message: &str) -> EventLine {
    match level {
        "error" => EventLine::new(LineTone::Bad, "error", message),
        "warn" => EventLine::new(LineTone::Warning, "warning", message),
        _ => EventLine::neutral("info", message),
    }
}
