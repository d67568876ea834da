//! Reports as a folder of pages that needs no server.
use askama::Template;

use super::runs::Line;
use crate::surfaces::export::html::{STYLE, policy};

/// What search engines are told: that nothing of it is theirs.
pub const ROBOTS: &str = "User-agent: *\nDisallow: /\n";

/// The page that lists them.
#[derive(Template)]
#[template(path = "site.html")]
pub struct Site {
    lines: Vec<Line>,
    style: &'static str,
    policy: String,
}

impl Site {
    /// The list of these reports.
    pub fn of(lines: Vec<Line>) -> Site {
        Site {
            lines,
            style: STYLE,
            policy: policy(),
        }
    }
}
