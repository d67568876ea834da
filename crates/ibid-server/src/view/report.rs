//! The report of a run.
use askama::Template;

use super::live::RunHeader;
use super::shell::PageLayout;
use ibid_report::html::ReportBody;
use ibid_report::report_format::{FormatInfo, ReportFormat};

/// The page.
#[derive(Template)]
#[template(path = "report.html")]
pub struct ReportPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The report.
    pub body: ReportBody,
    /// Whether it contains records for reference managers.
    pub coins: bool,
    /// The reader's rating: `up`, `down`.
    pub rated: Option<&'static str>,
    /// The reader's note.
    pub note: String,
    /// The run it follows, for the comparison link.
    pub compare: Option<String>,
    /// The score of the judgement, if there is one.
    pub judged: Option<String>,
}

impl ReportPage {
    fn rating(&self) -> Option<&'static str> {
        self.rated.map(|vote| if vote == "up" { "good" } else { "not good" })
    }

    /// The available report formats.
    fn forms(&self) -> impl Iterator<Item = FormatInfo> {
        let built = ReportFormat::ALL.iter().filter(|it| it.is_built());
        built.map(|it| it.info())
    }
}
