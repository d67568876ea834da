//! The forms that a report leaves in: one table for the command line, the server, the pages and the errors.
use std::io::{Cursor, Write as _};
use std::path::Path;

use super::document::Document;
use super::references::{bibtex, csl, references, ris, styled};
use super::{Pages, docx, html, json, latex, markdown, marked, table};
use crate::domain::{Mode, Report};
use crate::error::{Error, Kind, Result};

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Markdown.
    #[default]
    Md,
    /// Every claim and citation as JSON.
    Json,
    /// One HTML file that needs nothing else.
    Html,
    /// A document to print and to keep.
    Pdf,
    /// A document for word processors.
    Docx,
    /// LaTeX with the sources as BibTeX.
    Tex,
    /// Quarto with the sources as BibTeX.
    Qmd,
    /// Notes for Obsidian.
    Obsidian,
    /// The evidence table for spreadsheets.
    Csv,
    /// The sources as RIS.
    Ris,
    /// The sources as BibTeX.
    Bib,
    /// The sources as CSL-JSON.
    Csl,
    /// The sources as a journal wants them.
    Bibliography,
}

/// What is known of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// What it is called: `--format NAME`, `report.NAME`.
    pub name: &'static str,
    /// Other names that people try.
    pub also: &'static [&'static str],
    /// How its file names end, without the dot.
    pub ending: &'static str,
    /// Its media type; of a form of several files that of the archive they are sent in.
    pub media: &'static str,
    /// What a person reads in a menu.
    pub label: &'static str,
    /// Whether it is several files in a folder.
    pub folder: bool,
}

/// How a report is made into a form.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Whether the exact words behind each number are shown.
    pub quotes: bool,
    /// Style of [`Form::Bibliography`].
    pub style: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            quotes: true,
            style: styled::DEFAULT,
        }
    }
}

/// A report in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// Text.
    Text(String),
    /// Bytes that are no text.
    Binary(Vec<u8>),
    /// Files by their path in the folder, parts joined by `/`. No part is empty, `.` or `..`.
    Folder(Vec<(String, Vec<u8>)>),
}

const fn about(
    name: &'static str,
    also: &'static [&'static str],
    ending: &'static str,
    media: &'static str,
    label: &'static str,
) -> About {
    About {
        name,
        also,
        ending,
        media,
        label,
        folder: false,
    }
}

