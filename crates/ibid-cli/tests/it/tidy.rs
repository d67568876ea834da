//! The shape of the tree, as a test: floors look down, nothing goes in circles, files stay readable.
mod circles;
mod imports;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imports::used;

/// Every crate, and the parts of `ibid-core`, with what it may use besides itself. `ARCHITECTURE.md` draws the same picture.
const FLOORS: &[(&str, &[&str])] = &[
    ("ibid_core::domain", &["ibid_core"]),
    ("ibid_core::record", &["ibid_core", "ibid_core::domain"]),
    ("ibid_core::ports", &["ibid_core", "ibid_core::domain", "ibid_core::record"]),
    ("ibid_core", &["ibid_core::ports"]),
    ("ibid_extract", CORE),
    ("ibid_net", CORE),
    ("ibid_llm", &["ibid_core", "ibid_net"]),
    ("ibid_sources", &["ibid_core", "ibid_net", "ibid_extract"]),
    ("ibid_index", &["ibid_core", "ibid_net", "ibid_extract", "ibid_llm"]),
    ("ibid_encoder", CORE),
    ("ibid_store", CORE),
    ("ibid_fleet", CORE),
    ("ibid_research", CORE),
    ("ibid_report", &["ibid_core", "ibid_research"]),
    (
        "ibid",
        &[
            "ibid_core",
            "ibid_net",
            "ibid_extract",
            "ibid_llm",
            "ibid_sources",
            "ibid_encoder",
            "ibid_index",
            "ibid_store",
            "ibid_research",
        ],
    ),
    ("ibid_server", &["ibid_core", "ibid_report", "ibid"]),
    ("ibid_cli", &["ibid_core", "ibid_report", "ibid", "ibid_server", "ibid_fleet"]),
];

/// For crates that use the nouns, events and traits alone.
const CORE: &[&str] = &["ibid_core"];

const LINES_PER_FILE: usize = 600;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

