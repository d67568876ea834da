//! A small BERT that runs in the program: it embeds texts as vectors ([`Bert`]), and scores pairs of texts ([`CrossEncoder`]).
//!
//! Start with [`Bert`]. Embedding models on a server, and what is done with vectors, are in `ibid-index`. This is a crate of its own
//! because its loops are optimised in every build.
mod bert;
mod cross_encoder;
mod encoder;
mod linear;
mod quantized_matrix;
mod tensors;
mod weights;
mod wordpiece;

pub use bert::Bert;
pub use cross_encoder::CrossEncoder;
