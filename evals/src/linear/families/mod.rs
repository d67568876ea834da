//! Families of documents that are written to cost a reader more than others of their size.
//!
//! Each is a rule that makes a document of any size. What a family grows, such as attributes of one tag or the depth of
//! tables, grows with the size; a reader that compares each with all others, or looks at what is above or behind each, takes
//! four times as long for twice as much.
mod check;
mod containers;
mod html;
mod html_text;
mod json;
mod markdown;
mod pdf;
mod text;
mod xml;

/// What reads a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FamilyForm {
    /// The reader of web pages.
    Html,
    /// The reader of Markdown, and what prints Markdown.
    Markdown,
    /// The reader of plain text.
    Text,
    /// The reader of papers.
    Jats,
    /// The reader of JSON.
    Json,
    /// The reader of JSON lines.
    Lines,
    /// The reader of PDFs, in its process.
    Pdf,
    /// The reader of Word documents, in its process.
    Docx,
    /// The reader of books, in its process.
    Epub,
    /// What takes a Markdown text apart into claims and sources, for `ibid check`.
    Check,
}

impl FamilyForm {
    /// The name and the content type that a document of this form comes with.
    pub(crate) fn origin(self) -> (&'static str, Option<&'static str>) {
        match self {
            FamilyForm::Html => ("https://page.example/a", Some("text/html")),
            FamilyForm::Markdown | FamilyForm::Check => {
                ("https://page.example/a.md", Some("text/markdown"))
            }
            FamilyForm::Text => ("https://page.example/a.txt", Some("text/plain")),
            FamilyForm::Jats => ("https://page.example/a.xml", Some("application/xml")),
            FamilyForm::Json => ("https://page.example/a.json", Some("application/json")),
            FamilyForm::Lines => ("https://page.example/a.jsonl", Some("application/x-ndjson")),
            FamilyForm::Pdf => ("https://page.example/a.pdf", Some("application/pdf")),
            FamilyForm::Docx => ("https://page.example/a.docx", None),
            FamilyForm::Epub => ("https://page.example/a.epub", None),
        }
    }

    /// Whether a child process reads it.
    pub(crate) fn is_confined(self) -> bool {
        matches!(self, FamilyForm::Pdf | FamilyForm::Docx | FamilyForm::Epub)
    }
}

/// A name, and what makes a document of about so many bytes.
type Rule = (&'static str, fn(usize) -> Vec<u8>);

/// One family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family {
    /// What it grows: `html: attributes of one tag`.
    pub(crate) name: &'static str,
    /// What reads it.
    pub(crate) form: FamilyForm,
    /// A document of about so many bytes; of containers, so many bytes when they are unpacked.
    pub(crate) make: fn(usize) -> Vec<u8>,
}

/// All families.
pub(crate) fn all() -> Vec<Family> {
    let groups: [(FamilyForm, &[Rule]); 11] = [
        (FamilyForm::Html, html::FAMILIES),
        (FamilyForm::Html, html_text::FAMILIES),
        (FamilyForm::Markdown, markdown::FAMILIES),
        (FamilyForm::Text, text::FAMILIES),
        (FamilyForm::Jats, xml::FAMILIES),
        (FamilyForm::Json, json::FAMILIES),
        (FamilyForm::Lines, json::LINES),
        (FamilyForm::Check, check::FAMILIES),
        (FamilyForm::Docx, containers::DOCX),
        (FamilyForm::Epub, containers::EPUB),
        (FamilyForm::Pdf, pdf::FAMILIES),
    ];
    let mut all = Vec::new();
    for (form, families) in groups {
        for &(name, make) in families {
            all.push(Family { name, form, make });
        }
    }
    all
}

/// A document of about `size` bytes: `head`, then what `each` adds time after time, then `tail`.
fn grown(size: usize, head: &str, tail: &str, mut each: impl FnMut(usize, &mut String)) -> Vec<u8> {
    let mut out = String::with_capacity(size + 256);
    out.push_str(head);
    for nth in 0.. {
        if out.len() + tail.len() >= size {
            break;
        }
        each(nth, &mut out);
    }
    out.push_str(tail);
    out.into_bytes()
}

/// A document of `head`, `part` again and again, and `tail`.
fn repeated(size: usize, head: &str, part: &str, tail: &str) -> Vec<u8> {
    grown(size, head, tail, |_, out| out.push_str(part))
}

/// Half of the size `open` again and again, then half of it `close`.
fn nested(size: usize, head: &str, [open, inside, close]: [&str; 3], tail: &str) -> Vec<u8> {
    let times = size.saturating_sub(head.len() + tail.len()) / (open.len() + close.len()).max(1);
    let (open, close) = (open.repeat(times), close.repeat(times));
    [head, &open, inside, &close, tail].concat().into_bytes()
}

/// A sentence that is another one each time.
fn sentence(nth: usize) -> String {
    format!("The river rose by {nth} inches in the year {}. ", 1900 + nth % 120)
}
