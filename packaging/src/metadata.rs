//! What Cargo, the compiler and Git say of this repository.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use xtask::cargo;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// What Cargo is asked for the tree of this platform, whose manifests are certain to be here, as the lock file has it.
///
/// `features` are those of `ibid-cli` that are built in addition to its default ones.
///
/// # Errors
/// A message if Cargo or the compiler cannot be run.
pub(crate) fn metadata(features: &[String]) -> Result<Value, String> {
    let tree = output(
        cargo()
            .args(["metadata", "--format-version", "1", "--locked", "--offline"])
            .args(["--filter-platform", &host()?])
            .args(features.iter().map(|feature| format!("--features=ibid-cli/{feature}")))
            .current_dir(root()),
    )?;
    serde_json::from_str(&tree).map_err(|error| error.to_string())
}

/// The platform of this machine, as Rust names it.
///
/// # Errors
/// A message if the compiler cannot be run.
pub(crate) fn host() -> Result<String, String> {
    let about = output(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say for which platform it is".to_owned())
}

/// A value of the table `workspace.metadata.release` of `Cargo.toml`.
///
/// # Errors
/// A message if it is not there.
pub(crate) fn release_setting(name: &str) -> Result<String, String> {
    let tree = output(
        cargo()
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(root()),
    )?;
    let tree: Value = serde_json::from_str(&tree).map_err(|error| error.to_string())?;
    let value = tree["metadata"]["release"][name].as_str();
    value.map(str::to_owned).ok_or(format!("Cargo.toml has no workspace.metadata.release.{name}"))
}

/// The commit that is checked out, with `-dirty` if a file differs from it; `None` outside a clone.
pub(crate) fn commit() -> Option<String> {
    let git = |args: &[&str]| output(Command::new("git").args(args).current_dir(root())).ok();
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain"])?;
    let mark = if changes.trim().is_empty() { "" } else { "-dirty" };
    Some(format!("{}{mark}", commit.trim()))
}

/// The time of every file in the packages: `SOURCE_DATE_EPOCH`, else the time of the commit, in seconds since 1970.
///
/// # Errors
/// A message if neither is known.
pub(crate) fn release_time() -> Result<u64, String> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))
                .map_err(|fault| {
                    format!("no SOURCE_DATE_EPOCH is set, and git knows no commit: {fault}")
                })?
        }
    };
    text.trim().parse().map_err(|_| format!("`{}` is not a number of seconds", text.trim()))
}

/// Builds the program so that its bytes depend on the source and the compiler alone, and returns where it is.
///
/// # Errors
/// A message if it cannot be built.
pub(crate) fn build() -> Result<PathBuf, String> {
    let host = host()?;
    let target = root().join("target/dist");
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let home = home.ok_or("the directory of Cargo is not known; set CARGO_HOME")?;
    // Messages of panics and assertions name source files; they must not name where this clone is.
    let places = [(root(), "/ibid"), (home.as_path(), "/cargo")];
    let remap = |option: &str, separator: &str| {
        places.map(|(from, to)| format!("{option}={}={to}", from.display())).join(separator)
    };
    // The bill of materials and the licences are read from all packages of this platform, also those that only tests use.
    let fetched =
        cargo().args(["fetch", "--locked", "--target", &host]).current_dir(root()).status();
    // Without a network, what is here already may do.
    if !fetched.is_ok_and(|status| status.success()) {
        eprintln!(
            "xtask: not every package could be downloaded; going on with those that are here"
        );
    }
    let mut command = cargo();
    command
        .args(["build", "--release", "--locked", "--package", "ibid-cli", "--features", "pdf"])
        .args(["--target", &host, "--target-dir"])
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", remap("--remap-path-prefix", "\u{1f}"))
        .env("CFLAGS", remap("-ffile-prefix-map", " "))
        .env("SOURCE_DATE_EPOCH", release_time()?.to_string())
        .current_dir(root());
    match commit() {
        Some(commit) => command.env("SOURCE_COMMIT", commit),
        None => command.env_remove("SOURCE_COMMIT"),
    };
    let status = command.status().map_err(|fault| format!("cargo: {fault}"))?;
    match status.success() {
        true => Ok(target.join(host).join("release/ibid")),
        false => Err(format!("building the program ended with {status}")),
    }
}

/// What a command prints.
///
/// # Errors
/// What it says on stderr if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
