//! Runs, events, answers and pages in a database: in one SQLite file, or on a PostgreSQL server that many machines
//! share.
//!
//! The statements are the same for both. `backend` has the store that both share, `runs`, `accounts`, `traces` and
//! `schedules` implement the ports on it, `pages` stores and reads pages, in the database or in an object store (`page_objects`,
//! `object_bodies`), and `apply` does the writes. `sqlite` and `postgres` open their database and commit writes
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
#[cfg(feature = "object-store")]
mod object_bodies;
mod page_objects;
mod pages;
mod postgres;
mod queue;
mod runs;
mod schedules;
mod sessions;
mod spending;
mod sqlite;
mod statement;
mod traces;
mod write;

pub use locks::FileLocks;
#[cfg(feature = "object-store")]
pub use object_bodies::ObjectBodies;
pub use postgres::{
    PostgresCallPlaces, PostgresLocks, PostgresServiceTurns, PostgresStore, PostgresWakeups,
};
pub use sqlite::{SqliteStore, database};
