//! The implementation of each tool.
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetTaskResult, JsonObject, ProgressNotificationParam,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::elicitation::{self, ElicitationMode};
use super::output::{
    McpToolResult, POLL_SECS, coverage_ratio, progress_line, result_json, section,
    structured_result, summary, task_json, text_result,
};
use super::protocol::{McpResult, from_json, to_error_data};
use super::server::McpServer;
use crate::request::ResearchRequest;
use crate::request_service::{CallerRun, CallerService, SubmitOutcome};
use ibid_core::ports::RunCommand;
use ibid_core::record::Run;
use ibid_core::{Error, Kind, Result};
use ibid_report::json::ResultSubtype;
use ibid_report::{json as shown, markdown};

/// Longest wait of a call: hosts cut calls off after 30 seconds or later.
const MAX_WAIT: Duration = Duration::from_secs(25);

/// How long a tool waits for its run by default, seconds.
const DEFAULT_WAIT_SECS: u64 = 20;

/// How long a tool waits for a new run to decide whether it asks questions.
const INTAKE_TIMEOUT: Duration = Duration::from_secs(15);

/// Longest time between two progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Default length of a text result, characters: about 6,000 tokens.
const DEFAULT_RESULT_CHARS: usize = 20_000;

/// Longest order to steer a run, characters.
const MAX_STEER_CHARS: usize = 2_000;

/// Most findings in the result of a run.
const MAX_FINDINGS: usize = 8;
/// Most sources in the result of a run.
const MAX_SOURCES: usize = 12;

/// What the model should do while the questions of a run are with the user.
const NEXT_WHEN_ASKED: &str =
    "the questions are before the user; call research_wait with this run_id";
