//! What an engine gave itself: the abstract of a paper, or the words of a page.
use async_trait::async_trait;

use super::{is_outside, unread};
use crate::domain::{Block, BlockKind, Hit, Page, PageDraft, Witness};
use crate::error::Result;
use crate::record::FailReason;
use crate::seams::PageReader;

/// The fewest characters that are worth reading.
const LEAST: usize = 80;

/// Reads what came with the hit, without asking anybody.
pub struct Given;

#[async_trait]
impl PageReader for Given {
    fn name(&self) -> &str {
        "given"
    }

    fn reads(&self, hit: &Hit) -> bool {
        is_outside(hit)
            && hit
                .text
                .as_ref()
                .is_some_and(|it| it.expose().chars().count() >= LEAST)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let Some(text) = &hit.text else {
            return Err(unread(&hit.url, FailReason::Empty, "nothing came with it"));
        };
        Ok(page_of(hit, text.expose()))
    }
}

/// The page that the text of a hit is: its title, and a block for each line.
fn page_of(hit: &Hit, text: &str) -> Page {
    let heading = Block {
        level: 1,
        ..Block::new(BlockKind::Heading, hit.title.clone())
    };
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
    let blocks = lines.map(|it| match it.trim_start_matches('#') {
        bare if bare.len() < it.len() && bare.starts_with(' ') => Block {
            level: (it.len() - bare.len()).min(6) as u8,
            ..Block::new(BlockKind::Heading, bare.trim())
        },
        _ => match it.strip_prefix("- ").or(it.strip_prefix("* ")) {
            Some(item) => Block::new(BlockKind::ListItem, item),
            None => Block::new(BlockKind::Prose, it),
        },
    });
    Page::new(PageDraft {
        url: hit.url.clone(),
        doc_id: hit.doc_id.clone(),
        title: hit.title.clone(),
        date: hit.date.clone(),
        date_source: hit.date.as_ref().map(|_| hit.provider.clone()),
        site: hit.work.venue.clone(),
        witness: Witness::Engine,
        blocks: std::iter::once(heading).chain(blocks).collect(),
        warnings: vec![format!(
            "the words are those that {} gave, not read at the address",
            hit.provider
        )],
        ..PageDraft::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Untrusted;

    #[tokio::test]
    async fn an_abstract_that_came_with_a_hit_is_a_page_with_sentences() {
        let mut hit = Hit::new(
            "pubmed",
            "https://pubmed.ncbi.nlm.nih.gov/1/",
            "On cork",
            "",
        );
        assert!(!Given.reads(&hit));
        hit.text = Some(Untrusted::new(
            "METHODS: We peeled 40 oaks. None died.\nRESULTS: The bark grew back within nine years of the harvest.",
        ));
        assert!(Given.reads(&hit));
        let page = Given.read(&hit).await.unwrap();
        assert_eq!(page.sentences().len(), 4);
        assert_eq!(page.url, hit.url);
    }
}
