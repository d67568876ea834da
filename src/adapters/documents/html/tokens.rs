//! The tokens of a page, for html5ever's tree builder.
//!
//! html5ever's own tokenizer takes its input as a stream and looks at it character by character;
//! here the whole page lies in memory, so runs of text, attribute values and scripts are found by
//! searching for what ends them and are handed on as views of one shared buffer. The states are
//! those of the HTML standard (§ 13.2.5), less what no reader of the tree can tell apart: parse
//! errors and comments. A test holds that both tokenizers build the same tree.
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{Attribute, LocalName, QualName};

use super::references;

/// Sends all tokens of a page to `sink`, and the end.
///
/// `\0` is dropped from text and is U+FFFD in raw text, names and values, as the standard's states have it.
pub(super) fn feed(page: &str, sink: &impl TokenSink) {
    let page = page.strip_prefix('\u{feff}').unwrap_or(page);
    let plain: String;
    let text = if page.contains('\r') {
        plain = page.replace("\r\n", "\n").replace('\r', "\n");
        plain.as_str()
    } else {
        page
    };
    let mut tokens = Tokens {
        text,
        shared: StrTendril::from_slice(text),
        at: 0,
        sink,
        names: Names::default(),
        has_nul: text.contains('\0'),
    };
    while tokens.at < text.len() {
        tokens.step();
    }
    let _ = sink.process_token(Token::EOFToken, 1);
    sink.end();
}

struct Tokens<'a, S> {
    text: &'a str,
    /// The same text, to give views of.
    shared: StrTendril,
    /// All before this byte has been sent.
    at: usize,
    sink: &'a S,
    names: Names,
    /// Whether the page has `\0` in it, which nearly none has.
    has_nul: bool,
}

/// Attributes of one tag beyond this many are dropped, unless a reader looks at them. Only tags whose quotes are broken
/// have more: the words of their values are then names of attributes.
pub(super) const MAX_ATTRIBUTES: usize = 256;

/// Whether the tree builder or a reader of the tree looks at attributes of this name.
pub(super) fn is_read(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"aria-hidden"
            | b"class"
            | b"color"
            | b"content"
            | b"datetime"
            | b"encoding"
            | b"face"
            | b"hidden"
            | b"href"
            | b"id"
            | b"itemprop"
            | b"lang"
            | b"name"
            | b"open"
            | b"property"
            | b"rel"
            | b"role"
            | b"size"
            | b"style"
            | b"tabindex"
            | b"title"
            | b"type"
            | b"xml:lang"
    )
}

/// What kind of text stands where, by which its references and `\0` are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    /// Text between tags.
    Data,
    /// The same, where no reference can stand: a lone `<`, and CDATA sections.
    Verbatim,
    /// The inside of `title` and `textarea`.
    Rcdata,
    /// The inside of `script`, `style` and their like.
    Raw,
}

/// What ends a tag's or an attribute's name.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b' ')
}

