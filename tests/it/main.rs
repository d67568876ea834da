//! One binary, one module a promise.
mod cli;
mod config;
mod export;
mod folder;
mod runs;
mod stand_in;
