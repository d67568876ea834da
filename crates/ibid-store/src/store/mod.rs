//! Runs, events, answers and pages in a database: in one SQLite file, or on a PostgreSQL server that many machines
//! share.
//!
//! The statements are the same for both. `backend` has the store that both share, `runs`, `accounts` and `traces`
//! implement the ports on it, and `apply` does the writes. `sqlite` and `postgres` open their database and commit writes
//! in groups; `dialect` has what else they do differently.
mod accounts;
mod append;
mod apply;
mod backend;
mod columns;
mod day;
mod dialect;
mod error;
mod locks;
mod postgres;
mod queue;
mod runs;
mod spending;
mod sqlite;
mod statement;
mod traces;
mod write;

pub use locks::FileLocks;
pub use postgres::{PostgresCallPlaces, PostgresLocks, PostgresStore, PostgresWakeups};
pub use sqlite::{SqliteStore, database};
