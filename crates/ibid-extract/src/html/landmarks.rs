//! The position of each block relative to the landmarks of its page: the title, the heading above it, the container with the
//! most prose, and the headings after which the main text is over.
use std::collections::HashMap;

use super::blocks::FlatBlock;
use super::boilerplate::Phrases;
use super::dom::{Dom, NodeId};
use super::element_hints;
use ibid_core::domain::BlockKind;

/// Features of one block.
pub(super) const NUMBERS: usize = 28;

/// Sums over the blocks below a node.
#[derive(Clone, Copy, Default)]
pub(super) struct NodeTotals {
    pub(super) words: u32,
    pub(super) linked: u32,
    pub(super) blocks: u32,
    pub(super) prose: u32,
}

impl NodeTotals {
    pub(super) fn add(&mut self, block: &FlatBlock) {
        self.words += block.words;
        self.linked += block.linked;
        self.blocks += 1;
        if is_prose(block) {
            self.prose += block.words;
        }
    }

    fn share_linked(self) -> f32 {
        share(self.linked, self.words)
    }
}

fn share(part: u32, whole: u32) -> f32 {
    part as f32 / whole.max(1) as f32
}

/// Whether a block is probably prose: at least ten words, few of them in links.
pub(super) fn is_prose(block: &FlatBlock) -> bool {
    block.words >= 10 && block.linked * 3 <= block.words
}

/// Words of a label; longer blocks are not searched in lower case.
pub(super) const MAX_LABEL: u32 = 40;

/// Phrases of labels: first those above comments, then those above links to other pages, then those above the site's own
/// notices.
#[rustfmt::skip]
static LABELS: Phrases = Phrases::new(&[
    "comment", "kommentar", "comentario", "comentário", "commentaire", "commenti", "repl", "responses", "discussion",
    "conversation", "review",

    "related", "more from", "news", "more stories", "read next", "also like", "recommend", "popular", "trending",
    "latest", "recent", "see also", "similar", "more in", "further reading", "lesen sie", "weitere", "ähnlich",
    "auch interessant", "das könnte", "relacionad", "lire aussi", "à lire", "leggi anche", "potrebbe", "veja também",
    "podría", "te puede", "aktuell", "neueste", "beliebt",

    "subscribe", "sign up", "follow", "abonn", "join", "share", "about the author", "about us", "contact", "tags",
    "categories", "kategorie", "archiv", "leave a",
]);

/// How many of [`LABELS`] are of the first kind, and of the first two.
const COMMENT_LABELS: u32 = 11;
const COMMENT_AND_RELATED_LABELS: u32 = 42;

/// Whether a text in lower case is a label of each of the three kinds.
fn labels(lower: &str) -> [bool; 3] {
    let found = LABELS.match_bits(lower);
    let below = |bit: u32| (1_u64 << bit) - 1;
    let talk = found & below(COMMENT_LABELS);
    let others = found & below(COMMENT_AND_RELATED_LABELS) & !below(COMMENT_LABELS);
    [talk, others, found & !below(COMMENT_AND_RELATED_LABELS)].map(|it| it != 0)
}

/// Whether a text breaks off, like the teaser of another page.
fn starts_other_article(text: &str) -> bool {
    let lower =
        text.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '…' | ']'));
    let lower = lower.strip_suffix("more").or(lower.strip_suffix("More")).unwrap_or(lower);
    let lower = lower.strip_suffix("Read ").unwrap_or(lower).trim_end();
    ["...", "…", "[…]", "[...]"].iter().any(|suffix| lower.ends_with(suffix))
}

/// For each node, how many levels it is above a landmark, if it contains the landmark.
struct AncestorLevels(Vec<Option<u32>>);

impl AncestorLevels {
    fn new(dom: &Dom, landmark: Option<NodeId>) -> AncestorLevels {
        let mut levels = vec![None; dom.len()];
        let up = std::iter::successors(landmark, |it| dom.parent(*it));
        for (id, level) in up.zip(0..) {
            levels[id.index()] = Some(level);
        }
        AncestorLevels(levels)
    }

