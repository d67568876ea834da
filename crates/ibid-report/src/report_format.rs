//! The formats of a report: one table for the command line, the server, the web pages and the error messages.
use std::io::{Cursor, Write as _};
use std::path::Path;

use super::document::ReportDocument;
use super::references::{bibliography, bibtex, csl, references, ris};
use super::{PagesByHash, docx, evidence_csv, html, json, latex, markdown, markdown_dialects};
use ibid_core::domain::{OutputMode, Report};
use ibid_core::{Error, ErrorKind, Result};

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportFormat {
    /// Markdown.
    #[default]
    Md,
    /// Every claim and citation as JSON.
    Json,
    /// One standalone HTML file.
    Html,
    /// A PDF document.
    Pdf,
    /// A Word document.
    Docx,
    /// LaTeX with the sources as BibTeX.
    Tex,
    /// Quarto with the sources as BibTeX.
    Qmd,
    /// Obsidian notes.
    Obsidian,
    /// The evidence table as CSV.
    Csv,
    /// The sources as RIS.
    Ris,
    /// The sources as BibTeX.
    Bib,
    /// The sources as CSL-JSON.
    Csl,
    /// The sources as a formatted bibliography.
    Bibliography,
}

/// The properties of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatInfo {
    /// The name: `--format NAME`, `report.NAME`.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// The file extension, without the dot.
    pub ending: &'static str,
    /// The media type; for a format of several files, that of their archive.
    pub media_type: &'static str,
    /// The label in a menu.
    pub label: &'static str,
    /// Whether it consists of several files in a folder.
    pub folder: bool,
}

/// Options of an export.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions<'a> {
    /// Whether the quotes are included.
    pub quotes: bool,
    /// The style of [`ReportFormat::Bibliography`].
    pub style: &'a str,
}

impl Default for ExportOptions<'_> {
    fn default() -> Self {
        ExportOptions { quotes: true, style: bibliography::DEFAULT }
    }
}

/// A report in one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportOutput {
    /// Text.
    Text(String),
    /// Binary data.
    Binary(Vec<u8>),
    /// Files by their path in the folder, with `/` between parts. No part is empty, `.` or `..`.
    Folder(Vec<(String, Vec<u8>)>),
}

const fn info(
    name: &'static str,
    also: &'static [&'static str],
    ending: &'static str,
    media: &'static str,
    label: &'static str,
) -> FormatInfo {
    FormatInfo { name, aliases: also, ending, media_type: media, label, folder: false }
}

/// The archive of a format of several files.
const fn folder_info(
    name: &'static str,
    also: &'static [&'static str],
    label: &'static str,
) -> FormatInfo {
    FormatInfo { folder: true, ..info(name, also, name, "application/zip", label) }
}

