//! What each tool does.
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, GetTaskResult, JsonObject, ProgressNotificationParam};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::said::{covered, id, progress, result, section, summary, task, told, worded};
use super::{Answer, Mcp, fault, made};
use crate::app::Filter;
use crate::domain::{Hit, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Run, RunStatus};
use crate::seams::Order;
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::Caller;
use crate::surfaces::export::json::Subtype;
use crate::surfaces::export::{self, audit, json as shown, markdown};

/// The longest a call may take: hosts cut calls off after 30 seconds and more.
pub(super) const MOST: Duration = Duration::from_secs(25);

/// How long a tool waits for its run by itself.
const WAIT: Duration = Duration::from_secs(20);

/// How often progress is told at least.
const BEAT: Duration = Duration::from_secs(5);

/// Seconds after which to ask again.
pub(super) const POLL: u64 = 5;

/// Longest text of a result, characters: about 6,000 tokens.
const LONGEST: usize = 20_000;

/// Findings and sources of a summary.
const FINDINGS: usize = 8;
const SOURCES: usize = 12;

/// Results of a search, and how many of them `fetch` still knows.
const FOUND: usize = 10;
const KNOWN: usize = 1_000;

/// What a tool has to say: structured, and whether it is a fault.
pub(super) type Said = Result<Value>;

