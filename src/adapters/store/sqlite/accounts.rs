//! Who may ask, in the same file as the runs.
use async_trait::async_trait;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::super::accounts::{accounts, desk, there};
use super::super::both::patiently;
use super::SqliteStore;
use crate::domain::{Owner, RunId};
use crate::error::{Error, Kind, Result};
use crate::seams::{Account, Accounts, Audited, Org, Remembered, Spent, Token, User};

accounts!(SqliteStore, SqliteRow);
