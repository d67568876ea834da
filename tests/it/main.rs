//! One binary, one module a promise.
