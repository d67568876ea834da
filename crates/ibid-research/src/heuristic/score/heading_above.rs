//! What stands above a sentence of a page, and how nearly it asks what the question asks.
use crate::heuristic::text_headings::end_of_headed;
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
    /// Where it stands in running text, what heads the sentences after those that it heads.
    outer: Option<OuterHeading<'p>>,
}

/// The heading above one in running text.
#[derive(Clone, Copy)]
struct OuterHeading<'p> {
    /// The first sentence that is again under it.
    from: usize,
    text: &'p str,
    headed: f32,
    denied: bool,
}

impl<'p> HeadingAbove<'p> {
    /// Above the first sentence of a page.
    pub(super) fn opening() -> HeadingAbove<'p> {
        HeadingAbove { text: "", headed: 0.0, led: 0.0, denied: false, outer: None }
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

    /// Goes on to sentence `n`, which a heading in running text far above no longer heads.
    pub(super) fn reach(&mut self, n: usize) {
        if let Some(outer) = self.outer.take_if(|outer| n >= outer.from) {
            (self.text, self.headed, self.denied) = (outer.text, outer.headed, outer.denied);
        }
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
            self.outer = None;
            self.head(scorer, page, n, lines);
        } else if let Some(end) = end_of_headed(page, n) {
            let (text, headed, denied) = (self.text, self.headed, self.denied);
            let above = self.outer.unwrap_or(OuterHeading { from: end, text, headed, denied });
            self.outer = Some(OuterHeading { from: end, ..above });
            self.head(scorer, page, n, lines);
        } else if leads_to_list(page, n) {
            self.led = scorer.heading_match(page.sentence(n), lines);
            self.denied = scorer.denies_asked(page.sentence(n));
        }
    }

    /// Sentence `n` is the heading of what follows.
    fn head(
        &mut self,
        scorer: &mut RelevanceScorer,
        page: &'p Page,
        n: usize,
        lines: &PageSentences,
    ) {
        self.text = page.sentence(n);
        // The title of the page is no heading of a section.
        let is_title = self.text.trim().eq_ignore_ascii_case(page.title.trim());
        // Of headings inside a paragraph some are none, and what opens a page without paragraphs may be on something else.
        let sentences = page.sentences();
        let inside = |at: usize| sentences.get(at).is_some_and(|it| it.block == sentences[n].block);
        let in_text = inside(n + 1) || n > 0 && inside(n - 1);
        let asks = !is_title && (!in_text || scorer.asks_whole_question(self.text, &lines.title));
        self.headed = if asks { scorer.heading_match(self.text, lines) } else { 0.0 };
        self.led = 0.0;
        self.denied = scorer.denies_asked(self.text);
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
        if kind == BlockKind::Heading || end_of_headed(page, n).is_some() {
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
