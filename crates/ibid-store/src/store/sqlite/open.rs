//! Creating and opening the database file, with the schema of this version.
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection, SqlitePool};

use super::error::{is_busy, store_error};
use ibid_core::files::private_dir;
use ibid_core::retry::RetryPolicy;
use ibid_core::{Error, ErrorKind, Result};

/// The steps from each version of the schema to the next, beginning with an empty database.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("egress.sql"),
    include_str!("owners.sql"),
    include_str!("accounts.sql"),
    include_str!("traces.sql"),
    include_str!("spending.sql"),
    include_str!("org_weights.sql"),
    include_str!("page_objects.sql"),
    include_str!("schedules.sql"),
    include_str!("browser_sessions.sql"),
];

/// How long to wait for another process that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(15);

/// How long to wait for a free connection. Longer than a computation between two polls of a task takes on a busy machine:
/// the time runs then, too, and a run must not end because it was computing.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(60);

/// How to wait while another process switches a new database to WAL.
const CONNECT_RETRY: RetryPolicy = RetryPolicy::fixed(51, Duration::from_millis(20));

/// The number of connections that read.
const READERS: u32 = 4;

/// The database file of `data_dir`.
pub fn database(data_dir: &Path) -> PathBuf {
    data_dir.join("ibid.db")
}

/// Creates the directory (0700) and an empty file (0600) if they do not exist. Only their owner may read them: questions
/// and pages may be private.
pub(super) fn prepare(data_dir: &Path) -> Result<PathBuf> {
    let refused = |cause: io::Error| {
        Error::new(ErrorKind::Setup, format!("creating the data directory {}", data_dir.display()))
            .with_source(cause)
            .with_hint("make it writable, or set `IBID_DATA_DIR` to another directory")
    };
    if data_dir.exists() && !data_dir.is_dir() {
        return Err(Error::new(
            ErrorKind::Setup,
            format!("data directory {} is not a directory", data_dir.display()),
        )
        .with_hint("set `IBID_DATA_DIR` to another directory"));
    }
    private_dir(data_dir).map_err(refused)?;
    let path = database(data_dir);
    if let Err(cause) = private_file(&path)
        && cause.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(Error::new(ErrorKind::Setup, format!("creating {}", path.display()))
            .with_source(cause)
            .with_hint("make the data directory writable, or set `IBID_DATA_DIR` to another"));
    }
    Ok(path)
}

/// Creates a file that only its owner may read.
fn private_file(path: &Path) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop)
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
}

/// Opens the connection that writes, and brings the schema to this version.
pub(super) async fn writer(path: &Path, max_pages: Option<u32>) -> Result<SqliteConnection> {
    let broken = |cause: sqlx::Error| store_error(path, "opening", &cause).error();
    let mut options = options(path).journal_mode(SqliteJournalMode::Wal).pragma("fullfsync", "on");
    if let Some(pages) = max_pages {
        options = options.pragma("max_page_count", pages.to_string());
    }
    let mut db = connect(&options).await.map_err(broken)?;
    let current = MIGRATIONS.len() as i64;
    if version(&mut db).await.map_err(broken)? != current {
        migrate(path, &mut db).await?;
    }
    Ok(db)
}

/// Connects, and tries again while the database is busy: two processes that open a new database at once cannot both
/// switch it to WAL, and SQLite does not wait for that by itself.
async fn connect(options: &SqliteConnectOptions) -> sqlx::Result<SqliteConnection> {
    let mut backoff = CONNECT_RETRY.begin();
    loop {
        match SqliteConnection::connect_with(options).await {
            Err(fault) if is_busy(&fault) && backoff.wait().await => {}
            outcome => return outcome,
        }
    }
}

async fn version(db: &mut SqliteConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("pragma user_version").fetch_one(db).await
}

async fn migrate(path: &Path, db: &mut SqliteConnection) -> Result<()> {
    let broken = |cause: sqlx::Error| store_error(path, "setting up", &cause).error();
    let mut tx = db.begin_with("begin immediate").await.map_err(broken)?;
    // Read again inside the transaction: another process may have been faster.
    let from = version(&mut tx).await.map_err(broken)?;
    let steps = usize::try_from(from).ok().and_then(|from| MIGRATIONS.get(from..));
    let Some(steps) = steps else {
        return Err(Error::new(
            ErrorKind::Setup,
            format!(
                "{} has schema version {from}; this Ibid supports up to {}",
                path.display(),
                MIGRATIONS.len()
            ),
        )
        .with_hint(
            "use the newer Ibid that wrote it, or set `IBID_DATA_DIR` to another directory",
        ));
    };
    for step in steps {
        sqlx::raw_sql(*step).execute(&mut *tx).await.map_err(broken)?;
    }
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("pragma user_version = {}", MIGRATIONS.len())))
        .execute(&mut *tx)
        .await
        .map_err(broken)?;
    tx.commit().await.map_err(broken)
}

/// The connections that read. Each opens when first needed.
pub(super) fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_lazy_with(options(path).pragma("query_only", "on"))
}

/// The connection for small writes that no run waits for. It opens when first needed.
pub(super) fn direct_writers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_lazy_with(options(path))
}
