//! Errors of SQLite, described for the operator.
use std::path::Path;

use super::super::error::StoreError;
use ibid_core::ErrorKind;

/// Primary result codes of SQLite (<https://www.sqlite.org/rescode.html>).
mod code {
    pub(super) const PERM: u32 = 3;
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const READONLY: u32 = 8;
    pub(super) const IOERR: u32 = 10;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const CONSTRAINT: u32 = 19;
    pub(super) const NOTADB: u32 = 26;
}

/// Describes `cause`, which happened while `doing` something to the database at `path`.
pub(super) fn store_error(path: &Path, doing: &str, cause: &sqlx::Error) -> StoreError {
    let (kind, hint) = advice(primary_code(cause));
    StoreError {
        kind,
        doing: format!("{doing} {}", path.display()),
        cause: Some(cause.to_string()),
        hint,
        of_one: primary_code(cause) == Some(code::CONSTRAINT),
    }
}

/// Whether another process holds the database.
pub(super) fn is_busy(fault: &sqlx::Error) -> bool {
    matches!(primary_code(fault), Some(code::BUSY | code::LOCKED))
}

fn primary_code(fault: &sqlx::Error) -> Option<u32> {
    let code: u32 = fault.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

fn advice(code: Option<u32>) -> (ErrorKind, Option<&'static str>) {
    match code {
        Some(code::FULL) => (
            ErrorKind::Setup,
            Some("free some disk space, then continue with `ibid resume`; nothing was lost"),
        ),
        Some(code::IOERR) => (
            ErrorKind::Setup,
            Some(
                "check the disk and its free space, then continue with `ibid resume`; nothing acknowledged was lost",
            ),
        ),
        Some(code::READONLY | code::CANTOPEN | code::PERM) => (
            ErrorKind::Setup,
            Some("make the data directory writable, or set `IBID_DATA_DIR` to another"),
        ),
        Some(code::CORRUPT | code::NOTADB) => (
            ErrorKind::Setup,
            Some(
                "the file is damaged or was not written by Ibid: move it away, or restore it from a backup",
            ),
        ),
        Some(code::BUSY | code::LOCKED) => {
            (ErrorKind::Transient, Some("another process is writing to it; try again"))
        }
        _ => (ErrorKind::Internal, None),
    }
}
