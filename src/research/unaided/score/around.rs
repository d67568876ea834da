//! What a sentence is weighed with: its words and what stands around them.
use super::Lines;
use super::casing::Casing;

/// Sentences of a page that is about one thing from end to end, such as an abstract.
const SHORT_PAGE: usize = 15;
/// Sentences before that still say what a sentence of a longer page is about.
const REACH: usize = 4;

/// A sentence with its words, as a probe looks at it.
pub(super) struct Said<'a> {
    pub(super) own: &'a [u32],
    pub(super) context: &'a [u32],
    /// Words of title and heading.
    pub(super) topic: &'a [u32],
    pub(super) text: &'a str,
    pub(super) spaced: &'a str,
    /// How near the top of its page, up to 1.
    pub(super) early: f32,
}

/// What surrounds a sentence.
pub(super) struct Around<'a> {
    pub(super) title: &'a [u32],
    pub(super) heading: &'a [u32],
    /// The sentence just before.
    pub(super) previous: &'a [u32],
    /// Its number, where it may be evidence.
    pub(super) before: Option<usize>,
    /// Title, heading and the sentences before; all of a short page.
    pub(super) wide: Vec<u32>,
    /// Title and heading.
    pub(super) topic: Vec<u32>,
    pub(super) casing: &'a Casing,
}

impl<'a> Around<'a> {
    pub(super) fn of(lines: &'a Lines, at: usize, heading: &'a [u32]) -> Around<'a> {
        let all = &lines.lines;
        let n = all[at].0;
        let previous = match at.checked_sub(1).map(|it| &all[it]) {
            Some((before, ids)) if before + 1 == n => ids.as_slice(),
            _ => &[],
        };
        let from = if all.len() <= SHORT_PAGE {
            0
        } else {
            at.saturating_sub(REACH)
        };
        let to = if all.len() <= SHORT_PAGE {
            all.len()
        } else {
            at + 1
        };
        let mut topic: Vec<u32> = [lines.title.as_slice(), heading].concat();
        topic.sort_unstable();
        topic.dedup();
        let mut wide = topic.clone();
        for (_, ids) in &all[from..to] {
            wide.extend(ids);
        }
        wide.sort_unstable();
        wide.dedup();
        Around {
            title: &lines.title,
            heading,
            previous,
            before: None,
            wide,
            topic,
            casing: &lines.casing,
        }
    }
}
