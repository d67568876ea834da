//! What comes into the tree obeys `deny.toml`, also where cargo-deny is not installed.
//!
//! Sources and bans are checked over the whole `Cargo.lock`; licences over the packages of this
//! platform, whose manifests are certain to be here.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = list("allow");
    let mut refused = Vec::new();
    let packages = packages();
    assert!(packages.len() > 50, "the tree has {}", packages.len());
    for (name, licence) in packages {
        if !permits(&licence, &allowed) {
            refused.push(format!("{name}: `{licence}`"));
        }
    }
    assert!(
        refused.is_empty(),
        "licences that deny.toml does not allow:\n{}",
        refused.join("\n")
    );
}

#[test]
fn no_banned_package_is_in_the_lock_file() {
    let banned = list("deny");
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let found: Vec<&str> = lock
        .lines()
        .filter_map(|it| it.strip_prefix("name = \"")?.strip_suffix('"'))
        .filter(|it| banned.contains(*it))
        .collect();
    assert!(found.is_empty(), "banned in deny.toml: {found:?}");
}

#[test]
fn every_package_comes_from_an_allowed_registry() {
    let allowed = list("allow-registry");
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for source in lock
        .lines()
        .filter_map(|it| it.strip_prefix("source = \"")?.strip_suffix('"'))
    {
        let registry = source.strip_prefix("registry+");
        assert!(
            registry.is_some_and(|it| allowed.contains(it)),
            "Cargo.lock: source `{source}` is not allowed in deny.toml"
        );
    }
}

#[test]
fn licence_expressions_are_read_by_their_grammar() {
    let allowed: BTreeSet<String> = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND ISC",
        "Unlicense/MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(permits(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "Apache-2.0",
        "ISC AND (GPL-3.0 OR Zlib)",
    ] {
        assert!(!permits(bad, &allowed), "{bad}");
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The strings of `name = [ … ]` in `deny.toml`.
fn list(name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let table: toml_shape::Lists = toml_shape::lists(&text);
    table
        .into_iter()
        .find(|it| it.0 == name)
        .unwrap_or_else(|| panic!("deny.toml has no list `{name}`"))
        .1
}

mod toml_shape {
    //! As much of TOML as `deny.toml` uses for lists: one string a line, or all on one line.
    use std::collections::BTreeSet;

    pub(super) type Lists = Vec<(String, BTreeSet<String>)>;

    pub(super) fn lists(text: &str) -> Lists {
        let mut found: Lists = Vec::new();
        let mut open = false;
        for line in text.lines().filter(|it| !it.trim_start().starts_with('#')) {
            let values = match line.split_once(" = [") {
                Some((name, rest)) if !open => {
                    found.push((name.trim().to_owned(), BTreeSet::new()));
                    open = true;
                    rest
                }
                _ => line,
            };
            if open {
                let last = &mut found.last_mut().unwrap().1;
                last.extend(values.split('"').skip(1).step_by(2).map(str::to_owned));
                open = !values.trim_end().ends_with(']');
            }
        }
        found
    }
}

/// Name and licence of every package of this platform, our own left out.
fn packages() -> Vec<(String, String)> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let about = String::from_utf8(rustc.stdout).unwrap();
    let host = about
        .lines()
        .find_map(|it| it.strip_prefix("host: "))
        .unwrap();
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cargo metadata: {problem}");
    let tree: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    tree["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| !it["source"].is_null())
        .map(|it| {
            (
                it["name"].as_str().unwrap().to_owned(),
                it["license"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

/// Whether an SPDX expression can be satisfied with the allowed licences. `/` is the old way to write OR.
fn permits(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    !words.is_empty() && any(&words, &mut at, allowed) && at == words.len()
}

fn any(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut holds = every(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        holds |= every(words, at, allowed);
    }
    holds
}

fn every(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut holds = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        holds &= one(words, at, allowed);
    }
    holds
}

fn one(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if *word == "(" {
        let holds = any(words, at, allowed);
        *at += 1;
        return holds;
    }
    let mut name = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    allowed.contains(&name)
}
