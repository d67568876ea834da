//! The pages of a run: those read, those that failed, and which have the same text.
use crate::thresholds::MIN_SAME_TEXT_SIMILARITY;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use ibid_core::ReadFailure;
use ibid_core::domain::words::{is_stop_word, tokens};
use ibid_core::domain::{Brief, EvidenceStore, Page, PageHash, Source, SourceId, is_public};

use super::query_policy::QueryPolicy;

/// Words of a shingle, and below it the shingles that represent a page.
const SHINGLE_WORDS: usize = 5;
const SKETCH_SHINGLES: usize = 128;

/// A page that could not be read, or was left out.
pub(crate) struct UnreadPage {
    pub(crate) message: String,
    /// Why it could not be read; `None` for documents that could not be indexed.
    pub(crate) reason: Option<ReadFailure>,
    /// The HTTP status of its server, if it answered.
    pub(crate) status: Option<u16>,
}

/// Every page read, and every document tried.
#[derive(Default)]
pub(crate) struct PageSet {
    pub(super) pages: BTreeMap<PageHash, Page>,
    pub(super) tried: BTreeSet<String>,
    sketches: Vec<(SourceId, PageHash, Vec<u64>)>,
    pub(super) failed: BTreeMap<String, UnreadPage>,
    /// The documents that were requested because a source cites them, with that source.
    cited: BTreeMap<String, SourceId>,
    known: u32,
    /// The sources that were read before there was a plan and are not weighed for it yet, by document key.
    prefetched: BTreeMap<String, SourceId>,
}

impl PageSet {
    /// An empty set with the documents that could not be indexed.
    pub(crate) fn with_failed(unreadable: &[(String, String)]) -> PageSet {
        let unread = |(path, message): &(String, String)| {
            (path.clone(), UnreadPage { message: message.clone(), reason: None, status: None })
        };
        PageSet { failed: unreadable.iter().map(unread).collect(), ..PageSet::default() }
    }

    /// Adds a page that an earlier run of the thread has read.
    pub(crate) fn add_known(&mut self, source: &Source, page: &Page) {
        self.tried.insert(source.key().to_owned());
        self.tried.insert(page.key().to_owned());
        // Recorded even if it is a copy of another: known pages were compared before.
        let _ = self.find_duplicate(source.id, page);
        self.known += 1;
        self.pages.insert(page.hash().clone(), page.clone());
    }

    /// Records that a document was read before there was a plan. It counts as not tried until it is weighed.
    pub(crate) fn add_prefetched(&mut self, key: &str, source: SourceId) {
        self.tried.remove(key);
        self.prefetched.insert(key.to_owned(), source);
    }

    /// Takes the source of a document that was read before there was a plan, to be weighed.
    pub(crate) fn take_prefetched(&mut self, key: &str) -> Option<SourceId> {
        let source = self.prefetched.remove(key)?;
        self.tried.insert(key.to_owned());
        Some(source)
    }

    /// Takes all sources that were read before there was a plan, in the order in which they were read.
    pub(crate) fn take_all_prefetched(&mut self) -> Vec<SourceId> {
        let prefetched = std::mem::take(&mut self.prefetched);
        let mut sources: Vec<SourceId> = prefetched.values().copied().collect();
        self.tried.extend(prefetched.into_keys());
        sources.sort_unstable();
        sources
    }

    /// Takes this source, if it was read before there was a plan and is not weighed yet.
    pub(super) fn take_prefetched_source(&mut self, source: SourceId) -> Option<SourceId> {
        let key = self.prefetched.iter().find(|pair| *pair.1 == source)?.0.clone();
        self.take_prefetched(&key)
    }

    /// How many pages were known before the first search.
    pub(crate) fn known_count(&self) -> u32 {
        self.known
    }

    /// Whether this document was requested before.
    pub(crate) fn is_tried(&self, key: &str) -> bool {
        self.tried.contains(key)
    }

    /// Records that a document is requested because a source cites it.
    pub(crate) fn add_cited(&mut self, key: &str, by: SourceId) {
        self.cited.insert(key.to_owned(), by);
    }

    /// How many documents were requested because a source cites them.
    pub(crate) fn cited_count(&self) -> usize {
        self.cited.len()
    }

    /// The source because of which this document was requested, if one cites it.
    pub(crate) fn cited_by(&self, key: &str) -> Option<SourceId> {
        self.cited.get(key).copied()
    }

    /// The page of a source.
    pub(crate) fn page(&self, source: &Source) -> Option<&Page> {
        self.pages.get(&source.page)
    }

