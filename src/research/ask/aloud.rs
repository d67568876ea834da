//! An answer in JSON, heard while it is still being written.
use crate::seams::Sink;

use super::parse::thinking_tag;
use super::shapes::WrittenSentence;

/// Longest string that is waited for, bytes: a longer one is no sentence.
const LONGEST: usize = 16_384;

/// Who hears the sentences of an answer that is not there yet. They are a preview: what counts is the answer.
pub trait Hear: Send {
    /// An answer begins; what was heard of one before it no longer counts.
    fn begin(&mut self);
    /// A piece of it.
    fn hear(&mut self, piece: &str);
}

/// Passes on what is said aloud and keeps back what is thought.
#[derive(Default)]
pub(super) struct Aloud {
    /// What may turn out to be a tag.
    held: String,
    depth: u32,
}

impl Aloud {
    pub(super) fn hear(&mut self, piece: &str, sink: &mut (dyn FnMut(&str) + Send)) {
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
                self.depth = match closes {
                    true => self.depth.saturating_sub(1),
                    false => self.depth + 1,
                };
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

    pub(super) fn end(&mut self, sink: Sink<'_>) {
        if self.depth == 0 && !self.held.is_empty() {
            sink(&self.held);
        }
    }
}

/// Finds the sentences in the JSON of a report as it comes: the objects that hold no other, each with the number of the
/// section it is in, from 0, and that section's heading.
#[derive(Default)]
pub struct Sentences {
    aloud: Aloud,
    scan: Scan,
}

/// Who is told of a sentence: number and heading of its section, and what was written.
pub(super) type Tell<'t> = &'t mut (dyn FnMut(usize, &str, WrittenSentence) + Send);

#[derive(Default)]
struct Scan {
    /// The object that is open and holds no other so far, as it is written.
    object: Option<String>,
    /// The string that is open, without its quotes.
    string: Option<String>,
    /// The last character was a backslash in a string.
    escaped: bool,
    /// The string before a colon that may come.
    last: Option<String>,
    /// What the next value stands under.
    key: Option<String>,
    heading: String,
    headings: usize,
}

impl Sentences {
    /// Takes the next piece; `tell` hears of each sentence that is complete now.
    pub fn hear(&mut self, piece: &str, tell: Tell<'_>) {
        let scan = &mut self.scan;
        self.aloud.hear(piece, &mut |said| {
            said.chars().for_each(|it| scan.take(it, tell))
        });
    }
}

impl Scan {
    fn take(&mut self, it: char, tell: Tell<'_>) {
        if let Some(object) = &mut self.object
            && object.len() < LONGEST
        {
            object.push(it);
        }
        if self.string.is_some() {
            self.in_string(it);
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
                    tell(self.headings.saturating_sub(1), &self.heading, sentence);
                }
            }
            _ => {}
        }
    }

    fn in_string(&mut self, it: char) {
        if it != '"' || self.escaped {
            self.escaped = it == '\\' && !self.escaped;
            if let Some(open) = self.string.as_mut().filter(|it| it.len() < LONGEST) {
                open.push(it);
            }
            return;
        }
        let said = self.string.take().unwrap_or_default();
        let said = serde_json::from_str::<String>(&format!("\"{said}\"")).unwrap_or_default();
        match self.key.take().as_deref() {
            Some("heading") => {
                said.trim().clone_into(&mut self.heading);
                self.headings += 1;
            }
            _ => self.last = Some(said),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> Vec<(usize, String, WrittenSentence)> {
        let mut found = Vec::new();
        let mut all = Sentences::default();
        for it in pieces {
            all.hear(it, &mut |nth, heading, it| {
                found.push((nth, heading.to_owned(), it))
            });
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
            evidence: of.iter().map(|it| (*it).to_owned()).collect(),
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
            heard(&[
                "text: \"a\" \"b",
                "\\\" c",
                "}}}{{{\\\\\" : { \"text\" , \"x\" }"
            ])
            .is_empty()
        );
        let long = "x".repeat(100_000);
        assert!(heard(&["{\"text\": \"", &long, "\", \"evidence\": []}"]).is_empty());
    }
}
