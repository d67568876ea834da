//! What each tool does.
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetTaskResult, JsonObject, ProgressNotificationParam,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::asking::{self, Way};
use super::said::{covered, progress, result, section, summary, task, told, worded};
use super::{Answer, Mcp, fault, made};
use crate::error::{Error, Kind, Result};
use crate::record::Run;
use crate::seams::Order;
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::{CallerRun, CallerService, Submitted};
use crate::surfaces::export::json::Subtype;
use crate::surfaces::export::{self, json as shown, markdown};

/// The longest a call may take: hosts cut calls off after 30 seconds and more.
pub(super) const MOST: Duration = Duration::from_secs(25);

/// How long a tool waits for its run by itself.
const WAIT: Duration = Duration::from_secs(20);

/// How long a tool that starts a run waits to hear whether it asks back.
const UNDERSTOOD: Duration = Duration::from_secs(15);

/// How often progress is told at least.
const BEAT: Duration = Duration::from_secs(5);

/// Seconds after which to ask again.
pub(super) const POLL: u64 = 5;

/// Longest text of a result, characters: about 6,000 tokens.
const LONGEST: usize = 20_000;

/// Findings and sources of a summary.
const FINDINGS: usize = 8;
const SOURCES: usize = 12;

/// What a tool has to say: structured, and whether it is a fault.
pub(super) type Said = Result<Value>;

