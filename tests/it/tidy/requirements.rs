//! What was asked, row by row: `docs/requirements.md` leaves no row out and names no test that is not there.
use std::fs;

use super::{root, walk};

/// The parts, and how many rows each has.
const PARTS: &[(&str, u32)] = &[("A", 12), ("B", 17), ("C", 16), ("D", 13), ("E", 16)];

#[test]
fn every_row_is_told_once_and_every_test_it_names_is_there() {
    let text = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let rows = rows(&text);
    let mut faults = Vec::new();
    for (part, most) in PARTS {
        for nth in 1..=*most {
            let name = format!("{part}{nth}");
            let told = rows.iter().filter(|it| it[0] == name).count();
            if told != 1 {
                faults.push(format!("row {name} is told {told} times"));
            }
        }
    }
    let (tests, lib) = (code("tests"), code("src"));
    for row in &rows {
        let [name, works, command, proof] = row.as_slice() else {
            faults.push(format!("row {} has {} cells", row[0], row.len()));
            continue;
        };
        if works.is_empty() || command.is_empty() || proof.is_empty() {
            faults.push(format!("row {name} has an empty cell"));
        }
        let named = named(proof);
        if named.is_empty() && !proof.starts_with("none yet") {
            faults.push(format!("row {name} names no test"));
        }
        for test in named {
            let place = if test.starts_with("lib: ") {
                &lib
            } else {
                &tests
            };
            let last = test.rsplit("::").next().unwrap_or_default();
            if !place.contains(&format!("fn {last}(")) {
                faults.push(format!("row {name}: there is no test `{test}`"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The cells of each row of the table, its head left out.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .filter_map(|it| it.strip_prefix('|')?.strip_suffix('|'))
        .map(|it| it.split('|').map(str::trim).collect::<Vec<&str>>())
        .filter(|it| it[0].starts_with(|c: char| c.is_ascii_uppercase()))
        .collect()
}

/// The tests that a cell names: what stands between backticks and is a path.
fn named(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter(|it| it.contains("::")).collect()
}

/// All Rust below a folder of the tree.
fn code(inside: &str) -> String {
    let mut paths = Vec::new();
    walk(&root().join(inside), &mut paths);
    paths
        .iter()
        .filter(|it| it.extension().is_some_and(|it| it == "rs"))
        .map(|it| fs::read_to_string(it).unwrap())
        .collect()
}
