//! The open web. The guard is the only way to it.
pub mod address;
pub mod fetch;
pub mod guard;
mod unpack;

pub(in crate::adapters) use unpack::unpacked;
