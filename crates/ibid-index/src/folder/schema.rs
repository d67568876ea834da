//! The schema of the index. Three kinds of rows share one index, so that one commit covers them all: a row per passage (for
//! ranking), a row per document (its page), and a row per file (to detect changes). A document with one passage has one row
//! for both.
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexSettings};

use super::terms::TermTokenizer;

/// The version of the index; raise it when rows or terms change their meaning. An index of another version is rebuilt, and so
/// is one of another release, whose parsers may read files differently.
pub(super) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/13");

/// The name of our tokenizer.
const TERMS: &str = "terms";

/// Bytes of a compressed block of rows. A search unpacks a block for each document that it returns.
const BLOCK_BYTES: usize = 4_096;

/// The fields.
#[derive(Clone, Copy)]
pub(super) struct IndexFields {
    /// Passage: terms of the document's title, site and author.
    pub(super) title: Field,
    /// Passage: terms of its words.
    pub(super) body: Field,
    /// Passage: the document it belongs to.
    pub(super) document: Field,
    /// Passage: its number in the document, from 0.
    pub(super) nth: Field,
    /// Passage: publication date as the number `YYYYMMDD`, 0 if unknown.
    pub(super) date: Field,
    /// Passage: host of the document's URL and the domains above it.
    pub(super) host: Field,
    /// Passage: its publisher, in the form of [`super::field_values::normalize_name`].
    pub(super) publisher: Field,
    /// Passage: the key of its vector, see [`super::semantic`].
    pub(super) vector: Field,
    /// Passage: the fields of a hit, as JSON; missing if the passage is its whole document, whose page has them.
    pub(super) shown: Field,
    /// Document: its key.
    pub(super) key: Field,
    /// Document: the page as JSON.
    pub(super) page: Field,
    /// Document: the pairs of names that it explains, see [`super::synonym_table`].
    pub(super) synonym: Field,
    /// All rows: the version of the file that they come from.
    pub(super) from: Field,
    /// File: its id.
    pub(super) file: Field,
    /// File: size in bytes.
    pub(super) size: Field,
    /// File: time of last change, nanoseconds since 1970; 0 if it cannot be trusted.
    pub(super) mtime: Field,
    /// File: hash of its bytes and of the limits in force when it was read.
    pub(super) hash: Field,
    /// File: hash of the limits alone.
    pub(super) limits: Field,
    /// File: the number of its documents.
    pub(super) documents: Field,
    /// File: the documents that could not be read, as JSON.
    pub(super) faults: Field,
}

/// The schema and its fields.
pub(super) fn schema() -> (Schema, IndexFields) {
    let mut builder = Schema::builder();
    let terms = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TERMS)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let fields = IndexFields {
        title: builder.add_text_field("title", terms.clone()),
        body: builder.add_text_field("body", terms),
        document: builder.add_u64_field("document", FAST),
        nth: builder.add_u64_field("nth", FAST),
        date: builder.add_u64_field("date", FAST),
        host: builder.add_text_field("host", STRING),
        publisher: builder.add_text_field("publisher", STRING),
        vector: builder.add_u64_field("vector", FAST),
        shown: builder.add_text_field("shown", STORED),
        key: builder.add_text_field("key", STRING),
        page: builder.add_text_field("page", STORED),
        synonym: builder.add_text_field("synonym", STRING),
        from: builder.add_u64_field("from", INDEXED),
        file: builder.add_u64_field("file", FAST | INDEXED),
        size: builder.add_u64_field("size", FAST),
        mtime: builder.add_i64_field("mtime", FAST),
        hash: builder.add_u64_field("hash", FAST),
        limits: builder.add_u64_field("limits", FAST),
        documents: builder.add_u64_field("documents", FAST),
        faults: builder.add_bytes_field("faults", STORED),
    };
    (builder.build(), fields)
}

/// The settings of the index: small blocks, compressed on the writing thread.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compress_dedicated_thread: false,
        docstore_blocksize: BLOCK_BYTES,
        ..IndexSettings::default()
    }
}

/// Registers our tokenizer with `index`; needed after every open.
pub(super) fn register_tokenizer(index: &Index) {
    index
        .tokenizers()
        .register(TERMS, tantivy::tokenizer::TextAnalyzer::from(TermTokenizer::default()));
}
