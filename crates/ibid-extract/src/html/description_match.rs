//! Finds the blocks that the page's own description quotes.
use std::collections::{HashMap, HashSet};

use super::blocks::FlatBlock;

/// Characters at the beginning of a text that are compared.
const COMPARED_CHARS: usize = 48;

/// Bytes; a shorter beginning of a description may occur in a block by chance.
const MIN_HEAD: usize = 24;

/// For each block, whether a description contains its beginning, or it contains the beginning of a description.
///
/// There may be many of both, and they may be long: JSON-LD often repeats the page's text. So all beginnings of one length are
/// searched for in one pass, with a rolling hash (Rabin-Karp).
pub(super) fn find(flat: &[FlatBlock], descriptions: &[String]) -> Vec<bool> {
    let starts: Vec<&str> = descriptions.iter().map(|description| head(description)).collect();
    let is_candidate = |block: &FlatBlock| block.words >= 4 && block.linked * 2 <= block.words;
    let mut wanted: HashMap<usize, HashSet<&str>> = HashMap::new();
    for block in flat.iter().filter(|block| is_candidate(block)) {
        let head = head(&block.text);
        wanted.entry(head.len()).or_default().insert(head);
    }
    let mut found: HashSet<&str> = HashSet::new();
    for (length, mut heads) in wanted {
        for description in descriptions {
            take_found(description, length, &mut heads, &mut found);
        }
    }
    let has_start = |block: &FlatBlock| {
        let mut starts = starts.iter().filter(|text| text.len() > MIN_HEAD);
        starts.any(|start| block.text.contains(start))
    };
    flat.iter()
        .map(|block| is_candidate(block) && (found.contains(head(&block.text)) || has_start(block)))
        .collect()
}

/// The first [`HEAD`] characters.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(COMPARED_CHARS);
    end.map_or(text, |(at, _)| &text[..at])
}

/// The base of the rolling hash.
const BASE: u64 = 0x0100_0000_01b3;

fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1);
    bytes.iter().fold(0, step)
}

/// Moves the strings of `wanted`, all of `length` bytes, that occur in `text` to `found`.
fn take_found<'a>(
    text: &str,
    length: usize,
    wanted: &mut HashSet<&'a str>,
    found: &mut HashSet<&'a str>,
) {
    let Some(first) = text.as_bytes().get(..length).filter(|it| !it.is_empty()) else {
        return;
    };
    // A bit table rejects most positions.
    let slots = (8 * wanted.len()).next_power_of_two().max(64);
    let slot = |hash: u64| (hash >> 32) as usize & (slots - 1);
    let mut taken = vec![false; slots];
    for string in wanted.iter() {
        taken[slot(hash(string.as_bytes()))] = true;
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
            && let Some(one) = wanted.take(here)
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
