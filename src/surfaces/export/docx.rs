//! DOCX: headings are headings, every quote is a footnote, numbers lead to the list of sources.
use std::io::Cursor;

use docx_rs::{
    AbstractNumbering, BreakType, Docx, FieldCharType, Footer, Footnote, Hyperlink, HyperlinkType,
    IndentLevel, InstrText, Level, LevelJc, LevelText, LineSpacing, NumberFormat, Numbering,
    NumberingId, PageNum, Paragraph, ParagraphBorder, ParagraphBorderPosition, ParagraphBorders,
    Run, RunFonts, RunProperty, Shading, SpecialIndentType, Start, Style, StyleType, Table,
    TableCell, TableLayoutType, TableRow, VertAlignType, WidthType,
};

use super::document::{Block, Document, Note, Span};
use crate::error::{Error, Kind, Result};

/// Width of the text between the margins, in twentieths of a point.
const WIDTH: usize = 9000;

/// The numbering of lists; the library keeps the first for itself.
const BULLETS: usize = 2;

/// The document as a file.
///
/// # Errors
/// `Internal` where the library fails.
pub fn write(it: &Document) -> Result<Vec<u8>> {
    let bullets = Level::new(
        0,
        Start::new(1),
        NumberFormat::new("bullet"),
        LevelText::new("•"),
        LevelJc::new("left"),
    );
    let bullets = bullets.indent(Some(500), Some(SpecialIndentType::Hanging(300)), None, None);
    let font = "Calibri";
    let mut docx = Docx::new()
        .default_fonts(RunFonts::new().ascii(font).hi_ansi(font))
        .default_size(22)
        .default_line_spacing(LineSpacing::new().after(120).line(264))
        .add_abstract_numbering(AbstractNumbering::new(BULLETS).add_level(bullets))
        .add_numbering(Numbering::new(BULLETS, BULLETS))
        .footer(Footer::new().add_paragraph(Paragraph::new().add_page_num(PageNum::new())));
    for style in styles() {
        docx = docx.add_style(style);
    }
    let mut writing = Writing { it, bookmarks: 0 };
    docx = docx.add_paragraph(Paragraph::new().style("Title").add_run(words(&it.title)));
    for block in &it.blocks {
        docx = writing.block(docx, block, None);
    }
    let mut parts = docx.build();
    parts.doc_props.core = properties(it).into_bytes();
    parts.footnotes = numbered(&parts.footnotes);
    parts.styles = completed(&parts.styles, &it.lang);
    let mut out = Cursor::new(Vec::new());
    parts
        .pack(&mut out)
        .map_err(|it| Error::new(Kind::Internal, "writing a DOCX").because(it))?;
    Ok(out.into_inner())
}

fn styles() -> Vec<Style> {
    let paragraph = |id: &str, name: &str| {
        Style::new(id, StyleType::Paragraph)
            .name(name)
            .based_on("Normal")
            .q_format(true)
    };
    let heading = |level: usize, size: usize| {
        paragraph(&format!("Heading{level}"), &format!("heading {level}"))
            .next("Normal")
            .line_spacing(LineSpacing::new().before(300).after(100))
            .size(size)
            .bold()
            .outline_lvl(level - 1)
    };
    let mut raised =
        Style::new("FootnoteReference", StyleType::Character).name("footnote reference");
    raised.run_property = RunProperty::new().vert_align(VertAlignType::SuperScript);
    vec![
        paragraph("Title", "Title").size(40).bold(),
        heading(1, 30),
        heading(2, 25),
        paragraph("Answer", "Short answer").indent(Some(240), None, None, None),
        paragraph("Conflict", "Conflict").indent(Some(240), None, None, None),
        paragraph("FootnoteText", "footnote text").size(18),
        raised,
        Style::new("Hyperlink", StyleType::Character)
            .name("Hyperlink")
            .color("1F4E9E"),
    ]
}

/// A box set apart from the text.
#[derive(Clone, Copy)]
struct Apart {
    style: &'static str,
    colour: &'static str,
}

const ANSWER: Apart = Apart {
    style: "Answer",
    colour: "1F4E9E",
};
const CONFLICT: Apart = Apart {
    style: "Conflict",
    colour: "B26A00",
};

struct Writing<'d> {
    it: &'d Document,
    bookmarks: usize,
}

