//! Puts the sentences of a section into reading order.
use crate::heuristic::claim_clusters::ClaimCluster;
use crate::heuristic::lexicon::jaccard;
use crate::thresholds::{MIN_PARAGRAPH_SIMILARITY, SAME_PAGE_HALF_DISTANCE, SAME_PAGE_SIMILARITY};
use ibid_core::domain::{Evidence, EvidenceStore};

/// Maximum number of sentences of a paragraph.
const MAX_PARAGRAPH_SENTENCES: usize = 4;

/// Steps keep the order of their page; the page with the best steps comes first.
pub(super) fn steps_by_page<'a>(
    notes: &EvidenceStore,
    chosen: Vec<&'a ClaimCluster>,
) -> Vec<Vec<&'a ClaimCluster>> {
    let mut pages: Vec<(f32, u32)> = Vec::new();
    for it in &chosen {
        let page = page_position(notes, it).0;
        match pages.iter_mut().find(|row| row.1 == page) {
            Some(row) => row.0 += it.score,
            None => pages.push((it.score, page)),
        }
    }
    pages.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    pages
        .into_iter()
        .map(|(_, page)| {
            let mut own: Vec<&ClaimCluster> = chosen
                .iter()
                .copied()
                .filter(|point| page_position(notes, point).0 == page)
                .collect();
            own.sort_by_key(|point| page_position(notes, point).1);
            own
        })
        .collect()
}

/// The best sentence first, then what follows on the same page, or else the most similar. A new paragraph
/// begins where nothing is similar, or after four sentences.
pub(super) fn reading_order<'a>(
    notes: &EvidenceStore,
    chosen: &[&'a ClaimCluster],
) -> Vec<Vec<&'a ClaimCluster>> {
    let mut left: Vec<&ClaimCluster> = chosen.to_vec();
    let mut out: Vec<Vec<&ClaimCluster>> = Vec::new();
    while !left.is_empty() {
        let mut paragraph = vec![left.remove(0)];
        while paragraph.len() < MAX_PARAGRAPH_SENTENCES && !left.is_empty() {
            let last = paragraph[paragraph.len() - 1];
            let (at, near) = left
                .iter()
                .enumerate()
                .map(|(at, it)| (at, point_similarity(notes, last, it)))
                .fold((0, -1.0), |best, it| if it.1 > best.1 + 1e-6 { it } else { best });
            if near < MIN_PARAGRAPH_SIMILARITY && paragraph.len() >= 2 {
                break;
            }
            paragraph.push(left.remove(at));
        }
        sort_by_page(notes, &mut paragraph);
        out.push(paragraph);
    }
    // A single last sentence joins the paragraph before.
    if out.len() > 1 && out[out.len() - 1].len() == 1 {
        let single = out.pop().unwrap_or_default();
        if let Some(last) = out.last_mut() {
            last.extend(single);
        }
    }
    out
}

fn page_position(notes: &EvidenceStore, point: &ClaimCluster) -> (u32, usize) {
    let first: Option<&Evidence> = point.evidence.first().map(|it| &notes.evidence[*it]);
    first.map_or((0, 0), |evidence| (evidence.source.number(), evidence.passage.first()))
}

fn point_similarity(notes: &EvidenceStore, one: &ClaimCluster, other: &ClaimCluster) -> f32 {
    let ((page, at), (other_page, other_at)) =
        (page_position(notes, one), page_position(notes, other));
    let beside = if page == other_page {
        SAME_PAGE_SIMILARITY / (1.0 + at.abs_diff(other_at) as f32 / SAME_PAGE_HALF_DISTANCE)
    } else {
        0.0
    };
    beside + jaccard(&one.ids, &other.ids)
}

/// Neighbours from one page are put in the order of that page.
fn sort_by_page(notes: &EvidenceStore, paragraph: &mut [&ClaimCluster]) {
    for at in 1..paragraph.len() {
        let mut now = at;
        while now > 0 {
            let (a, b) =
                (page_position(notes, paragraph[now - 1]), page_position(notes, paragraph[now]));
            if a.0 != b.0 || a.1 <= b.1 {
                break;
            }
            paragraph.swap(now - 1, now);
            now -= 1;
        }
    }
}
