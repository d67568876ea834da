//! Splits a page into passages, which are the units of ranking.
use ibid_core::domain::Page;

/// A page of up to this many bytes is one passage.
const MAX_WHOLE_PAGE_BYTES: usize = 2_400;
/// A passage of a longer page ends once it has this many bytes.
const LONG_ENOUGH: usize = 1_200;

/// The passages of `page` as inclusive ranges of sentences, from 0, in order.
///
/// They end between sentences. Each but the first repeats the last sentence of the one before, so that any two neighbouring
/// sentences are together in a passage. A single sentence is never split.
pub(super) fn passages(page: &Page) -> Vec<(usize, usize)> {
    let sentences = page.sentences();
    let Some(last) = sentences.len().checked_sub(1) else {
        return Vec::new();
    };
    if page.text().len() <= MAX_WHOLE_PAGE_BYTES {
        return vec![(0, last)];
    }
    let mut found = Vec::new();
    let mut first = 0;
    for at in 0..=last {
        let bytes = (sentences[at].end - sentences[first].start) as usize;
        if at == last {
            found.push((first, at));
        } else if bytes >= LONG_ENOUGH {
            found.push((first, at));
            // A sentence that fills half a passage is not repeated.
            let own = (sentences[at].end - sentences[at].start) as usize;
            first = if at > first && own < LONG_ENOUGH / 2 { at } else { at + 1 };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Block, BlockKind, PageDraft};

    fn page(sentences: usize) -> Page {
        let text: Vec<String> = (0..sentences)
            .map(|index| {
                format!("This is the sentence that has number {index} in a long row of them.")
            })
            .collect();
        Page::new(PageDraft {
            blocks: vec![Block::new(BlockKind::Prose, text.join(" "))],
            ..PageDraft::default()
        })
    }

    #[test]
    fn a_short_page_is_one_passage_and_an_empty_one_none() {
        assert_eq!(passages(&page(5)), [(0, 4)]);
        assert_eq!(passages(&page(0)), []);
    }

    #[test]
    fn passages_of_a_long_page_cover_it_and_share_one_sentence() {
        let found = passages(&page(200));
        assert!(found.len() > 5);
        assert_eq!(found[0].0, 0);
        assert_eq!(found[found.len() - 1].1, 199);
        for pair in found.windows(2) {
            assert_eq!(pair[1].0, pair[0].1);
        }
    }
}
