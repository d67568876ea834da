//! Sentences that name what only a program or its owner holds.
use super::{ClauseWord, DirectiveDetector};

impl DirectiveDetector {
    /// Whether a sentence names a secret. Of the steps of a how-to, "choose a password" is one, but not "send your password to us".
    pub(super) fn speaks_of_secrets(&self, text: &str, words: &[ClauseWord<'_>]) -> bool {
        let chosen = || {
            words.first().is_some_and(|it| {
                matches!(
                    it.lower.as_str(),
                    "choose" | "set" | "enter" | "type" | "change" | "create"
                )
            }) && !text.contains(['@', '/', '_', ':'])
                && !text.contains(|c: char| c.is_ascii_digit())
                && !words.iter().any(|it| {
                    matches!(
                        it.lower.as_str(),
                        "to" | "into" | "at" | "via" | "your" | "bank" | "email"
                    )
                })
        };
        self.speaks_of(text, &self.words.secrets)
            || self.speaks_of(text, &self.words.passwords) && !(self.how_to && chosen())
    }
}
