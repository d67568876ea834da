//! What is quoted for a sentence: the sentence alone, or with those before it that say what it is about.
use crate::heuristic::enumeration::lead_to_own_list;
use crate::heuristic::lexicon::{begins_with_phrase, has_phrase, spaced};
use crate::heuristic::sentence::{SentenceText, fitness, is_imperative, leans_on_previous};
use crate::prompts::SentenceWords;
use crate::thresholds::MIN_ANTECEDENT_FIT;
use ibid_core::domain::{BlockKind, Page, Sentence};

use super::context::SentenceContext;

/// Maximum number of words of a quote that was widened to the sentences before it.
const WIDENED_WORDS: usize = 70;
/// The same where they tell the condition.
const CONDITIONED_WORDS: usize = 90;
/// Maximum number of sentences before one that are quoted with it.
const MAX_ANTECEDENTS: usize = 3;
/// Maximum number of words of a label that a paragraph begins with.
const MAX_LABEL_WORDS: usize = 4;
/// Maximum number of bytes and of lines of code that are quoted with the step that they belong to.
const MAX_CODE_BYTES: usize = 240;
const MAX_CODE_LINES: usize = 4;
/// Maximum number of sentences from one that tells a condition to one that it governs.
const MAX_TO_CONDITION: usize = 2;
/// How a step begins that goes on with the one before it.
const NEXT_STEP: &str = "Then ";

/// A sentence that may be evidence, before it is scored.
pub(super) struct Candidate<'a> {
    pub(super) page: &'a Page,
    /// Its index in the page.
    pub(super) n: usize,
    /// The numbers of its words.
    pub(super) ids: &'a [u32],
    /// How well it stands alone, 0 to 1.
    pub(super) fit: f32,
    pub(super) seen: SentenceText,
}

/// Sentences of a page that are quoted together, from `first` to `last`.
pub(super) struct SentenceRange {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) ids: Vec<u32>,
    pub(super) seen: SentenceText,
    /// How well they stand alone, 0 to 1.
    pub(super) fit: f32,
    /// The heading that says what they are about.
    pub(super) heading: Option<usize>,
}

impl SentenceRange {
    /// The sentence, together with those before it if it depends on them, or else with the heading that says what it is about.
    /// `None` if neither is fit, or they are too long to quote.
    pub(super) fn of(
        candidate: Candidate<'_>,
        around: &SentenceContext<'_>,
        words: &SentenceWords,
    ) -> Option<SentenceRange> {
        let Candidate { page, n, .. } = candidate;
        let mut span = SentenceRange {
            first: n,
            last: around.code.unwrap_or(n),
            ids: candidate.ids.to_vec(),
            seen: candidate.seen,
            fit: candidate.fit,
            heading: around.subject,
        };
        // "Mice: They nest under the floor": the heading tells what it is about.
        if around.by_heading.is_some() {
            return Some(span);
        }
        // "Such risk factors include: …" follows a sentence that names what is asked: the question says what they are of.
        if around.headed > 0.0 && lead_to_own_list(page.sentence(n)).is_some() {
            return Some(span);
        }
        let leans = leans_on_previous(page.sentence(n), words);
        let of_condition = condition_of(page, n).is_some();
        // A step that says "then" is told with the one before it, and "that's why" with what it follows from.
        if !leans && !of_condition && !is_next_step(page, n) && !concludes(page.sentence(n), words)
        {
            return Some(span);
        }
        let Some((first, _)) = around.antecedents.first() else {
            if !leans {
                return Some(span);
            }
            // "It has …" opens a section, or follows another "It …".
            let opens = n.checked_sub(1).is_none_or(|at| {
                let heads =
                    page.sentences()[at].kind == BlockKind::Heading || !same_block(page, at, n);
                heads || leans_on_previous(page.sentence(at), words)
            });
            span.heading = around.antecedent.filter(|_| opens);
            return span.heading.is_some().then_some(span);
        };
        span.first = *first;
        span.ids.extend(around.antecedents.iter().flat_map(|(_, ids)| ids));
        span.ids.sort_unstable();
        span.ids.dedup();
        let joined: Vec<&str> = (*first..=n).map(|nth| page.sentence(nth)).collect();
        let joined = joined.join(" ");
        let named = |at: &usize| joined.to_lowercase().contains(&page.sentence(*at).to_lowercase());
        // What it is about is said there, and may be another thing than the title of the page names.
        span.heading = span.heading.filter(|at| *at > 0 && !named(at));
        span.seen = SentenceText::new(&joined);
        let most = if of_condition { CONDITIONED_WORDS } else { WIDENED_WORDS };
        (span.seen.words <= most).then_some(span)
    }
}

/// The last of the sentences of code that sentence `n` leads to: "Initialise the folder:", or a step that code follows. `None` if it
/// leads to none, or to more than is quoted.
pub(super) fn code_after(page: &Page, n: usize, words: &SentenceWords) -> Option<usize> {
    let is_code = |at: &usize| {
        let of_code = |it: &Sentence| it.kind == BlockKind::Code;
        page.sentences().get(*at).is_some_and(of_code) && same_block(page, n + 1, *at)
    };
    let sentence = page.sentence(n).trim_end();
    let leads = sentence.ends_with(':') || is_imperative(&sentence.to_lowercase(), words);
    let last = (n + 1..).take_while(is_code).last().filter(|_| leads)?;
    let lines = code_lines(page, n + 1, last);
    let bytes: usize = lines.iter().map(|line| line.len()).sum();
    (lines.len() <= MAX_CODE_LINES && bytes <= MAX_CODE_BYTES).then_some(last)
}

