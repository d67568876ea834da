//! Turns evidence into points: what several sources say becomes one point, and nothing is said twice.
use crate::thresholds::{
    MAX_AUTHORITY_BONUS, MAX_SENTENCE_SIMILARITY, MIN_SUPPORTING_QUOTE_OVERLAP,
};
use std::collections::BTreeSet;

use crate::authority::authority;
use crate::prompts;
use ibid_core::Result;
use ibid_core::domain::words::{content_stems, is_stop_word, numbers, tokens};
use ibid_core::domain::{Evidence, EvidenceStore, ItemId, Source};

use super::lexicon::{StemInterner, containment, jaccard, spaced};
use super::same_voice::{own_voices, repeats_primary};
use super::sentence::has_denial;

/// Maximum number of works cited for one sentence.
const MAX_CITED_WORKS: usize = 5;

/// One thing to say, with all evidence for it, best first.
#[derive(Debug, Clone)]
pub(crate) struct ClaimCluster {
    pub(crate) text: String,
    /// Indices into the notes' evidence.
    pub(crate) evidence: Vec<usize>,
    pub(crate) ids: Vec<u32>,
    pub(crate) score: f32,
    pub(crate) items: Vec<ItemId>,
    pub(crate) words: usize,
}

/// Content words from which a quote of another source can support a claim.
const MIN_SUPPORTED_WORDS: usize = 2;

impl ClaimCluster {
    /// Whether nobody says it but who sells what it is about.
    pub(crate) fn is_by_sellers(&self, notes: &EvidenceStore) -> bool {
        let mut sources = self.evidence.iter().map(|nth| notes.source(notes.evidence[*nth].source));
        sources.all(|source| source.is_some_and(|source| source.is_offer))
    }
}

/// Clusters of the evidence, best first, from at most `most_sources` sources.
pub(crate) fn build_claim_clusters(
    notes: &EvidenceStore,
    lexicon: &mut StemInterner,
    most_sources: u32,
) -> Result<Vec<ClaimCluster>> {
    let words = &prompts::phrases()?.sentence;
    let allowed = best_sources(notes, most_sources);
    let mut order: Vec<usize> = (0..notes.evidence.len())
        .filter(|nth| allowed.contains(&notes.evidence[*nth].source.number()))
        .collect();
    order.sort_by(|a, b| {
        let (a, b) = (&notes.evidence[*a], &notes.evidence[*b]);
        let cited = |it: &Evidence| notes.source(it.source).is_some_and(|it| it.cited_by.is_some());
        b.score.total_cmp(&a.score).then(cited(b).cmp(&cited(a))).then(a.id.cmp(&b.id))
    });
    let mut points: Vec<(ClaimCluster, bool, Vec<i64>, Vec<u32>)> = Vec::new();
    for nth in order {
        let it = &notes.evidence[nth];
        // A row of a table is no sentence, and is told by itself. "No." answers a question that is not there.
        if it.table_header.is_some() || content_stems(&it.claim).is_empty() {
            continue;
        }
        let ids = lexicon.id_set(&it.claim);
        let no = has_denial(&spaced(&it.claim), words);
        let figures = figures(&it.claim);
        let names = name_ids(&it.claim, lexicon);
        let mut merged = false;
        for (point, point_no, point_figures, point_names) in &mut points {
            let whole = containment(&point.ids, &ids);
            let like = jaccard(&point.ids, &ids);
            // Evidence on another place or person does not support it, whatever its words.
            // What a sentence is quoted with says more than that.
            let agrees = *point_no == no
                && !share_sentences(notes, point.evidence[0], nth)
                && point_figures.iter().all(|n| figures.contains(n))
                && point_names.iter().all(|n| ids.contains(n));
            let is_same_told = like >= MAX_SENTENCE_SIMILARITY
                && figures.iter().all(|n| point_figures.contains(n))
                && names.iter().all(|n| point.ids.contains(n));
            let lead = &notes.evidence[point.evidence[0]];
            let is_sentence = content_stems(&point.text).len() >= MIN_SUPPORTED_WORDS;
            if agrees && is_sentence && whole >= MIN_SUPPORTING_QUOTE_OVERLAP {
                add_source(notes, point, nth);
                merged = true;
            } else if *point_no == no && (is_same_told || repeats_primary(notes, it, lead)) {
                merged = true;
            }
            if merged {
                break;
            }
        }
        if !merged {
            let point = ClaimCluster {
                text: it.claim.clone(),
                evidence: vec![nth],
                ids,
                score: it.score,
                items: it.items.clone(),
                words: it.claim.split_whitespace().count(),
            };
            points.push((point, no, figures, names));
        }
    }
    Ok(points.into_iter().map(|point| point.0).collect())
}

