//! Which blocks the page's own description quotes.
use std::collections::{HashMap, HashSet};

use super::blocks::Flat;

/// Characters at the beginning of a text that are compared.
const HEAD: usize = 48;

/// Bytes of a description's beginning up to which it may stand in a block by chance.
const LEAST: usize = 24;

/// For each block, whether a description has its beginning in it, or it has that of a description.
///
/// Both may be long and many: a page's text stands in its JSON-LD once more. So all beginnings are sought in one pass for
/// each length they have, by a hash that rolls over the description.
pub(super) fn find(flat: &[Flat], descriptions: &[String]) -> Vec<bool> {
    let starts: Vec<&str> = descriptions.iter().map(|it| head(it)).collect();
    let may_be = |it: &Flat| it.words >= 4 && it.linked * 2 <= it.words;
    let mut sought: HashMap<usize, HashSet<&str>> = HashMap::new();
    for begun in flat.iter().filter(|it| may_be(it)).map(|it| head(&it.text)) {
        sought.entry(begun.len()).or_default().insert(begun);
    }
    let mut found: HashSet<&str> = HashSet::new();
    for (length, mut all) in sought {
        for it in descriptions {
            take_found(it, length, &mut all, &mut found);
        }
    }
    let begins = |block: &Flat| {
        let mut starts = starts.iter().filter(|it| it.len() > LEAST);
        starts.any(|it| block.text.contains(it))
    };
    flat.iter()
        .map(|it| may_be(it) && (found.contains(head(&it.text)) || begins(it)))
        .collect()
}

/// The first [`HEAD`] characters.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(HEAD);
    end.map_or(text, |(at, _)| &text[..at])
}

/// What one byte is multiplied by when the next comes.
const BASE: u64 = 0x0100_0000_01b3;

fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1);
    bytes.iter().fold(0, step)
}

/// Moves those of `sought`, all of `length` bytes, that stand in `text` to `found`.
fn take_found<'a>(
    text: &str,
    length: usize,
    sought: &mut HashSet<&'a str>,
    found: &mut HashSet<&'a str>,
) {
    let Some(first) = text.as_bytes().get(..length).filter(|it| !it.is_empty()) else {
        return;
    };
    // Most places are told by one bit.
    let slots = (8 * sought.len()).next_power_of_two().max(64);
    let slot = |hash: u64| (hash >> 32) as usize & (slots - 1);
    let mut taken = vec![false; slots];
    for it in sought.iter() {
        taken[slot(hash(it.as_bytes()))] = true;
    }
    let leaving = (1..length).fold(1_u64, |all, _| all.wrapping_mul(BASE));
    let mut rolled = hash(first);
    let bytes = text.as_bytes();
    for at in 0..=bytes.len() - length {
        if at > 0 {
            let (gone, come) = (bytes[at - 1], bytes[at + length - 1]);
            rolled = rolled.wrapping_sub((u64::from(gone) + 1).wrapping_mul(leaving));
            rolled = rolled.wrapping_mul(BASE).wrapping_add(u64::from(come) + 1);
        }
        if taken[slot(rolled)]
            && let Some(here) = text.get(at..at + length)
            && let Some(one) = sought.take(here)
        {
            found.insert(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_pass_finds_what_a_search_for_each_does(
            text in "[ab é]{0,60}",
            all in prop::collection::vec("[ab é]{1,6}", 0..20),
        ) {
            let mut by_length: HashMap<usize, HashSet<&str>> = HashMap::new();
            for it in &all {
                by_length.entry(it.len()).or_default().insert(it);
            }
            let mut found = HashSet::new();
            for (length, mut sought) in by_length {
                take_found(&text, length, &mut sought, &mut found);
            }
            let expected: HashSet<&str> =
                all.iter().map(String::as_str).filter(|it| text.contains(it)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
