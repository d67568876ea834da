//! XML as a flat stream of names and text.
//!
//! Entities that a document defines are never expanded, so they cannot blow up.
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::charset;
use crate::parse_error::ParseError;
use ibid_core::ReadFailure;

/// One event in an XML file. Names have no prefix.
pub enum XmlEvent<'a> {
    /// A start tag, with a function that returns the value of an attribute. An empty element gives a start and an end.
    Start(&'a str, &'a dyn Fn(&str) -> Option<String>),
    /// An end tag.
    End(&'a str),
    /// Text, with references resolved.
    Text(&'a str),
}

/// Passes each event of an XML file to `each`.
///
/// # Errors
/// [`ReadFailure::Broken`] if the file is not well formed; the events before the damage have been passed.
pub fn walk(bytes: &[u8], each: &mut dyn FnMut(XmlEvent<'_>)) -> Result<(), ParseError> {
    let (text, _) = charset::decode(bytes, None);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    loop {
        let event = reader.read_event().map_err(|cause| {
            ParseError::new(ReadFailure::Broken, format!("damaged XML: {cause}"))
        })?;
        match event {
            Event::Eof => return Ok(()),
            Event::Start(tag) => emit_start(&tag, each),
            Event::Empty(tag) => {
                emit_start(&tag, each);
                each(XmlEvent::End(tag.local_name().as_ref()));
            }
            Event::End(tag) => each(XmlEvent::End(tag.local_name().as_ref())),
            Event::Text(text) => each(XmlEvent::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::CData(text) => each(XmlEvent::Text(&text.xml_content(XmlVersion::Implicit1_0))),
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
                    each(XmlEvent::Text(&it));
                }
            }
            _ => {}
        }
    }
}

fn emit_start(tag: &BytesStart<'_>, each: &mut dyn FnMut(XmlEvent<'_>)) {
    let attr = |name: &str| {
        // Without the check for duplicates, which compares each attribute with all others.
        tag.attributes()
            .with_checks(false)
            .flatten()
            .find(|check| check.key.local_name().as_ref() == name)
            .and_then(|it| {
                it.normalized_value(XmlVersion::Implicit1_0)
                    .ok()
                    .map(|normalized_value| normalized_value.into_owned())
            })
    };
    each(XmlEvent::Start(tag.local_name().as_ref(), &attr));
}
