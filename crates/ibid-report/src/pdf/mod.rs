//! PDF, typeset by Typst from `report.typ`. The report is passed as data: none of it is parsed as markup, and the template can read no
//! other file.
use std::sync::LazyLock;

use serde_json::json;
use typst::diag::{FileError, FileResult, SourceDiagnostic};
use typst::foundations::{Bytes, Datetime, Duration, Smart};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt as _, World};
use typst_kit::fonts::{self, FontStore};
use typst_layout::PagedDocument;
use typst_pdf::PdfOptions;

use super::document::ReportDocument;
use super::references::PartialDate;
use ibid_core::{Error, ErrorKind, Result};

const TEMPLATE: &str = include_str!("report.typ");

/// The document as a PDF file.
///
/// # Errors
/// `Internal` when the library fails.
pub fn write(report: &ReportDocument) -> Result<Vec<u8>> {
    let world = PdfWorld::new(report)?;
    let document = typst::compile::<PagedDocument>(&world).output;
    let options = PdfOptions {
        ident: Smart::Custom(report.run.clone()),
        creator: Smart::Custom(Some("Ibid".to_owned())),
        ..PdfOptions::default()
    };
    let pdf = document.and_then(|document| typst_pdf::pdf(&document, &options));
    // The cache of this report is useless for another one.
    typst::comemo::evict(0);
    pdf.map_err(|faults| typst_error(&faults))
}

fn typst_error(faults: &[SourceDiagnostic]) -> Error {
    let why: Vec<&str> = faults.iter().map(|error| error.message.as_str()).collect();
    Error::new(ErrorKind::Internal, "typesetting a PDF").with_source(why.join("; "))
}

/// The fonts of this program.
static EMBEDDED_FONTS: LazyLock<FontStore> = LazyLock::new(|| {
    let mut store = FontStore::new();
    store.extend(fonts::embedded());
    store
});

/// The same and the fonts of the system, for scripts that ours lack. Searching for them takes a moment.
static ALL_FONTS: LazyLock<FontStore> = LazyLock::new(|| {
    let mut store = FontStore::new();
    store.extend(fonts::embedded());
    store.extend(fonts::system());
    store
});

/// Everything that the template can access.
struct PdfWorld {
    library: LazyHash<Library>,
    fonts: &'static FontStore,
    main: Source,
    data: (FileId, Bytes),
}

impl PdfWorld {
    fn new(report: &ReportDocument) -> Result<PdfWorld> {
        let file = |name: &str| {
            let path = VirtualPath::new(name)
                .map_err(|_| Error::new(ErrorKind::Internal, format!("naming {name}")))?;
            Ok::<FileId, Error>(RootedPath::new(VirtualRoot::Project, path).intern())
        };
        let mut data = serde_json::to_value(report).map_err(|cause| {
            Error::new(ErrorKind::Internal, "writing a report as JSON").with_source(cause)
        })?;
        let day = PartialDate::parse(&report.date);
        data["day"] = match day.map(|day| (day.year, day.month, day.day)) {
            Some((year, Some(month), Some(day))) if is_date(year, month, day) => {
                json!([year, month, day])
            }
            _ => json!(null),
        };
        let lang = &report.lang;
        if !(2..=3).contains(&lang.len()) || !lang.bytes().all(|byte| byte.is_ascii_lowercase()) {
            data["lang"] = json!("en");
        }
        let text = data.to_string();
        let fonts = if is_covered(&text) { &*EMBEDDED_FONTS } else { &*ALL_FONTS };
        Ok(PdfWorld {
            library: LazyHash::new(Library::default()),
            fonts,
            main: Source::new(file("/report.typ")?, TEMPLATE.to_owned()),
            data: (file("/report.json")?, Bytes::from_string(text)),
        })
    }
}

/// Whether the date exists; the template fails on `31 February`.
fn is_date(year: u16, month: u8, day: u8) -> bool {
    let signed = |byte: u8| i8::try_from(byte).unwrap_or_default();
    i16::try_from(year)
        .is_ok_and(|year| jiff::civil::Date::new(year, signed(month), signed(day)).is_ok())
}

/// Whether the fonts of this program have every letter.
fn is_covered(text: &str) -> bool {
    let book = EMBEDDED_FONTS.book();
    let fonts: Vec<_> = (0..).map_while(|nth| book.info(nth)).collect();
    let has = |c: char| fonts.iter().any(|font| font.coverage.contains(u32::from(c)));
    let mut letters: Vec<char> = text.chars().filter(|c| !c.is_ascii()).collect();
    letters.sort_unstable();
    letters.dedup();
    letters.into_iter().all(has)
}

impl World for PdfWorld {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        self.fonts.book()
    }

    fn main(&self) -> FileId {
        self.main.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == self.main.id() { Ok(self.main.clone()) } else { Err(FileError::AccessDenied) }
    }

    fn file(&self, id: FileId) -> FileResult<Bytes> {
        if id == self.data.0 { Ok(self.data.1.clone()) } else { Err(FileError::AccessDenied) }
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.font(index)
    }

    fn today(&self, _: Option<Duration>) -> Option<Datetime> {
        None
    }
}
