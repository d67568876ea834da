//! Vectors as BLOBs in an SQLite file, compared one by one.
//!
//! Comparing a hundred thousand vectors of 384 numbers takes about 20 ms, so an approximate index would only add errors.
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Row, SqlitePool};
use tokio::sync::Mutex;

use super::vector::cosine;
use ibid_core::files::{create_private_file, private_dir};
use ibid_core::ports::{PassageVector, VectorIndex};
use ibid_core::{Error, ErrorKind, Result};

/// One file holds the vectors of all collections.
const SCHEMA: &str = "
    create table if not exists vectors (
        collection text not null, key integer not null, url text not null, vector blob not null,
        primary key (collection, key)
    ) without rowid;
    create index if not exists vectors_by_url on vectors (collection, url);";

/// The vectors of one collection in a file.
pub struct SqliteVectors {
    path: PathBuf,
    pool: SqlitePool,
    collection: String,
    loaded: Mutex<Option<Arc<LoadedVectors>>>,
}

/// All vectors of a collection in memory, concatenated.
struct LoadedVectors {
    keys: Vec<u64>,
    values: Vec<f32>,
    width: usize,
}

impl SqliteVectors {
    /// Opens `collection` in the file at `path`, which is created if it is missing. A file that is damaged or has other tables is
    /// replaced, for its vectors can be computed again; so is a link, a pipe or a socket, and nothing that a link leads to is touched.
    ///
    /// # Errors
    /// `Setup` if the file cannot be written.
    pub async fn open(path: &Path, collection: &str) -> Result<SqliteVectors> {
        remove_irregular(path);
        let pool = match connect(path).await {
            Err(error) if is_damage(&error) || has_other_tables(&error) => {
                remove_files(path);
                connect(path).await
            }
            connected => connected,
        };
        let pool = pool.map_err(|error| sqlite_error(path, "opening", &error))?;
        Ok(SqliteVectors::new(path, pool, collection))
    }

    /// `collection` in memory alone, for where no file can be written.
    ///
    /// # Errors
    /// `Setup` if SQLite cannot be started.
    pub async fn in_memory(collection: &str) -> Result<SqliteVectors> {
        let path = Path::new(":memory:");
        let opened = async {
            // What the only connection holds ends with it.
            let lasting = SqlitePoolOptions::new().idle_timeout(None).max_lifetime(None);
            let options = SqliteConnectOptions::new().in_memory(true);
            let pool = lasting.max_connections(1).connect_with(options).await?;
            sqlx::raw_sql(SCHEMA).execute(&pool).await?;
            Ok(pool)
        };
        let pool = opened.await.map_err(|error| sqlite_error(path, "opening", &error))?;
        Ok(SqliteVectors::new(path, pool, collection))
    }

    fn new(path: &Path, pool: SqlitePool, collection: &str) -> SqliteVectors {
        let (path, collection) = (path.to_owned(), collection.to_owned());
        SqliteVectors { path, pool, collection, loaded: Mutex::new(None) }
    }

    /// As [`SqliteVectors::open`], for vectors that are a saving only: more than `max` of them are all removed.
    ///
    /// # Errors
    /// As [`SqliteVectors::open`].
    pub async fn open_bounded(path: &Path, collection: &str, max: usize) -> Result<SqliteVectors> {
        let it = SqliteVectors::open(path, collection).await?;
        let count: i64 = sqlx::query_scalar("select count(*) from vectors where collection = $1")
            .bind(collection)
            .fetch_one(&it.pool)
            .await
            .map_err(|error| it.sqlite_error("reading", &error))?;
        if count as usize > max {
            it.retain(&[]).await?;
        }
        Ok(it)
    }

    /// Removes from the file at `path` the collections whose names end with one of `endings`.
    ///
    /// # Errors
    /// `Setup` if the file cannot be written.
    pub async fn remove_collections(path: &Path, endings: &[String]) -> Result<()> {
        if !path.exists() {
            return Ok(());
        }
        let it = SqliteVectors::open(path, "").await?;
        for ending in endings {
            sqlx::query("delete from vectors where substr(collection, -length($1)) = $1")
                .bind(ending)
                .execute(&it.pool)
                .await
                .map_err(|error| it.sqlite_error("writing", &error))?;
        }
        Ok(())
    }

    fn sqlite_error(&self, doing: &str, it: &sqlx::Error) -> Error {
        sqlite_error(&self.path, doing, it)
    }

