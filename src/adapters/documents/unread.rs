//! Files of kinds that nobody here reads, counted: a folder of pictures is one remark, not thousands.
use std::collections::BTreeMap;

use super::{Fault, Format};
use crate::record::FailReason;

/// Kinds named one by one in the remark; the others are counted together.
const NAMED: usize = 6;

/// How many files of each kind were left aside.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Unread {
    by_ending: BTreeMap<String, u64>,
}

impl Unread {
    /// Counts the file of `fault` where its name promises no kind that is read and no reader was
    /// found for it. A broken file of a kind that is read is another matter: it is not counted, and
    /// the answer is no.
    pub fn takes(&mut self, fault: &Fault) -> bool {
        let kind_unknown = Format::of_name(&fault.path) == Format::Unknown
            && matches!(fault.reason, FailReason::Unsupported | FailReason::TooLarge);
        if kind_unknown {
            let ending = fault.path.extension().map_or_else(
                || "without ending".to_owned(),
                |it| format!(".{}", it.to_string_lossy().to_lowercase()),
            );
            *self.by_ending.entry(ending).or_default() += 1;
        }
        kind_unknown
    }

    /// How many files.
    pub fn count(&self) -> u64 {
        self.by_ending.values().sum()
    }

    /// `412 files of kinds not read: .png 400, .zip 12`; nothing where there are none.
    pub fn remark(&self) -> Option<String> {
        let count = self.count();
        let mut kinds: Vec<(&String, &u64)> = self.by_ending.iter().collect();
        kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let mut parts: Vec<String> = kinds
            .iter()
            .take(NAMED)
            .map(|(ending, n)| format!("{ending} {n}"))
            .collect();
        match kinds.len().saturating_sub(NAMED) {
            0 => {}
            1 => parts.push("1 more kind".to_owned()),
            more => parts.push(format!("{more} more kinds")),
        }
        let files = match count {
            0 => return None,
            1 => "1 file of a kind not read".to_owned(),
            n => format!("{n} files of kinds not read"),
        };
        Some(format!("{files}: {}", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(path: &str, reason: FailReason) -> Fault {
        Fault {
            path: path.into(),
            place: None,
            reason,
            message: String::new(),
        }
    }

    #[test]
    fn the_most_frequent_kind_comes_first_and_many_kinds_are_summed() {
        let mut unread = Unread::default();
        assert_eq!(unread.remark(), None);
        for nth in 0..12 {
            assert!(unread.takes(&fault(&format!("{nth}.PNG"), FailReason::Unsupported)));
        }
        assert!(unread.takes(&fault("big.zip", FailReason::TooLarge)));
        assert!(unread.takes(&fault("core", FailReason::Unsupported)));
        assert_eq!(
            unread.remark().as_deref(),
            Some("14 files of kinds not read: .png 12, .zip 1, without ending 1")
        );
        for ending in ["a", "b", "c", "d", "e"] {
            unread.takes(&fault(&format!("x.{ending}"), FailReason::Unsupported));
        }
        assert!(
            unread
                .remark()
                .is_some_and(|it| it.ends_with(", 2 more kinds"))
        );
    }

    #[test]
    fn a_broken_file_of_a_kind_that_is_read_is_not_counted() {
        let mut unread = Unread::default();
        assert!(!unread.takes(&fault("locked.pdf", FailReason::Unsupported)));
        assert!(!unread.takes(&fault("rows.dat", FailReason::Broken)));
        assert_eq!(unread.count(), 0);
    }
}
