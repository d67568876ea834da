//! What callers who are not the operator are told of failures: what failed and how, in words of this program alone.
//!
//! What a service answered, where it is and what would mend it are the operator's. Errors and events hold them as text, so nothing
//! of such a text is passed on: signs of this program are looked for in it, and the cause that they stand for is told.
use serde_json::Value;

use super::names::PathRewrite;
use crate::domain::{Judgement, Report};
use crate::error::{Error, Kind};
use crate::record::{Event, FailReason, Outcome};
use crate::seams::{Step, StepState};

const NOT_SET_UP: &str = "the server is not set up for this; its operator is told why";

/// In place of what is said to the operator alone.
const KEPT: &str = "it has a remark for the operator";

/// Why something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// It answered with this HTTP status.
    Status(u16),
    /// It wants to be left alone for now.
    RateLimited,
    /// It did not answer in time.
    Late,
    /// It cannot be reached, or fell away.
    Away,
    /// The budget has no room for it.
    Spent,
    /// It answered, and not as asked.
    Unusable,
    /// Nothing is known.
    Unknown,
}

/// What this program writes where something failed, and the cause that this is a sign of. The first that is there counts.
const SIGNS: &[(&str, Cause)] = &[
    ("the budget of ", Cause::Spent),
    ("of the budget is spent", Cause::Spent),
    ("asked to be left alone", Cause::RateLimited),
    ("asked not to be called", Cause::RateLimited),
    ("in time", Cause::Late),
    ("took too long", Cause::Late),
    ("timed out", Cause::Late),
    ("fell silent", Cause::Late),
    ("could not be reached", Cause::Away),
    ("cannot be looked up", Cause::Away),
    ("error sending request", Cause::Away),
    ("connection", Cause::Away),
    ("cut off", Cause::Away),
    ("calls were waiting", Cause::Away),
    ("failures in a row", Cause::Away),
    ("for step `", Cause::Unusable),
    ("found nothing on ", Cause::Unusable),
    ("not JSON", Cause::Unusable),
    ("instead of JSON", Cause::Unusable),
];

impl Cause {
    /// The cause of which `text` tells.
    fn of(text: &str) -> Cause {
        // As a fault of a service begins: `status 503: …`.
        let status = text.match_indices("status ").find_map(|(at, sign)| {
            let (digits, _) = text[at + sign.len()..].split_once(':')?;
            let status: u16 = digits.parse().ok()?;
            (100..600).contains(&status).then_some(status)
        });
        if let Some(status) = status {
            return Cause::Status(status);
        }
        let sign = SIGNS.iter().find(|it| text.contains(it.0));
        sign.map_or(Cause::Unknown, |it| it.1)
    }

    /// The same; where nothing is known, what the kind of the fault says.
    fn or_of(self, kind: Kind) -> Cause {
        match (self, kind) {
            (Cause::Unknown, Kind::Transient) => Cause::Away,
            (Cause::Unknown, Kind::Malformed) => Cause::Unusable,
            (Cause::Unknown, Kind::Exhausted) => Cause::Spent,
            (known, _) => known,
        }
    }

    fn words(self) -> String {
        match self {
            Cause::RateLimited | Cause::Status(429) => "rate limited".to_owned(),
            Cause::Status(it @ (408 | 504)) => format!("timed out (HTTP {it})"),
            Cause::Status(it @ 500..) => format!("unavailable (HTTP {it})"),
            Cause::Status(it) => format!("refused the request (HTTP {it})"),
            Cause::Late => "timed out".to_owned(),
            Cause::Away => "unavailable".to_owned(),
            Cause::Spent => "the budget is spent".to_owned(),
            Cause::Unusable => "gave an answer that cannot be used".to_owned(),
            Cause::Unknown => "failed".to_owned(),
        }
    }
}

fn of_engine(engine: &str, cause: Cause) -> String {
    format!("engine {engine}: {}", cause.words())
}

/// What is told of a model that failed as `text` says.
pub(super) fn of_model(text: &str) -> String {
    format!("model: {}", Cause::of(text).words())
}

/// The same fault, in whose place a caller is told what they may know. The whole of it stays for the log.
pub(super) fn of_error(rewrite: &PathRewrite, fault: Error) -> Error {
    let (words, hint) = match fault.kind() {
        // Faults of services are of none of these kinds.
        Kind::Usage | Kind::NotFound | Kind::Exhausted | Kind::Cancelled => {
            let hint = fault.help().map(|it| rewrite.text(it));
            (rewrite.text(&fault.chain()), hint)
        }
        Kind::Transient => {
            let hint = "try again in a minute".to_owned();
            ("this cannot be done just now".to_owned(), Some(hint))
        }
        Kind::Setup | Kind::Internal | Kind::Malformed => (NOT_SET_UP.to_owned(), None),
    };
    fault.told_as(words, hint)
}

