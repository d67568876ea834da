//! One binary, one module a promise.
mod cli;
mod config;
mod export;
