//! A tokenizer for html5ever's tree builder.
//!
//! html5ever's own tokenizer reads a stream character by character. Here the whole page is in memory, so runs of text,
//! attribute values and scripts are found by searching for their end, and are passed on as views of one shared buffer. The
//! states are those of the HTML standard (§ 13.2.5), without parse errors and comments, which do not affect the tree. A test
//! checks that both tokenizers build the same tree.
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{Attribute, LocalName, QualName};

use super::char_refs;

/// Sends all tokens of a page and the end of file to `sink`.
///
/// As in the standard, `\0` is dropped from text and becomes U+FFFD in raw text, names and values.
pub(super) fn tokenize(page: &str, sink: &impl TokenSink) {
    let page = page.strip_prefix('\u{feff}').unwrap_or(page);
    let plain: String;
    let text = if page.contains('\r') {
        plain = page.replace("\r\n", "\n").replace('\r', "\n");
        plain.as_str()
    } else {
        page
    };
    let mut tokens = PageTokenizer {
        text,
        shared: StrTendril::from_slice(text),
        at: 0,
        sink,
        names: NameCache::default(),
        has_nul: text.contains('\0'),
    };
    while tokens.at < text.len() {
        tokens.step();
    }
    let _ = sink.process_token(Token::EOFToken, 1);
    sink.end();
}

struct PageTokenizer<'a, S> {
    text: &'a str,
    /// The same text, for views.
    shared: StrTendril,
    /// All text before this offset has been sent.
    at: usize,
    sink: &'a S,
    names: NameCache,
    /// Whether the page contains `\0`, which is rare.
    has_nul: bool,
}

/// Attributes of one tag; further ones are dropped unless they are used. Only tags with broken quotes have more: the words of
/// their values are then taken for names of attributes.
pub(super) const MAX_ATTRIBUTES: usize = 256;

/// Whether the tree builder or this crate uses attributes of this name.
pub(super) fn is_used_attribute(name: &str) -> bool {
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

/// Kinds of text, which differ in how references and `\0` are handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    /// Text between tags.
    Data,
    /// Text between tags without references: a lone `<`, and CDATA sections.
    Verbatim,
    /// The content of `title` and `textarea`.
    Rcdata,
    /// The content of `script`, `style` and the like.
    Raw,
}

/// Whether a byte is white space, which ends the name of a tag or an attribute.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b' ')
}

impl<S: TokenSink> PageTokenizer<'_, S> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The position of the first `wanted` from `from` on, or the end of the page.
    fn find(&self, from: usize, wanted: char) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.find(wanted).map_or(self.text.len(), |it| from + it)
    }

    /// The position of the first byte from `from` on that passes, or the end of the page.
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
    fn send_text(&mut self, to: usize, kind: TextKind) {
        let from = std::mem::replace(&mut self.at, to);
        let run = &self.text[from..to];
        if run.is_empty() {
            return;
        }
        let decoded = matches!(kind, TextKind::Data | TextKind::Rcdata) && run.contains('&');
        let mut text = if decoded {
            char_refs::decode(run, char_refs::CharRefContext::Text)
        } else {
            self.view(from, to)
        };
        if self.has_nul && text.contains('\0') {
            text = match kind {
                TextKind::Data | TextKind::Verbatim => text.replace('\0', "").into(),
                TextKind::Rcdata | TextKind::Raw => text.replace('\0', "\u{fffd}").into(),
            };
            if text.is_empty() {
                return;
            }
        }
        // Text never changes the state of the tokenizer.
        let _ = self.sink.process_token(Token::CharacterTokens(text), 1);
    }

    /// One step of the data state and the tag open state.
    fn step(&mut self) {
        let open = self.find(self.at, '<');
        self.send_text(open, TextKind::Data);
        match (self.byte(open + 1), self.byte(open + 2)) {
            _ if open == self.text.len() => {}
            (Some(b'/'), Some(it)) if it.is_ascii_alphabetic() => {
                self.tag(TagKind::EndTag, open + 2);
            }
            (Some(b'/'), None) => self.send_text(open + 2, TextKind::Verbatim),
            (Some(b'/'), _) => self.skip_past(open + 2),
            (Some(it), _) if it.is_ascii_alphabetic() => self.tag(TagKind::StartTag, open + 1),
            (Some(b'!'), _) => self.declaration(open),
            (Some(b'?'), _) => self.skip_past(open + 1),
            _ => self.send_text(open + 1, TextKind::Verbatim),
        }
    }

    /// Skips a bogus comment, which ends at the next `>`.
    fn skip_past(&mut self, from: usize) {
        self.at = (self.find(from, '>') + 1).min(self.text.len());
    }

    /// Handles `<!` at `open`: a comment, a doctype or a CDATA section.
    fn declaration(&mut self, open: usize) {
        let inside = &self.text[open + 2..];
        let starts = |word: &str| {
            let head = inside.as_bytes().get(..word.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
        };
        if let Some(comment) = inside.strip_prefix("--") {
            self.at = open + 4 + comment_end(comment);
        } else if starts("doctype") {
            self.skip_past(open + 2);
            self.doctype(&self.text[open..self.at]);
        } else if inside.starts_with("[CDATA[")
            && self.sink.adjusted_current_node_present_but_not_in_html_namespace()
        {
            self.at = open + "<![CDATA[".len();
            let end = self.text[self.at..].find("]]>");
            let end = end.map_or(self.text.len(), |it| self.at + it);
            self.send_text(end, TextKind::Verbatim);
            self.at = (self.at + 3).min(self.text.len());
        } else {
            self.skip_past(open + 2);
        }
    }

    /// Has html5ever tokenize a doctype, which takes a dozen states and occurs once in a page.
    fn doctype(&self, doctype: &str) {
        let tokenizer = Tokenizer::new(DoctypeSink(self.sink), TokenizerOpts::default());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from_slice(doctype));
        // It stops only at the end, because a doctype has no token that suspends it.
        let _ = tokenizer.feed(&queue);
        tokenizer.end();
    }

    /// Handles a tag whose name begins at `from`, and raw text after it. A tag that is cut off by the end of the page is dropped.
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
                    RawKind::Rcdata => TextKind::Rcdata,
                    _ => TextKind::Raw,
                };
                self.send_text(self.at + end, text);
                if self.at < self.text.len() {
                    self.tag(TagKind::EndTag, self.at + 2);
                }
            }
            TokenSinkResult::Plaintext => self.send_text(self.text.len(), TextKind::Raw),
            TokenSinkResult::Script(_) | TokenSinkResult::EncodingIndicator(_) => {
                // html5ever's tokenizer stops here, and drops a byte order mark when it continues.
                let mark = self.text[self.at..].starts_with('\u{feff}');
                self.at += if mark { '\u{feff}'.len_utf8() } else { 0 };
            }
            TokenSinkResult::Continue => {}
        }
    }

    /// The tag whose name begins at `from`, and the position after it.
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

    /// Adds the attribute that begins at `from` to `tag`, and returns the position after it.
    fn attribute(&mut self, tag: &mut Tag, from: usize) -> usize {
        // A name may begin with `=`.
        let end = self.seek(from + 1, |it| is_space(it) || matches!(it, b'/' | b'>' | b'='));
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
                char_refs::decode(raw, char_refs::CharRefContext::Attribute)
            } else {
                self.view(start, stop)
            };
            if self.has_nul && value.contains('\0') {
                value = value.replace('\0', "\u{fffd}").into();
            }
            // Skip the closing quote if there was an opening one.
            at = (stop + (start - at)).min(self.text.len());
        }
        if tag.attrs.len() >= MAX_ATTRIBUTES && !is_used_attribute(&name) {
            return at;
        }
        if tag.attrs.iter().any(|attr| attr.name.local == name) {
            tag.had_duplicate_attributes = true;
        } else {
            tag.attrs.push(Attribute { name: QualName::new(None, html5ever::ns!(), name), value });
        }
        at
    }
}

