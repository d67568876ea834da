//! Runs searches and fuses their results.
use crate::thresholds::{CONTEXT_WEIGHT, RANKER_WEIGHT, RRF_K, SAME_SITE_FACTOR};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};

use crate::concurrency::MAX_QUEUED_FETCHES;
use crate::multi_hop;
use crate::page_set::PageSet;
use crate::read::registrable_domain;
use crate::run_context::RunContext;
use crate::works;
use crate::works::WorkIndex;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Hit, Hits, ItemId, Query, Synonym, Usage, Vertical};
use ibid_core::ports::{EventLog, Providers, SearchProvider};
use ibid_core::record::{Event, LogSource, SearchOutcome};
use ibid_core::{Error, ErrorKind, FailureReason, Result};

/// Hits of an item checked for names that lead on.
const MAX_NAMED_HITS: usize = 10;
/// Hits shown to a researcher.
const MAX_SHOWN_HITS: usize = 8;

/// Every document found by any search.
#[derive(Default)]
pub(crate) struct HitPool {
    /// Each hit as first seen, by document key.
    hits: BTreeMap<String, Hit>,
    /// The fused score of a document for an item.
    fused: BTreeMap<(ItemId, String), f32>,
    /// The documents that each query found, by the query's text.
    found_by: BTreeMap<String, BTreeSet<String>>,
    /// Which hits are the same work.
    works: WorkIndex,
    /// How many searches succeeded.
    pub(crate) answered: u32,
    /// Whether answers are kept, and below it those that were.
    keeps_answers: bool,
    kept: Vec<(Query, Vec<Hit>)>,
    /// Names in the queries for which folders know other names.
    pub(crate) synonyms: Vec<Synonym>,
}

/// A name in a document that the next search is for.
pub(crate) struct BridgeEntity<'f> {
    /// The item it was found for.
    pub(crate) item: ItemId,
    pub(crate) name: String,
    /// The document with the name.
    pub(crate) hit: &'f Hit,
}

/// The engines for one query, in order of preference.
type EngineChain = Vec<Arc<dyn SearchProvider>>;

/// The engines for a query: every local folder by itself; of outside engines the first, and the next one
/// where it fails or finds nothing; each MCP server by itself.
fn engine_chains(providers: &Providers, query: &Query) -> Vec<EngineChain> {
    let serves =
        |provider: &&Arc<dyn SearchProvider>| provider.verticals().contains(&query.vertical());
    let all = providers.search.iter().filter(serves).cloned();
    match query.vertical() {
        Vertical::Local => all.map(|it| vec![it]).collect(),
        _ => {
            let (collections, engines): (EngineChain, EngineChain) =
                all.partition(|it| it.is_collection());
            std::iter::once(engines).chain(collections.into_iter().map(|it| vec![it])).collect()
        }
    }
}

/// The answer of one engine.
struct EngineAnswer {
    engine: Arc<dyn SearchProvider>,
    answer: Result<Hits>,
    ms: u64,
}

/// Sends every query and emits each start and end in the order of `queries`. Returns the last error, if there
/// was one.
pub(crate) async fn run_queries(
    ctx: RunContext<'_>,
    queries: &[Query],
    pool: &mut HitPool,
    usage: &mut Usage,
) -> Result<Option<Error>> {
    let queries: Vec<(&Query, Option<&str>)> = queries.iter().map(|query| (query, None)).collect();
    run_queries_as(ctx, &queries, pool, usage).await
}

