//! What a measurement says of itself: what it measured, of which commit, when and on which data.
use std::path::Path;
use std::process::Command;

/// How much was measured. A measurement of nothing has failed, whatever else it says.
pub(crate) struct Measured {
    count: usize,
    what: &'static str,
}

impl Measured {
    /// So many of `what`, a plural: `files`.
    pub(crate) fn new(count: usize, what: &'static str) -> Measured {
        Measured { count, what }
    }

    /// The last line of an output; an error where nothing was measured.
    pub(crate) fn line(&self) -> Result<String, String> {
        match self.count {
            0 => Err(format!("nothing was measured: there are no {}", self.what)),
            count => Ok(format!("measured {count} {}", self.what)),
        }
    }
}

/// The first line of an output: `evals crash, commit 0f18e3f, debug build, 2026-11-24, data: the sample library`.
pub(crate) fn header(name: &str, data: &str, args: &[String]) -> String {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let day = jiff::Zoned::now().date();
    let args = match args {
        [] => String::new(),
        args => format!(", arguments: {}", args.join(" ")),
    };
    format!("evals {name}, {}, {build} build, {day}, data: {data}{args}", commit())
}

/// The commit of the repository that this program was built in, as it is now.
fn commit() -> String {
    let git = |args: &[&str]| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("git").arg("-C").arg(dir).args(args).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    };
    match git(&["rev-parse", "--short", "HEAD"]) {
        None => "no commit known".to_owned(),
        Some(commit) => match git(&["status", "--porcelain", "--untracked-files=no"]) {
            Some(changes) if !changes.is_empty() => {
                format!("commit {commit} (with uncommitted changes)")
            }
            _ => format!("commit {commit}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_of_nothing_has_failed_and_names_what_was_missing() {
        let line = Measured::new(0, "files").line();
        assert_eq!(line.unwrap_err(), "nothing was measured: there are no files");
        assert_eq!(Measured::new(7, "files").line().unwrap(), "measured 7 files");
    }

    #[test]
    fn the_first_line_names_the_component_the_commit_the_build_and_the_data() {
        let line = header("crash", "the sample library", &["--kills".to_owned(), "3".to_owned()]);
        assert!(line.starts_with("evals crash, "), "{line}");
        assert!(line.contains("commit"), "{line}");
        assert!(line.ends_with(", data: the sample library, arguments: --kills 3"), "{line}");
    }
}