    fn level(&self, id: NodeId) -> Option<u32> {
        self.0[id.index()]
    }
}

/// The landmarks of a page.
pub(super) struct Landmarks<'a> {
    dom: &'a Dom,
    flat: &'a [FlatBlock],
    below: &'a [NodeTotals],
    lower: &'a [String],
    title: Option<usize>,
    best: Option<NodeId>,
    whole: NodeTotals,
    /// The levels of the ancestors of the title's element and of the best container.
    above_title: AncestorLevels,
    above_best: AncestorLevels,
}

impl<'a> Landmarks<'a> {
    /// Finds the landmarks. `below` holds the totals of each node, `lower` the texts of labels in lower case, `title` the
    /// page's title in lower case.
    pub(super) fn new(
        dom: &'a Dom,
        flat: &'a [FlatBlock],
        below: &'a [NodeTotals],
        lower: &'a [String],
        title: &str,
    ) -> Landmarks<'a> {
        let heading = |at: &usize| flat[*at].kind == BlockKind::Heading;
        let named = (0..flat.len()).rev().filter(heading).filter(|at| {
            (2..=MAX_LABEL).contains(&flat[*at].words) && title.contains(lower[*at].as_str())
        });
        let first = || (0..flat.len()).find(|at| heading(at) && flat[*at].level == 1);
        let title = named.max_by_key(|at| flat[*at].words).or_else(first);
        let best = best_container(dom, flat, below);
        let mut whole = NodeTotals::default();
        flat.iter().for_each(|block| whole.add(block));
        Landmarks {
            dom,
            flat,
            below,
            lower,
            title,
            best,
            whole,
            above_title: AncestorLevels::new(dom, title.map(|title| flat[title].node)),
            above_best: AncestorLevels::new(dom, best),
        }
    }

    /// The container with the most prose.
    pub(super) fn best(&self) -> Option<NodeId> {
        self.best
    }

    /// The features of each block.
    pub(super) fn describe(&self) -> Vec<[f32; NUMBERS]> {
        let mut head = None;
        let mut passed = PrecedingCounts::default();
        let mut rows = Vec::with_capacity(self.flat.len());
        for (at, block) in self.flat.iter().enumerate() {
            let heading = block.kind == BlockKind::Heading;
            let short = block.words < 12;
            let own = if short || heading { labels(&self.lower[at]) } else { [false; 3] };
            let mut row = [0.0; NUMBERS];
            let (above, rest) = row.split_at_mut(8);
            self.heading_features(above, head, at);
            let (places, rest) = rest.split_at_mut(12);
            self.place_features(places, block.node);
            let (since, labelled) = rest.split_at_mut(5);
            self.preceding_features(since, &passed, at);
            for (slot, is) in labelled.iter_mut().zip(own) {
                *slot = f32::from(u8::from(is && short));
            }
            if heading {
                head = Some((at, own));
            }
            if self.title == Some(at) {
                passed = PrecedingCounts::default();
            }
            passed.add(block, at, own.contains(&true));
            rows.push(row);
        }
        rows
    }

    /// Features of the heading above, and whether the text breaks off.
    fn heading_features(&self, row: &mut [f32], head: Option<(usize, [bool; 3])>, at: usize) {
        row[7] = f32::from(u8::from(starts_other_article(&self.flat[at].text)));
        let Some((head, labels)) = head else {
            row[0] = -1.0;
            return;
        };
        let block = &self.flat[head];
        row[0] = share(block.linked, block.words);
        row[1] = block.words as f32;
        row[2] = f32::from(block.level);
        row[3] = (at - head) as f32;
        for (slot, is) in row[4..7].iter_mut().zip(labels) {
            *slot = f32::from(u8::from(is));
        }
    }

    /// Features of the nearest elements that contain the block and the title, and the block and the best container.
    fn place_features(&self, row: &mut [f32], node: NodeId) {
        let up = || std::iter::successors(Some(node), |it| self.dom.parent(*it)).zip(0_u32..);
        let meet = |levels: &AncestorLevels| {
            up().find_map(|(id, own)| levels.level(id).map(|other| (id, own, other)))
        };
        row[0] = -1.0;
        if let Some((id, own, other)) = meet(&self.above_title) {
            let sums = self.below[id.index()];
            row[0] = own as f32;
            row[1] = other as f32;
            row[2] = share(sums.words, self.whole.words);
            row[3] = sums.share_linked();
            row[4] = share(sums.prose, self.whole.prose);
        }
        if let Some((id, own, other)) = meet(&self.above_best) {
            let sums = self.below[id.index()];
            row[5] = own as f32;
            row[6] = other as f32;
            row[7] = share(sums.words, self.whole.words);
            row[8] = share(sums.prose, self.whole.prose);
        }
        if let Some(best) = self.best {
            let sums = self.below[best.index()];
            row[9] = share(sums.words, self.whole.words);
            row[10] = share(sums.prose, self.whole.prose);
            row[11] = sums.share_linked();
        }
    }

    /// Features of the blocks between the title and the block.
    fn preceding_features(&self, row: &mut [f32], passed: &PrecedingCounts, at: usize) {
        row[0] = passed.linked_headings as f32;
        row[1] = passed.boundaries as f32;
        row[2] = share(passed.prose, self.whole.prose);
        row[3] =
            self.title.map_or(-1.0, |title| (at as f32 - title as f32) / self.flat.len() as f32);
        row[4] = passed.last.map_or(-1.0, |it| (at - it) as f32);
    }
}

