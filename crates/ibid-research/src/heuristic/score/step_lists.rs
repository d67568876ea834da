//! Lists of a page that tell what to do.
use std::collections::BTreeSet;

use crate::heuristic::sentence::is_imperative;
use crate::prompts::SentenceWords;
use ibid_core::domain::{BlockKind, Page};

/// Minimum number of items of a list that begin with a known verb, and one item in how many: the others are steps, too, whatever their
/// verb is.
const MIN_KNOWN_STEPS: usize = 2;
const ITEMS_PER_KNOWN_STEP: usize = 3;

/// The sentences of a page that are items of lists of steps. A list goes on after code and ends at other text.
pub(super) fn listed_steps(page: &Page, words: &SentenceWords) -> BTreeSet<usize> {
    let mut steps = BTreeSet::new();
    let mut items: Vec<usize> = Vec::new();
    let end = page.sentences().len();
    for n in 0..=end {
        match page.sentences().get(n).map(|sentence| sentence.kind) {
            Some(BlockKind::ListItem) => items.push(n),
            Some(BlockKind::Code) => {}
            _ => {
                let is_known =
                    |n: &&usize| is_imperative(&page.sentence(**n).to_lowercase(), words);
                let known = items.iter().filter(is_known).count();
                if known >= MIN_KNOWN_STEPS && known * ITEMS_PER_KNOWN_STEP >= items.len() {
                    steps.extend(&items);
                }
                items.clear();
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts;
    use ibid_core::domain::{Block, PageDraft};

    #[test]
    fn a_third_of_known_verbs_makes_a_list_one_of_steps() {
        let page = |kind: BlockKind, texts: &[&str]| {
            let blocks = texts.iter().map(|text| Block::new(kind, *text)).collect();
            Page::new(PageDraft {
                url: "https://a.example/".to_owned(),
                blocks,
                ..PageDraft::default()
            })
        };
        let words = &prompts::phrases().unwrap().sentence;
        let steps = ["Open the box.", "Frobnicate the wheel.", "Close the box."];
        assert_eq!(listed_steps(&page(BlockKind::ListItem, &steps), words).len(), 3);
        assert!(listed_steps(&page(BlockKind::Prose, &steps), words).is_empty());
        let things =
            ["Bees", "Open meadows", "Beetles", "Birds", "Close relatives", "Bats", "Mice"];
        assert!(listed_steps(&page(BlockKind::ListItem, &things), words).is_empty());
    }
}
