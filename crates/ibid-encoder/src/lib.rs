//! A small BERT that runs in the program: it embeds texts as vectors ([`Bert`]).
//!
//! Start with [`Bert`]. Embedding models on a server, and what is done with vectors, are in `ibid-index`. This is a crate of its own
//! because its loops are optimised in every build.
mod bert;
mod encoder;
mod linear;
mod quantized_matrix;
mod tensors;
mod wordpiece;

pub use bert::Bert;
