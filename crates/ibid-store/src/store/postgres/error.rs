//! Errors of PostgreSQL, described for the operator.
use super::super::error::StoreError;
use ibid_core::ErrorKind;

/// Describes `cause`, which happened while `doing` something to the database at `location`.
pub(super) fn store_error(location: &str, doing: &str, cause: &sqlx::Error) -> StoreError {
    let (kind, hint) = advice(cause);
    StoreError {
        kind,
        doing: format!("{doing} {location}"),
        cause: Some(cause.to_string()),
        hint,
        of_one: is_constraint(cause),
    }
}

/// The SQLSTATE of an error (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
fn code(fault: &sqlx::Error) -> Option<String> {
    Some(fault.as_database_error()?.code()?.into_owned())
}

/// Whether a single write broke a rule of the schema.
fn is_constraint(fault: &sqlx::Error) -> bool {
    code(fault)
        .is_some_and(|code| code.starts_with("23") || code.starts_with("22") || code == "42501")
}

/// Shutdown and start of the server, too many clients, deadlock, serialization failure, idle transaction ended, a lock that was not free in time. Connection
/// exceptions begin with `08`.
const TRANSIENT: [&str; 8] =
    ["57P01", "57P02", "57P03", "53300", "40001", "40P01", "25P03", "55P03"];

/// Whether the connection or the server went away, or the server asks to try again: a new connection may succeed.
pub(super) fn is_transient(fault: &sqlx::Error) -> bool {
    match fault {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => true,
        _ if is_refused_by_pooler(fault) => false,
        _ => code(fault).is_some_and(|code| code.starts_with("08") || TRANSIENT.contains(&&*code)),
    }
}

/// Whether PgBouncer refused what only a session of the program's own can have. Its code says protocol violation.
fn is_refused_by_pooler(fault: &sqlx::Error) -> bool {
    let message = fault.as_database_error().map(|it| it.message());
    message.is_some_and(|it| it.starts_with("unsupported startup parameter"))
}

fn advice(fault: &sqlx::Error) -> (ErrorKind, Option<&'static str>) {
    let code = code(fault).unwrap_or_default();
    match &*code {
        "53100" | "53200" => (
            ErrorKind::Setup,
            Some("free disk space or memory on the server; nothing acknowledged was lost"),
        ),
        "28000" | "28P01" => (ErrorKind::Setup, Some("check the user and password in `store.url`")),
        "3D000" => (ErrorKind::Setup, Some("create the database, or set `store.url` to another")),
        "42501" => (
            ErrorKind::Setup,
            Some("allow the role in `store.url` to create a schema in its database"),
        ),
        "25006" => {
            (ErrorKind::Setup, Some("the server is read-only: set `store.url` to the primary"))
        }
        _ if is_refused_by_pooler(fault) => (
            ErrorKind::Setup,
            Some("set `store.url` to the server itself, and `store.pooler_url` to the pooler"),
        ),
        _ if is_transient(fault) => (
            ErrorKind::Transient,
            Some("check that the server is running and reachable; nothing acknowledged was lost"),
        ),
        _ if matches!(fault, sqlx::Error::Configuration(_)) => {
            (ErrorKind::Setup, Some("check `store.url`"))
        }
        _ => (ErrorKind::Internal, None),
    }
}
