//! What tools were asked and what came of it, beside the runs.
use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::super::both::patiently;
use super::super::traces::{absent, trace_writes, traces};
use super::SqliteStore;
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, ToolTrace};
use crate::seams::Traces;

trace_writes!(SqliteConnection, "");
traces!(SqliteStore, SqliteRow, "");