/// Like [`run_queries`], each query for the researcher named beside it.
pub(crate) async fn run_queries_as(
    ctx: RunContext<'_>,
    queries: &[(&Query, Option<&str>)],
    pool: &mut HitPool,
    usage: &mut Usage,
) -> Result<Option<Error>> {
    let RunContext { providers, log, .. } = ctx;
    let calls: Vec<(EngineChain, Query, Option<&str>)> = queries
        .iter()
        .filter(|(query, _)| !pool.reuse_answer(query))
        .flat_map(|(query, agent)| {
            engine_chains(providers, query)
                .into_iter()
                .map(|engine_chain| (engine_chain, (*query).clone(), *agent))
        })
        .filter(|pair| !pair.0.is_empty())
        .collect();
    for (engines, query, agent) in &calls {
        log.emit_as(*agent, search_started_event(&engines[0], query));
    }
    // The futures are made before the first is polled: a closure kept across an await would not be `Send` for
    // every lifetime.
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(engines, query, agent)| async move {
            let mut answers = Vec::new();
            for engine in engines {
                let begun = providers.clock.unix_ms();
                let answer = engine.search(&query).await;
                let ms = providers.clock.unix_ms().saturating_sub(begun);
                let enough = match &answer {
                    Ok(found) => !found.hits.is_empty(),
                    // A spent budget is spent for the next engine, too.
                    Err(fault) => {
                        matches!(fault.kind(), ErrorKind::Cancelled | ErrorKind::Exhausted)
                    }
                };
                answers.push(EngineAnswer { engine, answer, ms });
                if enough {
                    break;
                }
            }
            (query, agent, answers)
        })
        .collect();
    let mut answers = stream::iter(calls).buffered(MAX_QUEUED_FETCHES);
    let mut fault = None;
    while let Some((query, agent, answers)) = answers.next().await {
        for (nth, it) in answers.into_iter().enumerate() {
            usage.searches += 1;
            if nth > 0 {
                log.emit_as(agent, search_started_event(&it.engine, &query));
            }
            if let Some(failed) = record_answer(log, agent, &query, it, pool)? {
                fault = Some(failed);
            }
        }
    }
    Ok(fault)
}

fn search_started_event(engine: &Arc<dyn SearchProvider>, query: &Query) -> Event {
    Event::SearchStarted {
        engine: engine.name().to_owned(),
        query: query.text().to_owned(),
        vertical: query.vertical(),
        item: query.item,
        variation: query.variation,
        origin: query.origins().to_vec(),
    }
}

/// Adds one answer to the pool and emits it. Returns its error, if it failed.
fn record_answer(
    log: &EventLog,
    agent: Option<&str>,
    query: &Query,
    answered: EngineAnswer,
    pool: &mut HitPool,
) -> Result<Option<Error>> {
    let (engine, ms) = (answered.engine.name().to_owned(), answered.ms);
    let mut fault: Option<Error> = None;
    let (hits, outcome, error) = match answered.answer {
        Ok(hits) if hits.hits.is_empty() => (hits, SearchOutcome::Empty, None),
        Ok(hits) => (hits, SearchOutcome::Ok, None),
        Err(stopped) if stopped.kind() == ErrorKind::Cancelled => return Err(stopped),
        Err(failed) => {
            let outcome = outcome_of(&failed);
            let message = failed.chain();
            fault = Some(failed);
            (Hits::default(), outcome, Some(message))
        }
    };
    pool.answered += u32::from(error.is_none());
    if pool.keeps_answers && error.is_none() {
        pool.kept.push((query.clone(), hits.hits.clone()));
    }
    for remark in &hits.remarks {
        let remark = Event::Log {
            level: "info".to_owned(),
            message: format!("{engine}: {remark}"),
            source: Some(LogSource::Service),
        };
        log.emit_as(agent, remark);
    }
    for synonym in hits.synonyms {
        if !pool.synonyms.contains(&synonym) {
            pool.synonyms.push(synonym);
        }
    }
    let count = hits.hits.len() as u32;
    let new = pool.fuse(query, hits.hits);
    let completed = Event::SearchCompleted {
        engine,
        query: query.text().to_owned(),
        item: query.item,
        hits: count,
        new,
        ms,
        cost_usd: hits.cost_usd.unwrap_or(0.0),
        outcome,
        error,
        reason: fault.as_ref().and_then(Error::reason).cloned(),
        status: fault.as_ref().and_then(Error::status),
    };
    log.emit_as(agent, completed);
    Ok(fault)
}

impl HitPool {
    /// A pool that keeps every answer until [`HitPool::stop_keeping`], so that a later query that asks the same is not sent.
    pub(crate) fn keeping_answers() -> HitPool {
        HitPool { keeps_answers: true, ..HitPool::default() }
    }

    /// Keeps no further answers.
    pub(crate) fn stop_keeping(&mut self) {
        self.keeps_answers = false;
    }

