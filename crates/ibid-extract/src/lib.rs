//! Turns files into clean text: one parser per format, and confined child processes for hostile input.
//!
//! [`read_file`] splits a file into documents. [`read_bytes`] parses one of the user's own documents from memory.
//! [`read_fetched`] parses a fetched document, always in a confined child process that serves a single owner.
//!
//! The user's own HTML, Markdown, text, CSV, JATS and JSON are parsed in this process: the user chose the file, these parsers run
//! in time linear in its bounded size, and starting a process costs more than parsing. PDF, DOCX and EPUB files are always
//! parsed in a child.
//!
//! Formats: HTML, Markdown, plain text, CSV and TSV, JATS, JSONL (also `.gz`), JSON, PDF, DOCX, EPUB. The format is detected from the
//! first bytes, then from the content type, then from the name.
mod address;
mod archive;
mod blocking;
mod charset;
pub mod child;
pub mod dates;
mod delimited;
mod docx;
mod epub;
mod format;
mod html;
mod ipc;
mod jats;
mod json_rows;
mod language;
mod limits;
mod markdown;
mod markdown_inline;
mod month_names;
mod parse;
mod parse_error;
mod parsed_document;
mod pdf;
mod pdf_properties;
mod pdf_tables;
mod plain_text;
mod pool;
mod poppler;
mod process;
mod question_headings;
mod read;
mod render;
mod sandbox;
mod self_test;
mod superscript;
mod table_grid;
mod text_document;
mod unsupported;
pub mod xml;

pub use blocking::run_blocking;
pub use format::Format;
pub use html::links;
pub use limits::ExtractLimits;
pub use parse_error::ParseError;
pub use parsed_document::{DocumentOrigin, ParsedDocument};
pub use pool::Parser;
pub use read::{
    DocumentFailure, ReadItem, fetched, read_bytes, read_fetched, read_file, read_listed,
};
pub use render::{to_json_row, to_markdown};
pub use sandbox::{Confinement, SandboxEscapes};
pub use self_test::{PdfBackend, check_pdf, check_sandbox};
pub use unsupported::UnsupportedFiles;

// For `evals fit`, which fits the trees that choose the main text.
#[doc(hidden)]
pub use charset::decode_page;
#[doc(hidden)]
pub use html::{describe_blocks, main_text_with};
