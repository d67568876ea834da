//! Writes the packages of a release into a folder.
use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::deb::deb;
use crate::file_tree::{FileTree, read, write};
use crate::homebrew::formula;
use crate::npm::{LauncherInputs, launcher_package, platform_package};
use crate::provenance::{BuildFacts, statement};
use crate::release::Release;
use crate::tarball::tar_gz;
use crate::wheel::{model_wheel, program_wheel};

/// The file with the SHA-256 of all others.
pub(crate) const SUMS: &str = "SHA256SUMS";
const INSTALLER: &str = include_str!("../files/install.sh");
const CONTAINERFILE: &str = include_str!("../files/Containerfile");

/// Writes the packages of one platform into `out`, and returns the names of the files.
///
/// # Errors
/// A message that names the package or the file at fault.
pub(crate) fn write_platform(
    release: &Release,
    facts: &BuildFacts,
    out: &Path,
) -> Result<Vec<String>, String> {
    let name = release.archive_name();
    let archive = tar_gz(&release.all(), &format!("{name}/"), release.time)?;
    let bill = release.program.get("share/doc/ibid/sbom.cdx.json");
    let files = [
        (format!("{name}.tar.gz"), archive),
        deb(release)?,
        program_wheel(release)?,
        model_wheel(&release.model, &release.repository)?,
        platform_package(release)?,
        (format!("{name}.cdx.json"), bill.map(|file| file.bytes.clone()).unwrap_or_default()),
    ];
    let mut sums = Vec::new();
    for (name, bytes) in &files {
        write(&out.join(name), bytes)?;
        sums.push((name.clone(), sum(bytes)));
    }
    let provenance = format!("{name}.intoto.json");
    let text = format!("{:#}\n", statement(release, facts, &sums));
    write(&out.join(&provenance), text)?;
    let names = sums.into_iter().map(|(name, _)| name);
    Ok(names.chain([provenance]).collect())
}

/// Makes sure that `out` is an empty folder, so that no file of an earlier release is signed as part of this one.
///
/// # Errors
/// A message if it cannot be made or has files.
pub(crate) fn empty_folder(out: &Path) -> Result<(), String> {
    std::fs::create_dir_all(out).map_err(|fault| format!("{}: {fault}", out.display()))?;
    match names(out)?.is_empty() {
        true => Ok(()),
        false => Err(format!("{} is not empty; name another folder with --out", out.display())),
    }
}

/// What belongs to all platforms of a release.
pub(crate) struct ReleaseFacts<'a> {
    pub(crate) version: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) time: u64,
    /// The root of the repository.
    pub(crate) root: &'a Path,
}

impl ReleaseFacts<'_> {
    /// Where the files of the release are published.
    fn url(&self) -> String {
        format!("{}/releases/download/v{}", self.repository, self.version)
    }
}

/// Writes what covers all platforms whose packages are in `out`: the npm package that people install, the installer, the formula,
/// the recipe of the image, and the sums of all files.
///
/// # Errors
/// A message that names the file at fault, or says that there is no archive.
pub(crate) fn write_common(facts: &ReleaseFacts<'_>, out: &Path) -> Result<(), String> {
    let version = facts.version;
    let names = names(out)?;
    let archives = format!("ibid-{version}-");
    if !names.iter().any(|name| name.starts_with(&archives) && name.ends_with(".tar.gz")) {
        return Err(format!("{} has no archive of version {version}", out.display()));
    }
    let mut documents = FileTree::default();
    for name in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        documents.add(name, read(&facts.root.join(name))?);
    }
    let inputs = LauncherInputs {
        version,
        repository: facts.repository,
        time: facts.time,
        documents,
        names: &names,
    };
    let (name, bytes) = launcher_package(&inputs)?;
    write(&out.join(name), bytes)?;
    let filled = |text: &str| text.replace("@VERSION@", version).replace("@URL@", &facts.url());
    write(&out.join("install.sh"), filled(INSTALLER))?;
    write(&out.join("Containerfile"), filled(CONTAINERFILE))?;
    let text = formula(version, &facts.url(), facts.repository, &sums(out)?);
    write(&out.join("ibid.rb"), text)?;
    // A signature of other sums.
    let _ = std::fs::remove_file(out.join(format!("{SUMS}.minisig")));
    let lines: String = sums(out)?.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    write(&out.join(SUMS), lines)
}

/// Signs the sums with `minisign`, which asks for the password of the key if it has one.
///
/// # Errors
/// A message if minisign is not there or does not sign.
pub(crate) fn sign(out: &Path, key: &Path, comment: &str) -> Result<(), String> {
    let status = Command::new("minisign")
        .arg("-S")
        .args(["-t", comment])
        .arg("-s")
        .arg(key)
        .arg("-m")
        .arg(out.join(SUMS))
        .status()
        .map_err(|fault| format!("minisign: {fault}; install the package minisign"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("minisign ended with {status}; {SUMS} is not signed")),
    }
}

/// The files of a release with their SHA-256, in the order of their names, without the sums themselves and their signature.
///
/// # Errors
/// A message that names the file that cannot be read.
pub(crate) fn sums(out: &Path) -> Result<Vec<(String, String)>, String> {
    let names = names(out)?.into_iter().filter(|name| !name.starts_with(SUMS));
    names.map(|name| Ok((name.clone(), sum(&read(&out.join(&name))?)))).collect()
}

fn names(out: &Path) -> Result<Vec<String>, String> {
    let failed = |fault: std::io::Error| format!("{}: {fault}", out.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(out).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The SHA-256 in hexadecimal digits.
pub(crate) fn sum(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
