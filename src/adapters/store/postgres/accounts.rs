//! Who may ask, in the same database as the runs.
use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::super::accounts::{accounts, desk, there, unanswered};
use super::super::both::patiently;
use super::super::spending::{REQUESTED, SUMS, accepted_before, spent_of};
use super::super::write::{Accept, Done, Write};
use super::PostgresStore;
use crate::domain::{Owner, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::Envelope;
use crate::seams::{
    Acceptance, Accepted, Account, Accounts, Audited, Booking, Org, Remembered, RequestKey, Spent,
    Token, User,
};

accounts!(PostgresStore, PgRow);