impl Mcp {
    pub(super) async fn call(
        &self,
        caller: &Caller,
        name: &str,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let it = Arguments(&arguments);
        let offered = self.tools().iter().any(|it| it.name == name);
        let said = match name {
            _ if !offered => return Err(ErrorData::invalid_params("there is no such tool", None)),
            "research" => match self.research(caller, &it).await {
                Ok(run) if tasks(context) => return self.made_task(&run).await,
                Ok(run) => self.state(&run).await,
                Err(fault) => Err(fault),
            },
            "deep_research" | "agentic_search" => match self.asked(caller, name, &it).await {
                Ok(run) if tasks(context) => return self.made_task(&run).await,
                Ok(run) => self.followed(&run, WAIT, context).await,
                Err(fault) => Err(fault),
            },
            "research_wait" => self.wait(caller, &it, context).await,
            "research_result" => self.part(caller, &it).await,
            "search" => return worded(self.search(caller, &it).await),
            "fetch" => return worded(self.fetch(caller, &it).await),
            "check_claims" => self.check(&it).await,
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        told(said)
    }

    /// Accepts what was asked, or says that too many wait.
    async fn accepted(&self, caller: &Caller, asked: Map<String, Value>) -> Result<RunId> {
        let asked = Asked::parse(&Value::Object(asked), &[])?;
        let question = self.desk.question(caller, &asked).await?;
        let accepted = self
            .desk
            .accept(caller, self.desk.app.new_id(), question, None)
            .await?;
        accepted.ok_or_else(|| {
            Error::new(Kind::Transient, "too many runs wait already").hint("try again in a minute")
        })
    }

    async fn research(&self, caller: &Caller, it: &Arguments<'_>) -> Result<RunId> {
        let mut asked = it.some(&[
            "question", "context", "effort", "engines", "domains", "since", "output",
        ]);
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
        self.accepted(caller, asked).await
    }

    /// Rows B1 and D1.
    async fn asked(&self, caller: &Caller, name: &str, it: &Arguments<'_>) -> Result<RunId> {
        let mut asked = it.some(&[
            "question",
            "query",
            "context",
            "max_iterations",
            "model",
            "completeness_threshold",
        ]);
        if name == "agentic_search" {
            asked.insert("mode".to_owned(), "evidence".into());
            asked.entry("max_iterations").or_insert(3.into());
        }
        self.accepted(caller, asked).await
    }

    async fn wait(
        &self,
        caller: &Caller,
        it: &Arguments<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Said {
        let row = self.desk.mine(caller, it.text("run_id")?).await?;
        let run = row.run_id;
        match it.0.get("action").and_then(Value::as_str) {
            None | Some("none") => {}
            Some(word @ ("finish" | "cancel")) if !row.status.ended() => {
                let order = match word {
                    "finish" => Order::Finish,
                    _ => Order::Cancel,
                };
                self.desk.order(&run, order).await?;
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
            self.desk.order(&run, Order::Steer(words)).await?;
        }
        let seconds = it.0.get("wait_s").and_then(Value::as_u64).unwrap_or(20);
        self.followed(&run, Duration::from_secs(seconds).min(MOST), context)
            .await
    }

    /// The run as it stands once it has ended, or after so long; progress is told meanwhile.
    async fn followed(
        &self,
        run: &RunId,
        most: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Said {
        let until = Instant::now() + most;
        let token = context.meta.get_progress_token();
        let mut story = self.desk.queue.follow(run, 0);
        let mut known = Run::new(run.clone());
        let mut step = 0.0;
        while !known.status.ended() && Instant::now() < until {
            let beat = (Instant::now() + BEAT).min(until);
            match tokio::time::timeout_at(beat, story.next()).await {
                Ok(Ok(Some(batch))) => batch.iter().for_each(|it| known.apply(it)),
                Ok(Ok(None)) => break,
                Ok(Err(fault)) => return Err(fault),
                Err(_) => {}
            }
            if let Some(token) = &token {
                step += 1.0;
                let told = ProgressNotificationParam::new(token.clone(), step)
                    .with_message(progress(&known));
                // Who no longer listens has gone away; the run goes on.
                let _ = context.peer.notify_progress(told).await;
            }
        }
        self.state(run).await
    }

    /// Where a run stands; of an ended one, what it comes to.
    async fn state(&self, run: &RunId) -> Said {
        let known = self.desk.app.run(run).await?;
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
        if !known.status.ended() {
            out["poll_after_s"] = POLL.into();
            out["next"] = "call research_wait with this run_id".into();
            return Ok(out);
        }
        let pages = export::pages(&self.desk.app, known.report.as_deref()).await?;
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

    async fn part(&self, caller: &Caller, it: &Arguments<'_>) -> Said {
        let row = self.desk.mine(caller, it.text("run_id")?).await?;
        let events = self.desk.app.events(&row.run_id, 0).await?;
        let run = Run::of(row.run_id, &events);
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

    /// What the documents and what earlier runs have read have on it: `{results: [{id, title, url}]}`.
    async fn search(&self, caller: &Caller, it: &Arguments<'_>) -> Said {
        let query = it.text("query")?;
        let mut hits: Vec<Hit> = Vec::new();
        let folders = self.desk.folders();
        if !folders.is_empty() {
            let quiet: crate::app::Heard = Arc::new(|_| {});
            let (queries, any) = ([query.to_owned()], Filter::default());
            let found = self
                .desk
                .app
                .search(folders, &queries, FOUND, &any, &quiet)
                .await?;
            let found = found.into_iter().flatten();
            hits.extend(found.enumerate().map(|(at, it)| it.into_hit(at as u32 + 1)));
        }
        let mut results = self.kept(hits);
        results.extend(
            self.read_before(caller, query, FOUND.saturating_sub(results.len()))
                .await?,
        );
        Ok(json!({"results": results}))
    }

    /// The results that `hits` are, and keeps these for [`Mcp::fetch`].
    fn kept(&self, hits: Vec<Hit>) -> Vec<Value> {
        let mut results = Vec::new();
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for hit in hits {
            let id = id(&hit);
            results.push(json!({"id": id, "title": hit.title, "url": hit.url}));
            if !known.iter().any(|it| it.0 == id) {
                known.push_back((id, hit));
            }
        }
        while known.len() > KNOWN {
            known.pop_front();
        }
        results
    }

    /// Sources of the caller's own reports whose titles have the words.
    async fn read_before(&self, caller: &Caller, query: &str, most: usize) -> Result<Vec<Value>> {
        let words: Vec<String> = query
            .to_lowercase()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let mut out = Vec::new();
        for row in self.desk.app_of(caller).runs().await? {
            let own = caller.owner.is_none() || row.owner == caller.owner;
            if out.len() >= most || !own || row.status != RunStatus::Completed {
                continue;
            }
            let run = self.desk.app.run(&row.run_id).await?;
            let sources = run.report.iter().flat_map(|it| &it.sources).enumerate();
            for (at, it) in sources.filter(|it| it.1.url.starts_with("http")) {
                let title = it.title.to_lowercase();
                let known = out
                    .iter()
                    .any(|known: &Value| known["url"] == it.url.as_str());
                if !known && out.len() < most && words.iter().any(|word| title.contains(word)) {
                    out.push(json!({"id": format!("{}:{}", run.id, at + 1), "title": it.title, "url": it.url}));
                }
            }
        }
        Ok(out)
    }

    async fn fetch(&self, caller: &Caller, it: &Arguments<'_>) -> Said {
        let id = it.text("id")?;
        let gone = || {
            Error::new(Kind::Usage, "there is nothing of this id")
                .hint("search again, and use an id of its results")
        };
        if let Some((run, n)) = id.split_once(':') {
            let row = self.desk.mine(caller, run).await.map_err(|_| gone())?;
            let run = self.desk.app.run(&row.run_id).await?;
            let n: usize = n.parse().map_err(|_| gone())?;
            let report = run.report.as_deref().ok_or_else(gone)?;
            let source = report.sources.get(n.wrapping_sub(1)).ok_or_else(gone)?;
            let page = self.desk.app.page(&source.page).await?.ok_or_else(gone)?;
            return Ok(json!({
                "id": id,
                "title": source.title,
                "text": page.text().expose(),
                "url": source.url,
                "metadata": {"published": source.date, "doi": source.work.doi, "pmid": source.work.pmid},
            }));
        }
        let hit = {
            let known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            known
                .iter()
                .find(|it| it.0 == id)
                .map(|it| it.1.clone())
                .ok_or_else(gone)?
        };
        let page = self.desk.read(&hit).await?;
        Ok(json!({
            "id": id,
            "title": hit.title,
            "text": page.text().expose(),
            "url": hit.url,
            "metadata": {"published": page.date},
        }))
    }

    async fn check(&self, it: &Arguments<'_>) -> Said {
        let text = it.text("text")?;
        let quiet: crate::app::Heard = Arc::new(|_| {});
        let (base, folders) = (std::path::Path::new("/nonexistent"), self.desk.folders());
        let found = self
            .desk
            .app
            .check(text.to_owned(), base, folders, false, &quiet)
            .await?;
        Ok(audit::json("text", &found))
    }

    /// A run as a task: durable before anybody hears of it.
    async fn made_task(&self, run: &RunId) -> Answer<CallToolResponse> {
        let known = self.desk.app.run(run).await.map_err(|it| fault(&it))?;
        let mut task = task(&known);
        task["resultType"] = "task".into();
        Ok(CallToolResponse::Task(made(task)?))
    }

    pub(super) async fn task(&self, caller: &Caller, id: &str) -> Answer<GetTaskResult> {
        let row = self.desk.mine(caller, id).await.map_err(|it| fault(&it))?;
        let known = self
            .desk
            .app
            .run(&row.run_id)
            .await
            .map_err(|it| fault(&it))?;
        let mut task = task(&known);
        if task["status"] == "completed" {
            let state = self.state(&row.run_id).await;
            task["result"] = result(state);
        }
        made(task)
    }

    pub(super) async fn stop_task(&self, caller: &Caller, id: &str) -> Answer<()> {
        let row = self.desk.mine(caller, id).await.map_err(|it| fault(&it))?;
        if row.status.ended() {
            return Ok(());
        }
        self.desk
            .order(&row.run_id, Order::Cancel)
            .await
            .map_err(|it| fault(&it))
    }
}

/// Whether the client can be given a task.
fn tasks(context: &RequestContext<RoleServer>) -> bool {
    context
        .client_capabilities()
        .is_some_and(|it| it.supports_tasks())
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
