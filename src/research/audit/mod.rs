//! Whether a text's claims stand in the sources it cites, whoever wrote it.
//!
//! The text is taken apart into claims and what each cites ([`read`]); somebody else finds the pages; each claim is held
//! against each of its pages, [`by_words`] and where there is a model [`by_model`].
mod address;
mod blocks;
mod clean;
mod held;
mod list;
mod marks;
mod read;
mod verdicts;

pub use address::{host_of, key};
pub use held::{Held, Quote, Ruling};
pub use read::{Cited, Reference, Sentence, Stated, read};
pub use verdicts::{Audit, Heard, Ruled, Sought, by_model, by_words};
