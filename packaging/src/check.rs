//! Installs each package into an empty place and asks README's question with what was installed.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::dist::{SUMS, sum, sums};
use crate::file_tree::read;
use crate::release::{REGISTRY_NAME, model};
use crate::target::TARGETS;

/// README's question, whose answer is in the sample library.
const QUESTION: &str = "How much annual rainfall does a green roof retain?";

/// What was measured on one package.
struct CheckedPackage {
    name: &'static str,
    /// Bytes of the files that are downloaded.
    bytes: u64,
    install: Duration,
    report: Duration,
}

/// Where a package was installed.
struct InstalledPackage {
    /// The program as a person starts it.
    program: PathBuf,
    /// The directory with `share/`.
    prefix: PathBuf,
    /// Whether the manual and the completions are where the system looks for them.
    has_manual: bool,
}

/// Installs every package in `out` and prints a table.
///
/// # Errors
/// A message that names the package and what is wrong with it.
pub(crate) fn check(out: &Path, root: &Path) -> Result<(), String> {
    let out = &out.canonicalize().map_err(|fault| format!("{}: {fault}", out.display()))?;
    check_sums(out)?;
    let files = sums(out)?;
    let host = crate::metadata::host()?;
    let target = TARGETS.into_iter().find(|target| target.triple == host);
    let target = target.ok_or(format!("no packages are made for {host}"))?;
    let find = |start: &str, end: &str| {
        let mut all = files.iter().map(|file| file.0.as_str());
        let name = all.find(|name| name.starts_with(start) && name.ends_with(end));
        name.map(|name| out.join(name)).ok_or(format!("{} has no {start}*{end}", out.display()))
    };
    let archive = find("ibid-", &format!("{}.tar.gz", target.triple))?;
    let deb = find("ibid_", &format!("_{}.deb", target.debian))?;
    let module = REGISTRY_NAME.replace('-', "_");
    let wheel = find(&format!("{module}-"), &format!("_{}.whl", target.wheel))?;
    let model_wheel = find(&format!("{module}_model-"), ".whl")?;
    let npm = find(&format!("{REGISTRY_NAME}-linux-{}-", target.npm), ".tgz")?;
    let launcher = find(&format!("{REGISTRY_NAME}-{}", env!("CARGO_PKG_VERSION")), ".tgz")?;
    let models = model_sums(root)?;
    let check = PackageCheck { out, models: &models };
    let rows = [
        check.package("tar.gz", &[&archive], |place| unpack(&archive, place))?,
        check.package("install.sh", &[&archive], |place| run_installer(out, place))?,
        check.package("deb", &[&deb], |place| install_deb(&deb, place))?,
        check.package("wheel", &[&wheel, &model_wheel], |place| install_wheel(out, place))?,
        check.package("npm", &[&npm, &launcher], |place| install_npm(&launcher, &npm, place))?,
    ];
    eprintln!(
        "\n| package | downloaded | installed in | first report after another |\n| --- | --- | --- | --- |"
    );
    for row in rows.into_iter().flatten() {
        eprintln!(
            "| {} | {:.1} MB | {:.1} s | {:.1} s |",
            row.name,
            row.bytes as f64 / 1e6,
            row.install.as_secs_f64(),
            row.report.as_secs_f64()
        );
    }
    Ok(())
}

/// Compares all files with `SHA256SUMS`.
fn check_sums(out: &Path) -> Result<(), String> {
    let text = String::from_utf8(read(&out.join(SUMS))?).map_err(|fault| fault.to_string())?;
    let lines: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, name)| (name, sum))
        .collect();
    for (name, sum) in sums(out)? {
        if lines.get(name.as_str()) != Some(&sum.as_str()) {
            return Err(format!("{name} is not what {SUMS} says"));
        }
    }
    Ok(())
}

/// The SHA-256 of the files of the model, as `ibid version --json` names them.
fn model_sums(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let tree = model(root)?;
    let sum_of = |(path, file): (&str, &crate::file_tree::PackageFile)| {
        (path.rsplit('/').next().unwrap_or_default().to_owned(), sum(&file.bytes))
    };
    let is_read = |name: &String| name.ends_with(".json") || name.ends_with(".safetensors");
    Ok(tree.iter().map(sum_of).filter(|(name, _)| is_read(name)).collect())
}

struct PackageCheck<'a> {
    out: &'a Path,
    models: &'a BTreeMap<String, String>,
}

