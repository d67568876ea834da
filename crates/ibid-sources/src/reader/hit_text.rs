//! The text that an engine returned: the abstract of a paper, or the text of a page.
use async_trait::async_trait;

use super::addresses::is_outside;
use super::read_error::read_error;
use ibid_core::domain::{Block, BlockKind, Hit, Page, PageDraft, UrlProvenance};
use ibid_core::ports::PageReader;
use ibid_core::{ReadFailure, Result};

/// Minimum number of characters that are worth reading.
const MIN_CHARS: usize = 80;

/// Reads the text that came with the hit. Sends nothing.
pub struct HitTextReader;

#[async_trait]
impl PageReader for HitTextReader {
    fn name(&self) -> &str {
        "given"
    }

    fn can_read(&self, hit: &Hit) -> bool {
        is_outside(hit)
            && hit.text.as_ref().is_some_and(|text| text.expose().chars().count() >= MIN_CHARS)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let Some(text) = &hit.text else {
            return Err(read_error(&hit.url, ReadFailure::Empty, "the search result has no text"));
        };
        Ok(page_of(hit, text.expose()))
    }
}

/// The text of a hit as a page: its title, and a block for each line.
fn page_of(hit: &Hit, text: &str) -> Page {
    let heading = Block { level: 1, ..Block::new(BlockKind::Heading, hit.title.clone()) };
    Page::new(PageDraft {
        url: hit.url.clone(),
        doc_id: hit.doc_id.clone(),
        title: hit.title.clone(),
        date: hit.date.clone(),
        date_source: hit.date.as_ref().map(|_| hit.provider.clone()),
        site: hit.work.venue.clone(),
        url_provenance: UrlProvenance::Engine,
        blocks: std::iter::once(heading).chain(text_blocks(text)).collect(),
        warnings: vec![format!("text from {}, not from the page", hit.provider)],
        ..PageDraft::default()
    })
}

/// The lines of a plain text as blocks: headings, items of lists and prose.
pub(crate) fn text_blocks(text: &str) -> impl Iterator<Item = Block> + '_ {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| match line.trim_start_matches('#') {
        bare if bare.len() < line.len() && bare.starts_with(' ') => Block {
            level: (line.len() - bare.len()).min(6) as u8,
            ..Block::new(BlockKind::Heading, bare.trim())
        },
        _ => match line.strip_prefix("- ").or(line.strip_prefix("* ")) {
            Some(item) => Block::new(BlockKind::ListItem, item),
            None => Block::new(BlockKind::Prose, line),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::Untrusted;

    #[tokio::test]
    async fn an_abstract_that_came_with_a_hit_is_a_page_with_sentences() {
        let mut hit = Hit::new("pubmed", "https://pubmed.ncbi.nlm.nih.gov/1/", "On cork", "");
        assert!(!HitTextReader.can_read(&hit));
        hit.text = Some(Untrusted::new(
            "METHODS: We peeled 40 oaks. None died.\nRESULTS: The bark grew back within nine years of the harvest.",
        ));
        assert!(HitTextReader.can_read(&hit));
        let page = HitTextReader.read(&hit).await.unwrap();
        assert_eq!(page.sentences().len(), 4);
        assert_eq!(page.url, hit.url);
    }
}
