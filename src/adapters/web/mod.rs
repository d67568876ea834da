//! The open web. The guard is the only way to it.
pub mod address;
pub mod cache;
pub mod fetch;
pub mod guard;
pub mod kept;
pub mod manners;
pub(in crate::adapters) mod outcome;
pub mod own;
pub mod robots;
mod unpack;

pub(in crate::adapters) use unpack::unpacked;
