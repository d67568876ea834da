//! Search over local documents: the index of a folder ([`folder`]), lexical ranking ([`ranker`]) and embeddings
//! ([`semantic`]).
//!
//! Start with [`folder`]. `ibid-extract` turns files into text; search of the open web is in `ibid-sources`.
mod bm25;
pub mod folder;
pub mod ranker;
pub mod semantic;
