//! Asking where something might be said, and fusing the answers (rows C7, D3, D4).
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};

use crate::domain::{Brief, Hit, Hits, ItemId, Query, Usage, Vertical};
use crate::error::{Error, Kind, Result};
use crate::record::{Event, Outcome};
use crate::research::READ_AT_ONCE;
use crate::research::shelf::Shelf;
use crate::research::steps;
use crate::research::works::{self, Works};
use crate::seams::{Log, SearchProvider, World};

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const RRF_K: f32 = 60.0;
/// What a further page from a site already chosen is worth, each time (row D8).
const SAME_SITE: f32 = 0.85;
/// Hits of an item looked at for names that lead on.
const BEST: usize = 10;
/// Hits that a researcher is shown (row C7).
const SHOWN: usize = 8;
/// How much the ranker's word counts beside the fused rank.
const RANKER_SHARE: f32 = 0.5;

/// Every document that any search has named.
#[derive(Default)]
pub(crate) struct Found {
    /// By document key: the hit as first seen.
    hits: BTreeMap<String, Hit>,
    /// Fused score of a document for an item.
    fused: BTreeMap<(ItemId, String), f32>,
    /// Which of them are one work.
    works: Works,
    /// Searches that came back.
    pub(crate) answered: u32,
}

/// A name that a document leads to.
pub(crate) struct FoundName<'f> {
    /// The item it speaks to.
    pub(crate) item: ItemId,
    pub(crate) name: String,
    /// The document that names it.
    pub(crate) hit: &'f Hit,
}

/// Those who are asked one query, in order.
type Engines = Vec<Arc<dyn SearchProvider>>;

/// Whom a query is asked: every folder of documents, but of the engines of a kind the first, and the next where that one
/// fails or finds nothing.
fn asked(world: &World, query: &Query) -> Vec<Engines> {
    let serves = |it: &&Arc<dyn SearchProvider>| it.verticals().contains(&query.vertical());
    let all = world.search.iter().filter(serves).cloned();
    match query.vertical() {
        Vertical::Local => all.map(|it| vec![it]).collect(),
        _ => vec![all.collect()],
    }
}

/// How an engine answered.
struct Answered {
    engine: Arc<dyn SearchProvider>,
    answer: Result<Hits>,
    ms: u64,
}

/// Sends every query to those who are to be asked; tells each start and end in the order of the plan. Gives the last failure,
/// where there was one.
pub(crate) async fn search(
    world: &World,
    log: &Log,
    queries: &[Query],
    found: &mut Found,
    usage: &mut Usage,
) -> Result<Option<Error>> {
    let queries: Vec<(&Query, Option<&str>)> = queries.iter().map(|it| (it, None)).collect();
    search_as(world, log, &queries, found, usage).await
}

/// The same, each query for the researcher that is named beside it.
pub(crate) async fn search_as(
    world: &World,
    log: &Log,
    queries: &[(&Query, Option<&str>)],
    found: &mut Found,
    usage: &mut Usage,
) -> Result<Option<Error>> {
    let calls: Vec<(Engines, Query, Option<&str>)> = queries
        .iter()
        .flat_map(|(query, agent)| {
            asked(world, query)
                .into_iter()
                .map(|it| (it, (*query).clone(), *agent))
        })
        .filter(|it| !it.0.is_empty())
        .collect();
    for (engines, query, agent) in &calls {
        log.emit_as(*agent, started(&engines[0], query));
    }
    // Made before the first is asked: a closure kept across an await would not be `Send` for every
    // lifetime.
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(engines, query, agent)| async move {
            let mut answers = Vec::new();
            for engine in engines {
                let begun = world.clock.unix_ms();
                let answer = engine.search(&query).await;
                let ms = world.clock.unix_ms().saturating_sub(begun);
                let enough = match &answer {
                    Ok(found) => !found.hits.is_empty(),
                    // A budget that is spent is spent for the next one too.
                    Err(fault) => matches!(fault.kind(), Kind::Cancelled | Kind::Exhausted),
                };
                answers.push(Answered { engine, answer, ms });
                if enough {
                    break;
                }
            }
            (query, agent, answers)
        })
        .collect();
    let mut answers = stream::iter(calls).buffered(READ_AT_ONCE);
    let mut fault = None;
    while let Some((query, agent, answers)) = answers.next().await {
        for (nth, it) in answers.into_iter().enumerate() {
            if nth > 0 {
                log.emit_as(agent, started(&it.engine, &query));
            }
            if let Some(failed) = heard(log, agent, &query, it, found, usage)? {
                fault = Some(failed);
            }
        }
    }
    Ok(fault)
}

fn started(engine: &Arc<dyn SearchProvider>, query: &Query) -> Event {
    Event::SearchStarted {
        engine: engine.name().to_owned(),
        query: query.text().to_owned(),
        vertical: query.vertical(),
        item: query.item,
        variation: query.variation,
        origin: query.origins().to_vec(),
    }
}

