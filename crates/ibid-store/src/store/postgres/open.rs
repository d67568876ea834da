//! Connecting to the database, with the schema of this version.
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool};

use super::super::error::RECONNECT;
use super::error::{is_transient, store_error};
use super::partitions;
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

/// The number of connections that read all rows. With the [`OWNER_READERS`], two writers, the one that listens for changes and
/// the one that holds locks a process has 8.
const READERS: u32 = 2;

/// The number of connections that read the rows of an owner.
const OWNER_READERS: u32 = 2;

/// Begins a transaction on a session of the program's own, which has its settings already.
const BEGIN: &str = "begin";

/// Begins a transaction on a session that a pooler gives to others afterwards.
const BEGIN_POOLED: &str = "begin; set local search_path = ibid; set local ibid.scope = 'all';
    set local idle_in_transaction_session_timeout = '10s'";
const BEGIN_POOLED_AS_PLAIN: &str =
    "begin; set local search_path = ibid; set local ibid.scope = 'all';
    set local idle_in_transaction_session_timeout = '10s'; set local role ibid_plain";

/// How long to wait for a free connection that reads.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// A word that no two databases share.
const OBJECT_FOLDER: &str = "select name from ibid.object_folder";

/// Held while the schema is checked and migrated, so that of processes that start together only one migrates.
const MIGRATION_LOCK: i64 = 0x6962_6964;

/// The role that sessions of a superuser switch to, because row-level security does not apply to superusers.
const PLAIN_ROLE: &str = "ibid_plain";