fn add_source(notes: &EvidenceStore, point: &mut ClaimCluster, nth: usize) {
    let source = notes.evidence[nth].source;
    let known = point.evidence.iter().any(|it| notes.evidence[*it].source == source);
    if !known && point.evidence.len() < MAX_CITED_WORKS {
        point.evidence.push(nth);
    }
}

/// Whether two pieces of evidence have sentences in common: one is quoted with what precedes it.
pub(crate) fn share_sentences(notes: &EvidenceStore, one: usize, other: usize) -> bool {
    let [one, other] = [one, other].map(|nth| &notes.evidence[nth]);
    let (a, b) = (&one.passage, &other.passage);
    one.source == other.source && a.first() <= b.last() && b.first() <= a.last()
}

/// The words of a text that look like names.
fn name_ids(text: &str, lexicon: &mut StemInterner) -> Vec<u32> {
    let names = tokens(text).into_iter().filter(|token| {
        let word = &text[token.span.clone()];
        word.starts_with(char::is_uppercase) && !is_stop_word(&token.text)
    });
    names.flat_map(|it| lexicon.ids(&text[it.span])).collect()
}

/// The numbers in a text, in thousandths.
fn figures(text: &str) -> Vec<i64> {
    numbers(text).iter().map(|it| (it.value * 1000.0).round() as i64).collect()
}

