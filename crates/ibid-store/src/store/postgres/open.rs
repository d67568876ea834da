//! Connecting to the database, with the schema of this version.
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};

use super::super::error::RECONNECT;
use super::super::write::OwnerScope;
use super::error::{is_transient, store_error};
use super::session::restrict_to_scope;
use ibid_core::{Error, ErrorKind, Result};

/// The steps from each version of the schema to the next, beginning with an empty database.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("accounts.sql"),
    include_str!("traces.sql"),
    include_str!("writers.sql"),
    include_str!("epochs.sql"),
    include_str!("spending.sql"),
    include_str!("call_shares.sql"),
    include_str!("org_weights.sql"),
    include_str!("page_objects.sql"),
    include_str!("schedules.sql"),
    include_str!("partitions.sql"),
    include_str!("limits.sql"),
];

/// The oldest major version of PostgreSQL with all features in use, `security_invoker` views among them.
const OLDEST_SERVER: i32 = 15;

/// The number of connections that read all rows, the one that listens for changes among them. With the [`OWNER_READERS`], the
/// writers and the one that holds locks a process has 8.
const READERS: u32 = 3;

/// The number of connections that read the rows of an owner.
const OWNER_READERS: u32 = 2;

/// How long to wait for a free connection that reads.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// Held during a migration, so that of processes that start together only one migrates.
const MIGRATION_LOCK: i64 = 0x6962_6964;

/// The role that sessions of a superuser switch to, because row-level security does not apply to superusers.
const PLAIN_ROLE: &str = "ibid_plain";

/// How to connect to a database.
#[derive(Clone)]
pub(super) struct PostgresAccess {
    options: PgConnectOptions,
    /// Server and database, without the password.
    location: String,
    /// The role to switch to after connecting.
    role: Option<&'static str>,
}