    async fn keys(&self) -> Result<BTreeSet<u64>> {
        let rows = sqlx::query("select key from vectors where collection = $1")
            .bind(&self.collection)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.sqlite_error("reading", &error))?;
        Ok(rows.iter().map(key_of).collect())
    }

    async fn loaded(&self) -> Result<Arc<LoadedVectors>> {
        let mut kept = self.loaded.lock().await;
        if let Some(it) = &*kept {
            return Ok(Arc::clone(it));
        }
        let rows =
            sqlx::query("select key, vector from vectors where collection = $1 order by key")
                .bind(&self.collection)
                .fetch_all(&self.pool)
                .await
                .map_err(|error| self.sqlite_error("reading", &error))?;
        let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
        for row in &rows {
            *lengths.entry(row.try_get::<&[u8], _>(1).map_or(0, <[u8]>::len)).or_default() += 1;
        }
        let most = lengths.iter().max_by_key(|(_, count)| **count);
        let width = most.map_or(0, |(length, _)| length / 4);
        let mut loaded = LoadedVectors {
            keys: Vec::with_capacity(rows.len()),
            values: Vec::with_capacity(rows.len() * width),
            width,
        };
        for row in &rows {
            // A row of another length is of another model or damaged, and cannot be compared.
            if let Some(values) = values_of(row).filter(|values| values.len() == width) {
                loaded.keys.push(key_of(row));
                loaded.values.extend(values);
            }
        }
        let loaded = Arc::new(loaded);
        *kept = Some(Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl LoadedVectors {
    fn nearest(&self, to: &[f32], n: usize) -> Vec<(u64, f32)> {
        if to.len() != self.width || self.width == 0 {
            return Vec::new();
        }
        let rows = self.keys.iter().zip(self.values.chunks_exact(self.width));
        let mut found: Vec<(u64, f32)> = rows.map(|(key, it)| (*key, cosine(it, to))).collect();
        let order = |a: &(u64, f32), b: &(u64, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if found.len() > n && n > 0 {
            found.select_nth_unstable_by(n - 1, order);
        }
        found.truncate(n);
        found.sort_by(order);
        found
    }
}

#[async_trait]
impl VectorIndex for SqliteVectors {
    async fn missing_keys(&self, keys: &[u64]) -> Result<Vec<u64>> {
        let rows = sqlx::query(
            "select key from vectors where collection = $1 and key in (select value from json_each($2))",
        )
        .bind(&self.collection)
        .bind(json_keys(keys))
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.sqlite_error("reading", &error))?;
        let known: BTreeSet<u64> = rows.iter().map(key_of).collect();
        Ok(keys.iter().copied().filter(|key| !known.contains(key)).collect())
    }

    async fn get(&self, keys: &[u64]) -> Result<Vec<(u64, Vec<f32>)>> {
        let rows = sqlx::query(
            "select key, vector from vectors where collection = $1 and key in (select value from json_each($2))",
        )
        .bind(&self.collection)
        .bind(json_keys(keys))
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.sqlite_error("reading", &error))?;
        Ok(rows.iter().filter_map(|row| Some((key_of(row), values_of(row)?))).collect())
    }

    async fn upsert(&self, vectors: &[PassageVector]) -> Result<()> {
        let fault = |error: sqlx::Error| self.sqlite_error("writing", &error);
        let mut all = self.pool.begin().await.map_err(fault)?;
        for it in vectors {
            let blob: Vec<u8> = it.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            sqlx::query("insert or replace into vectors (collection, key, url, vector) values ($1, $2, $3, $4)")
                .bind(&self.collection)
                .bind(it.key.cast_signed())
                .bind(&it.url)
                .bind(blob)
                .execute(&mut *all)
                .await
                .map_err(fault)?;
        }
        all.commit().await.map_err(fault)?;
        *self.loaded.lock().await = None;
        Ok(())
    }

    async fn retain(&self, keys: &[u64]) -> Result<()> {
        let kept: BTreeSet<u64> = keys.iter().copied().collect();
        let fault = |error: sqlx::Error| self.sqlite_error("writing", &error);
        let known = self.keys().await?;
        // Another process may have stored or removed vectors since they were loaded.
        let mut loaded = self.loaded.lock().await;
        if loaded
            .as_ref()
            .is_some_and(|it| !it.keys.iter().copied().collect::<BTreeSet<_>>().eq(&known))
        {
            *loaded = None;
        }
        drop(loaded);
        let stale: Vec<u64> = known.difference(&kept).copied().collect();
        if stale.is_empty() {
            return Ok(());
        }
        let mut all = self.pool.begin().await.map_err(fault)?;
        for key in stale {
            sqlx::query("delete from vectors where collection = $1 and key = $2")
                .bind(&self.collection)
                .bind(key.cast_signed())
                .execute(&mut *all)
                .await
                .map_err(fault)?;
        }
        all.commit().await.map_err(fault)?;
        *self.loaded.lock().await = None;
        Ok(())
    }

    async fn nearest(&self, to: &[f32], n: usize) -> Result<Vec<(u64, f32)>> {
        let (loaded, to) = (self.loaded().await?, to.to_vec());
        tokio::task::spawn_blocking(move || loaded.nearest(&to, n)).await.map_err(|error| {
            Error::new(ErrorKind::Internal, "comparing vectors").with_source(error)
        })
    }

    async fn url_exists(&self, url: &str) -> Result<bool> {
        let found = sqlx::query("select 1 from vectors where collection = $1 and url = $2 limit 1")
            .bind(&self.collection)
            .bind(url)
            .fetch_optional(&self.pool)
            .await;
        found.map(|pair| pair.is_some()).map_err(|error| self.sqlite_error("reading", &error))
    }
}

/// The file at `path`, with its table.
async fn connect(path: &Path) -> sqlx::Result<SqlitePool> {
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    // The file is private, because vectors reveal much of what a text says.
    create_private_file(path)?;
    // Lost vectors can be computed again, so a commit need not wait for the disk.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(std::time::Duration::from_secs(10));
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
    sqlx::raw_sql(SCHEMA).execute(&pool).await?;
    let columns = "select collection, key, url, vector from vectors limit 0";
    sqlx::raw_sql(columns).execute(&pool).await?;
    Ok(pool)
}

/// Whether SQLite says that a file is damaged (11, in the low byte), not one of its own (26) or cut off (522).
fn is_damage(error: &sqlx::Error) -> bool {
    code_of(error).is_some_and(|code| [11, 26].contains(&(code & 0xff)) || code == 522)
}

/// Whether the statements that open a file do not fit its tables (1).
fn has_other_tables(error: &sqlx::Error) -> bool {
    code_of(error) == Some(1)
}

fn code_of(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// The numbers in the second column; `None` where they are damaged.
fn values_of(row: &SqliteRow) -> Option<Vec<f32>> {
    let (numbers, rest) = row.try_get::<&[u8], _>(1).ok()?.as_chunks::<4>();
    let values: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    let sound = !values.is_empty() && rest.is_empty() && values.iter().all(|it| it.is_finite());
    sound.then_some(values)
}

/// The key in the first column.
fn key_of(row: &SqliteRow) -> u64 {
    row.get::<i64, _>(0).cast_unsigned()
}

/// `keys` as SQLite reads them with `json_each`.
fn json_keys(keys: &[u64]) -> String {
    let signed: Vec<String> = keys.iter().map(|key| key.cast_signed().to_string()).collect();
    format!("[{}]", signed.join(","))
}

/// The file at `path`, and those that SQLite keeps beside it.
fn files(path: &Path) -> impl Iterator<Item = PathBuf> {
    ["", "-wal", "-shm", "-journal"].into_iter().map(|ending| {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    })
}

/// Removes the file at `path`, and what SQLite would read back into a new one.
fn remove_files(path: &Path) {
    for file in files(path) {
        let _ = std::fs::remove_file(file);
    }
}

/// Removes what stands in the place of these files and is neither a file nor a directory, or a file that has another name, too: it is
/// somebody else's.
fn remove_irregular(path: &Path) {
    for file in files(path) {
        let irregular =
            |it: std::fs::Metadata| !it.is_file() && !it.is_dir() || it.is_file() && it.nlink() > 1;
        if file.symlink_metadata().is_ok_and(irregular) {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The error of `doing`. A damaged file is removed, so that the next process begins a new one.
fn sqlite_error(path: &Path, doing: &str, it: &sqlx::Error) -> Error {
    let damaged = is_damage(it);
    if damaged {
        remove_files(path);
    }
    let hint = match damaged {
        true => "the file was damaged and is removed; the next command computes the vectors again",
        false => {
            "check the free space and the write permission there; if you delete the file, the vectors are computed again"
        }
    };
    Error::new(ErrorKind::Setup, format!("{doing} the vectors in {}", path.display()))
        .with_source(it.to_string())
        .with_hint(hint)
}
