//! XML answers as a tree of elements.
use super::answer::Read;
use crate::adapters::documents::xml::{Piece, walk};
use crate::adapters::model::ModelFault;

/// Elements one inside the other, at most; answers of services have some ten.
const DEEPEST: usize = 100;

/// One element.
#[derive(Debug, Default, Clone)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(&'static str, String)>,
    /// Elements and text in their order.
    inside: Vec<Inside>,
}

#[derive(Debug, Clone)]
enum Inside {
    Element(Element),
    Text(String),
}

/// Attributes that somebody asks for.
const ATTRIBUTES: &[&str] = &[
    "IdType",
    "EIdType",
    "RefType",
    "Label",
    "Name",
    "href",
    "title",
    "rel",
    "term",
    "pub-id-type",
    "Version",
    "ValidYN",
    "uid",
];

impl Element {
    /// The whole of an XML text, in a nameless element.
    pub(super) fn of(bytes: &[u8]) -> Read<Element> {
        let mut open = vec![Element::default()];
        let mut skipped = 0_usize;
        let walked = walk(bytes, &mut |piece| match piece {
            Piece::Start(..) if skipped > 0 || open.len() > DEEPEST => skipped += 1,
            Piece::Start(name, attribute) => open.push(Element {
                name: name.to_owned(),
                attributes: ATTRIBUTES
                    .iter()
                    .filter_map(|it| Some((*it, attribute(it)?)))
                    .collect(),
                inside: Vec::new(),
            }),
            Piece::End(_) if skipped > 0 => skipped -= 1,
            Piece::End(_) => {
                if open.len() > 1
                    && let Some(it) = open.pop()
                    && let Some(above) = open.last_mut()
                {
                    above.inside.push(Inside::Element(it));
                }
            }
            Piece::Text(text) => {
                if let (0, Some(it)) = (skipped, open.last_mut()) {
                    it.inside.push(Inside::Text(text.to_owned()));
                }
            }
        });
        walked.map_err(|_| ModelFault::malformed("its answer is no sound XML"))?;
        while open.len() > 1 {
            if let Some(it) = open.pop()
                && let Some(above) = open.last_mut()
            {
                above.inside.push(Inside::Element(it));
            }
        }
        open.pop()
            .ok_or_else(|| ModelFault::malformed("its answer is empty"))
    }

    /// The elements right below it.
    pub(super) fn children(&self) -> impl Iterator<Item = &Element> {
        self.inside.iter().filter_map(|it| match it {
            Inside::Element(it) => Some(it),
            Inside::Text(_) => None,
        })
    }

    /// The elements of this name right below it.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children().filter(move |it| it.name == name)
    }

    /// The first element down a path of names, as in `Article/Journal/Title`.
    pub(super) fn at(&self, path: &str) -> Option<&Element> {
        path.split('/')
            .try_fold(self, |it, name| it.children().find(|it| it.name == name))
    }

    /// The words of the first element down a path, where there are any.
    pub(super) fn word(&self, path: &str) -> Option<String> {
        Some(self.at(path)?.text()).filter(|it| !it.is_empty())
    }

    /// An attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|it| it.0 == name)
            .map(|it| it.1.as_str())
    }

    /// All words inside, blanks made single.
    pub(super) fn text(&self) -> String {
        let mut all = String::new();
        self.gather(&mut all);
        all.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn gather(&self, all: &mut String) {
        for it in &self.inside {
            match it {
                Inside::Text(text) => all.push_str(text),
                Inside::Element(it) => it.gather(all),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_words_through_markup() {
        let tree = Element::of(b"<a><b x='1'>one <i>two</i>  three</b><b>four</b></a>").unwrap();
        assert_eq!(tree.word("a/b").as_deref(), Some("one two three"));
        assert_eq!(tree.at("a").unwrap().all("b").count(), 2);
        assert_eq!(tree.word("a/c"), None);
    }

    #[test]
    fn depth_without_end_is_borne() {
        let deep = format!("{}x{}", "<a>".repeat(50_000), "</a>".repeat(50_000));
        assert!(Element::of(deep.as_bytes()).is_ok());
    }
}