/// The sources kept for writing, ranked by their best evidence and their authority.
fn best_sources(notes: &EvidenceStore, most: u32) -> BTreeSet<u32> {
    let mut ranked: Vec<(f32, u32)> = notes
        .sources
        .iter()
        .map(|source| {
            let best = notes
                .evidence
                .iter()
                .filter(|it| it.source == source.id)
                .map(|it| it.score)
                .fold(0.0, f32::max);
            let rank = best * (1.0 + MAX_AUTHORITY_BONUS * authority(source, 0));
            (rank, source.id.number())
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().take(most.max(1) as usize).map(|pair| pair.1).collect()
}

/// Picks up to `most` of `from` by maximal marginal relevance (Carbonell and Goldstein 1998): worth, less
/// similarity to what was said already.
pub(crate) fn select_by_mmr(
    from: &[(&ClaimCluster, f32)],
    already: &[Vec<u32>],
    most: usize,
    words: usize,
) -> Vec<usize> {
    let worth = from.iter().enumerate().map(|(nth, it)| (nth, it.1));
    let mut left: Vec<(usize, f32)> = worth.filter(|pair| pair.1 > 0.0).collect();
    let mut picked: Vec<usize> = Vec::new();
    let mut room = words;
    while picked.len() < most {
        let mut best: Option<(f32, usize, usize)> = None;
        for (at, (nth, worth)) in left.iter().enumerate() {
            let point = from[*nth].0;
            let like = picked
                .iter()
                .map(|number| jaccard(&from[*number].0.ids, &point.ids))
                .chain(already.iter().map(|number| jaccard(number, &point.ids)))
                .fold(0.0, f32::max);
            if like >= MAX_SENTENCE_SIMILARITY || point.words > room {
                continue;
            }
            let value = 0.7 * worth - 0.3 * like;
            if best.is_none_or(|pair| value > pair.0 + 1e-6) {
                best = Some((value, at, *nth));
            }
        }
        let Some((_, at, nth)) = best else {
            break;
        };
        room -= from[nth].0.words;
        picked.push(nth);
        left.remove(at);
    }
    picked
}

/// What counts as one independent source: a site, or a single work on a site that only hosts works of others.
pub(crate) fn independent_source(source: &Source) -> &str {
    const REPOSITORY_HOSTS: &[&str] = &[
        "nih.gov",
        "doi.org",
        "arxiv.org",
        "biorxiv.org",
        "medrxiv.org",
        "europepmc.org",
        "jstor.org",
        "semanticscholar.org",
        "ssrn.com",
        "archive.org",
        "zenodo.org",
    ];
    if REPOSITORY_HOSTS.contains(&source.domain.as_str()) { source.key() } else { &source.domain }
}

/// Content words from which a title is distinctive: a text that contains it is that work or names it.
pub(crate) const MIN_TITLE_CONTENT_WORDS: usize = 4;

/// Whether two sources are copies of one work.
pub(crate) fn is_same_work(one: &Source, other: &Source) -> bool {
    one.key() == other.key()
        || tokens(&one.title).len() >= MIN_TITLE_CONTENT_WORDS
            && one.title.to_lowercase() == other.title.to_lowercase()
}

/// The independent sources behind evidence. A work that several sites print is one independent source: the first that was
/// read. So is a sentence that several sites have, and a primary source with those that repeat it.
pub(crate) fn independent_sources<'a>(
    notes: &'a EvidenceStore,
    evidence: impl IntoIterator<Item = &'a Evidence>,
) -> BTreeSet<&'a str> {
    let evidence: Vec<&Evidence> = evidence.into_iter().collect();
    own_voices(notes, &evidence)
        .into_iter()
        .filter_map(|evidence| notes.source(evidence.source))
        // What one page leads to is not independent of it: a liar may link accomplices.
        .filter_map(|it| notes.source(it.copy_of.or(it.cited_by).unwrap_or(it.id)))
        .filter_map(|it| notes.sources.iter().find(|first| is_same_work(first, it)))
        .map(independent_source)
        // A page whose server is unknown counts for no independent source.
        .filter(|it| !it.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{
        Block, BlockKind, ChecklistItem, Complexity, EvidenceId, Page, PageDraft, Plan, SourceId,
        SourceKind, Stance, WritingPlan,
    };

    fn notes(sources: &[(&str, f32)]) -> EvidenceStore {
        let item = ChecklistItem {
            id: ItemId::new(1),
            asks: "What is rain?".to_owned(),
            heading: "What it is".to_owned(),
            terms: vec!["rain".to_owned()],
            query: "rain".to_owned(),
        };
        let writing = WritingPlan {
            overall_goal: String::new(),
            desired_tone: String::new(),
            sections: Vec::new(),
            additional_directives: Vec::new(),
            bibliography: true,
        };
        let plan = Plan::new(vec![item], Complexity::Simple, writing).unwrap();
        let mut notes = EvidenceStore::new(plan);
        for (n, (url, score)) in (1..).zip(sources) {
            let page = Page::new(PageDraft {
                url: (*url).to_owned(),
                title: format!("Rain {n}"),
                blocks: vec![Block::new(BlockKind::Prose, "Rain is water that falls.")],
                ..PageDraft::default()
            });
            let source = Source::from_page(SourceId::new(n), SourceKind::Web, &page, None);
            notes.evidence.push(Evidence {
                id: EvidenceId::new(n),
                items: vec![ItemId::new(1)],
                source: source.id,
                passage: page.passage(0, 0).unwrap(),
                table_header: None,
                heading: None,
                claim: "Rain is water that falls.".to_owned(),
                stance: Stance::For,
                score: *score,
                confidence: 0.5,
                contradiction_or_uncertainty: false,
                round: 1,
            });
            notes.sources.push(source);
        }
        notes
    }

    #[test]
    fn of_two_that_speak_as_well_the_one_with_authority_is_kept_and_no_other_for_it() {
        let place = ["https://blog.rain.example/1", "https://data.rain.gov/1"];
        let alike = notes(&[(place[0], 0.62), (place[1], 0.6)]);
        assert_eq!(best_sources(&alike, 1), BTreeSet::from([2]));
        let far = notes(&[(place[0], 0.8), (place[1], 0.6)]);
        assert_eq!(best_sources(&far, 1), BTreeSet::from([1]));
    }
}