    /// Every page read, by its hash.
    pub(crate) fn pages(&self) -> &BTreeMap<PageHash, Page> {
        &self.pages
    }

    /// Pages that could not be read, by address, with the reason.
    pub(crate) fn failed(&self) -> &BTreeMap<String, UnreadPage> {
        &self.failed
    }

    /// Whether a private page that was read has a lower-case word in its text or title.
    pub(crate) fn has_private_word(&self, notes: &EvidenceStore, word: &str) -> bool {
        let private = notes.sources.iter().filter(|source| !is_public(source.kind));
        let mut pages = private.filter_map(|it| self.page(it));
        pages.any(|page| {
            let text = page.text().expose().to_lowercase();
            text.contains(word) || page.title.to_lowercase().contains(word)
        })
    }

    /// Names that several titles of pages with evidence share and the question lacks. They may be searched
    /// for.
    pub(crate) fn title_names(
        &self,
        brief: &Brief,
        notes: &EvidenceStore,
        policy: &QueryPolicy,
    ) -> Vec<String> {
        let asked = brief.question.to_lowercase();
        let mut counts: BTreeMap<String, (u32, &Source)> = BTreeMap::new();
        let has_evidence =
            |source: &&Source| notes.evidence.iter().any(|own| own.source == source.id);
        for source in notes.sources.iter().filter(has_evidence) {
            let Some(page) = self.page(source) else {
                continue;
            };
            let title = page.title.as_str();
            for token in tokens(title).iter().skip(1) {
                let word = &title[token.span.clone()];
                let name = word.starts_with(char::is_uppercase)
                    && word.chars().count() > 2
                    && !is_stop_word(&token.text);
                if name && !asked.contains(&token.text) {
                    let entry = counts.entry(word.to_owned()).or_insert((0, source));
                    entry.0 += 1;
                    // What a public page also says is not private.
                    if is_public(source.kind) {
                        entry.1 = source;
                    }
                }
            }
        }
        let mut ranked: Vec<(u32, String, &Source)> = counts
            .into_iter()
            .filter(|count| count.1.0 >= 2)
            .map(|count| (count.1.0, count.0, count.1.1))
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let best = ranked.into_iter().take(2);
        best.map(|(_, name, source)| {
            policy.permit_title_name(&name, source);
            name
        })
        .collect()
    }

    /// The earlier source with the same text, if there is one, and its page.
    pub(super) fn find_duplicate(
        &mut self,
        id: SourceId,
        page: &Page,
    ) -> Option<(SourceId, &Page)> {
        let sketch = minhash(page.text().expose());
        let alike = |row: &&(SourceId, PageHash, Vec<u64>)| {
            jaccard_estimate(&sketch, &row.2) >= MIN_SAME_TEXT_SIMILARITY
        };
        match self.sketches.iter().find(alike) {
            Some((id, hash, _)) => self.pages.get(hash).map(|page| (*id, page)),
            None => {
                self.sketches.push((id, page.hash().clone(), sketch));
                None
            }
        }
    }
}

/// The smallest hashes of a text's shingles, in order: a fixed-size sketch for similarity (Broder 1997).
fn minhash(text: &str) -> Vec<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut hashes: Vec<u64> =
        words.windows(SHINGLE_WORDS.min(words.len().max(1))).map(fnv).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(SKETCH_SHINGLES);
    hashes
}

/// FNV-1a over the words in lower case: stable across runs and machines.
fn fnv(words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        for byte in word.bytes().chain(std::iter::once(b' ')) {
            hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// Jaccard similarity of two texts from their sketches: what both have among the smallest hashes of their union.
fn jaccard_estimate(a: &[u64], b: &[u64]) -> f32 {
    let (mut i, mut j, mut union, mut both) = (0, 0, 0_u16, 0_u16);
    while usize::from(union) < SKETCH_SHINGLES {
        let order = match (a.get(i), b.get(j)) {
            (Some(one), Some(other)) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        both += u16::from(order.is_eq());
        union += 1;
    }
    f32::from(both) / f32::from(union.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_copies_are_one_text_and_others_are_not() {
        let one = "Cork is the bark of an oak that grows around the western Mediterranean and is stripped every nine years by hand. ".repeat(3);
        let near = format!("{one} Updated today.");
        let other = "Bridges sway when many people walk in step, as the Millennium Bridge showed when it opened in June 2000.".repeat(3);
        assert!(jaccard_estimate(&minhash(&one), &minhash(&near)) >= MIN_SAME_TEXT_SIMILARITY);
        assert!(jaccard_estimate(&minhash(&one), &minhash(&other)) < 0.2);
    }
}