impl<S: TokenSink> Tokens<'_, S> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The first `wanted` at `from` or behind it, or the end of the page.
    fn find(&self, from: usize, wanted: char) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.find(wanted).map_or(self.text.len(), |it| from + it)
    }

    /// The first byte at `from` or behind it that passes, or the end of the page.
    fn seek(&self, from: usize, passes: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        let found = rest.iter().position(|it| passes(*it));
        found.map_or(self.text.len(), |it| from + it)
    }

    /// The name of a tag or an attribute.
    fn name(&mut self, from: usize, to: usize) -> LocalName {
        let name = &self.text[from..to];
        if self.has_nul && name.contains('\0') {
            return self.names.get(&name.replace('\0', "\u{fffd}"));
        }
        self.names.get(name)
    }

    fn view(&self, from: usize, to: usize) -> StrTendril {
        self.shared.subtendril(from as u32, (to - from) as u32)
    }

    /// Sends the text up to `to`.
    fn say(&mut self, to: usize, kind: Text) {
        let from = std::mem::replace(&mut self.at, to);
        let run = &self.text[from..to];
        if run.is_empty() {
            return;
        }
        let decoded = matches!(kind, Text::Data | Text::Rcdata) && run.contains('&');
        let mut said = if decoded {
            references::decode(run, references::Place::Text)
        } else {
            self.view(from, to)
        };
        if self.has_nul && said.contains('\0') {
            said = match kind {
                Text::Data | Text::Verbatim => said.replace('\0', "").into(),
                Text::Rcdata | Text::Raw => said.replace('\0', "\u{fffd}").into(),
            };
            if said.is_empty() {
                return;
            }
        }
        // Text never changes the state.
        let _ = self.sink.process_token(Token::CharacterTokens(said), 1);
    }

    /// The data state, and the tag open state.
    fn step(&mut self) {
        let open = self.find(self.at, '<');
        self.say(open, Text::Data);
        match (self.byte(open + 1), self.byte(open + 2)) {
            _ if open == self.text.len() => {}
            (Some(b'/'), Some(it)) if it.is_ascii_alphabetic() => {
                self.tag(TagKind::EndTag, open + 2);
            }
            (Some(b'/'), None) => self.say(open + 2, Text::Verbatim),
            (Some(b'/'), _) => self.skip_past(open + 2),
            (Some(it), _) if it.is_ascii_alphabetic() => self.tag(TagKind::StartTag, open + 1),
            (Some(b'!'), _) => self.declaration(open),
            (Some(b'?'), _) => self.skip_past(open + 1),
            _ => self.say(open + 1, Text::Verbatim),
        }
    }

    /// A bogus comment: all up to the next `>`.
    fn skip_past(&mut self, from: usize) {
        self.at = (self.find(from, '>') + 1).min(self.text.len());
    }

    /// What begins with `<!` at `open`.
    fn declaration(&mut self, open: usize) {
        let inside = &self.text[open + 2..];
        let starts = |word: &str| {
            let head = inside.as_bytes().get(..word.len());
            head.is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
        };
        if let Some(comment) = inside.strip_prefix("--") {
            self.at = open + 4 + comment_end(comment);
        } else if starts("doctype") {
            self.skip_past(open + 2);
            self.doctype(&self.text[open..self.at]);
        } else if inside.starts_with("[CDATA[")
            && self
                .sink
                .adjusted_current_node_present_but_not_in_html_namespace()
        {
            self.at = open + "<![CDATA[".len();
            let end = self.text[self.at..].find("]]>");
            let end = end.map_or(self.text.len(), |it| self.at + it);
            self.say(end, Text::Verbatim);
            self.at = (self.at + 3).min(self.text.len());
        } else {
            self.skip_past(open + 2);
        }
    }

    /// A doctype has a dozen states and stands once a page: html5ever reads it.
    fn doctype(&self, doctype: &str) {
        let tokenizer = Tokenizer::new(Doctype(self.sink), TokenizerOpts::default());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from_slice(doctype));
        // Suspends only at the end: no token that could stop it is on its way.
        let _ = tokenizer.feed(&queue);
        tokenizer.end();
    }

    /// A tag whose name begins at `from`. One that the page ends in is none.
    fn tag(&mut self, kind: TagKind, from: usize) {
        let (tag, end) = self.parse_tag(kind, from);
        self.at = end;
        let Some(tag) = tag else { return };
        let name = tag.name.clone();
        match self.sink.process_token(Token::TagToken(tag), 1) {
            TokenSinkResult::RawData(kind) => {
                let text = &self.text[self.at..];
                let end = match kind {
                    RawKind::ScriptData | RawKind::ScriptDataEscaped(_) => script_end(text),
                    RawKind::Rcdata | RawKind::Rawtext => raw_end(text, &name),
                };
                let text = match kind {
                    RawKind::Rcdata => Text::Rcdata,
                    _ => Text::Raw,
                };
                self.say(self.at + end, text);
                if self.at < self.text.len() {
                    self.tag(TagKind::EndTag, self.at + 2);
                }
            }
            TokenSinkResult::Plaintext => self.say(self.text.len(), Text::Raw),
            TokenSinkResult::Script(_) | TokenSinkResult::EncodingIndicator(_) => {
                // html5ever stops here, and drops a byte order mark wherever it goes on.
                let mark = self.text[self.at..].starts_with('\u{feff}');
                self.at += if mark { '\u{feff}'.len_utf8() } else { 0 };
            }
            TokenSinkResult::Continue => {}
        }
    }

    fn parse_tag(&mut self, kind: TagKind, from: usize) -> (Option<Tag>, usize) {
        let end = self.seek(from, |it| is_space(it) || matches!(it, b'/' | b'>'));
        let mut tag = Tag {
            kind,
            name: self.name(from, end),
            self_closing: false,
            attrs: Vec::new(),
            had_duplicate_attributes: false,
        };
        let mut at = end;
        loop {
            at = self.seek(at, |it| !is_space(it));
            match self.byte(at) {
                None => return (None, at),
                Some(b'>') => return (Some(tag), at + 1),
                Some(b'/') => {
                    at += 1;
                    tag.self_closing = self.byte(at) == Some(b'>');
                }
                Some(_) => at = self.attribute(&mut tag, at),
            }
        }
    }

    /// An attribute that begins at `from`; returns what stands behind it.
    fn attribute(&mut self, tag: &mut Tag, from: usize) -> usize {
        // A name may begin with `=`.
        let end = self.seek(from + 1, |it| {
            is_space(it) || matches!(it, b'/' | b'>' | b'=')
        });
        let name = self.name(from, end);
        let mut at = self.seek(end, |it| !is_space(it));
        let mut value = StrTendril::new();
        if self.byte(at) == Some(b'=') {
            at = self.seek(at + 1, |it| !is_space(it));
            let (start, stop) = match self.byte(at) {
                Some(b'"') => (at + 1, self.find(at + 1, '"')),
                Some(b'\'') => (at + 1, self.find(at + 1, '\'')),
                _ => (at, self.seek(at, |it| is_space(it) || it == b'>')),
            };
            let raw = &self.text[start..stop];
            value = if raw.contains('&') {
                references::decode(raw, references::Place::Attribute)
            } else {
                self.view(start, stop)
            };
            if self.has_nul && value.contains('\0') {
                value = value.replace('\0', "\u{fffd}").into();
            }
            // The closing quote, if there was an opening one.
            at = (stop + (start - at)).min(self.text.len());
        }
        if tag.attrs.len() >= MAX_ATTRIBUTES && !is_read(&name) {
            return at;
        }
        if tag.attrs.iter().any(|it| it.name.local == name) {
            tag.had_duplicate_attributes = true;
        } else {
            tag.attrs.push(Attribute {
                name: QualName::new(None, html5ever::ns!(), name),
                value,
            });
        }
        at
    }
}