/// A form of several files, sent as an archive.
const fn folder(name: &'static str, also: &'static [&'static str], label: &'static str) -> About {
    About {
        folder: true,
        ..about(name, also, name, "application/zip", label)
    }
}

impl Form {
    /// Every form, in the order of a menu.
    pub const ALL: &'static [Form] = &[
        Form::Md,
        Form::Html,
        Form::Pdf,
        Form::Docx,
        Form::Json,
        Form::Csv,
        Form::Obsidian,
        Form::Qmd,
        Form::Tex,
        Form::Bibliography,
        Form::Ris,
        Form::Bib,
        Form::Csl,
    ];

    /// What is known of it.
    pub const fn about(self) -> About {
        match self {
            Form::Md => about(
                "md",
                &["markdown"],
                "md",
                "text/markdown; charset=utf-8",
                "Markdown",
            ),
            Form::Json => about(
                "json",
                &[],
                "json",
                "application/json",
                "JSON: every claim and citation",
            ),
            Form::Html => about(
                "html",
                &["htm"],
                "html",
                "text/html; charset=utf-8",
                "HTML: one file that needs nothing else",
            ),
            Form::Pdf => about("pdf", &[], "pdf", "application/pdf", "PDF"),
            Form::Tex => folder("tex", &["latex"], "LaTeX with BibTeX"),
            Form::Qmd => folder("qmd", &["quarto"], "Quarto with BibTeX"),
            Form::Obsidian => folder("obsidian", &[], "Obsidian: a note a source"),
            Form::Csv => about(
                "csv",
                &[],
                "csv",
                "text/csv; charset=utf-8",
                "Evidence table for spreadsheets",
            ),
            Form::Docx => about(
                "docx",
                &["word"],
                "docx",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "Word document",
            ),
            Form::Ris => about(
                "ris",
                &[],
                "ris",
                "application/x-research-info-systems; charset=utf-8",
                "Sources as RIS: Zotero, EndNote, Mendeley",
            ),
            Form::Bib => about(
                "bib",
                &["bibtex"],
                "bib",
                "application/x-bibtex; charset=utf-8",
                "Sources as BibTeX",
            ),
            Form::Csl => about(
                "csl.json",
                &["csl"],
                "csl.json",
                "application/vnd.citationstyles.csl+json",
                "Sources as CSL-JSON",
            ),
            Form::Bibliography => about(
                "bibliography",
                &["references"],
                "bibliography.md",
                "text/markdown; charset=utf-8",
                "Sources in the style of a journal",
            ),
        }
    }

    /// Whether this build can make it: PDF needs the feature `pdf`.
    pub const fn is_built(self) -> bool {
        !matches!(self, Form::Pdf) || cfg!(feature = "pdf")
    }

    /// The form of this name.
    pub fn named(name: &str) -> Option<Form> {
        let is = |it: &&Form| it.about().name == name || it.about().also.contains(&name);
        Form::ALL.iter().find(is).copied()
    }

    /// The form that a file of this name would have: the longest ending counts.
    pub fn of_path(path: &Path) -> Option<Form> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let ends = |it: &&Form| name.ends_with(&format!(".{}", it.about().ending));
        let found = Form::ALL.iter().filter(ends);
        found.max_by_key(|it| it.about().ending.len()).copied()
    }

    /// The names of all forms, for who named another.
    pub fn names() -> String {
        let built = Form::ALL.iter().filter(|it| it.is_built());
        let all: Vec<&str> = built.map(|it| it.about().name).collect();
        all.join(", ")
    }

    /// Whether its bytes are no text.
    pub fn is_binary(self) -> bool {
        matches!(self, Form::Docx | Form::Pdf)
    }

    /// How the file of `report` ends in this form. An answer of one line is no Markdown.
    pub fn ending(self, report: &Report) -> &'static str {
        match (self, report.mode) {
            (Form::Md, Mode::Answer) => "txt",
            _ => self.about().ending,
        }
    }

    /// The report in this form.
    ///
    /// # Errors
    /// `Usage` for a style that is not known; `Setup` for a form that this build has not got; `Internal` where a library fails.
    pub fn make(self, report: &Report, pages: &Pages, options: Options<'_>) -> Result<Made> {
        let all = || references(report);
        let document = || Document::of(report, options.quotes);
        Ok(Made::Text(match self {
            Form::Pdf => return Ok(Made::Binary(pdf(&document())?)),
            Form::Tex => return Ok(Made::Folder(latex::write(&document(), &all()))),
            Form::Qmd => return Ok(Made::Folder(marked::quarto(&document(), &all()))),
            Form::Obsidian => {
                let files = marked::obsidian(report, &document(), &all());
                return Ok(Made::Folder(files));
            }
            Form::Csv => table::write(report),
            Form::Docx => return Ok(Made::Binary(docx::write(&document())?)),
            Form::Md => markdown::report(report, options.quotes),
            Form::Html => html::whole(report, pages)?,
            Form::Json => {
                let text = serde_json::to_string_pretty(&json::report(report, pages));
                text.unwrap_or_default() + "\n"
            }
            Form::Ris => ris::write(&all()),
            Form::Bib => bibtex::write(&all()),
            Form::Csl => csl::write(&all()),
            Form::Bibliography => styled::write(&all(), options.style, &report.lang)?,
        }))
    }
}

#[cfg(feature = "pdf")]
fn pdf(it: &Document) -> Result<Vec<u8>> {
    super::pdf::write(it)
}

#[cfg(not(feature = "pdf"))]
fn pdf(_: &Document) -> Result<Vec<u8>> {
    Err(Error::new(Kind::Setup, "this build of ibid makes no PDF")
        .hint("build it with the feature `pdf`, or take the form docx"))
}

impl Made {
    /// It as the bytes of one file: a folder as a ZIP archive.
    ///
    /// # Errors
    /// `Internal` where the archive cannot be written.
    pub fn bytes(self) -> Result<Vec<u8>> {
        match self {
            Made::Text(it) => Ok(it.into_bytes()),
            Made::Binary(it) => Ok(it),
            Made::Folder(files) => zipped(&files)
                .map_err(|it| Error::new(Kind::Internal, "writing a ZIP archive").because(it)),
        }
    }
}

fn zipped(files: &[(String, Vec<u8>)]) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // One report gives one archive, whenever it is made.
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    for (path, bytes) in files {
        archive.start_file(path.as_str(), options)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