/// The same of a page that could not be read; `url` is where it is, as the caller knows it.
pub(super) fn of_page(url: &str, fault: Error) -> Error {
    let by_kind = match fault.kind() {
        Kind::NotFound => FailReason::NotFound,
        Kind::Transient => FailReason::Timeout,
        Kind::Exhausted => FailReason::TooLarge,
        Kind::Usage | Kind::Setup => FailReason::Unsupported,
        Kind::Malformed | Kind::Cancelled | Kind::Internal => FailReason::Broken,
    };
    let reason = FailReason::told_in(&fault.chain()).unwrap_or(by_kind);
    let again = fault.kind() == Kind::Transient;
    let hint = again.then(|| "try again in a minute".to_owned());
    fault.told_as(format!("reading {url}: {}", why(reason)), hint)
}

fn why(reason: FailReason) -> &'static str {
    match reason {
        FailReason::BotBlock => "the site takes the reader for a robot",
        FailReason::Paywall => "the site wants money for it",
        FailReason::Timeout => "it took too long",
        FailReason::TooLarge => "it is too large",
        FailReason::Robots => "robots.txt of the site says no",
        FailReason::BlockedAddress => "its address may not be asked",
        FailReason::Empty => "there are no words in it",
        FailReason::Retracted => "it was taken back, or is doubted",
        FailReason::Unsupported => "nobody here can read it",
        FailReason::Broken => "it is damaged",
        FailReason::NotFound => "it is not there",
    }
}

/// What is told of the page at `url` that could not be read. Of a document of a folder, that is what its reader says.
fn unread(url: &str, reason: Option<FailReason>, text: &str) -> String {
    const OWN: [&str; 2] = ["left out: ", "the budget of "];
    let is_own = OWN.iter().any(|it| text.starts_with(*it));
    let of_web = url.starts_with("http://") || url.starts_with("https://");
    if is_own || !of_web && !tells_of_service(text) {
        return text.to_owned();
    }
    let reason = reason.or_else(|| FailReason::told_in(text));
    reason.map_or("it could not be read", why).to_owned()
}

/// Whether `text` goes on with what a service said.
fn tells_of_service(text: &str) -> bool {
    text.contains("asking ") || text.contains("status ")
}

/// What readers could not do, without words of services that they have asked.
pub(super) fn warnings(all: &mut [String]) {
    for it in all.iter_mut().filter(|it| tells_of_service(it)) {
        *it = KEPT.to_owned();
    }
}

/// What an engine says of a search.
fn remark(text: &str) -> String {
    match text.starts_with("the query was cut to ") {
        true => text.to_owned(),
        false => KEPT.to_owned(),
    }
}

/// What did not answer a search: `{engine}: {why}`, or a line of the log.
pub(super) fn of_search(text: &str) -> String {
    match text.split_once(": ") {
        Some((engine, why)) if is_name(engine) => of_engine(engine, Cause::of(why)),
        _ => logged(text),
    }
}

/// A line of the log. It is free text: only what is known to hold no words of a service is passed on.
fn logged(text: &str) -> String {
    const OWN: [&str; 4] = ["left out ", "the plan ", "the index of ", "some documents "];
    if OWN.iter().any(|it| text.starts_with(*it)) {
        return text.to_owned();
    }
    if let Some(said) = text.strip_prefix("ranking: ") {
        return format!("ranking: {}", Cause::of(said).words());
    }
    // A folder, by its path.
    if text.starts_with('/') {
        let without = " is searched without some vectors: ";
        return match text.split_once(without) {
            Some((folder, said)) => format!("{folder}{without}{}", Cause::of(said).words()),
            None => text.to_owned(),
        };
    }
    let reading = text.split_once(" could not read ");
    let reading = reading.filter(|(reader, _)| !reader.contains(':'));
    if let Some((reader, (url, said))) =
        reading.and_then(|(reader, rest)| Some((reader, rest.split_once(": ")?)))
    {
        return format!("{reader} could not read {url}: {}", unread(url, None, said));
    }
    match text.split_once(": ") {
        Some((engine, said)) if is_name(engine) => format!("{engine}: {}", remark(said)),
        _ => KEPT.to_owned(),
    }
}

/// Whether `text` can be what an engine is called.
fn is_name(text: &str) -> bool {
    let of_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    (1..=40).contains(&text.len()) && text.chars().all(of_name)
}

