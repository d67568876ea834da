//! The shape of the tree, as a test: floors look down, nothing goes in circles, files stay readable.
mod imports;
mod requirements;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imports::used;

/// Every floor and the floors it may use besides itself. `ARCHITECTURE.md` draws the same picture.
const FLOORS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("domain", &["error"]),
    ("record", &["error", "domain"]),
    ("seams", &["error", "domain", "record"]),
    ("research", &["error", "domain", "record", "seams"]),
    ("adapters", &["error", "domain", "record", "seams"]),
    ("config", &["error", "domain", "record", "seams"]),
    (
        "app",
        &[
            "error", "domain", "record", "seams", "research", "adapters", "config",
        ],
    ),
    (
        "surfaces",
        &["error", "domain", "record", "seams", "config", "app"],
    ),
    ("main", &["error", "config", "app", "surfaces"]),
];

const LINES_PER_FILE: usize = 600;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

#[test]
fn floors_only_look_down() {
    let floors: BTreeMap<&str, &[&str]> = FLOORS.iter().copied().collect();
    let mut faults = Vec::new();
    for file in sources() {
        let Some(allowed) = floors.get(file.floor()) else {
            faults.push(format!(
                "{}: belongs to no floor of tests/it/tidy.rs",
                file.name
            ));
            continue;
        };
        for path in used(&file.text, &file.module) {
            let other = floor_of(&path);
            let sees = other == file.floor() || allowed.contains(&other);
            if floors.contains_key(other) && !sees {
                faults.push(format!(
                    "{}: floor `{}` may not use floor `{other}` (`{}`)",
                    file.name,
                    file.floor(),
                    path.join("::")
                ));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn modules_of_a_floor_import_in_no_circle() {
    let files = sources();
    let exports = reexports(&files);
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let Some(from) = part_of(&file.module, &exports) else {
            continue;
        };
        for path in used(&file.text, &file.module) {
            if let Some(to) = part_of(&path, &exports)
                && path[0] == file.module[0]
                && to != from
            {
                edges.entry(from.clone()).or_default().insert(to);
            }
        }
    }
    if let Some(circle) = circle(&edges) {
        panic!(
            "modules import each other in a circle: {}",
            circle.join(" → ")
        );
    }
}

/// Whoever asks a server pays out of an account, by a grant that is reserved. Only who runs the program spends without.
#[test]
fn only_the_command_line_spends_without_an_account() {
    let mut faults = Vec::new();
    for file in sources() {
        let [floor, part, ..] = file.module.as_slice() else {
            continue;
        };
        if floor == "surfaces" && part != "cli" && file.text.contains("SpendGrant::of_operator") {
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
            ("src/surfaces/http/mod.rs", "start-up"),
            (
                "src/surfaces/http/telling.rs",
                "tells whoever wanted to hear of an end",
            ),
        ],
    ),
    (
        "operator",
        &[
            ("src/surfaces/http/mod.rs", "start-up; the operator's token"),
            ("src/surfaces/http/pages.rs", "readiness"),
            ("src/surfaces/http/metrics.rs", "counts"),
            ("src/surfaces/http/telling.rs", "webhooks of ended runs"),
            (
                "src/surfaces/http/viewer/back.rs",
                "the operator's page of what is set up",
            ),
            (
                "src/surfaces/mcp/mod.rs",
                "whoever started the program over stdio",
            ),
        ],
    ),
    (
        "nobody",
        &[
            ("src/surfaces/http/gate.rs", "who comes without a token"),
            ("src/surfaces/http/viewer/mod.rs", "the page of a refusal"),
        ],
    ),
    (
        "for_caller",
        &[
            ("src/surfaces/http/gate.rs", "whose token it is"),
            ("src/surfaces/http/mod.rs", "start-up"),
            (
                "src/surfaces/mcp/mod.rs",
                "whoever started the program over stdio",
            ),
        ],
    ),
];

/// The names in a file that reach beyond one caller: `App`, what makes a caller, and what needs none.
fn beyond_one_caller(file: &Source) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let of_app = |path: &Vec<String>| path.join("::") == "app::App";
    if used(&file.text, &file.module).iter().any(of_app) {
        found.insert("App");
    }
    let code = file
        .text
        .lines()
        .filter(|it| !it.trim_start().starts_with("//"));
    for line in code {
        for (name, words) in [
            (
                "operator",
                &["OperatorService", ".operator", "Caller::operator"][..],
            ),
            ("nobody", &["Caller::nobody"]),
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
        "src/surfaces/http/",
        "src/surfaces/mcp/",
        "src/surfaces/view/",
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
    let prompts = root().join("src/research/prompts");
    let mut files = Vec::new();
    if prompts.is_dir() {
        walk(&prompts, &mut files);
    }
    for path in files
        .iter()
        .filter(|it| it.extension().is_none_or(|it| it != "rs"))
    {
        let name = path.strip_prefix(&prompts).unwrap().display().to_string();
        assert!(
            all.contains(&format!("include_str!(\"{name}\")"))
                || all.contains(&format!("prompts/{name}")),
            "src/research/prompts/{name} is used nowhere"
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

/// A file under `src`.
struct Source {
    name: String,
    /// Its module path from the crate root: `["domain", "page"]`.
    module: Vec<String>,
    text: String,
}

impl Source {
    fn floor(&self) -> &str {
        &self.module[0]
    }
}

/// Every file under `src` but `lib.rs`, which only lists the floors.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut paths = Vec::new();
    walk(&src, &mut paths);
    let found: Vec<Source> = paths
        .into_iter()
        .filter(|it| it.extension().is_some_and(|it| it == "rs"))
        .filter(|it| *it != src.join("lib.rs"))
        .map(|path| {
            let inside = path.strip_prefix(&src).unwrap().with_extension("");
            let mut module: Vec<String> = inside
                .iter()
                .map(|it| it.to_str().unwrap().to_owned())
                .collect();
            if module.last().is_some_and(|it| it == "mod") {
                module.pop();
            }
            Source {
                name: format!("src/{}", path.strip_prefix(&src).unwrap().display()),
                module,
                text: fs::read_to_string(&path).unwrap(),
            }
        })
        .collect();
    assert!(found.len() > 20, "only {} files under src", found.len());
    found
}

/// The floor a path leads to. What the crate root re-exports belongs to `error`.
fn floor_of(path: &[String]) -> &str {
    match path.first().map(String::as_str) {
        Some("Error" | "Kind" | "Result") => "error",
        Some(it) => it,
        None => "",
    }
}

/// For each floor, which of its modules an item re-exported by the floor's `mod.rs` comes from.
fn reexports(files: &[Source]) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for file in files.iter().filter(|it| it.module.len() == 1) {
        let items = found.entry(file.module[0].clone()).or_default();
        for statement in file.text.split("pub use ").skip(1) {
            let statement = statement.split(';').next().unwrap_or_default();
            // `pub use page::{Block, Hit}` reads like `self::page::{Block, Hit}`.
            for path in used(&format!("self::{statement};"), &file.module) {
                if let [_, module, .., item] = path.as_slice() {
                    items.insert(item.clone(), module.clone());
                }
            }
        }
    }
    found
}

/// The top module of its floor that `path` leads into: `domain::page`.
fn part_of(
    path: &[String],
    exports: &BTreeMap<String, BTreeMap<String, String>>,
) -> Option<String> {
    let (floor, rest) = path.split_first()?;
    let first = rest.first()?;
    let module = exports
        .get(floor)
        .and_then(|it| it.get(first))
        .unwrap_or(first);
    let is_module = module.chars().next().is_some_and(char::is_lowercase);
    is_module.then(|| format!("{floor}::{module}"))
}

/// The first circle found, its start repeated at the end.
fn circle(edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        at: &str,
        edges: &BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(start) = path.iter().position(|it| it == at) {
            let mut found = path[start..].to_vec();
            found.push(at.to_owned());
            return Some(found);
        }
        if !done.insert(at.to_owned()) {
            return None;
        }
        path.push(at.to_owned());
        for next in edges.get(at).into_iter().flatten() {
            if let Some(found) = visit(next, edges, path, done) {
                return Some(found);
            }
        }
        path.pop();
        None
    }
    let mut done = BTreeSet::new();
    edges
        .keys()
        .find_map(|it| visit(it, edges, &mut Vec::new(), &mut done))
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
        names = paths
            .iter()
            .map(|it| it.strip_prefix(root()).unwrap().display().to_string())
            .collect();
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
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
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

#[test]
fn circles_are_found() {
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let round = BTreeMap::from([edge("a", "b"), edge("b", "c"), edge("c", "b")]);
    assert_eq!(
        circle(&round).unwrap().join(" "),
        "b c b",
        "the way into the circle is no part of it"
    );
    assert_eq!(
        circle(&BTreeMap::from([edge("a", "b"), edge("b", "c")])),
        None
    );
}
