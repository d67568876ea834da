//! What a platform is called by Rust, Debian, PyPI and npm.

/// A platform that packages are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// As Rust names it.
    pub(crate) triple: &'static str,
    /// As Debian names it.
    pub(crate) debian: &'static str,
    /// The processor, as in a tag of a wheel.
    pub(crate) wheel: &'static str,
    /// The processor, as npm names it.
    pub(crate) npm: &'static str,
    /// The processor, as Homebrew's `on_…` blocks name it.
    pub(crate) homebrew: &'static str,
}

/// Only platforms on which Ibid is tested.
pub(crate) const TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        wheel: "x86_64",
        npm: "x64",
        homebrew: "intel",
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        wheel: "aarch64",
        npm: "arm64",
        homebrew: "arm",
    },
];

impl Target {
    /// The platform named `triple`.
    ///
    /// # Errors
    /// A message if no packages are made for it.
    pub(crate) fn find(triple: &str) -> Result<Target, String> {
        TARGETS.into_iter().find(|target| target.triple == triple).ok_or_else(|| {
            let all = TARGETS.map(|target| target.triple).join(" and ");
            format!("no packages are made for {triple}; they are for {all}")
        })
    }
}

/// The newest version of the GNU C library of which `program` names a symbol, as (2, 35).
///
/// The names of versions stand in the program as text. A text that only looks like one can make the answer too high, and never
/// too low, so a package never promises to run where it does not.
pub(crate) fn needed_glibc(program: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"GLIBC_";
    let mut newest = None;
    let mut at = 0;
    while let Some(found) = find(&program[at..], NAME) {
        at += found + NAME.len();
        let rest = &program[at..program.len().min(at + 12)];
        let is_version = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
        let text: String = rest.iter().take_while(is_version).map(|&byte| byte as char).collect();
        let mut parts = text.split('.').map(str::parse::<u32>);
        if let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) {
            newest = newest.max(Some((major, minor)));
        }
    }
    newest
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut at = 0;
    while let Some(step) = bytes[at..].iter().position(|&byte| byte == first) {
        at += step;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides_which_systems_a_program_runs_on() {
        let program = b"\0GLIBC_2.9\0GLIBC_PRIVATE\0GLIBC_2.17\0GLIBC_2.2.5\0GLIBC_";
        assert_eq!(needed_glibc(program), Some((2, 17)));
        assert_eq!(needed_glibc(b"#!/bin/sh\n"), None);
        assert!(Target::find("z80-unknown-cpm").is_err());
    }
}
