//! The words of buttons, notices and menus.

/// Words that stand in the furniture of pages rather than in their text.
const FURNITURE: &[&str] = &[
    "cookie",
    "privacy",
    "terms of",
    "copyright",
    "©",
    "all rights reserved",
    "subscribe",
    "sign up",
    "sign in",
    "log in",
    "login",
    "newsletter",
    "share",
    "follow us",
    "add to cart",
    "add to bag",
    "read more",
    "learn more",
    "click here",
    "comments",
    "reply",
    "advertis",
    "related",
    "view all",
    "see all",
    "shop now",
    "buy now",
    "show more",
    "load more",
    "skip to",
    "back to",
    "powered by",
    "contact us",
    "posted",
    "tags:",
    "sponsored",
    "you may also",
    "recommended",
    "sort by",
    "filter",
    "free shipping",
    "wishlist",
    "download",
    "browse",
];

/// For each byte, which of [`FURNITURE`] have it at `place`.
const fn having(place: usize) -> [u64; 256] {
    let mut having = [0; 256];
    let mut nth = 0;
    while nth < FURNITURE.len() {
        having[FURNITURE[nth].as_bytes()[place] as usize] |= 1 << nth;
        nth += 1;
    }
    having
}

/// How many of them stand in the text, which is lower case: all are sought in one pass.
pub(super) fn count(lower: &str) -> u32 {
    static FIRST: [u64; 256] = having(0);
    static SECOND: [u64; 256] = having(1);
    let bytes = lower.as_bytes();
    let mut found = 0_u64;
    for (at, pair) in bytes.windows(2).enumerate() {
        let mut left = FIRST[usize::from(pair[0])] & SECOND[usize::from(pair[1])] & !found;
        while left != 0 {
            let nth = left.trailing_zeros();
            left &= left - 1;
            if bytes[at..].starts_with(FURNITURE[nth as usize].as_bytes()) {
                found |= 1 << nth;
            }
        }
    }
    found.count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_counts_what_a_search_for_each_does() {
        let all = FURNITURE.join(" ");
        let texts = [
            "",
            "s",
            "sign in to share",
            "© 2020 copyrights",
            "scookiee",
            &all,
        ];
        for text in texts {
            let each = FURNITURE.iter().filter(|it| text.contains(**it)).count();
            assert_eq!(count(text) as usize, each, "{text}");
        }
    }
}
