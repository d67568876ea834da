use super::*;
use ibid_core::domain::{ItemId, ModelRole};

const INSIDE: [&str; 3] = ["CANARY", "10.1.2.3", "localhost:11434"];

fn assert_redacted(text: &str) {
    let found = INSIDE.iter().find(|it| text.contains(**it));
    assert_eq!(found, None, "{text}");
}

#[test]
fn a_cause_is_told_and_no_word_of_who_failed() {
    for (text, told) in [
        ("asking m at openai: status 400: bad: CANARY", "model: refused the request (HTTP 400)"),
        ("asking m at openai: status 429: rate_limit: CANARY", "model: rate limited"),
        ("asking m at openai: status 503: CANARY status 400: x", "model: unavailable (HTTP 503)"),
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
            "model: returned an unusable response",
        ),
        ("the budget of $1 is spent: CANARY", "model: the budget is spent"),
        // No sign of this program: nothing is said beyond that it failed.
        ("CANARY at 10.1.2.3, status 8080: status x:", "model: failed"),
    ] {
        assert_eq!(model_message(text), told);
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
        ("ranking: asking tei: status 500: CANARY", "ranking: unavailable (HTTP 500)"),
        (
            "/srv/docs: 2 files of unsupported types: .png 2",
            "/srv/docs: 2 files of unsupported types: .png 2",
        ),
        (
            "/srv/docs is searched without some vectors: asking custom/e: status 500: CANARY",
            "/srv/docs is searched without some vectors: unavailable (HTTP 500)",
        ),
        (
            "crawl4ai could not read https://a.example/: reading https://a.example/: timeout: asking crawl4ai: status 500: CANARY",
            "crawl4ai could not read https://a.example/: timed out",
        ),
        (
            "searxng: CANARY did not answer: 10.1.2.3",
            "searxng: the details are in the server's log",
        ),
        ("searxng: x could not read y: CANARY", "searxng: the details are in the server's log"),
        (
            "searxng: the query was cut to 400 characters",
            "searxng: the query was cut to 400 characters",
        ),
        (
            "the index of folder:docs was rebuilt: CANARY (os error 2): it was damaged",
            "the index of folder:docs was rebuilt because it could not be used",
        ),
        ("CANARY, see http://localhost:11434/", "the details are in the server's log"),
    ] {
        assert_eq!(redact_log_line(text), told);
        assert_redacted(&redact_log_line(text));
    }
    assert_eq!(
        redact_search_error(
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
        hint: Some("start the server at http://localhost:11434, or set OLLAMA_HOST".to_owned()),
    };
    redact_event(&mut unaided);
    let told = serde_json::to_string(&unaided).unwrap();
    assert_redacted(&told);
    assert!(told.contains("model: unavailable") && told.contains("plan"), "{told}");
    let mut failed = Event::RunFailed {
        reason: "asking searxng: status 500: CANARY".to_owned(),
        hint: Some("look at http://10.1.2.3".to_owned()),
        kind: Some(ErrorKind::Transient),
    };
    redact_event(&mut failed);
    let told = serde_json::to_string(&failed).unwrap();
    assert_redacted(&told);
    assert!(told.contains("unavailable (HTTP 500)"), "{told}");
    let line = |source| Event::Log {
        level: "warn".to_owned(),
        message: "these words are known to nobody".to_owned(),
        source,
    };
    for (source, is_kept) in
        [(Some(LogSource::Program), true), (Some(LogSource::Service), false), (None, false)]
    {
        let mut logged = line(source);
        redact_event(&mut logged);
        assert_eq!(logged == line(source), is_kept, "{logged:?}");
    }
    let mut rebuilt = Event::Log {
        level: "warn".to_owned(),
        message: "the index of folder:docs was rebuilt: CANARY".to_owned(),
        source: Some(LogSource::Program),
    };
    redact_event(&mut rebuilt);
    assert_redacted(&serde_json::to_string(&rebuilt).unwrap());
    let own = Event::RunFailed {
        reason: "nothing that was read addresses “How is asking done?”".to_owned(),
        hint: Some("ask in other words".to_owned()),
        kind: Some(ErrorKind::NotFound),
    };
    let mut same = own.clone();
    redact_event(&mut same);
    assert_eq!(same, own);
}

#[test]
fn a_recorded_status_or_reason_names_the_cause_whatever_the_message_says() {
    for (status, reason, told) in [
        (Some(503), None, "unavailable (HTTP 503)"),
        (Some(429), Some(FailureReason::Overloaded), "rate limited"),
        (None, Some(FailureReason::Timeout), "timed out"),
        (None, Some(FailureReason::Budget), "the budget is spent"),
        // Written by an earlier version: the message alone.
        (None, None, "failed"),
    ] {
        let message = "asking searxng: CANARY".to_owned();
        let completed = Event::SearchCompleted {
            engine: "searxng".to_owned(),
            query: "cork".to_owned(),
            item: ItemId::new(1),
            hits: 0,
            new: 0,
            ms: 1,
            cost_usd: 0.0,
            outcome: SearchOutcome::Error,
            error: Some(message),
            reason,
            status,
        };
        let kept = serde_json::to_string(&completed).unwrap();
        assert_eq!(kept.contains("\"status\""), status.is_some(), "{kept}");
        let mut read: Event = serde_json::from_str(&kept).unwrap();
        redact_event(&mut read);
        let Event::SearchCompleted { error, reason: None, status: None, .. } = read else {
            panic!("{read:?}");
        };
        assert_eq!(error.unwrap(), format!("engine searxng: {told}"));
    }
}

#[test]
fn a_page_is_told_of_by_its_reason_and_a_document_by_its_reader() {
    let said = "reading https://a.example/: broken: asking jina: status 422: CANARY";
    assert_eq!(unread_message("https://a.example/", None, said), "damaged");
    assert_eq!(unread_message("https://a.example/", None, "CANARY"), "it could not be read");
    assert_eq!(unread_message("/srv/docs/a.pdf", None, "it is encrypted"), "it is encrypted");
    let fault = Error::new(ErrorKind::Transient, said)
        .with_reason(FailureReason::Read(ReadFailure::Broken));
    let told = redact_page_error("https://a.example/", fault);
    assert_eq!(told.public_message(), "reading https://a.example/: damaged");
    assert!(told.chain().contains("CANARY"), "the log has all of it");
}

#[test]
fn an_answered_call_has_no_word_that_the_service_of_a_model_chose() {
    let mut step = JournalCall {
        key: "k".to_owned(),
        provider: "model:openai/gpt-5-mini".to_owned(),
        request: serde_json::json!({}),
        state: JournalCallState::Answered(ibid_core::ports::StoredAnswer {
            answer: serde_json::json!({"text": "Cork floats.", "model": "CANARY 10.1.2.3",
                "finish": {"other": "CANARY"}, "refusal": "CANARY"}),
            cost_usd: 0.0,
        }),
    };
    redact_step(&mut step);
    let text = serde_json::to_string(&step.state).unwrap();
    assert_redacted(&text);
    assert!(text.contains("openai/gpt-5-mini") && text.contains("Cork floats."), "{text}");
}
