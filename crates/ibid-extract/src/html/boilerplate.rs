//! Phrases of buttons, notices and menus.

/// Phrases that are typical of boilerplate and not of text.
static BOILERPLATE: Phrases = Phrases::new(&[
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

/// The number of boilerplate phrases in a text in lower case.
pub(super) fn count_phrases(lower: &str) -> u32 {
    BOILERPLATE.match_bits(lower).count_ones()
}

/// Up to 64 phrases of two bytes or more that are searched for in one pass.
pub(super) struct Phrases {
    all: &'static [&'static str],
    /// For each byte, one bit for each phrase that has it as its first, and as its second byte.
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

    /// One bit for each phrase that occurs in the text.
    pub(super) fn match_bits(&self, text: &str) -> u64 {
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
        let all = BOILERPLATE.all.join(" ");
        let texts = ["", "s", "sign in to share", "© 2020 copyrights", "scookiee", &all];
        for text in texts {
            let each = BOILERPLATE.all.iter().filter(|it| text.contains(**it)).count();
            assert_eq!(count_phrases(text) as usize, each, "{text}");
        }
    }
}
