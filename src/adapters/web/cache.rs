//! What was brought from the web, kept for other runs in one file of SQLite: pages, answers of search engines, robots.txt.
//!
//! It lies outside of any run's journal: a run that is resumed or replayed never looks here. Faults of the file are misses,
//! for everything in it can be asked for again.
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};

use crate::error::{Error, Kind, Result};

/// The version is that of the table and of what stands in it.
const SCHEMA: &str = "
    create table if not exists kept_1 (
        kind text not null, key text not null, asked integer not null, used integer not null, size integer not null,
        head text not null, body blob not null, primary key (kind, key)
    ) without rowid;
    create index if not exists kept_1_by_use on kept_1 (used, size);";

/// Faults by which SQLite says that a file is none of its own, or damaged.
const DAMAGED: [&str; 2] = ["11", "26"];

/// Larger bodies are not kept, bytes as packed.
const LARGEST: usize = 32 << 20;

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A page, by its canonical address.
    Page,
    /// What a reader made of a page, by its name and the page's canonical address.
    Draft,
    /// What a search engine answered, by what it was asked.
    Answer,
    /// What a host's robots.txt said, by its origin.
    Robots,
    /// How a model understood or broke down a question, by the prompt.
    Plan,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            What::Page => "page",
            What::Draft => "draft",
            What::Answer => "answer",
            What::Robots => "robots",
            What::Plan => "plan",
        }
    }
}

/// Something kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept<T> {
    /// How long ago it was asked for, or found to be unchanged.
    pub age: Duration,
    /// What is known of it.
    pub head: T,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// The file.
#[derive(Debug, Clone)]
pub struct WebCache {
    pool: SqlitePool,
    most: u64,
}

impl WebCache {
    /// Where it lies in `cache_dir`.
    pub fn path(cache_dir: &Path) -> PathBuf {
        cache_dir.join("web.db")
    }

