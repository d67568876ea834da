//! What comes into the tree obeys `deny.toml`, also where cargo-deny is not installed.
//!
//! Sources and bans are checked over the whole `Cargo.lock`; licences over the packages of this
//! platform, whose manifests are certain to be here.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

mod advisories;

use advisories::{Advisory, gathered, listed, locked, matches, written};

/// `id` and `reason` of each exception of `deny.toml`: `{ id = "…", reason = "until YYYY-MM-DD: why" }`.
fn exceptions() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let lines = text.lines().filter(|it| it.trim().starts_with("{ id = "));
    lines
        .map(|it| {
            let mut strings = it.split('"').skip(1).step_by(2).map(str::to_owned);
            (strings.next().unwrap(), strings.next().unwrap_or_default())
        })
        .collect()
}

/// Today as `YYYY-MM-DD`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let day = jiff::Timestamp::from_second(since.as_secs() as i64).unwrap();
    day.strftime("%Y-%m-%d").to_string()
}

#[test]
fn no_package_has_a_known_fault_but_those_that_wait_for_a_reason_until_a_day() {
    let text = fs::read_to_string(root().join("xtask/advisories.tsv")).unwrap();
    let all = listed(&text).unwrap();
    assert!(all.len() > 900, "the list has {}", all.len());
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages = locked(&lock);
    assert!(packages.len() > 300, "{}", packages.len());
    let concerned = |it: &Advisory| {
        let own = |(name, version): &&(String, String)| *name == it.package && it.concerns(version);
        packages.iter().find(own).map(|own| own.1.clone())
    };
    let found: Vec<(&Advisory, String)> =
        all.iter().filter_map(|it| concerned(it).map(|version| (it, version))).collect();
    let waits = exceptions();
    let mut amiss = Vec::new();
    for (it, version) in &found {
        let what = format!("{} {version}: {} ({}) {}", it.package, it.id, it.kind, it.title);
        match waits.iter().find(|wait| wait.0 == it.id) {
            None => amiss.push(format!("{what}: patched in {:?}", it.patched)),
            Some((_, reason)) => {
                let day = reason.strip_prefix("until ").and_then(|it| it.get(..10));
                match day {
                    Some(day) if day >= today().as_str() => {}
                    Some(day) => amiss.push(format!("{what}: its exception ended on {day}")),
                    None => {
                        amiss.push(format!("{what}: its exception has no `until YYYY-MM-DD: `"))
                    }
                }
            }
        }
    }
    for (id, _) in &waits {
        if !found.iter().any(|it| it.0.id == *id) {
            amiss.push(format!("{id}: nothing in Cargo.lock has it any longer"));
        }
    }
    assert!(
        amiss.is_empty(),
        "update the package, or say in deny.toml until when it may wait and why:\n{}",
        amiss.join("\n")
    );
}

#[test]
fn an_advisory_is_read_as_its_database_writes_it() {
    let text = "```toml\n[advisory]\nid = \"RUSTSEC-2099-0001\" # a comment\npackage = \"leaky\"\ndate = \"2099-01-02\"\nreferences = [\n    \"https://a.example/#1\",\n    \"https://b.example/\",\n]\n\n[affected]\nfunctions = { \"leaky::pour\" = [\"< 1.2.0\"] }\n\n[versions]\npatched = [\">= 1.2.3, < 2.0.0\", \"^2.1\"]\nunaffected = [\n  \"< 0.9\", # never had it\n]\n```\n\n# Leaks\twhat it holds\n\nAt length.\n";
    let it = Advisory::read(text).unwrap().unwrap();
    assert_eq!((it.id.as_str(), it.package.as_str()), ("RUSTSEC-2099-0001", "leaky"));
    assert_eq!((it.date.as_str(), it.kind.as_str()), ("2099-01-02", "vulnerability"));
    assert_eq!(it.patched, [">= 1.2.3, < 2.0.0", "^2.1"]);
    assert_eq!(
        (it.unaffected.as_slice(), it.title.as_str()),
        (&["< 0.9".to_owned()][..], "Leaks what it holds")
    );
    for (version, hurt) in [
        ("0.8.9", false),
        ("0.9.0", true),
        ("1.2.2", true),
        ("1.2.3-rc.1", true),
        ("1.2.3", false),
        ("2.0.0", true),
        ("2.1.0", false),
        ("3.0.0", true),
    ] {
        assert_eq!(it.concerns(version), hurt, "{version}");
    }
    let all = [it.clone()].into();
    assert_eq!(listed(&written(&all)).unwrap(), all);
    let old = text.replace(
        "package =",
        "informational = \"unmaintained\"\nlicense = \"CC-BY-4.0\"\npackage =",
    );
    let old = Advisory::read(&old).unwrap().unwrap();
    assert_eq!((old.kind.as_str(), old.title.as_str()), ("unmaintained", ""));
    let gone = text.replace("date =", "withdrawn = \"2099-02-01\"\ndate =");
    assert_eq!(Advisory::read(&gone), Ok(None));
    assert!(Advisory::read("# no advisory").is_err());
    assert!(Advisory::read(&text.replace("id = ", "name = ")).is_err());
}

