//! Search engines: the web, PubMed, the scholarly record and places where people talk, one file each.
//!
//! A file knows what its interface is asked and what the answers mean, and nothing else: keys, pace, repeated tries and the
//! book of what leaves the machine are the [service](super::service)'s; cutting long queries, dropping what has no address,
//! and filters that an interface does not know are done here, for all alike.
mod answer;
mod arxiv;
mod bibtex;
mod brave;
mod cached;
mod crossref;
mod duckduckgo;
mod europepmc;
mod eutils;
mod exa;
mod firecrawl;
mod github;
mod hackernews;
mod jina;
mod kagi;
pub mod lookups;
mod openalex;
mod pubmed;
mod recorded;
mod rows;
mod searxng;
mod semanticscholar;
mod serper;
mod stackexchange;
mod tavily;
mod wikipedia;
mod words;
mod xml;

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use crate::adapters::model::providers::Secret;
use crate::adapters::service::{Access, Paces, Service};
use crate::domain::work::canonical;
use crate::domain::{Hit, Hits, OutboundWords, Query, Vertical};
use crate::error::{Error, Kind, Result};
use crate::seams::{Egress, SearchProvider};

pub use answer::{Named, Read};
pub use cached::CachedSearch;
pub use eutils::{Ids, Links};
pub use lookups::Lookups;
pub use recorded::{Reading, reading_of};
pub use rows::{ENGINES, Key, Row, named};

/// The longest wait for one answer of an engine.
const PATIENCE: Duration = Duration::from_secs(12);
/// The largest answer of an engine, bytes.
const LARGEST: usize = 16 << 20;

/// What an interface is: the calls that answer a query.
#[async_trait]
trait Api: Send + Sync {
    /// Headers of every request, besides those of all engines.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Hits for `query`, whose text is short enough for the interface, best first.
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits>;
}

/// What an engine is opened with, besides what its row says.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Its key.
    pub key: Option<String>,
    /// Where it is, if not where its row says.
    pub base_url: Option<String>,
    /// How whoever runs this can be reached: an e-mail address. Sent to services that ask for one.
    pub contact: Option<String>,
}

/// A search engine.
pub struct Engine {
    row: &'static Row,
    service: Service,
    api: Box<dyn Api>,
}

impl Engine {
    /// The engine of `row`. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` where its key or address is missing.
    pub fn open(
        row: &'static Row,
        given: &Given,
        agent: &str,
        paces: &Paces,
        egress: &Egress,
    ) -> Result<Engine> {
        let base_url = match given.base_url.as_deref().unwrap_or(row.base_url) {
            "" => {
                let what = format!("no address is known for the search engine {}", row.name);
                return Err(
                    Error::new(Kind::Setup, what).hint(format!("set {} to its URL", row.base_var))
                );
            }
            it => it,
        };
        if given.key.is_none() && row.key == Key::Needed && given.base_url.is_none() {
            let what = format!("no key is set for the search engine {}", row.name);
            return Err(
                Error::new(Kind::Setup, what).hint(format!("set {} to your key", row.key_var))
            );
        }
        let in_header = row.header.0;
        let access = Access {
            base_url: base_url.trim_end_matches('/').to_owned(),
            header: row.header,
            key: given
                .key
                .as_deref()
                .filter(|_| !in_header.is_empty())
                .map(Secret::new),
        };
        let distance = match given.key {
            Some(_) => row.keyed_distance,
            None => row.distance,
        };
        let pace = paces.of(&format!("{} {base_url}", row.name), distance);
        let key = given.key.clone();
        let api = (row.api)(given);
        let service = Service::open(row.name, access)?
            .paced(pace)
            .noted(egress.clone())
            .with_header("user-agent", agent)
            .knowing(key.as_deref())
            .within(PATIENCE, LARGEST);
        let service = api
            .headers()
            .iter()
            .fold(service, |it, (name, value)| it.with_header(name, *value));
        Ok(Engine { row, service, api })
    }

    /// What is known of it.
    pub fn row(&self) -> &'static Row {
        self.row
    }

    /// Asks for one hit on a word that every engine knows, to see that it answers as it should.
    ///
    /// # Errors
    /// What it failed with; `Malformed` where it answers with nothing.
    pub async fn trial(&self) -> Result<()> {
        let query = Query::outside(
            OutboundWords::constant("water"),
            self.row.verticals[0],
            crate::domain::ItemId::new(1),
            crate::domain::Variation::Original,
            1,
        );
        let found = self.search(&query).await?;
        match found.hits.is_empty() {
            false => Ok(()),
            true => Err(Error::new(
                Kind::Malformed,
                format!("{} found nothing on `water`", self.row.name),
            )
            .because(found.remarks.join("; "))),
        }
    }
}

/// What an engine of this name is asked for; local documents where there is no such engine.
pub fn verticals_of(name: &str) -> &'static [Vertical] {
    named(name).map_or(&[Vertical::Local], |it| it.verticals)
}

#[async_trait]
impl SearchProvider for Engine {
    fn name(&self) -> &str {
        self.row.name
    }

    fn verticals(&self) -> &[Vertical] {
        self.row.verticals
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let asked = query.cut_to(&words::shortened(query.text(), self.row.longest));
        let cut = asked.text().len() < query.text().trim().len();
        let mut found = self.api.search(&self.service, &asked).await?;
        if cut {
            let most = self.row.longest;
            found
                .remarks
                .push(format!("the query was cut to {most} characters"));
        }
        found.hits = tidied(found.hits, query);
        Ok(found)
    }
}

/// The hits that have an address and that the query's bounds let in, each once, at most as many as are wanted.
fn tidied(hits: Vec<Hit>, query: &Query) -> Vec<Hit> {
    let mut seen = BTreeSet::new();
    let kept = hits.into_iter().filter_map(|mut it| {
        let url = Url::parse(it.url.trim()).ok()?;
        let host = url
            .host_str()
            .filter(|_| matches!(url.scheme(), "http" | "https"))?;
        let within = |domain: &String| {
            let domain = domain.trim_start_matches("www.").to_lowercase();
            host == domain || host.ends_with(&format!(".{domain}"))
        };
        let wanted = query.domains.is_empty() || query.domains.iter().any(within);
        let refused = query.not_domains.iter().any(within);
        // What has no date may be of any.
        let early = it
            .date
            .as_ref()
            .zip(query.since.as_ref())
            .is_some_and(|(date, since)| date < since);
        let late = it
            .date
            .as_ref()
            .zip(query.until.as_ref())
            .is_some_and(|(date, until)| date > until);
        if !wanted || refused || early || late {
            return None;
        }
        it.url = url.to_string();
        it.doc_id = it.work.key();
        it.vertical = query.vertical();
        let key = it.doc_id.clone().unwrap_or_else(|| canonical(&it.url));
        seen.insert(key).then_some(it)
    });
    let numbered = kept.take(query.limit as usize).zip(1..);
    numbered.map(|(it, rank)| Hit { rank, ..it }).collect()
}

#[cfg(test)]
mod listed;
#[cfg(test)]
mod tests;
