//! The page on which a report is shared.
use askama::Template;

use super::Shell;
use super::live::Head;
use crate::domain::Share;

/// The page.
#[derive(Template)]
#[template(path = "share.html")]
pub struct SharePage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// Whether any of its quotes is of a local document.
    pub local: bool,
    /// Whether its sentences are those of the sources themselves.
    pub unaided: bool,
    /// Links that last.
    pub shares: Vec<Share>,
    /// The link that was made just now, shown this once.
    pub link: Option<(String, Share)>,
}

/// Days that the form offers, and what it calls them.
const DAYS: [(u32, &str); 4] = [
    (1, "a day"),
    (Share::DAYS, "a week"),
    (30, "30 days"),
    (Share::MOST_DAYS, "a year"),
];

impl SharePage {
    fn days(&self) -> [(u32, &'static str, bool); 4] {
        DAYS.map(|it| (it.0, it.1, it.0 == Share::DAYS))
    }

    /// The day a link ends.
    fn day<'s>(&self, it: &'s Share) -> &'s str {
        it.until.get(..10).unwrap_or_default()
    }
}
