//! Search over local documents: the index of a folder ([`folder`]), lexical ranking ([`ranker`]) and embeddings
//! ([`semantic`]).
//!
//! Start with [`folder`]. `ibid-extract` turns files into text. The web is searched by `ibid-sources`.
pub mod folder;
pub mod ranker;
pub mod semantic;
