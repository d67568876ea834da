//! Runs, events, answers and pages on SQLite.