#[test]
fn a_checkout_of_the_database_becomes_a_list_in_order() {
    let dir = tempfile::tempdir().unwrap();
    assert!(gathered(dir.path()).is_err(), "there is nothing");
    let write = |package: &str, id: &str, more: &str| {
        let folder = dir.path().join("crates").join(package);
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{package}\"\ndate = \"2099-01-02\"\n{more}[versions]\npatched = []\n```\n\n# It leaks\n"
        );
        fs::write(folder.join(format!("{id}.md")), text).unwrap();
    };
    write("leaky", "RUSTSEC-2099-0002", "");
    write("broken", "RUSTSEC-2099-0001", "");
    write("broken", "RUSTSEC-2099-0003", "withdrawn = \"2099-02-01\"\n");
    let all = gathered(dir.path()).unwrap();
    let ids: Vec<&str> = all.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["RUSTSEC-2099-0001", "RUSTSEC-2099-0002"]);
    assert!(all.iter().all(|it| it.concerns("9.9.9")), "nothing mends it");
    let odd = dir.path().join("crates/leaky/RUSTSEC-2099-0004.md");
    fs::write(&odd, "# no advisory").unwrap();
    let fault = gathered(dir.path()).unwrap_err();
    assert!(fault.contains("RUSTSEC-2099-0004.md"), "{fault}");
}

#[test]
fn requirements_on_versions_are_those_of_cargo() {
    for (requirement, version, fits) in [
        ("^1.2", "1.9.0", true),
        ("^1.2", "2.0.0", false),
        ("^0.3.1", "0.3.9", true),
        ("^0.3.1", "0.4.0", false),
        ("^0.0.3", "0.0.4", false),
        ("1.2.0", "1.4.0", true),
        ("=1.2.0", "1.2.1", false),
        ("> 1.0", "1.0.0", false),
        ("<= 1.0", "1.0.0", true),
        ("~1.2.3", "1.2.9", true),
        ("~1.2.3", "1.3.0", false),
        (">=1.0.0-beta.2", "1.0.0-beta.10", true),
        (">= 0.41.0", "0.38.4", false),
        ("< 2, >= 1", "1.5.0+build", true),
    ] {
        assert_eq!(matches(requirement, version), Some(fits), "{requirement} {version}");
    }
    assert_eq!(matches("whenever", "1.0.0"), None);
    assert_eq!(matches(">= 1.x.2", "1.0.0"), None);
}

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
    assert!(refused.is_empty(), "licences that deny.toml does not allow:\n{}", refused.join("\n"));
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
    for source in lock.lines().filter_map(|it| it.strip_prefix("source = \"")?.strip_suffix('"')) {
        let registry = source.strip_prefix("registry+");
        assert!(
            registry.is_some_and(|it| allowed.contains(it)),
            "Cargo.lock: source `{source}` is not allowed in deny.toml"
        );
    }
}

#[test]
fn licence_expressions_are_read_by_their_grammar() {
    let allowed: BTreeSet<String> =
        ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND ISC",
        "Unlicense/MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(permits(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "ISC AND (GPL-3.0 OR Zlib)"] {
        assert!(!permits(bad, &allowed), "{bad}");
    }
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
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
    let host = about.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
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
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
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