    /// Takes kept answers as those of `query`, if one of the kept queries asks the same, for whichever item. Returns whether
    /// there were any.
    fn reuse_answer(&mut self, query: &Query) -> bool {
        let asks_same = |kept: &Query| {
            let mut kept = kept.clone();
            (kept.item, kept.variation) = (query.item, query.variation);
            kept == *query
        };
        let same = self.kept.iter().filter(|(kept, _)| asks_same(kept));
        let same: Vec<(ItemId, Vec<Hit>)> =
            same.map(|(kept, hits)| (kept.item, hits.clone())).collect();
        let found_any = !same.is_empty();
        // For the item of the kept query they were added when they came.
        for (_, hits) in same.into_iter().filter(|(item, _)| *item != query.item) {
            self.fuse(query, hits);
        }
        found_any
    }

    /// Adds an answer by reciprocal rank fusion. Returns how many documents are new.
    fn fuse(&mut self, query: &Query, hits: Vec<Hit>) -> u32 {
        let mut new = 0;
        for (place, hit) in hits.into_iter().enumerate() {
            let key = self.works.key(&hit);
            self.found_by.entry(query.text().to_owned()).or_default().insert(key.clone());
            *self.fused.entry((query.item, key.clone())).or_insert(0.0) +=
                1.0 / (RRF_K + place as f32 + 1.0);
            match self.hits.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(hit);
                    new += 1;
                }
                Entry::Occupied(known) => works::merge_hit(known.into_mut(), hit),
            }
        }
        new
    }

    /// At most `most` names that the hits for `items` lead to, where the question names those documents.
    pub(crate) fn lead_names(
        &self,
        question: &str,
        items: &[ItemId],
        most: usize,
    ) -> Vec<BridgeEntity<'_>> {
        let mut found: Vec<BridgeEntity<'_>> = Vec::new();
        for item in items {
            let of_item = |pair: &(&(ItemId, String), &f32)| pair.0.0 == *item;
            let mut scores: Vec<(&String, f32)> =
                self.fused.iter().filter(of_item).map(|((_, key), score)| (key, *score)).collect();
            scores.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let best = scores.iter().filter_map(|score| self.hits.get(score.0));
            let best: Vec<&Hit> = best.take(MAX_NAMED_HITS).collect();
            for hit in multi_hop::named_documents(question, best.iter().copied()) {
                let text = hit.snippet.expose();
                // Of the names in the document, those that the question asks for with a word of its own.
                let asked = multi_hop::requested_names(question, text);
                let names = multi_hop::lead_names(question, &hit.title, text).into_iter();
                let names = names.filter(|name| asked.contains(name));
                let fresh = |text: &String| found.iter().all(|had| had.name != *text);
                let names: Vec<String> = names.filter(fresh).collect();
                found.extend(names.into_iter().map(|name| BridgeEntity { item: *item, name, hit }));
            }
        }
        found.truncate(most);
        found
    }

    /// Whether a hit from a local folder contains a lower-case word.
    pub(crate) fn has_private_word(&self, word: &str) -> bool {
        let hits = self.hits.values();
        let mut private = hits.filter(|hit| hit.vertical == Vertical::Local);
        private.any(|it| {
            let shown = format!("{} {} {}", it.title, it.url, it.snippet.expose());
            shown.to_lowercase().contains(word)
        })
    }

    /// How many distinct sites any search has named.
    pub(crate) fn domain_count(&self) -> u32 {
        let all: BTreeSet<String> = self
            .hits
            .values()
            .map(|value| match value.vertical {
                Vertical::Scholar | Vertical::Pubmed => value.key().to_owned(),
                _ => registrable_domain(&value.url).unwrap_or_else(|| value.key().to_owned()),
            })
            .collect();
        all.len() as u32
    }

    /// At most `room` hits to read next for `items`, best first: by fused rank and the ranker's score,
    /// without near-duplicates, sites spread out.
    pub(crate) async fn choose_to_read(
        &self,
        ctx: RunContext<'_>,
        items: &[ItemId],
        pages: &PageSet,
        room: usize,
    ) -> Result<Vec<Hit>> {
        let mut totals: BTreeMap<&str, f32> = BTreeMap::new();
        for ((item, key), score) in &self.fused {
            let tried = |hit: &Hit| pages.is_tried(hit.key());
            if items.contains(item) && !self.hits.get(key).is_some_and(tried) {
                *totals.entry(key).or_insert(0.0) += score;
            }
        }
        let candidates: Vec<(&Hit, f32)> =
            totals.iter().filter_map(|(key, score)| Some((self.hits.get(*key)?, *score))).collect();
        let ranked = rerank_hits(ctx, &ctx.brief.question, &candidates).await?;
        Ok(diversify(ranked, room))
    }

    /// The unread hits of a researcher's own `queries`, the best ones for its `topic`; if those found nothing, the hits for its
    /// item. They are shown sorted by address and title, so that the same hits always appear in the same order.
    pub(crate) async fn hits_for_researcher(
        &self,
        ctx: RunContext<'_>,
        (topic, item): (&str, ItemId),
        queries: &[String],
        pages: &PageSet,
    ) -> Result<ResearcherHits> {
        let own: BTreeSet<&String> =
            queries.iter().filter_map(|query| self.found_by.get(query)).flatten().collect();
        let wanted = self
            .fused
            .iter()
            .filter(|((of, key), _)| *of == item && (own.is_empty() || own.contains(key)));
        let found = wanted.filter_map(|((_, key), score)| Some((self.hits.get(key)?, *score)));
        let mut candidates: Vec<(&Hit, f32)> = found.collect();
        let all = candidates.len();
        candidates.retain(|(hit, _)| !pages.is_tried(hit.key()));
        let unread = candidates.len();
        let ranked = rerank_hits(ctx, topic, &candidates).await?;
        let mut best = diversify(ranked, MAX_SHOWN_HITS);
        best.sort_by(|a, b| a.url.cmp(&b.url).then_with(|| a.title.cmp(&b.title)));
        Ok(ResearcherHits { shown: best, unread, tried: all - unread })
    }
}

