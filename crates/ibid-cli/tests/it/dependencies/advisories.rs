//! Security advisories: a list of them kept in the repository, what of it concerns `Cargo.lock`, and for which the
//! repository says why it waits. Used by `cargo xtask advisories` to write the list, and by a test to hold the tree to it.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// One advisory, as a line of the list has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Advisory {
    /// `RUSTSEC-2026-0195`.
    pub(crate) id: String,
    /// The package it is about.
    pub(crate) package: String,
    /// The day it was published.
    pub(crate) date: String,
    /// `vulnerability`, or what else it tells: `unmaintained`, `unsound`, `notice`.
    pub(crate) kind: String,
    /// Requirements on versions that are mended.
    pub(crate) patched: Vec<String>,
    /// Requirements on versions that never had it.
    pub(crate) unaffected: Vec<String>,
    /// What it is, in one line; empty where its text may not be copied freely.
    pub(crate) title: String,
}

impl Advisory {
    /// Reads an advisory as the database has it: TOML in a fence, then Markdown. `None` for one that was withdrawn.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(crate) fn read(text: &str) -> Result<Option<Advisory>, String> {
        let (_, rest) = text.split_once("```toml").ok_or("it has no ```toml")?;
        let (toml, prose) = rest.split_once("\n```").ok_or("its ```toml does not end")?;
        let fields = fields(toml);
        let field = |name: &str| fields.iter().find(|it| it.0 == name).map(|it| it.1.as_slice());
        let word = |name: &str| field(name).and_then(|it| it.first().cloned());
        if field("advisory.withdrawn").is_some() {
            return Ok(None);
        }
        let needed = |name: &str| word(name).ok_or(format!("it has no {name}"));
        let title = prose.lines().find_map(|it| it.strip_prefix("# "));
        // What came from elsewhere under another licence is told by its facts alone.
        let free = word("advisory.license").is_none_or(|it| it == "CC0-1.0");
        Ok(Some(Advisory {
            id: needed("advisory.id")?,
            package: needed("advisory.package")?,
            date: needed("advisory.date")?,
            kind: word("advisory.informational").unwrap_or("vulnerability".to_owned()),
            patched: field("versions.patched").unwrap_or_default().to_vec(),
            unaffected: field("versions.unaffected").unwrap_or_default().to_vec(),
            title: title
                .filter(|_| free)
                .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
                .unwrap_or_default(),
        }))
    }

    /// Whether it concerns this version of its package. A requirement that cannot be read excuses nothing.
    pub(crate) fn concerns(&self, version: &str) -> bool {
        let fits = |it: &String| matches(it, version) == Some(true);
        !self.patched.iter().chain(&self.unaffected).any(fits)
    }
}

/// `section.name` and its strings, for as much of TOML as advisories use: tables, strings, and lists of strings.
fn fields(toml: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut section = String::new();
    let mut open = false;
    for line in toml.lines() {
        let line = line.trim();
        if !open {
            if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                section = name.trim().to_owned();
                continue;
            }
            let Some((name, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let name = name.trim().trim_matches('"');
            found.push((format!("{section}.{name}"), Vec::new()));
        }
        let value = if open { line } else { line.split_once('=').map_or("", |it| it.1).trim() };
        let (strings, bare) = strings(value);
        if let Some(last) = found.last_mut() {
            last.1.extend(strings);
            if !open && last.1.is_empty() && !bare.contains('[') {
                last.1.push(bare.trim().to_owned());
            }
        }
        let begins = open || bare.contains('[');
        open = begins && !bare.contains(']');
    }
    found
}

/// The strings of a line, and what stands outside of them, without comments.
fn strings(line: &str) -> (Vec<String>, String) {
    let (mut found, mut bare) = (Vec::new(), String::new());
    let mut letters = line.chars();
    while let Some(it) = letters.next() {
        match it {
            '#' => break,
            '"' | '\'' => {
                let mut text = String::new();
                while let Some(inner) = letters.next() {
                    match inner {
                        '\\' if it == '"' => text.extend(letters.next()),
                        _ if inner == it => break,
                        _ => text.push(inner),
                    }
                }
                found.push(text);
            }
            _ => bare.push(it),
        }
    }
    (found, bare)
}

/// Whether `version` fits a requirement as Cargo writes it: `>= 1.2, < 1.5`, `^1.2.3`, `=1.0.0`. `None` where it is none.
pub(crate) fn matches(requirement: &str, version: &str) -> Option<bool> {
    let version = Version::read(version)?;
    let mut fits = true;
    for part in requirement.split(',') {
        let part = part.trim();
        let at = part.find(|it: char| it.is_ascii_digit())?;
        let (sign, wanted) = (part[..at].trim(), Version::read(&part[at..])?);
        fits &= match sign {
            ">=" => version >= wanted,
            ">" => version > wanted,
            "<=" => version <= wanted,
            "<" => version < wanted,
            "=" => version == wanted,
            "" | "^" => {
                let [major, minor, patch] = wanted.numbers;
                let next = match (major, minor) {
                    (0, 0) => [0, 0, patch + 1],
                    (0, _) => [0, minor + 1, 0],
                    _ => [major + 1, 0, 0],
                };
                version >= wanted && version.numbers < next
            }
            "~" => {
                let [major, minor, _] = wanted.numbers;
                version >= wanted && version.numbers < [major, minor + 1, 0]
            }
            _ => return None,
        };
    }
    Some(fits)
}

/// A version in order: what is before a release comes before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    numbers: [u64; 3],
    is_release: bool,
    before: Vec<(u64, String)>,
}

