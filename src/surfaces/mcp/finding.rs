//! `search` and `fetch`, in the form that ChatGPT asks for: results with ids, and the text behind an id.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::Mcp;
use super::calls::{MOST, Said};
use super::said::id;
use crate::domain::words::content_stems;
use crate::error::{Error, Kind, Result};
use crate::record::RunStatus;
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::{CallerHit, CallerService};

/// Results of a search, and how many of them `fetch` still knows.
const FOUND: usize = 10;
const KNOWN: usize = 1_000;

/// How many of the results may be of earlier runs, how many runs are looked at for them, and how long that may take.
const BEFORE: usize = 3;
const RUNS: usize = 50;
const LOOKED: Duration = Duration::from_secs(3);

/// How long engines and folders are searched, and a page is read: less than a call may take.
const SEARCHED: Duration = Duration::from_secs(18);
const READ: Duration = Duration::from_secs(MOST.as_secs() - 3);

/// A result that `fetch` knows, for the caller who found it.
pub(super) struct Known {
    id: String,
    caller: String,
    hit: CallerHit,
}

/// What is missing, for who can put it there.
fn missing(nowhere: &Error) -> Error {
    Error::new(Kind::Usage, nowhere.told()).hint(
        "the operator serves documents with --folder DIR, or sets up an engine: `ibid engines` lists them, `engines` in the settings names those to ask",
    )
}

impl Mcp {
    /// What documents, engines and earlier runs have on it: `{results: [{id, title, url}]}`, with what failed in `remarks`.
    pub(super) async fn search(&self, service: &CallerService, query: Result<&str>) -> Said {
        let query = query?;
        let asked = Asked::parse(&json!({"question": query}), &[])?;
        let (question, mut remarks) = match service.question(&asked).await {
            Ok(it) => (Some(Arc::new(it)), Vec::new()),
            // What earlier runs have read can be found where nobody searches anew.
            Err(nowhere) if nowhere.kind() == Kind::Usage => (None, vec![missing(&nowhere)]),
            Err(fault) => return Err(fault),
        };
        let looked = async {
            match &question {
                Some(it) => service.look_up(it, FOUND, SEARCHED).await.map(Some),
                None => Ok(None),
            }
        };
        let before = timeout(LOOKED, self.read_before(service, query));
        let (looked, before) = tokio::join!(looked, before);
        let looked = looked?.unwrap_or_default();
        let mut before = before.unwrap_or_else(|_| Ok(Vec::new()))?;
        if let (true, Some(nowhere)) = (before.is_empty(), remarks.pop()) {
            return Err(nowhere);
        }
        let is_new = |it: &Value| !looked.hits.iter().any(|hit| it["url"] == hit.url.as_str());
        before.retain(is_new);
        let mut hits = looked.hits;
        hits.truncate(FOUND - before.len());
        if hits.is_empty() && before.is_empty() && !looked.faults.is_empty() {
            // Nobody could be asked, which is not that nothing was found.
            let what = format!("no engine answered: {}", looked.faults.join("; "));
            return Err(Error::new(Kind::Transient, what).hint("search again in a minute"));
        }
        let mut results = self.kept(service, hits);
        results.extend(before);
        let mut out = json!({"results": results});
        if !looked.faults.is_empty() {
            out["remarks"] = looked.faults.into();
        }
        Ok(out)
    }

    /// The results that `hits` are, and keeps these for [`Mcp::fetch`].
    fn kept(&self, service: &CallerService, hits: Vec<CallerHit>) -> Vec<Value> {
        let caller = service.caller().name();
        let mut results = Vec::new();
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for hit in hits {
            let id = id(hit.hit());
            results.push(json!({"id": id, "title": hit.title, "url": hit.url}));
            known.retain(|it| it.id != id || it.caller != caller);
            known.push_back(Known {
                id,
                caller: caller.to_owned(),
                hit,
            });
        }
        while known.len() > KNOWN {
            // The oldest of whoever has most, so that nobody pushes out what others have found.
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for found in known.iter() {
                *counts.entry(&found.caller).or_default() += 1;
            }
            let most = counts.iter().max_by_key(|(_, count)| **count);
            let most = most.map(|(caller, _)| (*caller).to_owned());
            let oldest = known
                .iter()
                .position(|found| Some(&found.caller) == most.as_ref());
            known.remove(oldest.unwrap_or_default());
        }
        results
    }

    /// Sources of the caller's own latest reports whose titles have the words.
    async fn read_before(&self, service: &CallerService, query: &str) -> Result<Vec<Value>> {
        let words: BTreeSet<String> = content_stems(query).into_iter().collect();
        let wanted = words.len().min(2);
        let mut out: Vec<Value> = Vec::new();
        if wanted == 0 {
            return Ok(out);
        }
        let rows = service.rows().await?.into_iter();
        let ended = rows.filter(|it| it.status == RunStatus::Completed);
        for row in ended.take(RUNS) {
            let run = service.run_of(&row)?.run().await?;
            let sources = run.report.iter().flat_map(|it| &it.sources).enumerate();
            for (at, it) in sources.filter(|it| it.1.url.starts_with("http")) {
                let title: BTreeSet<String> = content_stems(&it.title).into_iter().collect();
                let is_known = out.iter().any(|known| known["url"] == it.url.as_str());
                if is_known || title.intersection(&words).count() < wanted {
                    continue;
                }
                out.push(json!({"id": format!("{}:{}", run.id, at + 1), "title": it.title, "url": it.url}));
                if out.len() >= BEFORE {
                    return Ok(out);
                }
            }
        }
        Ok(out)
    }

    /// The text behind the id of a result: `{id, title, text, url, metadata}`.
    pub(super) async fn fetch(&self, service: &CallerService, id: Result<&str>) -> Said {
        let id = id?;
        let gone = || {
            Error::new(Kind::Usage, "there is nothing of this id")
                .hint("search again, and use an id of its results")
        };
        if let Some((run, n)) = id.split_once(':') {
            let of = service.run(run).await.map_err(|_| gone())?;
            let run = of.run().await?;
            let n: usize = n.parse().map_err(|_| gone())?;
            let report = run.report.as_deref().ok_or_else(gone)?;
            let source = report.sources.get(n.wrapping_sub(1)).ok_or_else(gone)?;
            let page = of.page(&source.page).await?.ok_or_else(gone)?;
            return Ok(json!({
                "id": id,
                "title": source.title,
                "text": page["text"],
                "url": source.url,
                "metadata": {"published": source.date, "doi": source.work.doi, "pmid": source.work.pmid},
            }));
        }
        let found = {
            let caller = service.caller().name();
            let known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let mut of_caller = known.iter().filter(|it| it.caller == caller);
            let found = of_caller.find(|it| it.id == id);
            found.map(|it| it.hit.clone()).ok_or_else(gone)?
        };
        let page = service.look_into(&found, READ).await;
        let page = page.map_err(|fault| self.unread(&found, fault))?;
        let work = &found.hit().work;
        Ok(json!({
            "id": id,
            "title": found.title,
            "text": page.text().expose(),
            "url": found.url,
            "metadata": {"published": page.date, "doi": work.doi, "pmid": work.pmid},
        }))
    }

    /// A page that cannot be read is the page's matter: whoever asked is told why.
    fn unread(&self, hit: &CallerHit, fault: Error) -> Error {
        match fault.kind() {
            Kind::Usage | Kind::NotFound | Kind::Transient | Kind::Exhausted => fault,
            _ => Error::new(
                Kind::NotFound,
                format!("{} cannot be read: {}", hit.url, fault.told()),
            )
            .hint("fetch another result"),
        }
    }
}