impl Writing<'_> {
    fn block(&mut self, mut docx: Docx, block: &Block, within: Option<Apart>) -> Docx {
        match block {
            Block::Heading { level, text } => {
                let style = format!("Heading{level}");
                let paragraph = Paragraph::new().style(&style).keep_next(true);
                docx.add_paragraph(paragraph.add_run(words(text)))
            }
            Block::Paragraph { spans } => {
                let paragraph = self.spans(apart(Paragraph::new(), within), spans);
                docx.add_paragraph(paragraph)
            }
            Block::Item { spans } => {
                let paragraph = apart(Paragraph::new(), within);
                let paragraph = paragraph.numbering(NumberingId::new(BULLETS), IndentLevel::new(0));
                docx.add_paragraph(self.spans(paragraph, spans))
            }
            Block::Answer { blocks } => {
                for it in blocks {
                    docx = self.block(docx, it, Some(ANSWER));
                }
                docx
            }
            Block::Conflict { blocks } => {
                for it in blocks {
                    docx = self.block(docx, it, Some(CONFLICT));
                }
                // What comes next is another box.
                docx.add_paragraph(Paragraph::new())
            }
            Block::Table { head, widths, rows } => {
                let table = self.table(head, widths, rows);
                docx.add_table(table).add_paragraph(Paragraph::new())
            }
            Block::Source { n, spans } => {
                let id = self.bookmark();
                let paragraph = Paragraph::new()
                    .indent(Some(500), Some(SpecialIndentType::Hanging(500)), None, None)
                    .add_bookmark_start(id, format!("src_{n}"))
                    .add_run(words(&format!("[{n}] ")).bold())
                    .add_bookmark_end(id);
                docx.add_paragraph(self.spans(paragraph, spans))
            }
        }
    }

    fn bookmark(&mut self) -> usize {
        self.bookmarks += 1;
        self.bookmarks
    }

    fn spans(&mut self, mut paragraph: Paragraph, spans: &[Span]) -> Paragraph {
        for span in spans {
            paragraph = match span {
                Span::Text { text } => paragraph.add_run(words(text)),
                Span::Strong { text } => paragraph.add_run(words(text).bold()),
                Span::Emphasis { text } => paragraph.add_run(words(text).italic()),
                Span::Break => paragraph.add_run(Run::new().add_break(BreakType::TextWrapping)),
                Span::Link { text, url } => {
                    let link = Hyperlink::new(url, HyperlinkType::External);
                    paragraph.add_hyperlink(link.add_run(words(text).style("Hyperlink")))
                }
                Span::Cite { n, listed: true } => {
                    let link = Hyperlink::new(format!("src_{n}"), HyperlinkType::Anchor);
                    let run = words(&format!("[{n}]")).style("Hyperlink");
                    paragraph.add_hyperlink(link.add_run(run))
                }
                Span::Cite { n, listed: false } => paragraph.add_run(words(&format!("[{n}]"))),
                Span::Note { nth, first } => self.note(paragraph, *nth, *first),
            };
        }
        paragraph
    }

    /// The footnote where it is named first, else a link to it.
    fn note(&mut self, paragraph: Paragraph, nth: usize, first: bool) -> Paragraph {
        let note = nth.checked_sub(1).and_then(|at| self.it.notes.get(at));
        match (note, first) {
            (Some(note), true) => {
                let id = self.bookmark();
                let content = vec![footnote(note)];
                paragraph
                    .add_bookmark_start(id, format!("q_{nth}"))
                    .add_run(Run::new().add_footnote_reference(Footnote { id: nth, content }))
                    .add_bookmark_end(id)
            }
            _ => {
                let link = Hyperlink::new(format!("q_{nth}"), HyperlinkType::Anchor);
                let run = words(&nth.to_string()).style("FootnoteReference");
                paragraph.add_hyperlink(link.add_run(run))
            }
        }
    }

    fn table(&mut self, head: &[String], widths: &[u16], rows: &[Vec<Vec<Span>>]) -> Table {
        let parts: usize = widths
            .iter()
            .map(|it| usize::from(*it))
            .sum::<usize>()
            .max(1);
        let grid: Vec<usize> = widths
            .iter()
            .map(|it| WIDTH * usize::from(*it) / parts)
            .collect();
        let cell = |nth: usize, paragraph: Paragraph| {
            let width = grid.get(nth).copied().unwrap_or_default();
            TableCell::new()
                .width(width, WidthType::Dxa)
                .add_paragraph(paragraph)
        };
        let named = head.iter().enumerate().map(|(nth, it)| {
            let paragraph = Paragraph::new().add_run(words(it).bold());
            cell(nth, paragraph).shading(Shading::new().fill("ECECEC"))
        });
        let mut all = vec![TableRow::new(named.collect()).cant_split()];
        for row in rows {
            let cells = row.iter().enumerate();
            let cells = cells.map(|(nth, it)| cell(nth, self.spans(Paragraph::new(), it)));
            all.push(TableRow::new(cells.collect()));
        }
        Table::new(all)
            .set_grid(grid.clone())
            .width(WIDTH, WidthType::Dxa)
            .layout(TableLayoutType::Fixed)
    }
}

