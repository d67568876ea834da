//! Which words of a page are those of its gold text, where words come more than once.
//!
//! The longest common subsequence of both (Needleman & Wunsch 1970), in which a pair that follows on
//! another counts half as much again: a menu's `About` is not the `about` of a sentence.
use std::collections::HashMap;

/// What a pair of equal words is worth, and one right behind another pair.
const PAIR: u16 = 2;
const NEXT_PAIR: u16 = 3;

/// More cells than this are not compared: it would take gigabytes.
const MAX_CELLS: usize = 600_000_000;

/// For each block of words, how many of them are paired with words of the gold text; `None` where
/// the texts are too long to compare.
pub(crate) fn paired(blocks: &[Vec<String>], gold: &[String]) -> Option<Vec<u32>> {
    let mut ids: HashMap<&str, u32> = HashMap::new();
    for word in gold {
        let new = ids.len() as u32 + 1;
        ids.entry(word).or_insert(new);
    }
    let want: Vec<u32> = gold.iter().map(|text| ids[text.as_str()]).collect();
    // A word that gold has not is 0; of several in a row one is enough to part their neighbours.
    let mut page: Vec<(u32, usize)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        for word in block {
            let id = ids.get(word.as_str()).copied().unwrap_or(0);
            if id != 0 || page.last().is_some_and(|pair| pair.0 != 0) {
                page.push((id, at));
            }
        }
    }
    let width = want.len() + 1;
    if (page.len() + 1) * width > MAX_CELLS {
        return None;
    }
    let mut ways = vec![0_u8; (page.len() + 1) * width];
    let mut before = (vec![0_u16; width], vec![0_u16; width]);
    let mut row = before.clone();
    for (i, (id, _)) in page.iter().enumerate() {
        let (paired, best) = (&mut row.0, &mut row.1);
        (paired[0], best[0]) = (0, 0);
        let ways = &mut ways[(i + 1) * width..(i + 2) * width];
        for j in 1..width {
            let mut way = 0;
            paired[j] = 0;
            if *id == want[j - 1] {
                let follows = before.0[j - 1] + NEXT_PAIR;
                let begins = before.1[j - 1] + PAIR;
                paired[j] = follows.max(begins);
                if before.0[j - 1] > 0 && follows >= begins {
                    way |= FOLLOWS;
                } else {
                    paired[j] = begins;
                }
            }
            let skipped = before.1[j].max(best[j - 1]);
            best[j] = skipped.max(paired[j]);
            if paired[j] > 0 && paired[j] >= skipped {
                way |= PAIRED;
            } else if before.1[j] >= best[j - 1] {
                way |= UP;
            }
            ways[j] = way;
        }
        std::mem::swap(&mut before, &mut row);
    }
    let mut found = vec![0; blocks.len()];
    let (mut i, mut j, mut forced) = (page.len(), width - 1, false);
    while i > 0 && j > 0 {
        let way = ways[i * width + j];
        if forced || way & PAIRED != 0 {
            found[page[i - 1].1] += 1;
            forced = way & FOLLOWS != 0;
            (i, j) = (i - 1, j - 1);
        } else if way & UP != 0 {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    Some(found)
}

/// How a cell was reached: by its pair, by the page's word left out, or else by gold's; and whether
/// its pair follows on another.
const PAIRED: u8 = 1;
const UP: u8 = 2;
const FOLLOWS: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_word_of_a_menu_is_not_that_of_a_sentence() {
        let page = ["about", "contact", "all about tea and its leaves", "about"];
        let page: Vec<Vec<String>> = page.iter().map(|pair| words(pair)).collect();
        let gold = words("all about tea and its leaves");
        assert_eq!(paired(&page, &gold), Some(vec![0, 0, 6, 0]));
    }
}