/// A sentence with the code that it leads to, up to sentence `last`, each line after a semicolon.
pub(super) fn with_code(page: &Page, n: usize, last: usize) -> String {
    let lead = page.sentence(n).trim_end().trim_end_matches(['.', ':']);
    format!("{lead}:\n{}", code_lines(page, n + 1, last).join("; "))
}

fn code_lines(page: &Page, first: usize, last: usize) -> Vec<&str> {
    let lines = (first..=last).flat_map(|at| page.sentence(at).lines());
    lines.map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Whether sentence `n` is a step that goes on with the one before it.
pub(super) fn is_next_step(page: &Page, n: usize) -> bool {
    page.sentence(n).starts_with(NEXT_STEP)
}

/// Whether a sentence follows from the one before it: "That's why …".
pub(super) fn concludes(text: &str, words: &SentenceWords) -> bool {
    begins_with_phrase(spaced(text).trim_start(), &words.concluding)
}

/// Whether a sentence tells what somebody says or believes: no reason follows from it.
fn is_hearsay(text: &str) -> bool {
    const HEARSAY: [&str; 16] = [
        "believe",
        "believes",
        "believed",
        "say",
        "says",
        "said",
        "wrote",
        "tell you",
        "told",
        "according to",
        "myth",
        "perhaps",
        "maybe",
        "supposedly",
        "legend",
        "think",
    ];
    let lower = spaced(text);
    HEARSAY.iter().any(|it| has_phrase(&lower, it))
}

/// The sentence with the condition on which sentence `n` would hold, at most two before it in its block: "If all roofs were green, the air
/// would be cooler. White roofs would cool it more."
pub(super) fn condition_of(page: &Page, n: usize) -> Option<usize> {
    const CONDITIONS: [&str; 5] = ["if", "unless", "were", "had", "without"];
    const WISHES: [&str; 3] = ["would like", "would rather", "would you"];
    let has = |at: usize, all: &[&str]| {
        let said = spaced(page.sentence(at));
        all.iter().any(|it| has_phrase(&said, it))
    };
    if !has(n, &["would"]) || has(n, &CONDITIONS) || has(n, &WISHES) {
        return None;
    }
    let mut before = (n.saturating_sub(MAX_TO_CONDITION)..n).rev();
    before.find(|at| same_block(page, *at, n) && has(*at, &["if"]))
}

/// The sentence before sentence `n` in its block, if sentence `n` depends on it; else `n`.
pub(crate) fn with_antecedent(page: &Page, n: usize, words: &SentenceWords) -> usize {
    let before = n.checked_sub(1).filter(|before| same_block(page, *before, n));
    before.filter(|_| leans_on_previous(page.sentence(n), words)).unwrap_or(n)
}

/// Of the sentences `before` sentence `n`, those that say what it is about: the last one, and, as long as each begins with a pronoun
/// itself, those before that. The first of them stands alone. Empty if sentence `n` needs none, there is none in the same block, or one of
/// them is not `sound`.
pub(super) fn antecedents<'a>(
    page: &Page,
    before: &'a [(usize, Vec<u32>)],
    n: usize,
    (sound, words): (&dyn Fn(&usize) -> bool, &SentenceWords),
) -> &'a [(usize, Vec<u32>)] {
    let concludes = concludes(page.sentence(n), words);
    let condition = condition_of(page, n);
    if !leans_on_previous(page.sentence(n), words)
        && !is_next_step(page, n)
        && !concludes
        && condition.is_none()
    {
        return &[];
    }
    if concludes && is_hearsay(page.sentence(n)) {
        return &[];
    }
    for count in 1..=before.len().min(MAX_ANTECEDENTS) {
        let at = before[before.len() - count].0;
        if concludes && (is_hearsay(page.sentence(at)) || page.sentence(at).contains('?')) {
            return &[];
        }
        // What follows from a paragraph may be told in the next.
        let is_prose = page.sentences()[at].kind == BlockKind::Prose;
        let adjoins =
            at + count == n && (same_block(page, at, n) || concludes && count == 1 && is_prose);
        let text = page.sentence(at);
        // "4. Piano. It has not been tuned since 2019."
        let label =
            text.split_whitespace().count() <= MAX_LABEL_WORDS && text.ends_with(['.', ':']);
        let fit = fitness(page, at, &SentenceText::new(text), words);
        let fit = if label || concludes { Some(1.0) } else { fit };
        let Some(fit) = fit.filter(|_| adjoins && sound(&at)) else {
            return &[];
        };
        if condition.is_none_or(|it| at <= it) && !leans_on_previous(text, words) {
            return if concludes || fit >= MIN_ANTECEDENT_FIT {
                &before[before.len() - count..]
            } else {
                &[]
            };
        }
    }
    &[]
}

fn same_block(page: &Page, one: usize, other: usize) -> bool {
    page.sentences()[one].block == page.sentences()[other].block
}