impl PackageCheck<'_> {
    /// Installs one package and tries it. `None` if the program that installs it is not on this machine.
    fn package(
        &self,
        name: &'static str,
        files: &[&PathBuf],
        install: impl FnOnce(&Path) -> Result<Option<(InstalledPackage, Duration)>, String>,
    ) -> Result<Option<CheckedPackage>, String> {
        let fault = |why: String| format!("{name} of {}: {why}", self.out.display());
        // Below the system's temporary directory and not below `target`, beside which the program would find the model.
        let place = tempfile::tempdir().map_err(|why| fault(why.to_string()))?;
        let place = &place.path().canonicalize().map_err(|why| fault(why.to_string()))?;
        let Some((installed, time)) = install(place).map_err(fault)? else {
            eprintln!("xtask: {name} was not tried: its installer is not on this machine");
            return Ok(None);
        };
        self.look(&installed).map_err(fault)?;
        let report = ask(&installed, place).map_err(fault)?;
        let size = |path: &&PathBuf| path.metadata().map_or(0, |about| about.len());
        let bytes = files.iter().map(size).sum();
        Ok(Some(CheckedPackage { name, bytes, install: time, report }))
    }

    /// Whether everything that belongs to the package is there.
    fn look(&self, installed: &InstalledPackage) -> Result<(), String> {
        let about = run(Command::new(&installed.program).args(["version", "--json"]))?;
        let about: Value = serde_json::from_str(&about).map_err(|fault| fault.to_string())?;
        if about["version"] != env!("CARGO_PKG_VERSION") {
            return Err(format!("`ibid version --json` says {about}"));
        }
        let found = about["models"][0]["files"].as_object().cloned().unwrap_or_default();
        let found: BTreeMap<String, String> = found
            .into_iter()
            .map(|(name, sum)| (name, sum.as_str().unwrap_or_default().to_owned()))
            .collect();
        if found != *self.models {
            return Err(format!("the program finds the model {found:?}"));
        }
        let mut wanted = vec![
            "share/ibid/models/all-MiniLM-L6-v2/LICENSE",
            "share/doc/ibid/LICENSE-APACHE",
            "share/doc/ibid/LICENSE-MIT",
            "share/doc/ibid/THIRD-PARTY.txt",
            "share/doc/ibid/sbom.cdx.json",
            "share/bash-completion/completions/ibid",
            "share/fish/vendor_completions.d/ibid.fish",
        ];
        if installed.has_manual {
            wanted.extend(["share/man/man1/ibid.1", "share/zsh/site-functions/_ibid"]);
        } else {
            wanted.extend(["share/man/man1/ibid.1.gz", "share/zsh/vendor-completions/_ibid"]);
        }
        match wanted.into_iter().find(|path| !installed.prefix.join(path).is_file()) {
            Some(path) => Err(format!("{path} is missing")),
            None => Ok(()),
        }
    }
}

/// Asks README's question without a network, and returns how long the report took.
fn ask(installed: &InstalledPackage, place: &Path) -> Result<Duration, String> {
    let home = place.join("home");
    std::fs::create_dir_all(&home).map_err(|fault| fault.to_string())?;
    let isolated = Command::new("unshare").args(["-n", "true"]).stderr(Stdio::null()).status();
    let mut command = match isolated.is_ok_and(|status| status.success()) {
        true => {
            let mut command = Command::new("unshare");
            command.arg("-n").arg(&installed.program);
            command
        }
        false => {
            eprintln!(
                "xtask: a network cannot be taken away here; `--only-local` keeps the run offline"
            );
            Command::new(&installed.program)
        }
    };
    command.args([QUESTION, "--only-local", "--color", "never", "--folder"]);
    command.arg(installed.prefix.join("share/ibid/examples/library"));
    command.env_clear().env("HOME", &home).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.current_dir(&home);
    let start = Instant::now();
    let done = command.output().map_err(|fault| fault.to_string())?;
    let time = start.elapsed();
    let report = String::from_utf8_lossy(&done.stdout);
    let progress = String::from_utf8_lossy(&done.stderr);
    let is_answered = report.contains("63 %") && report.contains("[1]");
    let is_verified = progress.lines().any(|line| {
        let counts =
            line.split(" quotes verified").next().and_then(|line| line.split(' ').next_back());
        counts
            .and_then(|counts| counts.split_once('/'))
            .is_some_and(|(good, all)| good == all && all != "0")
    });
    match done.status.success() && is_answered && is_verified {
        true => Ok(time),
        false => {
            Err(format!("README's question ended with {}:\n{progress}\n{report}", done.status))
        }
    }
}

