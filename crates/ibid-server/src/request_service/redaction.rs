//! Redaction of failures for callers other than the operator: what failed and how, without the message of the service.
//!
//! The response of a service, its address and the fix are for the operator only. Errors and events contain them as text, so no part of
//! such a text is passed on: known phrases of this program identify the cause, and the cause is reported.
use serde_json::Value;

use super::folder_names::PathRewriter;
use ibid_core::domain::{Judgement, Report};
use ibid_core::ports::{JournalCall, JournalCallState};
use ibid_core::record::{Event, LogSource, SearchOutcome};
use ibid_core::{Error, ErrorKind, FailureReason, ReadFailure};

/// The message of a failure that the operator must fix.
const NOT_SET_UP: &str = "the server is not set up for this; see its log";

/// Replaces a text that only the operator may see.
const WITHHELD: &str = "the details are in the server's log";

/// Why something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureCause {
    /// It answered with this HTTP status.
    Status(u16),
    /// It was rate limited.
    RateLimited,
    /// It did not answer in time.
    Timeout,
    /// It could not be reached, or the connection broke.
    Unreachable,
    /// The budget is spent.
    BudgetExhausted,
    /// Its response cannot be used.
    InvalidResponse,
    /// The cause is unknown.
    Unknown,
}

/// Phrases in this program's error messages and the cause that each identifies, for failures without a status or a reason that
/// names the cause, as in records of earlier versions. The first match counts.
const PHRASES: &[(&str, FailureCause)] = &[
    ("the budget of ", FailureCause::BudgetExhausted),
    ("of the budget is spent", FailureCause::BudgetExhausted),
    ("rate limited for another", FailureCause::RateLimited),
    ("asked not to be called", FailureCause::RateLimited),
    ("in time", FailureCause::Timeout),
    ("took too long", FailureCause::Timeout),
    ("timed out", FailureCause::Timeout),
    ("fell silent", FailureCause::Timeout),
    ("could not be reached", FailureCause::Unreachable),
    ("was unreachable", FailureCause::Unreachable),
    ("cannot be looked up", FailureCause::Unreachable),
    ("error sending request", FailureCause::Unreachable),
    ("connection", FailureCause::Unreachable),
    ("cut off", FailureCause::Unreachable),
    ("calls were waiting", FailureCause::Unreachable),
    ("is paused after", FailureCause::Unreachable),
    ("for step `", FailureCause::InvalidResponse),
    ("found nothing on ", FailureCause::InvalidResponse),
    ("not JSON", FailureCause::InvalidResponse),
    ("instead of JSON", FailureCause::InvalidResponse),
];

impl FailureCause {
    /// The cause of a recorded failure: by its status, by its reason, or else by its message.
    fn from_record(
        status: Option<u16>,
        reason: Option<&FailureReason>,
        message: &str,
    ) -> FailureCause {
        match (status, reason) {
            (Some(status), _) => FailureCause::Status(status),
            (None, Some(FailureReason::Timeout)) => FailureCause::Timeout,
            (None, Some(FailureReason::Budget)) => FailureCause::BudgetExhausted,
            _ => FailureCause::from_text(message),
        }
    }

    /// The cause that `text` identifies.
    fn from_text(text: &str) -> FailureCause {
        // Errors of services contain `status 503: …`.
        let status = text.match_indices("status ").find_map(|(at, phrase)| {
            let (digits, _) = text[at + phrase.len()..].split_once(':')?;
            let status: u16 = digits.parse().ok()?;
            (100..600).contains(&status).then_some(status)
        });
        if let Some(status) = status {
            return FailureCause::Status(status);
        }
        let phrase = PHRASES.iter().find(|phrase| text.contains(phrase.0));
        phrase.map_or(FailureCause::Unknown, |phrase| phrase.1)
    }

    /// Replaces an unknown cause with the one implied by the error kind.
    fn or_from_kind(self, kind: ErrorKind) -> FailureCause {
        match (self, kind) {
            (FailureCause::Unknown, ErrorKind::Transient) => FailureCause::Unreachable,
            (FailureCause::Unknown, ErrorKind::Malformed) => FailureCause::InvalidResponse,
            (FailureCause::Unknown, ErrorKind::Exhausted) => FailureCause::BudgetExhausted,
            (known, _) => known,
        }
    }

