//! One name, one thing: no two types of the crates and the evals share a name.
use std::collections::BTreeMap;

use super::{sources, tracked};

/// Names that two types may share, each with the reason.
const SHARED: &[(&str, &str)] = &[];

#[test]
fn no_two_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        for name in types(&file.text) {
            places.entry(name).or_default().push(file.name.clone());
        }
    }
    let evals = |name: &str| name.starts_with("evals/src/") && name.ends_with(".rs");
    for (name, text) in tracked().into_iter().filter(|file| evals(&file.0)) {
        for found in types(&text) {
            places.entry(found).or_default().push(name.clone());
        }
    }
    assert!(places.len() > 900, "only {} types found", places.len());
    let excused = |name: &str| SHARED.iter().any(|shared| shared.0 == name);
    let faults: Vec<String> = places
        .iter()
        .filter(|(name, files)| files.len() > 1 && !excused(name))
        .map(|(name, files)| format!("`{name}`: {}", files.join(", ")))
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    for (name, _) in SHARED {
        let count = places.get(*name).map_or(0, Vec::len);
        assert!(count > 1, "`{name}` is unique again: remove it from SHARED");
    }
}

/// The structs, enums, traits and type aliases that `text` declares outside its test module, at the top of the file.
fn types(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in code.lines() {
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ").map_or("", |(_, after)| after),
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let Some((keyword, rest)) = line.split_once(' ') else {
            continue;
        };
        if matches!(keyword, "struct" | "enum" | "trait" | "type" | "union") {
            let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
            found.extend(name.map(str::to_owned));
        }
    }
    found
}

#[test]
fn declarations_are_found_with_every_visibility() {
    let code = "pub struct A;\npub(crate) enum B {}\ntrait C {}\n    struct Inner;\npub(in crate::x) type D = A;\n\
        fn f() {}\n#[cfg(test)]\nmod tests {\n}\nstruct Late;\n";
    assert_eq!(types(code), ["A", "B", "C", "D"]);
}
