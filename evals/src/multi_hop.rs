//! A search in more than one step: the names in a document that the question names are searched for next.
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Hit, Query};
use ibid_core::ports::SearchProvider;
use ibid_research::multi_hop::{lead_names, named_documents};

/// Maximum number of documents kept that one followed document led to.
const KEPT: usize = 4;
/// Hits that stay ahead of those found by following.
const FIRST: usize = 2;
/// Hits requested for a name.
const PER_NAME: u32 = 5;
/// Share of a name's words that a title must have for the document to be about it.
const TITLED: f32 = 0.6;

/// The hits for `query` and for the names that they lead to; best first, at most `query.limit`.
///
/// # Errors
/// Those of `provider`.
pub(crate) async fn search_multi_hop(
    provider: &dyn SearchProvider,
    query: &Query,
) -> Result<Vec<Hit>> {
    let plain = provider.search(query).await?.hits;
    let followed: Vec<Hit> = named_documents(query.text(), plain.iter()).cloned().collect();
    let mut paths = Vec::new();
    for from in &followed {
        let mut path: Vec<Hit> = Vec::new();
        for name in lead_names(query.text(), &from.title, from.snippet.expose()) {
            let asked = Query::local(name.as_str(), query.item, query.variation, PER_NAME);
            let about = provider.search(&asked).await?.hits;
            path.extend(about.into_iter().find(|it| title_matches(&it.title, &name)));
        }
        paths.push(path);
    }
    Ok(interleave_hits(followed, paths, plain, query.limit as usize))
}

/// The followed documents, two of the plain hits, then what each followed document led to in turns, then the
/// rest.
fn interleave_hits(
    followed: Vec<Hit>,
    paths: Vec<Vec<Hit>>,
    plain: Vec<Hit>,
    most: usize,
) -> Vec<Hit> {
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let mut kept: Vec<BTreeSet<String>> = vec![BTreeSet::new(); paths.len()];
    let known: BTreeSet<String> = followed.iter().map(|hit| hit.key().to_owned()).collect();
    let mut order = followed;
    order.extend(plain.iter().take(FIRST).cloned());
    for nth in 0..longest {
        for (path, kept) in paths.iter().zip(&mut kept) {
            let Some(it) = path.get(nth) else { continue };
            let key = it.key();
            if kept.len() < KEPT && !known.contains(key) && kept.insert(key.to_owned()) {
                order.push(it.clone());
            }
        }
    }
    order.extend(plain);
    let mut seen = BTreeSet::new();
    order.retain(|it| seen.insert(it.key().to_owned()));
    order.truncate(most);
    for (rank, it) in (1..).zip(&mut order) {
        it.rank = rank;
    }
    order
}

fn title_matches(title: &str, name: &str) -> bool {
    let title: BTreeSet<String> = content_stems(title).into_iter().collect();
    let name: BTreeSet<String> = content_stems(name).into_iter().collect();
    let met = name.iter().filter(|text| title.contains(*text)).count();
    !name.is_empty() && met as f32 >= TITLED * name.len() as f32
}