/// Takes in one answer and tells it; gives the failure that it was, if it was one.
fn heard(
    log: &Log,
    agent: Option<&str>,
    query: &Query,
    answered: Answered,
    found: &mut Found,
    usage: &mut Usage,
) -> Result<Option<Error>> {
    usage.searches += 1;
    let (engine, ms) = (answered.engine.name().to_owned(), answered.ms);
    let mut fault = None;
    let (hits, outcome, error) = match answered.answer {
        Ok(hits) if hits.hits.is_empty() => (hits, Outcome::Empty, None),
        Ok(hits) => (hits, Outcome::Ok, None),
        Err(stopped) if stopped.kind() == Kind::Cancelled => return Err(stopped),
        Err(failed) => {
            let outcome = match failed.kind() {
                Kind::Transient => Outcome::RateLimited,
                _ => Outcome::Error,
            };
            let message = failed.chain();
            fault = Some(failed);
            (Hits::default(), outcome, Some(message))
        }
    };
    found.answered += u32::from(error.is_none());
    for remark in &hits.remarks {
        let remark = Event::Log {
            level: "info".to_owned(),
            message: format!("{engine}: {remark}"),
        };
        log.emit_as(agent, remark);
    }
    let count = hits.hits.len() as u32;
    let new = found.take(query, hits.hits);
    let told = Event::SearchCompleted {
        engine,
        query: query.text().to_owned(),
        item: query.item,
        hits: count,
        new,
        ms,
        cost_usd: hits.cost_usd.unwrap_or(0.0),
        outcome,
        error,
    };
    log.emit_as(agent, told);
    Ok(fault)
}

impl Found {
    /// Takes in one answer by reciprocal rank fusion; counts the documents not seen before.
    fn take(&mut self, query: &Query, hits: Vec<Hit>) -> u32 {
        let mut new = 0;
        for (place, hit) in hits.into_iter().enumerate() {
            let key = self.works.key(&hit);
            *self.fused.entry((query.item, key.clone())).or_insert(0.0) +=
                1.0 / (RRF_K + place as f32 + 1.0);
            match self.hits.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(hit);
                    new += 1;
                }
                Entry::Occupied(known) => works::merge(known.into_mut(), hit),
            }
        }
        new
    }

    /// Names that the documents found for `items` lead on to, where the question names those documents: for each name the
    /// item it speaks to. At most `most`.
    pub(crate) fn leads(
        &self,
        question: &str,
        items: &[ItemId],
        most: usize,
    ) -> Vec<FoundName<'_>> {
        let mut found: Vec<FoundName<'_>> = Vec::new();
        for item in items {
            let of_item = |it: &(&(ItemId, String), &f32)| it.0.0 == *item;
            let mut scores: Vec<(&String, f32)> = self
                .fused
                .iter()
                .filter(of_item)
                .map(|((_, key), score)| (key, *score))
                .collect();
            scores.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let best = scores.iter().filter_map(|it| self.hits.get(it.0));
            let best: Vec<&Hit> = best.take(BEST).collect();
            for hit in steps::followed(question, best.iter().copied()) {
                let text = hit.snippet.expose();
                // Of what the document names, what the question asks for by a word of its own.
                let asked = steps::asked_for(question, text);
                let names = steps::leads(question, &hit.title, text).into_iter();
                let names = names.filter(|it| asked.contains(it));
                let fresh = |it: &String| found.iter().all(|had| had.name != *it);
                let names: Vec<String> = names.filter(fresh).collect();
                found.extend(names.into_iter().map(|name| FoundName {
                    item: *item,
                    name,
                    hit,
                }));
            }
        }
        found.truncate(most);
        found
    }

    /// Whether a lower-case word stands in what folders showed of a document.
    pub(crate) fn says_privately(&self, word: &str) -> bool {
        let hits = self.hits.values();
        let mut private = hits.filter(|it| it.vertical == Vertical::Local);
        private.any(|it| {
            let shown = format!("{} {} {}", it.title, it.url, it.snippet.expose());
            shown.to_lowercase().contains(word)
        })
    }

    /// How many distinct voices any search has named.
    pub(crate) fn domains(&self) -> u32 {
        let all: BTreeSet<String> =
            self.hits
                .values()
                .map(|it| match it.vertical {
                    Vertical::Scholar | Vertical::Pubmed => it.key().to_owned(),
                    _ => super::read::registrable_domain(&it.url)
                        .unwrap_or_else(|| it.key().to_owned()),
                })
                .collect();
        all.len() as u32
    }

    /// What to read next for `items`: fused ranks and the ranker's word together, near-duplicates
    /// dropped, sites kept apart, at most `room`. Best first.
    pub(crate) async fn choose(
        &self,
        world: &World,
        log: &Log,
        brief: &Brief,
        items: &[ItemId],
        shelf: &Shelf,
        room: usize,
    ) -> Result<Vec<Hit>> {
        let mut totals: BTreeMap<&str, f32> = BTreeMap::new();
        for ((item, key), score) in &self.fused {
            let tried = |it: &Hit| shelf.tried(it.key());
            if items.contains(item) && !self.hits.get(key).is_some_and(tried) {
                *totals.entry(key).or_insert(0.0) += score;
            }
        }
        let candidates: Vec<(&Hit, f32)> = totals
            .iter()
            .filter_map(|(key, score)| Some((self.hits.get(*key)?, *score)))
            .collect();
        let ranked = with_ranker(world, log, brief, &candidates).await?;
        Ok(spread(ranked, room))
    }

    /// The hits for `item` that a researcher is shown, and how many there are that nobody has read: each document once, the
    /// best of them, sorted by address and title, so that the same hits are always shown in the same order (row C7).
    pub(crate) async fn prepared(
        &self,
        world: &World,
        log: &Log,
        brief: &Brief,
        item: ItemId,
        shelf: &Shelf,
    ) -> Result<(Vec<Hit>, usize)> {
        let untried = |key: &String| self.hits.get(key).is_some_and(|it| !shelf.tried(it.key()));
        let of_item = self.fused.keys().filter(|it| it.0 == item);
        let all = of_item.filter(|it| untried(&it.1)).count();
        let mut best = self
            .choose(world, log, brief, &[item], shelf, SHOWN)
            .await?;
        best.sort_by(|a, b| a.url.cmp(&b.url).then_with(|| a.title.cmp(&b.title)));
        Ok((best, all))
    }
}

