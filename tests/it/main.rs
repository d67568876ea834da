//! One binary, one module a promise.
mod documents;
