//! The parts that a shown report is made of: words ready for a template.
use crate::domain::{Side, words};
use crate::surfaces::export::escape::line;

/// A heading of the report, as its table of contents names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its anchor.
    pub id: String,
    /// Its words.
    pub title: String,
}

/// A number in the text, which opens its quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// The number of the work, with a letter where the same sentence cites it again: `3`, `3b`.
    pub shown: String,
    /// Which quote, from 1.
    pub quote: usize,
    /// Whose, for who cannot see where it stands.
    pub whose: String,
}

/// A sentence of the report with its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// `c1`, `c2`, …
    pub id: String,
    /// The words.
    pub text: String,
    /// What it rests on.
    pub chips: Vec<Chip>,
}

/// Bytes of a last word that is kept together with the number after it.
const LAST_WORD: usize = 40;

impl Sentence {
    /// The words but the last.
    pub fn lead(&self) -> &str {
        &self.text[..self.parted()]
    }

    /// The last word, which no line ends after.
    pub fn tail(&self) -> &str {
        &self.text[self.parted()..]
    }

    fn parted(&self) -> usize {
        let at = self.text.rfind(' ').map_or(0, |it| it + 1);
        match self.text.len() - at <= LAST_WORD {
            true => at,
            false => self.text.len(),
        }
    }
}

/// How sure something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sure {
    /// Four dots, filled from the left.
    pub dots: &'static str,
    /// The word.
    pub word: &'static str,
    /// By which rules.
    pub why: String,
}

/// A key finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What was found.
    pub said: Sentence,
    /// How sure.
    pub sure: Sure,
}

/// Key findings of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What stands above them, where there are several kinds.
    pub heading: Option<&'static str>,
    /// They themselves.
    pub findings: Vec<Found>,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its anchor.
    pub id: String,
    /// Its heading, numbered.
    pub title: String,
    /// Its paragraphs.
    pub paragraphs: Vec<Vec<Sentence>>,
}

/// One side of a disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideShown {
    /// What it says.
    pub says: String,
    /// In which words.
    pub said: Sentence,
    /// Its weight in hundredths.
    pub weight: u32,
}

/// A disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    /// On what.
    pub about: String,
    /// Who says what.
    pub sides: Vec<SideShown>,
    /// The figures side by side, where each side gives one of the same unit.
    pub chart: Vec<Figure>,
    /// A likely reason.
    pub likely: Option<String>,
}

/// A row of the evidence table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The claim.
    pub claim: String,
    /// The quotes, where they are not the claim word for word.
    pub quotes: Vec<String>,
    /// The works: number and title.
    pub works: Vec<(u32, String)>,
    /// How sure.
    pub sure: Sure,
}

/// The exact words behind a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Which, from 1.
    pub k: usize,
    /// The number of its work.
    pub n: u32,
    /// The words.
    pub words: String,
    /// Its work.
    pub title: String,
    /// Where and when that appeared.
    pub about: String,
    /// What kind of source it is.
    pub kind: &'static str,
    /// Where in the work: `p. 4`, a heading.
    pub place: String,
    /// The page of the web at these words.
    pub live: Option<String>,
    /// The stored page at these words, where it is served.
    pub stored: Option<String>,
    /// Whether code found the words at their place; `None` where the page is gone.
    pub holds: Option<bool>,
}

/// What was found in one source, without prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its title.
    pub title: String,
    /// Its address, where it is one of the web.
    pub link: Option<String>,
    /// Where it is, for people.
    pub place: String,
    /// The words.
    pub pieces: Vec<String>,
    /// How well they speak to the question, in hundredths.
    pub score: u32,
}

/// A topic and how far it is covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// What it asks.
    pub text: String,
    /// `satisfied`, `partial`, `unsatisfied`.
    pub word: &'static str,
    /// What is missing.
    pub gap: Option<String>,
}

/// A figure of one side, drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// What the side says: `56%`.
    pub says: String,
    /// How long its bar is, in hundredths of the longest.
    pub long: u32,
}

/// The figures of a disagreement as bars from nothing; none where the sides do not each give one figure of the same unit.
pub(super) fn chart(sides: &[Side]) -> Vec<Figure> {
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut unit: Option<String> = None;
    for side in sides {
        let numbers = words::numbers(&side.says);
        let [one] = numbers.as_slice() else {
            return Vec::new();
        };
        if one.unit.is_none() || one.value < 0.0 || !one.value.is_finite() {
            return Vec::new();
        }
        if *unit.get_or_insert_with(|| one.unit.clone().unwrap_or_default())
            != one.unit.clone().unwrap_or_default()
        {
            return Vec::new();
        }
        found.push((line(&side.says), one.value));
    }
    let most = found.iter().map(|it| it.1).fold(0.0, f64::max);
    if most == 0.0 || found.len() < 2 {
        return Vec::new();
    }
    let each = found.into_iter().map(|(says, value)| Figure {
        says,
        long: (value / most * 100.0).round() as u32,
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, BlockKind, Citation, Claim, ClaimId, EvidenceId, Page, PageDraft};

    fn sides(all: &[&str]) -> Vec<Side> {
        let page = Page::new(PageDraft {
            blocks: vec![Block::new(BlockKind::Prose, "It is so.")],
            ..PageDraft::default()
        });
        let citation = Citation {
            n: 1,
            evidence: EvidenceId::new(1),
            passage: page.passage(0, 0).unwrap(),
        };
        let side = |says: &&str| Side {
            says: (*says).to_owned(),
            claim: Claim::new(
                ClaimId::new(1),
                "It is so.".to_owned(),
                vec![citation.clone()],
            )
            .unwrap(),
            weight: 0.5,
        };
        all.iter().map(side).collect()
    }

    #[test]
    fn figures_of_one_unit_are_drawn_from_nothing_and_others_are_not() {
        let long =
            |all: &[&str]| -> Vec<u32> { chart(&sides(all)).iter().map(|it| it.long).collect() };
        assert_eq!(long(&["40%", "80%", "20%"]), [50, 100, 25]);
        assert_eq!(long(&["110 euros", "220 euros"]), [50, 100]);
        assert!(long(&["6 cm", "8 kg"]).is_empty());
        assert!(long(&["speaks for no", "speaks for yes"]).is_empty());
        assert!(long(&["10 to 20 cm", "8 cm"]).is_empty());
        assert!(
            long(&["12", "13"]).is_empty(),
            "numbers of nothing are not compared"
        );
        assert!(long(&["5 %"]).is_empty());
    }
}