/// Fused score plus the ranker's, each scaled to at most 1.
async fn with_ranker(
    world: &World,
    log: &Log,
    brief: &Brief,
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
        world.ranker.rank(&brief.question, &refs).await
    };
    let scores = match scores {
        Ok(scores) if scores.len() == refs.len() => scores,
        Ok(_) => vec![0.0; refs.len()],
        Err(stopped) if stopped.kind() == Kind::Cancelled => return Err(stopped),
        Err(failed) => {
            log.emit(Event::Log {
                level: "warn".to_owned(),
                message: format!("ranking: {}", failed.chain()),
            });
            vec![0.0; refs.len()]
        }
    };
    let top = |it: &mut dyn Iterator<Item = f32>| it.fold(f32::MIN_POSITIVE, f32::max);
    let most_fused = top(&mut candidates.iter().map(|it| it.1));
    let most_ranked = top(&mut scores.iter().copied());
    Ok(candidates
        .iter()
        .zip(scores)
        .map(|((hit, fused), score)| {
            (
                (*hit).clone(),
                fused / most_fused + RANKER_SHARE * score / most_ranked,
            )
        })
        .collect())
}

/// The best `room` of them, where each further one of a site counts for less; the same text once.
fn spread(mut left: Vec<(Hit, f32)>, room: usize) -> Vec<Hit> {
    let mut picked: Vec<Hit> = Vec::new();
    let mut sites: BTreeMap<String, i32> = BTreeMap::new();
    let mut texts: BTreeSet<String> = BTreeSet::new();
    let site = |hit: &Hit| {
        super::read::registrable_domain(&hit.url)
            .filter(|_| hit.doc_id.is_none())
            .unwrap_or_else(|| hit.key().to_owned())
    };
    while picked.len() < room && !left.is_empty() {
        let mut best = (0, f32::MIN);
        for (at, (hit, score)) in left.iter().enumerate() {
            let seen = sites.get(&site(hit)).copied().unwrap_or(0);
            let value = score * SAME_SITE.powi(seen);
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
        if text.len() > 40 && !texts.insert(text) {
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
    use crate::domain::{OutboundWords, Variation};

    fn hits(urls: &[&str]) -> Vec<Hit> {
        let hit = |it: &&str| Hit::new("local", &format!("https://{it}.example/"), it, "");
        urls.iter().map(hit).collect()
    }

    #[test]
    fn answers_are_fused_by_reciprocal_ranks_with_60() {
        let query = |item: u32| {
            let words = OutboundWords::constant("cork");
            let item = ItemId::new(item);
            Query::outside(words, Vertical::Web, item, Variation::Original, 10)
        };
        let mut found = Found::default();
        assert_eq!(found.take(&query(1), hits(&["a", "b", "c"])), 3);
        assert_eq!(found.take(&query(1), hits(&["b", "d"])), 1);
        assert_eq!(found.take(&query(2), hits(&["a"])), 0);
        let mut fused: Vec<(u32, String, f32)> = found
            .fused
            .iter()
            .map(|((item, key), score)| (item.number(), key.clone(), *score))
            .collect();
        fused.sort_by(|a, b| a.0.cmp(&b.0).then(b.2.total_cmp(&a.2)));
        let order: Vec<String> = fused
            .iter()
            .map(|it| {
                format!(
                    "{} {}",
                    it.0,
                    it.1.replace("https://", "").replace(".example", "")
                )
            })
            .collect();
        // Second and first in two answers is better than first in one.
        assert_eq!(order, ["1 b", "1 a", "1 d", "1 c", "2 a"]);
        let score = |nth: usize| fused[nth].2;
        assert!((score(0) - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-6);
        assert!((score(1) - 1.0 / 61.0).abs() < 1e-6);
        assert!((score(3) - 1.0 / 63.0).abs() < 1e-6);
    }
}
