//! Reads sentences from a JSON answer while it is still being written.

use super::parse::thinking_tag;
use super::shapes::WrittenSentence;

/// Longest string that is buffered, in bytes: anything longer is not a sentence.
const MAX_SENTENCE_BYTES: usize = 16_384;

/// Receives an answer as it is written. This is a preview; only the complete answer counts.
pub trait AnswerListener: Send {
    /// A new answer begins. Discard what was received of an earlier one.
    fn restart(&mut self);
    /// The next piece of the answer.
    fn on_text(&mut self, piece: &str);
}

/// Passes on the answer and holds back the reasoning.
#[derive(Default)]
pub(super) struct ThinkingFilter {
    /// Text that may turn out to be a tag.
    held: String,
    depth: u32,
}

impl ThinkingFilter {
    pub(super) fn push(&mut self, piece: &str, sink: &mut (dyn FnMut(&str) + Send)) {
        self.held.push_str(piece);
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            let plain = rest.find('<').unwrap_or(rest.len());
            if plain > 0 {
                if self.depth == 0 {
                    sink(&rest[..plain]);
                }
                at += plain;
            } else if let Some((len, closes)) = thinking_tag(rest) {
                self.depth = if closes { self.depth.saturating_sub(1) } else { self.depth + 1 };
                at += len;
            } else if rest.len() < 16 && !rest.contains('>') && !rest[1..].contains('<') {
                break;
            } else {
                if self.depth == 0 {
                    sink("<");
                }
                at += 1;
            }
        }
        self.held.drain(..at);
    }
}

/// Finds the sentences in the JSON of a report as it arrives: the innermost objects, each with the index of
/// its section, from 0, and that section's heading.
#[derive(Default)]
pub struct SentenceStream {
    filter: ThinkingFilter,
    scan: SentenceScanner,
}

/// Called with a sentence, and the index and heading of its section.
pub(super) type OnSentence<'t> = &'t mut (dyn FnMut(usize, &str, WrittenSentence) + Send);

#[derive(Default)]
struct SentenceScanner {
    /// The text of the innermost open object.
    object: Option<String>,
    /// The open string, without quotes.
    string: Option<String>,
    /// The last character was a backslash in a string.
    escaped: bool,
    /// The last string, which may turn out to be a key.
    last: Option<String>,
    /// The key of the next value.
    key: Option<String>,
    heading: String,
    headings: usize,
}

impl SentenceStream {
    /// Takes the next piece and calls `tell` for each sentence that is now complete.
    pub fn push(&mut self, piece: &str, on_sentence: OnSentence<'_>) {
        let scan = &mut self.scan;
        self.filter
            .push(piece, &mut |text| text.chars().for_each(|c| scan.push_char(c, on_sentence)));
    }
}

impl SentenceScanner {
    fn push_char(&mut self, it: char, on_sentence: OnSentence<'_>) {
        if let Some(object) = &mut self.object
            && object.len() < MAX_SENTENCE_BYTES
        {
            object.push(it);
        }
        if self.string.is_some() {
            self.push_string_char(it);
            return;
        }
        match it {
            '"' => self.string = Some(String::new()),
            ':' => self.key = self.last.take(),
            ',' | '{' | '}' | '[' | ']' => (self.key, self.last) = (None, None),
            _ => {}
        }
        match it {
            '{' => self.object = Some("{".to_owned()),
            '}' => {
                let whole = self.object.take();
                let whole = whole.and_then(|it| serde_json::from_str(&it).ok());
                if let Some(sentence) = whole {
                    on_sentence(self.headings.saturating_sub(1), &self.heading, sentence);
                }
            }
            _ => {}
        }
    }

    fn push_string_char(&mut self, it: char) {
        if it != '"' || self.escaped {
            self.escaped = it == '\\' && !self.escaped;
            if let Some(open) =
                self.string.as_mut().filter(|string| string.len() < MAX_SENTENCE_BYTES)
            {
                open.push(it);
            }
            return;
        }
        let string = self.string.take().unwrap_or_default();
        let string = serde_json::from_str::<String>(&format!("\"{string}\"")).unwrap_or_default();
        match self.key.take().as_deref() {
            Some("heading") => {
                string.trim().clone_into(&mut self.heading);
                self.headings += 1;
            }
            _ => self.last = Some(string),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> Vec<(usize, String, WrittenSentence)> {
        let mut found = Vec::new();
        let mut all = SentenceStream::default();
        for it in pieces {
            all.push(it, &mut |nth, heading, it| found.push((nth, heading.to_owned(), it)));
        }
        found
    }

    fn said(
        nth: usize,
        heading: &str,
        text: &str,
        of: &[&str],
    ) -> (usize, String, WrittenSentence) {
        let sentence = WrittenSentence {
            text: text.to_owned(),
            evidence: of.iter().map(|text| (*text).to_owned()).collect(),
        };
        (nth, heading.to_owned(), sentence)
    }

    const ANSWER: &str = r#"<think>{"text": "no", "evidence": []}</think> Here: {"sections": [{"heading": "Über \"A\"", "sentences": [
        {"text": "One is {3} < 5 \u2013 so.", "evidence": ["E1", "E7"]}, {"evidence": ["E2"], "text": "Two."}]},
        {"heading": "B", "sentences": [{"text": "Three\nlines.", "evidence": []}, {"no": 1}]}], "more": ["text"]}"#;

    #[test]
    fn sentences_are_heard_as_soon_as_they_end_however_the_answer_is_cut() {
        let whole = heard(&[ANSWER]);
        let wanted = [
            said(0, "Über \"A\"", "One is {3} < 5 – so.", &["E1", "E7"]),
            said(0, "Über \"A\"", "Two.", &["E2"]),
            said(1, "B", "Three\nlines.", &[]),
        ];
        assert_eq!(whole, wanted);
        let letters: Vec<String> = ANSWER.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(heard(&letters), wanted);
        let half = ANSWER.split_at(ANSWER.find(", {\"evidence").unwrap()).0;
        assert_eq!(heard(&[half]), wanted[..1]);
    }

    #[test]
    fn what_is_no_json_is_no_sentence() {
        assert!(
            heard(&["text: \"a\" \"b", "\\\" c", "}}}{{{\\\\\" : { \"text\" , \"x\" }"]).is_empty()
        );
        let long = "x".repeat(100_000);
        assert!(heard(&["{\"text\": \"", &long, "\", \"evidence\": []}"]).is_empty());
    }
}
