//! The sections of a page: which headings stand above a sentence, and which sections are on another thing than the question
//! names. In a manual for three machines "It has a warranty of two years" is about the machine of its heading.
use std::collections::BTreeSet;

use ibid_core::domain::words::{Token, tokens};
use ibid_core::domain::{BlockKind, Page};
use ibid_core::ports::SentenceInContext;

/// Words of a title or heading that are compared with the question before a sentence, and the last ones of the sentence before it.
const MAX_HEADING_WORDS: usize = 12;
const MAX_WORDS_BEFORE: usize = 30;
/// Items between one and the line that leads to their list.
const MAX_LIST_REACH: usize = 50;

/// A heading other than the title.
pub(super) struct SectionHeading {
    /// Its sentence.
    pub(super) at: usize,
    /// The sentence past those below it, where no other heading ends them.
    pub(super) end: usize,
    pub(super) level: u8,
    /// The heading of the section that contains this one.
    pub(super) parent: Option<usize>,
    pub(super) ids: Vec<u32>,
    /// Whether it has a name of the question.
    pub(super) named: bool,
    /// Whether it has a thing that the question names.
    pub(super) asked: bool,
    /// Whether the thing that it names is another one than the question names.
    pub(super) other: bool,
    /// Whether it says of what stands below it that it is not true: "False rumours".
    pub(super) false_claims: bool,
}

/// The headings of a page in order.
pub(super) struct Sections {
    pub(super) headings: Vec<SectionHeading>,
    /// The sentence of the title, where the title is a name of the question.
    pub(super) title: Option<usize>,
    /// The names of the question that head sections, or are the title.
    pub(super) names: Vec<SectionName>,
}

/// A name in a question, of one word or more.
#[derive(Clone, PartialEq)]
pub(super) struct SectionName {
    /// Its words in lower case: "kestrel" and "45".
    pub(super) words: Vec<String>,
    pub(super) ids: Vec<u32>,
    /// The word without which nothing has the name; the others may stand in the title of the page.
    pub(super) key: u32,
}

impl SectionName {
    /// Whether a name that begins with this one stands wherever this one stands in a text: "Kestrel 45 Pro" for "Kestrel 45".
    pub(super) fn is_longer_in(&self, text: &str) -> bool {
        let words = tokens(text);
        let goes_on = |end: usize| {
            words.get(end).is_some_and(|next| {
                let beside = text[words[end - 1].span.end..next.span.start].trim().is_empty();
                beside && is_of_name(text, next)
            })
        };
        let places = words.windows(self.words.len()).enumerate();
        let mut ends = places
            .filter(|(_, window)| window.iter().map(|it| &it.text).eq(&self.words))
            .map(|(at, _)| at + self.words.len())
            .peekable();
        ends.peek().is_some() && ends.all(goes_on)
    }

    /// Whether a title is this name and no more.
    pub(super) fn is_title(&self, title: &str) -> bool {
        tokens(title).iter().map(|it| &it.text).eq(&self.words)
    }

    /// Whether a text that has all its words has them beside each other.
    pub(super) fn is_whole_in(&self, text: &str) -> bool {
        let words = tokens(text);
        let mut places = words.windows(self.words.len());
        places.any(|window| window.iter().map(|it| &it.text).eq(&self.words))
    }

    /// Whether a number tells it from others: such names are often the beginning of longer ones.
    fn has_number(&self) -> bool {
        self.words.iter().any(|word| has_digit(word))
    }
}

pub(super) fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// Whether a word is written as part of a name: with a capital or a digit.
pub(super) fn is_of_name(text: &str, word: &Token) -> bool {
    text[word.span.clone()].starts_with(|c: char| c.is_uppercase()) || has_digit(&word.text)
}

/// Whether a heading says that what stands below it is not true: "Common myths", "False rumours on the bridge". "Myth: …" has its
/// claim beside it, and "Myths and facts" has both below it.
pub(super) fn tells_false_claims(heading: &str) -> bool {
    let words = tokens(heading);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.text.as_str()));
    let false_by_name =
        has(&["rumours", "rumors", "myths", "misconceptions", "hoaxes", "falsehoods"]);
    let called_false =
        has(&["false", "untrue", "wrong", "mistaken", "incorrect", "refuted", "debunked"])
            && has(&["claims", "beliefs", "ideas", "stories", "statements", "answers", "figures"]);
    let told_right =
        has(&["fact", "facts", "truth", "truths", "reality", "right", "correct", "answered"]);
    (false_by_name || called_false) && !told_right
}

