//! PDF, set by Typst from `report.typ`. The report comes to it as data: no word of it is read as markup, and the template can
//! read no file but that data.
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

use super::document::Document;
use super::references::Day;
use crate::error::{Error, Kind, Result};

const TEMPLATE: &str = include_str!("report.typ");

/// The document as a file.
///
/// # Errors
/// `Internal` where the library fails.
pub fn write(it: &Document) -> Result<Vec<u8>> {
    let failed = |it: &[SourceDiagnostic]| {
        let why: Vec<&str> = it.iter().map(|it| it.message.as_str()).collect();
        Error::new(Kind::Internal, "setting a PDF").because(why.join("; "))
    };
    let sheet = Sheet::new(it)?;
    let document = typst::compile::<PagedDocument>(&sheet).output;
    let options = PdfOptions {
        ident: Smart::Custom(it.run.clone()),
        creator: Smart::Custom(Some("Ibid".to_owned())),
        ..PdfOptions::default()
    };
    let made = document.and_then(|it| typst_pdf::pdf(&it, &options));
    // What was remembered of this report helps no other.
    typst::comemo::evict(0);
    made.map_err(|it| failed(&it))
}

/// Fonts that come with the program.
static OURS: LazyLock<FontStore> = LazyLock::new(|| {
    let mut store = FontStore::new();
    store.extend(fonts::embedded());
    store
});

/// The same and those of the machine, for scripts that ours do not have. Looking for them takes a moment.
static ALL: LazyLock<FontStore> = LazyLock::new(|| {
    let mut store = FontStore::new();
    store.extend(fonts::embedded());
    store.extend(fonts::system());
    store
});

/// All that the template can see.
struct Sheet {
    library: LazyHash<Library>,
    fonts: &'static FontStore,
    main: Source,
    data: (FileId, Bytes),
}

impl Sheet {
    fn new(it: &Document) -> Result<Sheet> {
        let file = |name: &str| {
            let path = VirtualPath::new(name)
                .map_err(|_| Error::new(Kind::Internal, format!("naming {name}")))?;
            Ok::<FileId, Error>(RootedPath::new(VirtualRoot::Project, path).intern())
        };
        let mut data = serde_json::to_value(it)
            .map_err(|it| Error::new(Kind::Internal, "writing a report as JSON").because(it))?;
        let day = Day::parse(&it.date);
        data["day"] = match day.map(|it| (it.year, it.month, it.day)) {
            Some((year, Some(month), Some(day))) if real(year, month, day) => {
                json!([year, month, day])
            }
            _ => json!(null),
        };
        let sound =
            (2..=3).contains(&it.lang.len()) && it.lang.bytes().all(|it| it.is_ascii_lowercase());
        if !sound {
            data["lang"] = json!("en");
        }
        let text = data.to_string();
        let fonts = match covered(&text) {
            true => &*OURS,
            false => &*ALL,
        };
        Ok(Sheet {
            library: LazyHash::new(Library::default()),
            fonts,
            main: Source::new(file("/report.typ")?, TEMPLATE.to_owned()),
            data: (file("/report.json")?, Bytes::from_string(text)),
        })
    }
}

/// Whether there is such a day; the template could not say `31 February`.
fn real(year: u16, month: u8, day: u8) -> bool {
    let signed = |it: u8| i8::try_from(it).unwrap_or_default();
    i16::try_from(year)
        .is_ok_and(|year| jiff::civil::Date::new(year, signed(month), signed(day)).is_ok())
}

/// Whether our own fonts have every letter.
fn covered(text: &str) -> bool {
    let book = OURS.book();
    let fonts: Vec<_> = (0..).map_while(|nth| book.info(nth)).collect();
    let has = |it: char| {
        fonts
            .iter()
            .any(|font| font.coverage.contains(u32::from(it)))
    };
    let mut letters: Vec<char> = text.chars().filter(|it| !it.is_ascii()).collect();
    letters.sort_unstable();
    letters.dedup();
    letters.into_iter().all(has)
}

impl World for Sheet {
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
        match id == self.main.id() {
            true => Ok(self.main.clone()),
            false => Err(FileError::AccessDenied),
        }
    }

    fn file(&self, id: FileId) -> FileResult<Bytes> {
        match id == self.data.0 {
            true => Ok(self.data.1.clone()),
            false => Err(FileError::AccessDenied),
        }
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.font(index)
    }

    fn today(&self, _: Option<Duration>) -> Option<Datetime> {
        None
    }
}
