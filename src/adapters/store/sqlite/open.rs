//! From a directory to an open database of this version.
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection, SqlitePool};

use super::fault::{busy, fault};
use crate::error::{Error, Kind, Result};

/// What raises the schema from each version to the next; the first starts from nothing.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("egress.sql"),
    include_str!("owners.sql"),
    include_str!("accounts.sql"),
    include_str!("traces.sql"),
    include_str!("spending.sql"),
];

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many connections read at once.
const READERS: u32 = 4;

/// Where the database of `data_dir` lives.
pub fn database(data_dir: &Path) -> PathBuf {
    data_dir.join("ibid.db")
}

/// Makes the directory (0700) and an empty file (0600) where they are missing, for their owner
/// alone: questions and pages may be private.
pub(super) fn prepare(data_dir: &Path) -> Result<PathBuf> {
    let refused = |cause: io::Error| {
        Error::new(
            Kind::Setup,
            format!("making the data directory {}", data_dir.display()),
        )
        .because(cause)
        .hint("make it writable, or name another with `IBID_DATA_DIR`")
    };
    if data_dir.exists() && !data_dir.is_dir() {
        return Err(Error::new(
            Kind::Setup,
            format!("data directory {} is not a directory", data_dir.display()),
        )
        .hint("name another with `IBID_DATA_DIR`"));
    }
    private_dir(data_dir).map_err(refused)?;
    let path = database(data_dir);
    if let Err(cause) = private_file(&path)
        && cause.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(
            Error::new(Kind::Setup, format!("making {}", path.display()))
                .because(cause)
                .hint("make the data directory writable, or name another with `IBID_DATA_DIR`"),
        );
    }
    Ok(path)
}

/// A directory with its parents, for its owner alone.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    let mut dir = std::fs::DirBuilder::new();
    dir.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut dir, 0o700);
    dir.create(path)
}

/// A directory that is not there yet, for its owner alone.
pub(crate) fn new_private_dir(path: &Path) -> io::Result<()> {
    let mut dir = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut dir, 0o700);
    dir.create(path)
}

/// A new file, for its owner alone.
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
        .busy_timeout(PATIENCE)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
}

/// The connection that writes, with the schema of this version.
pub(super) async fn writer(path: &Path, max_pages: Option<u32>) -> Result<SqliteConnection> {
    let broken = |it: sqlx::Error| fault(path, "opening", &it).error();
    let mut wanted = options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("fullfsync", "on");
    if let Some(pages) = max_pages {
        wanted = wanted.pragma("max_page_count", pages.to_string());
    }
    let mut db = connect(&wanted).await.map_err(broken)?;
    let current = MIGRATIONS.len() as i64;
    if version(&mut db).await.map_err(broken)? != current {
        migrate(path, &mut db).await?;
    }
    Ok(db)
}

/// Two processes that open a new database at once cannot both switch it to WAL; SQLite does not
/// wait for that by itself.
async fn connect(wanted: &SqliteConnectOptions) -> sqlx::Result<SqliteConnection> {
    let mut tries = 0;
    loop {
        match SqliteConnection::connect_with(wanted).await {
            Err(fault) if busy(&fault) && tries < 50 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            outcome => return outcome,
        }
    }
}

async fn version(db: &mut SqliteConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("pragma user_version")
        .fetch_one(db)
        .await
}

async fn migrate(path: &Path, db: &mut SqliteConnection) -> Result<()> {
    let broken = |it: sqlx::Error| fault(path, "setting up", &it).error();
    let mut tx = db.begin_with("begin immediate").await.map_err(broken)?;
    // Asked again inside: another process may have been faster.
    let from = version(&mut tx).await.map_err(broken)?;
    let steps = usize::try_from(from)
        .ok()
        .and_then(|it| MIGRATIONS.get(it..));
    let Some(steps) = steps else {
        return Err(Error::new(
            Kind::Setup,
            format!(
                "{} has schema version {from}; this Ibid knows up to {}",
                path.display(),
                MIGRATIONS.len()
            ),
        )
        .hint("use the newer Ibid that wrote it, or name another directory with `IBID_DATA_DIR`"));
    };
    for step in steps {
        sqlx::raw_sql(*step)
            .execute(&mut *tx)
            .await
            .map_err(broken)?;
    }
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
        "pragma user_version = {}",
        MIGRATIONS.len()
    )))
    .execute(&mut *tx)
    .await
    .map_err(broken)?;
    tx.commit().await.map_err(broken)
}

/// The connections that read; each opens when first needed.
pub(super) fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with(options(path).pragma("query_only", "on"))
}

/// The connection for what is seldom written; it opens when first needed.
pub(super) fn desk(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with(options(path))
}