fn words(text: &str) -> Run {
    Run::new().add_text(text)
}

fn apart(paragraph: Paragraph, within: Option<Apart>) -> Paragraph {
    let Some(it) = within else {
        return paragraph;
    };
    let bar = ParagraphBorder::new(ParagraphBorderPosition::Left)
        .size(18)
        .space(8)
        .color(it.colour);
    let mut paragraph = paragraph.style(it.style);
    paragraph.property = paragraph
        .property
        .set_borders(ParagraphBorders::with_empty().set(bar));
    paragraph
}

fn footnote(it: &Note) -> Paragraph {
    let page = it.page.map_or_else(String::new, |it| format!(", p. {it}"));
    let said = format!(" \"{}\" — {}{page} — ", it.quote, it.title);
    let paragraph = Paragraph::new().style("FootnoteText").add_run(words(&said));
    match (&it.url, &it.address) {
        // A field carries its address itself; a hyperlink would need a list of addresses of its own, which the library does not
        // write for footnotes.
        (Some(url), Some(address)) => {
            let to = url
                .replace('&', "&amp;")
                .replace('\'', "%27")
                .replace('"', "%22");
            let field = |it| Run::new().add_field_char(it, false);
            let order = InstrText::Unsupported(format!(" HYPERLINK \"{to}\" "));
            paragraph
                .add_run(field(FieldCharType::Begin))
                .add_run(Run::new().add_instr_text(order))
                .add_run(field(FieldCharType::Separate))
                .add_run(words(address).style("Hyperlink"))
                .add_run(field(FieldCharType::End))
        }
        _ => paragraph.add_run(words(it.file.as_deref().unwrap_or_default())),
    }
}

/// Title, language and day of the document, as Dublin Core.
fn properties(it: &Document) -> String {
    let text = |it: &str| quick_xml::escape::escape(it).into_owned();
    let day = match super::references::Day::parse(&it.date).filter(|it| it.day.is_some()) {
        Some(day) => format!(
            "<dcterms:created xsi:type=\"dcterms:W3CDTF\">{}T00:00:00Z</dcterms:created>",
            day.joined("-")
        ),
        None => String::new(),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\
         <cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/core-properties\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:dcterms=\"http://purl.org/dc/terms/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\
         <dc:title>{}</dc:title><dc:subject>{}</dc:subject><dc:creator>Ibid</dc:creator>\
         <dc:identifier>{}</dc:identifier><dc:language>{}</dc:language>{day}</cp:coreProperties>",
        text(&it.title),
        text(&it.question),
        text(&it.run),
        text(&it.lang),
    )
}

/// Footnotes with their own number before their words, which the library leaves out.
fn numbered(footnotes: &[u8]) -> Vec<u8> {
    const NUMBER: &str =
        "<w:r><w:rPr><w:rStyle w:val=\"FootnoteReference\" /></w:rPr><w:footnoteRef /></w:r>";
    let text = String::from_utf8_lossy(footnotes);
    let mut pieces = text.split("<w:footnote ");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push_str("<w:footnote ");
        out.push_str(&piece.replacen("</w:pPr>", &format!("</w:pPr>{NUMBER}"), 1));
    }
    out.into_bytes()
}

/// The styles with what the library leaves out: which of them is the default, and the language that words are in, for who
/// checks their spelling or reads them aloud.
fn completed(styles: &[u8], lang: &str) -> Vec<u8> {
    let sound = lang
        .bytes()
        .all(|it| it.is_ascii_alphabetic() || it == b'-');
    let lang = match sound && (2..=8).contains(&lang.len()) {
        true => lang,
        false => "en",
    };
    let text = String::from_utf8_lossy(styles);
    let normal = "w:type=\"paragraph\" w:styleId=\"Normal\"";
    let text = text.replacen(normal, &format!("w:default=\"1\" {normal}"), 1);
    let end = "</w:rPr></w:rPrDefault>";
    let told = format!("<w:lang w:val=\"{lang}\" />{end}");
    text.replacen(end, &told, 1).into_bytes()
}