fn unpack(archive: &Path, place: &Path) -> Result<Option<(InstalledPackage, Duration)>, String> {
    let start = Instant::now();
    run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(place))?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let prefix = place.join(name.trim_end_matches(".tar.gz"));
    Ok(Some((installed_in(prefix), start.elapsed())))
}

fn run_installer(out: &Path, place: &Path) -> Result<Option<(InstalledPackage, Duration)>, String> {
    let prefix = place.join("prefix");
    let call = |more: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(out.join("install.sh")).arg("--prefix").arg(&prefix).args(more);
        command.env("HOME", place);
        run(&mut command)
    };
    let from = out.to_string_lossy().into_owned();
    let start = Instant::now();
    call(&["--from", &from])?;
    let time = start.elapsed();
    call(&["--uninstall"])?;
    if prefix.join("bin/ibid").exists() || prefix.join("share/ibid/models").exists() {
        return Err("--uninstall leaves files behind".to_owned());
    }
    call(&["--from", &from])?;
    Ok(Some((installed_in(prefix), time)))
}

/// Unpacks the package, or as root has dpkg install it in a directory with a database of its own.
fn install_deb(deb: &Path, place: &Path) -> Result<Option<(InstalledPackage, Duration)>, String> {
    if !is_here("dpkg") {
        return Ok(None);
    }
    let system = place.join("system");
    let is_root = run(Command::new("id").arg("-u"))?.trim() == "0";
    let start = Instant::now();
    if is_root {
        let database = system.join("var/lib/dpkg");
        for dir in ["info", "updates", "triggers"] {
            std::fs::create_dir_all(database.join(dir)).map_err(|fault| fault.to_string())?;
        }
        std::fs::write(database.join("status"), "").map_err(|fault| fault.to_string())?;
        let mut command = Command::new("dpkg");
        // The libraries that it depends on are in the system around that directory.
        command.arg("--root").arg(&system).args(["--force-depends", "-i"]).arg(deb);
        run(command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin"))?;
    } else {
        run(Command::new("dpkg").arg("-x").arg(deb).arg(&system))?;
    }
    let time = start.elapsed();
    let installed = InstalledPackage { has_manual: false, ..installed_in(system.join("usr")) };
    Ok(Some((installed, time)))
}

fn install_wheel(out: &Path, place: &Path) -> Result<Option<(InstalledPackage, Duration)>, String> {
    if !is_here("python3") {
        return Ok(None);
    }
    let venv = place.join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let start = Instant::now();
    let mut command = Command::new(venv.join("bin/python"));
    command.args(["-m", "pip", "install", "--quiet", "--no-index", "--find-links"]).arg(out);
    run(command.arg(REGISTRY_NAME).env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
    Ok(Some((installed_in(venv), start.elapsed())))
}

fn install_npm(
    launcher: &Path,
    platform: &Path,
    place: &Path,
) -> Result<Option<(InstalledPackage, Duration)>, String> {
    if !is_here("npm") {
        return Ok(None);
    }
    let mut command = Command::new("npm");
    command.args([
        "install",
        "--offline",
        "--no-audit",
        "--no-fund",
        "--loglevel",
        "error",
        "--prefix",
    ]);
    let start = Instant::now();
    run(command.arg(place).arg(launcher).arg(platform).env("HOME", place))?;
    let time = start.elapsed();
    let modules = place.join("node_modules");
    let name = platform.file_name().unwrap_or_default().to_string_lossy();
    let package = name.rsplit_once('-').map_or("", |(package, _)| package);
    let installed = InstalledPackage {
        program: modules.join(".bin/ibid"),
        ..installed_in(modules.join(package))
    };
    Ok(Some((installed, time)))
}

fn installed_in(prefix: PathBuf) -> InstalledPackage {
    InstalledPackage { program: prefix.join("bin/ibid"), prefix, has_manual: true }
}

fn is_here(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a command and returns what it prints.
fn run(command: &mut Command) -> Result<String, String> {
    let line = format!("{command:?}");
    let output = command.output().map_err(|fault| format!("{line}: {fault}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("{line} ended with {}: {said}", output.status))
        }
    }
}
