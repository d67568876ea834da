//! What a PDF says of itself: title, author and date, where they are more than what a program left there.
use super::xml::{Piece, walk};
use super::{ParsedDocument, dates, prose};
use crate::domain::{Block, BlockKind};

/// Takes what the document information dictionary says, as `pdfinfo -isodates` prints it. Says
/// whether there is an XMP packet too.
pub(super) fn of_dictionary(text: &str, draft: &mut ParsedDocument) -> bool {
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

/// Elements of an XMP packet whose words are taken.
const SAID: [&str; 3] = ["title", "creator", "CreateDate"];

/// Takes what the XMP packet says and the dictionary did not.
pub(super) fn of_packet(packet: &[u8], draft: &mut ParsedDocument) {
    // Of each open element which of these it is, and how many of each are open.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut within = [0_usize; SAID.len()];
    let mut authors: Vec<String> = Vec::new();
    let had_author = draft.author.is_some();
    // A packet that is damaged further down still says what it said above.
    let _ = walk(packet, &mut |piece| match piece {
        Piece::Start(tag, _) => {
            let said = SAID.iter().position(|it| *it == tag);
            open.push(said);
            if let Some(nth) = said {
                within[nth] += 1;
            }
        }
        Piece::End(_) => {
            if let Some(nth) = open.pop().flatten() {
                within[nth] -= 1;
            }
        }
        Piece::Text(text) => {
            let [title, creator, created] = within.map(|it| it > 0);
            if title {
                keep_title(text, draft);
            } else if creator && authors.len() < 20 {
                authors.extend(folded(text).filter(|it| is_author(it)));
            } else if created {
                keep_date(dates::normalise(text.trim()), draft);
            }
        }
    });
    if !had_author && !authors.is_empty() {
        draft.author = Some(authors.join(", "));
    }
}

fn keep_title(said: &str, draft: &mut ParsedDocument) {
    if draft.title.is_empty() {
        draft.title = folded(said).filter(|it| is_title(it)).unwrap_or_default();
    }
}

fn keep_author(said: &str, draft: &mut ParsedDocument) {
    if draft.author.is_none() {
        draft.author = folded(said).filter(|it| is_author(it));
    }
}

fn keep_date(date: Option<String>, draft: &mut ParsedDocument) {
    if draft.date.is_none() {
        draft.date = date;
        draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
    }
}

fn folded(said: &str) -> Option<String> {
    let mut out = String::new();
    prose::fold_into(&mut out, said);
    (!out.is_empty()).then_some(out)
}

/// Whether somebody wrote it as a title: many PDFs are titled after the program or the file they
/// were made from.
pub(super) fn is_title(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let file = [
        ".doc", ".docx", ".odt", ".rtf", ".tex", ".dvi", ".ps", ".eps", ".indd", ".qxd", ".qxp",
        ".pdf", ".ppt", ".pptx", ".xls", ".xlsx", ".pub", ".wpd", ".txt", ".html", ".htm", ".fm",
        ".cdr", ".ai",
    ]
    .iter()
    .any(|it| lower.ends_with(it));
    let program = [
        "microsoft word",
        "microsoft powerpoint",
        "powerpoint presentation",
        "untitled",
    ]
    .iter()
    .any(|it| lower.starts_with(it));
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
    let letters = lower.chars().filter(|it| it.is_alphabetic()).count();
    let path = lower.contains('\\') || lower.starts_with("file:") || lower.starts_with('/');
    !(file || program || nothing || path) && letters > 2
}

/// Whether it can be a name: many PDFs are by the account of whoever pressed the button.
pub(super) fn is_author(text: &str) -> bool {
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
    !account && lower.chars().filter(|it| it.is_alphabetic()).count() > 1 && text.len() < 200
}

/// The line a document begins with, if it reads like a title: that of the first page's first two
/// blocks that is neither a sentence nor a journal's head.
pub(super) fn first_line(blocks: &[Block]) -> Option<String> {
    let on_first_page = |it: &&Block| it.page.is_none_or(|it| it == 1);
    blocks
        .iter()
        .take(2)
        .filter(on_first_page)
        .filter(|it| it.kind == BlockKind::Prose)
        .map(|it| it.text.trim())
        .find(|it| reads_like_a_title(it))
        .map(str::to_owned)
}

fn reads_like_a_title(line: &str) -> bool {
    let lower = line.to_lowercase();
    let words = line.split(' ').count();
    let letters = line.chars().filter(|it| it.is_alphabetic()).count();
    let head = [
        "vol.", "issn", "doi", "http", "www.", "@", "page ", "issue", "©",
    ]
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
        for title in [
            "Rain in the old town: five options compared",
            "Über Moose",
            "水の話です",
        ] {
            assert!(is_title(title), "{title}");
        }
        assert!(!is_author("Administrator") && is_author("Marisol Teague"));
    }

    #[test]
    fn the_dictionary_speaks_first_and_the_packet_fills_in() {
        let mut draft = ParsedDocument::default();
        let info = "Title:           Microsoft Word - x.doc\nAuthor:          user\nCreationDate:    2022-09-20T00:00:00Z\nMetadata Stream: yes\n";
        assert!(of_dictionary(info, &mut draft));
        assert_eq!(
            (draft.title.as_str(), draft.date.as_deref()),
            ("", Some("2022-09-20"))
        );
        let packet = "<x:xmpmeta xmlns:x='a' xmlns:r='r' xmlns:dc='d' xmlns:xmp='x'><dc:title><r:Alt><r:li>On wells</r:li></r:Alt></dc:title><dc:creator><r:Seq><r:li>Ann Example</r:li><r:li>Bo</r:li></r:Seq></dc:creator><xmp:CreateDate>1999-01-01</xmp:CreateDate></x:xmpmeta>";
        of_packet(packet.as_bytes(), &mut draft);
        assert_eq!(draft.title, "On wells");
        assert_eq!(draft.author.as_deref(), Some("Ann Example, Bo"));
        assert_eq!(draft.date.as_deref(), Some("2022-09-20"));
    }

    #[test]
    fn a_first_line_that_is_a_sentence_or_a_head_is_no_title() {
        let blocks = |lines: &[&str]| -> Vec<Block> {
            let block = |it: &&str| Block {
                page: Some(1),
                ..Block::new(BlockKind::Prose, *it)
            };
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
        assert_eq!(
            first(&["The dam was built in 1931.", "It failed in 1987."]),
            None
        );
        assert_eq!(first(&["12", "2022-01-01 10:12:33"]), None);
    }
}
