//! The embedded ranker: lexical, no model.
