//! The words of buttons, notices and menus.

/// Words that stand in the furniture of pages rather than in their text.
static FURNITURE: Phrases = Phrases::new(&[
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
]);

/// How many of them stand in the text, which is lower case.
pub(super) fn count(lower: &str) -> u32 {
    FURNITURE.found(lower).count_ones()
}

/// Up to 64 phrases of two bytes or more that are sought in one pass.
pub(super) struct Phrases {
    all: &'static [&'static str],
    /// For each byte, which phrases have it first, and which second.
    first: [u64; 256],
    second: [u64; 256],
}

impl Phrases {
    pub(super) const fn new(all: &'static [&'static str]) -> Phrases {
        let (mut first, mut second) = ([0; 256], [0; 256]);
        let mut nth = 0;
        while nth < all.len() {
            let bytes = all[nth].as_bytes();
            first[bytes[0] as usize] |= 1 << nth;
            second[bytes[1] as usize] |= 1 << nth;
            nth += 1;
        }
        Phrases { all, first, second }
    }

    /// One bit for each phrase that stands in the text.
    pub(super) fn found(&self, text: &str) -> u64 {
        let bytes = text.as_bytes();
        let mut found = 0_u64;
        for (at, pair) in bytes.windows(2).enumerate() {
            let mut left = self.first[usize::from(pair[0])] & self.second[usize::from(pair[1])];
            left &= !found;
            while left != 0 {
                let nth = left.trailing_zeros();
                left &= left - 1;
                if bytes[at..].starts_with(self.all[nth as usize].as_bytes()) {
                    found |= 1 << nth;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_counts_what_a_search_for_each_does() {
        let all = FURNITURE.all.join(" ");
        let texts = [
            "",
            "s",
            "sign in to share",
            "© 2020 copyrights",
            "scookiee",
            &all,
        ];
        for text in texts {
            let each = FURNITURE
                .all
                .iter()
                .filter(|it| text.contains(**it))
                .count();
            assert_eq!(count(text) as usize, each, "{text}");
        }
    }
}
