//! The program under test, run as a stranger would: by its arguments, its output and its store file.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use sqlx::{ConnectOptions, Row, SqliteConnection};
use tempfile::TempDir;

use super::Fault;

/// The value of `--name` in `args`.
pub(crate) fn flag<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

/// `args`, then what the small form of a component is called with; what a person gives comes first and counts.
pub(crate) fn with(args: &[String], more: &[&str]) -> Vec<String> {
    args.iter().cloned().chain(more.iter().map(|text| (*text).to_owned())).collect()
}

/// The number given as `--name`, or `default`.
pub(crate) fn number(args: &[String], name: &str, default: usize) -> Result<usize, Fault> {
    match flag(args, name) {
        None => Ok(default),
        Some(text) => {
            text.parse().map_err(|_| format!("{name} wants a number, not `{text}`").into())
        }
    }
}

/// The `ibid` binary: `--ibid PATH`, else the one beside this program.
pub(crate) fn binary(args: &[String]) -> Result<PathBuf, Fault> {
    let path = match flag(args, "--ibid") {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()?.with_file_name("ibid"),
    };
    if !path.is_file() {
        return Err(format!(
            "no program at {}; build it with `cargo build --workspace`, or name it with --ibid",
            path.display()
        )
        .into());
    }
    Ok(path.canonicalize()?)
}

/// A private place for the program's data, so that no run sees another's or a person's own.
pub(crate) struct Home {
    dir: TempDir,
    binary: PathBuf,
    cache: PathBuf,
}

impl Home {
    /// An empty home.
    pub(crate) fn new(binary: &Path) -> Result<Home, Fault> {
        let dir = TempDir::new()?;
        let cache = dir.path().join("cache");
        Ok(Home { dir, binary: binary.to_owned(), cache })
    }

    /// An empty home that shares the folder indexes of this one.
    pub(crate) fn sibling(&self) -> Result<Home, Fault> {
        let mut other = Home::new(&self.binary)?;
        other.cache.clone_from(&self.cache);
        Ok(other)
    }

    /// A call of the program in this home; nothing of the person's environment reaches it but what [`model_variable`] names.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("IBID_DATA_DIR", self.data())
            .env("IBID_CACHE_DIR", &self.cache)
            .envs(model_variable())
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// Where the store is.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Runs the program to its end.
    pub(crate) fn call(&self, args: &[&str]) -> Result<Output, Fault> {
        Ok(self.command(args).output()?)
    }

    /// Asks a question about a folder: the exit code and the final object.
    pub(crate) fn ask(&self, question: &str, folder: &str) -> Result<(i32, Value), Fault> {
        let output = self.call(&["run", question, "--folder", folder, "--json", "-q"])?;
        final_object(&output)
    }

    /// Every row that `query` finds in the store, columns as text.
    pub(crate) fn rows(&self, query: &'static str) -> Result<Vec<Vec<String>>, Fault> {
        let path = self.data().join("ibid.db");
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(async {
            let mut store: SqliteConnection =
                sqlx::sqlite::SqliteConnectOptions::new().filename(&path).connect().await?;
            let rows = sqlx::query(query).fetch_all(&mut store).await?;
            let texts = rows
                .iter()
                .map(|row| (0..row.len()).map(|at| row.get::<String, _>(at)).collect())
                .collect();
            Ok(texts)
        })
    }
}

/// The exit code, and the JSON object that is the last line of stdout.
pub(crate) fn final_object(output: &Output) -> Result<(i32, Value), Fault> {
    let code = output.status.code().unwrap_or(-1);
    let stdout = String::from_utf8(output.stdout.clone())?;
    let object = serde_json::from_str(stdout.trim()).map_err(|fault| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!("exit {code}, stdout is no JSON object ({fault}): {stdout:.200}\n{stderr}")
    })?;
    Ok((code, object))
}

static WORDS_ALONE: AtomicBool = AtomicBool::new(false);

/// From now on the program under test compares words alone; it loads no model and makes no vectors.
pub(crate) fn compare_words_alone() {
    WORDS_ALONE.store(true, Ordering::Relaxed);
}

/// The one variable of a person's environment that reaches the program under test: the model that compares meaning.
pub(crate) fn model_variable() -> Option<(&'static str, OsString)> {
    const NAME: &str = "IBID_EMBEDDING_MODEL";
    if WORDS_ALONE.load(Ordering::Relaxed) {
        return Some((NAME, "none".into()));
    }
    std::env::var_os(NAME).map(|value| (NAME, value))
}

/// The median of `values`.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}