/// Whether a sentence denies something, or sets something right.
fn denies(text: &str) -> bool {
    const DENYING: [&str; 16] = [
        "not", "no", "never", "nor", "neither", "none", "false", "untrue", "wrong", "actually",
        "fact", "but", "however", "contrary", "nothing", "cannot",
    ];
    tokens(text).iter().any(|word| {
        DENYING.contains(&word.text.as_str())
            || word.text.ends_with("n't")
            || word.text.ends_with("n’t")
    })
}

pub(super) fn heading_key(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Whether a heading reads as a name: it has a digit, or several words which all begin with a capital. A question is none.
fn reads_as_name(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let capitals =
        words.clone().count() > 1 && words.all(|word| word.starts_with(char::is_uppercase));
    (has_digit(text) || capitals) && !is_question(text)
}

/// Whether a heading is a question.
pub(super) fn is_question(heading: &str) -> bool {
    heading.trim_end().ends_with('?')
}

/// Whether the sorted `ids` contain all of `name`.
pub(super) fn has_all(ids: &[u32], name: &[u32]) -> bool {
    name.iter().all(|id| ids.binary_search(id).is_ok())
}

/// What stands before sentence `n`: of an item of a list the line that leads to the list, else the sentence before it; `None` for
/// what opens a section.
fn sentence_before(page: &Page, n: usize) -> Option<usize> {
    let kind = |at: usize| page.sentences()[at].kind;
    let before = n.checked_sub(1)?;
    let above = match kind(n) {
        BlockKind::ListItem => {
            let mut above = (0..n).rev().take(MAX_LIST_REACH);
            above.find(|at| kind(*at) != BlockKind::ListItem).unwrap_or(before)
        }
        _ => before,
    };
    let leads = page.sentence(above).trim_end().ends_with(':');
    let before = if kind(n) == BlockKind::ListItem && leads { above } else { before };
    matches!(kind(before), BlockKind::Prose | BlockKind::ListItem).then_some(before)
}

impl Sections {
    /// Marks the headings beside those in `among` that are on other things: those that read as names, and those whose sections have
    /// the headings of `parts`, as those of each machine in a manual have. "General" stays.
    pub(super) fn mark_others(
        &mut self,
        page: &Page,
        among: &BTreeSet<(u8, Option<usize>)>,
        parts: &BTreeSet<String>,
    ) {
        let alike: BTreeSet<usize> = self
            .headings
            .iter()
            .filter(|heading| parts.contains(&heading_key(page.sentence(heading.at))))
            .filter_map(|heading| heading.parent)
            .collect();
        for (nth, heading) in self.headings.iter_mut().enumerate() {
            let beside = !heading.named && among.contains(&(heading.level, heading.parent));
            let reads_as_name = || reads_as_name(page.sentence(heading.at));
            heading.other |= beside && (alike.contains(&nth) || reads_as_name());
        }
    }

    /// The headings above sentence `n`, the innermost first.
    fn above(&self, n: usize) -> impl Iterator<Item = &SectionHeading> {
        let last = self.headings.partition_point(|heading| heading.at < n).checked_sub(1);
        let first = last.map(|nth| &self.headings[nth]);
        let above = |heading: &&SectionHeading| heading.parent.map(|nth| &self.headings[nth]);
        std::iter::successors(first, above).filter(move |heading| n < heading.end)
    }

    /// The sentence of the heading above sentence `n`.
    pub(super) fn nearest_heading(&self, n: usize) -> Option<usize> {
        self.above(n).next().map(|heading| heading.at)
    }

    /// The words of the headings above sentence `n`, and of the names that it is about although no heading has them.
    pub(super) fn words_above(&self, n: usize) -> Vec<u32> {
        let mut ids: Vec<u32> = self.above(n).flat_map(|heading| &heading.ids).copied().collect();
        ids.extend(self.names_meant(n));
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The sentences of all headings.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.headings.iter().map(|heading| heading.at)
    }

    /// The heading above sentence `n` that has a name of the question, or the title if it is one, by its sentence.
    fn naming(&self, n: usize) -> Option<usize> {
        let nearest = self.above(n).find(|heading| heading.named || heading.other);
        match nearest {
            Some(heading) => heading.named.then_some(heading.at),
            None => self.title,
        }
    }

    /// The words of the names of the question, if sentence `n` stands beside the sections that they head and in none on another thing:
    /// what a manual says of all machines.
    fn names_meant(&self, n: usize) -> Vec<u32> {
        let of_one = self.above(n).any(|heading| heading.named || heading.other);
        let names = self.names.iter().filter(|_| !of_one && self.above(n).next().is_some());
        names.flat_map(|name| &name.ids).copied().collect()
    }

    /// Sentence `n`, as `claim` has it, with the title, the headings that say what it is about and the sentence before it.
    pub(super) fn in_context(&self, page: &Page, n: usize, claim: String) -> SentenceInContext {
        let begin = |text: &str| {
            let words = text.trim_end_matches(['.', ':', ' ']).split_whitespace();
            words.take(MAX_HEADING_WORDS).collect::<Vec<_>>().join(" ")
        };
        let nearest = self.nearest_heading(n);
        let naming = self.naming(n).filter(|at| Some(*at) != nearest && Some(*at) != self.title);
        let headings = [naming, nearest].into_iter().flatten().map(|at| begin(page.sentence(at)));
        let before = sentence_before(page, n).map(|at| {
            let words: Vec<&str> = page.sentence(at).split_whitespace().collect();
            let from = words.len().saturating_sub(MAX_WORDS_BEFORE);
            format!("{} ", words[from..].join(" "))
        });
        SentenceInContext {
            title: begin(&page.title),
            headings: headings.map(|heading| format!("{heading}: ")).collect(),
            before: before.unwrap_or_default(),
            text: claim,
        }
    }

    /// Whether sentence `n` is told as untrue: it stands below "False rumours", denies nothing itself, and follows no sentence that sets
    /// them right, "None of these is true."
    pub(super) fn is_told_as_false(&self, page: &Page, n: usize) -> bool {
        let Some(heading) = self.above(n).find(|heading| heading.false_claims) else {
            return false;
        };
        let is_prose = |at: &usize| page.sentences()[*at].kind == BlockKind::Prose;
        let above = (heading.at + 1..n).rev().take(MAX_LIST_REACH);
        let set_right = above.filter(is_prose).any(|at| denies(page.sentence(at)));
        !(denies(page.sentence(n)) || is_prose(&n) && set_right)
    }

    /// The heading above sentence `n`, whose words are `own`, that names what the sentence is about and the sentence does not.
    pub(super) fn subject_of(&self, n: usize, own: &[u32]) -> Option<usize> {
        let names_itself = self.names.iter().any(|name| has_all(own, &name.ids));
        self.naming(n).filter(|_| !names_itself)
    }

    /// The heading above sentence `n` that tells what "it" is: one with a name of the question, or else the outermost with a
    /// thing of the question, or else the title, if no other heading is above. One that calls what stands below it false tells nothing.
    pub(super) fn antecedent_of(&self, page: &Page, n: usize) -> Option<usize> {
        let mut headings = self.above(n).filter(|heading| !heading.false_claims).peekable();
        let by_title = headings.peek().is_none();
        let asked = headings.filter(|heading| heading.asked).last().map(|heading| heading.at);
        let is_titled = by_title && n > 0 && page.sentences()[0].kind == BlockKind::Heading;
        self.naming(n).or(asked).or(is_titled.then_some(0))
    }

    /// Whether sentence `n`, whose words are `own`, is about another thing than the question names: it stands in a section on one,
    /// or has a name that only begins as the one of the question does.
    pub(super) fn is_on_other_name(&self, page: &Page, n: usize, own: &[u32]) -> bool {
        let mut named = self.names.iter().filter(|name| has_all(own, &name.ids)).peekable();
        if named.peek().is_some() {
            return named.all(|name| name.has_number() && name.is_longer_in(page.sentence(n)));
        }
        let nearest = self.above(n).find(|heading| heading.named || heading.other);
        nearest.is_some_and(|heading| heading.other)
    }
}
