//! The implementation of each tool.
use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetTaskResult, ProgressNotificationParam,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::arguments::{
    AgenticSearchInput, ClaimsInput, FetchInput, ResultInput, SearchInput, StartInput, WaitAction,
    WaitInput,
};
use super::elicitation::{self, ElicitationMode};
use super::output::{
    McpToolResult, POLL_SECS, coverage_ratio, progress_line, result_json, section,
    structured_result, summary, task_json, text_piece, text_result,
};
use super::protocol::{McpResult, from_json, to_error_data};
use super::server::McpServer;
use crate::request::{ResearchRequest, read_fields};
use crate::request_service::{CallerRun, CallerService, SubmitOutcome};
use ibid_core::domain::{OutputMode, Report, SourceId};
use ibid_core::ports::RunCommand;
use ibid_core::record::{Envelope, Event, Run};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::json::ResultSubtype;
use ibid_report::{evidence, json as shown, markdown};

/// Longest wait of a call: hosts cut calls off after 30 seconds or later.
const MAX_WAIT: Duration = Duration::from_secs(25);

/// How long a tool waits for its run by default, in seconds.
const DEFAULT_WAIT_SECS: u64 = 20;

/// How long a tool waits for a new run to decide whether it asks questions.
const INTAKE_TIMEOUT: Duration = Duration::from_secs(15);

/// Longest time between two progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum length of the text of a steer command, in characters.
const MAX_STEER_CHARS: usize = 2_000;

/// Maximum number of findings in the result of a run.
const MAX_FINDINGS: usize = 8;

/// What the model should do while the questions of a run are with the user.
const NEXT_WHEN_ASKED: &str =
    "the questions were shown to the user; call research_wait with this run_id";
/// What the model should do with the questions of a run.
const NEXT_WHEN_NOT_ASKED: &str = "ask the user these questions, then call research_wait with this run_id and answers, one per question; an empty list skips them";

