//! Research as a tool for programs that hold tools of their own (row B11): a name, whether it tells of its progress, and what
//! does the work. The same input, progress and result as over HTTP and MCP.
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::asked::{Asked, Served};
use super::export::{self, json as shown};
use crate::app::App;
use crate::config::{Surroundings, layers};
use crate::domain::Question;
use crate::error::Result;
use crate::record::{Run, ToolProgress, ToolStory};

/// Who hears of progress.
pub type Heard = Arc<dyn Fn(&ToolProgress) + Send + Sync>;

/// Does the work: takes the input as a JSON object (row B1), tells of its progress, and gives the result. Dropping it stops the
/// run where it is; it can be resumed.
pub type Executor =
    Arc<dyn Fn(Value, Heard) -> BoxFuture<'static, Result<ToolResult>> + Send + Sync>;

/// A tool as a host registers it.
#[derive(Clone)]
pub struct Tool {
    /// `deep_research`.
    pub name: &'static str,
    /// Whether it tells of its progress while it works.
    pub streaming: bool,
    /// What does the work.
    pub executor: Executor,
}

/// What a tool came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// For whoever reads: the answer or the report, in Markdown.
    pub text: String,
    /// `{"type": "deep_research_result", "data": …}`, with the object of row B8.
    pub payload: Value,
}

impl Tool {
    /// Research by `app`. `surroundings` say where settings come from that the input leaves open, `served` which folders and
    /// models it may name.
    pub fn deep_research(app: Arc<App>, surroundings: Surroundings, served: Served) -> Tool {
        let (surroundings, served) = (Arc::new(surroundings), Arc::new(served));
        let executor = move |input: Value, heard: Heard| {
            let app = Arc::clone(&app);
            let (surroundings, served) = (Arc::clone(&surroundings), Arc::clone(&served));
            let work = async move {
                let asked = Asked::parse(&input, &[])?;
                let loaded = layers::load(&surroundings, &asked.flags)?;
                let today = jiff::Zoned::now().date();
                let question = asked.question(&loaded, &served, today)?;
                let run = told(&app, question, &heard).await?;
                given(&app, &run).await
            };
            Box::pin(work) as BoxFuture<'static, Result<ToolResult>>
        };
        Tool {
            name: "deep_research",
            streaming: true,
            executor: Arc::new(executor),
        }
    }
}

/// Works until the run has ended, and tells of it meanwhile.
async fn told(app: &App, question: Question, heard: &Heard) -> Result<Run> {
    let running = app.start(question).await?;
    let mut story = running.follow(0);
    let mut fold = ToolStory::default();
    let mut end = std::pin::pin!(running.wait());
    let run = loop {
        tokio::select! {
            run = &mut end => break run?,
            event = story.next() => match event? {
                Some(it) => fold.heard(&it).iter().for_each(|it| heard(it)),
                None => break end.await?,
            },
        }
    };
    while let Some(it) = story.next().await? {
        fold.heard(&it).iter().for_each(|it| heard(it));
    }
    Ok(run)
}

async fn given(app: &App, run: &Run) -> Result<ToolResult> {
    let pages = export::pages(app, run.report.as_deref()).await?;
    let subtype = shown::Subtype::of(run);
    let data = shown::result(run, subtype, &pages, true);
    // A run that failed is a fault for whoever called, too.
    if let Some(fault) = shown::fault(run, subtype) {
        return Err(fault);
    }
    let report = run.report.as_deref();
    let text = match report.and_then(|it| it.answer.as_ref()) {
        Some(it) => it.text.clone(),
        None => report.map_or_else(String::new, |it| export::markdown::report(it, true)),
    };
    Ok(ToolResult {
        text,
        payload: json!({"type": "deep_research_result", "data": data}),
    })
}