    fn message(self) -> String {
        match self {
            FailureCause::RateLimited | FailureCause::Status(429) => "rate limited".to_owned(),
            FailureCause::Status(it @ (408 | 504)) => format!("timed out (HTTP {it})"),
            FailureCause::Status(it @ 500..) => format!("unavailable (HTTP {it})"),
            FailureCause::Status(it) => format!("refused the request (HTTP {it})"),
            FailureCause::Timeout => "timed out".to_owned(),
            FailureCause::Unreachable => "unavailable".to_owned(),
            FailureCause::BudgetExhausted => "the budget is spent".to_owned(),
            FailureCause::InvalidResponse => "returned an unusable response".to_owned(),
            FailureCause::Unknown => "failed".to_owned(),
        }
    }
}

fn engine_message(engine: &str, cause: FailureCause) -> String {
    format!("engine {engine}: {}", cause.message())
}

/// The message for a model that failed with `text`.
pub(super) fn model_message(text: &str) -> String {
    format!("model: {}", FailureCause::from_text(text).message())
}

/// Gives `fault` a public message. The full error remains available for the log.
pub(super) fn redact_error(rewrite: &PathRewriter, fault: Error) -> Error {
    let (words, hint) = match fault.kind() {
        // Errors of services have other kinds.
        ErrorKind::Usage | ErrorKind::NotFound | ErrorKind::Exhausted | ErrorKind::Cancelled => {
            let hint = fault.hint().map(|hint| rewrite.error_text(hint));
            (rewrite.error_text(&fault.chain()), hint)
        }
        ErrorKind::Transient => {
            let hint = "try again in a minute".to_owned();
            ("temporarily unavailable".to_owned(), Some(hint))
        }
        ErrorKind::Setup | ErrorKind::Internal | ErrorKind::Malformed => {
            (NOT_SET_UP.to_owned(), None)
        }
    };
    fault.with_public_message(words, hint)
}

/// Redacts the error of a page that could not be read. `url` is its address as the caller may see it.
pub(super) fn redact_page_error(url: &str, fault: Error) -> Error {
    let reason = fault.read_failure();
    let again = fault.kind() == ErrorKind::Transient;
    let hint = again.then(|| "try again in a minute".to_owned());
    fault.with_public_message(format!("reading {url}: {}", reason_text(reason)), hint)
}

fn reason_text(reason: ReadFailure) -> &'static str {
    match reason {
        ReadFailure::BotBlock => "blocked by bot detection",
        ReadFailure::Paywall => "behind a paywall or login",
        ReadFailure::Timeout => "timed out",
        ReadFailure::TooLarge => "too large",
        ReadFailure::Robots => "disallowed by robots.txt",
        ReadFailure::BlockedAddress => "address not allowed",
        ReadFailure::Empty => "contains no text",
        ReadFailure::Retracted => "retracted or under an expression of concern",
        ReadFailure::Unsupported => "unsupported format",
        ReadFailure::Broken => "damaged",
        ReadFailure::NotFound => "not found",
    }
}

/// The message for the page at `url` that could not be read. For a local document it is the reader's own message.
fn unread_message(url: &str, reason: Option<ReadFailure>, text: &str) -> String {
    const OWN: [&str; 2] = ["left out: ", "the budget of "];
    let is_own = OWN.iter().any(|it| text.starts_with(*it));
    let of_web = url.starts_with("http://") || url.starts_with("https://");
    if is_own || !of_web && !quotes_service(text) {
        return text.to_owned();
    }
    let reason = reason.or_else(|| named_failure(text));
    reason.map_or("it could not be read", reason_text).to_owned()
}

/// The failure that the message of a reader names, as in `reading …: robots: …`.
fn named_failure(text: &str) -> Option<ReadFailure> {
    let is_named = |pair: &&(ReadFailure, &str)| text.contains(&format!(": {}: ", pair.1));
    ReadFailure::ALL.iter().find(is_named).map(|pair| pair.0)
}

/// Whether `text` contains a message of a service.
fn quotes_service(text: &str) -> bool {
    text.contains("asking ") || text.contains("status ")
}

/// Removes messages of services from the warnings of readers.
pub(super) fn redact_warnings(all: &mut [String]) {
    for it in all.iter_mut().filter(|text| quotes_service(text)) {
        *it = WITHHELD.to_owned();
    }
}

/// An engine's remark on a search, if callers may see it.
fn search_remark(text: &str) -> String {
    if text.starts_with("the query was cut to ") { text.to_owned() } else { WITHHELD.to_owned() }
}

