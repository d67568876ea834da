//! Words that go round in a circle.
//!
//! Small models fall into loops: one line, or a list of references, until the bound on tokens. What came before is
//! often good, so the words are kept up to the place where they begin to repeat.
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Characters of a shingle.
const SHINGLE: usize = 50;

/// How often something must stand there to be a loop.
const TIMES: u32 = 3;

/// The share of what follows that must be repetition, of 100.
const SHARE: usize = 90;

/// Shortest line that counts, characters: a rule or a row of dots repeats with good reason.
const LINE: usize = 8;

/// `text` up to where it only repeats itself; all of it, if it does not.
pub(super) fn until_it_repeats(text: &str) -> &str {
    let end = [by_shingles(text), by_lines(text)]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end()
}

/// The byte from which the shingles of `text` have stood there before.
fn by_shingles(text: &str) -> Option<usize> {
    let places: Vec<(usize, char)> = text.char_indices().collect();
    if places.len() < SHINGLE * TIMES as usize {
        return None;
    }
    // A rolling hash, so that each character is looked at twice and not fifty times.
    const BASE: u64 = 0x0100_0000_01b3;
    let lead = (1..SHINGLE).fold(1_u64, |it, _| it.wrapping_mul(BASE));
    let mut hash = 0_u64;
    let mut marks = Vec::with_capacity(places.len());
    for (nth, (_, c)) in places.iter().enumerate() {
        if nth >= SHINGLE {
            let gone = u64::from(u32::from(places[nth - SHINGLE].1)) + 1;
            hash = hash.wrapping_sub(gone.wrapping_mul(lead));
        }
        hash = hash
            .wrapping_mul(BASE)
            .wrapping_add(u64::from(u32::from(*c)) + 1);
        if nth + 1 >= SHINGLE {
            marks.push(hash);
        }
    }
    let nth = first_of_loop(&marks, SHINGLE * (TIMES as usize - 1))?;
    places.get(nth).map(|it| it.0)
}

/// The byte from which the lines of `text` have stood there before, numbers and marks before them aside.
fn by_lines(text: &str) -> Option<usize> {
    let mut places = Vec::new();
    let mut marks = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let words = line
            .trim_start_matches(|it: char| !it.is_alphabetic())
            .trim_end();
        if words.chars().nth(LINE).is_some() && !line.trim_start().starts_with('|') {
            let mut hasher = DefaultHasher::new();
            words.hash(&mut hasher);
            marks.push(hasher.finish());
            places.push(at);
        }
        at += line.len();
    }
    places.get(first_of_loop(&marks, 2)?).copied()
}

/// The first mark that has stood before and from which on nearly all have, `least` of them or more, and one of them
/// `TIMES` times over.
fn first_of_loop(marks: &[u64], least: usize) -> Option<usize> {
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let mut nth_time = Vec::with_capacity(marks.len());
    for mark in marks {
        let times = seen.entry(*mark).or_default();
        *times += 1;
        nth_time.push(*times);
    }
    // From the end: how much of the rest repeats, and how often.
    let mut repeats = 0;
    let mut often = 0;
    let mut found = None;
    for nth in (0..marks.len()).rev() {
        often = often.max(nth_time[nth]);
        if nth_time[nth] > 1 {
            repeats += 1;
            let rest = marks.len() - nth;
            if rest >= least && often >= TIMES && repeats * 100 >= rest * SHARE {
                found = Some(nth);
            }
        }
    }
    found
}