impl Mcp {
    pub(super) async fn call(
        &self,
        service: &CallerService,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let name = &*request.name;
        let tools = self.tools();
        let Some(tool) = tools.iter().find(|it| it.name == name) else {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        };
        if let Some(fault) = unknown(tool, &request) {
            return told(Err(fault));
        }
        let again = self.said_again(service, &request).await?;
        let arguments = request.arguments.unwrap_or_default();
        let it = Arguments(&arguments);
        let said = match name {
            "research" => {
                let run = match again {
                    Some(run) => Ok(run),
                    None => self.research(service, &it, context).await,
                };
                match run {
                    Ok(run) => return self.begun(&run, Duration::ZERO, context).await,
                    Err(fault) => Err(fault),
                }
            }
            "deep_research" | "agentic_search" => {
                let run = match again {
                    Some(run) => Ok(run),
                    None => self.asked(service, name, &it, context).await,
                };
                match run {
                    Ok(run) => return self.begun(&run, WAIT, context).await,
                    Err(fault) => Err(fault),
                }
            }
            "research_wait" => match self.wait(service, &it, context).await {
                Ok(Followed::Asks(it)) => return Ok(it),
                Ok(Followed::Stands(it)) => Ok(it),
                Err(fault) => Err(fault),
            },
            "research_result" => self.part(service, &it).await,
            "search" => return worded(self.search(service, it.text("query")).await),
            "fetch" => return worded(self.fetch(service, it.text("id")).await),
            "check_claims" => self.check(service, &it).await,
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        told(said)
    }

    /// What is said of a run that has begun: after `most`, or as a task, where the host takes these. What it asks back is asked
    /// before.
    async fn begun(
        &self,
        run: &CallerRun,
        most: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let task = tasks(context);
        let known = run.run().await.map_err(|it| fault(&it))?;
        let clarifies = known.question.as_ref().is_some_and(|it| it.clarify);
        let until = match (task || most.is_zero(), clarifies) {
            // Who can be asked is asked before the task stands; whether to ask is the first thing that a run decides.
            (true, true) if self.way(context) != Way::Told => Until::Understood,
            _ if task => return self.made_task(run).await,
            _ => Until::Ended(most),
        };
        match self.followed(run, until, context).await {
            Ok(Followed::Asks(it)) => Ok(it),
            Ok(Followed::Stands(_)) if task => self.made_task(run).await,
            Ok(Followed::Stands(it)) => told(Ok(it)),
            Err(fault) => told(Err(fault)),
        }
    }

    /// Accepts what was asked, or says that too many wait.
    async fn accepted(
        &self,
        service: &CallerService,
        asked: Map<String, Value>,
    ) -> Result<CallerRun> {
        let asked = Asked::parse(&Value::Object(asked), &[])?;
        let question = service.question(&asked).await?;
        match service.accept(question, None, None).await? {
            Submitted::Begun(run) => Ok(run),
            Submitted::Other | Submitted::Full => {
                Err(Error::new(Kind::Transient, "too many runs wait already")
                    .hint("try again in a minute"))
            }
        }
    }

    async fn research(
        &self,
        service: &CallerService,
        it: &Arguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallerRun> {
        let mut asked = it.some(&[
            "question", "context", "effort", "engines", "domains", "since", "output", "ask",
        ]);
        self.ask_by_default(&mut asked, context);
        if let Some(folder) = it.0.get("folder") {
            asked.insert("folders".to_owned(), json!([folder]));
        }
        let mut budget = Map::new();
        if let Some(usd) = it.0.get("budget_usd") {
            budget.insert("usd".to_owned(), usd.clone());
        }
        if let Some(minutes) = it.0.get("max_minutes") {
            let minutes = minutes
                .as_u64()
                .filter(|it| (1..=10_000).contains(it))
                .ok_or_else(|| {
                    Error::new(Kind::Usage, "max_minutes must be a whole number from 1")
                })?;
            budget.insert("seconds".to_owned(), (minutes * 60).into());
        }
        if !budget.is_empty() {
            asked.insert("budget".to_owned(), budget.into());
        }
        self.accepted(service, asked).await
    }

    /// Rows B1 and D1.
    async fn asked(
        &self,
        service: &CallerService,
        name: &str,
        it: &Arguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallerRun> {
        let mut asked = it.some(&[
            "question",
            "query",
            "context",
            "max_iterations",
            "model",
            "completeness_threshold",
            "ask",
        ]);
        self.ask_by_default(&mut asked, context);
        if name == "agentic_search" {
            asked.insert("mode".to_owned(), "evidence".into());
            asked.entry("max_iterations").or_insert(3.into());
        }
        self.accepted(service, asked).await
    }

    /// What is unclear is asked back where the host can put it to somebody, unless the call says otherwise.
    fn ask_by_default(&self, asked: &mut Map<String, Value>, context: &RequestContext<RoleServer>) {
        let can = self.way(context) != Way::Told;
        asked.entry("ask").or_insert(can.into());
    }

    async fn wait(
        &self,
        service: &CallerService,
        it: &Arguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Followed> {
        let run = service.run(it.text("run_id")?).await?;
        let has_ended = run.row().status.ended();
        match it.0.get("action").and_then(Value::as_str) {
            None | Some("none") => {}
            Some(word @ ("finish" | "cancel")) if !has_ended => {
                let order = match word {
                    "finish" => Order::Finish,
                    _ => Order::Cancel,
                };
                run.order(order).await?;
            }
            Some("finish" | "cancel") => {}
            Some(_) => {
                return Err(Error::new(
                    Kind::Usage,
                    "action must be none, finish or cancel",
                ));
            }
        }
        let wish = it.0.get("steer").and_then(Value::as_str).map(str::trim);
        if let Some(words) = wish.filter(|it| !it.is_empty()) {
            let words = words.chars().take(2_000).collect();
            run.order(Order::Steer(words)).await?;
        }
        if let Some(answers) = asking::given(it.0.get("answers"))? {
            let known = run.run().await?;
            if !known.awaiting_clarification {
                return Err(Error::new(Kind::Usage, "the run asks nothing just now")
                    .hint("leave answers out; steer tells it what you want to know besides"));
            }
            run.order(Order::Reply(answers)).await?;
            self.open.heard(run.id());
        }
        let seconds = it.0.get("wait_s").and_then(Value::as_u64).unwrap_or(20);
        let most = Duration::from_secs(seconds).min(MOST);
        self.followed(&run, Until::Ended(most), context).await
    }

    /// The run as it stands once it has come so far, or after so long; progress is told and what it asks back is asked meanwhile.
    async fn followed(
        &self,
        run: &CallerRun,
        until: Until,
        context: &RequestContext<RoleServer>,
    ) -> Result<Followed> {
        let last = Instant::now() + until.most();
        let token = context.meta.get_progress_token();
        let way = self.way(context);
        let mut story = run.follow(0);
        let mut known = Run::new(run.id().clone());
        let mut step = 0.0;
        while !until.is_reached(&known) && Instant::now() < last {
            let beat = (Instant::now() + BEAT).min(last);
            match tokio::time::timeout_at(beat, story.next()).await {
                Ok(Ok(Some(batch))) => batch.iter().for_each(|it| known.apply(it)),
                Ok(Ok(None)) => break,
                Ok(Err(fault)) => return Err(fault),
                Err(_) => {}
            }
            if let Some(asks) = asking::asks(&known).filter(|_| !self.open.is_heard(run.id())) {
                match way {
                    Way::Result => return asking::as_result(run.id(), asks).map(Followed::Asks),
                    Way::Request => self.ask_over(run, asks, &context.peer),
                    Way::Told => break,
                }
            }
            if let Some(token) = &token {
                step += 1.0;
                let told = ProgressNotificationParam::new(token.clone(), step)
                    .with_message(progress(&known));
                // Who no longer listens has gone away; the run goes on.
                let _ = context.peer.notify_progress(told).await;
            }
        }
        self.state(run).await.map(Followed::Stands)
    }

    /// Where a run stands; of an ended one, what it comes to.
    async fn state(&self, of: &CallerRun) -> Said {
        let known = of.run().await?;
        let run = of.id();
        let mut out = json!({
            "run_id": run,
            "status": known.status,
            "progress": {
                "phase": known.phase,
                "wave": known.wave,
                "coverage": covered(&known),
                "searches": known.searches,
                "pages": known.pages,
                "evidence": known.evidence,
                "cost_usd": known.usage.usd,
            },
        });
        if let Some(said) = asking::said(&known) {
            out["asked_back"] = said;
        }
        if !known.status.ended() {
            out["poll_after_s"] = POLL.into();
            out["next"] = "call research_wait with this run_id".into();
            if let Some(asks) = asking::asks(&known) {
                out["questions"] = json!(asks);
                out["next"] = match self.open.is_heard(run) {
                    true => "the questions are before the user; call research_wait with this run_id",
                    false => "put the questions to the user, then call research_wait with this run_id and answers, one text for each; an empty list goes on without",
                }
                .into();
            }
            return Ok(out);
        }
        let pages = of.pages(known.report.as_deref()).await?;
        let result = shown::result(&known, Subtype::of(&known), &pages, false);
        let Some(report) = known.report.as_deref() else {
            out["error"] = result["error"].clone();
            return Ok(out);
        };
        if report.mode == crate::domain::Mode::Evidence {
            for name in ["success", "completeness", "topics", "results"] {
                out[name] = result[name].clone();
            }
            return Ok(out);
        }
        for name in [
            "trace_id",
            "answer",
            "checklist_coverage",
            "iterations_used",
            "stop_reason",
        ] {
            out[name] = result[name].clone();
        }
        out["summary"] = summary(report).into();
        out["key_findings"] = report
            .findings
            .iter()
            .take(FINDINGS)
            .map(|it| it.claim.text())
            .collect();
        let sources = report.sources.iter().enumerate().take(SOURCES);
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

    async fn part(&self, service: &CallerService, it: &Arguments<'_>) -> Said {
        let of = service.run(it.text("run_id")?).await?;
        let events = of.events(0).await?;
        let run = Run::of(of.id().clone(), &events);
        let Some(report) = run.report.as_deref() else {
            let what = match run.status.ended() {
                true => "the run ended without a report",
                false => "the run has not written its report yet",
            };
            return Err(Error::new(Kind::Usage, what).hint("call research_wait first"));
        };
        let wanted = it.0.get("part").and_then(Value::as_str).unwrap_or("full");
        let text = match wanted {
            "summary" => summary(report),
            "full" => markdown::article(report, true),
            "sources" => serde_json::to_string_pretty(&report.sources).unwrap_or_default(),
            "evidence" => export::evidence::lines(&events),
            other => section(report, other)?,
        };
        let number = |name: &str, or: usize| {
            it.0.get(name)
                .and_then(Value::as_u64)
                .map_or(or, |it| it as usize)
        };
        let (offset, most) = (
            number("offset", 0),
            number("max_chars", LONGEST).clamp(100, 100_000),
        );
        let total = text.chars().count();
        let piece: String = text.chars().skip(offset).take(most).collect();
        let next = offset + piece.chars().count();
        Ok(json!({
            "text": piece,
            "next_offset": (next < total).then_some(next),
            "total_chars": total,
        }))
    }

    async fn check(&self, service: &CallerService, it: &Arguments<'_>) -> Said {
        service.check(it.text("text")?).await
    }

    /// A run as a task: durable before anybody hears of it.
    async fn made_task(&self, run: &CallerRun) -> Answer<CallToolResponse> {
        let known = run.run().await.map_err(|it| fault(&it))?;
        let mut task = task(&known);
        task["resultType"] = "task".into();
        Ok(CallToolResponse::Task(made(task)?))
    }

    pub(super) async fn task(&self, service: &CallerService, id: &str) -> Answer<GetTaskResult> {
        let run = service.run(id).await.map_err(|it| fault(&it))?;
        let known = run.run().await.map_err(|it| fault(&it))?;
        let mut task = task(&known);
        if task["status"] == "completed" {
            let state = self.state(&run).await;
            task["result"] = result(state);
            task["result"]["resultType"] = "complete".into();
        }
        made(task)
    }

    pub(super) async fn stop_task(&self, service: &CallerService, id: &str) -> Answer<()> {
        let run = service.run(id).await.map_err(|it| fault(&it))?;
        if run.row().status.ended() {
            return Ok(());
        }
        run.order(Order::Cancel).await.map_err(|it| fault(&it))
    }
}

/// How far a run is followed.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// Until it is known whether it asks back.
    Understood,
    /// Until its end, or so long.
    Ended(Duration),
}

impl Until {
    fn most(self) -> Duration {
        match self {
            Until::Understood => UNDERSTOOD,
            Until::Ended(most) => most,
        }
    }

    fn is_reached(self, run: &Run) -> bool {
        let understood = matches!(self, Until::Understood) && run.brief.is_some();
        understood || run.status.ended()
    }
}

/// What came of following a run.
enum Followed {
    /// It asks back, and this is the question.
    Asks(CallToolResponse),
    /// Where it stands.
    Stands(Value),
}

/// Whether the client can be given a task.
fn tasks(context: &RequestContext<RoleServer>) -> bool {
    context
        .client_capabilities()
        .is_some_and(|it| it.supports_tasks())
}

/// A fault where an argument is given that the tool does not take: one that narrows what is searched must not be passed over.
fn unknown(tool: &Tool, request: &CallToolRequestParams) -> Option<Error> {
    let takes = tool.input_schema.get("properties")?.as_object()?;
    let mut given = request.arguments.iter().flat_map(|it| it.keys());
    let name = given.find(|it| !takes.contains_key(*it))?;
    let what = format!("{name}: {} takes no such argument", tool.name);
    let all: Vec<&str> = takes.keys().map(String::as_str).collect();
    Some(Error::new(Kind::Usage, what).hint(format!("it takes {}", all.join(", "))))
}

/// The arguments of a call.
struct Arguments<'a>(&'a JsonObject);

impl Arguments<'_> {
    fn some(&self, names: &[&str]) -> Map<String, Value> {
        let named = self.0.iter().filter(|it| names.contains(&it.0.as_str()));
        named
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn text(&self, name: &str) -> Result<&str> {
        let it = self.0.get(name).and_then(Value::as_str).map(str::trim);
        it.filter(|it| !it.is_empty())
            .ok_or_else(|| Error::new(Kind::Usage, format!("{name} must be a text")))
    }
}