/// What the searches of a researcher found.
pub(crate) struct ResearcherHits {
    /// The hits that it may read.
    pub(crate) shown: Vec<Hit>,
    /// How many hits nobody has tried to read.
    pub(crate) unread: usize,
    /// How many hits were tried before, by it or by others.
    pub(crate) tried: usize,
}

/// The outcome of a search that failed. An outage is no rate limit, although both pass.
fn outcome_of(failed: &Error) -> SearchOutcome {
    match (failed.reason(), failed.status()) {
        (Some(FailureReason::Unreachable), _) => SearchOutcome::Unreachable,
        (Some(FailureReason::Overloaded), None | Some(..=499)) | (None, Some(429)) => {
            SearchOutcome::RateLimited
        }
        _ => SearchOutcome::Error,
    }
}

/// The fused score plus the ranker's for `query`, each scaled to at most 1, and a little for hits that suit the question's
/// context.
async fn rerank_hits(
    ctx: RunContext<'_>,
    query: &str,
    candidates: &[(&Hit, f32)],
) -> Result<Vec<(Hit, f32)>> {
    let texts: Vec<String> = candidates
        .iter()
        .map(|(hit, _)| format!("{}\n{}", hit.title, hit.snippet.expose()))
        .collect();
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = if refs.is_empty() {
        Ok(Vec::new())
    } else {
        ctx.providers.ranker.rank(query, &refs).await
    };
    let scores = match scores {
        Ok(scores) if scores.len() == refs.len() => scores,
        Ok(_) => vec![0.0; refs.len()],
        Err(stopped) if stopped.kind() == ErrorKind::Cancelled => return Err(stopped),
        Err(failed) => {
            ctx.log.emit(Event::Log {
                level: "warn".to_owned(),
                message: format!("ranking: {}", failed.chain()),
                source: Some(LogSource::Service),
            });
            vec![0.0; refs.len()]
        }
    };
    let top = |iterator: &mut dyn Iterator<Item = f32>| iterator.fold(f32::MIN_POSITIVE, f32::max);
    let most_fused = top(&mut candidates.iter().map(|candidate| candidate.1));
    let most_ranked = top(&mut scores.iter().copied());
    let context = content_stems(ctx.question.context.as_deref().unwrap_or_default());
    let suits = |text: &str| {
        let own = content_stems(text);
        let shared = context.iter().filter(|stem| own.contains(stem)).count();
        shared as f32 / context.len().max(1) as f32
    };
    Ok(candidates
        .iter()
        .zip(scores)
        .zip(&refs)
        .map(|(((hit, fused), score), text)| {
            let ranked = fused / most_fused + RANKER_WEIGHT * score / most_ranked;
            ((*hit).clone(), ranked + CONTEXT_WEIGHT * suits(text))
        })
        .collect())
}

