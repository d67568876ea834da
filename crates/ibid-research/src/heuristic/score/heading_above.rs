//! What stands above a sentence of a page, and how nearly it asks what the question asks.
use ibid_core::domain::{BlockKind, Page};

use super::page::PageSentences;
use super::scorer::RelevanceScorer;

/// What stands above a sentence.
pub(super) struct HeadingAbove<'p> {
    /// The heading; empty before the first.
    pub(super) text: &'p str,
    /// How nearly the title of the page asks as a heading, 0 to 1.
    by_title: f32,
    /// How nearly the heading asks, 0 to 1.
    headed: f32,
    /// The same of the sentence that leads to the list.
    led: f32,
}

impl<'p> HeadingAbove<'p> {
    /// Above the first sentence of a page.
    pub(super) fn opening(scorer: &mut RelevanceScorer, page: &Page) -> HeadingAbove<'p> {
        let by_title = scorer.title_as_heading(&page.title);
        HeadingAbove { text: "", by_title, headed: by_title, led: 0.0 }
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
            self.headed =
                if is_title { self.by_title } else { scorer.heading_match(self.text, lines) };
            self.led = 0.0;
        } else if leads_to_list(page, n) {
            self.led = scorer.heading_match(page.sentence(n), lines);
        }
    }

    /// Goes on below sentence `n`, which may be evidence.
    pub(super) fn pass_sentence(
        &mut self,
        scorer: &mut RelevanceScorer,
        page: &Page,
        n: usize,
        lines: &PageSentences,
    ) {
        if page.sentences()[n].kind != BlockKind::ListItem {
            let lead = if leads_to_list(page, n) { page.sentence(n) } else { "" };
            self.led = scorer.heading_match(lead, lines);
        }
    }
}

/// Whether a sentence introduces what follows: "To return an article:".
fn leads_to_list(page: &Page, n: usize) -> bool {
    page.sentence(n).trim_end().ends_with(':')
}
