//! Research as a tool for programs with a tool registry: a name, whether it streams progress, and an executor. Input, progress and
//! result are the same as over HTTP and MCP.
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::request::{ResearchRequest, ServedResources};
use ibid::app::App;
use ibid::config::{ProcessEnv, layers};
use ibid_core::Result;
use ibid_core::domain::Question;
use ibid_core::record::{Run, ToolProgress, ToolProgressTracker};
use ibid_report::json;

/// Receives progress.
pub type ToolProgressFn = Arc<dyn Fn(&ToolProgress) + Send + Sync>;

/// Runs the tool: takes the input as a JSON object, reports progress, and returns the result. Dropping the future stops the run,
/// which can be resumed.
pub type ToolExecutor =
    Arc<dyn Fn(Value, ToolProgressFn) -> BoxFuture<'static, Result<ToolOutput>> + Send + Sync>;

/// A tool to register with a host.
#[derive(Clone)]
pub struct Tool {
    /// `deep_research`.
    pub name: &'static str,
    /// Whether it reports progress.
    pub streaming: bool,
    /// Runs the tool.
    pub executor: ToolExecutor,
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The answer or the report, in Markdown.
    pub text: String,
    /// `{"type": "deep_research_result", "data": …}` with the result object.
    pub payload: Value,
}

impl Tool {
    /// Research with `app`. Settings that the input omits come from `process_env`. The input may name the `served` folders and
    /// models.
    pub fn deep_research(app: Arc<App>, process_env: ProcessEnv, served: ServedResources) -> Tool {
        let (process_env, served) = (Arc::new(process_env), Arc::new(served));
        let executor = move |input: Value, progress: ToolProgressFn| {
            let app = Arc::clone(&app);
            let (process_env, served) = (Arc::clone(&process_env), Arc::clone(&served));
            let work = async move {
                let request = ResearchRequest::parse(input)?;
                request.require_no_webhook()?;
                let loaded = layers::load(&process_env, &request.flags())?;
                let today = jiff::Zoned::now().date();
                let question = request.to_question(&loaded, &served, today)?;
                let run = run_with_progress(&app, question, &progress).await?;
                tool_output(&app, &run).await
            };
            Box::pin(work) as BoxFuture<'static, Result<ToolOutput>>
        };
        Tool { name: "deep_research", streaming: true, executor: Arc::new(executor) }
    }
}

/// Runs `question` to its end and reports progress.
async fn run_with_progress(
    app: &App,
    question: Question,
    progress: &ToolProgressFn,
) -> Result<Run> {
    let running = app.start(question).await?;
    let mut events = running.follow(0);
    let mut tracker = ToolProgressTracker::default();
    let mut end = std::pin::pin!(running.wait());
    let run = loop {
        tokio::select! {
            run = &mut end => break run?,
            event = events.next() => match event? {
                Some(event) => tracker.update(&event).iter().for_each(|it| progress(it)),
                None => break end.await?,
            },
        }
    };
    while let Some(event) = events.next().await? {
        tracker.update(&event).iter().for_each(|it| progress(it));
    }
    Ok(run)
}

async fn tool_output(app: &App, run: &Run) -> Result<ToolOutput> {
    let pages = app.report_pages(run.report.as_deref()).await?;
    let subtype = json::ResultSubtype::from_run(run);
    let data = json::result(run, subtype, &pages, true);
    // A failed run is an error of the tool.
    if let Some(fault) = json::failure(run, subtype) {
        return Err(fault);
    }
    let report = run.report.as_deref();
    let text = match report.and_then(|report| report.answer.as_ref()) {
        Some(it) => it.text.clone(),
        None => report.map_or_else(String::new, |it| ibid_report::markdown::report(it, true)),
    };
    Ok(ToolOutput {
        text,
        payload: serde_json::json!({"type": "deep_research_result", "data": data}),
    })
}