/// What the model should do with the questions of a run.
const NEXT_WHEN_NOT_ASKED: &str = "put the questions to the user, then call research_wait with this run_id and answers, one text for each; an empty list goes on without";

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
        let name = &*request.name;
        let tools = self.tools();
        let Some(tool) = tools.iter().find(|it| it.name == name) else {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        };
        if let Some(fault) = unknown_argument(tool, &request) {
            return structured_result(Err(fault));
        }
        let resumed = self.elicitations.resume_call(service, &request).await?;
        let arguments = request.arguments.unwrap_or_default();
        let arguments = ToolArguments(&arguments);
        let result = match name {
            "research" => {
                let run = match resumed {
                    Some(run) => Ok(run),
                    None => self.start_research(service, &arguments, context).await,
                };
                match run {
                    Ok(run) => return self.respond_with_run(&run, Duration::ZERO, context).await,
                    Err(fault) => Err(fault),
                }
            }
            "deep_research" | "agentic_search" => {
                let run = match resumed {
                    Some(run) => Ok(run),
                    None => self.start_search(service, name, &arguments, context).await,
                };
                let wait = Duration::from_secs(DEFAULT_WAIT_SECS);
                match run {
                    Ok(run) => return self.respond_with_run(&run, wait, context).await,
                    Err(fault) => Err(fault),
                }
            }
            "research_wait" => match self.wait_for_run(service, &arguments, context).await {
                Ok(FollowOutcome::Asks(form)) => return Ok(form),
                Ok(FollowOutcome::State(state)) => Ok(state),
                Err(fault) => Err(fault),
            },
            "research_result" => self.run_part(service, &arguments).await,
            "search" => return text_result(self.search(service, arguments.text("query")).await),
            "fetch" => return text_result(self.fetch(service, arguments.text("id")).await),
            "check_claims" => self.check_text(service, &arguments).await,
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
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
        let known = run.run().await.map_err(|it| to_error_data(&it))?;
        let clarifies = known.question.as_ref().is_some_and(|it| it.clarify);
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

    /// Starts a run with these fields of a request.
    async fn accept(
        &self,
        service: &CallerService,
        fields: Map<String, Value>,
    ) -> Result<CallerRun> {
        let request = ResearchRequest::parse(&Value::Object(fields), &[])?;
        let question = service.question(&request).await?;
        match service.accept(question, None, None).await? {
            SubmitOutcome::Begun(run) => Ok(run),
            SubmitOutcome::Other | SubmitOutcome::Full => {
                Err(Error::new(Kind::Transient, "too many runs are waiting")
                    .with_hint("try again in a minute"))
            }
        }
    }

    async fn start_research(
        &self,
        service: &CallerService,
        arguments: &ToolArguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallerRun> {
        let mut fields = arguments.pick(&[
            "question", "context", "effort", "engines", "domains", "since", "output", "ask",
        ]);
        self.default_ask(&mut fields, context);
        if let Some(folder) = arguments.0.get("folder") {
            fields.insert("folders".to_owned(), json!([folder]));
        }
        let mut budget = Map::new();
        if let Some(usd) = arguments.0.get("budget_usd") {
            budget.insert("usd".to_owned(), usd.clone());
        }
        if let Some(minutes) = arguments.0.get("max_minutes") {
            let minutes =
                minutes.as_u64().filter(|it| (1..=10_000).contains(it)).ok_or_else(|| {
                    Error::new(Kind::Usage, "max_minutes must be a whole number from 1")
                })?;
            budget.insert("seconds".to_owned(), (minutes * 60).into());
        }
        if !budget.is_empty() {
            fields.insert("budget".to_owned(), budget.into());
        }
        self.accept(service, fields).await
    }

    /// Starts the run of `deep_research` or `agentic_search`.
    async fn start_search(
        &self,
        service: &CallerService,
        name: &str,
        arguments: &ToolArguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallerRun> {
        let mut fields = arguments.pick(&[
            "question",
            "query",
            "context",
            "max_iterations",
            "model",
            "completeness_threshold",
            "ask",
        ]);
        self.default_ask(&mut fields, context);
        if name == "agentic_search" {
            fields.insert("mode".to_owned(), "evidence".into());
            fields.entry("max_iterations").or_insert(3.into());
        }
        self.accept(service, fields).await
    }

    /// Enables clarifying questions if the host supports them, unless the call sets `ask`.
    fn default_ask(&self, fields: &mut Map<String, Value>, context: &RequestContext<RoleServer>) {
        let supported = self.elicitation_mode(context) != ElicitationMode::Unsupported;
        fields.entry("ask").or_insert(supported.into());
    }

    async fn wait_for_run(
        &self,
        service: &CallerService,
        arguments: &ToolArguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<FollowOutcome> {
        let run = service.run(arguments.text("run_id")?).await?;
        let has_ended = run.row().status.ended();
        match arguments.0.get("action").and_then(Value::as_str) {
            None | Some("none") => {}
            Some(word @ ("finish" | "cancel")) if !has_ended => {
                let order = match word {
                    "finish" => RunCommand::Finish,
                    _ => RunCommand::Cancel,
                };
                run.send_order(order).await?;
            }
            Some("finish" | "cancel") => {}
            Some(_) => {
                return Err(Error::new(Kind::Usage, "action must be none, finish or cancel"));
            }
        }
        let steer = arguments.0.get("steer").and_then(Value::as_str).map(str::trim);
        if let Some(words) = steer.filter(|it| !it.is_empty()) {
            let words = words.chars().take(MAX_STEER_CHARS).collect();
            run.send_order(RunCommand::Steer(words)).await?;
        }
        if let Some(answers) = elicitation::parse_answers(arguments.0.get("answers"))? {
            let known = run.run().await?;
            if !known.awaiting_clarification {
                return Err(Error::new(Kind::Usage, "the run is not waiting for answers")
                    .with_hint("omit answers; use steer to add what you want to know"));
            }
            run.send_order(RunCommand::Reply(answers)).await?;
            self.elicitations.mark_asked(run.id());
        }
        let seconds = arguments.0.get("wait_s").and_then(Value::as_u64);
        let seconds = seconds.unwrap_or(DEFAULT_WAIT_SECS);
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
                "wave": known.wave,
                "coverage": coverage_ratio(&known),
                "searches": known.searches,
                "pages": known.pages,
                "evidence": known.evidence,
                "cost_usd": known.usage.usd,
            },
        });
        if let Some(clarified) = elicitation::clarification_json(&known) {
            out["asked_back"] = clarified;
        }
        if !known.status.ended() {
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
        let Some(report) = known.report.as_deref() else {
            out["error"] = result["error"].clone();
            return Ok(out);
        };
        if report.mode == ibid_core::domain::Mode::Evidence {
            for name in ["success", "completeness", "topics", "results"] {
                out[name] = result[name].clone();
            }
            return Ok(out);
        }
        for name in ["trace_id", "answer", "checklist_coverage", "iterations_used", "stop_reason"] {
            out[name] = result[name].clone();
        }
        out["summary"] = summary(report).into();
        out["key_findings"] =
            report.findings.iter().take(MAX_FINDINGS).map(|it| it.claim.text()).collect();
        let sources = report.sources.iter().enumerate().take(MAX_SOURCES);
        out["sources"] = sources
            .map(|(at, it)| {
                json!({"id": format!("src_{}", at + 1), "n": at + 1, "type": it.kind, "title": it.title, "url": it.url})
            })
            .collect();
        out["checks"] = result["checks"].clone();
        out["report_uri"] = format!("ibid://runs/{run}/report.md").into();
        out["next"] = "call research_result with this run_id for the whole text".into();
        Ok(out)
    }

    /// The part of a report that the call names, from `offset` on.
    async fn run_part(
        &self,
        service: &CallerService,
        arguments: &ToolArguments<'_>,
    ) -> McpToolResult {
        let handle = service.run(arguments.text("run_id")?).await?;
        let events = handle.events(0).await?;
        let run = Run::from_events(handle.id().clone(), &events);
        let Some(report) = run.report.as_deref() else {
            let what = if run.status.ended() {
                "the run ended without a report"
            } else {
                "the run has not written its report yet"
            };
            return Err(Error::new(Kind::Usage, what).with_hint("call research_wait first"));
        };
        let part = arguments.0.get("part").and_then(Value::as_str);
        let text = match part.unwrap_or("full") {
            "summary" => summary(report),
            "full" => markdown::report_body(report, true),
            "sources" => serde_json::to_string_pretty(&report.sources).unwrap_or_default(),
            "evidence" => ibid_report::evidence::to_jsonl(&events),
            other => section(report, other)?,
        };
        let number = |name: &str, default: usize| {
            let value = arguments.0.get(name).and_then(Value::as_u64);
            value.map_or(default, |it| it as usize)
        };
        let offset = number("offset", 0);
        let limit = number("max_chars", DEFAULT_RESULT_CHARS).clamp(100, 100_000);
        let total = text.chars().count();
        let piece: String = text.chars().skip(offset).take(limit).collect();
        let next = offset + piece.chars().count();
        Ok(json!({
            "text": piece,
            "next_offset": (next < total).then_some(next),
            "total_chars": total,
        }))
    }

    async fn check_text(
        &self,
        service: &CallerService,
        arguments: &ToolArguments<'_>,
    ) -> McpToolResult {
        service.check(arguments.text("text")?).await
    }

    /// Responds with the run as a task.
    async fn create_task(&self, run: &CallerRun) -> McpResult<CallToolResponse> {
        let known = run.run().await.map_err(|it| to_error_data(&it))?;
        let mut task = task_json(&known);
        task["resultType"] = "task".into();
        Ok(CallToolResponse::Task(from_json(task)?))
    }

    /// The task of the run `id`, with its result once it is completed.
    ///
    /// # Errors
    /// If the run does not exist for this caller.
    pub(super) async fn task(&self, service: &CallerService, id: &str) -> McpResult<GetTaskResult> {
        let run = service.run(id).await.map_err(|it| to_error_data(&it))?;
        let known = run.run().await.map_err(|it| to_error_data(&it))?;
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
        let run = service.run(id).await.map_err(|it| to_error_data(&it))?;
        if run.row().status.ended() {
            return Ok(());
        }
        run.send_order(RunCommand::Cancel).await.map_err(|it| to_error_data(&it))
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
    context.client_capabilities().is_some_and(|it| it.supports_tasks())
}

/// The error for an argument that the tool does not have. Ignoring it could widen a search that the caller meant to narrow.
fn unknown_argument(tool: &Tool, request: &CallToolRequestParams) -> Option<Error> {
    let known = tool.input_schema.get("properties")?.as_object()?;
    let mut given = request.arguments.iter().flat_map(|it| it.keys());
    let name = given.find(|name| !known.contains_key(*name))?;
    let what = format!("{name}: {} takes no such argument", tool.name);
    let all: Vec<&str> = known.keys().map(String::as_str).collect();
    Some(Error::new(Kind::Usage, what).with_hint(format!("it takes {}", all.join(", "))))
}

/// The arguments of a call.
struct ToolArguments<'a>(&'a JsonObject);

impl ToolArguments<'_> {
    /// The arguments with these names.
    fn pick(&self, names: &[&str]) -> Map<String, Value> {
        let named = self.0.iter().filter(|it| names.contains(&it.0.as_str()));
        named.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The text argument `name`, trimmed.
    ///
    /// # Errors
    /// `Usage` if it is missing, empty or no text.
    fn text(&self, name: &str) -> Result<&str> {
        let text = self.0.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|it| !it.is_empty())
            .ok_or_else(|| Error::new(Kind::Usage, format!("{name} must be a text")))
    }
}
