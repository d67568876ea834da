//! The arguments that `race`, `fact` and `rubrics` share.
use std::path::PathBuf;

use crate::Fault;
use crate::judge::Judge;
use crate::program::flag;

/// Flags with a value.
const VALUES: &[&str] =
    &["--judge", "--limit", "--set", "--tasks", "--reference", "--pages", "--window", "--jobs"];
/// Flags without one.
const SWITCHES: &[&str] = &["--yes", "--json"];

/// What a measurement by a judge was asked to do.
#[derive(Debug)]
pub(crate) struct ProtocolArgs {
    /// The reports: a folder or a file.
    pub(crate) reports: PathBuf,
    /// `PROVIDER:MODEL`.
    judge: Option<String>,
    /// How many reports to judge.
    pub(crate) limit: Option<usize>,
    /// The set of tasks.
    pub(crate) set: String,
    /// A file of tasks in place of the set's own.
    pub(crate) tasks: Option<PathBuf>,
    /// The reports to compare with.
    pub(crate) reference: Option<PathBuf>,
    /// The texts of cited pages.
    pub(crate) pages: Option<PathBuf>,
    window: Option<u64>,
    jobs: Option<usize>,
    /// Whether the judge may cost money.
    pub(crate) yes: bool,
    /// Whether to print JSON in place of a table.
    pub(crate) json: bool,
}

impl ProtocolArgs {
    /// Reads `args`; `set` is the set where none is named.
    pub(crate) fn parse(args: &[String], set: &str) -> Result<ProtocolArgs, Fault> {
        let mut reports = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                flag if VALUES.contains(&flag) => {
                    rest.next().ok_or_else(|| format!("{flag} wants a value"))?;
                }
                flag if SWITCHES.contains(&flag) => {}
                flag if flag.starts_with("--") => {
                    let known = [VALUES, SWITCHES].concat().join(", ");
                    return Err(format!("no flag `{flag}`: {known}").into());
                }
                path => reports.push(PathBuf::from(path)),
            }
        }
        let [reports] = reports.as_slice() else {
            return Err("name one folder or file of reports".into());
        };
        let number = |name: &str| -> Result<Option<u64>, Fault> {
            let parsed = flag(args, name).map(str::parse).transpose();
            parsed.map_err(|_| format!("{name} wants a whole number").into())
        };
        let path = |name: &str| flag(args, name).map(PathBuf::from);
        Ok(ProtocolArgs {
            reports: reports.clone(),
            judge: flag(args, "--judge").map(str::to_owned),
            limit: number("--limit")?.map(|limit| limit as usize),
            set: flag(args, "--set").unwrap_or(set).to_owned(),
            tasks: path("--tasks"),
            reference: path("--reference"),
            pages: path("--pages"),
            window: number("--window")?,
            jobs: number("--jobs")?.map(|jobs| jobs as usize),
            yes: args.iter().any(|arg| arg == "--yes"),
            json: args.iter().any(|arg| arg == "--json"),
        })
    }

    /// The judge.
    pub(crate) fn open_judge(&self) -> Result<Judge, Fault> {
        let spec = self.judge.as_deref().ok_or("--judge PROVIDER:MODEL is missing")?;
        Judge::open(spec, self.window, self.jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<ProtocolArgs, String> {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        ProtocolArgs::parse(&args, "drb").map_err(|fault| fault.to_string())
    }

    #[test]
    fn what_is_wrong_is_named() {
        let args = parse("out --judge a:b --limit 3 --yes").unwrap();
        assert_eq!(
            (args.limit, args.set.as_str(), args.yes, args.json),
            (Some(3), "drb", true, false)
        );
        for (line, what) in [
            ("out --limit x", "--limit"),
            ("out --limit", "--limit"),
            ("out more", "one folder"),
            ("--yes", "one folder"),
            ("out --juge a:b", "--juge"),
        ] {
            let fault = parse(line).unwrap_err();
            assert!(fault.contains(what), "{line}: {fault}");
        }
        assert!(parse("out").unwrap().open_judge().is_err());
    }
}
