//! What a sentence asserts itself, apart from what it only reports, doubts or tells as fiction.
//!
//! A verb of saying or thinking does not vouch for its clause ("critics say that it leaks"); a verb of finding does, unless
//! it is denied ("no study shows that it leaks").
use std::collections::BTreeSet;

use crate::heuristic::lexicon::spaced;
use crate::prompts::SentenceWords;
use ibid_core::domain::Page;
use ibid_core::domain::words::{Token, content_stems, stem, tokens};

/// Maximum number of words between a verb and the "that" of its clause: "told reporters at the airport on Friday that".
const MAX_WORDS_TO_CLAUSE: usize = 8;
/// Maximum number of words of "critics say" between commas, and of the source after "according to".
const MAX_INSERTED_WORDS: usize = 5;
/// Number of words before a verb of finding among which a denial denies it.
const DENIED_WITHIN: usize = 4;
/// Number of sentences at the start of a page of which one tells what a work of fiction is.
const OPENING_SENTENCES: usize = 6;

/// Words after which nothing is claimed: "believed in it", "claims for damages".
const PREPOSITIONS: [&str; 12] =
    ["in", "of", "for", "about", "on", "at", "by", "with", "from", "against", "as", "into"];
/// Words that set a clause apart from the one before it.
const CONTRASTS: [&str; 7] =
    ["but", "however", "yet", "although", "though", "whereas", "nevertheless"];
const DENIALS: [&str; 13] = [
    "not", "no", "never", "cannot", "nobody", "none", "neither", "hardly", "without", "fail",
    "failed", "fails", "nothing",
];
const COPULAS: [&str; 6] = ["is", "are", "was", "were", "been", "be"];

/// The stems of verbs and nouns by what they say of the clause they take.
pub(super) struct AssertionWords {
    /// Verbs that report a clause, with or without "that".
    saying: BTreeSet<String>,
    /// Verbs and nouns that report a clause after "that".
    opinions: BTreeSet<String>,
    /// Verbs that vouch for their clause.
    finding: BTreeSet<String>,
    /// What speaks with evidence: "study", "data".
    evidence: BTreeSet<String>,
}

/// A word of a normalized sentence.
struct Word<'t> {
    text: &'t str,
    stem: String,
    start: usize,
    end: usize,
    /// Whether a comma follows.
    comma: bool,
}

impl AssertionWords {
    pub(super) fn new(words: &SentenceWords) -> AssertionWords {
        let stems = |of: &BTreeSet<String>| of.iter().map(|word| stem(word)).collect();
        AssertionWords {
            saying: stems(&words.saying),
            opinions: stems(&words.opinions),
            finding: stems(&words.finding),
            evidence: stems(&words.evidence),
        }
    }

    /// A normalized sentence with blanks for what it does not assert itself. Positions stay the same.
    pub(super) fn asserted(&self, spaced: &str) -> String {
        let words = split(spaced);
        let mut out = spaced.to_owned();
        for at in 0..words.len() {
            if let Some((from, to)) = self.reported_after(&words, at) {
                let Some(from) = words.get(from).map(|word| word.start) else { continue };
                let to = words.get(to).map_or(spaced.len(), |word| word.start);
                out.replace_range(from..to, &" ".repeat(to - from));
            } else if self.is_inserted_report(&words, at) {
                return " ".repeat(spaced.len());
            }
        }
        out
    }

