//! What PostgreSQL says, in terms of what the operator can do.
use std::time::{Duration, Instant};

use super::super::fault::Fault;
use crate::error::Kind;

/// How long a server that is away is waited for: longer than a restart, shorter than a person's patience.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pauses between tries grow from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(1000));

/// What `fault` means for the database at `place`.
pub(super) fn fault(place: &str, doing: &str, fault: &sqlx::Error) -> Fault {
    let (kind, hint) = advice(fault);
    Fault {
        kind,
        doing: format!("{doing} {place}"),
        cause: Some(fault.to_string()),
        hint,
        of_one: of_one(fault),
    }
}

/// SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
fn code(fault: &sqlx::Error) -> Option<String> {
    Some(fault.as_database_error()?.code()?.into_owned())
}

/// Whether one write broke a rule of the schema.
pub(super) fn of_one(fault: &sqlx::Error) -> bool {
    code(fault).is_some_and(|it| it.starts_with("23") || it.starts_with("22") || it == "42501")
}

/// Whether the connection or the server went away, or the server asks for another try: what was to be done may be
/// done again on a new connection.
pub(super) fn passing(fault: &sqlx::Error) -> bool {
    match fault {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => true,
        _ => code(fault).is_some_and(|it| {
            // Connection exceptions, shutdown and start of the server, too many clients, deadlock and serialization.
            it.starts_with("08")
                || [
                    "57P01", "57P02", "57P03", "53300", "40001", "40P01", "25P03",
                ]
                .contains(&&*it)
        }),
    }
}

fn advice(fault: &sqlx::Error) -> (Kind, Option<&'static str>) {
    let code = code(fault).unwrap_or_default();
    match &*code {
        "53100" | "53200" => (
            Kind::Setup,
            Some("free disk space or memory on the server; nothing acknowledged was lost"),
        ),
        "28000" | "28P01" => (
            Kind::Setup,
            Some("check the user and password in `store.url`"),
        ),
        "3D000" => (
            Kind::Setup,
            Some("create the database, or name another in `store.url`"),
        ),
        "42501" => (
            Kind::Setup,
            Some("let the role of `store.url` create a schema in its database"),
        ),
        "25006" => (
            Kind::Setup,
            Some("the server takes no writes: name the primary in `store.url`"),
        ),
        _ if passing(fault) => (
            Kind::Transient,
            Some("see that the server runs and can be reached; nothing acknowledged was lost"),
        ),
        _ if matches!(fault, sqlx::Error::Configuration(_)) => {
            (Kind::Setup, Some("check `store.url`"))
        }
        _ => (Kind::Internal, None),
    }
}

/// Waits out a server that is away, up to a bound.
pub(super) struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience {
            until: Instant::now() + PATIENCE,
            pause: PAUSES.0,
        }
    }

    /// Whether to try again after `fault`, once a moment is over.
    pub(super) async fn again(&mut self, fault: &sqlx::Error) -> bool {
        passing(fault) && self.wait().await
    }

    /// Waits a moment; `false` where patience is at its end.
    pub(super) async fn wait(&mut self) -> bool {
        if Instant::now() + self.pause > self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSES.1);
        true
    }
}
