//! Files to clean text: one reader a format, and the child process for those that may be hostile.
