//! Checks a claim against a page: which sentences are about it, what they say, and where.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;

use crate::attribution::{FigureMatch, SupportLevel, judge_support_with_figures};
use ibid_core::domain::Page;
use ibid_core::domain::words::content_stems;
use ibid_core::ports::PairScorer;

/// Maximum number of sentences of a page that is judged whole.
const MAX_FULL_SENTENCES: usize = 60;
/// Sentences judged of a longer page: those that share most with the claim, each with its neighbours.
const CANDIDATE_SENTENCES: usize = 20;
/// Maximum number of quotes that a model is shown.
const MAX_QUOTES: usize = 3;

/// What a source, or the best of several, says about a claim; better verdicts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditVerdict {
    /// It supports the claim.
    Supported,
    /// It supports part of the claim.
    Partly,
    /// It contradicts the claim.
    Contradicted,
    /// There is no page to check it against.
    Unreadable,
    /// It does not say what the claim says.
    Unsupported,
}

impl AuditVerdict {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditVerdict::Supported => "supported",
            AuditVerdict::Partly => "partly",
            AuditVerdict::Contradicted => "contradicted",
            AuditVerdict::Unreadable => "unreadable",
            AuditVerdict::Unsupported => "unsupported",
        }
    }
}

impl From<SupportLevel> for AuditVerdict {
    fn from(it: SupportLevel) -> AuditVerdict {
        match it {
            SupportLevel::Supported => AuditVerdict::Supported,
            SupportLevel::Partly => AuditVerdict::Partly,
            SupportLevel::Contradicted => AuditVerdict::Contradicted,
            SupportLevel::Unsupported => AuditVerdict::Unsupported,
        }
    }
}

/// A quote from a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuote {
    /// The words.
    pub text: String,
    /// Their range in the page's text, in code points.
    pub place: Range<usize>,
    /// The index of the sentence they begin in.
    pub sentence: usize,
}

/// The result of checking a claim against one page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageCheck {
    /// The verdict.
    pub verdict: AuditVerdict,
    /// How well it supports the claim, 0 to 1.
    pub score: f32,
    /// The words that decide, unless nothing there is about the claim.
    pub quote: Option<PageQuote>,
    /// Why the verdict is not better, where that is known.
    pub reason: Option<&'static str>,
    /// The sentences nearest to the claim, for a model.
    pub(super) near: Vec<PageQuote>,
}

/// The verdict where numbers must match: the weights forgive a wrong one among many right words, an audit
/// does not.
fn require_figures(
    verdict: AuditVerdict,
    figures: FigureMatch,
) -> (AuditVerdict, Option<&'static str>) {
    match (verdict, figures) {
        (AuditVerdict::Unsupported, _) => (verdict, Some("no sentence in the source says this")),
        (AuditVerdict::Contradicted, FigureMatch::Match | FigureMatch::MatchElsewhere) => {
            (verdict, Some("the source says otherwise"))
        }
        (_, FigureMatch::Conflict) => {
            (AuditVerdict::Contradicted, Some("the source gives another number"))
        }
        (AuditVerdict::Supported | AuditVerdict::Partly, FigureMatch::Missing) => {
            (AuditVerdict::Partly, Some("a number of the claim is not in the source"))
        }
        (AuditVerdict::Supported, FigureMatch::MatchElsewhere) => {
            (AuditVerdict::Partly, Some("a number of the claim appears elsewhere in the source"))
        }
        _ => (verdict, None),
    }
}

/// A page indexed for checking many claims.
pub(super) struct SentenceIndex<'a> {
    page: &'a Page,
    /// The sentences that contain each word.
    having: BTreeMap<String, Vec<u32>>,
}