/// The end of the comment whose content begins with `text`.
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

/// Whether `text` begins with the tag name `name`, ignoring case, followed by a character that ends a name.
fn is_tag(text: &[u8], name: &str) -> bool {
    text.get(..name.len()).is_some_and(|value| value.eq_ignore_ascii_case(name.as_bytes()))
        && text
            .get(name.len())
            .is_some_and(|value| is_space(*value) || matches!(value, b'/' | b'>'))
}

/// The position of the end tag that closes the raw text at the beginning of `text`.
fn raw_end(text: &str, name: &str) -> usize {
    let ends = text.match_indices('<').find(|(at, _)| {
        let rest = &text.as_bytes()[at + 1..];
        rest.first() == Some(&b'/') && is_tag(&rest[1..], name)
    });
    ends.map_or(text.len(), |(at, _)| at)
}

/// Like [`raw_end`], for a script. Inside `<!--`, a nested `<script>` must be closed before the outer one.
fn script_end(text: &str) -> usize {
    #[derive(PartialEq)]
    enum ScriptState {
        Script,
        Escaped,
        Twice,
    }
    let bytes = text.as_bytes();
    let mut inside = ScriptState::Script;
    let mut comment = 0;
    for (at, found) in text.match_indices(['<', '>']) {
        let rest = &bytes[at + 1..];
        if found == ">" {
            // Both dashes may be part of the opening `<!--`.
            if bytes[comment..at].ends_with(b"--") {
                inside = ScriptState::Script;
            }
            continue;
        }
        match inside {
            ScriptState::Script | ScriptState::Escaped
                if rest.first() == Some(&b'/') && is_tag(&rest[1..], "script") =>
            {
                return at;
            }
            ScriptState::Script if rest.starts_with(b"!--") => {
                inside = ScriptState::Escaped;
                comment = at + 2;
            }
            ScriptState::Escaped if is_tag(rest, "script") => inside = ScriptState::Twice,
            ScriptState::Twice if rest.first() == Some(&b'/') && is_tag(&rest[1..], "script") => {
                inside = ScriptState::Escaped;
            }
            _ => {}
        }
    }
    text.len()
}

/// Slots of the cache; a page uses about sixty names.
const CACHE_SLOTS: usize = 256;

/// A cache of names: creating a [`LocalName`] takes a keyed hash and lookups in two tables.
struct NameCache(Vec<Option<LocalName>>);

impl Default for NameCache {
    fn default() -> NameCache {
        NameCache(vec![None; CACHE_SLOTS])
    }
}

impl NameCache {
    fn get(&mut self, name: &str) -> LocalName {
        // FNV-1a. A name replaces another one in the same slot.
        let hash = name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let place = (hash ^ (hash >> 15)) as usize % CACHE_SLOTS;
        if let Some(known) = &self.0[place]
            && **known == *name
        {
            return known.clone();
        }
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return LocalName::from(name.to_ascii_lowercase());
        }
        let made = LocalName::from(name);
        self.0[place] = Some(made.clone());
        made
    }
}

/// Passes on doctypes and nothing else.
struct DoctypeSink<'a, S>(&'a S);

impl<S: TokenSink> TokenSink for DoctypeSink<'_, S> {
    type Handle = S::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<S::Handle> {
        if matches!(token, Token::DoctypeToken(_)) {
            return self.0.process_token(token, line);
        }
        TokenSinkResult::Continue
    }
}
