//! npm packages: one for each platform with the program and its model, and one that starts the right one.
use serde_json::json;

use crate::file_tree::FileTree;
use crate::release::{LICENCE, REGISTRY_NAME, Release, SUMMARY};
use crate::tarball::tar_gz;
use crate::target::{TARGETS, Target};

/// Starts the program of the platform's package.
const LAUNCHER: &str = include_str!("../files/npm-launcher.js");

/// The name of a platform's package.
fn platform_name(target: Target) -> String {
    format!("{REGISTRY_NAME}-linux-{}", target.npm)
}

/// The package of one platform: the name of the file and its bytes.
///
/// # Errors
/// A message that names the file that cannot be packed.
pub(crate) fn platform_package(release: &Release) -> Result<(String, Vec<u8>), String> {
    let name = platform_name(release.target);
    let mut files = release.all();
    files.add(
        "package.json",
        pretty(&json!({
            "name": name,
            "version": release.version,
            "description": format!("{SUMMARY}: the program for Linux on {}", release.target.npm),
            "license": LICENCE,
            "repository": {"type": "git", "url": format!("git+{}.git", release.repository)},
            "os": ["linux"],
            "cpu": [release.target.npm],
            "libc": ["glibc"],
        })),
    );
    files.add("README.md", format!("The program `ibid` for Linux on {}. Install `{REGISTRY_NAME}` instead: it depends on this package.\n", release.target.npm));
    Ok((format!("{name}-{}.tgz", release.version), tar_gz(&files, "package/", release.time)?))
}

/// What the package that people install is made of.
pub(crate) struct LauncherInputs<'a> {
    pub(crate) version: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) time: u64,
    /// `README.md` and the licences.
    pub(crate) documents: FileTree,
    /// The files of the release, by which the platforms are known.
    pub(crate) names: &'a [String],
}

/// The package that people install: the name of the file and its bytes.
///
/// # Errors
/// A message that names the file that cannot be packed.
pub(crate) fn launcher_package(inputs: &LauncherInputs<'_>) -> Result<(String, Vec<u8>), String> {
    let version = inputs.version;
    let there = TARGETS
        .into_iter()
        .map(platform_name)
        .filter(|name| inputs.names.contains(&format!("{name}-{version}.tgz")));
    let platforms: serde_json::Map<String, serde_json::Value> =
        there.map(|name| (name, version.into())).collect();
    let mut files = inputs.documents.clone();
    files.add_program("bin/ibid.js", LAUNCHER);
    files.add(
        "package.json",
        pretty(&json!({
            "name": REGISTRY_NAME,
            "version": version,
            "description": SUMMARY,
            "license": LICENCE,
            "repository": {"type": "git", "url": format!("git+{}.git", inputs.repository)},
            "bin": {"ibid": "bin/ibid.js"},
            "engines": {"node": ">=18"},
            "optionalDependencies": platforms,
        })),
    );
    Ok((format!("{REGISTRY_NAME}-{version}.tgz"), tar_gz(&files, "package/", inputs.time)?))
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
