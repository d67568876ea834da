//! Which parser reads PDFs on this machine, and whether it and the sandbox work.
use std::ffi::OsStr;
use std::path::PathBuf;

use crate::child;
use crate::limits::ExtractLimits;
use crate::parsed_document::DocumentOrigin;
use crate::read::read_bytes;
use crate::sandbox::{Confinement, SandboxEscapes};
use ibid_core::{Error, ErrorKind, Result};

/// The parser for PDFs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PdfBackend {
    /// The parser built into this program.
    Embedded,
    /// The programs of poppler.
    Poppler {
        /// The path of `pdftotext`.
        text: PathBuf,
        /// Whether `pdfinfo`, which reads the title, is installed too.
        info: bool,
    },
}

impl PdfBackend {
    /// The parser that a child with the search path `path` uses.
    pub fn detect(path: &OsStr) -> PdfBackend {
        match child::find_program("pdftotext", path) {
            Some(text) => {
                PdfBackend::Poppler { text, info: child::find_program("pdfinfo", path).is_some() }
            }
            None => PdfBackend::Embedded,
        }
    }
}

/// The text of the PDF that [`check_pdf`] reads.
const WORD: &str = "Legible";

/// Checks that a small valid PDF can be read.
///
/// # Errors
/// Why it could not be read, or that its text was not found.
pub fn check_pdf(limits: &ExtractLimits) -> Result<()> {
    let origin = DocumentOrigin::from_file("a trial.pdf");
    let draft = read_bytes(&sample_pdf(), &origin, limits)?;
    if draft.blocks.iter().any(|block| block.text.contains(WORD)) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Malformed, "reading a trial PDF: its text was not found"))
}

/// The sandbox in force in parser processes, and the escapes from it that succeeded.
///
/// # Errors
/// `Setup` if no parser process can be started.
pub fn check_sandbox(limits: &ExtractLimits) -> Result<(Confinement, SandboxEscapes)> {
    let fault =
        |why: String| Error::new(ErrorKind::Setup, "starting a document parser").with_source(why);
    match &limits.parser {
        Some(parser) => parser.probe(limits.child_limits()).map_err(|error| fault(error.message)),
        None => Err(fault("this program cannot be started as its own child".to_owned())),
    }
}

/// A PDF with one page and one word.
fn sample_pdf() -> Vec<u8> {
    let text = format!("BT /F1 12 Tf 72 700 Td ({WORD}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{text}\nendstream", text.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (nth, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", out.len()));
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", nth + 1));
    }
    let tail = format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n",
        objects.len() + 1,
        out.len()
    );
    (out + &table + &tail).into_bytes()
}
