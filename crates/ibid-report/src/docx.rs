//! DOCX with real headings, a footnote for every quote, and links to the list of sources.
use std::io::Cursor;

use docx_rs::{
    AbstractNumbering, BreakType, Docx, FieldCharType, Footer, Footnote, Hyperlink, HyperlinkType,
    IndentLevel, InstrText, Level, LevelJc, LevelText, LineSpacing, NumberFormat, Numbering,
    NumberingId, PageNum, Paragraph, ParagraphBorder, ParagraphBorderPosition, ParagraphBorders,
    Run, RunFonts, RunProperty, Shading, SpecialIndentType, Start, Style, StyleType, Table,
    TableCell, TableLayoutType, TableRow, VertAlignType, WidthType,
};

use super::document::{DocumentBlock, InlineSpan, QuoteNote, ReportDocument};
use ibid_core::{Error, ErrorKind, Result};

/// The text width between the margins, in twentieths of a point.
const TEXT_WIDTH: usize = 9000;

/// The numbering of lists; the library reserves the first.
const BULLETS: usize = 2;

/// The document as a DOCX file.
///
/// # Errors
/// `Internal` when the library fails.
pub fn write(it: &ReportDocument) -> Result<Vec<u8>> {
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
    let mut writing = DocxWriter { document: it, bookmarks: 0 };
    docx = docx.add_paragraph(Paragraph::new().style("Title").add_run(text_run(&it.title)));
    for block in &it.blocks {
        docx = writing.block(docx, block, None);
    }
    let mut parts = docx.build();
    parts.doc_props.core = core_properties(it).into_bytes();
    parts.footnotes = number_footnotes(&parts.footnotes);
    parts.styles = complete_styles(&parts.styles, &it.lang);
    let mut out = Cursor::new(Vec::new());
    parts
        .pack(&mut out)
        .map_err(|error| Error::new(ErrorKind::Internal, "writing a DOCX").with_source(error))?;
    Ok(out.into_inner())
}

fn styles() -> Vec<Style> {
    let paragraph = |id: &str, name: &str| {
        Style::new(id, StyleType::Paragraph).name(name).based_on("Normal").q_format(true)
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
        Style::new("Hyperlink", StyleType::Character).name("Hyperlink").color("1F4E9E"),
    ]
}

/// A callout.
#[derive(Clone, Copy)]
struct CalloutStyle {
    style: &'static str,
    colour: &'static str,
}

const ANSWER: CalloutStyle = CalloutStyle { style: "Answer", colour: "1F4E9E" };
const CONFLICT: CalloutStyle = CalloutStyle { style: "Conflict", colour: "B26A00" };

struct DocxWriter<'d> {
    document: &'d ReportDocument,
    bookmarks: usize,
}

