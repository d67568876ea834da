//! Whether a claim follows from a source: the unaided verdict.
