//! One binary, one module a promise.
mod runs;
mod stand_in;
mod folder;
