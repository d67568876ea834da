//! The page of a report's share links.
use askama::Template;

use super::live::RunHeader;
use super::shell::PageLayout;
use ibid_core::domain::ShareLink;

/// The page.
#[derive(Template)]
#[template(path = "share.html")]
pub struct SharePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// Whether it quotes local documents.
    pub local: bool,
    /// Whether its sentences were taken from the sources, without a model.
    pub unaided: bool,
    /// The active links.
    pub shares: Vec<ShareLink>,
    /// The new link, shown once.
    pub link: Option<(String, ShareLink)>,
}

/// The durations that the form offers: days, label.
const DAYS: [(u32, &str); 4] =
    [(1, "a day"), (ShareLink::DAYS, "a week"), (30, "30 days"), (ShareLink::MAX_DAYS, "a year")];

impl SharePage {
    fn days(&self) -> [(u32, &'static str, bool); 4] {
        DAYS.map(|day| (day.0, day.1, day.0 == ShareLink::DAYS))
    }

    /// The date on which a link expires.
    fn day<'s>(&self, it: &'s ShareLink) -> &'s str {
        it.until.get(..10).unwrap_or_default()
    }
}
