//! The report of a run, served.
use askama::Template;

use super::Shell;
use super::live::Head;
use crate::surfaces::export::forms::{About, Form};
use crate::surfaces::export::html::Body;

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

    /// The forms that it can be taken in.
    fn forms(&self) -> impl Iterator<Item = About> {
        let built = Form::ALL.iter().filter(|it| it.is_built());
        built.map(|it| it.about())
    }
}
