//! A cache of web content shared by all runs, in one SQLite file: pages, answers of search engines, robots.txt.
//!
//! It is independent of the runs' journals: a resumed or replayed run never reads it. Errors of the file are treated
//! as cache misses, since everything can be fetched again.
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};

use ibid_core::{Error, ErrorKind, Result};

/// The table name contains the version of the schema and its content.
const SCHEMA: &str = "
    create table if not exists kept_1 (
        kind text not null, key text not null, asked integer not null, used integer not null, size integer not null,
        head text not null, body blob not null, primary key (kind, key)
    ) without rowid;
    create index if not exists kept_1_by_use on kept_1 (used, size);";

/// SQLite's error codes for a damaged file and for a file of another format.
const DAMAGED: [&str; 2] = ["11", "26"];

/// Maximum size of a compressed body, bytes; larger ones are not cached.
const MAX_BYTES: usize = 32 << 20;

/// The kind of cached content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// A page, by its canonical URL.
    Page,
    /// A reader's output, by the reader's name and the canonical URL.
    Draft,
    /// The answer of a search engine, by the request.
    Answer,
    /// A robots.txt, by origin.
    Robots,
    /// A refined question or a plan, by the prompt.
    Plan,
}

impl CacheKind {
    fn as_str(self) -> &'static str {
        match self {
            CacheKind::Page => "page",
            CacheKind::Draft => "draft",
            CacheKind::Answer => "answer",
            CacheKind::Robots => "robots",
            CacheKind::Plan => "plan",
        }
    }
}

/// A cached entry.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheEntry<T> {
    /// Time since it was fetched or revalidated.
    pub age: Duration,
    /// Its metadata.
    pub head: T,
    /// Its content.
    pub body: Vec<u8>,
}

/// The cache file.
#[derive(Debug, Clone)]
pub struct WebCache {
    pool: SqlitePool,
    most: u64,
    /// Whose questions it answers; empty where there is one user.
    user: String,
}

impl WebCache {
    /// Path of the cache file in `cache_dir`.
    pub fn path(cache_dir: &Path) -> PathBuf {
        cache_dir.join("web.db")
    }

    /// Opens the cache at `path` with at most `most` bytes. A missing file is created, a damaged one replaced.
    ///
    /// # Errors
    /// `Setup` if it cannot be written.
    pub async fn open(path: &Path, most: u64) -> Result<WebCache> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)
                .map_err(|error| cache_error(path, sqlx::Error::Io(error)))?;
        }
        private(path).map_err(|error| cache_error(path, sqlx::Error::Io(error)))?;
        let pool = match opened(path).await {
            Err(sqlx::Error::Database(it))
                if it.code().is_some_and(|code| DAMAGED.contains(&code.as_ref())) =>
            {
                for end in ["", "-wal", "-shm"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(end);
                    // If this fails, opening reports it.
                    let _ = std::fs::remove_file(name);
                }
                private(path).map_err(|error| cache_error(path, sqlx::Error::Io(error)))?;
                opened(path).await
            }
            it => it,
        };
        let pool = pool.map_err(|error| cache_error(path, error))?;
        Ok(WebCache { pool, most, user: String::new() })
    }

    /// The same cache for the questions of `user`. Plans and answers of search engines are kept apart, because their cost and speed
    /// would reveal what somebody else has asked; pages are the same for all.
    #[must_use]
    pub fn for_user(&self, user: Option<&str>) -> WebCache {
        WebCache { user: user.unwrap_or_default().to_owned(), ..self.clone() }
    }

    fn scoped_key(&self, what: CacheKind, key: &str) -> String {
        match what {
            CacheKind::Answer | CacheKind::Plan if !self.user.is_empty() => {
                format!("{}\n{key}", self.user)
            }
            _ => key.to_owned(),
        }
    }

    /// Returns the entry of `key`, or `None` if there is none or it cannot be read.
    pub async fn get<T: DeserializeOwned>(
        &self,
        what: CacheKind,
        key: &str,
    ) -> Option<CacheEntry<T>> {
        let key = self.scoped_key(what, key);
        let row = sqlx::query("select asked, head, body from kept_1 where kind = $1 and key = $2")
            .bind(what.as_str())
            .bind(&key)
            .fetch_optional(&self.pool)
            .await
            .ok()??;
        let head = serde_json::from_str(row.get(1)).ok()?;
        let body = unpacked(row.get(2))?;
        let now = now();
        // The least recently used entries are evicted first.
        let _used = sqlx::query("update kept_1 set used = $1 where kind = $2 and key = $3")
            .bind(now)
            .bind(what.as_str())
            .bind(&key)
            .execute(&self.pool)
            .await;
        let age = now.saturating_sub(row.get::<i64, _>(0)).max(0);
        Some(CacheEntry { age: Duration::from_millis(age.cast_unsigned()), head, body })
    }

    /// Stores `body` under `key`, and evicts the least recently used entries if the cache is full.
    pub async fn put<T: Serialize>(&self, what: CacheKind, key: &str, head: &T, body: &[u8]) {
        let key = self.scoped_key(what, key);
        let packed = packed(body);
        let Ok(head) = serde_json::to_string(head) else {
            return;
        };
        let size = packed.len() + head.len() + key.len();
        if packed.len() > MAX_BYTES || size as u64 > self.most {
            return;
        }
        let now = now();
        let kept = sqlx::query("insert or replace into kept_1 values ($1, $2, $3, $3, $4, $5, $6)")
            .bind(what.as_str())
            .bind(key)
            .bind(now)
            .bind(size as i64)
            .bind(head)
            .bind(packed)
            .execute(&self.pool)
            .await;
        if kept.is_ok() {
            self.drop_oldest().await;
        }
    }

    /// Records that the entry of `key` was revalidated and is unchanged.
    pub(crate) async fn confirm(&self, what: CacheKind, key: &str) {
        let key = self.scoped_key(what, key);
        let _fault =
            sqlx::query("update kept_1 set asked = $1, used = $1 where kind = $2 and key = $3")
                .bind(now())
                .bind(what.as_str())
                .bind(key)
                .execute(&self.pool)
                .await;
    }

    /// Total size of the entries, in bytes.
    pub async fn size(&self) -> u64 {
        let sum =
            sqlx::query("select coalesce(sum(size), 0) from kept_1").fetch_one(&self.pool).await;
        sum.map_or(0, |it| it.get::<i64, _>(0).max(0).cast_unsigned())
    }

    async fn drop_oldest(&self) {
        let size = self.size().await;
        if size <= self.most {
            return;
        }
        // Evicts a tenth more than necessary, so that not every new entry causes an eviction.
        let excess = size - self.most + self.most / 10;
        let _fault = sqlx::query(
            "delete from kept_1 where (kind, key) in (
                select kind, key from (
                    select kind, key, sum(size) over (order by used, kind, key) - size as before from kept_1
                ) where before < $1)",
        )
        .bind(i64::try_from(excess).unwrap_or(i64::MAX))
        .execute(&self.pool)
        .await;
    }
}