/// Where the comment that `text` begins inside of is over.
fn comment_end(text: &str) -> usize {
    for abrupt in [">", "->"] {
        if text.starts_with(abrupt) {
            return abrupt.len();
        }
    }
    let ends = text.match_indices('>').find(|(at, _)| {
        let before = &text.as_bytes()[..*at];
        before.ends_with(b"--") || before.ends_with(b"--!")
    });
    ends.map_or(text.len(), |(at, _)| at + 1)
}

/// Whether `text` begins with `name`, in any case, and what can end a tag's name.
fn is_tag(text: &[u8], name: &str) -> bool {
    text.get(..name.len())
        .is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
        && text
            .get(name.len())
            .is_some_and(|it| is_space(*it) || matches!(it, b'/' | b'>'))
}

/// Where the end tag stands that closes the raw text `text` begins with.
fn raw_end(text: &str, name: &str) -> usize {
    let ends = text.match_indices('<').find(|(at, _)| {
        let rest = &text.as_bytes()[at + 1..];
        rest.first() == Some(&b'/') && is_tag(&rest[1..], name)
    });
    ends.map_or(text.len(), |(at, _)| at)
}

/// The same for a script. In one that hides in `<!--`, a `<script>` must be closed before the
/// outer one can be.
fn script_end(text: &str) -> usize {
    #[derive(PartialEq)]
    enum Inside {
        Script,
        Escaped,
        Twice,
    }
    let bytes = text.as_bytes();
    let mut inside = Inside::Script;
    let mut comment = 0;
    for (at, found) in text.match_indices(['<', '>']) {
        let rest = &bytes[at + 1..];
        if found == ">" {
            // Both dashes may be those that opened it.
            if bytes[comment..at].ends_with(b"--") {
                inside = Inside::Script;
            }
            continue;
        }
        match inside {
            Inside::Script | Inside::Escaped
                if rest.first() == Some(&b'/') && is_tag(&rest[1..], "script") =>
            {
                return at;
            }
            Inside::Script if rest.starts_with(b"!--") => {
                inside = Inside::Escaped;
                comment = at + 2;
            }
            Inside::Escaped if is_tag(rest, "script") => inside = Inside::Twice,
            Inside::Twice if rest.first() == Some(&b'/') && is_tag(&rest[1..], "script") => {
                inside = Inside::Escaped;
            }
            _ => {}
        }
    }
    text.len()
}

/// How many names are remembered; a page uses some sixty.
const NAMES: usize = 256;

/// The names met last: to make one anew takes a keyed hash and a look into two tables.
struct Names(Vec<Option<LocalName>>);

impl Default for Names {
    fn default() -> Names {
        Names(vec![None; NAMES])
    }
}

impl Names {
    fn get(&mut self, name: &str) -> LocalName {
        // FNV-1a, for a table that is written over where two names meet.
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let place = (hash ^ (hash >> 15)) as usize % NAMES;
        if let Some(known) = &self.0[place]
            && **known == *name
        {
            return known.clone();
        }
        if name.bytes().any(|it| it.is_ascii_uppercase()) {
            return LocalName::from(name.to_ascii_lowercase());
        }
        let made = LocalName::from(name);
        self.0[place] = Some(made.clone());
        made
    }
}

/// Passes a doctype on and nothing else.
struct Doctype<'a, S>(&'a S);

impl<S: TokenSink> TokenSink for Doctype<'_, S> {
    type Handle = S::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<S::Handle> {
        if matches!(token, Token::DoctypeToken(_)) {
            return self.0.process_token(token, line);
        }
        TokenSinkResult::Continue
    }
}