impl<'a> SentenceIndex<'a> {
    pub(super) fn new(page: &'a Page) -> SentenceIndex<'a> {
        let mut having: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for nth in 0..page.sentences().len() {
            let stems: BTreeSet<String> = content_stems(page.sentence(nth)).into_iter().collect();
            for stem in stems {
                having.entry(stem).or_default().push(nth as u32);
            }
        }
        SentenceIndex { page, having }
    }

    /// Checks `claim` against the page. `scorer` reads what is near it, if it is there.
    pub(super) fn check_claim(&self, claim: &str, scorer: Option<&dyn PairScorer>) -> PageCheck {
        let ranked = self.ranked_sentences(claim);
        let runs = self.judged_ranges(&ranked);
        let text = self.page.text().expose();
        let words: Vec<String> =
            runs.iter().filter_map(|run| text.get(run.clone())).map(str::to_owned).collect();
        let (found, figures) = judge_support_with_figures(claim, &words, scorer);
        let (verdict, reason) = require_figures(found.verdict.into(), figures);
        let quote = found.quote.and_then(|quote| self.quote(quote, &runs));
        let mut near: Vec<PageQuote> = quote.iter().cloned().collect();
        for nth in ranked.into_iter().take(MAX_QUOTES) {
            let sentence = self.page.sentence(nth);
            if near.len() < MAX_QUOTES && !near.iter().any(|quote| quote.text.contains(sentence)) {
                let start =
                    self.page.sentences().get(nth).map_or(0, |sentence| sentence.start as usize);
                near.extend(self.quote_at(start, sentence.to_owned()));
            }
        }
        PageCheck { verdict, score: found.score, quote, reason, near }
    }

    /// The sentences that share words with `claim`; those with the most and rarest words first.
    fn ranked_sentences(&self, claim: &str) -> Vec<usize> {
        let all = self.page.sentences().len() as f32;
        let mut scores: BTreeMap<u32, f32> = BTreeMap::new();
        let wanted: BTreeSet<String> = content_stems(claim).into_iter().collect();
        for stem in wanted {
            let Some(having) = self.having.get(&stem) else {
                continue;
            };
            let weight = (1.0 + all / having.len() as f32).ln();
            for nth in having {
                *scores.entry(*nth).or_insert(0.0) += weight;
            }
        }
        let mut ranked: Vec<(u32, f32)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().map(|pair| pair.0 as usize).collect()
    }

    /// The ranges to judge: stretches of sentences of one block, in the order of the page.
    fn judged_ranges(&self, ranked: &[usize]) -> Vec<Range<usize>> {
        let sentences = self.page.sentences();
        let chosen: BTreeSet<usize> = if sentences.len() <= MAX_FULL_SENTENCES {
            (0..sentences.len()).collect()
        } else {
            let around =
                |number: &usize| number.saturating_sub(1)..(number + 2).min(sentences.len());
            ranked.iter().take(CANDIDATE_SENTENCES).flat_map(around).collect()
        };
        let mut runs: Vec<(usize, Range<usize>)> = Vec::new();
        for nth in chosen {
            let it = &sentences[nth];
            let end = it.end as usize;
            match runs.last_mut() {
                Some((last, run)) if *last + 1 == nth && sentences[*last].block == it.block => {
                    *last = nth;
                    run.end = end;
                }
                _ => runs.push((nth, it.start as usize..end)),
            }
        }
        runs.into_iter().map(|run| run.1).collect()
    }

    /// The quote of the words that the verdict gave.
    fn quote(&self, words: String, runs: &[Range<usize>]) -> Option<PageQuote> {
        let text = self.page.text().expose();
        let start = runs.iter().find_map(|run| {
            let at = text.get(run.clone())?.find(&words)?;
            Some(run.start + at)
        })?;
        self.quote_at(start, words)
    }

    /// The quote of `words` that begin at byte `start`.
    fn quote_at(&self, start: usize, words: String) -> Option<PageQuote> {
        let before = self.page.text().expose().get(..start)?.chars().count();
        let sentences = self.page.sentences();
        let nth = sentences.partition_point(|sentence| sentence.end as usize <= start);
        Some(PageQuote {
            place: before..before + words.chars().count(),
            sentence: nth.min(sentences.len().saturating_sub(1)),
            text: words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Block, BlockKind, PageDraft};

    fn page(blocks: &[String]) -> Page {
        Page::new(PageDraft {
            blocks: blocks
                .iter()
                .map(|block| Block::new(BlockKind::Prose, block.clone()))
                .collect(),
            ..PageDraft::default()
        })
    }

    #[test]
    fn the_quote_stands_at_its_place_also_in_a_long_page() {
        let mut blocks: Vec<String> = (0..800)
            .map(|index| {
                format!("Übung {index} is about bread — and salt. Nothing rises in hour {index}.")
            })
            .collect();
        let said = "The library's green roof retained 63 % of annual rainfall.";
        blocks.insert(500, format!("It rained. {said} So it goes."));
        let page = page(&blocks);
        let it = SentenceIndex::new(&page)
            .check_claim("The green roof of the library retained 63 % of annual rainfall", None);
        assert_eq!(it.verdict, AuditVerdict::Supported);
        let quote = it.quote.unwrap();
        let text: String =
            page.text().expose().chars().collect::<Vec<_>>()[quote.place.clone()].iter().collect();
        assert_eq!(text, quote.text);
        assert!(quote.text.contains(said), "{}", quote.text);
        assert!(page.sentence(quote.sentence).starts_with(quote.text.split(' ').next().unwrap()));
        let it = SentenceIndex::new(&page)
            .check_claim("The green roof of the library retained 36 % of annual rainfall", None);
        assert_ne!(it.verdict, AuditVerdict::Supported);
    }

    #[test]
    fn a_page_that_says_nothing_of_it_gives_no_quote() {
        let page = page(&["Bread needs salt.".to_owned()]);
        let it = SentenceIndex::new(&page)
            .check_claim("The green roof retained 63 % of annual rainfall", None);
        assert_eq!((it.verdict, it.quote), (AuditVerdict::Unsupported, None));
    }
}