#[test]
fn crates_only_look_down() {
    let floors: BTreeMap<&str, &[&str]> = FLOORS.iter().copied().collect();
    let mut faults = Vec::new();
    for file in sources() {
        let from = floor_of(&file.module);
        let Some(allowed) = floors.get(from.as_str()) else {
            faults.push(format!("{}: belongs to no crate of tests/it/tidy.rs", file.name));
            continue;
        };
        for path in used(&file.text, &file.module) {
            let to = floor_of(&path);
            // Parts of the core are told apart from inside alone.
            let to = match from.starts_with("ibid_core") {
                true => to.as_str(),
                false => to.split("::").next().unwrap_or_default(),
            };
            if to != from && floors.contains_key(to) && !allowed.contains(&to) {
                faults.push(format!(
                    "{}: `{from}` may not use `{to}` (`{}`)",
                    file.name,
                    path.join("::")
                ));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Whoever asks a server pays out of an account, by a grant that is reserved. Only who runs the program spends without.
#[test]
fn only_the_command_line_spends_without_an_account() {
    let mut faults = Vec::new();
    for file in sources() {
        if file.module[0] == "ibid_server" && file.text.contains("SpendGrant::for_operator") {
            faults.push(file.name.clone());
        }
    }
    assert!(faults.is_empty(), "{faults:?} spend as the operator");
}

/// What reaches beyond one caller, and the files of surfaces for others that may name it, each with the reason.
const WITHOUT_CALLER: &[(&str, &[(&str, &str)])] = &[
    (
        "App",
        &[
            ("crates/ibid-server/src/http/run_end.rs", "the end of any run"),
            ("crates/ibid-server/src/http/server.rs", "start-up"),
            ("crates/ibid-server/src/http/webhooks.rs", "webhooks of ended runs"),
        ],
    ),
    (
        "operator",
        &[
            ("crates/ibid-server/src/http/metrics_routes.rs", "counts of all runs"),
            ("crates/ibid-server/src/http/server.rs", "start-up"),
            (
                "crates/ibid-server/src/http/state.rs",
                "the operator's token; whether users were added",
            ),
            ("crates/ibid-server/src/http/system_routes.rs", "readiness"),
            (
                "crates/ibid-server/src/http/viewer/overview.rs",
                "the operator's page of health checks",
            ),
            ("crates/ibid-server/src/http/webhooks.rs", "webhooks of ended runs"),
            ("crates/ibid-server/src/mcp/server.rs", "the local user over stdio"),
        ],
    ),
    (
        "anonymous",
        &[
            ("crates/ibid-server/src/http/auth.rs", "requests for public paths"),
            ("crates/ibid-server/src/http/viewer/error_pages.rs", "the page of an error"),
        ],
    ),
    (
        "for_caller",
        &[
            ("crates/ibid-server/src/http/auth.rs", "the authenticated caller"),
            ("crates/ibid-server/src/http/server.rs", "start-up"),
            ("crates/ibid-server/src/mcp/server.rs", "the local user over stdio"),
        ],
    ),
];

/// The names in a file that reach beyond one caller: `App`, what makes a caller, and what needs none.
fn beyond_one_caller(file: &Source) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let of_app = |path: &Vec<String>| path.join("::") == "ibid::app::App";
    if used(&file.text, &file.module).iter().any(of_app) {
        found.insert("App");
    }
    let code = file.text.lines().filter(|it| !it.trim_start().starts_with("//"));
    for line in code {
        for (name, words) in [
            ("operator", &["OperatorService", ".operator", "Caller::operator"][..]),
            ("anonymous", &["Caller::anonymous"]),
            ("for_caller", &["for_caller("]),
        ] {
            if words.iter().any(|it| line.contains(it)) {
                found.insert(name);
            }
        }
    }
    found
}

#[test]
fn surfaces_for_others_hold_nothing_that_knows_no_caller() {
    let parts = [
        "crates/ibid-server/src/http/",
        "crates/ibid-server/src/mcp/",
        "crates/ibid-server/src/view/",
    ];
    let mut faults = Vec::new();
    let mut files = 0;
    for file in sources() {
        if !parts.iter().any(|it| file.name.starts_with(it)) {
            continue;
        }
        files += 1;
        let found = beyond_one_caller(&file);
        for (name, allowed) in WITHOUT_CALLER {
            let excused = allowed.iter().any(|it| it.0 == file.name);
            match (found.contains(name), excused) {
                (true, false) => faults.push(format!(
                    "{}: names `{name}`, which knows no caller; take a CallerService",
                    file.name
                )),
                (false, true) => faults.push(format!(
                    "{}: names `{name}` no more, take it off WITHOUT_CALLER",
                    file.name
                )),
                _ => {}
            }
        }
    }
    assert!(files > 30, "{files}");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_prompt_is_used() {
    let all: String = sources().into_iter().map(|it| it.text).collect();
    let prompts = root().join("crates/ibid-research/src/prompts");
    let mut files = Vec::new();
    if prompts.is_dir() {
        walk(&prompts, &mut files);
    }
    for path in files.iter().filter(|it| it.extension().is_none_or(|it| it != "rs")) {
        let name = path.strip_prefix(&prompts).unwrap().display().to_string();
        assert!(
            all.contains(&format!("include_str!(\"{name}\")"))
                || all.contains(&format!("prompts/{name}")),
            "crates/ibid-research/src/prompts/{name} is used nowhere"
        );
    }
}

#[test]
fn files_stay_short_enough_to_read_in_one_sitting() {
    let mut faults = Vec::new();
    for (name, text) in tracked() {
        let lines = text.lines().count();
        let excused = LONG_FILES.iter().any(|it| it.0 == name);
        if !name.ends_with(".rs") {
            continue;
        }
        if lines > LINES_PER_FILE && !excused {
            faults.push(format!("{name}: {lines} lines, {LINES_PER_FILE} allowed"));
        }
        if excused && lines <= LINES_PER_FILE {
            faults.push(format!("{name}: short again, take it off LONG_FILES"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_tracked_file_names_a_machine() {
    // Written in two pieces, so that this file does not name them either.
    let forbidden = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("C:\\", "Users"),
    ];
    let mut faults = Vec::new();
    for (name, text) in tracked() {
        for (nth, line) in text.lines().enumerate() {
            if let Some(word) = forbidden.iter().find(|it| line.contains(**it)) {
                faults.push(format!("{name}:{}: `{word}`", nth + 1));
            }
        }
    }
    assert!(faults.is_empty(), "machine paths:\n{}", faults.join("\n"));
}

#[test]
fn no_text_file_has_trailing_blanks_or_lacks_its_last_newline() {
    let mut faults = Vec::new();
    for (name, text) in tracked() {
        if !(name.ends_with(".rs") || name.ends_with(".md") || name.ends_with(".toml")) {
            continue;
        }
        if let Some(nth) = text.lines().position(|it| it.ends_with([' ', '\t'])) {
            faults.push(format!("{name}:{}: trailing blank", nth + 1));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            faults.push(format!("{name}: no newline at the end"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut faults = Vec::new();
    for (name, text) in tracked() {
        if !name.ends_with(".md") || name.starts_with("examples/library/") {
            continue;
        }
        let folder = Path::new(&name).parent().unwrap();
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#', ' ']).next().unwrap();
            let leaves =
                target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            if !leaves && !root().join(folder).join(target).exists() {
                faults.push(format!("{name}: `{target}` is not there"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn examples_in_documentation_are_where_they_are_run() {
    let mut faults = Vec::new();
    for it in sources() {
        let example = it.text.lines().position(|line| {
            let line = line.trim_start();
            (line.starts_with("///") || line.starts_with("//!")) && line.contains("```")
        });
        if let Some(nth) = example.filter(|_| it.module[0] != "ibid") {
            faults.push(format!("{}:{}: tests of documentation are off here", it.name, nth + 1));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// A file under a crate's `src`.
struct Source {
    name: String,
    /// Its path with the crate's name first: `["ibid_core", "domain", "page"]`.
    module: Vec<String>,
    text: String,
}

/// Every source file of every crate.
fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    walk(&root().join("crates"), &mut paths);
    let found: Vec<Source> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .filter_map(|path| {
            let name = path.strip_prefix(root()).unwrap().to_path_buf();
            let mut parts = name.iter().map(|part| part.to_str().unwrap());
            let (Some("crates"), Some(package), Some("src")) =
                (parts.next(), parts.next(), parts.next())
            else {
                return None;
            };
            let mut module = vec![package.replace('-', "_")];
            module.extend(parts.map(|part| part.trim_end_matches(".rs").to_owned()));
            if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                module.pop();
            }
            Some(Source {
                name: name.display().to_string(),
                module,
                text: fs::read_to_string(&path).unwrap(),
            })
        })
        .collect();
    assert!(found.len() > 500, "only {} files in crates", found.len());
    found
}

/// The crate a path leads to, or the part of the core.
fn floor_of(path: &[String]) -> String {
    match path {
        [first, second, ..]
            if first == "ibid_core" && matches!(second.as_str(), "domain" | "record" | "ports") =>
        {
            format!("{first}::{second}")
        }
        [first, ..] => first.clone(),
        [] => String::new(),
    }
}

/// Every text file that git tracks or would track; all files where there is no git.
fn tracked() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .ok()
        .filter(|it| it.status.success())
        .map(|it| String::from_utf8(it.stdout).unwrap())
        .unwrap_or_default();
    let mut names: Vec<String> = listed.lines().map(str::to_owned).collect();
    if names.is_empty() {
        let mut paths = Vec::new();
        walk(&root(), &mut paths);
        names =
            paths.iter().map(|it| it.strip_prefix(root()).unwrap().display().to_string()).collect();
    }
    names
        .into_iter()
        .filter_map(|name| {
            // A binary file is no text, and a deleted one is not there.
            let text = fs::read_to_string(root().join(&name)).ok()?;
            Some((name, text))
        })
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" && name != ".git" {
            walk(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}
