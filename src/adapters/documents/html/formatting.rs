//! The attributes of formatting elements, kept aside while the tree is built.
//!
//! For each formatting element the tree builder compares its attributes with those of all that are open (the "Noah's Ark
//! clause", § 13.2.4.3), and sorts copies of both each time. So it is given one short attribute in their stead, the same for
//! the same attributes, and they are put back when the element is made.
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use html5ever::tokenizer::Tag;
use html5ever::{Attribute, LocalName, QualName};

/// Sets of attributes that were met on formatting elements.
pub(super) struct Formatting {
    /// No attribute of a page is called so.
    name: QualName,
    hasher: RandomState,
    known: RefCell<HashMap<u64, usize>>,
    sets: RefCell<Vec<Vec<Attribute>>>,
}

impl Default for Formatting {
    fn default() -> Formatting {
        Formatting {
            name: QualName::new(None, html5ever::ns!(), LocalName::from("\0")),
            hasher: RandomState::new(),
            known: RefCell::default(),
            sets: RefCell::default(),
        }
    }
}

/// The elements that the tree builder lists as formatting.
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

impl Formatting {
    /// Puts one attribute in the place of those of a formatting element.
    pub(super) fn shorten(&self, tag: &mut Tag) {
        if tag.attrs.is_empty() || !is_formatting(&tag.name) {
            return;
        }
        // Their order does not count.
        let hash = tag.attrs.iter().fold(0_u64, |all, it| {
            all.wrapping_add(self.hasher.hash_one((&it.name.local, &*it.value)))
        });
        let mut sets = self.sets.borrow_mut();
        let new = sets.len();
        let nth = *self.known.borrow_mut().entry(hash).or_insert(new);
        let short = Attribute {
            name: self.name.clone(),
            value: format!("{nth:x}").into(),
        };
        let all = std::mem::replace(&mut tag.attrs, vec![short]);
        // By these the tree builder tells whether the element ends an SVG.
        if &*tag.name == "font" {
            let told = |it: &&Attribute| matches!(&*it.name.local, "color" | "face" | "size");
            tag.attrs.extend(all.iter().find(told).cloned());
        }
        if nth == new {
            sets.push(all);
        }
    }

    /// The attributes that an element has in truth.
    pub(super) fn restored(&self, attrs: Vec<Attribute>) -> Vec<Attribute> {
        match attrs.first() {
            Some(it) if it.name == self.name => {
                let nth = usize::from_str_radix(&it.value, 16).unwrap_or(usize::MAX);
                self.sets.borrow().get(nth).cloned().unwrap_or_default()
            }
            _ => attrs,
        }
    }
}
