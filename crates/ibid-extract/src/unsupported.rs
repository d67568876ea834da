//! Counts files of unsupported formats, so that a folder of pictures gives one message and not thousands.
use std::collections::BTreeMap;

use crate::format::Format;
use crate::read::DocumentFailure;
use ibid_core::ReadFailure;

/// Extensions that the message names; the others are counted together.
const MAX_NAMED_EXTENSIONS: usize = 6;

/// How many files of each unsupported format were skipped, by extension.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct UnsupportedFiles {
    by_ending: BTreeMap<String, u64>,
}

impl UnsupportedFiles {
    /// Counts the file of `fault` if neither its name nor its content is of a supported format. Returns whether it was
    /// counted. A broken file of a supported format is not.
    pub fn record(&mut self, fault: &DocumentFailure) -> bool {
        let kind_unknown = Format::from_path(&fault.path) == Format::Unknown
            && matches!(fault.reason, ReadFailure::Unsupported | ReadFailure::TooLarge);
        if kind_unknown {
            let ending = fault.path.extension().map_or_else(
                || "without ending".to_owned(),
                |it| format!(".{}", it.to_string_lossy().to_lowercase()),
            );
            *self.by_ending.entry(ending).or_default() += 1;
        }
        kind_unknown
    }

    /// The number of files counted.
    pub fn count(&self) -> u64 {
        self.by_ending.values().sum()
    }

    /// A message such as `412 files of unsupported types: .png 400, .zip 12`; `None` if there are no such files.
    pub fn summary(&self) -> Option<String> {
        let count = self.count();
        let mut kinds: Vec<(&String, &u64)> = self.by_ending.iter().collect();
        kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let mut parts: Vec<String> = kinds
            .iter()
            .take(MAX_NAMED_EXTENSIONS)
            .map(|(ending, n)| format!("{ending} {n}"))
            .collect();
        match kinds.len().saturating_sub(MAX_NAMED_EXTENSIONS) {
            0 => {}
            1 => parts.push("1 more kind".to_owned()),
            more => parts.push(format!("{more} more types")),
        }
        let files = match count {
            0 => return None,
            1 => "1 file of a kind not read".to_owned(),
            n => format!("{n} files of unsupported types"),
        };
        Some(format!("{files}: {}", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(path: &str, reason: ReadFailure) -> DocumentFailure {
        DocumentFailure { path: path.into(), place: None, reason, message: String::new() }
    }

    #[test]
    fn the_most_frequent_kind_comes_first_and_many_kinds_are_summed() {
        let mut unread = UnsupportedFiles::default();
        assert_eq!(unread.summary(), None);
        for nth in 0..12 {
            assert!(unread.record(&fault(&format!("{nth}.PNG"), ReadFailure::Unsupported)));
        }
        assert!(unread.record(&fault("big.zip", ReadFailure::TooLarge)));
        assert!(unread.record(&fault("core", ReadFailure::Unsupported)));
        assert_eq!(
            unread.summary().as_deref(),
            Some("14 files of unsupported types: .png 12, .zip 1, without ending 1")
        );
        for ending in ["a", "b", "c", "d", "e"] {
            unread.record(&fault(&format!("x.{ending}"), ReadFailure::Unsupported));
        }
        assert!(unread.summary().is_some_and(|summary| summary.ends_with(", 2 more types")));
    }

    #[test]
    fn a_broken_file_of_a_kind_that_is_read_is_not_counted() {
        let mut unread = UnsupportedFiles::default();
        assert!(!unread.record(&fault("locked.pdf", ReadFailure::Unsupported)));
        assert!(!unread.record(&fault("rows.dat", ReadFailure::Broken)));
        assert_eq!(unread.count(), 0);
    }
}