/// Redacts a failure of a search: `{engine}: {why}`, or a log line.
pub(super) fn redact_search_error(text: &str) -> String {
    match text.split_once(": ") {
        Some((engine, why)) if is_engine_name(engine) => {
            engine_message(engine, FailureCause::from_text(why))
        }
        _ => redact_log_line(text),
    }
}

/// Redacts a log line with words of a service, or of an earlier version, which did not record whose words it has. Log lines are free
/// text: only those known to contain no message of a service are passed on.
fn redact_log_line(text: &str) -> String {
    const OWN: [&str; 3] = ["left out ", "the plan ", "some documents "];
    if let Some(line) = without_index_reason(text) {
        return line;
    }
    if OWN.iter().any(|it| text.starts_with(*it)) {
        return text.to_owned();
    }
    if let Some(said) = text.strip_prefix("ranking: ") {
        return format!("ranking: {}", FailureCause::from_text(said).message());
    }
    // The line is about a folder, given by its path.
    if text.starts_with('/') {
        let without = " is searched without some vectors: ";
        return match text.split_once(without) {
            Some((folder, said)) => {
                format!("{folder}{without}{}", FailureCause::from_text(said).message())
            }
            None => text.to_owned(),
        };
    }
    let reading = text.split_once(" could not read ");
    let reading = reading.filter(|(reader, _)| !reader.contains(':'));
    if let Some((reader, (url, said))) =
        reading.and_then(|(reader, rest)| Some((reader, rest.split_once(": ")?)))
    {
        return format!("{reader} could not read {url}: {}", unread_message(url, None, said));
    }
    match text.split_once(": ") {
        Some((engine, said)) if is_engine_name(engine) => {
            format!("{engine}: {}", search_remark(said))
        }
        _ => WITHHELD.to_owned(),
    }
}

/// The line `the index of … was rebuilt: …` without its reason, which may have words of the index library and of the operating
/// system. `None` for another line.
fn without_index_reason(text: &str) -> Option<String> {
    let (index, _) = text.strip_prefix("the index of ")?.split_once(" was rebuilt: ")?;
    Some(format!("the index of {index} was rebuilt because it could not be used"))
}

/// Whether `text` can be the name of an engine.
fn is_engine_name(text: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=40).contains(&text.len()) && text.chars().all(of_name)
}

/// Redacts the reason of a failed run, unless the caller can fix it.
fn redact_run_failure(reason: &mut String, hint: &mut Option<String>, kind: Option<ErrorKind>) {
    let (words, help) = match kind {
        Some(
            ErrorKind::Usage | ErrorKind::NotFound | ErrorKind::Exhausted | ErrorKind::Cancelled,
        ) => return,
        Some(ErrorKind::Setup | ErrorKind::Internal) => (NOT_SET_UP.to_owned(), None),
        Some(ErrorKind::Transient | ErrorKind::Malformed) | None => {
            let known = FailureCause::from_text(reason);
            let cause = kind.map_or(known, |kind| known.or_from_kind(kind));
            let help = (kind == Some(ErrorKind::Transient))
                .then(|| "ask again in a few minutes".to_owned());
            (format!("a service used by the run failed: {}", cause.message()), help)
        }
    };
    (*reason, *hint) = (words, help);
}

/// Removes messages of services from a report.
pub(super) fn redact_report(it: &mut Report) {
    for (_, why) in &mut it.method.unaided_because {
        *why = model_message(why);
    }
    for (page, why) in &mut it.method.pages_failed {
        *why = unread_message(page, None, why);
    }
}

fn redact_judgement(it: &mut Judgement) {
    it.unaided_because = it.unaided_because.as_deref().map(model_message);
}

