//! What tests need besides the program, whether it is on this machine, and which tests are left out where it is not.
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ignored::IgnoredTest;
use test_servers::{SEAWEEDFS, TEMPORAL, has_pgbouncer, installed_postgres};

use crate::{on_path, root};

/// A thing that tests name in `#[ignore = "needs …"]`.
pub(crate) struct Need {
    pub(crate) name: &'static str,
    pub(crate) is_met: fn() -> bool,
}

/// Everything that a test may need.
pub(crate) const NEEDS: &[Need] = &[
    Need {
        name: "PostgreSQL",
        is_met: || env::var_os(POSTGRES).is_some() || installed_postgres().is_some(),
    },
    Need { name: "an installed PostgreSQL", is_met: || installed_postgres().is_some() },
    Need { name: "PgBouncer", is_met: has_pgbouncer },
    Need {
        name: "Chromium",
        is_met: || {
            let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
            names.into_iter().any(on_path)
        },
    },
    Need { name: "axe-core", is_met: || axe_core().is_file() },
    Need { name: "poppler", is_met: || on_path("pdftotext") && on_path("pdfinfo") },
    Need { name: "Temporal", is_met: || TEMPORAL.is_installed() },
    Need { name: "SeaweedFS", is_met: || SEAWEEDFS.is_installed() },
    Need { name: "../shared/data", is_met: || root().join("../shared/data").is_dir() },
    Need { name: "certificates", is_met: has_certificates },
    Need { name: "setpriv", is_met: can_change_user },
    Need { name: "Landlock", is_met: has_landlock },
];

/// The variable that names a PostgreSQL server to test with.
pub(crate) const POSTGRES: &str = "IBID_TEST_POSTGRES";

/// Where npm installs axe-core: below the target directory, where the tests look for it.
pub(crate) fn npm_folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join("npm")
}

/// The script of axe-core.
pub(crate) fn axe_core() -> PathBuf {
    npm_folder().join("node_modules/axe-core/axe.min.js")
}

/// Whether this machine has the certificates of authorities where programs look for them.
fn has_certificates() -> bool {
    let places = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/ssl/cert.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
    ];
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
    named.into_iter().any(|it| env::var_os(it).is_some())
        || places.into_iter().any(|place| Path::new(place).is_file())
}

/// Whether a program can be run as a user who is not root.
fn can_change_user() -> bool {
    let status = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Whether the kernel has Landlock. Where the list of its security modules is not mounted, the name of the system call tells.
fn has_landlock() -> bool {
    let text = std::fs::read_to_string("/sys/kernel/security/lsm")
        .or_else(|_| std::fs::read_to_string("/proc/kallsyms"));
    text.is_ok_and(|text| text.contains("landlock"))
}

/// The ignored tests that cannot run or should not run.
pub(crate) struct LeftOut<'a> {
    tests: Vec<&'a IgnoredTest>,
    missing: Vec<&'static str>,
}

