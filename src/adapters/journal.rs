//! The wrapper that writes every call down before it is sent and its answer before it is used.
