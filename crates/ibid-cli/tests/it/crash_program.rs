//! The shipped program, killed at every named point over real documents, resumes to the same
//! report. What the small stand-in shows of every call in `crash`, this shows of the whole.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ibid_core::ports::CRASH_POINTS;
use serde_json::Value;

const QUESTION: &str = "How much does a green roof weigh?";

fn library() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples/library")
}

/// Runs the program with everything it keeps below `home`, and its clock and chance frozen. It compares words alone: its points are the
/// same with the model, at three times the processor time.
fn ibid(home: &Path, args: &[&str], crash_at: Option<&str>) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ibid"));
    program
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_CACHE_HOME", cache())
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("IBID_CLOCK", "1790000000000")
        .env("IBID_SEED", "7")
        .env("IBID_EMBEDDING_MODEL", "none")
        .current_dir(home);
    if let Some(point) = crash_at {
        program.env("IBID_CRASH_AT", point);
    }
    program.output().unwrap()
}

/// One index for all runs: what is tested here is the run.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash-program-cache")
}

fn ask(home: &Path, crash_at: Option<&str>) -> Output {
    let folder = library();
    let args = ["--folder", folder.to_str().unwrap(), "--json", QUESTION];
    ibid(home, &args, crash_at)
}

/// The report, without what the clock measured.
fn told(out: &Output) -> Value {
    let mut it: Value = serde_json::from_slice(&out.stdout).unwrap();
    it.as_object_mut().unwrap().remove("duration_ms");
    it
}

#[test]
fn the_program_killed_at_any_named_point_resumes_to_the_same_report() {
    let home = tempfile::tempdir().unwrap();
    let whole = ask(home.path(), None);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let expected = told(&whole);
    for point in CRASH_POINTS {
        let home = tempfile::tempdir().unwrap();
        let died = ask(home.path(), Some(&format!("{point}:1")));
        assert!(died.status.code().is_none(), "{point} was never reached");
        let listed = ibid(home.path(), &["ls", "--json"], None);
        let rows = String::from_utf8(listed.stdout).unwrap();
        let again = match rows.lines().next() {
            Some(row) => {
                let row: Value = serde_json::from_str(row).unwrap();
                ibid(home.path(), &["resume", row["run_id"].as_str().unwrap(), "--json"], None)
            }
            None => {
                let accepting = ["accept.before_commit", "events.before_flush"];
                assert!(accepting.contains(point), "{point}: an accepted run is lost");
                ask(home.path(), None)
            }
        };
        assert!(again.status.success(), "{point}: {}", String::from_utf8_lossy(&again.stderr));
        assert_eq!(told(&again), expected, "{point}");
    }
}
