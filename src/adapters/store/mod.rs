//! Where runs, events, answers and pages are kept: in one file on SQLite, or on a PostgreSQL that many machines share.
//!
//! `both` has what the two do alike; `sqlite` and `postgres` are how each is opened, written to in groups, and read.
mod accounts;
mod both;
mod fault;
mod locks;
mod postgres;
mod spending;
mod sqlite;
mod traces;
mod write;

pub use locks::FileLocks;
pub use postgres::{PostgresLocks, PostgresStore};
pub use sqlite::{SqliteStore, database};
pub(crate) use sqlite::{new_private_dir, private_dir};