impl<'a> LeftOut<'a> {
    /// Of all ignored tests, those with a need that is not met and those that are ignored for another reason.
    pub(crate) fn of(all: &'a [IgnoredTest], is_met: impl Fn(&Need) -> bool) -> LeftOut<'a> {
        let missing = NEEDS.iter().filter(|need| !is_met(need)).map(|need| need.name);
        let missing: Vec<&str> = missing.collect();
        let is_left_out = |test: &&IgnoredTest| {
            let needs = test.needs();
            needs.is_empty() || needs.iter().any(|need| missing.contains(need))
        };
        LeftOut { tests: all.iter().filter(is_left_out).collect(), missing }
    }

    /// The arguments with which `cargo nextest run` runs all tests but these. `args` are the user's; every filter in them stays
    /// in force. Who says which ignored tests run gets what they say.
    pub(crate) fn for_nextest(&self, args: &[String]) -> Vec<String> {
        if args.iter().any(|arg| arg.starts_with("--run-ignored")) {
            return args.to_vec();
        }
        let names: Vec<String> =
            self.tests.iter().map(|test| format!("test(={})", test.name)).collect();
        let others = if names.is_empty() {
            "all()".to_owned()
        } else {
            format!("not ({})", names.join(" + "))
        };
        let mut out = vec!["--run-ignored".to_owned(), "all".to_owned()];
        let (mut filtered, mut is_filter, mut rest) = (false, false, false);
        for arg in args {
            rest |= arg == "--";
            let inline = ["--filterset=", "--filter-expr=", "-E"];
            let inline =
                inline.into_iter().find_map(|prefix| Some((prefix, arg.strip_prefix(prefix)?)));
            if is_filter {
                out.push(format!("({arg}) and {others}"));
            } else if let (Some((name, filter)), false) = (inline, rest || arg == "-E") {
                out.push(format!("{name}({filter}) and {others}"));
                filtered = true;
            } else {
                out.push(arg.clone());
            }
            is_filter = !rest && ["-E", "--filterset", "--filter-expr"].contains(&arg.as_str());
            filtered |= is_filter;
        }
        if !filtered {
            out.splice(0..0, ["-E".to_owned(), others]);
        }
        out
    }

    /// The same for `cargo test`.
    pub(crate) fn for_cargo_test(&self, args: &[String]) -> Vec<String> {
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        let mut out = args[..end].to_vec();
        out.extend(["--".to_owned(), "--include-ignored".to_owned()]);
        for it in &self.tests {
            out.extend(["--skip".to_owned(), it.name.clone()]);
        }
        out.extend(args.iter().skip(end + 1).cloned());
        out
    }

    /// One line for each need that is not met and for each other reason: how many tests were ignored.
    pub(crate) fn lines(&self) -> Vec<String> {
        let count = |has: &dyn Fn(&IgnoredTest) -> bool| {
            let count = self.tests.iter().filter(|test| has(test)).count();
            format!("{count} {} ignored", if count == 1 { "test" } else { "tests" })
        };
        let of_need = |need: &&str| {
            let counted = count(&|it| it.needs().contains(need));
            format!("{counted}: needs {need}, which this machine does not have")
        };
        let mut lines: Vec<String> = self.missing.iter().map(of_need).collect();
        let others = self.tests.iter().filter(|test| test.needs().is_empty());
        let mut reasons: Vec<&str> = others.map(|it| it.reason.as_str()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            lines.push(format!("{}: {reason}", count(&|it| it.reason == reason)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests() -> Vec<IgnoredTest> {
        let all = [
            ("a", "needs PostgreSQL"),
            ("b", "needs Chromium and axe-core"),
            ("c", "a measurement"),
            ("d", "needs Chromium"),
        ];
        let test = |(name, reason): (&str, &str)| IgnoredTest {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        all.into_iter().map(test).collect()
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn tests_whose_need_is_missing_are_left_out_and_counted() {
        let all = tests();
        let it = LeftOut::of(&all, |it| it.name != "axe-core" && it.name != "PostgreSQL");
        let skipped: Vec<&str> = it.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(skipped, ["a", "b", "c"]);
        let lines = [
            "1 test ignored: needs PostgreSQL, which this machine does not have",
            "1 test ignored: needs axe-core, which this machine does not have",
            "1 test ignored: a measurement",
        ];
        assert_eq!(it.lines(), lines);
        let it = LeftOut::of(&all, |it| it.name != "Chromium");
        assert!(it.lines()[0].starts_with("2 tests ignored: needs Chromium"));
    }

    #[test]
    fn nextest_leaves_them_out_whatever_filter_the_user_gives() {
        let all = tests();
        let it = LeftOut::of(&all, |it| it.name != "PostgreSQL");
        let others = "not (test(=a) + test(=c))";
        let with = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            it.for_nextest(&args)
        };
        let plain = ["-E", others, "--run-ignored", "all", "word"];
        assert_eq!(with(&["word"]), plain);
        let both = format!("(test(x)) and {others}");
        assert_eq!(with(&["-E", "test(x)"])[2..], ["-E", &both]);
        assert_eq!(with(&["-Etest(x)"])[2..], [format!("-E{both}")]);
        let long = format!("--filterset={both}");
        assert_eq!(with(&["--filterset=test(x)"])[2..], [long]);
        // What stands behind `--` is for the test binary.
        assert_eq!(with(&["--", "-Ex"])[..2], ["-E", others]);
        let own = ["--run-ignored", "only"];
        assert_eq!(with(&own), own);
    }

    #[test]
    fn cargo_test_skips_them() {
        let all = tests();
        let it = LeftOut::of(&all, |it| it.name != "PostgreSQL");
        let args = it.for_cargo_test(&words("--features x -- word"));
        let expected = "--features x -- --include-ignored --skip a --skip c word";
        assert_eq!(args, words(expected));
    }
}
