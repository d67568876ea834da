//! A claim held against a page: which sentences may speak to it, what they say, and where.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;

use crate::domain::Page;
use crate::domain::words::content_stems;
use crate::research::attribution::{Figures, Word, judge_with_figures};

/// A page up to this many sentences is judged whole.
const WHOLE: usize = 60;
/// Of a longer page, so many sentences that share most with the claim, each with its neighbours.
const PICKED: usize = 20;
/// Most quotes that a model is shown.
const QUOTES: usize = 3;

/// What a source, or the best of several, says of a claim; better ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// It says so.
    Supported,
    /// It says part of it.
    Partly,
    /// It says otherwise.
    Contradicted,
    /// There is no page to hold it against.
    Unreadable,
    /// It does not say.
    Unsupported,
}

impl Ruling {
    /// Its word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Ruling::Supported => "supported",
            Ruling::Partly => "partly",
            Ruling::Contradicted => "contradicted",
            Ruling::Unreadable => "unreadable",
            Ruling::Unsupported => "unsupported",
        }
    }
}

impl From<Word> for Ruling {
    fn from(it: Word) -> Ruling {
        match it {
            Word::Supported => Ruling::Supported,
            Word::Partly => Ruling::Partly,
            Word::Contradicted => Ruling::Contradicted,
            Word::Unsupported => Ruling::Unsupported,
        }
    }
}

/// Exact words of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The words.
    pub text: String,
    /// Where they stand in the page's text, in code points.
    pub place: Range<usize>,
    /// The sentence they begin in, from 0.
    pub sentence: usize,
}

/// What one page says of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// What it says.
    pub ruling: Ruling,
    /// How well it supports the claim, 0 to 1.
    pub score: f32,
    /// The words that decide, unless nothing there speaks to it.
    pub quote: Option<Quote>,
    /// Why the verdict is not a better one, where that can be told.
    pub reason: Option<&'static str>,
    /// The sentences nearest to the claim, for a second opinion.
    pub(super) near: Vec<Quote>,
}

/// The verdict where numbers must hold: the weights forgive a wrong one among many right words, an audit
/// does not.
fn strictly(ruling: Ruling, figures: Figures) -> (Ruling, Option<&'static str>) {
    match (ruling, figures) {
        (Ruling::Unsupported, _) => (ruling, Some("no sentence of it says this")),
        (Ruling::Supported | Ruling::Partly, Figures::Other) => {
            (Ruling::Contradicted, Some("it has another number there"))
        }
        (Ruling::Supported | Ruling::Partly, Figures::Lacking) => {
            (Ruling::Partly, Some("a number of the claim is not in it"))
        }
        (Ruling::Supported, Figures::Elsewhere) => (
            Ruling::Partly,
            Some("a number of the claim stands elsewhere in it"),
        ),
        _ => (ruling, None),
    }
}

/// A page made ready to be held against many claims.
pub(super) struct Ground<'a> {
    page: &'a Page,
    /// The sentences that have each word.
    having: BTreeMap<String, Vec<u32>>,
}

