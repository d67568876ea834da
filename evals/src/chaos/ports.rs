//! The ports of a world: what they answer when nothing goes wrong, and when something does.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::domain::{Block, BlockKind, Hit, Hits, Page, PageDraft, PageHash, Query, Vertical};
use ibid_core::ports::{
    Completion, FinishReason, LanguageModel, PageReader, Prompt, Ranker, SearchProvider, TextSink,
    TokenUsage,
};
use ibid_core::{Error, ErrorKind, FailureReason, ReadFailure, Result};
use ibid_index::ranker::LexicalRanker;
use ibid_llm::Price;
use ibid_llm::metered::max_input_tokens;
use ibid_net::service_error::ServiceError;
use serde_json::{Value, json};

use super::model;
use super::script::{FaultEffect, Port};
use super::world::{PAGES, World};

/// How long a call to an engine or a page may take, by the clock of the world.
const DEADLINE_MS: i64 = 30_000;

/// What the models of a world cost, US dollars per million tokens.
pub(super) const PRICE: Price =
    Price { input: 1.0, cached_input: None, cache_write: None, output: 4.0, call: 0.0, long: None };

/// The error of a service that fails so.
fn refusal(effect: FaultEffect, doing: String) -> Error {
    let fault = match effect {
        FaultEffect::Limited => ServiceError {
            status: Some(429),
            retry_after: Some(Duration::from_millis(1)),
            ..ServiceError::rate_limited("slow down")
        },
        FaultEffect::Refused => ServiceError {
            status: Some(403),
            reason: Some(FailureReason::Declined),
            ..ServiceError::malformed("forbidden")
        },
        FaultEffect::Quota => ServiceError {
            status: Some(402),
            reason: Some(FailureReason::Quota),
            ..ServiceError::setup("no credit is left")
        },
        FaultEffect::Key => ServiceError {
            status: Some(401),
            reason: Some(FailureReason::Key),
            ..ServiceError::setup("the key is not valid")
        },
        FaultEffect::Hang => ServiceError {
            reason: Some(FailureReason::Timeout),
            ..ServiceError::transient("no answer in time")
        },
        _ => ServiceError::transient("the connection was lost"),
    };
    // As the program's own clients do.
    fault.into_error(doing).with_hint("check the service, its key and its credit")
}

