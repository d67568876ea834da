//! Providers that replace those of a recorded run.
use std::sync::Arc;

use async_trait::async_trait;

use crate::journal::ReplayLog;
use ibid_core::Result;
use ibid_core::domain::{Hit, Hits, Page, Query, Vertical};
use ibid_core::ports::{
    Completion, LanguageModel, PageReader, Prompt, Ranker, SearchProvider, SentenceInContext,
    TextSink,
};

/// Takes the place of a provider of a recorded run. The journal around it answers the recorded calls; every other call
/// fails and is counted.
pub struct OfflineProvider {
    name: String,
    log: Arc<ReplayLog>,
    verticals: &'static [Vertical],
    /// Whether it accepts every page, so that pages that no other reader can read fail with an error.
    is_fallback: bool,
}

impl OfflineProvider {
    /// Takes the place of the provider `name`.
    pub fn new(name: &str, log: &Arc<ReplayLog>) -> OfflineProvider {
        OfflineProvider {
            name: name.to_owned(),
            log: Arc::clone(log),
            verticals: &[Vertical::Local],
            is_fallback: false,
        }
    }

    /// Searches `verticals`, as a search provider.
    #[must_use]
    pub fn searching(mut self, verticals: &'static [Vertical]) -> OfflineProvider {
        self.verticals = verticals;
        self
    }

    /// The last reader, for pages that no other reader can read.
    pub fn fallback_reader(log: &Arc<ReplayLog>) -> OfflineProvider {
        OfflineProvider { is_fallback: true, ..OfflineProvider::new("recording", log) }
    }
}

#[async_trait]
impl SearchProvider for OfflineProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn verticals(&self) -> &[Vertical] {
        self.verticals
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        Err(self.log.no_provider_error(&self.name, query.text()))
    }
}

#[async_trait]
impl PageReader for OfflineProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn can_read(&self, _: &Hit) -> bool {
        self.is_fallback
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        Err(self.log.no_provider_error(&self.name, &hit.url))
    }
}

#[async_trait]
impl Ranker for OfflineProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn rank(&self, query: &str, _: &[&str]) -> Result<Vec<f32>> {
        Err(self.log.no_provider_error(&self.name, query))
    }

    async fn similarity(&self, query: &str, _: &[SentenceInContext]) -> Result<Vec<f32>> {
        Err(self.log.no_provider_error(&self.name, query))
    }
}

#[async_trait]
impl LanguageModel for OfflineProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, prompt: &Prompt, _: Option<TextSink<'_>>) -> Result<Completion> {
        Err(self.log.no_provider_error(&self.name, &prompt.purpose))
    }
}