    /// Opens the file at `path`, which is made where it is missing and made anew where it is damaged, and keeps at most `most`
    /// bytes in it.
    ///
    /// # Errors
    /// `Setup` where it cannot be written.
    pub async fn open(path: &Path, most: u64) -> Result<WebCache> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(|it| fault(path, sqlx::Error::Io(it)))?;
        }
        private(path).map_err(|it| fault(path, sqlx::Error::Io(it)))?;
        let pool = match opened(path).await {
            Err(sqlx::Error::Database(it))
                if it.code().is_some_and(|it| DAMAGED.contains(&it.as_ref())) =>
            {
                for end in ["", "-wal", "-shm"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(end);
                    // What cannot be taken away shows when it is opened again.
                    let _ = std::fs::remove_file(name);
                }
                private(path).map_err(|it| fault(path, sqlx::Error::Io(it)))?;
                opened(path).await
            }
            it => it,
        };
        let pool = pool.map_err(|it| fault(path, it))?;
        Ok(WebCache { pool, most })
    }

    /// What is kept under `key`; `None` where nothing is, or it cannot be read.
    pub async fn get<T: DeserializeOwned>(&self, what: What, key: &str) -> Option<Kept<T>> {
        let row = sqlx::query("select asked, head, body from kept_1 where kind = $1 and key = $2")
            .bind(what.word())
            .bind(key)
            .fetch_optional(&self.pool)
            .await
            .ok()??;
        let head = serde_json::from_str(row.get(1)).ok()?;
        let body = unpacked(row.get(2))?;
        let now = now();
        // What was dropped first is what nobody wanted for longest.
        let _used = sqlx::query("update kept_1 set used = $1 where kind = $2 and key = $3")
            .bind(now)
            .bind(what.word())
            .bind(key)
            .execute(&self.pool)
            .await;
        let age = now.saturating_sub(row.get::<i64, _>(0)).max(0);
        Some(Kept {
            age: Duration::from_millis(age.cast_unsigned()),
            head,
            body,
        })
    }

    /// Keeps `body` under `key`, and drops what was not used for longest where there is too much.
    pub async fn put<T: Serialize>(&self, what: What, key: &str, head: &T, body: &[u8]) {
        let packed = packed(body);
        let Ok(head) = serde_json::to_string(head) else {
            return;
        };
        let size = packed.len() + head.len() + key.len();
        if packed.len() > LARGEST || size as u64 > self.most {
            return;
        }
        let now = now();
        let kept = sqlx::query("insert or replace into kept_1 values ($1, $2, $3, $3, $4, $5, $6)")
            .bind(what.word())
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

    /// Notes that what is kept under `key` was asked about just now and is unchanged.
    pub async fn confirm(&self, what: What, key: &str) {
        let _fault =
            sqlx::query("update kept_1 set asked = $1, used = $1 where kind = $2 and key = $3")
                .bind(now())
                .bind(what.word())
                .bind(key)
                .execute(&self.pool)
                .await;
    }

    /// Bytes kept.
    pub async fn size(&self) -> u64 {
        let sum = sqlx::query("select coalesce(sum(size), 0) from kept_1")
            .fetch_one(&self.pool)
            .await;
        sum.map_or(0, |it| it.get::<i64, _>(0).max(0).cast_unsigned())
    }

    async fn drop_oldest(&self) {
        let size = self.size().await;
        if size <= self.most {
            return;
        }
        // A tenth more than must go, so that not every page that comes drops one.
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

/// Makes the file for its owner alone where it is missing: what was asked may be private.
fn private(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new();
    file.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop)
}

async fn opened(path: &Path) -> sqlx::Result<SqlitePool> {
    // Everything can be asked for again, so that a commit need not wait for the disk.
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

fn fault(path: &Path, it: sqlx::Error) -> Error {
    Error::new(Kind::Setup, format!("opening {}", path.display()))
        .because(it)
        .hint("make cache_dir writable, or set page_cache_hours and search_cache_hours to 0")
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}

fn packed(body: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut it = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    // A vector takes all that is written.
    let _ = it.write_all(body);
    it.finish().unwrap_or_default()
}

/// What we packed ourselves; `None` where it is damaged.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut body = Vec::new();
    let mut it = flate2::read::ZlibDecoder::new(packed).take(LARGEST as u64 * 2);
    it.read_to_end(&mut body).ok().map(|_| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn cache(dir: &Path, most: u64) -> WebCache {
        WebCache::open(&WebCache::path(dir), most).await.unwrap()
    }

    #[tokio::test]
    async fn what_is_kept_is_there_for_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let first = cache(dir.path(), 1 << 20).await;
        first
            .put(What::Page, "a", &"head".to_owned(), b"body")
            .await;
        drop(first);
        let second = cache(dir.path(), 1 << 20).await;
        let kept: Kept<String> = second.get(What::Page, "a").await.unwrap();
        assert_eq!(
            (kept.head.as_str(), kept.body.as_slice()),
            ("head", &b"body"[..])
        );
        assert!(kept.age < Duration::from_secs(60));
        assert!(second.get::<String>(What::Answer, "a").await.is_none());
        // A head of another form is a miss.
        assert!(second.get::<u32>(What::Page, "a").await.is_none());
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
        let wait = || tokio::time::sleep(Duration::from_millis(3));
        for nth in 0..20 {
            cache.put(What::Page, &format!("{nth}"), &nth, &body).await;
            wait().await;
            assert!(cache.get::<i32>(What::Page, "0").await.is_some(), "{nth}");
            wait().await;
            assert!(cache.size().await <= 20_000);
        }
        assert!(cache.get::<i32>(What::Page, "1").await.is_none());
        assert!(cache.get::<i32>(What::Page, "19").await.is_some());
        cache.put(What::Page, "huge", &0, &body.repeat(20)).await;
        assert!(cache.size().await <= 20_000);
    }

    #[tokio::test]
    async fn a_damaged_file_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            WebCache::path(dir.path()),
            "no database at all. ".repeat(500),
        )
        .unwrap();
        let cache = cache(dir.path(), 1 << 20).await;
        cache.put(What::Robots, "a", &1, b"x").await;
        assert!(cache.get::<i32>(What::Robots, "a").await.is_some());
    }
}
