//! The report of a run, served.
use askama::Template;

use super::Shell;
use super::live::Head;
use crate::surfaces::export::html::Body;

/// Forms of a report that are given out: ending, name.
pub const FORMS: [(&str, &str); 3] = [("md", "Markdown"), ("html", "HTML"), ("json", "JSON")];

/// The page.
#[derive(Template)]
#[template(path = "report.html")]
pub struct ReportPage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// The report.
    pub body: Body,
    /// Whether records for reference managers stand in it.
    pub coins: bool,
    /// What its reader thought of it: `up`, `down`.
    pub rated: Option<&'static str>,
    /// The note of the reader.
    pub note: String,
    /// The run it follows, to compare with.
    pub compare: Option<String>,
    /// How good it is, where it was judged.
    pub judged: Option<String>,
}

impl ReportPage {
    fn said(&self) -> Option<&'static str> {
        self.rated.map(|it| match it {
            "up" => "good",
            _ => "not good",
        })
    }

    fn forms(&self) -> [(&'static str, &'static str); 3] {
        FORMS
    }
}
