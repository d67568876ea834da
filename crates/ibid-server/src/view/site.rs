//! The index of reports exported as static pages.
use askama::Template;

use super::runs::RunLine;
use ibid_report::html::{STYLE, content_security_policy};

/// `robots.txt`: keeps search engines out.
pub const ROBOTS: &str = "User-agent: *\nDisallow: /\n";

/// The index page.
#[derive(Template)]
#[template(path = "site.html")]
pub struct SitePage {
    lines: Vec<RunLine>,
    style: &'static str,
    policy: String,
}

impl SitePage {
    /// The index of these reports.
    pub fn new(lines: Vec<RunLine>) -> SitePage {
        SitePage { lines, style: STYLE, policy: content_security_policy() }
    }
}
