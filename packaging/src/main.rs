//! Makes the packages of a release, installs them for a check, and lists what the program is made of.
//!
//! `cargo xtask dist` and `cargo xtask sbom` start this program. `docs/releasing.md` says how a release is made with it.
#![allow(
    clippy::print_stderr,
    reason = "a chore says what it does, on the terminal of the person who runs it"
)]
mod check;
mod deb;
mod dist;
mod file_tree;
mod homebrew;
mod licences;
mod metadata;
mod npm;
mod provenance;
mod readme;
mod release;
mod sbom;
mod tarball;
mod target;
#[cfg(test)]
mod tests;
mod wheel;

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dist::ReleaseFacts;
use metadata::root;
use provenance::BuildFacts;
use release::{Notices, Release, ReleaseInputs};

const USAGE: &str =
    "usage: cargo xtask dist [--binary FILE] [--out DIR] [--sign-with KEY] [--check]
       cargo xtask dist --finish [--out DIR] [--sign-with KEY]
       cargo xtask dist --check-only [--out DIR]
       cargo xtask dist --readme source|release
       cargo xtask sbom [FILE]

Without --binary, the program is built first, which takes some 15 minutes.";

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let outcome = match args.next().as_deref() {
        Some("dist") => DistOptions::parse(args).and_then(|options| dist(&options)),
        Some("sbom") => write_sbom(args.next().as_deref()),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// What `dist` is to do.
#[derive(Default)]
struct DistOptions {
    binary: Option<PathBuf>,
    out: Option<PathBuf>,
    key: Option<PathBuf>,
    readme: Option<String>,
    is_finish: bool,
    is_check: bool,
    is_check_only: bool,
}

impl DistOptions {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<DistOptions, String> {
        let mut options = DistOptions::default();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--binary" => options.binary = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                "--sign-with" => options.key = Some(value()?.into()),
                "--readme" => options.readme = Some(value()?),
                "--finish" => options.is_finish = true,
                "--check" => options.is_check = true,
                "--check-only" => options.is_check_only = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}

fn dist(options: &DistOptions) -> Result<(), String> {
    if let Some(first) = &options.readme {
        return readme::turn(&root().join("README.md"), first);
    }
    let own = root().join("target/dist/packages");
    let out = options.out.clone().unwrap_or_else(|| own.clone());
    if options.is_check_only {
        return check::check(&out, root());
    }
    let repository = metadata::release_setting("repository")?;
    let time = metadata::release_time()?;
    if !options.is_finish {
        if out == own && own.exists() {
            std::fs::remove_dir_all(&own).map_err(|fault| format!("{}: {fault}", own.display()))?;
        }
        dist::empty_folder(&out)?;
        let (binary, is_built_here) = match &options.binary {
            Some(binary) => (binary.clone(), false),
            None => (metadata::build()?, true),
        };
        let inputs = ReleaseInputs {
            binary: &binary,
            root: root(),
            notices: &notices,
            time,
            repository: repository.clone(),
            maintainer: metadata::release_setting("maintainer")?,
        };
        let release = Release::collect(&inputs)?;
        let lock = dist::sum(&file_tree::read(&root().join("Cargo.lock"))?);
        for name in dist::write_platform(&release, &BuildFacts { lock, is_built_here }, &out)? {
            eprintln!("xtask: wrote {}", out.join(name).display());
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    let facts = ReleaseFacts { version, repository: &repository, time, root: root() };
    dist::write_common(&facts, &out)?;
    if let Some(key) = &options.key {
        dist::sign(&out, key, &format!("ibid {version}"))?;
    }
    eprintln!("xtask: wrote {}", out.join(dist::SUMS).display());
    if options.is_check { check::check(&out, root()) } else { Ok(()) }
}

/// The licences of the libraries, and the bill of materials, of a program with these features.
fn notices(features: &[String]) -> Result<Notices, String> {
    let metadata = metadata::metadata(features)?;
    let bill = bill(&metadata)?;
    let licences = licences::notices(&metadata, &bill)?;
    Ok(Notices { licences, bill: format!("{bill:#}\n") })
}

fn bill(metadata: &serde_json::Value) -> Result<serde_json::Value, String> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock"));
    let lock = lock.map_err(|error| format!("Cargo.lock: {error}"))?;
    sbom::bill(metadata, &lock, "ibid-cli")
}

fn write_sbom(place: Option<&str>) -> Result<(), String> {
    let text = format!("{:#}\n", bill(&metadata::metadata(&[])?)?);
    match place {
        Some(place) => file_tree::write(Path::new(place), text),
        None => std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| format!("writing the bill of materials: {error}")),
    }
}