impl Version {
    fn read(text: &str) -> Option<Version> {
        let text = text.trim().split('+').next()?;
        let (numbers, before) = text.split_once('-').unwrap_or((text, ""));
        let mut found = [0; 3];
        let mut parts = numbers.split('.');
        for place in &mut found {
            match parts.next() {
                Some(it) => *place = it.parse().ok()?,
                None => break,
            }
        }
        if parts.next().is_some() {
            return None;
        }
        let piece = |it: &str| match it.parse() {
            Ok(number) => (number, String::new()),
            Err(_) => (u64::MAX, it.to_owned()),
        };
        Some(Version {
            numbers: found,
            is_release: before.is_empty(),
            before: before.split('.').filter(|it| !it.is_empty()).map(piece).collect(),
        })
    }
}

/// What stands above the list.
const HEAD: &str = "# Advisories of the RustSec database, one a line: id, package, day, kind, patched, unaffected, title.\n# Written by `cargo xtask advisories PATH`; see CONTRIBUTING.md.\n";

/// The list as the repository keeps it.
pub(crate) fn written(all: &BTreeSet<Advisory>) -> String {
    let mut out = HEAD.to_owned();
    for it in all {
        let (patched, unaffected) = (it.patched.join(" | "), it.unaffected.join(" | "));
        let title = it.title.replace('\t', " ");
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}\t{patched}\t{unaffected}\t{title}",
            it.id, it.package, it.date, it.kind
        );
    }
    out
}

/// The list read back.
///
/// # Errors
/// The number of a line that is none.
pub(crate) fn listed(text: &str) -> Result<BTreeSet<Advisory>, String> {
    let lines = (1..).zip(text.lines()).filter(|it| !it.1.starts_with('#'));
    lines
        .map(|(number, line)| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [id, package, date, kind, patched, unaffected, title] = fields[..] else {
                return Err(format!("line {number} has {} fields", fields.len()));
            };
            let all = |it: &str| -> Vec<String> {
                let parts = it.split(" | ").filter(|it| !it.is_empty());
                parts.map(str::to_owned).collect()
            };
            Ok(Advisory {
                id: id.to_owned(),
                package: package.to_owned(),
                date: date.to_owned(),
                kind: kind.to_owned(),
                patched: all(patched),
                unaffected: all(unaffected),
                title: title.to_owned(),
            })
        })
        .collect()
}

/// Every advisory below the folder `crates` of a checkout of the database.
///
/// # Errors
/// The file that cannot be read as one, and why.
pub(crate) fn gathered(checkout: &Path) -> Result<BTreeSet<Advisory>, String> {
    let crates = checkout.join("crates");
    let told = |at: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", at.display());
    let entries = |at: &Path| -> Result<Vec<std::path::PathBuf>, String> {
        let found = std::fs::read_dir(at).map_err(|it| told(at, &it))?;
        found.map(|it| it.map(|it| it.path()).map_err(|it| told(at, &it))).collect()
    };
    let mut all = BTreeSet::new();
    for package in entries(&crates)?.iter().filter(|it| it.is_dir()) {
        for file in
            entries(package)?.iter().filter(|it| it.extension().is_some_and(|it| it == "md"))
        {
            let text = std::fs::read_to_string(file).map_err(|it| told(file, &it))?;
            all.extend(Advisory::read(&text).map_err(|it| told(file, &it))?);
        }
    }
    match all.is_empty() {
        true => Err(told(&crates, &"there are no advisories")),
        false => Ok(all),
    }
}

/// Name and version of every package in a `Cargo.lock`.
pub(crate) fn locked(text: &str) -> Vec<(String, String)> {
    let value = |line: &str, name: &str| {
        let value = line.strip_prefix(name)?.strip_prefix(" = \"")?;
        value.strip_suffix('"').map(str::to_owned)
    };
    let mut found = Vec::new();
    let mut package = None;
    for line in text.lines() {
        package = value(line, "name").or(package);
        if let (Some(version), Some(name)) = (value(line, "version"), package.clone()) {
            found.push((name, version));
            package = None;
        }
    }
    found
}
