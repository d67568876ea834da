//! Questions that their answers follow, as in `<dt>` and `<dd>` or in a list of common questions: they are the headings of the answers.
use ibid_core::domain::{Block, BlockKind};

/// Maximum length of such a question, in bytes.
const MAX_QUESTION_BYTES: usize = 160;
/// Number of questions with answers that make a document one of questions.
const MIN_QUESTIONS: usize = 2;
/// The level of their headings: below all others.
const LEVEL: u8 = 6;

/// Makes headings of the questions among `blocks` that an answer follows, if there are several.
pub(crate) fn mark(blocks: &mut [Block]) {
    let answered: Vec<usize> = blocks
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| is_question(&pair[0]) && is_text(&pair[1]) && !is_question(&pair[1]))
        .map(|(at, _)| at)
        .collect();
    if answered.len() < MIN_QUESTIONS {
        return;
    }
    for at in answered {
        blocks[at].kind = BlockKind::Heading;
        blocks[at].level = LEVEL;
    }
}

/// Whether a block is one question and no more.
fn is_question(block: &Block) -> bool {
    let text = block.text.trim();
    let sentence = text.strip_suffix('?').unwrap_or_default();
    is_text(block)
        && !sentence.is_empty()
        && text.len() <= MAX_QUESTION_BYTES
        && sentence.starts_with(char::is_uppercase)
        && !sentence.contains(['?', '!', '\n'])
        && !sentence.contains(". ")
}

fn is_text(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Prose | BlockKind::ListItem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(texts: &[&str]) -> Vec<bool> {
        let block = |text: &&str| Block::new(BlockKind::ListItem, (*text).to_owned());
        let mut blocks: Vec<Block> = texts.iter().map(block).collect();
        mark(&mut blocks);
        blocks.iter().map(|it| it.kind == BlockKind::Heading).collect()
    }

    #[test]
    fn questions_that_answers_follow_are_headings() {
        let asked = ["Is the tank safe to wash?", "No, it cracks.", "Can I send it back?", "Yes."];
        assert_eq!(marked(&asked), [true, false, true, false]);
    }

    #[test]
    fn a_question_in_a_text_and_questions_in_a_row_are_none() {
        let one = ["The roof is flat.", "Why does it leak?", "Nobody knows."];
        assert_eq!(marked(&one), [false; 3]);
        let row = ["Who came?", "Who paid?", "Who left?", "The chair closed the meeting."];
        assert_eq!(marked(&row), [false; 4]);
    }
}
