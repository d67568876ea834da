//! EPUB books: the chapters in the order of the spine, title and author from the package.
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use crate::archive::Archive;
use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::xml::{XmlEvent, walk};
use crate::{charset, docx, html};
use ibid_core::ReadFailure;

/// Reads an `.epub`.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedDocument, ParseError> {
    let mut archive = Archive::open(bytes)?;
    let missing =
        |what: &str| ParseError::new(ReadFailure::Broken, format!("damaged container: no {what}"));
    if archive.read_entry("META-INF/rights.xml").is_ok_and(|entry| entry.is_some()) {
        return Err(ParseError::new(ReadFailure::Unsupported, "it is encrypted"));
    }
    let container =
        archive.read_entry("META-INF/container.xml")?.ok_or_else(|| missing("container.xml"))?;
    let mut root = None;
    walk(&container, &mut |event| {
        if let XmlEvent::Start("rootfile", attr) = event
            && root.is_none()
        {
            root = attr("full-path");
        }
    })?;
    let root = root.ok_or_else(|| missing("package"))?;
    let package = archive.read_entry(&root)?.ok_or_else(|| missing(&root))?;
    let mut draft = ParsedDocument::default();
    docx::core_properties(&package, &mut draft);
    let folder = root.rsplit_once('/').map_or("", |parts| parts.0);
    for href in spine(&package)? {
        let name = resolve_href(folder, &href);
        match archive.read_entry(&name) {
            Ok(Some(chapter)) => {
                let (text, _) = charset::decode_html(&chapter, None);
                draft.blocks.extend(html::all_blocks(&text));
            }
            Ok(None) => draft.warnings.push(format!("no {name} in the container")),
            Err(error) if draft.blocks.is_empty() => return Err(error),
            Err(error) => {
                draft.warnings.push(format!("{name}: {}", error.message));
                break;
            }
        }
    }
    Ok(draft)
}

/// The files of the spine, in reading order, without the table of contents.
fn spine(package: &[u8]) -> Result<Vec<String>, ParseError> {
    let mut manifest = BTreeMap::new();
    let mut order = Vec::new();
    walk(package, &mut |event| {
        let XmlEvent::Start(tag, attr) = event else {
            return;
        };
        match tag {
            "item" => {
                let contents = attr("properties")
                    .is_some_and(|attr| attr.split(' ').any(|part| part == "nav"));
                if let (Some(id), Some(href), false) = (attr("id"), attr("href"), contents) {
                    manifest.insert(id, href);
                }
            }
            "itemref" => order.extend(attr("idref")),
            _ => {}
        }
    })?;
    // Each file counts once: a spine that names one file a thousand times would be a bomb.
    Ok(order.into_iter().filter_map(|it| manifest.remove(&it)).collect())
}

/// The path in the container of a link from a file in `folder`.
fn resolve_href(folder: &str, href: &str) -> String {
    let href = href.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in href.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." | "" => {}
            part => parts.push(part),
        }
    }
    percent_decode_str(&parts.join("/")).decode_utf8_lossy().into_owned()
}
