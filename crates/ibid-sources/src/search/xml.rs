//! XML as a tree of elements.
use super::response::ReadResult;
use ibid_extract::xml::{XmlEvent, walk};
use ibid_net::service_error::ServiceError;

/// Maximum nesting depth of elements. Answers of services have about ten levels.
const MAX_DEPTH: usize = 100;

/// An element.
#[derive(Debug, Default, Clone)]
pub(super) struct XmlElement {
    pub(super) name: String,
    attributes: Vec<(&'static str, String)>,
    /// Elements and text, in order.
    nodes: Vec<XmlNode>,
}

#[derive(Debug, Clone)]
enum XmlNode {
    Element(XmlElement),
    Text(String),
}

/// The attributes that parsers use.
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

impl XmlElement {
    /// Parses XML. Returns an element without a name that contains the root.
    pub(super) fn parse(bytes: &[u8]) -> ReadResult<XmlElement> {
        let mut open = vec![XmlElement::default()];
        let mut skipped = 0_usize;
        let walked = walk(bytes, &mut |piece| match piece {
            XmlEvent::Start(..) if skipped > 0 || open.len() > MAX_DEPTH => skipped += 1,
            XmlEvent::Start(name, attribute) => open.push(XmlElement {
                name: name.to_owned(),
                attributes: ATTRIBUTES
                    .iter()
                    .filter_map(|name| Some((*name, attribute(name)?)))
                    .collect(),
                nodes: Vec::new(),
            }),
            XmlEvent::End(_) if skipped > 0 => skipped -= 1,
            XmlEvent::End(_) => {
                if open.len() > 1
                    && let Some(it) = open.pop()
                    && let Some(above) = open.last_mut()
                {
                    above.nodes.push(XmlNode::Element(it));
                }
            }
            XmlEvent::Text(text) => {
                if let (0, Some(it)) = (skipped, open.last_mut()) {
                    it.nodes.push(XmlNode::Text(text.to_owned()));
                }
            }
        });
        walked.map_err(|_| ServiceError::malformed("the response is not well-formed XML"))?;
        while open.len() > 1 {
            if let Some(it) = open.pop()
                && let Some(above) = open.last_mut()
            {
                above.nodes.push(XmlNode::Element(it));
            }
        }
        open.pop().ok_or_else(|| ServiceError::malformed("its response is empty"))
    }

    /// The child elements.
    pub(super) fn children(&self) -> impl Iterator<Item = &XmlElement> {
        self.nodes.iter().filter_map(|node| match node {
            XmlNode::Element(node) => Some(node),
            XmlNode::Text(_) => None,
        })
    }

    /// The child elements with this name.
    pub(super) fn children_named<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'a XmlElement> {
        self.children().filter(move |child| child.name == name)
    }

    /// The first element at a path of names, such as `Article/Journal/Title`.
    pub(super) fn find(&self, path: &str) -> Option<&XmlElement> {
        path.split('/').try_fold(self, |it, name| it.children().find(|child| child.name == name))
    }

    /// The text of the first element at a path, unless it is blank.
    pub(super) fn text_at(&self, path: &str) -> Option<String> {
        Some(self.find(path)?.text()).filter(|it| !it.is_empty())
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.0 == name)
            .map(|attribute| attribute.1.as_str())
    }

    /// All text inside, with whitespace collapsed.
    pub(super) fn text(&self) -> String {
        let mut all = String::new();
        self.gather(&mut all);
        all.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn gather(&self, all: &mut String) {
        for it in &self.nodes {
            match it {
                XmlNode::Text(text) => all.push_str(text),
                XmlNode::Element(it) => it.gather(all),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_words_through_markup() {
        let tree =
            XmlElement::parse(b"<a><b x='1'>one <i>two</i>  three</b><b>four</b></a>").unwrap();
        assert_eq!(tree.text_at("a/b").as_deref(), Some("one two three"));
        assert_eq!(tree.find("a").unwrap().children_named("b").count(), 2);
        assert_eq!(tree.text_at("a/c"), None);
    }

    #[test]
    fn depth_without_end_is_borne() {
        let deep = format!("{}x{}", "<a>".repeat(50_000), "</a>".repeat(50_000));
        assert!(XmlElement::parse(deep.as_bytes()).is_ok());
    }
}
