//! XML as a flat stream of names and text, for the parts of office containers.
//!
//! Entities that a document defines itself are never expanded, so none can grow.
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::Trouble;
use crate::record::FailReason;

/// One thing in an XML file; names come without their prefix.
pub(in crate::adapters) enum Piece<'a> {
    /// A start tag; an empty element gives start and end.
    Start(&'a str, &'a dyn Fn(&str) -> Option<String>),
    /// An end tag.
    End(&'a str),
    /// Text, entities resolved.
    Text(&'a str),
}

/// Walks through an XML file.
///
/// # Errors
/// [`FailReason::Broken`] where it is not well formed.
pub(in crate::adapters) fn walk(
    bytes: &[u8],
    each: &mut dyn FnMut(Piece<'_>),
) -> Result<(), Trouble> {
    let (text, _) = super::charset::decode(bytes, None);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    loop {
        let event = reader
            .read_event()
            .map_err(|it| Trouble::new(FailReason::Broken, format!("damaged XML inside: {it}")))?;
        match event {
            Event::Eof => return Ok(()),
            Event::Start(tag) => start(&tag, each),
            Event::Empty(tag) => {
                start(&tag, each);
                each(Piece::End(tag.local_name().as_ref()));
            }
            Event::End(tag) => each(Piece::End(tag.local_name().as_ref())),
            Event::Text(text) => each(Piece::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::CData(text) => each(Piece::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::GeneralRef(name) => {
                let number = name.resolve_char_ref().ok().flatten().map(String::from);
                let known = match &*name {
                    "amp" => Some("&".to_owned()),
                    "lt" => Some("<".to_owned()),
                    "gt" => Some(">".to_owned()),
                    "quot" => Some("\"".to_owned()),
                    "apos" => Some("'".to_owned()),
                    _ => None,
                };
                if let Some(it) = number.or(known) {
                    each(Piece::Text(&it));
                }
            }
            _ => {}
        }
    }
}

fn start(tag: &BytesStart<'_>, each: &mut dyn FnMut(Piece<'_>)) {
    let attr = |name: &str| {
        // Which of two attributes of one name comes first is told without comparing each with all others.
        tag.attributes()
            .with_checks(false)
            .flatten()
            .find(|it| it.key.local_name().as_ref() == name)
            .and_then(|it| {
                it.normalized_value(XmlVersion::Implicit1_0)
                    .ok()
                    .map(|it| it.into_owned())
            })
    };
    each(Piece::Start(tag.local_name().as_ref(), &attr));
}
