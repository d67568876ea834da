//! Providers whose calls are journaled.
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::encode;
use super::provider_id::{MODEL, ProviderId, RANK, READ, SEARCH};
use super::run_journal::Journal;
use ibid_core::domain::{Hit, Hits, Page, PageHash, Query, Vertical};
use ibid_core::ports::{
    Completion, LanguageModel, PageReader, Prompt, Ranker, SearchProvider, SentenceInContext,
    TextSink,
};
use ibid_core::{ReadFailure, Result};

/// A search provider whose calls are journaled.
pub struct JournaledSearch {
    inner: Arc<dyn SearchProvider>,
    journal: Arc<Journal>,
    id: ProviderId,
}

impl JournaledSearch {
    /// Journals `inner` in `journal`; it is the `nth` provider of its name, from 0.
    pub fn new(
        inner: Arc<dyn SearchProvider>,
        journal: Arc<Journal>,
        nth: usize,
    ) -> JournaledSearch {
        let id = ProviderId::new(SEARCH, inner.name(), nth);
        JournaledSearch { inner, journal, id }
    }
}

#[async_trait]
impl SearchProvider for JournaledSearch {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn verticals(&self) -> &[Vertical] {
        self.inner.verticals()
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        // The item and the variation that the query is for are not sent to the provider.
        let request = json!({
            "text": query.text(),
            "vertical": query.vertical(),
            "limit": query.limit,
            "domains": query.domains,
            "not_domains": query.not_domains,
            "since": query.since,
            "until": query.until,
        });
        self.journal.call(&self.id, request, self.inner.search(query)).await
    }
}

/// A language model whose calls are journaled.
///
/// The same prompt is the same call, whichever role sends it. A streamed answer is a preview: an answer that is read from
/// the journal is streamed in one piece.
pub struct JournaledModel {
    inner: Arc<dyn LanguageModel>,
    journal: Arc<Journal>,
    id: ProviderId,
}

impl JournaledModel {
    /// Journals `inner` in `journal`.
    pub fn new(inner: Arc<dyn LanguageModel>, journal: Arc<Journal>) -> JournaledModel {
        let id = ProviderId::new(MODEL, inner.name(), 0);
        JournaledModel { inner, journal, id }
    }
}

#[async_trait]
impl LanguageModel for JournaledModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(
        &self,
        prompt: &Prompt,
        mut sink: Option<TextSink<'_>>,
    ) -> Result<Completion> {
        let request = encode(&self.id.name, prompt)?;
        let streaming = sink.is_some();
        let mut streamed = false;
        let mut relay = |text: &str| {
            streamed = true;
            if let Some(sink) = &mut sink {
                sink(text);
            }
        };
        let relay = streaming.then_some(&mut relay as TextSink<'_>);
        let call = timed(self.inner.complete(prompt, relay));
        let answer = self.journal.call(&self.id, request, call).await;
        if let (Ok(completion), Some(sink), false) = (&answer, sink, streamed) {
            sink(&completion.text);
        }
        answer
    }
}

/// Adds the time that the answer took, which is journaled with it.
async fn timed(answer: impl Future<Output = Result<Completion>>) -> Result<Completion> {
    let sent = Instant::now();
    let mut answer = answer.await?;
    answer.ms = u64::try_from(sent.elapsed().as_millis()).ok();
    Ok(answer)
}

/// A ranker whose calls are journaled. Texts are journaled by their hash, because the journal already has them as hits.
pub struct JournaledRanker {
    inner: Arc<dyn Ranker>,
    journal: Arc<Journal>,
    id: ProviderId,
}

impl JournaledRanker {
    /// Journals `inner` in `journal`.
    pub fn new(inner: Arc<dyn Ranker>, journal: Arc<Journal>) -> JournaledRanker {
        let id = ProviderId::new(RANK, inner.name(), 0);
        JournaledRanker { inner, journal, id }
    }
}

#[async_trait]
impl Ranker for JournaledRanker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn ranks_chunks(&self) -> bool {
        self.inner.ranks_chunks()
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let request = json!({ "query": query, "texts": PageHash::from_parts(texts) });
        self.journal.call(&self.id, request, self.inner.rank(query, texts)).await
    }

    async fn similarity(&self, query: &str, sentences: &[SentenceInContext]) -> Result<Vec<f32>> {
        let texts: Vec<String> = sentences.iter().map(SentenceInContext::whole).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let request = json!({ "means": query, "texts": PageHash::from_parts(&texts) });
        self.journal.call(&self.id, request, self.inner.similarity(query, sentences)).await
    }

    async fn prepare_similarity(&self) {
        self.inner.prepare_similarity().await;
    }
}

/// A page reader whose calls are journaled and whose pages are stored.
pub struct JournaledReader {
    inner: Arc<dyn PageReader>,
    journal: Arc<Journal>,
    id: ProviderId,
}

impl JournaledReader {
    /// Journals `inner` in `journal`; it is the `nth` provider of its name, from 0.
    pub fn new(inner: Arc<dyn PageReader>, journal: Arc<Journal>, nth: usize) -> JournaledReader {
        let id = ProviderId::new(READ, inner.name(), nth);
        JournaledReader { inner, journal, id }
    }
}

#[async_trait]
impl PageReader for JournaledReader {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn can_read(&self, hit: &Hit) -> bool {
        // A document that was read before can be read again from the journal, even if it no longer exists.
        self.journal.has(&self.id, &document_request(hit)) || self.inner.can_read(hit)
    }

    fn can_read_after(&self, hit: &Hit, reason: ReadFailure) -> bool {
        self.journal.has(&self.id, &document_request(hit)) || self.inner.can_read_after(hit, reason)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        self.journal.page(&self.id, document_request(hit), self.inner.read(hit)).await
    }
}

/// The request for the document of `hit`. It leaves out how the document was found, so that a document that two queries
/// find is read once.
fn document_request(hit: &Hit) -> Value {
    let mut request = json!({ "url": hit.url, "doc_id": hit.doc_id });
    if let Some(file) = &hit.file {
        request["file"] = file.as_str().into();
    }
    request
}
