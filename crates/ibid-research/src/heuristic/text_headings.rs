//! What heads the sentences after it in running text: a question, "What causes rust? Water and air do.", or a heading whose line break was
//! lost, "Side effects The most common ones are". Questions and answers in paragraphs have no other headings.
use ibid_core::domain::words::tokens;
use ibid_core::domain::{BlockKind, Page, opens_sentence};

/// Sentences that it heads.
const REACH: usize = 10;
/// Words of a longer question: it is part of what is told.
const MAX_WORDS: usize = 14;
/// First words of a question that its writer may answer.
const QUESTION_WORDS: [&str; 7] = ["what", "which", "who", "when", "where", "why", "how"];
const AUXILIARIES: [&str; 11] =
    ["is", "are", "do", "does", "can", "should", "will", "was", "were", "did", "must"];
/// Words of one that is asked of somebody else, about what was said before: "Do you have it in a folder?"
const PRONOUNS: [&str; 7] = ["it", "that", "this", "these", "those", "they", "them"];

/// The sentence past those that sentence `n` of running text heads; `None` if it heads nothing: a question in a table of contents, or one
/// that ends its paragraph.
pub(crate) fn end_of_headed(page: &Page, n: usize) -> Option<usize> {
    let asks = is_asked(page, n) && !is_asked(page, n + 1);
    if !asks && !has_lost_break(page, n) {
        return None;
    }
    let sentences = page.sentences();
    let block = sentences[n].block;
    let opens = n == 0 || sentences[n - 1].block != block;
    let ends = sentences.get(n + 1)?.block != block;
    // A paragraph that is the question is answered by the next ones; one that ends with a question asks its reader.
    if ends && !opens {
        return None;
    }
    let most = sentences.len().min(n + 1 + REACH);
    let inside = || (n + 1..most).find(|at| sentences[*at].block != block).unwrap_or(most);
    Some(if ends { most } else { inside() })
}

/// Whether sentence `n` is a question of running text that its writer may answer.
fn is_asked(page: &Page, n: usize) -> bool {
    let Some(sentence) = page.sentences().get(n) else { return false };
    let text = page.sentence(n);
    let words = tokens(text);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&&*word.text));
    let opens = |list: &[&str]| words.first().is_some_and(|word| list.contains(&&*word.text));
    sentence.kind == BlockKind::Prose
        && text.ends_with('?')
        && text.starts_with(char::is_uppercase)
        && words.len() <= MAX_WORDS
        && (opens(&QUESTION_WORDS) || opens(&AUXILIARIES) && !has(&PRONOUNS))
}

/// Whether sentence `n` of running text is a heading that lost its line break.
pub(crate) fn has_lost_break(page: &Page, n: usize) -> bool {
    let (Some(sentence), Some(next)) = (page.sentences().get(n), page.sentences().get(n + 1))
    else {
        return false;
    };
    let text = page.sentence(n);
    sentence.kind == BlockKind::Prose
        && next.block == sentence.block
        && text.ends_with(char::is_alphabetic)
        && text.split_whitespace().count() <= MAX_WORDS
        && opens_sentence(page.sentence(n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Block, PageDraft};

    fn ends(blocks: &[&str]) -> Vec<Option<usize>> {
        let blocks = blocks.iter().map(|text| Block::new(BlockKind::Prose, *text)).collect();
        let page = Page::new(PageDraft { blocks, ..PageDraft::default() });
        (0..page.sentences().len()).map(|n| end_of_headed(&page, n)).collect()
    }

    #[test]
    fn a_question_heads_the_rest_of_its_paragraph() {
        let found = ends(&["What causes rust? Water does. Salt helps it.", "Paint is dear."]);
        assert_eq!(found, [Some(3), None, None, None]);
    }

    #[test]
    fn a_paragraph_that_is_a_question_heads_the_next_ones() {
        let found = ends(&["How much is a visit?", "It is 4 euros.", "Children pay nothing."]);
        assert_eq!(found, [Some(3), None, None]);
    }

    #[test]
    fn a_heading_without_its_line_break_heads_what_follows() {
        let found =
            ends(&["Water wets it. Side effects The most common ones are rashes. They pass."]);
        assert_eq!(found, [None, Some(4), None, None]);
    }

    #[test]
    fn contents_and_questions_to_the_reader_head_nothing() {
        assert_eq!(
            ends(&["What is rust? How is it stopped? Rust is iron and oxygen."]),
            [None, Some(3), None]
        );
        assert_eq!(ends(&["It rusts. Who would have thought so?", "Paint."]), [None; 3]);
        assert_eq!(ends(&["Do you have it in a folder?", "Yes.", "Move it."]), [None; 3]);
        assert_eq!(ends(&["\"What is it?\" she asked.", "Rust."]).last(), Some(&None));
    }
}
