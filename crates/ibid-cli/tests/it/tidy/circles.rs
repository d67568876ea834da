//! No two files of a crate import each other, directly or around a corner.
use std::collections::{BTreeMap, BTreeSet};

use super::imports::used;
use super::{Source, sources};

/// What a file declares, so that a path can be followed to the file that holds its item.
#[derive(Default)]
struct Declared {
    /// Items by name.
    items: BTreeSet<String>,
    /// Re-exported names and where they come from.
    exports: BTreeMap<String, Vec<String>>,
    /// Child modules.
    modules: BTreeSet<String>,
}

type Files = BTreeMap<Vec<String>, Declared>;

#[test]
fn no_two_files_of_a_crate_import_each_other() {
    let all: Vec<Source> = sources()
        .into_iter()
        .filter(|file| !file.name.ends_with("tests.rs") && !file.name.contains("/tests/"))
        .filter(|file| !file.name.ends_with("src/main.rs"))
        .collect();
    let files: Files = all.iter().map(|file| (file.module.clone(), declared(file))).collect();
    let mut edges: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for file in &all {
        let code = without_reexports(without_tests(&file.text));
        let mut paths = used(&code, &file.module);
        for child in &files[&file.module].modules {
            if code.contains(&format!("{child}::")) {
                let mut path = file.module.clone();
                path.push(child.clone());
                paths.insert(path);
            }
        }
        for path in paths {
            if let Some(to) = holder(&files, &path, 0)
                && to != file.module
                && to[0] == file.module[0]
            {
                edges.entry(file.module.clone()).or_default().insert(to);
            }
        }
    }
    let faults = circles(&edges);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// `text` without its `pub use` statements: who re-exports an item does not use it.
fn without_reexports(text: &str) -> String {
    let mut kept = String::new();
    let mut skipping = false;
    for line in text.lines() {
        skipping |= reexport(line).is_some();
        if !skipping {
            kept.push_str(line);
            kept.push('\n');
        }
        skipping &= !line.trim_end().ends_with(';');
    }
    kept
}

/// What stands after `pub use`, with any visibility, at the beginning of a line.
fn reexport(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    rest.strip_prefix("use ")
}

fn declared(file: &Source) -> Declared {
    let code = without_tests(&file.text);
    let mut found = Declared::default();
    for line in code.lines() {
        let mut line = line;
        if let Some(rest) = line.strip_prefix("pub") {
            line = match rest.strip_prefix('(') {
                Some(inside) => inside.split_once(") ").map_or("", |(_, after)| after),
                None => rest.trim_start(),
            };
        }
        for word in ["async ", "const fn", "unsafe "] {
            if line.starts_with(word) {
                line = line.trim_start_matches("async ").trim_start_matches("unsafe ");
                line = line.strip_prefix("const ").unwrap_or(line);
            }
        }
        let Some((keyword, rest)) = line.split_once(' ') else {
            continue;
        };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        match keyword {
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" => {
                found.items.insert(name);
            }
            "mod" => {
                found.modules.insert(name);
            }
            _ => {}
        }
    }
    let mut rest = code;
    while let Some(at) = rest.find("pub") {
        let line_start = at == 0 || rest.as_bytes()[at - 1] == b'\n';
        let after = &rest[at..];
        if let (true, Some(statement)) = (line_start, reexport(after)) {
            let statement = statement.split(';').next().unwrap_or_default();
            let first = statement.split("::").next().unwrap_or_default().trim();
            let rooted = matches!(first, "crate" | "super" | "self");
            let text = match rooted {
                true => format!("use {statement};"),
                false => format!("use self::{statement};"),
            };
            for path in used(&text, &file.module) {
                if let Some(name) = path.last() {
                    found.exports.insert(name.clone(), path.clone());
                }
            }
        }
        rest = &rest[at + 3..];
    }
    found
}

/// The module of the file that holds the item `path` leads to.
fn holder(files: &Files, path: &[String], depth: usize) -> Option<Vec<String>> {
    // Re-exports of re-exports end somewhere.
    if depth > 6 {
        return None;
    }
    for end in (0..=path.len()).rev() {
        let Some(file) = files.get(&path[..end]) else {
            continue;
        };
        let Some(name) = path.get(end) else {
            return Some(path.to_vec());
        };
        if !file.items.contains(name)
            && let Some(origin) = file.exports.get(name)
            && origin[..] != path[..=end]
        {
            let further: Vec<String> = origin.iter().chain(&path[end + 1..]).cloned().collect();
            return holder(files, &further, depth + 1);
        }
        return Some(path[..end].to_vec());
    }
    None
}

/// Each file that can be reached from itself, with the way.
fn circles(edges: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<String> {
    let mut found = Vec::new();
    let mut known: BTreeSet<&Vec<String>> = BTreeSet::new();
    for start in edges.keys() {
        if known.contains(start) {
            continue;
        }
        let mut before: BTreeMap<&Vec<String>, &Vec<String>> = BTreeMap::new();
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            for next in edges.get(at).into_iter().flatten() {
                if !before.contains_key(next) {
                    before.insert(next, at);
                    waiting.push(next);
                }
            }
        }
        if !before.contains_key(start) {
            continue;
        }
        let mut way = vec![start];
        let mut at = before[start];
        while at != start {
            way.push(at);
            at = before[at];
        }
        way.push(start);
        known.extend(&way);
        let way: Vec<String> = way.iter().rev().map(|module| module.join("::")).collect();
        found.push(way.join(" → "));
    }
    found
}

#[test]
fn a_path_leads_to_the_file_that_declares_its_item() {
    let file = |name: &str, module: &[&str], text: &str| Source {
        name: name.to_owned(),
        module: module.iter().map(|part| (*part).to_owned()).collect(),
        text: text.to_owned(),
    };
    let parent = file(
        "lib.rs",
        &["a"],
        "mod b;\npub use b::{Thing, other as renamed};\npub async fn own() {}\n",
    );
    let child = file("b.rs", &["a", "b"], "pub struct Thing;\npub(crate) fn other() {}\n");
    let files: Files = [&parent, &child].map(|file| (file.module.clone(), declared(file))).into();
    let held = |path: &[&str]| {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        holder(&files, &path, 0).unwrap().join("::")
    };
    assert_eq!(held(&["a", "Thing", "new"]), "a::b");
    assert_eq!(held(&["a", "own"]), "a");
    assert_eq!(held(&["a", "b", "other"]), "a::b");
    let edges = |pairs: &[(&str, &str)]| {
        let mut all: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
        for (from, to) in pairs {
            all.entry(vec![(*from).to_owned()]).or_default().insert(vec![(*to).to_owned()]);
        }
        circles(&all)
    };
    assert_eq!(edges(&[("x", "y"), ("y", "z"), ("z", "x"), ("z", "w")]), ["x → y → z → x"]);
    assert!(edges(&[("x", "y"), ("z", "y")]).is_empty());
}
