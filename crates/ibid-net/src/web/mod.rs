//! Access to the open web, always through the guard.
pub mod address;
pub mod cache;
pub mod caching;
mod decode;
pub mod download;
pub mod fetch;
pub mod guard;
pub mod host_limit;
pub mod outcome;
pub mod own_address;
pub mod robots;

pub(crate) use decode::decode_body;
