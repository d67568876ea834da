//! A sentence with its context, for scoring.
use super::casing::Casing;
use super::page::PageSentences;

/// Maximum number of sentences of a page that is about a single subject, such as an abstract.
const SHORT_PAGE: usize = 15;
/// Sentences at the beginning of a page that say what it is about.
const OPENING_SENTENCES: usize = 3;
/// Number of sentences before one that may name its subject, on a longer page.
const CONTEXT_SENTENCES: usize = 4;

/// A sentence with the context that an item matcher uses.
pub(super) struct SentenceView<'a> {
    /// Its words.
    pub(super) own: &'a [u32],
    /// The words around it.
    pub(super) context: &'a [u32],
    /// Words of title and heading.
    pub(super) topic: &'a [u32],
    pub(super) text: &'a str,
    pub(super) spaced: &'a str,
    /// Whether it is an item of a list.
    pub(super) listed: bool,
    /// Whether that is a list of steps.
    pub(super) is_step: bool,
    /// How near the top of its page, at most 1.
    pub(super) early: f32,
    /// How nearly its heading asks the question, 0 to 1.
    pub(super) headed: f32,
    /// The heading above it.
    pub(super) heading_text: &'a str,
    /// How far it means what the question asks, 0 to 1; `None` where nothing compared them.
    pub(super) similarity: Option<f32>,
}

/// Why a heading makes a sentence a step or a member of what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadingItem {
    /// It is the heading.
    Heading,
    /// It is told with this heading, which stands above it.
    Below(usize),
}

/// The context of a sentence.
pub(super) struct SentenceContext<'a> {
    pub(super) title: &'a [u32],
    /// The words of the headings above it.
    pub(super) heading: &'a [u32],
    /// The sentence before it.
    pub(super) previous: &'a [u32],
    /// The sentences before it that say what it is about: those that it is quoted with.
    pub(super) antecedents: &'a [(usize, Vec<u32>)],
    /// The last line of the code that the sentence leads to.
    pub(super) code: Option<usize>,
    /// The heading above that names what the sentence is about, where the sentence does not.
    pub(super) subject: Option<usize>,
    /// The heading above that tells what a pronoun at the beginning stands for.
    pub(super) antecedent: Option<usize>,
    /// What was compared with the question: its claim after the headings that say what it is about.
    pub(super) compared: String,
    /// Whether nothing that was compared is likelier to answer.
    pub(super) nearest: bool,
    /// Title, heading, the page's first sentences and those before; for a short page, all of it.
    pub(super) wide: Vec<u32>,
    /// Title and heading.
    pub(super) topic: Vec<u32>,
    pub(super) casing: &'a Casing,
    /// The heading above it.
    pub(super) heading_text: &'a str,
    /// How nearly its heading asks the question, 0 to 1.
    pub(super) headed: f32,
    /// Whether it is an item of a list of steps.
    pub(super) is_step: bool,
    /// Why a heading makes it a step or a member of what the title lists; `None` if none does.
    pub(super) by_heading: Option<HeadingItem>,
}

impl<'a> SentenceContext<'a> {
    pub(super) fn new(
        lines: &'a PageSentences,
        at: usize,
        heading: &'a [u32],
    ) -> SentenceContext<'a> {
        let all = &lines.lines;
        let n = all[at].0;
        let previous = match at.checked_sub(1).map(|index| &all[index]) {
            Some((before, ids)) if before + 1 == n => ids.as_slice(),
            _ => &[],
        };
        let from = if all.len() <= SHORT_PAGE { 0 } else { at.saturating_sub(CONTEXT_SENTENCES) };
        let to = if all.len() <= SHORT_PAGE { all.len() } else { at + 1 };
        let mut topic: Vec<u32> = [lines.title.as_slice(), heading].concat();
        topic.sort_unstable();
        topic.dedup();
        let mut wide = topic.clone();
        // What a page begins with says what all of it is about.
        let opening = all.iter().take_while(|line| line.0 < OPENING_SENTENCES);
        for (_, ids) in opening.chain(&all[from..to]) {
            wide.extend(ids);
        }
        wide.sort_unstable();
        wide.dedup();
        SentenceContext {
            title: &lines.title,
            heading,
            previous,
            antecedents: &[],
            code: None,
            subject: None,
            antecedent: None,
            compared: String::new(),
            nearest: false,
            wide,
            topic,
            casing: &lines.casing,
            headed: 0.0,
            is_step: false,
            by_heading: None,
            heading_text: "",
        }
    }
}