/// Why a run failed: what its caller can mend is told as it is.
fn of_run(reason: &mut String, hint: &mut Option<String>, kind: Option<Kind>) {
    let (words, help) = match kind {
        Some(Kind::Usage | Kind::NotFound | Kind::Exhausted | Kind::Cancelled) => return,
        Some(Kind::Setup | Kind::Internal) => (NOT_SET_UP.to_owned(), None),
        Some(Kind::Transient | Kind::Malformed) | None => {
            let known = Cause::of(reason);
            let cause = kind.map_or(known, |it| known.or_of(it));
            let help =
                (kind == Some(Kind::Transient)).then(|| "ask again in a few minutes".to_owned());
            (
                format!("a service that the run asked: {}", cause.words()),
                help,
            )
        }
    };
    (*reason, *hint) = (words, help);
}

/// A report without what services said.
pub(super) fn of_report(it: &mut Report) {
    for (_, why) in &mut it.method.unaided_because {
        *why = of_model(why);
    }
    for (page, why) in &mut it.method.pages_failed {
        *why = unread(page, None, why);
    }
}

fn of_judgement(it: &mut Judgement) {
    it.unaided_because = it.unaided_because.as_deref().map(of_model);
}

/// An event without what services said. Whoever adds an event decides here what of it is the operator's alone.
pub(super) fn event(it: &mut Event) {
    match it {
        Event::RunFailed { reason, hint, kind } => of_run(reason, hint, *kind),
        Event::SearchCompleted {
            engine,
            outcome,
            error: Some(why),
            ..
        } => {
            let known = Cause::of(why);
            let cause = match outcome {
                Outcome::RateLimited => known.or_of(Kind::Transient),
                Outcome::Ok | Outcome::Empty | Outcome::Error => known,
            };
            *why = of_engine(engine, cause);
        }
        Event::ReadCompleted { warnings, .. } => self::warnings(warnings),
        Event::ReadFailed {
            url,
            reason,
            message,
        } => *message = unread(url, Some(*reason), message),
        Event::DocumentFailed {
            path,
            reason,
            message,
            ..
        } => *message = unread(path, Some(*reason), message),
        Event::StepUnaided { reason, hint, .. } => {
            *reason = of_model(reason);
            *hint = None;
        }
        Event::ReportReady { report } => of_report(report),
        Event::ReportJudged { judgement } => of_judgement(judgement),
        Event::Log { message, .. } => *message = logged(message),
        // Words of the caller, of models, of documents and of this program.
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
        | Event::RuntimeProgress { .. }
        | Event::PlanWaiting { .. }
        | Event::PlanChanged { .. }
        | Event::PlanApproved { .. }
        | Event::KnownWeighed { .. }
        | Event::WaveStarted { .. }
        | Event::WaveFinished { .. }
        | Event::SearchStarted { .. }
        | Event::ReadStarted { .. }
        | Event::EvidenceAdded { .. }
        | Event::EvidenceRejected { .. }
        | Event::EvidenceMerged { .. }
        | Event::CoverageUpdated { .. }
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

/// A call to the outside without what services said where they failed.
pub(super) fn step(it: &mut Step) {
    let (door, name) = it.door.split_once(':').unwrap_or((it.door.as_str(), ""));
    match &mut it.state {
        StepState::Intended => {}
        StepState::Answered(answered) => {
            let remarks = answered.answer.get_mut("remarks");
            let remarks = remarks.filter(|_| door == "search");
            for said in remarks.and_then(Value::as_array_mut).into_iter().flatten() {
                *said = remark(said.as_str().unwrap_or_default()).into();
            }
        }
        StepState::Failed { kind, message } => {
            let cause = Cause::of(message).or_of(*kind);
            *message = match door {
                "search" => of_engine(name, cause),
                "model" => format!("model: {}", cause.words()),
                "read" => unread(
                    it.asked["url"].as_str().unwrap_or("https://"),
                    None,
                    message,
                ),
                _ => cause.words(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ModelRole;

    const INSIDE: [&str; 3] = ["CANARY", "10.1.2.3", "localhost:11434"];

    fn silent(text: &str) {
        let found = INSIDE.iter().find(|it| text.contains(**it));
        assert_eq!(found, None, "{text}");
    }

    #[test]
    fn a_cause_is_told_and_no_word_of_who_failed() {
        for (text, told) in [
            (
                "asking m at openai: status 400: bad: CANARY",
                "model: refused the request (HTTP 400)",
            ),
            (
                "asking m at openai: status 429: rate_limit: CANARY",
                "model: rate limited",
            ),
            (
                "asking m at openai: status 503: CANARY status 400: x",
                "model: unavailable (HTTP 503)",
            ),
            (
                "no model answered: a/b: asking b at a: status 504: CANARY; c/d: asking d at c: CANARY",
                "model: timed out (HTTP 504)",
            ),
            (
                "asking m at ollama: error sending request: tcp connect error: 10.1.2.3:11434",
                "model: unavailable",
            ),
            (
                "asking a for step `cover`: `state` is …; it must be one of CANARY",
                "model: gave an answer that cannot be used",
            ),
            (
                "the budget of $1 is spent: CANARY",
                "model: the budget is spent",
            ),
            // No sign of this program: nothing is said beyond that it failed.
            (
                "CANARY at 10.1.2.3, status 8080: status x:",
                "model: failed",
            ),
        ] {
            assert_eq!(of_model(text), told);
        }
    }

    #[test]
    fn a_line_of_the_log_is_passed_on_only_where_its_words_are_known() {
        for (text, told) in [
            (
                "left out https://a.example/: retracted in 2020",
                "left out https://a.example/: retracted in 2020",
            ),
            (
                "the plan has 7 items already, so nothing was added to it",
                "the plan has 7 items already, so nothing was added to it",
            ),
            (
                "ranking: asking tei: status 500: CANARY",
                "ranking: unavailable (HTTP 500)",
            ),
            (
                "/srv/docs: 2 files of kinds not read: .png 2",
                "/srv/docs: 2 files of kinds not read: .png 2",
            ),
            (
                "/srv/docs is searched without some vectors: asking custom/e: status 500: CANARY",
                "/srv/docs is searched without some vectors: unavailable (HTTP 500)",
            ),
            (
                "crawl4ai could not read https://a.example/: reading https://a.example/: timeout: asking crawl4ai: status 500: CANARY",
                "crawl4ai could not read https://a.example/: it took too long",
            ),
            (
                "searxng: CANARY did not answer: 10.1.2.3",
                "searxng: it has a remark for the operator",
            ),
            (
                "searxng: x could not read y: CANARY",
                "searxng: it has a remark for the operator",
            ),
            (
                "searxng: the query was cut to 400 characters",
                "searxng: the query was cut to 400 characters",
            ),
            (
                "CANARY, see http://localhost:11434/",
                "it has a remark for the operator",
            ),
        ] {
            assert_eq!(logged(text), told);
            silent(&logged(text));
        }
        assert_eq!(
            of_search(
                "searxng: asking searxng: status 500: /x is searched without some vectors: CANARY"
            ),
            "engine searxng: unavailable (HTTP 500)"
        );
    }

    #[test]
    fn an_event_keeps_its_facts_and_loses_what_a_service_said() {
        let mut unaided = Event::StepUnaided {
            step: "plan".to_owned(),
            role: ModelRole::Planner,
            reason: "asking m at ollama: connection refused by 10.1.2.3".to_owned(),
            hint: Some(
                "Start the server at http://localhost:11434, or set OLLAMA_HOST.".to_owned(),
            ),
        };
        event(&mut unaided);
        let told = serde_json::to_string(&unaided).unwrap();
        silent(&told);
        assert!(
            told.contains("model: unavailable") && told.contains("plan"),
            "{told}"
        );
        let mut failed = Event::RunFailed {
            reason: "asking searxng: status 500: CANARY".to_owned(),
            hint: Some("look at http://10.1.2.3".to_owned()),
            kind: Some(Kind::Transient),
        };
        event(&mut failed);
        let told = serde_json::to_string(&failed).unwrap();
        silent(&told);
        assert!(told.contains("unavailable (HTTP 500)"), "{told}");
        let own = Event::RunFailed {
            reason: "nothing that was read speaks to “How is asking done?”".to_owned(),
            hint: Some("ask in other words".to_owned()),
            kind: Some(Kind::NotFound),
        };
        let mut same = own.clone();
        event(&mut same);
        assert_eq!(same, own);
    }

    #[test]
    fn a_page_is_told_of_by_its_reason_and_a_document_by_its_reader() {
        let said = "reading https://a.example/: broken: asking jina: status 422: CANARY";
        assert_eq!(unread("https://a.example/", None, said), "it is damaged");
        assert_eq!(
            unread("https://a.example/", None, "CANARY"),
            "it could not be read"
        );
        assert_eq!(
            unread("/srv/docs/a.pdf", None, "it is encrypted"),
            "it is encrypted"
        );
        let fault = Error::new(Kind::Transient, said);
        let told = of_page("https://a.example/", fault);
        assert_eq!(told.told(), "reading https://a.example/: it is damaged");
        assert!(told.chain().contains("CANARY"), "the log has all of it");
    }
}