impl PostgresAccess {
    /// Parses `postgres://user:password@host:port/database?…`.
    ///
    /// # Errors
    /// `Setup` for any other text. The error does not contain the address, which may contain a password.
    pub(super) fn parse(url: &str) -> Result<PostgresAccess> {
        let invalid = || {
            Error::new(ErrorKind::Setup, "reading `store.url`").with_hint(
                "write it as postgres://user:password@host:5432/database, or unset it; `DATABASE_URL` sets it too",
            )
        };
        // The parser accepts any scheme, and `DATABASE_URL` may be meant for another program.
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(invalid().with_source("not a PostgreSQL URL"));
        }
        let options =
            PgConnectOptions::from_str(url).map_err(|cause| invalid().with_source(cause))?;
        let options = options
            .application_name("ibid")
            .options([
                ("search_path", "ibid"),
                ("ibid.scope", "all"),
                // A transaction must not stay open when its client is gone: a writer waits to learn how it ended.
                ("idle_in_transaction_session_timeout", "10s"),
                ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
            ])
            .disable_statement_logging();
        let location = format!(
            "postgres://{}:{}/{}",
            options.get_host(),
            options.get_port(),
            options.get_database().unwrap_or(options.get_username()),
        );
        Ok(PostgresAccess { options, location, role: None })
    }

    /// Server and database, without the password.
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    /// Opens a session.
    pub(super) async fn connect(&self) -> sqlx::Result<PgConnection> {
        let mut db = PgConnection::connect_with(&self.options).await?;
        set_role(&mut db, self.role).await?;
        Ok(db)
    }

    /// Sessions that read all rows. Each opens when first needed.
    pub(super) fn unrestricted_readers(&self) -> PgPool {
        self.pool(true)
    }

    /// Sessions that see no rows until their scope is set, each time they are used. Each opens when first needed.
    pub(super) fn readers(&self) -> PgPool {
        self.pool(false)
    }

    fn pool(&self, unrestricted: bool) -> PgPool {
        let role = self.role;
        PgPoolOptions::new()
            .max_connections(if unrestricted { READERS } else { OWNER_READERS })
            .acquire_timeout(ACQUIRE_TIMEOUT)
            // A read is tried again when the connection turns out to be dead.
            .test_before_acquire(false)
            .after_connect(move |db, _| {
                Box::pin(async move {
                    set_role(db, role).await?;
                    if unrestricted {
                        restrict_to_scope(db, &OwnerScope::default(), true).await?;
                    }
                    Ok(())
                })
            })
            .connect_lazy_with(self.options.clone())
    }

    /// Brings the schema to this version, and finds the role to work as. Waits for a server that is starting.
    ///
    /// # Errors
    /// `Setup` when the database cannot be used or was written by a newer Ibid, `Transient` when the server cannot be
    /// reached.
    pub(super) async fn prepare(mut self) -> Result<PostgresAccess> {
        let mut backoff = RECONNECT.begin();
        loop {
            match self.upgrade().await {
                Ok(()) => return Ok(self),
                Err(PrepareError::Database(cause)) => {
                    // A refused connection is reported at once: most often the address is wrong.
                    let retry = is_transient(&cause) && !is_connection_refused(&cause);
                    if !retry || !backoff.wait().await {
                        return Err(store_error(&self.location, "opening", &cause).error());
                    }
                }
                Err(PrepareError::Unusable(error)) => return Err(error),
            }
        }
    }

    async fn upgrade(&mut self) -> std::result::Result<(), PrepareError> {
        let mut db = PgConnection::connect_with(&self.options).await?;
        let (version, encoding): (String, String) = sqlx::query_as(
            "select current_setting('server_version_num'), current_setting('server_encoding')",
        )
        .fetch_one(&mut db)
        .await?;
        let major = version.parse::<i32>().unwrap_or(0) / 10_000;
        if major < OLDEST_SERVER {
            return Err(self.prepare_error(
                format!(
                    "{} is PostgreSQL {major}; {OLDEST_SERVER} or later is required",
                    self.location
                ),
                "set `store.url` to a newer server",
            ));
        }
        if encoding != "UTF8" {
            return Err(self.prepare_error(
                format!("{} has encoding {encoding}", self.location),
                "create the database with encoding UTF8",
            ));
        }
        let mut tx = db.begin().await?;
        sqlx::query("select pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .execute(&mut *tx)
            .await?;
        self.migrate(&mut tx).await?;
        let bypasses_security: bool = sqlx::query_scalar(
            "select rolsuper or rolbypassrls from pg_roles where rolname = current_user",
        )
        .fetch_one(&mut *tx)
        .await?;
        if bypasses_security {
            sqlx::raw_sql(include_str!("plain.sql")).execute(&mut *tx).await?;
            self.role = Some(PLAIN_ROLE);
        }
        tx.commit().await?;
        db.close().await?;
        Ok(())
    }

    async fn migrate(&self, tx: &mut PgConnection) -> std::result::Result<(), PrepareError> {
        sqlx::raw_sql(
            "create schema if not exists ibid;
             create table if not exists schema_version (version bigint not null)",
        )
        .execute(&mut *tx)
        .await?;
        let from: Option<i64> = sqlx::query_scalar("select version from schema_version")
            .fetch_optional(&mut *tx)
            .await?;
        let steps = usize::try_from(from.unwrap_or(0)).ok().and_then(|from| MIGRATIONS.get(from..));
        let Some(steps) = steps else {
            let from = from.unwrap_or(0);
            return Err(self.prepare_error(
                format!(
                    "{} has schema version {from}; this Ibid supports up to {}",
                    self.location,
                    MIGRATIONS.len()
                ),
                "use the newer Ibid that wrote it, or set `store.url` to another database",
            ));
        };
        for step in steps {
            sqlx::raw_sql(*step).execute(&mut *tx).await?;
        }
        let statement = match from {
            None => "insert into schema_version (version) values ($1)",
            Some(_) => "update schema_version set version = $1",
        };
        sqlx::query(statement).bind(MIGRATIONS.len() as i64).execute(&mut *tx).await?;
        // Rows of processes that were killed: no writer waits that long to learn how a commit ended.
        let stale = "delete from writers where at < now() - interval '1 day'";
        sqlx::raw_sql(stale).execute(&mut *tx).await?;
        Ok(())
    }

    fn prepare_error(&self, what: String, hint: &str) -> PrepareError {
        PrepareError::Unusable(Error::new(ErrorKind::Setup, what).with_hint(hint))
    }
}

async fn set_role(db: &mut PgConnection, role: Option<&'static str>) -> sqlx::Result<()> {
    if role.is_some() {
        sqlx::raw_sql("set role ibid_plain").execute(db).await?;
    }
    Ok(())
}

fn is_connection_refused(cause: &sqlx::Error) -> bool {
    matches!(cause, sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// Why a database cannot be used.
enum PrepareError {
    Database(sqlx::Error),
    Unusable(Error),
}

impl From<sqlx::Error> for PrepareError {
    fn from(cause: sqlx::Error) -> PrepareError {
        PrepareError::Database(cause)
    }
}
