//! From an address to sessions on a database of this version.
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};

use super::super::write::Scope;
use super::fault::{Patience, fault};
use super::write::narrow;
use crate::error::{Error, Kind, Result};

/// What raises the schema from each version to the next; the first starts from nothing.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("accounts.sql"),
    include_str!("traces.sql"),
    include_str!("writers.sql"),
    include_str!("epochs.sql"),
    include_str!("spending.sql"),
];

/// The oldest server that has all that is used, views with the rights of who reads them among it.
const OLDEST: i32 = 15;

/// How many connections read at once.
const READERS: u32 = 8;

/// Held while the schema is raised, so that processes that start together do it once.
const RAISING: i64 = 0x6962_6964;

/// The role that sessions of a superuser take on: row-level security does not bind superusers.
const PLAIN: &str = "ibid_plain";

/// How a database is reached.
#[derive(Clone)]
pub(super) struct Access {
    options: PgConnectOptions,
    place: String,
    /// The role to take on after connecting.
    role: Option<&'static str>,
}

impl Access {
    /// Reads `postgres://user:password@host:port/database?…`.
    ///
    /// # Errors
    /// `Setup` for what is no such address; the address itself may hold a password and is not told.
    pub(super) fn of(url: &str) -> Result<Access> {
        let unusable = || {
            Error::new(Kind::Setup, "reading `store.url`").hint(
                "write it as postgres://user:password@host:5432/database, or unset it; `DATABASE_URL` sets it too",
            )
        };
        // The reader of addresses takes any scheme, and another database's is most likely meant for another program.
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|it| url.starts_with(it))
        {
            return Err(unusable().because("it is not of PostgreSQL"));
        }
        let options = PgConnectOptions::from_str(url).map_err(|it| unusable().because(it))?;
        let options = options
            .application_name("ibid")
            .options([
                ("search_path", "ibid"),
                ("ibid.scope", "all"),
                // A transaction whose client is gone for good must not stay open: what became of it is asked for.
                ("idle_in_transaction_session_timeout", "10s"),
                ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
            ])
            .disable_statement_logging();
        let place = format!(
            "postgres://{}:{}/{}",
            options.get_host(),
            options.get_port(),
            options.get_database().unwrap_or(options.get_username()),
        );
        Ok(Access {
            options,
            place,
            role: None,
        })
    }

    /// Server and database, without the password.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// A new session.
    pub(super) async fn connect(&self) -> sqlx::Result<PgConnection> {
        let mut db = PgConnection::connect_with(&self.options).await?;
        take_on(&mut db, self.role).await?;
        Ok(db)
    }

    /// Sessions for who reads; each opens when first needed. Those of `everybody` see all rows from their beginning to their
    /// end; the others see none until somebody says whose, each time they are used.
    pub(super) fn readers(&self, everybody: bool) -> PgPool {
        let role = self.role;
        PgPoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(Duration::from_secs(10))
            // Whoever reads asks again where the connection turns out to be dead.
            .test_before_acquire(false)
            .after_connect(move |db, _| {
                Box::pin(async move {
                    take_on(db, role).await?;
                    match everybody {
                        true => narrow(db, &Scope::default(), true).await,
                        false => Ok(()),
                    }
                })
            })
            .connect_lazy_with(self.options.clone())
    }

    /// Brings the database to the schema of this version, and finds the role to work as. A server that is just
    /// starting is waited for.
    ///
    /// # Errors
    /// `Setup` where the database cannot be used or is of a newer Ibid, `Transient` where the server is away.
    pub(super) async fn prepare(mut self) -> Result<Access> {
        let mut patience = Patience::new();
        loop {
            match self.raised().await {
                Ok(()) => return Ok(self),
                Err(Unready::Database(it)) => {
                    // A refused connection is told at once: most often nobody listens at that address.
                    let refused = matches!(&it, sqlx::Error::Io(it) if it.kind() == std::io::ErrorKind::ConnectionRefused);
                    if refused || !patience.again(&it).await {
                        return Err(fault(&self.place, "opening", &it).error());
                    }
                }
                Err(Unready::Told(it)) => return Err(it),
            }
        }
    }

    async fn raised(&mut self) -> std::result::Result<(), Unready> {
        let mut db = PgConnection::connect_with(&self.options).await?;
        let (version, encoding): (String, String) = sqlx::query_as(
            "select current_setting('server_version_num'), current_setting('server_encoding')",
        )
        .fetch_one(&mut db)
        .await?;
        let major = version.parse::<i32>().unwrap_or(0) / 10_000;
        if major < OLDEST {
            return Err(self.told(
                format!(
                    "{} is PostgreSQL {major}; {OLDEST} or later is needed",
                    self.place
                ),
                "name a newer server in `store.url`",
            ));
        }
        if encoding != "UTF8" {
            return Err(self.told(
                format!("{} keeps text as {encoding}", self.place),
                "create the database with encoding UTF8",
            ));
        }
        let mut tx = db.begin().await?;
        sqlx::query("select pg_advisory_xact_lock($1)")
            .bind(RAISING)
            .execute(&mut *tx)
            .await?;
        self.migrate(&mut tx).await?;
        let above: bool = sqlx::query_scalar(
            "select rolsuper or rolbypassrls from pg_roles where rolname = current_user",
        )
        .fetch_one(&mut *tx)
        .await?;
        if above {
            sqlx::raw_sql(include_str!("plain.sql"))
                .execute(&mut *tx)
                .await?;
            self.role = Some(PLAIN);
        }
        tx.commit().await?;
        db.close().await?;
        Ok(())
    }

    async fn migrate(&self, tx: &mut PgConnection) -> std::result::Result<(), Unready> {
        sqlx::raw_sql(
            "create schema if not exists ibid;
             create table if not exists schema_version (version bigint not null)",
        )
        .execute(&mut *tx)
        .await?;
        let from: Option<i64> = sqlx::query_scalar("select version from schema_version")
            .fetch_optional(&mut *tx)
            .await?;
        let steps = usize::try_from(from.unwrap_or(0))
            .ok()
            .and_then(|it| MIGRATIONS.get(it..));
        let Some(steps) = steps else {
            let from = from.unwrap_or(0);
            return Err(self.told(
                format!(
                    "{} has schema version {from}; this Ibid knows up to {}",
                    self.place,
                    MIGRATIONS.len()
                ),
                "use the newer Ibid that wrote it, or name another database in `store.url`",
            ));
        };
        for step in steps {
            sqlx::raw_sql(*step).execute(&mut *tx).await?;
        }
        let statement = match from {
            None => "insert into schema_version (version) values ($1)",
            Some(_) => "update schema_version set version = $1",
        };
        sqlx::query(statement)
            .bind(MIGRATIONS.len() as i64)
            .execute(&mut *tx)
            .await?;
        // Of processes that were killed: nobody waits that long to learn what became of a commit.
        let stale = "delete from writers where at < now() - interval '1 day'";
        sqlx::raw_sql(stale).execute(&mut *tx).await?;
        Ok(())
    }

    fn told(&self, what: String, hint: &str) -> Unready {
        Unready::Told(Error::new(Kind::Setup, what).hint(hint))
    }
}

async fn take_on(db: &mut PgConnection, role: Option<&'static str>) -> sqlx::Result<()> {
    if role.is_some() {
        sqlx::raw_sql("set role ibid_plain").execute(db).await?;
    }
    Ok(())
}

/// Why a database cannot be used.
enum Unready {
    Database(sqlx::Error),
    Told(Error),
}

impl From<sqlx::Error> for Unready {
    fn from(it: sqlx::Error) -> Unready {
        Unready::Database(it)
    }
}