impl DocxWriter<'_> {
    fn block(
        &mut self,
        mut docx: Docx,
        block: &DocumentBlock,
        within: Option<CalloutStyle>,
    ) -> Docx {
        match block {
            DocumentBlock::Heading { level, text } => {
                let style = format!("Heading{level}");
                let paragraph = Paragraph::new().style(&style).keep_next(true);
                docx.add_paragraph(paragraph.add_run(text_run(text)))
            }
            DocumentBlock::Paragraph { spans } => {
                let paragraph = self.spans(apply_box(Paragraph::new(), within), spans);
                docx.add_paragraph(paragraph)
            }
            DocumentBlock::Item { spans } => {
                let paragraph = apply_box(Paragraph::new(), within);
                let paragraph = paragraph.numbering(NumberingId::new(BULLETS), IndentLevel::new(0));
                docx.add_paragraph(self.spans(paragraph, spans))
            }
            DocumentBlock::Answer { blocks } => {
                for it in blocks {
                    docx = self.block(docx, it, Some(ANSWER));
                }
                docx
            }
            DocumentBlock::Conflict { blocks } => {
                for it in blocks {
                    docx = self.block(docx, it, Some(CONFLICT));
                }
                // The next block starts another callout.
                docx.add_paragraph(Paragraph::new())
            }
            DocumentBlock::Table { head, widths, rows } => {
                let table = self.table(head, widths, rows);
                docx.add_table(table).add_paragraph(Paragraph::new())
            }
            DocumentBlock::Chart { lines } => {
                let font = RunFonts::new().ascii("Courier New").hi_ansi("Courier New");
                let line = |paragraph: Paragraph, line: &String| {
                    let run = text_run(line).fonts(font.clone()).size(16);
                    paragraph.add_run(run.add_break(BreakType::TextWrapping))
                };
                docx.add_paragraph(lines.iter().fold(Paragraph::new().keep_lines(true), line))
            }
            DocumentBlock::Source { n, spans } => {
                let id = self.bookmark();
                let paragraph = Paragraph::new()
                    .indent(Some(500), Some(SpecialIndentType::Hanging(500)), None, None)
                    .add_bookmark_start(id, format!("src_{n}"))
                    .add_run(text_run(&format!("[{n}] ")).bold())
                    .add_bookmark_end(id);
                docx.add_paragraph(self.spans(paragraph, spans))
            }
        }
    }

    fn bookmark(&mut self) -> usize {
        self.bookmarks += 1;
        self.bookmarks
    }

    fn spans(&mut self, mut paragraph: Paragraph, spans: &[InlineSpan]) -> Paragraph {
        for span in spans {
            paragraph = match span {
                InlineSpan::Text { text } => paragraph.add_run(text_run(text)),
                InlineSpan::Strong { text } => paragraph.add_run(text_run(text).bold()),
                InlineSpan::Emphasis { text } => paragraph.add_run(text_run(text).italic()),
                InlineSpan::Break => {
                    paragraph.add_run(Run::new().add_break(BreakType::TextWrapping))
                }
                InlineSpan::Link { text, url } => {
                    let link = Hyperlink::new(url, HyperlinkType::External);
                    paragraph.add_hyperlink(link.add_run(text_run(text).style("Hyperlink")))
                }
                InlineSpan::Cite { n, listed: true } => {
                    let link = Hyperlink::new(format!("src_{n}"), HyperlinkType::Anchor);
                    let run = text_run(&format!("[{n}]")).style("Hyperlink");
                    paragraph.add_hyperlink(link.add_run(run))
                }
                InlineSpan::Cite { n, listed: false } => {
                    paragraph.add_run(text_run(&format!("[{n}]")))
                }
                InlineSpan::Note { nth, first } => self.note(paragraph, *nth, *first),
            };
        }
        paragraph
    }

    /// The footnote at its first reference, else a link to it.
    fn note(&mut self, paragraph: Paragraph, nth: usize, first: bool) -> Paragraph {
        let note = nth.checked_sub(1).and_then(|at| self.document.notes.get(at));
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
                let run = text_run(&nth.to_string()).style("FootnoteReference");
                paragraph.add_hyperlink(link.add_run(run))
            }
        }
    }

    fn table(&mut self, head: &[String], widths: &[u16], rows: &[Vec<Vec<InlineSpan>>]) -> Table {
        let parts: usize = widths.iter().map(|width| usize::from(*width)).sum::<usize>().max(1);
        let grid: Vec<usize> =
            widths.iter().map(|width| TEXT_WIDTH * usize::from(*width) / parts).collect();
        let cell = |nth: usize, paragraph: Paragraph| {
            let width = grid.get(nth).copied().unwrap_or_default();
            TableCell::new().width(width, WidthType::Dxa).add_paragraph(paragraph)
        };
        let named = head.iter().enumerate().map(|(nth, it)| {
            let paragraph = Paragraph::new().add_run(text_run(it).bold());
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
            .width(TEXT_WIDTH, WidthType::Dxa)
            .layout(TableLayoutType::Fixed)
    }
}

fn text_run(text: &str) -> Run {
    Run::new().add_text(text)
}

fn apply_box(paragraph: Paragraph, within: Option<CalloutStyle>) -> Paragraph {
    let Some(it) = within else {
        return paragraph;
    };
    let bar =
        ParagraphBorder::new(ParagraphBorderPosition::Left).size(18).space(8).color(it.colour);
    let mut paragraph = paragraph.style(it.style);
    paragraph.property = paragraph.property.set_borders(ParagraphBorders::with_empty().set(bar));
    paragraph
}

fn footnote(it: &QuoteNote) -> Paragraph {
    let page = it.page.map_or_else(String::new, |it| format!(", p. {it}"));
    let said = format!(" \"{}\" — {}{page} — ", it.quote, it.title);
    let paragraph = Paragraph::new().style("FootnoteText").add_run(text_run(&said));
    match (&it.url, &it.address) {
        // A field contains its URL. A hyperlink would need an entry in a list of URLs, which the library does not write for footnotes.
        (Some(url), Some(address)) => {
            let to = url.replace('&', "&amp;").replace('\'', "%27").replace('"', "%22");
            let field = |it| Run::new().add_field_char(it, false);
            let order = InstrText::Unsupported(format!(" HYPERLINK \"{to}\" "));
            paragraph
                .add_run(field(FieldCharType::Begin))
                .add_run(Run::new().add_instr_text(order))
                .add_run(field(FieldCharType::Separate))
                .add_run(text_run(address).style("Hyperlink"))
                .add_run(field(FieldCharType::End))
        }
        _ => paragraph.add_run(text_run(it.file.as_deref().unwrap_or_default())),
    }
}

/// The title, language and day of the document, as Dublin Core.
fn core_properties(it: &ReportDocument) -> String {
    let text = |text: &str| quick_xml::escape::escape(text).into_owned();
    let day = match super::references::PartialDate::parse(&it.date)
        .filter(|parsed| parsed.day.is_some())
    {
        Some(day) => format!(
            "<dcterms:created xsi:type=\"dcterms:W3CDTF\">{}T00:00:00Z</dcterms:created>",
            day.join("-")
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

/// Adds the footnote numbers, which the library leaves out.
fn number_footnotes(footnotes: &[u8]) -> Vec<u8> {
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

/// Adds to the styles what the library leaves out: the default style, and the language for spell checkers and screen readers.
fn complete_styles(styles: &[u8], lang: &str) -> Vec<u8> {
    let sound = lang.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let lang = if sound && (2..=8).contains(&lang.len()) { lang } else { "en" };
    let text = String::from_utf8_lossy(styles);
    let normal = "w:type=\"paragraph\" w:styleId=\"Normal\"";
    let text = text.replacen(normal, &format!("w:default=\"1\" {normal}"), 1);
    let end = "</w:rPr></w:rPrDefault>";
    let tagged = format!("<w:lang w:val=\"{lang}\" />{end}");
    text.replacen(end, &tagged, 1).into_bytes()
}
