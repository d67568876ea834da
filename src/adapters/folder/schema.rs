//! What the index keeps. Three kinds of rows share one index, so that one commit covers them all:
//! a row per passage (what is ranked), a row per document (its whole page), a row per file (what
//! was seen of it, to know when it has changed). A document of one passage has one row for both.
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexSettings};

use super::terms::Terms;

/// Changes whenever rows or terms change their meaning. An index of another version is built anew;
/// so is one of another release, whose readers may see files differently.
pub(super) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/5");

const TERMS: &str = "terms";

/// The columns.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// Passage: terms of the document's title, site and author.
    pub(super) title: Field,
    /// Passage: terms of its words.
    pub(super) body: Field,
    /// Passage: the document it belongs to.
    pub(super) document: Field,
    /// Passage: its place in the document, from 0.
    pub(super) nth: Field,
    /// Passage: publication date as the number `YYYYMMDD`, 0 where unknown.
    pub(super) date: Field,
    /// Passage: host of the document's URL and the domains above it.
    pub(super) host: Field,
    /// Passage: who publishes it, as [`super::named`] writes names.
    pub(super) publisher: Field,
    /// Passage: what its vector is kept under, see [`super::meaning`].
    pub(super) vector: Field,
    /// Passage: what a hit shows, as JSON; none where the passage is all of its document, whose page says the same.
    pub(super) shown: Field,
    /// Document: its key.
    pub(super) key: Field,
    /// Document: the page as JSON.
    pub(super) page: Field,
    /// All rows: the file they come from.
    pub(super) from: Field,
    /// File: its id.
    pub(super) file: Field,
    /// File: size in bytes.
    pub(super) size: Field,
    /// File: time of last change, nanoseconds since 1970; 0 where it cannot be trusted.
    pub(super) mtime: Field,
    /// File: hash of its bytes and of the limits it was read under.
    pub(super) hash: Field,
    /// File: hash of the limits alone.
    pub(super) limits: Field,
    /// File: documents in it.
    pub(super) documents: Field,
    /// File: what could not be read of it, as JSON.
    pub(super) faults: Field,
}

/// The schema and its columns.
pub(super) fn schema() -> (Schema, Fields) {
    let mut it = Schema::builder();
    let terms = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TERMS)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let fields = Fields {
        title: it.add_text_field("title", terms.clone()),
        body: it.add_text_field("body", terms),
        document: it.add_u64_field("document", FAST),
        nth: it.add_u64_field("nth", FAST),
        date: it.add_u64_field("date", FAST),
        host: it.add_text_field("host", STRING),
        publisher: it.add_text_field("publisher", STRING),
        vector: it.add_u64_field("vector", FAST),
        shown: it.add_text_field("shown", STORED),
        key: it.add_text_field("key", STRING),
        page: it.add_text_field("page", STORED),
        from: it.add_u64_field("from", INDEXED),
        file: it.add_u64_field("file", FAST | INDEXED),
        size: it.add_u64_field("size", FAST),
        mtime: it.add_i64_field("mtime", FAST),
        hash: it.add_u64_field("hash", FAST),
        limits: it.add_u64_field("limits", FAST),
        documents: it.add_u64_field("documents", FAST),
        faults: it.add_bytes_field("faults", STORED),
    };
    (it.build(), fields)
}

/// Rows are packed in blocks of so many bytes: a search unpacks a block for each document it shows.
const BLOCK: usize = 4_096;

/// How rows lie on disk: small blocks, compressed where they are written.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compress_dedicated_thread: false,
        docstore_blocksize: BLOCK,
        ..IndexSettings::default()
    }
}

/// Makes our terms known to `index`; needed after every open.
pub(super) fn register(index: &Index) {
    index.tokenizers().register(
        TERMS,
        tantivy::tokenizer::TextAnalyzer::from(Terms::default()),
    );
}
