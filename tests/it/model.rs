//! Language models: requests, answers, streams and faults of each dialect, the table of providers, and HTTP.
mod answers;
mod faults;
mod http;
mod providers;
mod requests;
mod samples;
mod streams;
