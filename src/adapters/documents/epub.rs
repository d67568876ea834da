//! EPUB books: the chapters of the spine in order, title and author of the package.
use std::collections::BTreeMap;

use super::archive::Archive;
use super::xml::{Piece, walk};
use super::{ParsedDocument, Trouble, charset, docx, html};
use crate::record::FailReason;

/// Reads an `.epub`.
pub(super) fn read(bytes: &[u8]) -> Result<ParsedDocument, Trouble> {
    let mut archive = Archive::open(bytes)?;
    let missing = |what: &str| {
        Trouble::new(
            FailReason::Broken,
            format!("damaged container: no {what} in it"),
        )
    };
    if archive
        .read("META-INF/rights.xml")
        .is_ok_and(|it| it.is_some())
    {
        return Err(Trouble::new(FailReason::Unsupported, "it is encrypted"));
    }
    let container = archive
        .read("META-INF/container.xml")?
        .ok_or_else(|| missing("container.xml"))?;
    let mut root = None;
    walk(&container, &mut |piece| {
        if let Piece::Start("rootfile", attr) = piece
            && root.is_none()
        {
            root = attr("full-path");
        }
    })?;
    let root = root.ok_or_else(|| missing("package"))?;
    let package = archive.read(&root)?.ok_or_else(|| missing(&root))?;
    let mut draft = ParsedDocument::default();
    docx::core_properties(&package, &mut draft);
    let folder = root.rsplit_once('/').map_or("", |it| it.0);
    for href in spine(&package)? {
        let name = resolve(folder, &href);
        match archive.read(&name) {
            Ok(Some(chapter)) => {
                let (text, _) = charset::decode_html(&chapter, None);
                draft.blocks.extend(html::whole(&text));
            }
            Ok(None) => draft.warnings.push(format!("no {name} in the container")),
            Err(it) if draft.blocks.is_empty() => return Err(it),
            Err(it) => {
                draft.warnings.push(format!("{name}: {}", it.message));
                break;
            }
        }
    }
    Ok(draft)
}

/// The files of the spine, in reading order; the table of contents is left out.
fn spine(package: &[u8]) -> Result<Vec<String>, Trouble> {
    let mut manifest = BTreeMap::new();
    let mut order = Vec::new();
    walk(package, &mut |piece| {
        let Piece::Start(tag, attr) = piece else {
            return;
        };
        match tag {
            "item" => {
                let contents =
                    attr("properties").is_some_and(|it| it.split(' ').any(|it| it == "nav"));
                if let (Some(id), Some(href), false) = (attr("id"), attr("href"), contents) {
                    manifest.insert(id, href);
                }
            }
            "itemref" => order.extend(attr("idref")),
            _ => {}
        }
    })?;
    // No book has a chapter twice; a spine that names one a thousand times is a bomb.
    Ok(order
        .into_iter()
        .filter_map(|it| manifest.remove(&it))
        .collect())
}

/// A path in the container from a link in `folder`.
fn resolve(folder: &str, href: &str) -> String {
    let href = href.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in href.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." | "" => {}
            part => parts.push(part),
        }
    }
    percent_decoded(&parts.join("/"))
}

fn percent_decoded(text: &str) -> String {
    let digit = |it: Option<&u8>| char::from(*it?).to_digit(16);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair = digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2)));
        match pair.filter(|_| *byte == b'%') {
            Some((high, low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