impl ReportFormat {
    /// Every format, in the order of a menu.
    pub const ALL: &'static [ReportFormat] = &[
        ReportFormat::Md,
        ReportFormat::Html,
        ReportFormat::Pdf,
        ReportFormat::Docx,
        ReportFormat::Json,
        ReportFormat::Csv,
        ReportFormat::Obsidian,
        ReportFormat::Qmd,
        ReportFormat::Tex,
        ReportFormat::Bibliography,
        ReportFormat::Ris,
        ReportFormat::Bib,
        ReportFormat::Csl,
    ];

    /// The properties of this format.
    pub const fn info(self) -> FormatInfo {
        match self {
            ReportFormat::Md => {
                info("md", &["markdown"], "md", "text/markdown; charset=utf-8", "Markdown")
            }
            ReportFormat::Json => {
                info("json", &[], "json", "application/json", "JSON: every claim and citation")
            }
            ReportFormat::Html => info(
                "html",
                &["htm"],
                "html",
                "text/html; charset=utf-8",
                "HTML: one file that needs nothing else",
            ),
            ReportFormat::Pdf => info("pdf", &[], "pdf", "application/pdf", "PDF"),
            ReportFormat::Tex => folder_info("tex", &["latex"], "LaTeX with BibTeX"),
            ReportFormat::Qmd => folder_info("qmd", &["quarto"], "Quarto with BibTeX"),
            ReportFormat::Obsidian => folder_info("obsidian", &[], "Obsidian: a note a source"),
            ReportFormat::Csv => info(
                "csv",
                &[],
                "csv",
                "text/csv; charset=utf-8",
                "Evidence table for spreadsheets",
            ),
            ReportFormat::Docx => info(
                "docx",
                &["word"],
                "docx",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "Word document",
            ),
            ReportFormat::Ris => info(
                "ris",
                &[],
                "ris",
                "application/x-research-info-systems; charset=utf-8",
                "Sources as RIS: Zotero, EndNote, Mendeley",
            ),
            ReportFormat::Bib => info(
                "bib",
                &["bibtex"],
                "bib",
                "application/x-bibtex; charset=utf-8",
                "Sources as BibTeX",
            ),
            ReportFormat::Csl => info(
                "csl.json",
                &["csl"],
                "csl.json",
                "application/vnd.citationstyles.csl+json",
                "Sources as CSL-JSON",
            ),
            ReportFormat::Bibliography => info(
                "bibliography",
                &["references"],
                "bibliography.md",
                "text/markdown; charset=utf-8",
                "Sources in the style of a journal",
            ),
        }
    }

    /// Whether this build supports it: PDF needs the feature `pdf`.
    pub const fn is_built(self) -> bool {
        !matches!(self, ReportFormat::Pdf) || cfg!(feature = "pdf")
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<ReportFormat> {
        let is = |format: &&ReportFormat| {
            format.info().name == name || format.info().aliases.contains(&name)
        };
        ReportFormat::ALL.iter().find(is).copied()
    }

    /// The format of a file with this name; the longest extension wins.
    pub fn from_path(path: &Path) -> Option<ReportFormat> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let ends = |format: &&ReportFormat| name.ends_with(&format!(".{}", format.info().ending));
        let found = ReportFormat::ALL.iter().filter(ends);
        found.max_by_key(|it| it.info().ending.len()).copied()
    }

    /// The names of all formats, for an error message.
    pub fn names() -> String {
        let built = ReportFormat::ALL.iter().filter(|it| it.is_built());
        let all: Vec<&str> = built.map(|it| it.info().name).collect();
        all.join(", ")
    }

    /// Whether its content is binary.
    pub fn is_binary(self) -> bool {
        matches!(self, ReportFormat::Docx | ReportFormat::Pdf)
    }

    /// The file extension of `report` in this format. A one-line answer is not Markdown.
    pub fn extension(self, report: &Report) -> &'static str {
        match (self, report.mode) {
            (ReportFormat::Md, OutputMode::Answer) => "txt",
            _ => self.info().ending,
        }
    }

    /// Renders the report.
    ///
    /// # Errors
    /// `Usage` for an unknown style, `Setup` for a format that this build does not support, `Internal` when a library fails.
    pub fn render(
        self,
        report: &Report,
        pages: &PagesByHash,
        options: ExportOptions<'_>,
    ) -> Result<ExportOutput> {
        let all = || references(report);
        let document = || ReportDocument::from_report(report, options.quotes);
        Ok(ExportOutput::Text(match self {
            ReportFormat::Pdf => return Ok(ExportOutput::Binary(pdf(&document())?)),
            ReportFormat::Tex => {
                return Ok(ExportOutput::Folder(latex::write(&document(), &all())));
            }
            ReportFormat::Qmd => {
                return Ok(ExportOutput::Folder(markdown_dialects::quarto(&document(), &all())));
            }
            ReportFormat::Obsidian => {
                let files = markdown_dialects::obsidian(report, &document(), &all());
                return Ok(ExportOutput::Folder(files));
            }
            ReportFormat::Csv => evidence_csv::write(report),
            ReportFormat::Docx => return Ok(ExportOutput::Binary(docx::write(&document())?)),
            ReportFormat::Md => markdown::report(report, options.quotes),
            ReportFormat::Html => html::render_standalone(report, pages)?,
            ReportFormat::Json => {
                let text = serde_json::to_string_pretty(&json::report(report, pages));
                text.unwrap_or_default() + "\n"
            }
            ReportFormat::Ris => ris::write(&all()),
            ReportFormat::Bib => bibtex::write(&all()),
            ReportFormat::Csl => csl::write(&all()),
            ReportFormat::Bibliography => bibliography::write(&all(), options.style, &report.lang)?,
        }))
    }
}

#[cfg(feature = "pdf")]
fn pdf(it: &ReportDocument) -> Result<Vec<u8>> {
    super::pdf::write(it)
}

#[cfg(not(feature = "pdf"))]
fn pdf(_: &ReportDocument) -> Result<Vec<u8>> {
    Err(Error::new(ErrorKind::Setup, "this build of ibid does not support PDF")
        .with_hint("build it with the feature `pdf`, or use the format docx"))
}

impl ExportOutput {
    /// The content of one file: a folder becomes a ZIP archive.
    ///
    /// # Errors
    /// `Internal` when the archive cannot be written.
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        match self {
            ExportOutput::Text(it) => Ok(it.into_bytes()),
            ExportOutput::Binary(it) => Ok(it),
            ExportOutput::Folder(files) => zip_files(&files).map_err(|error| {
                Error::new(ErrorKind::Internal, "writing a ZIP archive").with_source(error)
            }),
        }
    }
}

fn zip_files(files: &[(String, Vec<u8>)]) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // A fixed time stamp, so that one report always gives the same archive.
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    for (path, bytes) in files {
        archive.start_file(path.as_str(), options)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
