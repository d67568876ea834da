//! What goes into a prompt, so that prompt and answer fit the model's context (row E12).
use crate::domain::sentences;
use crate::seams::Prompt;

use super::template::sentence_line;

/// Characters of a page that go into a prompt at most (row E12).
pub const PAGE_CHARS: usize = 25_000;

/// Tokens that a chat template adds around a prompt: marks of turns, and what separates parts.
const AROUND: usize = 32;

/// How many tokens `text` takes at most, about.
///
/// No tokenizer is at hand for every model, so this errs on the side of too many. In thirds of a token: letters of
/// Latin script and blanks 1 (English runs at four to five characters a token), other alphabets and punctuation 2,
/// digits 3 (many models take them one by one), CJK and whatever else 3, what lies beyond the basic plane (emoji) 6.
pub fn tokens(text: &str) -> usize {
    let thirds: usize = text.chars().map(thirds).sum();
    thirds.div_ceil(3)
}

/// How many tokens a whole prompt takes at most, about; its schema too, which some models are told in words.
pub fn prompt_tokens(prompt: &Prompt) -> usize {
    let turns: usize = prompt.messages.iter().map(|it| tokens(&it.text) + 1).sum();
    let system = prompt.system.as_deref().map_or(0, |it| tokens(it) + 1);
    let schema = prompt.schema.as_ref();
    turns + system + schema.map_or(0, |it| tokens(&it.json.to_string()) + 1)
}

fn thirds(c: char) -> usize {
    match c {
        'a'..='z' | 'A'..='Z' | ' ' => 1,
        '0'..='9' => 3,
        '\0'..='\u{7F}' => 2,
        // Latin with marks.
        '\u{C0}'..='\u{24F}' => 2,
        // Greek, Cyrillic, Armenian, Hebrew, Arabic.
        '\u{370}'..='\u{6FF}' => 2,
        '\u{80}'..='\u{FFFF}' => 3,
        _ => 6,
    }
}

/// A model's context and what of it the answer needs, tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// All that prompt and answer may take together.
    pub tokens: usize,
    /// What is kept free for the answer, reasoning included.
    pub answer: usize,
}

impl Window {
    /// What is left for the prompt.
    pub fn room(self) -> usize {
        self.tokens
            .saturating_sub(self.answer)
            .saturating_sub(AROUND)
    }

    /// The window that is left beside `prompt`: what a prompt without its page or its evidence takes is not there for
    /// them.
    #[must_use]
    pub fn beside(self, prompt: &Prompt) -> Window {
        Window {
            tokens: self.tokens.saturating_sub(prompt_tokens(prompt)),
            ..self
        }
    }
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its words.
    pub text: String,
    /// Whether the prompt is nothing without it.
    pub must: bool,
    /// How much it is worth; what is worth least goes first. Compared only with the others.
    pub weight: f32,
}

/// What of the parts goes in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fitted {
    /// The parts that go in, by their number from 0 and in their order.
    pub kept: Vec<(usize, String)>,
    /// The parts that were left out whole.
    pub dropped: Vec<usize>,
    /// The `must` parts that were cut; one of them may have nothing left.
    pub cut: Vec<usize>,
    /// What `kept` takes, tokens, by [`tokens`] and one more for each part.
    pub tokens: usize,
}

/// Which of `parts` go in, so that the prompt fits `window`.
///
/// What is worth most goes in first, whole or not at all; of equals, the first. `must` parts go in before all others and are cut,
/// at the end of a sentence, only if they alone are too much: those worth least first.
pub fn fit(parts: Vec<Part>, window: Window) -> Fitted {
    let room = window.room();
    let cost = |it: &str| tokens(it) + 1;
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&parts[*a], &parts[*b]);
        b.must.cmp(&a.must).then(b.weight.total_cmp(&a.weight))
    });
    let mut texts: Vec<Option<String>> = vec![None; parts.len()];
    let mut spent = 0;
    let mut fitted = Fitted::default();
    for nth in order {
        let part = &parts[nth];
        // Nothing goes in beside what must be in and was cut.
        let left = if part.must || fitted.cut.is_empty() {
            room - spent
        } else {
            0
        };
        if cost(&part.text) <= left {
            spent += cost(&part.text);
            texts[nth] = Some(part.text.clone());
        } else if part.must {
            let head = head(&part.text, left.saturating_sub(1));
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
    fitted.kept = texts
        .into_iter()
        .enumerate()
        .filter_map(|(nth, it)| Some((nth, it?)))
        .collect();
    fitted
}

/// The first [`PAGE_CHARS`] characters of a page, ending with a sentence.
pub fn page(text: &str) -> &str {
    match text.char_indices().nth(PAGE_CHARS) {
        Some((end, _)) => whole_sentences(text, end),
        None => text,
    }
}

/// Numbered sentences in batches, in order, each of which fits `window` as [`numbered`](super::template::numbered)
/// writes it.
///
/// No two batches share a sentence. One that is longer than a whole batch is cut; where there is room for nothing, there are no batches.
pub fn batches(sentences: &[(usize, &str)], window: Window) -> Vec<Vec<(usize, String)>> {
    let room = window.room();
    let mut all = Vec::new();
    let mut batch = Vec::new();
    let mut spent = 0;
    for &(nth, words) in sentences {
        let mut words = words;
        let mut cost = tokens(&sentence_line(nth, words)) + 1;
        if cost > room {
            words = head(
                words,
                room.saturating_sub(tokens(&sentence_line(nth, "")) + 2),
            );
            cost = tokens(&sentence_line(nth, words)) + 1;
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

/// As much of `text` as `most` tokens hold: up to the end of a sentence, else of a word.
fn head(text: &str, most: usize) -> &str {
    let mut spent = 0;
    for (at, c) in text.char_indices() {
        spent += thirds(c);
        if spent > most * 3 {
            return whole_sentences(text, at);
        }
    }
    text
}

/// What of `text` ends before byte `end`: its whole sentences, else its whole words, else what there is.
fn whole_sentences(text: &str, end: usize) -> &str {
    let short = text.get(..end).unwrap_or_default();
    // The last sentence of what is left is the one that was cut.
    let found = sentences(short);
    let cut = match found.as_slice() {
        [.., before, _] => before.end,
        _ => short.rfind(char::is_whitespace).unwrap_or(end),
    };
    short.get(..cut).unwrap_or(short).trim_end()
}
