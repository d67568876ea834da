//! Cuts text that runs in a loop.
//!
//! Small models repeat one line, or a list of references, until they reach the token limit. The text before
//! that is often good, so it is kept up to where it begins to repeat.
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Characters of a shingle.
const SHINGLE: usize = 50;

/// Repetitions that make a loop.
const TIMES: u32 = 3;

/// Percentage of the rest that must be repetition.
const SHARE: usize = 90;

/// Shortest line that counts, in characters: rules and rows of dots repeat with good reason.
const LINE: usize = 8;

/// `text` up to where it begins to repeat itself, or all of it.
pub(super) fn trim_repetition(text: &str) -> &str {
    let end = [shingle_loop_start(text), line_loop_start(text)]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end()
}

/// The byte from which all shingles of `text` have occurred before.
fn shingle_loop_start(text: &str) -> Option<usize> {
    let places: Vec<(usize, char)> = text.char_indices().collect();
    if places.len() < SHINGLE * TIMES as usize {
        return None;
    }
    // A rolling hash visits each character twice instead of fifty times.
    const BASE: u64 = 0x0100_0000_01b3;
    let lead = (1..SHINGLE).fold(1_u64, |it, _| it.wrapping_mul(BASE));
    let mut hash = 0_u64;
    let mut marks = Vec::with_capacity(places.len());
    for (nth, (_, c)) in places.iter().enumerate() {
        if nth >= SHINGLE {
            let gone = u64::from(u32::from(places[nth - SHINGLE].1)) + 1;
            hash = hash.wrapping_sub(gone.wrapping_mul(lead));
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(u32::from(*c)) + 1);
        if nth + 1 >= SHINGLE {
            marks.push(hash);
        }
    }
    let nth = loop_start(&marks, SHINGLE * (TIMES as usize - 1))?;
    places.get(nth).map(|it| it.0)
}

/// The byte from which all lines of `text` have occurred before, leading numbers and bullets aside.
fn line_loop_start(text: &str) -> Option<usize> {
    let mut places = Vec::new();
    let mut marks = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim_start_matches(|it: char| !it.is_alphabetic()).trim_end();
        if words.chars().nth(LINE).is_some() && !line.trim_start().starts_with('|') {
            let mut hasher = DefaultHasher::new();
            words.hash(&mut hasher);
            marks.push(hasher.finish());
            places.push(at);
        }
        at += line.len();
    }
    places.get(loop_start(&marks, 2)?).copied()
}

/// The first mark that occurred before and from which nearly all have: at least `least` of them, and one of
/// them `TIMES` times.
fn loop_start(marks: &[u64], least: usize) -> Option<usize> {
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
