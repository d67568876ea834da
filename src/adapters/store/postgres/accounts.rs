//! Who may ask, in the same database as the runs.
use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::super::accounts::{accounts, desk, there};
use super::super::both::patiently;
use super::PostgresStore;
use crate::domain::{Owner, RunId};
use crate::error::{Error, Kind, Result};
use crate::seams::{Account, Accounts, Audited, Org, Remembered, Spent, Token, User};

accounts!(PostgresStore, PgRow);