/// How to connect to a database.
#[derive(Clone)]
pub(super) struct PostgresAccess {
    options: PgConnectOptions,
    /// A pooler in transaction mode before the server. Locks, notifications and migrations go past it.
    pooler: Option<PgConnectOptions>,
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
        let options = parse_url(
            url,
            "reading `store.url`",
            "write it as postgres://user:password@host:5432/database, or unset it; `DATABASE_URL` sets it too",
        )?;
        let options = options.options([
            ("search_path", "ibid"),
            ("ibid.scope", "all"),
            // A transaction must not stay open when its client is gone: a writer waits to learn how it ended.
            ("idle_in_transaction_session_timeout", "10s"),
            ("tcp_keepalives_idle", "10"),
            ("tcp_keepalives_interval", "5"),
            ("tcp_keepalives_count", "3"),
        ]);
        let location = location(&options);
        Ok(PostgresAccess { options, pooler: None, location, role: None })
    }

    /// The same database, with reads and writes through the pooler at `url`.
    ///
    /// # Errors
    /// As for [`PostgresAccess::parse`].
    pub(super) fn through_pooler(self, url: &str) -> Result<PostgresAccess> {
        let options = parse_url(
            url,
            "reading `store.pooler_url`",
            "write it as postgres://user:password@host:6432/database, or unset it",
        )?;
        // PgBouncer refuses parameters that it does not know.
        let pooler = Some(options.extra_float_digits(None));
        Ok(PostgresAccess { pooler, ..self })
    }

    /// Server and database, without the password.
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    /// Opens a session on the server itself.
    pub(super) async fn connect(&self) -> sqlx::Result<PgConnection> {
        let mut db = PgConnection::connect_with(&self.options).await?;
        set_role(&mut db, self.role).await?;
        Ok(db)
    }

    /// Opens a session on the server itself in the role of `store.url`, which owns the tables.
    pub(super) async fn connect_as_owner(&self) -> sqlx::Result<PgConnection> {
        PgConnection::connect_with(&self.options).await
    }

    /// Opens a connection for transactions that begin with [`PostgresAccess::begin`], through the pooler if there is one.
    pub(super) async fn connect_for_transactions(&self) -> sqlx::Result<PgConnection> {
        match &self.pooler {
            Some(pooler) => PgConnection::connect_with(pooler).await,
            None => self.connect().await,
        }
    }

    /// The statement that begins a transaction in which the rows of all owners are visible.
    pub(super) fn begin(&self) -> &'static str {
        match (&self.pooler, self.role) {
            (None, _) => BEGIN,
            (Some(_), None) => BEGIN_POOLED,
            (Some(_), Some(_)) => BEGIN_POOLED_AS_PLAIN,
        }
    }

    /// Whether reads and writes go through a pooler, and so in transactions and without named statements.
    pub(super) fn is_pooled(&self) -> bool {
        self.pooler.is_some()
    }

    /// Connections that read all rows. Each opens when first needed.
    pub(super) fn unrestricted_readers(&self) -> PgPool {
        self.pool(READERS, self.pooler.as_ref())
    }

    /// Connections that are restricted to an owner each time they are used. Each opens when first needed.
    pub(super) fn readers(&self) -> PgPool {
        self.pool(OWNER_READERS, self.pooler.as_ref())
    }

    /// The session that listens for changes.
    pub(super) fn listener(&self) -> PgPool {
        self.pool(1, None)
    }

    fn pool(&self, connections: u32, pooler: Option<&PgConnectOptions>) -> PgPool {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            // A read is tried again when the connection turns out to be dead.
            .test_before_acquire(false);
        if let Some(pooler) = pooler {
            return pool.connect_lazy_with(pooler.clone());
        }
        let role = self.role;
        let pool = pool.after_connect(move |db, _| Box::pin(set_role(db, role)));
        pool.connect_lazy_with(self.options.clone())
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
        // Of the session, because a migration has several transactions. It is released when the session ends.
        sqlx::query("select pg_advisory_lock($1)").bind(MIGRATION_LOCK).execute(&mut db).await?;
        partitions::check_before_step(&mut db).await?;
        let mut tx = db.begin().await?;
        self.migrate(&mut tx).await?;
        partitions::add_months(&mut tx).await?;
        let bypasses_security: bool = sqlx::query_scalar(
            "select rolsuper or rolbypassrls from pg_roles where rolname = current_user",
        )
        .fetch_one(&mut *tx)
        .await?;
        if bypasses_security {
            sqlx::raw_sql(include_str!("plain.sql")).execute(&mut *tx).await?;
            self.role = Some(PLAIN_ROLE);
        }
        let folder: String = sqlx::query_scalar(OBJECT_FOLDER).fetch_one(&mut *tx).await?;
        tx.commit().await?;
        db.close().await?;
        self.check_pooler(&folder).await
    }

    /// Checks that the pooler, if there is one, leads to the database with `folder`.
    async fn check_pooler(&self, folder: &str) -> std::result::Result<(), PrepareError> {
        let Some(pooler) = &self.pooler else {
            return Ok(());
        };
        let mut db = PgConnection::connect_with(pooler).await.map_err(|cause| {
            if is_connection_refused(&cause) {
                let error = store_error(&location(pooler), "opening", &cause).error();
                return PrepareError::Unusable(error);
            }
            PrepareError::Database(cause)
        })?;
        let found: String = async {
            sqlx::raw_sql(self.begin()).execute(&mut db).await?;
            let found = sqlx::query_scalar(OBJECT_FOLDER).persistent(false);
            found.fetch_one(&mut db).await
        }
        .await?;
        db.close().await?;
        if found == folder {
            return Ok(());
        }
        let what = format!("{} is another database than {}", location(pooler), self.location);
        Err(self.prepare_error(what, "let `store.pooler_url` lead to the database of `store.url`"))
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
            let step = partitions::fill_in(tx, step).await?;
            sqlx::raw_sql(AssertSqlSafe(step)).execute(&mut *tx).await?;
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

/// The options of `url`, which `reading` and `hint` are about if it is no URL of PostgreSQL.
fn parse_url(url: &str, reading: &str, hint: &str) -> Result<PgConnectOptions> {
    let invalid = || Error::new(ErrorKind::Setup, reading).with_hint(hint);
    // The parser accepts any scheme, and `DATABASE_URL` may be meant for another program.
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(invalid().with_source("not a PostgreSQL URL"));
    }
    let options = PgConnectOptions::from_str(url).map_err(|cause| invalid().with_source(cause))?;
    Ok(options.application_name("ibid").disable_statement_logging())
}

/// Server and database of `options`, without the password.
fn location(options: &PgConnectOptions) -> String {
    format!(
        "postgres://{}:{}/{}",
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or(options.get_username()),
    )
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