impl McpServer {
    /// Runs the tool that `request` names.
    ///
    /// # Errors
    /// `invalid_params` for an unknown tool. Failures of a tool are results, not errors.
    pub(super) async fn call(
        &self,
        service: &CallerService,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> McpResult<CallToolResponse> {
        if !self.tools().iter().any(|tool| tool.name == request.name) {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        let resumed = self.elicitations.resume_call(service, &request).await?;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match &*request.name {
            name @ ("research" | "deep_research" | "agentic_search") => {
                let wait = match name {
                    "research" => Duration::ZERO,
                    _ => Duration::from_secs(DEFAULT_WAIT_SECS),
                };
                let run = match (resumed, research_request(name, arguments)) {
                    (_, Err(fault)) => Err(fault),
                    (Some(run), Ok(_)) => Ok(run),
                    (None, Ok(request)) => self.start(service, request, context).await,
                };
                match run {
                    Ok(run) => return self.respond_with_run(&run, wait, context).await,
                    Err(fault) => Err(fault),
                }
            }
            "research_wait" => match self.wait_for_run(service, arguments, context).await {
                Ok(FollowOutcome::Asks(form)) => return Ok(form),
                Ok(FollowOutcome::State(state)) => Ok(state),
                Err(fault) => Err(fault),
            },
            "research_result" => self.run_part(service, arguments).await,
            "search" => {
                return text_result(match read_fields::<SearchInput>(arguments) {
                    Ok(input) => self.search(service, &input.query).await,
                    Err(fault) => Err(fault.into()),
                });
            }
            "fetch" => {
                return text_result(match read_fields::<FetchInput>(arguments) {
                    Ok(input) => self.fetch(service, &input).await,
                    Err(fault) => Err(fault.into()),
                });
            }
            "check_claims" => match read_fields::<ClaimsInput>(arguments) {
                Ok(input) => service.check(&input.text).await,
                Err(fault) => Err(fault.into()),
            },
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        structured_result(result)
    }

    /// Responds to a call that started a run: with a task if the host supports tasks, else with the state after `wait`. Sends the
    /// run's clarifying questions first.
    async fn respond_with_run(
        &self,
        run: &CallerRun,
        wait: Duration,
        context: &RequestContext<RoleServer>,
    ) -> McpResult<CallToolResponse> {
        let task = supports_tasks(context);
        let known = run.run().await.map_err(|error| to_error_data(&error))?;
        let clarifies = known.question.as_ref().is_some_and(|question| question.clarify);
        let until = match (task || wait.is_zero(), clarifies) {
            // Ask before the task is created. Whether to ask is the first decision of a run.
            (true, true) if self.elicitation_mode(context) != ElicitationMode::Unsupported => {
                FollowUntil::Understood
            }
            _ if task => return self.create_task(run).await,
            _ => FollowUntil::Ended(wait),
        };
        match self.follow(run, until, context).await {
            Ok(FollowOutcome::Asks(form)) => Ok(form),
            Ok(FollowOutcome::State(_)) if task => self.create_task(run).await,
            Ok(FollowOutcome::State(state)) => structured_result(Ok(state)),
            Err(fault) => structured_result(Err(fault)),
        }
    }

    fn elicitation_mode(&self, context: &RequestContext<RoleServer>) -> ElicitationMode {
        ElicitationMode::for_client(context, self.is_local())
    }

    /// Starts a run. It asks clarifying questions if the host supports them, unless the call sets `ask`.
    async fn start(
        &self,
        service: &CallerService,
        mut request: ResearchRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallerRun> {
        let asks = self.elicitation_mode(context) != ElicitationMode::Unsupported;
        request.ask.get_or_insert(asks);
        if let Some(url) = &request.webhook_url {
            // Nothing sends them over stdio.
            if self.is_local() {
                request.require_no_webhook()?;
            }
            service.check_webhook_url(url)?;
        }
        let question = service.question(&request).await?;
        match service.accept(question, request.extras(), None).await? {
            SubmitOutcome::Started(run) => Ok(run),
            SubmitOutcome::Other | SubmitOutcome::Full => {
                Err(Error::new(ErrorKind::Transient, "too many runs are waiting")
                    .with_hint("try again in a minute"))
            }
        }
    }

    async fn wait_for_run(
        &self,
        service: &CallerService,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<FollowOutcome> {
        let input: WaitInput = read_fields(arguments)?;
        let run = service.run(&input.run_id).await?;
        let command = match input.action {
            None | Some(WaitAction::None) => None,
            Some(WaitAction::Finish) => Some(RunCommand::Finish),
            Some(WaitAction::Cancel) => Some(RunCommand::Cancel),
        };
        if let Some(command) = command.filter(|_| !run.row().status.ended()) {
            run.send_command(command).await?;
        }
        if let Some(words) = input.steer {
            let words = words.chars().take(MAX_STEER_CHARS).collect();
            run.send_command(RunCommand::Steer(words)).await?;
        }
        if let Some(answers) = input.answers {
            let answers = elicitation::cut_answers(&answers)?;
            let known = run.run().await?;
            if !known.awaiting_clarification {
                return Err(Error::new(ErrorKind::Usage, "the run is not waiting for answers")
                    .with_hint("omit answers; use steer to add what you want to know"));
            }
            run.send_command(RunCommand::Reply(answers)).await?;
            self.elicitations.mark_asked(run.id());
        }
        let seconds = input.wait_s.unwrap_or(DEFAULT_WAIT_SECS);
        let wait = Duration::from_secs(seconds).min(MAX_WAIT);
        self.follow(&run, FollowUntil::Ended(wait), context).await
    }

    /// Follows the run until `until` is reached, then returns its state. Meanwhile sends progress notifications and clarifying
    /// questions.
    async fn follow(
        &self,
        run: &CallerRun,
        until: FollowUntil,
        context: &RequestContext<RoleServer>,
    ) -> Result<FollowOutcome> {
        let deadline = Instant::now() + until.timeout();
        let token = context.meta.get_progress_token();
        let mode = self.elicitation_mode(context);
        let mut events = run.follow(0);
        let mut known = Run::new(run.id().clone());
        let mut step = 0.0;
        while !until.is_reached(&known) && Instant::now() < deadline {
            let next_progress = (Instant::now() + PROGRESS_INTERVAL).min(deadline);
            match tokio::time::timeout_at(next_progress, events.next()).await {
                Ok(Ok(Some(batch))) => batch.iter().for_each(|it| known.apply(it)),
                Ok(Ok(None)) => break,
                Ok(Err(fault)) => return Err(fault),
                Err(_) => {}
            }
            if let Some(asks) = elicitation::pending_questions(&known)
                .filter(|_| !self.elicitations.is_asked(run.id()))
            {
                match mode {
                    ElicitationMode::Result => {
                        return elicitation::input_required(run.id(), asks)
                            .map(FollowOutcome::Asks);
                    }
                    ElicitationMode::Request => {
                        self.elicitations.elicit(run, asks, &context.peer);
                    }
                    ElicitationMode::Unsupported => break,
                }
            }
            if let Some(token) = &token {
                step += 1.0;
                let progress = ProgressNotificationParam::new(token.clone(), step)
                    .with_message(progress_line(&known));
                // A client that has gone away does not stop the run.
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        self.run_state(run).await.map(FollowOutcome::State)
    }

    /// The state of a run, and its result if it has ended.
    async fn run_state(&self, handle: &CallerRun) -> McpToolResult {
        let known = handle.run().await?;
        let run = handle.id();
        let mut out = json!({
            "run_id": run,
            "status": known.status,
            "progress": {
                "phase": known.phase,
                "wave": known.round,
                "coverage": coverage_ratio(&known),
                "searches": known.searches,
                "pages": known.pages,
                "evidence": known.evidence,
                "cost_usd": known.usage.usd,
                "charged_usd_at_most": known.charged_usd_at_most(),
            },
        });
        if let Some(clarified) = elicitation::clarification_json(&known) {
            out["asked_back"] = clarified;
        }
        let mode = known.question.as_ref().map(|question| question.mode);
        if mode == Some(OutputMode::Evidence) {
            let view = match known.report.as_deref() {
                Some(report) => evidence::to_json(report, known.plan.as_ref()),
                None => evidence::to_json_so_far(&known, &handle.events(0).await?),
            };
            for name in ["success", "completeness", "topics", "results"] {
                out[name] = view[name].clone();
            }
        }
        if !known.status.ended() {
            out["trace_id"] = run.uuid().into();
            if mode != Some(OutputMode::Evidence) {
                out["checklist_coverage"] = shown::checklist_coverage(&known);
                out["sources"] = sources_so_far(&known, &handle.events(0).await?);
            }
            out["poll_after_s"] = POLL_SECS.into();
            out["next"] = "call research_wait with this run_id".into();
            if let Some(asks) = elicitation::pending_questions(&known) {
                out["questions"] = json!(asks);
                out["next"] = if self.elicitations.is_asked(run) {
                    NEXT_WHEN_ASKED.into()
                } else {
                    NEXT_WHEN_NOT_ASKED.into()
                };
            }
            return Ok(out);
        }
        let pages = handle.pages(known.report.as_deref()).await?;
        let result = shown::result(&known, ResultSubtype::from_run(&known), &pages, false);
        for name in ["status", "trace_id", "stop_reason"] {
            out[name] = result[name].clone();
        }
        if !result["error"].is_null() {
            out["error"] = result["error"].clone();
        }
        if mode == Some(OutputMode::Evidence) {
            return Ok(out);
        }
        for name in
            ["answer", "one_line_answer", "checklist_coverage", "iterations_used", "sources"]
        {
            out[name] = result[name].clone();
        }
        if let Some(report) = known.report.as_deref() {
            add_report(&mut out, report, &result);
        }
        Ok(out)
    }

    /// The part of a report that the call names, from `offset` on.
    async fn run_part(&self, service: &CallerService, arguments: Value) -> McpToolResult {
        let input: ResultInput = read_fields(arguments)?;
        let handle = service.run(&input.run_id).await?;
        let events = handle.events(0).await?;
        let run = Run::from_events(handle.id().clone(), &events);
        let Some(report) = run.report.as_deref() else {
            let what = if run.status.ended() {
                "the run ended without a report"
            } else {
                "the run has not written its report yet"
            };
            return Err(Error::new(ErrorKind::Usage, what).with_hint("call research_wait first"));
        };
        let text = match input.part.as_deref().unwrap_or("full") {
            "summary" => summary(report),
            "full" => markdown::report_body(report, true),
            "sources" => serde_json::to_string_pretty(&report.sources).unwrap_or_default(),
            "evidence" => evidence::to_jsonl(&events),
            other => section(report, other)?,
        };
        Ok(text_piece(&text, input.offset, input.max_chars))
    }

    /// Responds with the run as a task.
    async fn create_task(&self, run: &CallerRun) -> McpResult<CallToolResponse> {
        let known = run.run().await.map_err(|error| to_error_data(&error))?;
        let mut task = task_json(&known);
        task["resultType"] = "task".into();
        Ok(CallToolResponse::Task(from_json(task)?))
    }

    /// The task of the run `id`, with its result once it is completed.
    ///
    /// # Errors
    /// If the run does not exist for this caller.
    pub(super) async fn task(&self, service: &CallerService, id: &str) -> McpResult<GetTaskResult> {
        let run = service.run(id).await.map_err(|error| to_error_data(&error))?;
        let known = run.run().await.map_err(|error| to_error_data(&error))?;
        let mut task = task_json(&known);
        if task["status"] == "completed" {
            let state = self.run_state(&run).await;
            task["result"] = result_json(state);
            task["result"]["resultType"] = "complete".into();
        }
        from_json(task)
    }

    /// Cancels the run `id`. Does nothing if it has ended.
    ///
    /// # Errors
    /// If the run does not exist for this caller.
    pub(super) async fn stop_task(&self, service: &CallerService, id: &str) -> McpResult<()> {
        let run = service.run(id).await.map_err(|error| to_error_data(&error))?;
        if run.row().status.ended() {
            return Ok(());
        }
        run.send_command(RunCommand::Cancel).await.map_err(|error| to_error_data(&error))
    }
}

/// How far a run is followed.
#[derive(Debug, Clone, Copy)]
enum FollowUntil {
    /// Until it has decided whether to ask questions.
    Understood,
    /// Until it ends, at most this long.
    Ended(Duration),
}

impl FollowUntil {
    fn timeout(self) -> Duration {
        match self {
            FollowUntil::Understood => INTAKE_TIMEOUT,
            FollowUntil::Ended(wait) => wait,
        }
    }

    fn is_reached(self, run: &Run) -> bool {
        let understood = matches!(self, FollowUntil::Understood) && run.brief.is_some();
        understood || run.status.ended()
    }
}

/// The outcome of following a run.
enum FollowOutcome {
    /// It asks questions: the form for the host.
    Asks(CallToolResponse),
    /// Its state.
    State(Value),
}

/// Whether the client supports tasks.
fn supports_tasks(context: &RequestContext<RoleServer>) -> bool {
    context
        .client_capabilities()
        .is_some_and(|client_capabilities| client_capabilities.supports_tasks())
}

/// The request of a tool that starts a run. An unknown argument is an error: ignoring it could widen a search that the caller meant to
/// narrow.
fn research_request(tool: &str, arguments: Value) -> Result<ResearchRequest> {
    match tool {
        "research" => read_fields::<StartInput>(arguments)?.try_into(),
        "agentic_search" => Ok(read_fields::<AgenticSearchInput>(arguments)?.into()),
        _ => ResearchRequest::parse(arguments),
    }
}

/// Adds the parts of `report` that hosts show, and where the rest of it is.
fn add_report(out: &mut Value, report: &Report, result: &Value) {
    out["summary"] = summary(report).into();
    out["key_findings"] =
        report.findings.iter().take(MAX_FINDINGS).map(|finding| finding.claim.text()).collect();
    let sources = result["sources"].as_array().into_iter().flatten();
    out["sources"] = sources
        .map(|source| {
            let fields = ["id", "n", "type", "title", "url", "snippet"];
            fields.into_iter().map(|name| (name, source[name].clone())).collect::<Value>()
        })
        .collect();
    out["checks"] = result["checks"].clone();
    out["report_uri"] = format!("ibid://runs/{}/report.md", report.run).into();
    out["next"] = "call research_result with this run_id for the whole text".into();
}

/// The sources that were read so far, each with the first sentence that was taken from it.
fn sources_so_far(run: &Run, events: &[Envelope]) -> Value {
    let mut snippets: BTreeMap<SourceId, String> = BTreeMap::new();
    for it in events {
        if let Event::EvidenceAdded { evidence } = &it.event {
            let text = || evidence.passage.text().expose().to_owned();
            snippets.entry(evidence.source).or_insert_with(text);
        }
    }
    run.sources
        .iter()
        .map(|source| {
            json!({
                "id": source.id, "type": source.kind, "title": source.title, "url": source.url,
                "snippet": snippets.get(&source.id),
            })
        })
        .collect()
}
