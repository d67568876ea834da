//! Chooses what goes into a prompt, so that prompt and answer fit the model's context window.
use ibid_core::domain::split_sentences;
use ibid_core::ports::Prompt;

use super::template::sentence_line;

/// Tokens that a chat template adds around a prompt, such as turn markers and separators.
const TEMPLATE_TOKENS: usize = 32;

/// An upper estimate of the tokens in `text`.
///
/// There is no tokenizer for every model, so this errs on the high side. In thirds of a token: Latin letters
/// and blanks 1 (English has four to five characters per token), other alphabets and punctuation 2, digits 3
/// (many models read them one by one), CJK and everything else 3, characters beyond the basic plane (emoji)
/// 6.
pub fn estimate_tokens(text: &str) -> usize {
    let thirds: usize = text.chars().map(token_thirds).sum();
    thirds.div_ceil(3)
}

/// An upper estimate of the tokens in a whole prompt, including its schema, which some models get as text.
pub fn estimate_prompt_tokens(prompt: &Prompt) -> usize {
    let turns: usize =
        prompt.messages.iter().map(|message| estimate_tokens(&message.text) + 1).sum();
    let system = prompt.system.as_deref().map_or(0, |system| estimate_tokens(system) + 1);
    let schema = prompt.schema.as_ref();
    turns + system + schema.map_or(0, |schema| estimate_tokens(&schema.json.to_string()) + 1)
}

fn token_thirds(c: char) -> usize {
    match c {
        'a'..='z' | 'A'..='Z' | ' ' => 1,
        '0'..='9' => 3,
        '\0'..='\u{7F}' => 2,
        // Latin with diacritics.
        '\u{C0}'..='\u{24F}' => 2,
        // Greek, Cyrillic, Armenian, Hebrew, Arabic.
        '\u{370}'..='\u{6FF}' => 2,
        '\u{80}'..='\u{FFFF}' => 3,
        _ => 6,
    }
}

/// A model's context window, and the part of it reserved for the answer, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    /// The limit on prompt and answer together.
    pub tokens: usize,
    /// Reserved for the answer, including reasoning.
    pub answer: usize,
}

impl ContextWindow {
    /// The room for the prompt.
    pub(crate) fn prompt_room(self) -> usize {
        self.tokens.saturating_sub(self.answer).saturating_sub(TEMPLATE_TOKENS)
    }

    /// The window that is left once `prompt`, without its page or evidence, is in it.
    #[must_use]
    pub fn minus_prompt(self, prompt: &Prompt) -> ContextWindow {
        ContextWindow { tokens: self.tokens.saturating_sub(estimate_prompt_tokens(prompt)), ..self }
    }
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPart {
    /// The text.
    pub text: String,
    /// Whether the prompt makes no sense without it.
    pub required: bool,
    /// Its value relative to the other parts. The least valuable is dropped first.
    pub weight: f32,
}

/// Which parts go in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FitResult {
    /// The parts that go in, in order, each with its index.
    pub kept: Vec<(usize, String)>,
    /// The indices of the parts that were dropped.
    pub dropped: Vec<usize>,
    /// The indices of the required parts that were cut; one of them may be empty.
    pub cut: Vec<usize>,
    /// The tokens that `kept` takes by [`estimate_tokens`], plus one for each part.
    pub tokens: usize,
}

/// Chooses the `parts` that fit into `window`.
///
/// The most valuable go in first, whole or not at all; of equals, the first. Required parts go in before all
/// others. They are cut, at the end of a sentence, only if they alone do not fit: the least valuable first.
pub fn fit_parts(parts: Vec<PromptPart>, window: ContextWindow) -> FitResult {
    let room = window.prompt_room();
    let cost = |text: &str| estimate_tokens(text) + 1;
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&parts[*a], &parts[*b]);
        b.required.cmp(&a.required).then(b.weight.total_cmp(&a.weight))
    });
    let mut texts: Vec<Option<String>> = vec![None; parts.len()];
    let mut spent = 0;
    let mut fitted = FitResult::default();
    for nth in order {
        let part = &parts[nth];
        // Once a required part was cut, nothing else goes in.
        let left = if part.required || fitted.cut.is_empty() { room - spent } else { 0 };
        if cost(&part.text) <= left {
            spent += cost(&part.text);
            texts[nth] = Some(part.text.clone());
        } else if part.required {
            let head = truncate_to_tokens(&part.text, left.saturating_sub(1));
            if left > 0 {
                spent += cost(head);
                texts[nth] = Some(head.to_owned());
            }
            fitted.cut.push(nth);
        } else {
            fitted.dropped.push(nth);
        }
    }
    fitted.cut.sort_unstable();
    fitted.dropped.sort_unstable();
    fitted.tokens = spent;
    fitted.kept = texts.into_iter().enumerate().filter_map(|(nth, it)| Some((nth, it?))).collect();
    fitted
}

/// Splits numbered sentences into batches, in order, each of which fits `window` as
/// [`numbered`](super::template::numbered) writes it.
///
/// No two batches share a sentence. A sentence longer than a whole batch is cut. Without room for any, there
/// are no batches.
pub fn sentence_batches(
    sentences: &[(usize, &str)],
    window: ContextWindow,
) -> Vec<Vec<(usize, String)>> {
    let room = window.prompt_room();
    let mut all = Vec::new();
    let mut batch = Vec::new();
    let mut spent = 0;
    for &(nth, words) in sentences {
        let mut words = words;
        let mut cost = estimate_tokens(&sentence_line(nth, words)) + 1;
        if cost > room {
            words = truncate_to_tokens(
                words,
                room.saturating_sub(estimate_tokens(&sentence_line(nth, "")) + 2),
            );
            cost = estimate_tokens(&sentence_line(nth, words)) + 1;
            if words.is_empty() || cost > room {
                continue;
            }
        }
        if spent + cost > room && !batch.is_empty() {
            all.push(std::mem::take(&mut batch));
            spent = 0;
        }
        spent += cost;
        batch.push((nth, words.to_owned()));
    }
    if !batch.is_empty() {
        all.push(batch);
    }
    all
}

/// As much of `text` as fits into `most` tokens, up to the end of a sentence, or else of a word.
fn truncate_to_tokens(text: &str, most: usize) -> &str {
    let mut spent = 0;
    for (at, c) in text.char_indices() {
        spent += token_thirds(c);
        if spent > most * 3 {
            return whole_sentences(text, at);
        }
    }
    text
}

/// What of `text` ends before byte `end`: its whole sentences, or else its whole words, or else all of it.
fn whole_sentences(text: &str, end: usize) -> &str {
    let short = text.get(..end).unwrap_or_default();
    // The last sentence is the one that was cut.
    let found = split_sentences(short);
    let cut = match found.as_slice() {
        [.., before, _] => before.end,
        _ => short.rfind(char::is_whitespace).unwrap_or(end),
    };
    short.get(..cut).unwrap_or(short).trim_end()
}
