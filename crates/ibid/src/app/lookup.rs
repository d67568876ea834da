//! A single search or page read, with the providers of a run but without a run.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout, timeout_at};

use super::App;
use super::components::{ProgressFn, RunProviders};
use ibid_core::domain::{Hit, Hits, Page, Query, Question, Vertical};
use ibid_core::ports::{NoSteering, Providers, RoleModels, SearchProvider};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};
use ibid_research::LookupResult;

/// The timeout of one engine, so that time is left for the next one of its kind.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(8);

/// The time for bringing folder indexes up to date. What is not indexed by then is found the next time.
const INDEX_TIMEOUT: Duration = Duration::from_secs(6);

impl App {
    /// Searches the folders and engines of `question` for its text: at most `n` hits, within `time_limit`. An engine that does not answer
    /// in time is one of the faults of the result.
    ///
    /// # Errors
    /// `Usage` for a question without words or a folder that does not exist, `Setup` if there is no folder or engine to search.
    pub async fn look_up(
        &self,
        question: &Question,
        n: usize,
        time_limit: Duration,
    ) -> Result<LookupResult> {
        let until = Instant::now() + time_limit;
        let mut providers = self.open_providers(question.clone()).await?;
        let _permit = timeout_at(until, self.permits().acquire())
            .await
            .map_err(|_| timeout_error("the engines are busy with runs"))?;
        let mut remarks = Vec::new();
        if let Some(prepare) = providers.prepare.take() {
            let quiet: ProgressFn = Arc::new(|_| {});
            match timeout(INDEX_TIMEOUT.min(time_limit), prepare(quiet)).await {
                Ok(events) => remarks.extend(events?.into_iter().filter_map(log_message)),
                Err(_) => remarks.push("some documents are not indexed yet".to_owned()),
            }
        }
        let bounded =
            |inner| -> Arc<dyn SearchProvider> { Arc::new(DeadlineSearch { inner, until }) };
        let lookup_providers = Providers {
            search: providers.search.drain(..).map(bounded).collect(),
            ..self.lookup_providers(providers)
        };
        let log = self.ephemeral_log().await?;
        let mut result = ibid_research::look_up(&lookup_providers, &log, question, n).await?;
        result.faults.extend(remarks);
        Ok(result)
    }

    /// Reads the page of a hit of [`App::look_up`] for the same question within `time_limit`, with the first reader that can, as in a run.
    ///
    /// # Errors
    /// The reader's error; `Transient` when it took too long.
    pub async fn read_hit(
        &self,
        question: &Question,
        hit: &Hit,
        time_limit: Duration,
    ) -> Result<Page> {
        let read = async {
            let providers = self.open_providers(question.clone()).await?;
            let _permit = self.permits().acquire().await;
            ibid_research::read_with_fallback(&providers.readers, hit).await.0
        };
        let page = timeout(time_limit, read).await;
        page.unwrap_or_else(|_| Err(timeout_error(&format!("reading {} took too long", hit.url))))
    }

    /// The providers of a lookup: without user commands, without sources of earlier runs.
    fn lookup_providers(&self, providers: RunProviders) -> Providers {
        Providers {
            search: providers.search,
            readers: providers.readers,
            ranker: providers.ranker,
            unreadable: Vec::new(),
            known: Vec::new(),
            // A lookup has no grant to spend, so it gets no models.
            models: RoleModels::default(),
            steering: Arc::new(NoSteering),
            clock: Arc::clone(&self.components.clock),
        }
    }
}

fn timeout_error(what: &str) -> Error {
    Error::new(ErrorKind::Transient, what).with_hint("try again in a minute")
}

/// The message of a log event of the preparation.
fn log_message(event: Event) -> Option<String> {
    match event {
        Event::Log { message, .. } => Some(message),
        _ => None,
    }
}

/// A search provider with a timeout and a common deadline.
struct DeadlineSearch {
    inner: Arc<dyn SearchProvider>,
    until: Instant,
}

#[async_trait]
impl SearchProvider for DeadlineSearch {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn verticals(&self) -> &[Vertical] {
        self.inner.verticals()
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let until = self.until.min(Instant::now() + SEARCH_TIMEOUT);
        match timeout_at(until, self.inner.search(query)).await {
            Ok(found) => found,
            Err(_) => Err(timeout_error("it did not answer in time")),
        }
    }
}
