//! Tells names from headings that text extraction has joined to sentences.
use std::collections::HashMap;

use ibid_core::domain::Page;
use ibid_core::domain::words::tokens;

/// Which words of a page are names: those capitalised more often than not.
pub(super) struct Casing {
    /// Lower-case word: times without a capital, times with one inside a sentence.
    counts: HashMap<String, (u32, u32)>,
}

impl Casing {
    pub(super) fn from_page(page: &Page, numbers: &[usize]) -> Casing {
        let mut counts: HashMap<String, (u32, u32)> = HashMap::new();
        // A short page shows too little of how its words are used.
        if numbers.len() >= 20 {
            for n in numbers {
                let text = page.sentence(*n);
                for token in tokens(text).into_iter().skip(1) {
                    let capital = text[token.span.clone()].starts_with(char::is_uppercase);
                    let count = counts.entry(token.text).or_insert((0, 0));
                    if capital {
                        count.1 += 1;
                    } else {
                        count.0 += 1;
                    }
                }
            }
        }
        Casing { counts }
    }

    /// How many words inside the sentence are capitalised only here: headings that were joined to the
    /// sentence.
    pub(super) fn glued_capitals(&self, text: &str) -> usize {
        let mut end = 0;
        tokens(text)
            .iter()
            .enumerate()
            .filter(|(nth, it)| {
                let word = &text[it.span.clone()];
                let fresh = text[end..it.span.start].contains(['.', ':', '?', '!', '"', '“']);
                end = it.span.end;
                let capital = word.chars().count() >= 3
                    && word.starts_with(char::is_uppercase)
                    && word.chars().skip(1).all(char::is_lowercase);
                let common = self
                    .counts
                    .get(&it.text)
                    .is_some_and(|count| count.0 >= 2 && count.0 >= count.1);
                *nth > 0 && capital && !fresh && common
            })
            .count()
    }
}