impl<'a> Ground<'a> {
    pub(super) fn of(page: &'a Page) -> Ground<'a> {
        let mut having: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for nth in 0..page.sentences().len() {
            let stems: BTreeSet<String> = content_stems(page.sentence(nth)).into_iter().collect();
            for stem in stems {
                having.entry(stem).or_default().push(nth as u32);
            }
        }
        Ground { page, having }
    }

    /// What the page says of `claim`.
    pub(super) fn hold(&self, claim: &str) -> Held {
        let ranked = self.ranked(claim);
        let runs = self.runs(&ranked);
        let text = self.page.text().expose();
        let words: Vec<String> = runs
            .iter()
            .filter_map(|it| text.get(it.clone()))
            .map(str::to_owned)
            .collect();
        let (found, figures) = judge_with_figures(claim, &words);
        let (ruling, reason) = strictly(found.verdict.into(), figures);
        let quote = found.quote.and_then(|it| self.quote(it, &runs));
        let mut near: Vec<Quote> = quote.iter().cloned().collect();
        for nth in ranked.into_iter().take(QUOTES) {
            let sentence = self.page.sentence(nth);
            if near.len() < QUOTES && !near.iter().any(|it| it.text.contains(sentence)) {
                let start = self
                    .page
                    .sentences()
                    .get(nth)
                    .map_or(0, |it| it.start as usize);
                near.extend(self.quote_at(start, sentence.to_owned()));
            }
        }
        Held {
            ruling,
            score: found.score,
            quote,
            reason,
            near,
        }
    }

    /// The sentences that share words with `claim`, those with most and rarest first.
    fn ranked(&self, claim: &str) -> Vec<usize> {
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
        ranked.into_iter().map(|it| it.0 as usize).collect()
    }

    /// What is judged: stretches of sentences of one block, in the order of the page.
    fn runs(&self, ranked: &[usize]) -> Vec<Range<usize>> {
        let sentences = self.page.sentences();
        let chosen: BTreeSet<usize> = if sentences.len() <= WHOLE {
            (0..sentences.len()).collect()
        } else {
            let around = |it: &usize| it.saturating_sub(1)..(it + 2).min(sentences.len());
            ranked.iter().take(PICKED).flat_map(around).collect()
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
        runs.into_iter().map(|it| it.1).collect()
    }

    /// Where the judge's words stand.
    fn quote(&self, words: String, runs: &[Range<usize>]) -> Option<Quote> {
        let text = self.page.text().expose();
        let start = runs.iter().find_map(|it| {
            let at = text.get(it.clone())?.find(&words)?;
            Some(it.start + at)
        })?;
        self.quote_at(start, words)
    }

    /// The quote of `words` that begin at byte `start`.
    fn quote_at(&self, start: usize, words: String) -> Option<Quote> {
        let before = self.page.text().expose().get(..start)?.chars().count();
        let sentences = self.page.sentences();
        let nth = sentences.partition_point(|it| it.end as usize <= start);
        Some(Quote {
            place: before..before + words.chars().count(),
            sentence: nth.min(sentences.len().saturating_sub(1)),
            text: words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, BlockKind, PageDraft};

    fn page(blocks: &[String]) -> Page {
        Page::new(PageDraft {
            blocks: blocks
                .iter()
                .map(|it| Block::new(BlockKind::Prose, it.clone()))
                .collect(),
            ..PageDraft::default()
        })
    }

    #[test]
    fn the_quote_stands_at_its_place_also_in_a_long_page() {
        let mut blocks: Vec<String> = (0..800)
            .map(|it| format!("Übung {it} is about bread — and salt. Nothing rises in hour {it}."))
            .collect();
        let said = "The library's green roof retained 63 % of annual rainfall.";
        blocks.insert(500, format!("It rained. {said} So it goes."));
        let page = page(&blocks);
        let it = Ground::of(&page)
            .hold("The green roof of the library retained 63 % of annual rainfall");
        assert_eq!(it.ruling, Ruling::Supported);
        let quote = it.quote.unwrap();
        let text: String = page.text().expose().chars().collect::<Vec<_>>()[quote.place.clone()]
            .iter()
            .collect();
        assert_eq!(text, quote.text);
        assert!(quote.text.contains(said), "{}", quote.text);
        assert!(
            page.sentence(quote.sentence)
                .starts_with(quote.text.split(' ').next().unwrap())
        );
        let it = Ground::of(&page)
            .hold("The green roof of the library retained 36 % of annual rainfall");
        assert_ne!(it.ruling, Ruling::Supported);
    }

    #[test]
    fn a_page_that_says_nothing_of_it_gives_no_quote() {
        let page = page(&["Bread needs salt.".to_owned()]);
        let it = Ground::of(&page).hold("The green roof retained 63 % of annual rainfall");
        assert_eq!((it.ruling, it.quote), (Ruling::Unsupported, None));
    }
}
