//! The parsers as plain functions: bytes in, draft out, nothing else touched. They run in a child for what strangers wrote, and
//! in this process for a person's own text.
use std::ops::ControlFlow;
use std::path::Path;

use super::{
    Format, ParsedDocument, Trouble, address, charset, docx, epub, html, jats, language, markdown,
    not_read, pdf, prose, rows,
};
use crate::domain::BlockKind;
use crate::record::FailReason;

/// Bytes of a title.
const TITLE: usize = 500;

/// One document of a known format. `name` is the address or path that links are resolved against.
pub(super) fn document(
    bytes: &[u8],
    format: Format,
    name: &str,
    content_type: Option<&str>,
) -> Result<ParsedDocument, Trouble> {
    let draft = match format {
        Format::Html => {
            let (text, note) = charset::decode_html(bytes, content_type);
            let mut draft = html::read(&text, &address::of_name(name));
            draft.warnings.extend(note);
            draft
        }
        Format::Markdown | Format::Text => {
            let (text, note) = charset::decode(bytes, content_type);
            let mut draft = if format == Format::Markdown {
                markdown::read(&text)
            } else {
                ParsedDocument {
                    blocks: prose::blocks(&text),
                    ..ParsedDocument::default()
                }
            };
            draft.warnings.extend(note);
            draft
        }
        Format::Jats => jats::read(bytes)?,
        Format::Pdf => pdf::embedded(bytes)?,
        Format::Docx => docx::read(container(bytes)?)?,
        Format::Epub => epub::read(container(bytes)?)?,
        Format::Json | Format::Lines => return first_row(bytes, format),
        Format::Unknown => return Err(not_read()),
    };
    whole(draft, name)
}

/// What is no container at all is said so before anything is unpacked.
fn container(bytes: &[u8]) -> Result<&[u8], Trouble> {
    match bytes.starts_with(b"PK") {
        true => Ok(bytes),
        false => Err(Trouble::new(
            FailReason::Broken,
            "damaged container: it is no zip file",
        )),
    }
}

/// The first document of several in one.
fn first_row(bytes: &[u8], format: Format) -> Result<ParsedDocument, Trouble> {
    let mut first = None;
    let mut more = false;
    let mut take = |row: Result<ParsedDocument, Trouble>| {
        match row {
            Ok(draft) if first.is_none() => first = Some(draft),
            Ok(_) => more = true,
            Err(_) => {}
        }
        // A file of many rows is not read further than this needs.
        match more {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    if format == Format::Json {
        rows::read_json(bytes, &mut take)?;
    } else {
        rows::split_lines(bytes, &mut take);
    }
    let mut draft =
        first.ok_or_else(|| Trouble::new(FailReason::Empty, "no row in it has a text"))?;
    if more {
        draft
            .warnings
            .push("several documents: only the first was read".to_owned());
    }
    Ok(draft)
}

/// A draft with all that can be told from its own words, if it has any.
pub(super) fn whole(mut draft: ParsedDocument, name: &str) -> Result<ParsedDocument, Trouble> {
    finish(&mut draft, name);
    if draft.blocks.is_empty() {
        return Err(Trouble::new(FailReason::Empty, "there are no words in it"));
    }
    Ok(draft)
}

/// Fills what the document itself did not say: title and language.
pub(super) fn finish(draft: &mut ParsedDocument, name: &str) {
    draft.blocks.retain(|it| !it.text.trim().is_empty());
    if draft.title.trim().is_empty() {
        let heading = draft.blocks.iter().find(|it| it.kind == BlockKind::Heading);
        let stem = || {
            let last = name
                .trim_end_matches('/')
                .rsplit(['/', '\\'])
                .next()
                .unwrap_or_default();
            let last = last.split(['?', '#']).next().unwrap_or_default();
            Path::new(last)
                .file_stem()
                .map(|it| it.to_string_lossy().into_owned())
        };
        draft.title = heading
            .map(|it| it.text.clone())
            .or_else(stem)
            .unwrap_or_default();
    }
    cut_to(&mut draft.title, TITLE);
    if draft.lang.is_none() {
        draft.lang = language::of(draft.blocks.iter().map(|it| it.text.as_str()));
    }
}

/// At most the first `most` bytes of a text.
pub(super) fn cut(mut text: String, most: usize) -> String {
    cut_to(&mut text, most);
    text
}

fn cut_to(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

/// What a child answered, as far as a parser can honestly answer so: the child may have been taken over by the document that it
/// parsed. Sentences and their places are counted later, from these words.
pub(super) fn admitted(parsed: Result<ParsedDocument, Trouble>) -> Result<ParsedDocument, Trouble> {
    use FailReason::{Broken, Empty, TooLarge, Unsupported};
    let mut draft = parsed.map_err(|mut trouble| {
        trouble.message.retain(|it| !it.is_control());
        cut_to(&mut trouble.message, 400);
        // What a server did or a rule forbids is nothing that a parser knows.
        let known = matches!(trouble.reason, Broken | Empty | TooLarge | Unsupported);
        match known {
            true => trouble,
            false => Trouble::new(Broken, trouble.message),
        }
    })?;
    // It says only what the document claims; that is judged as strictly as in the parser.
    draft.stated_url = draft.stated_url.filter(|it| address::claimed(it).is_some());
    if let Some(id) = &mut draft.stated_id {
        cut_to(id, 400);
    }
    cut_to(&mut draft.title, TITLE);
    for said in [&mut draft.author, &mut draft.site].into_iter().flatten() {
        cut_to(said, 4_000);
    }
    let is_day =
        |it: &String| it.len() <= 10 && it.bytes().all(|c| c.is_ascii_digit() || c == b'-');
    draft.date = draft.date.filter(is_day);
    let is_name =
        |it: &String| it.len() <= 60 && it.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    draft.date_source = draft
        .date_source
        .filter(|it| draft.date.is_some() && is_name(it));
    draft.lang = draft
        .lang
        .filter(|it| it.len() <= 3 && it.bytes().all(|c| c.is_ascii_lowercase()));
    draft.warnings.truncate(20);
    draft.warnings.iter_mut().for_each(|it| cut_to(it, 400));
    draft.blocks.retain(|it| !it.text.trim().is_empty());
    if draft.blocks.is_empty() {
        return Err(Trouble::new(Empty, "there are no words in it"));
    }
    Ok(draft)
}
