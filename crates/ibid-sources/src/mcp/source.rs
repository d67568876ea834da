//! An MCP server as a search engine and as the reader of the documents that it finds.
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::answer::{ToolAnswer, draft, id_in, read_document, read_hits};
use super::config::McpSourceConfig;
use super::session::McpSession;
use super::tool_choice::McpTool;
use crate::reader::read_error;
use ibid_core::domain::work::is_within_domains;
use ibid_core::domain::{Hit, Hits, Page, Query, Vertical};
use ibid_core::ports::{Egress, PageReader, SearchProvider};
use ibid_core::{Error, ErrorKind, FailureReason, ReadFailure, Result};

/// How often a server that has died is started again.
const MAX_STARTS: u32 = 3;
/// How many calls in a row may end at their deadline before the server is called no more.
const MAX_TIMEOUTS: u32 = 2;

/// An MCP server of one run. It is started at the first call, and ends when this is dropped.
pub struct McpSource {
    config: McpSourceConfig,
    engine: String,
    egress: Egress,
    state: Mutex<SessionState>,
    /// Calls that ended at their deadline since the last answer.
    timeouts: AtomicU32,
}

/// The connection, and how often one was opened.
#[derive(Default)]
struct SessionState {
    session: Option<Arc<McpSession>>,
    starts: u32,
    /// Why it could not be opened the last time.
    failed: Option<String>,
}

impl McpSource {
    /// A source that counts its traffic in `egress`. Starts nothing yet.
    pub fn new(config: McpSourceConfig, egress: Egress) -> McpSource {
        McpSource {
            engine: config.engine_name(),
            config,
            egress,
            state: Mutex::default(),
            timeouts: AtomicU32::new(0),
        }
    }

    /// Starts the server and chooses its tools. Returns what would be called, for the operator.
    ///
    /// # Errors
    /// That it cannot be started, does not answer, or has no tool that searches.
    pub async fn health_check(&self) -> Result<String> {
        let session = McpSession::open(&self.config, &self.egress, true).await?;
        let called = |tool: &McpTool| format!("`{}` with `{}`", tool.name, tool.arg);
        let fetch = match &session.tools.fetch {
            Some(tool) => format!(", and {} to read", called(tool)),
            None => ", and reads what the search returns".to_owned(),
        };
        let (count, search) = (session.tool_count, called(&session.tools.search));
        Ok(format!("{} answers: of {count} tools it calls {search} to search{fetch}", self.engine))
    }

    /// Calls a tool of an open connection, unless the server has stopped answering.
    async fn call(&self, session: &McpSession, tool: &McpTool, value: &str) -> Result<ToolAnswer> {
        self.check_answers()?;
        let answer = session.call(tool, value).await;
        self.note_answer(answer.as_ref().err());
        answer
    }

    /// # Errors
    /// That the last calls all ended at their deadline.
    fn check_answers(&self) -> Result<()> {
        if self.timeouts.load(Ordering::Relaxed) < MAX_TIMEOUTS {
            return Ok(());
        }
        let what =
            format!("{}: it let {MAX_TIMEOUTS} calls wait and is not called again", self.engine);
        Err(Error::new(ErrorKind::Transient, what)
            .with_reason(FailureReason::Timeout)
            .with_hint("check it with `ibid engines --try`"))
    }

    /// Counts a call that ended with `fault`, or was answered.
    fn note_answer(&self, fault: Option<&Error>) {
        match fault.and_then(Error::reason) {
            Some(FailureReason::Timeout) => {
                self.timeouts.fetch_add(1, Ordering::Relaxed);
            }
            _ => self.timeouts.store(0, Ordering::Relaxed),
        }
    }

    /// The open connection; a server that has died is started again a few times.
    async fn session(&self) -> Result<Arc<McpSession>> {
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.as_ref().filter(|session| session.is_open()) {
            return Ok(Arc::clone(session));
        }
        state.session = None;
        if state.starts >= MAX_STARTS {
            let what = format!("{}: the server failed and is not started again", self.engine);
            let failed = Error::new(ErrorKind::Transient, what)
                .with_hint("check it with `ibid engines --try`");
            return Err(match &state.failed {
                Some(why) => failed.with_source(why.clone()),
                None => failed,
            });
        }
        state.starts += 1;
        let opened = McpSession::open(&self.config, &self.egress, false).await;
        let session = Arc::new(opened.inspect_err(|why| {
            state.failed = Some(why.chain());
            // What is silent for so long is silent again.
            if why.reason() == Some(&FailureReason::Timeout) {
                state.starts = MAX_STARTS;
            }
        })?);
        state.session = Some(Arc::clone(&session));
        Ok(session)
    }

    async fn fetch(&self, hit: &Hit) -> Result<Page> {
        let empty = |why: &str| read_error(&hit.url, ReadFailure::Empty, why);
        let id = id_in(&self.config.name, &hit.url)
            .ok_or_else(|| read_error(&hit.url, ReadFailure::Unsupported, "not of this server"))?;
        let session = self.session().await?;
        let page = match &session.tools.fetch {
            Some(tool) => read_document(hit, self.call(&session, tool, &id).await?),
            None => hit.text.as_ref().and_then(|text| draft(hit, &hit.title, text.expose())),
        };
        page.map(Page::new).ok_or_else(|| empty("the server returned no text"))
    }
}

#[async_trait]
impl SearchProvider for McpSource {
    fn name(&self) -> &str {
        &self.engine
    }

    fn verticals(&self) -> &[Vertical] {
        &[Vertical::Web]
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let session = self.session().await?;
        let answer = self.call(&session, &session.tools.search, query.text()).await?;
        let mut hits = read_hits(&self.engine, &self.config.name, query.text(), answer);
        hits.hits.retain(|hit| is_within_domains(&hit.url, &query.domains, &query.not_domains));
        hits.hits.truncate(query.limit as usize);
        Ok(hits)
    }
}

#[async_trait]
impl PageReader for McpSource {
    fn name(&self) -> &str {
        &self.engine
    }

    fn can_read(&self, hit: &Hit) -> bool {
        hit.provider == self.engine && id_in(&self.config.name, &hit.url).is_some()
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        self.fetch(hit).await.map_err(|fault| match fault.reason() {
            Some(FailureReason::Read(_)) => fault,
            Some(FailureReason::Timeout) => {
                read_error(&hit.url, ReadFailure::Timeout, &fault.chain())
            }
            _ => read_error(&hit.url, ReadFailure::Broken, &fault.chain()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::McpEndpoint;

    #[test]
    fn a_server_that_lets_two_calls_in_a_row_wait_is_called_no_more() {
        let config = McpSourceConfig {
            name: "docs".to_owned(),
            endpoint: McpEndpoint::Url { url: "http://127.0.0.1:1".to_owned(), token: None },
            search_tool: None,
            fetch_tool: None,
        };
        let source = McpSource::new(config, Egress::default());
        let late = Error::new(ErrorKind::Transient, "late").with_reason(FailureReason::Timeout);
        source.note_answer(Some(&late));
        source.note_answer(None);
        source.note_answer(Some(&late));
        assert!(source.check_answers().is_ok());
        source.note_answer(Some(&late));
        let fault = source.check_answers().unwrap_err();
        assert_eq!(fault.reason(), Some(&FailureReason::Timeout));
        assert!(fault.to_string().contains("mcp:docs"), "{fault}");
    }
}