/// Removes messages of services from an event. A new event must be added here, with what only the operator may see.
pub(super) fn redact_event(it: &mut Event) {
    match it {
        Event::RunFailed { reason, hint, kind } => redact_run_failure(reason, hint, *kind),
        Event::SearchCompleted { engine, outcome, error: Some(why), reason, status, .. } => {
            let known = FailureCause::from_record(status.take(), reason.take().as_ref(), why);
            let cause = match outcome {
                SearchOutcome::RateLimited | SearchOutcome::Unreachable => {
                    known.or_from_kind(ErrorKind::Transient)
                }
                SearchOutcome::Ok | SearchOutcome::Empty | SearchOutcome::Error => known,
            };
            *why = engine_message(engine, cause);
        }
        Event::ReadCompleted { warnings, .. } => self::redact_warnings(warnings),
        Event::ReadFailed { url, reason, message } => {
            *message = unread_message(url, Some(*reason), message)
        }
        Event::DocumentFailed { path, reason, message, .. } => {
            *message = unread_message(path, Some(*reason), message)
        }
        Event::StepUnaided { reason, hint, .. } => {
            *reason = model_message(reason);
            *hint = None;
        }
        Event::ReportReady { report } => redact_report(report),
        Event::ReportJudged { judgement } => redact_judgement(judgement),
        // Earlier versions recorded this line as one of the program alone.
        Event::Log { source: Some(LogSource::Program), message, .. } => {
            if let Some(line) = without_index_reason(message) {
                *message = line;
            }
        }
        Event::Log { message, .. } => *message = redact_log_line(message),
        // Texts of the caller, of models, of documents and of this program.
        Event::SearchCompleted { error: None, .. }
        | Event::RunCreated { .. }
        | Event::RunQueued { .. }
        | Event::RunStarted {}
        | Event::RunResumed { .. }
        | Event::RunFinishing { .. }
        | Event::RunCompleted { .. }
        | Event::RunCancelled {}
        | Event::IntakeDecided { .. }
        | Event::ClarifyAsked { .. }
        | Event::ClarifyAnswered { .. }
        | Event::BriefReady { .. }
        | Event::PlanProposed { .. }
        | Event::StrategyChosen { .. }
        | Event::ItemUpdated { .. }
        | Event::SearchPrepared { .. }
        | Event::PageSearched { .. }
        | Event::PageContinued { .. }
        | Event::RuntimeProgress { .. }
        | Event::PlanWaiting { .. }
        | Event::PlanChanged { .. }
        | Event::PlanApproved { .. }
        | Event::KnownWeighed { .. }
        | Event::RoundStarted { .. }
        | Event::RoundFinished { .. }
        | Event::SearchStarted { .. }
        | Event::ReadStarted { .. }
        | Event::EvidenceAdded { .. }
        | Event::EvidenceRejected { .. }
        | Event::EvidenceMerged { .. }
        | Event::CoverageUpdated { .. }
        | Event::OutlineUpdated { .. }
        | Event::DraftCriticized { .. }
        | Event::GateJudged { .. }
        | Event::GapFound { .. }
        | Event::ConflictFound { .. }
        | Event::LlmCompleted { .. }
        | Event::BudgetUpdated { .. }
        | Event::BudgetWarning { .. }
        | Event::DraftDelta { .. }
        | Event::ClaimChecked { .. }
        | Event::ReportRated { .. }
        | Event::ReportShared { .. }
        | Event::ReportUnshared {} => {}
    }
}

/// Removes messages of services from a journaled call.
pub(super) fn redact_step(it: &mut JournalCall) {
    let (provider_kind, name) = it.provider.split_once(':').unwrap_or((it.provider.as_str(), ""));
    match &mut it.state {
        JournalCallState::Intended => {}
        JournalCallState::Answered(answered) => {
            // A model's service may put any words into these three.
            if provider_kind == "model" {
                if let Some(model) = answered.answer.get_mut("model").filter(|it| it.is_string()) {
                    *model = name.into();
                }
                if let Some(other) = answered.answer.pointer_mut("/finish/other") {
                    *other = "…".into();
                }
                if let Some(refusal) =
                    answered.answer.get_mut("refusal").filter(|it| it.is_string())
                {
                    *refusal = "the model declined".into();
                }
            }
            let remarks = answered.answer.get_mut("remarks");
            let remarks = remarks.filter(|_| provider_kind == "search");
            for remark in remarks.and_then(Value::as_array_mut).into_iter().flatten() {
                *remark = search_remark(remark.as_str().unwrap_or_default()).into();
            }
        }
        JournalCallState::Failed { kind, message, reason, status, hint } => {
            // Hints name addresses inside, and the name of a parameter is the service's own word.
            *hint = None;
            if matches!(reason, Some(FailureReason::RefusedParameter(_))) {
                *reason = None;
            }
            let cause = FailureCause::from_record(*status, reason.as_ref(), message);
            let cause = cause.or_from_kind(*kind);
            *message = match provider_kind {
                "search" => engine_message(name, cause),
                "model" => format!("model: {}", cause.message()),
                "read" => {
                    let read_failure = match reason {
                        Some(FailureReason::Read(failure)) => Some(*failure),
                        _ => None,
                    };
                    let url = it.request["url"].as_str().unwrap_or("https://");
                    unread_message(url, read_failure, message)
                }
                _ => cause.message(),
            };
        }
    }
}

#[cfg(test)]
mod tests;