/// The best `room` hits; each further one of a site counts for less, and a text that a site repeats is skipped.
fn diversify(mut left: Vec<(Hit, f32)>, room: usize) -> Vec<Hit> {
    let mut picked: Vec<Hit> = Vec::new();
    let mut sites: BTreeMap<String, i32> = BTreeMap::new();
    let mut texts: BTreeSet<String> = BTreeSet::new();
    let site = |hit: &Hit| {
        registrable_domain(&hit.url)
            .filter(|_| hit.doc_id.is_none())
            .unwrap_or_else(|| hit.key().to_owned())
    };
    while picked.len() < room && !left.is_empty() {
        let mut best = (0, f32::MIN);
        for (at, (hit, score)) in left.iter().enumerate() {
            let seen = sites.get(&site(hit)).copied().unwrap_or(0);
            let value = score * SAME_SITE_FACTOR.powi(seen);
            if value > best.1 {
                best = (at, value);
            }
        }
        let (hit, _) = left.remove(best.0);
        let text = format!("{} {}", hit.title, hit.snippet.expose())
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        // Another site that says the same of its page may be a copy, or the page that is copied.
        if text.len() > 40 && !texts.insert(format!("{} {text}", site(&hit))) {
            continue;
        }
        *sites.entry(site(&hit)).or_insert(0) += 1;
        picked.push(hit);
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(urls: &[&str]) -> Vec<Hit> {
        let hit = |text: &&str| Hit::new("local", &format!("https://{text}.example/"), text, "");
        urls.iter().map(hit).collect()
    }

    #[test]
    fn a_copy_on_another_site_does_not_hide_the_page_that_it_copies() {
        let words = "The length of the Harrow Lane Tramway, by those who measured it";
        let hit = |url: &str| (Hit::new("web", url, words, words), 1.0);
        let copy = || vec![hit("https://copy.example/a"), hit("https://real.example/a")];
        assert_eq!(diversify(copy(), 5).len(), 2);
        let same = vec![hit("https://copy.example/a"), hit("https://copy.example/b")];
        assert_eq!(diversify(same, 5).len(), 1);
    }

    #[test]
    fn answers_are_fused_by_reciprocal_ranks_with_60() {
        let query = |item: u32| {
            let mut query = Query::from_static("cork", Vertical::Web, 10);
            query.item = ItemId::new(item);
            query
        };
        let mut found = HitPool::default();
        assert_eq!(found.fuse(&query(1), hits(&["a", "b", "c"])), 3);
        assert_eq!(found.fuse(&query(1), hits(&["b", "d"])), 1);
        assert_eq!(found.fuse(&query(2), hits(&["a"])), 0);
        let mut fused: Vec<(u32, String, f32)> = found
            .fused
            .iter()
            .map(|((item, key), score)| (item.number(), key.clone(), *score))
            .collect();
        fused.sort_by(|a, b| a.0.cmp(&b.0).then(b.2.total_cmp(&a.2)));
        let order: Vec<String> = fused
            .iter()
            .map(|pair| {
                format!("{} {}", pair.0, pair.1.replace("https://", "").replace(".example", ""))
            })
            .collect();
        // Second and first in two answers beats first in one.
        assert_eq!(order, ["1 b", "1 a", "1 d", "1 c", "2 a"]);
        let score = |nth: usize| fused[nth].2;
        assert!((score(0) - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-6);
        assert!((score(1) - 1.0 / 61.0).abs() < 1e-6);
        assert!((score(3) - 1.0 / 63.0).abs() < 1e-6);
    }
}
