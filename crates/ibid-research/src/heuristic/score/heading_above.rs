//! What stands above a sentence of a page, and how nearly it asks what the question asks.
use ibid_core::domain::{BlockKind, Page};

use super::page::PageSentences;
use super::scorer::RelevanceScorer;

/// What stands above a sentence.
pub(super) struct HeadingAbove<'p> {
    /// The heading; empty before the first.
    pub(super) text: &'p str,
    /// How nearly the heading asks, 0 to 1.
    headed: f32,
    /// The same of the sentence that leads to the list.
    led: f32,
    /// Whether the last of both denies otherwise than the question.
    denied: bool,
}

impl<'p> HeadingAbove<'p> {
    /// Above the first sentence of a page.
    pub(super) fn opening() -> HeadingAbove<'p> {
        HeadingAbove { text: "", headed: 0.0, led: 0.0, denied: false }
    }

    /// Whether what leads to the list denies what the question asks, or the other way round.
    pub(super) fn denies(&self, page: &Page, n: usize) -> bool {
        self.denied && page.sentences()[n].kind == BlockKind::ListItem
    }

    /// Whether either asks what the question asks.
    pub(super) fn asks(&self) -> bool {
        self.headed.max(self.led) > 0.0
    }

    /// How nearly what is above sentence `n` asks.
    pub(super) fn strength(&self, page: &Page, n: usize) -> f32 {
        let in_list = page.sentences()[n].kind == BlockKind::ListItem;
        if in_list { self.headed.max(self.led) } else { self.headed }
    }

    /// Goes on below sentence `n`, which is no evidence: a heading, or a line that leads to a list.
    pub(super) fn pass_line(
        &mut self,
        scorer: &mut RelevanceScorer,
        page: &'p Page,
        n: usize,
        lines: &PageSentences,
    ) {
        if page.sentences()[n].kind == BlockKind::Heading {
            self.text = page.sentence(n);
            // The title of the page is no heading of a section.
            let is_title = self.text.trim().eq_ignore_ascii_case(page.title.trim());
            self.headed = if is_title { 0.0 } else { scorer.heading_match(self.text, lines) };
            self.led = 0.0;
            self.denied = scorer.denies_asked(self.text);
        } else if leads_to_list(page, n) {
            self.led = scorer.heading_match(page.sentence(n), lines);
            self.denied = scorer.denies_asked(page.sentence(n));
        }
    }

    /// Goes on below sentence `n`, which may be evidence.
    pub(super) fn pass(
        &mut self,
        scorer: &mut RelevanceScorer,
        page: &'p Page,
        n: usize,
        lines: &PageSentences,
    ) {
        let kind = page.sentences()[n].kind;
        if kind == BlockKind::Heading {
            self.pass_line(scorer, page, n, lines);
        } else if kind != BlockKind::ListItem {
            let lead = if leads_to_list(page, n) { page.sentence(n) } else { "" };
            self.led = scorer.heading_match(lead, lines);
            self.denied = !lead.is_empty() && scorer.denies_asked(lead);
        }
    }
}

/// Whether a sentence introduces what follows: "To return an article:".
fn leads_to_list(page: &Page, n: usize) -> bool {
    page.sentence(n).trim_end().ends_with(':')
}
