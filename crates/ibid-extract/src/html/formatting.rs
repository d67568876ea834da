//! Interns the attributes of formatting elements while the tree is built.
//!
//! For each formatting element the tree builder compares its attributes with those of all open ones (the "Noah's Ark clause",
//! § 13.2.4.3), and sorts copies of both each time. So equal sets of attributes are replaced by the same short attribute, and
//! restored when the element is created.
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use html5ever::tokenizer::Tag;
use html5ever::{Attribute, LocalName, QualName};

/// The sets of attributes seen on formatting elements.
pub(super) struct FormattingAttributes {
    /// The name of the short attribute, which no attribute of a page can have.
    name: QualName,
    hasher: RandomState,
    known: RefCell<HashMap<u64, usize>>,
    sets: RefCell<Vec<Vec<Attribute>>>,
}

impl Default for FormattingAttributes {
    fn default() -> FormattingAttributes {
        FormattingAttributes {
            name: QualName::new(None, html5ever::ns!(), LocalName::from("\0")),
            hasher: RandomState::new(),
            known: RefCell::default(),
            sets: RefCell::default(),
        }
    }
}

/// Whether the tree builder treats an element as formatting.
fn is_formatting(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"a" | b"b"
            | b"big"
            | b"code"
            | b"em"
            | b"font"
            | b"i"
            | b"nobr"
            | b"s"
            | b"small"
            | b"strike"
            | b"strong"
            | b"tt"
            | b"u"
    )
}

impl FormattingAttributes {
    /// Replaces the attributes of a formatting element by one.
    pub(super) fn intern(&self, tag: &mut Tag) {
        if tag.attrs.is_empty() || !is_formatting(&tag.name) {
            return;
        }
        // The order of attributes does not count.
        let hash = tag.attrs.iter().fold(0_u64, |all, it| {
            all.wrapping_add(self.hasher.hash_one((&it.name.local, &*it.value)))
        });
        let mut sets = self.sets.borrow_mut();
        let new = sets.len();
        let nth = *self.known.borrow_mut().entry(hash).or_insert(new);
        let short = Attribute { name: self.name.clone(), value: format!("{nth:x}").into() };
        let all = std::mem::replace(&mut tag.attrs, vec![short]);
        // The tree builder needs one of these to know whether the element ends an SVG.
        if &*tag.name == "font" {
            let ends_svg = |attribute: &&Attribute| {
                matches!(&*attribute.name.local, "color" | "face" | "size")
            };
            tag.attrs.extend(all.iter().find(ends_svg).cloned());
        }
        if nth == new {
            sets.push(all);
        }
    }

    /// The original attributes of an element.
    pub(super) fn restore(&self, attrs: Vec<Attribute>) -> Vec<Attribute> {
        match attrs.first() {
            Some(it) if it.name == self.name => {
                let nth = usize::from_str_radix(&it.value, 16).unwrap_or(usize::MAX);
                self.sets.borrow().get(nth).cloned().unwrap_or_default()
            }
            _ => attrs,
        }
    }
}