/// Creates the file, if missing, readable only by its owner: queries may be private.
fn private(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new();
    file.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop)
}

async fn opened(path: &Path) -> sqlx::Result<SqlitePool> {
    // Everything can be fetched again, so commits need not wait for the disk.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(Duration::from_secs(5));
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(options)
        .await?;
    sqlx::raw_sql(SCHEMA).execute(&pool).await?;
    Ok(pool)
}

fn cache_error(path: &Path, it: sqlx::Error) -> Error {
    Error::new(ErrorKind::Setup, format!("opening {}", path.display()))
        .with_source(it)
        .with_hint("make cache_dir writable, or set page_cache_hours and search_cache_hours to 0")
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}

fn packed(body: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut it = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to a vector cannot fail.
    let _ = it.write_all(body);
    it.finish().unwrap_or_default()
}

/// Decompresses an entry; `None` if it is damaged.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut body = Vec::new();
    let mut it = flate2::read::ZlibDecoder::new(packed).take(MAX_BYTES as u64 * 2);
    it.read_to_end(&mut body).ok().map(|_| body)
}

#[cfg(test)]
impl WebCache {
    /// Moves the times of all entries back by `age`, as if it had passed.
    pub(super) async fn age_entries(&self, age: Duration) {
        let age = i64::try_from(age.as_millis()).unwrap();
        sqlx::query("update kept_1 set asked = asked - $1, used = used - $1")
            .bind(age)
            .execute(&self.pool)
            .await
            .unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn cache(dir: &Path, most: u64) -> WebCache {
        WebCache::open(&WebCache::path(dir), most).await.unwrap()
    }

    #[tokio::test]
    async fn a_user_has_plans_and_answers_of_their_own_and_pages_in_common() {
        let dir = tempfile::tempdir().unwrap();
        let all = cache(dir.path(), 1 << 20).await;
        let (ann, bob) = (all.for_user(Some("ann")), all.for_user(Some("bob")));
        for kind in [CacheKind::Plan, CacheKind::Answer, CacheKind::Page] {
            ann.put(kind, "a", &(), b"body").await;
            assert!(ann.get::<()>(kind, "a").await.is_some());
            assert_eq!(bob.get::<()>(kind, "a").await.is_some(), kind == CacheKind::Page);
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_there_for_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let first = cache(dir.path(), 1 << 20).await;
        first.put(CacheKind::Page, "a", &"head".to_owned(), b"body").await;
        drop(first);
        let second = cache(dir.path(), 1 << 20).await;
        let kept: CacheEntry<String> = second.get(CacheKind::Page, "a").await.unwrap();
        assert_eq!((kept.head.as_str(), kept.body.as_slice()), ("head", &b"body"[..]));
        assert!(kept.age < Duration::from_secs(60));
        assert!(second.get::<String>(CacheKind::Answer, "a").await.is_none());
        // A head of another form is a miss.
        assert!(second.get::<u32>(CacheKind::Page, "a").await.is_none());
    }

    #[tokio::test]
    async fn what_was_not_used_for_longest_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path(), 20_000).await;
        // Bytes that cannot be packed.
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        let body: Vec<u8> = (0..2_000).map(|_| random()).collect();
        let wait = || cache.age_entries(Duration::from_millis(3));
        for nth in 0..20 {
            cache.put(CacheKind::Page, &format!("{nth}"), &nth, &body).await;
            wait().await;
            assert!(cache.get::<i32>(CacheKind::Page, "0").await.is_some(), "{nth}");
            wait().await;
            assert!(cache.size().await <= 20_000);
        }
        assert!(cache.get::<i32>(CacheKind::Page, "1").await.is_none());
        assert!(cache.get::<i32>(CacheKind::Page, "19").await.is_some());
        cache.put(CacheKind::Page, "huge", &0, &body.repeat(20)).await;
        assert!(cache.size().await <= 20_000);
    }

    #[tokio::test]
    async fn a_damaged_file_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(WebCache::path(dir.path()), "no database at all. ".repeat(500)).unwrap();
        let cache = cache(dir.path(), 1 << 20).await;
        cache.put(CacheKind::Robots, "a", &1, b"x").await;
        assert!(cache.get::<i32>(CacheKind::Robots, "a").await.is_some());
    }
}