/// A web engine over the pages of the world.
pub(super) struct Engine(pub(super) Arc<World>, pub(super) &'static str);

/// The key of a search, by what its request in the journal has.
pub(super) fn search_key(engine: &str, request: &Value) -> String {
    format!("search:{engine} {request}")
}

#[async_trait]
impl SearchProvider for Engine {
    fn name(&self) -> &str {
        self.1
    }

    fn verticals(&self) -> &[Vertical] {
        &[Vertical::Web]
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let request = json!({
            "text": query.text(), "vertical": query.vertical(), "limit": query.limit,
            "domains": query.domains, "not_domains": query.not_domains,
            "since": query.since, "until": query.until,
        });
        let key = search_key(self.1, &request);
        let limit = query.limit as usize;
        match self.0.meet(Port::Engine, key).await {
            None => Ok(found(self.1, query.text(), limit).into()),
            Some(FaultEffect::Empty) => Ok(Hits::default()),
            Some(FaultEffect::Garbage) => Ok(senseless(self.1).into()),
            Some(effect) => {
                if effect == FaultEffect::Hang {
                    self.0.advance(DEADLINE_MS);
                }
                Err(refusal(effect, format!("searching {}", self.1)))
            }
        }
    }
}

/// The pages that share most words with `query`, best first.
fn found(engine: &str, query: &str, limit: usize) -> Vec<Hit> {
    let query = query.to_lowercase();
    let shared = |text: &str| {
        let text = text.to_lowercase();
        query.split_whitespace().filter(|word| text.contains(*word)).count()
    };
    let mut rated: Vec<(usize, usize)> = PAGES
        .iter()
        .enumerate()
        .map(|(at, page)| (shared(page.1) + shared(page.3), at))
        .filter(|it| it.0 > 0)
        .collect();
    rated.sort_by_key(|it| (usize::MAX - it.0, it.1));
    let hit = |(rank, (score, at)): (usize, &(usize, usize))| {
        let (url, title, date, text) = PAGES[*at];
        Hit {
            rank: rank as u32 + 1,
            score: *score as f32,
            date: Some(date.to_owned()),
            ..Hit::new(engine, url, title, text.lines().next().unwrap_or_default())
        }
    };
    rated.iter().take(limit).enumerate().map(hit).collect()
}

/// Addresses that are none, titles without end, numbers that are none, one hit many times.
fn senseless(engine: &str) -> Vec<Hit> {
    let mut hits: Vec<Hit> =
        ["", "not an address", "javascript:alert(1)", "https://", "file:///etc/passwd"]
            .into_iter()
            .map(|url| Hit::new(engine, url, &"x\u{0}\u{202E}\n".repeat(5_000), "\u{FFFD}"))
            .collect();
    hits.iter_mut().for_each(|hit| hit.score = f32::MAX);
    let again = Hit::new(engine, PAGES[0].0, "", "");
    hits.extend(std::iter::repeat_n(again, 300));
    hits
}

/// Reads the pages of the world.
pub(super) struct Reader(pub(super) Arc<World>);

pub(super) fn read_key(url: &str) -> String {
    format!("read:pages {url}")
}

#[async_trait]
impl PageReader for Reader {
    fn name(&self) -> &str {
        "pages"
    }

    fn can_read(&self, _: &Hit) -> bool {
        true
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let effect = self.0.meet(Port::Page, read_key(&hit.url)).await;
        let known = PAGES.iter().find(|page| page.0 == hit.url);
        let Some((url, title, date, text)) = known else {
            return Err(Error::new(ErrorKind::NotFound, format!("reading {}", hit.url)));
        };
        let text = match effect {
            None => (*text).to_owned(),
            Some(FaultEffect::Garbage) => "\u{0}\u{FFFD}\u{202E}cork\u{7F} ".repeat(16_000),
            Some(FaultEffect::Truncated) => text[..text.len() * 2 / 3].to_owned(),
            Some(FaultEffect::Empty) => String::new(),
            Some(FaultEffect::Refused) => {
                return Err(Error::new(ErrorKind::Malformed, format!("reading {url}"))
                    .with_reason(FailureReason::Read(ReadFailure::BotBlock))
                    .with_status(Some(403)));
            }
            Some(effect) => {
                if effect == FaultEffect::Hang {
                    self.0.advance(DEADLINE_MS);
                }
                return Err(refusal(effect, format!("reading {url}")));
            }
        };
        let blocks = text.lines().map(|line| Block::new(BlockKind::Prose, line)).collect();
        let page = Page::new(PageDraft {
            url: (*url).to_owned(),
            title: (*title).to_owned(),
            date: Some((*date).to_owned()),
            blocks,
            ..PageDraft::default()
        });
        self.0.serve(url, &text);
        Ok(page)
    }
}

/// A model that bills what it is sent.
pub(super) struct BillingModel(pub(super) Arc<World>);

pub(super) const MODEL: &str = "openai/chaos-1";

/// The key of a prompt, as of its request in the journal. One with a schema and one without are two.
pub(super) fn model_key(purpose: &str, has_schema: bool, messages: &[&str]) -> String {
    format!("model {purpose} {has_schema} {}", messages.join("\n"))
}

#[async_trait]
impl LanguageModel for BillingModel {
    fn name(&self) -> &str {
        MODEL
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let messages: Vec<&str> = prompt.messages.iter().map(|it| it.text.as_str()).collect();
        let words = messages.join("\n");
        let mut text = model::answer(&prompt.purpose, &words).to_string();
        let longest = prompt.max_tokens.unwrap_or(u32::MAX) as usize * 4;
        text.truncate(text.floor_char_boundary(longest));
        let tokens = TokenUsage {
            input: Some(max_input_tokens(prompt) / 2),
            output: Some(text.len() as u64 / 4),
            ..TokenUsage::default()
        };
        // What has come whole is billed, whether anybody waits for the answer or not.
        self.0.bill(PRICE.cost(&tokens));
        let mut finish = FinishReason::Stop;
        let key = model_key(&prompt.purpose, prompt.schema.is_some(), &messages);
        let effect = self.0.meet(Port::Model, key).await;
        match effect {
            None => {}
            Some(FaultEffect::Garbage) => text = format!("{{\"{}", "]}\u{0}E99".repeat(40)),
            Some(FaultEffect::Empty) => text = String::new(),
            Some(FaultEffect::Truncated) => {
                text.truncate(text.floor_char_boundary(text.len() / 2));
                finish = FinishReason::Length;
            }
            Some(FaultEffect::Hang) => {
                let ms = i64::try_from(self.0.script.seconds * 1_500).unwrap_or(i64::MAX);
                self.0.advance(ms);
                std::future::pending::<()>().await;
            }
            Some(FaultEffect::Transient) => {
                return Err(refusal(FaultEffect::Transient, format!("asking {MODEL}")));
            }
            Some(effect) => {
                self.0.bill(-PRICE.cost(&tokens));
                return Err(refusal(effect, format!("asking {MODEL}")));
            }
        }
        if let Some(sink) = sink {
            sink(&text);
        }
        Ok(Completion { tokens, finish, ..Completion::from_text(text) })
    }
}

/// A reranker that is called over a network.
pub(super) struct Reranker(pub(super) Arc<World>);

pub(super) fn rank_key(query: &str, texts: &str) -> String {
    format!("rank:reranker {texts} {query}")
}

#[async_trait]
impl Ranker for Reranker {
    fn name(&self) -> &str {
        "reranker"
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let key = rank_key(query, PageHash::from_parts(texts).as_str());
        let scores = LexicalRanker.rank(query, texts).await?;
        match self.0.meet(Port::Reranker, key).await {
            None => Ok(scores),
            Some(FaultEffect::Garbage) => {
                let odd = [f32::NAN, f32::INFINITY, -1.0, f32::NEG_INFINITY];
                Ok(scores.iter().zip(odd.iter().cycle()).map(|it| *it.1).collect())
            }
            Some(FaultEffect::Truncated) => Ok(scores[..scores.len() / 2].to_vec()),
            Some(effect) => Err(refusal(effect, "asking the reranker".to_owned())),
        }
    }
}
