//! The nouns hold what they promise, whatever text a stranger sends.
use ibid_core::domain::words::{content_stems, numbers, tokens};
use ibid_core::domain::{Block, BlockKind, Page, PageDraft, split_sentences};
use proptest::prelude::*;

/// Text made of what breaks sentence splitting: stops, quotes, brackets, abbreviations, numbers,
/// other scripts, characters of several bytes and those that grow in lower case.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[a-zA-Z]{1,9}".prop_map(|it| it),
        4 => prop::sample::select(vec![
            " ", "  ", "\n", "\n\n", "\t", "\r\n", "\u{a0}", "\u{2009}", ". ", ".", "...", "…", "! ", "?! ", "?",
        ]).prop_map(str::to_owned),
        3 => prop::sample::select(vec![
            "Dr. ", "e.g. ", "et al. ", "U.S. ", "Fig. 2", "no. ", "J. ", "vitamin C. ", "p.m. ", "1. ",
            "3.5", "1,200", "12,5 %", "€", "$3 million", "40kg", "[12]", "(see ", ")", "\"", "“", "”", "’s", "-",
        ]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "。", "！", "天气", "है। ", "؟ ", "İ", "ß", "ﬁ", "e\u{301}", "👩‍🔬", "\u{200b}", "\u{ad}", "\u{feff}", "𠀀",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|it| it.to_string()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|it| it.concat())
}

fn kind() -> impl Strategy<Value = BlockKind> {
    prop::sample::select(vec![
        BlockKind::Prose,
        BlockKind::Heading,
        BlockKind::ListItem,
        BlockKind::TableRow,
        BlockKind::Code,
        BlockKind::Comment,
    ])
}

fn page() -> impl Strategy<Value = Page> {
    prop::collection::vec((kind(), text()), 0..8).prop_map(|blocks| {
        Page::new(PageDraft {
            url: "https://a.example/".to_owned(),
            title: "A".to_owned(),
            blocks: blocks.into_iter().map(|(kind, text)| Block::new(kind, text)).collect(),
            ..PageDraft::default()
        })
    })
}

fn unspaced(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn sentences_stand_in_order_on_character_boundaries(text in text()) {
        let mut before = 0;
        for span in split_sentences(&text) {
            prop_assert!(span.start >= before && span.end > span.start);
            let words = text.get(span.clone());
            prop_assert!(words.is_some(), "{span:?} cuts a character of {text:?}");
            prop_assert_eq!(words.map(str::trim), words, "white space around a sentence");
            before = span.end;
        }
    }

    #[test]
    fn sentences_leave_nothing_out_but_white_space(text in text()) {
        let covered: String = split_sentences(&text).into_iter().map(|it| &text[it]).collect();
        prop_assert_eq!(unspaced(&covered), unspaced(&text));
    }

    #[test]
    fn cutting_a_sentence_again_changes_nothing(text in "[A-Z][a-z]{2,8}( [a-z]{2,8}){0,6}[.!?]( [A-Z][a-z]{2,8}( [a-z]{2,8}){0,6}[.!?]){0,4}") {
        let whole = split_sentences(&text);
        let again: Vec<_> = whole.iter().flat_map(|it| split_sentences(&text[it.clone()])).collect();
        prop_assert_eq!(again.len(), whole.len());
    }

    #[test]
    fn every_passage_of_a_page_stands_in_it(page in page()) {
        let count = page.sentences().len();
        for first in 0..count {
            for last in first..count.min(first + 3) {
                let passage = page.passage(first, last);
                prop_assert!(passage.is_some());
                let passage = passage.unwrap();
                prop_assert!(passage.is_found_in(&page));
                let points = passage.code_point_range(&page);
                let cut: String = page.text().expose().chars().skip(points.start).take(points.len()).collect();
                prop_assert_eq!(cut.as_str(), passage.text().expose());
            }
        }
        prop_assert!(page.passage(count, count).is_none());
        prop_assert!(count < 2 || page.passage(1, 0).is_none());
    }

    #[test]
    fn a_page_reads_back_from_the_record_as_it_was(page in page()) {
        let kept = serde_json::to_string(&page).unwrap();
        prop_assert_eq!(serde_json::from_str::<Page>(&kept).unwrap(), page);
    }

    #[test]
    fn a_page_keeps_all_words_of_its_blocks(blocks in prop::collection::vec((kind(), text()), 0..6)) {
        let all: String = blocks.iter().map(|it| unspaced(&it.1)).collect();
        let page = Page::new(PageDraft {
            blocks: blocks.into_iter().map(|(kind, text)| Block::new(kind, text)).collect(),
            ..PageDraft::default()
        });
        let numbered: String = (0..page.sentences().len()).map(|it| unspaced(page.sentence(it))).collect();
        prop_assert_eq!(numbered, all);
    }

    #[test]
    fn words_and_numbers_stand_where_they_say(text in text()) {
        let mut before = 0;
        for token in tokens(&text) {
            prop_assert!(token.span.start >= before);
            let there = text.get(token.span.clone());
            prop_assert_eq!(there.map(str::to_lowercase), Some(token.text));
            before = token.span.end;
        }
        for number in numbers(&text) {
            let there = text.get(number.span.clone()).unwrap_or_default();
            // Digits, or a number word.
            prop_assert!(there.contains(char::is_alphanumeric), "{there:?}");
            prop_assert!(number.value.is_finite());
        }
        prop_assert!(content_stems(&text).iter().all(|it| !it.contains(char::is_whitespace)));
    }
}

#[test]
fn the_hash_tells_pages_apart_by_text_and_by_where_they_stand() {
    let made = |url: &str, text: &str| {
        Page::new(PageDraft {
            url: url.to_owned(),
            blocks: vec![Block::new(BlockKind::Prose, text)],
            ..PageDraft::default()
        })
    };
    let one = made("https://a.example/", "It rains.");
    assert_eq!(one.hash(), made("https://a.example/", "It rains.").hash());
    assert_ne!(one.hash(), made("https://b.example/", "It rains.").hash());
    assert_ne!(one.hash(), made("https://a.example/", "It snows.").hash());
}

#[test]
fn a_passage_of_one_page_does_not_stand_in_another_with_the_same_words() {
    let made = |url: &str| {
        Page::new(PageDraft {
            url: url.to_owned(),
            blocks: vec![Block::new(BlockKind::Prose, "It rains. It snows.")],
            ..PageDraft::default()
        })
    };
    let passage = made("https://a.example/").passage(0, 0).unwrap();
    assert_eq!(passage.text().expose(), "It rains.");
    assert!(!passage.is_found_in(&made("https://b.example/")));
}