/// Counts over the blocks before a block, since the title or the beginning of the page.
#[derive(Default)]
struct PrecedingCounts {
    linked_headings: u32,
    boundaries: u32,
    prose: u32,
    last: Option<usize>,
}

impl PrecedingCounts {
    fn add(&mut self, block: &FlatBlock, at: usize, labelled: bool) {
        let boundary = element_hints::COMMENTS
            | element_hints::RELATED
            | element_hints::SHARE
            | element_hints::TAGS
            | element_hints::AUTHOR
            | element_hints::SIGNUP;
        let heading = block.kind == BlockKind::Heading;
        if heading && block.linked * 5 > block.words * 4 {
            self.linked_headings += 1;
        }
        if block.hints & boundary != 0 || (heading && labelled) {
            self.boundaries += 1;
            self.last = Some(at);
        }
        if is_prose(block) {
            self.prose += block.words;
        }
    }
}

/// The container with the most prose near it, as in Readability: each prose block counts in full for its parent, by half for
/// its grandparent and by a quarter for the element above.
fn best_container(dom: &Dom, flat: &[FlatBlock], below: &[NodeTotals]) -> Option<NodeId> {
    let mut scores: HashMap<NodeId, f32> = HashMap::new();
    for block in flat.iter().filter(|block| is_prose(block)) {
        let chrome = element_hints::NAV
            | element_hints::FOOTER
            | element_hints::RELATED
            | element_hints::CONSENT
            | element_hints::ADVERT;
        if block.hints & chrome != 0 {
            continue;
        }
        let score = (block.words as f32).min(120.0);
        let mut at = dom.parent(block.node);
        for part in [1.0, 0.5, 0.25] {
            let Some(id) = at else { break };
            *scores.entry(id).or_default() += score * part;
            at = dom.parent(id);
        }
    }
    scores
        .into_iter()
        .map(|(id, score)| (id, score * (1.0 - below[id.index()].share_linked())))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        .map(|pair| pair.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_told_apart() {
        assert_eq!(labels("12 comments"), [true, false, false]);
        assert_eq!(labels("related stories"), [false, true, false]);
        assert_eq!(labels("about the author"), [false, false, true]);
        assert_eq!(labels("the harvest of 2019"), [false; 3]);
    }

    #[test]
    fn the_beginning_of_another_page_breaks_off() {
        assert!(starts_other_article("The harvest was late this year and […]"));
        assert!(starts_other_article("The harvest was late this year... Read more »"));
        assert!(!starts_other_article("The harvest was late this year."));
    }
}
