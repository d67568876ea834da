//! The addresses at which the text of a hit may be.
use ibid_core::domain::{Hit, Vertical};

/// Maximum number of addresses of full text that are tried for one work.
const MAX_FULL_TEXTS: usize = 2;

/// An address to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextAddress<'a> {
    pub(super) url: &'a str,
    /// Whether the full text of a work should be there.
    pub(super) is_full_text: bool,
}

/// The addresses of a hit, best first. The publisher's page of a work whose abstract came with the hit is left out: it has
/// no more than the abstract.
pub(super) fn addresses(hit: &Hit) -> Vec<TextAddress<'_>> {
    let full_texts = hit.work.full_text.iter().take(MAX_FULL_TEXTS);
    let mut all: Vec<TextAddress<'_>> =
        full_texts.map(|url| TextAddress { url, is_full_text: true }).collect();
    let is_scholarly = matches!(hit.vertical, Vertical::Scholar | Vertical::Pubmed);
    if !is_scholarly || hit.text.is_none() {
        all.retain(|address| address.url != hit.url);
        all.push(TextAddress { url: &hit.url, is_full_text: false });
    }
    all
}

/// Whether a hit is on the web.
pub(super) fn is_outside(hit: &Hit) -> bool {
    hit.file.is_none() && (hit.url.starts_with("http://") || hit.url.starts_with("https://"))
}
