//! Telling a thing from others of its kind: cervical cancer from prostate cancer.
use super::Scale;
use crate::domain::Brief;
use crate::domain::words::{Token, is_stop, tokens};
use crate::research::unaided::intake::{is_verb, telling};

/// Pairs of neighbouring words in the question's subjects, lower case: which one, and of what kind.
pub(super) fn pairs_of(brief: &Brief) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for subject in &brief.subjects {
        let words = tokens(subject);
        let tells = |it: &Token| telling(subject, it) >= 1.0 && !is_verb(&it.text);
        if let [.., which, kind] = words.as_slice()
            && tells(which)
            && kind.text.chars().all(char::is_alphabetic)
            && !is_verb(&kind.text)
        {
            pairs.push((which.text.clone(), kind.text.clone()));
        }
    }
    pairs
}

impl Scale {
    /// Whether a sentence names another of a kind that the question asks one of, and neither it nor
    /// what stands around it (`wide`) names the one asked of.
    pub(super) fn of_another(&mut self, text: &str, wide: &[u32]) -> bool {
        if self.pairs.is_empty() {
            return false;
        }
        let words = tokens(text);
        let pairs = std::mem::take(&mut self.pairs);
        let found = pairs.iter().any(|(which, kind)| {
            let (which, kind) = (self.lexicon.id(which), self.lexicon.id(kind));
            self.said(which, wide) < super::STANDS_FOR
                && words.windows(2).any(|it| {
                    let beside = text[it[0].span.end..it[1].span.start].trim().is_empty();
                    let names_one = !is_stop(&it[0].text)
                        && telling(text, &it[0]) >= 1.0
                        && !is_verb(&it[0].text);
                    beside && names_one && self.lexicon.id(&it[1].text) == kind
                })
        });
        self.pairs = pairs;
        found
    }
}
