//! The title, author and date of a PDF, unless they are leftovers of the program that made it.
use crate::parsed_document::ParsedDocument;
use crate::xml::{XmlEvent, walk};
use crate::{dates, plain_text};
use ibid_core::domain::{Block, BlockKind};

/// Authors of one PDF.
const MAX_AUTHORS: usize = 20;

/// Reads the document information dictionary as printed by `pdfinfo -isodates`. Returns whether there is an XMP packet too.
pub(crate) fn read_dictionary(text: &str, draft: &mut ParsedDocument) -> bool {
    let mut packet = false;
    let mut created = None;
    let mut changed = None;
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        match name {
            "Title" => keep_title(value, draft),
            "Author" => keep_author(value, draft),
            "CreationDate" => created = dates::normalise(value.trim()),
            "ModDate" => changed = dates::normalise(value.trim()),
            "Metadata Stream" => packet = value.trim() == "yes",
            _ => {}
        }
    }
    keep_date(created.or(changed), draft);
    packet
}

/// The elements of an XMP packet that are read.
const PROPERTIES: [&str; 3] = ["title", "creator", "CreateDate"];

/// Reads from the XMP packet what the dictionary lacks.
pub(crate) fn read_xmp_packet(packet: &[u8], draft: &mut ParsedDocument) {
    // For each open element, its index in `PROPERTIES`; and how many of each are open.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut within = [0_usize; PROPERTIES.len()];
    let mut authors: Vec<String> = Vec::new();
    let had_author = draft.author.is_some();
    // Text before damage in the packet is kept.
    let _ = walk(packet, &mut |event| match event {
        XmlEvent::Start(tag, _) => {
            let property = PROPERTIES.iter().position(|property| *property == tag);
            open.push(property);
            if let Some(nth) = property {
                within[nth] += 1;
            }
        }
        XmlEvent::End(_) => {
            if let Some(nth) = open.pop().flatten() {
                within[nth] -= 1;
            }
        }
        XmlEvent::Text(text) => {
            let [title, creator, created] = within.map(|it| it > 0);
            if title {
                keep_title(text, draft);
            } else if creator && authors.len() < MAX_AUTHORS {
                authors.extend(fold_non_empty(text).filter(|text| is_author(text)));
            } else if created {
                keep_date(dates::normalise(text.trim()), draft);
            }
        }
    });
    if !had_author && !authors.is_empty() {
        draft.author = Some(authors.join(", "));
    }
}

fn keep_title(text: &str, draft: &mut ParsedDocument) {
    if draft.title.is_empty() {
        draft.title = fold_non_empty(text).filter(|text| is_title(text)).unwrap_or_default();
    }
}

fn keep_author(text: &str, draft: &mut ParsedDocument) {
    if draft.author.is_none() {
        draft.author = fold_non_empty(text).filter(|text| is_author(text));
    }
}

fn keep_date(date: Option<String>, draft: &mut ParsedDocument) {
    if draft.date.is_none() {
        draft.date = date;
        draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
    }
}

fn fold_non_empty(text: &str) -> Option<String> {
    let mut out = String::new();
    plain_text::fold_whitespace_into(&mut out, text);
    (!out.is_empty()).then_some(out)
}

/// Whether a person wrote it as a title: the title of many PDFs is the name of the program or the file they were made from.
pub(crate) fn is_title(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let file = [
        ".doc", ".docx", ".odt", ".rtf", ".tex", ".dvi", ".ps", ".eps", ".indd", ".qxd", ".qxp",
        ".pdf", ".ppt", ".pptx", ".xls", ".xlsx", ".pub", ".wpd", ".txt", ".html", ".htm", ".fm",
        ".cdr", ".ai",
    ]
    .iter()
    .any(|suffix| lower.ends_with(suffix));
    let program = ["microsoft word", "microsoft powerpoint", "powerpoint presentation", "untitled"]
        .iter()
        .any(|prefix| lower.starts_with(prefix));
    let nothing = [
        "title",
        "document",
        "document1",
        "doc1",
        "slide 1",
        "presentation",
        "template",
        "none",
        "null",
        "about:blank",
        "blank",
        "no title",
        "pdf",
    ]
    .contains(&lower.as_str());
    let letters = lower.chars().filter(|c| c.is_alphabetic()).count();
    let path = lower.contains('\\') || lower.starts_with("file:") || lower.starts_with('/');
    !(file || program || nothing || path) && letters > 2
}

