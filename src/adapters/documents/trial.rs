//! Who reads PDFs on this machine, and whether they can.
use std::path::PathBuf;

use super::{Confinement, Escapes, Limits, Origin, child, read_bytes};
use crate::{Error, Kind, Result};

/// Who reads PDFs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PdfReader {
    /// The reader in this program.
    Embedded,
    /// The programs of poppler.
    Poppler {
        /// `pdftotext`.
        text: PathBuf,
        /// Whether `pdfinfo` is there too, which knows titles.
        info: bool,
    },
}

impl PdfReader {
    /// As the search path is now: what a child started now would find.
    pub fn now() -> PdfReader {
        let path = std::env::var_os("PATH").unwrap_or_default();
        match child::program("pdftotext", &path) {
            Some(text) => PdfReader::Poppler {
                text,
                info: child::program("pdfinfo", &path).is_some(),
            },
            None => PdfReader::Embedded,
        }
    }
}

const WORD: &str = "Legible";

/// Reads a small PDF that is whole.
///
/// # Errors
/// What came of it instead of its words.
pub fn try_pdf(limits: &Limits) -> Result<()> {
    let origin = Origin::file("a trial.pdf");
    let draft = read_bytes(&sample(), &origin, limits)?;
    if draft.blocks.iter().any(|it| it.text.contains(WORD)) {
        return Ok(());
    }
    Err(Error::new(
        Kind::Malformed,
        "reading a trial PDF: its words did not come out",
    ))
}

/// What the children that parse have taken from themselves, and what one of them could do all the same when it tried.
///
/// # Errors
/// `Setup` where none can be started.
pub fn try_sandbox(limits: &Limits) -> Result<(Confinement, Escapes)> {
    let fault = |why: String| Error::new(Kind::Setup, "starting a document parser").because(why);
    match &limits.parser {
        Some(parser) => parser.probe(limits).map_err(|it| fault(it.message)),
        None => Err(fault("this program cannot be its own child".to_owned())),
    }
}

/// A PDF of one page with one word.
fn sample() -> Vec<u8> {
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
