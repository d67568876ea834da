//! Language models: requests, answers, streams and faults of each dialect, the table of providers, HTTP, and the wrappers.
mod answers;
mod bench;
mod faults;
pub(crate) mod http;
mod providers;
mod refusals;
mod requests;
mod samples;
mod stack;
mod streams;