/// Whether it can be a person's name: the author of many PDFs is the name of a user account.
pub(crate) fn is_author(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let account = [
        "user",
        "admin",
        "administrator",
        "author",
        "owner",
        "root",
        "unknown",
        "anonymous",
        "(anonymous)",
        "microsoft office user",
        "microsoft",
        "default",
        "guest",
        "none",
        "null",
        "pc",
        "office",
        "student",
    ]
    .contains(&lower.as_str());
    !account && lower.chars().filter(|c| c.is_alphabetic()).count() > 1 && text.len() < 200
}

/// The first of the first page's first two blocks that looks like a title, and not like a sentence or a journal's head.
pub(crate) fn first_line(blocks: &[Block]) -> Option<String> {
    let on_first_page = |block: &&Block| block.page.is_none_or(|page| page == 1);
    blocks
        .iter()
        .take(2)
        .filter(on_first_page)
        .filter(|block| block.kind == BlockKind::Prose)
        .map(|block| block.text.trim())
        .find(|text| looks_like_title(text))
        .map(str::to_owned)
}

fn looks_like_title(line: &str) -> bool {
    let lower = line.to_lowercase();
    let words = line.split(' ').count();
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    let head = ["vol.", "issn", "doi", "http", "www.", "@", "page ", "issue", "©"]
        .iter()
        .any(|it| lower.contains(it));
    (10..=180).contains(&line.len())
        && words >= 2
        && letters * 3 > line.chars().count() * 2
        && line.starts_with(|c: char| c.is_uppercase() || c.is_numeric() || !c.is_ascii())
        && !line.ends_with(['.', ',', ';', ':'])
        && !head
        && is_title(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_leave_behind_is_no_title() {
        for junk in [
            "Microsoft Word - report final.doc",
            "untitled",
            "Untitled-1",
            "thesis.tex",
            "C:\\papers\\a",
            "Document1",
            "42",
            "PowerPoint Presentation",
        ] {
            assert!(!is_title(junk), "{junk}");
        }
        for title in ["Rain in the old town: five options compared", "Über Moose", "水の話です"]
        {
            assert!(is_title(title), "{title}");
        }
        assert!(!is_author("Administrator") && is_author("Marisol Teague"));
    }

    #[test]
    fn the_dictionary_speaks_first_and_the_packet_fills_in() {
        let mut draft = ParsedDocument::default();
        let info = "Title:           Microsoft Word - x.doc\nAuthor:          user\nCreationDate:    2022-09-20T00:00:00Z\nMetadata Stream: yes\n";
        assert!(read_dictionary(info, &mut draft));
        assert_eq!((draft.title.as_str(), draft.date.as_deref()), ("", Some("2022-09-20")));
        let packet = "<x:xmpmeta xmlns:x='a' xmlns:r='r' xmlns:dc='d' xmlns:xmp='x'><dc:title><r:Alt><r:li>On wells</r:li></r:Alt></dc:title><dc:creator><r:Seq><r:li>Ann Example</r:li><r:li>Bo</r:li></r:Seq></dc:creator><xmp:CreateDate>1999-01-01</xmp:CreateDate></x:xmpmeta>";
        read_xmp_packet(packet.as_bytes(), &mut draft);
        assert_eq!(draft.title, "On wells");
        assert_eq!(draft.author.as_deref(), Some("Ann Example, Bo"));
        assert_eq!(draft.date.as_deref(), Some("2022-09-20"));
    }

    #[test]
    fn a_first_line_that_is_a_sentence_or_a_head_is_no_title() {
        let blocks = |lines: &[&str]| -> Vec<Block> {
            let block =
                |text: &&str| Block { page: Some(1), ..Block::new(BlockKind::Prose, *text) };
            lines.iter().map(block).collect()
        };
        let first = |lines: &[&str]| first_line(&blocks(lines));
        assert_eq!(
            first(&["Green roofs in storms", "By Ann."]).as_deref(),
            Some("Green roofs in storms")
        );
        assert_eq!(
            first(&["Buildings in Use, vol. 11 (2022)", "Forty years on a roof"]).as_deref(),
            Some("Forty years on a roof")
        );
        assert_eq!(first(&["The dam was built in 1931.", "It failed in 1987."]), None);
        assert_eq!(first(&["12", "2022-01-01 10:12:33"]), None);
    }
}