    /// The words, from and to, of the clause that the word at `at` reports.
    fn reported_after(&self, words: &[Word<'_>], at: usize) -> Option<(usize, usize)> {
        let word = &words[at];
        let rest = words.get(at + 1..)?;
        let before_contrast = rest.iter().take_while(|it| !CONTRASTS.contains(&it.text));
        let that = before_contrast.take(MAX_WORDS_TO_CLAUSE).position(|it| it.text == "that");
        let follows_at_once = that.filter(|nth| *nth <= 2);
        // "A promising target" promises nothing.
        let from = if self.saying.contains(&word.stem) && word.text != "promising" {
            if self.is_said_by_evidence(words, at) {
                return None;
            }
            let next = rest.first()?;
            match that {
                Some(nth) => at + nth + 2,
                None if word.comma || PREPOSITIONS.contains(&next.text) => return None,
                None => at + 1,
            }
        } else if self.opinions.contains(&word.stem) {
            if self.is_said_by_evidence(words, at) {
                return None;
            }
            at + follows_at_once? + 2
        } else if self.finding.contains(&word.stem) && is_denied(words, at) {
            at + follows_at_once? + 2
        } else if self.evidence.contains(&word.stem) && is_denied(words, at) {
            at + that.filter(|nth| *nth == 0)? + 2
        } else {
            return None;
        };
        let ends = |nth: &usize| self.is_new_claim(words, *nth);
        Some((from, (from..words.len()).find(ends).unwrap_or(words.len())))
    }

    /// Whether what a saying verb reports is said by a study and not by people: "the guidelines say that". "Critics of the
    /// study say" is said by critics.
    fn is_said_by_evidence(&self, words: &[Word<'_>], at: usize) -> bool {
        const AUXILIARIES: [&str; 6] = ["has", "have", "had", "also", "clearly", "itself"];
        let mut before = words[..at].iter().rev().skip_while(|it| AUXILIARIES.contains(&it.text));
        let is_evidence = |it: &Word<'_>| !it.comma && self.evidence.contains(&it.stem);
        before.next().is_some_and(is_evidence)
            && !before.take(3).any(|it| PREPOSITIONS.contains(&it.text) || it.text == "behind")
    }

    /// Whether the sentence goes on with its own words at `at`: after a comma and "but", or with "studies show".
    fn is_new_claim(&self, words: &[Word<'_>], at: usize) -> bool {
        let mut next = words[at + 1..].iter().take(3);
        let by_evidence = next.any(|it| self.evidence.contains(&it.stem));
        let contrasts = CONTRASTS.contains(&words[at].text);
        let after_comma = at > 0 && words[at - 1].comma;
        contrasts && (after_comma || by_evidence) || after_comma && by_evidence
    }

    /// Whether the word at `at` reports the whole sentence around it: "…, critics say", "according to its maker".
    fn is_inserted_report(&self, words: &[Word<'_>], at: usize) -> bool {
        let word = &words[at];
        let rest = &words[at + 1..];
        if word.text == "according" && rest.first().is_some_and(|it| it.text == "to") {
            let source = rest[1..].iter().take(MAX_INSERTED_WORDS);
            return !source.into_iter().any(|it| self.evidence.contains(&it.stem));
        }
        let ends = word.comma || rest.is_empty();
        let from = at.saturating_sub(MAX_INSERTED_WORDS);
        self.saying.contains(&word.stem)
            && ends
            && words[from..at].iter().any(|it| it.comma)
            && !self.is_said_by_evidence(words, at)
    }
}

/// The words of a normalized sentence.
fn split(spaced: &str) -> Vec<Word<'_>> {
    let mut from = 0;
    let mut words = Vec::new();
    for part in spaced.split(' ') {
        let start = from;
        from += part.len() + 1;
        let text = part.trim_end_matches(',');
        if !text.is_empty() {
            let (end, comma) = (start + text.len(), text.len() < part.len());
            words.push(Word { text, stem: stem(text), start, end, comma });
        }
    }
    debug_assert!(words.iter().all(|it| spaced[it.start..it.end] == *it.text));
    words
}

/// Whether one of the words before `at` denies the word.
fn is_denied(words: &[Word<'_>], at: usize) -> bool {
    let from = at.saturating_sub(DENIED_WITHIN);
    let before = words[from..at].iter().rev().take_while(|it| !it.comma);
    before.into_iter().any(|it| DENIALS.contains(&it.text) || it.text.ends_with("n't"))
}

/// Whether a sentence tells what happens in a work of fiction: "in the novel, …", "in the film Dune".
pub(super) fn tells_fiction(text: &str, words: &SentenceWords) -> bool {
    const NAMING: [&str; 4] = ["by", "called", "titled", "entitled"];
    let found = tokens(text);
    (0..found.len()).any(|at| {
        let begins = matches!(found[at].text.as_str(), "in" | "throughout");
        let noun = (at + 2..(at + 6).min(found.len()))
            .find(|nth| words.fiction.contains(&found[*nth].text));
        let Some(noun) = noun.filter(|_| begins) else { return false };
        let Some(next) = found.get(noun + 1) else { return true };
        let between = &text[found[noun].span.end..next.span.start];
        let name = &text[next.span.clone()];
        let is_name =
            name.starts_with(char::is_uppercase) && name.chars().skip(1).any(char::is_lowercase);
        between.contains([',', '“', '"', ':']) || is_name || NAMING.contains(&next.text.as_str())
    })
}

/// Whether a page is a work of fiction or tells of one: by its title, or by a sentence at its start that says what it is. A
/// question that names the work asks for what happens in it.
pub(super) fn is_fiction(page: &Page, asked: &str, words: &SentenceWords) -> bool {
    let names_work = |text: &str| {
        let mut told =
            content_stems(text.split('(').next().unwrap_or_default()).into_iter().peekable();
        let asked = content_stems(asked);
        told.peek().is_some() && told.all(|word| asked.contains(&word))
    };
    tells_of_fiction(page, words) && !names_work(&page.title)
}

fn tells_of_fiction(page: &Page, words: &SentenceWords) -> bool {
    const AFTER: [&str; 7] = ["by", "about", "written", "directed", "set", "published", "starring"];
    let title = page.title.to_lowercase();
    let title = title.trim_end_matches([')', '.', ' ']);
    let last = title.rsplit([' ', '(']).next().unwrap_or_default();
    if page.title.trim_end().ends_with(')') && words.fiction.contains(last)
        || title.ends_with(": a novel")
        || words.fiction_titles.any_in(&spaced(&page.title))
    {
        return true;
    }
    (0..page.sentences().len().min(OPENING_SENTENCES)).any(|nth| {
        let found = tokens(page.sentence(nth));
        let is_work = |at: usize| {
            let article =
                found.get(at + 1).is_some_and(|it| matches!(it.text.as_str(), "a" | "an"));
            let mut rest = found.iter().skip(at + 2).take(8);
            article
                && rest.any(|it| words.fiction.contains(&it.text))
                && rest.next().is_none_or(|it| AFTER.contains(&it.text.as_str()))
        };
        (0..found.len()).any(|at| COPULAS.contains(&found[at].text.as_str()) && is_work(at))
    })
}

/// Whether sentence `n` of a page stands in a page or section on myths.
pub(super) fn is_among_myths(page: &Page, n: usize, words: &SentenceWords) -> bool {
    let debunks = |text: &str| words.debunking.any_in(&spaced(text));
    debunks(&page.title) || page.heading_above(n).is_some_and(debunks)
}

/// Whether a page takes back its sentence `n`: the one before it says that people believe "the following", or the next one that this is
/// false: "This advice was withdrawn", "Nothing of this has been shown".
pub(super) fn is_taken_back(page: &Page, n: usize, words: &SentenceWords) -> bool {
    const POINTING: [&str; 6] = ["this", "that", "it", "they", "these", "both"];
    let is_announced = n.checked_sub(1).is_some_and(|before| {
        let before = spaced(page.sentence(before));
        let says = |word: &Word<'_>| words.saying.iter().any(|verb| stem(verb) == word.stem);
        before.contains(" the following ") && split(&before).iter().any(says)
    });
    let next = tokens(page.sentence(n + 1));
    let Some(first) = next.first() else { return is_announced };
    let is_pointing = |it: &Token| POINTING.contains(&it.text.as_str());
    // "Nothing of this", "none of it".
    let of_this =
        next.get(1).is_some_and(|it| it.text == "of") && next.get(2).is_some_and(is_pointing);
    let nothing = matches!(first.text.as_str(), "nothing" | "none") && of_this;
    let refutes = |text: &str| words.refuting.contains(text);
    let short = next.len() <= 3 && next.iter().any(|it| refutes(&it.text));
    let not_true = next.iter().take(6).any(|it| it.text == "not" || it.text.ends_with("n't"))
        && next
            .iter()
            .take(7)
            .any(|it| matches!(it.text.as_str(), "true" | "so" | "correct" | "right"));
    let judged = next.iter().take(6).any(|it| refutes(&it.text)) || not_true;
    let is_copula = |it: &Token| COPULAS.contains(&it.text.as_str()) || it.text.ends_with("n't");
    let is_judged = next.iter().skip(1).take(2).any(is_copula);
    is_announced
        || nothing
        || short
        || not_true && next.len() <= 3
        || is_pointing(first) && is_judged && judged
}
