//! The doors whose calls are journaled.
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Door, Journal, MODEL, RANK, READ, SEARCH, encode};
use crate::domain::{Hit, Hits, Page, PageHash, Query, Vertical};
use crate::error::Result;
use crate::record::FailReason;
use crate::seams::{Completion, LanguageModel, PageReader, Prompt, Ranker, SearchProvider, Sink};

/// A search provider whose calls are journaled.
pub struct JournaledSearch {
    inner: Arc<dyn SearchProvider>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledSearch {
    /// `inner`, written down in `journal`; it is the `nth` of its name, from 0.
    pub fn new(
        inner: Arc<dyn SearchProvider>,
        journal: Arc<Journal>,
        nth: usize,
    ) -> JournaledSearch {
        let door = Door::new(SEARCH, inner.name(), nth);
        JournaledSearch {
            inner,
            journal,
            door,
        }
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
        // For which item and by which variation is our own bookkeeping, not part of the question.
        let asked = json!({
            "text": query.text(),
            "vertical": query.vertical(),
            "limit": query.limit,
            "domains": query.domains,
            "not_domains": query.not_domains,
            "since": query.since,
            "until": query.until,
        });
        self.journal
            .call(&self.door, asked, self.inner.search(query))
            .await
    }
}

/// A language model whose calls are journaled.
///
/// The same prompt is the same call, whichever role asks it. What a stream tells is a preview: an
/// answer that is read back is told in one piece.
pub struct JournaledModel {
    inner: Arc<dyn LanguageModel>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledModel {
    /// `inner`, written down in `journal`.
    pub fn new(inner: Arc<dyn LanguageModel>, journal: Arc<Journal>) -> JournaledModel {
        let door = Door::new(MODEL, inner.name(), 0);
        JournaledModel {
            inner,
            journal,
            door,
        }
    }
}

#[async_trait]
impl LanguageModel for JournaledModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        let asked = encode(&self.door.name, prompt)?;
        let timed = timed(self.inner.complete(prompt));
        self.journal.call(&self.door, asked, timed).await
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        let asked = encode(&self.door.name, prompt)?;
        let mut told = false;
        let mut hear = |text: &str| {
            told = true;
            sink(text);
        };
        let answer = self
            .journal
            .call(
                &self.door,
                asked,
                timed(self.inner.stream(prompt, &mut hear)),
            )
            .await;
        if let (Ok(it), false) = (&answer, told) {
            sink(&it.text);
        }
        answer
    }
}

/// The same answer with the time it took. It is written down with the answer and read back with it.
async fn timed(answer: impl Future<Output = Result<Completion>>) -> Result<Completion> {
    let asked = Instant::now();
    let mut answer = answer.await?;
    answer.ms = u64::try_from(asked.elapsed().as_millis()).ok();
    Ok(answer)
}

/// A ranker whose calls are journaled. Texts are written down by their hash: they are in the journal as hits already.
pub struct JournaledRanker {
    inner: Arc<dyn Ranker>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledRanker {
    /// `inner`, written down in `journal`.
    pub fn new(inner: Arc<dyn Ranker>, journal: Arc<Journal>) -> JournaledRanker {
        let door = Door::new(RANK, inner.name(), 0);
        JournaledRanker {
            inner,
            journal,
            door,
        }
    }
}

#[async_trait]
impl Ranker for JournaledRanker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let asked = json!({ "query": query, "texts": PageHash::of(texts) });
        self.journal
            .call(&self.door, asked, self.inner.rank(query, texts))
            .await
    }
}

/// A page reader whose calls are journaled and whose pages are kept.
pub struct JournaledReader {
    inner: Arc<dyn PageReader>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledReader {
    /// `inner`, written down in `journal`; it is the `nth` of its name, from 0.
    pub fn new(inner: Arc<dyn PageReader>, journal: Arc<Journal>, nth: usize) -> JournaledReader {
        let door = Door::new(READ, inner.name(), nth);
        JournaledReader {
            inner,
            journal,
            door,
        }
    }
}

#[async_trait]
impl PageReader for JournaledReader {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads(&self, hit: &Hit) -> bool {
        // What it has read it still reads, though the document may be gone since.
        self.journal.has(&self.door, &document(hit)) || self.inner.reads(hit)
    }

    fn reads_after(&self, hit: &Hit, reason: FailReason) -> bool {
        self.journal.has(&self.door, &document(hit)) || self.inner.reads_after(hit, reason)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        self.journal
            .page(&self.door, document(hit), self.inner.read(hit))
            .await
    }
}

/// What a reader is asked for: the document, not the way it was found, so that two queries that
/// find it read it once.
fn document(hit: &Hit) -> Value {
    let mut asked = json!({ "url": hit.url, "doc_id": hit.doc_id });
    if let Some(file) = &hit.file {
        asked["file"] = file.as_str().into();
    }
    asked
}
