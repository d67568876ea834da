//! `docs/requirements.md`: no row is missing, its commands show what it says, and the tests that it names exist.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

/// The parts, and how many rows each has.
const PARTS: &[(&str, u32)] = &[("A", 12), ("B", 17), ("C", 16), ("D", 13), ("E", 16)];

/// A row of the table.
struct RequirementRow {
    name: String,
    /// The words between backticks in the cells of command, output and tests.
    commands: Vec<String>,
    outputs: Vec<String>,
    tests: Vec<String>,
    has_empty_cell: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Vec<RequirementRow> {
    let text = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let cells = text
        .lines()
        .filter_map(|it| it.strip_prefix('|')?.strip_suffix('|'))
        .map(|it| it.split('|').map(str::trim).collect::<Vec<&str>>())
        .filter(|it| it[0].starts_with(|c: char| c.is_ascii_uppercase()));
    let row = |cells: Vec<&str>| {
        assert_eq!(cells.len(), 5, "row {} has {} cells", cells[0], cells.len());
        RequirementRow {
            name: cells[0].to_owned(),
            commands: quoted(cells[2]),
            outputs: quoted(cells[3]),
            tests: quoted(cells[4]),
            has_empty_cell: cells.iter().any(|it| it.is_empty()),
        }
    };
    cells.map(row).collect()
}

fn quoted(cell: &str) -> Vec<String> {
    let all = cell.split('`').skip(1).step_by(2);
    all.map(str::to_owned).collect()
}

#[test]
fn no_row_is_missing_and_every_row_has_a_command_and_tests() {
    let rows = rows();
    let mut faults = Vec::new();
    for (part, most) in PARTS {
        for nth in 1..=*most {
            let name = format!("{part}{nth}");
            let count = rows.iter().filter(|it| it.name == name).count();
            if count != 1 {
                faults.push(format!("row {name} is there {count} times"));
            }
        }
    }
    for row in &rows {
        if row.has_empty_cell || row.commands.is_empty() || row.tests.is_empty() {
            faults.push(format!("row {} lacks a command or a test", row.name));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_command_of_the_table_shows_what_its_row_says() {
    // Rows that name the same command share one run of it.
    let mut commands: BTreeMap<String, Vec<RequirementRow>> = BTreeMap::new();
    for row in rows() {
        if !row.outputs.is_empty() {
            let command = row.commands[0].clone();
            commands.entry(command).or_default().push(row);
        }
    }
    let count: usize = commands.values().map(Vec::len).sum();
    assert!(count >= 50, "only {count} rows have a command that is run");
    let queue = Mutex::new(commands.into_iter());
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((command, rows)) = next else { return };
                    let found = faults_of(&command, &rows);
                    faults.lock().unwrap().extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "\n{}", faults.join("\n\n"));
}

/// Runs `command` as a reader of the table would, with the library in `at`, but by words alone: the rows that say something of the
/// model name tests of it.
fn shell(command: &str, at: &Path) -> Output {
    copy(&root().join("examples/library"), &at.join("library"));
    let program = Path::new(env!("CARGO_BIN_EXE_ibid"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    Command::new("sh")
        .args(["-c", command])
        .current_dir(at)
        .env_clear()
        .env("HOME", at.join("home"))
        .env("PATH", path)
        .env("IBID_EMBEDDING_MODEL", "none")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs `command`, and says what the output lacks.
fn faults_of(command: &str, rows: &[RequirementRow]) -> Vec<String> {
    let names: Vec<&str> = rows.iter().map(|it| it.name.as_str()).collect();
    let names = names.join(", ");
    let dir = tempfile::tempdir().unwrap();
    let done = shell(command, dir.path());
    let out = String::from_utf8_lossy(&done.stdout);
    let err = String::from_utf8_lossy(&done.stderr);
    let mut faults = Vec::new();
    if !done.status.success() {
        faults.push(format!("{names}: `{command}` ended with {}: {err}", done.status));
    }
    for row in rows {
        for word in &row.outputs {
            if !out.contains(word) && !err.contains(word) {
                let row = &row.name;
                faults.push(format!("{row}: `{command}` does not say `{word}`:\n{out}{err}"));
            }
        }
    }
    faults
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let into = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &into);
        } else {
            fs::copy(entry.path(), into).unwrap();
        }
    }
}

#[test]
fn every_test_that_the_table_names_exists() {
    // This program lists its own tests. Unit tests are in other programs, so they are looked for in the sources.
    let listed = Command::new(std::env::current_exe().unwrap())
        .args(["--list", "--format", "terse"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let own: BTreeSet<&str> = listed.lines().filter_map(|it| it.strip_suffix(": test")).collect();
    assert!(own.len() > 100, "{listed}");
    let mut missing = Vec::new();
    for row in rows() {
        for test in &row.tests {
            let exists = match test.strip_prefix("lib: ") {
                Some(path) => is_unit_test(path),
                None => own.contains(test.as_str()),
            };
            if !exists {
                missing.push(format!("row {}: there is no test `{test}`", row.name));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// Whether `ibid_net::web::guard::tests::name` is a test in one of the files that can hold this module.
fn is_unit_test(path: &str) -> bool {
    let mut modules: Vec<&str> = path.split("::").collect();
    let name = modules.pop().unwrap();
    let source = root().join("crates").join(modules.remove(0).replace('_', "-")).join("src");
    (0..=modules.len()).any(|depth| {
        let module = source.join(modules[..depth].join("/"));
        let mut files = vec![module.with_extension("rs")];
        // The folder of a module holds its tests where they have a file of their own.
        for entry in fs::read_dir(&module).into_iter().flatten() {
            files.push(entry.unwrap().path());
        }
        let holds = |it: &PathBuf| fs::read_to_string(it).is_ok_and(|text| has_test(&text, name));
        depth + 2 >= modules.len() && files.iter().any(holds)
    })
}

/// Whether `name` is a function with the attribute of a test.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |line: &str| line.contains(&format!("fn {name}("));
    let Some(at) = lines.iter().position(|line| begins(line)) else {
        return false;
    };
    let attributes = lines[..at].iter().rev().take_while(|it| it.starts_with("#["));
    attributes.into_iter().any(|it| it.starts_with("#[test]") || it.starts_with("#[tokio::test"))
}
