//! Runs as pages for a browser: what a person sees, made from the same events, reports and pages that the API gives.
//!
//! Each page is a struct of what it shows and a template in `templates/` that escapes every word. Nothing here asks
//! anybody: the routes in `http/viewer` bring what is shown.
pub mod afterwards;
pub mod ask;
pub mod draft;
pub mod feed;
pub mod found;
pub mod live;
pub mod quote;
pub mod report;
pub mod runs;
pub mod share;
pub mod site;
pub mod small;
pub mod timeline;
pub mod trace;
pub mod words;

use std::sync::LazyLock;

use askama::Template;
use sha2::{Digest, Sha256};

use crate::error::{Error, Kind, Result};
use crate::surfaces::export::html::STYLE;

/// The script of every page. All of them work without.
pub const SCRIPT: &str = include_str!("script.js");

/// The sign in the tab of a browser.
pub const ICON: &str = include_str!("icon.svg");

/// What a page may do: show what this server sends, and send forms to it.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Changes when the stylesheet or the script does, so that browsers may keep both.
static STAMP: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::new()
        .chain_update(STYLE)
        .chain_update(SCRIPT)
        .finalize();
    hex::encode(&digest[..6])
});

/// What surrounds every page.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The title of the tab.
    pub title: String,
    /// Which entry of the navigation is this page.
    pub here: &'static str,
    /// How wide it is: `wide`, `narrow`.
    pub width: &'static str,
    /// Whether somebody is let in, so that there is somewhere to go.
    pub inside: bool,
    /// Whether it is whoever runs the server.
    pub operator: bool,
    /// Who is signed in, where signing in is needed.
    pub who: Option<String>,
    /// Of the stylesheet and the script.
    pub stamp: &'static str,
}

impl Shell {
    /// The surroundings for nobody in particular.
    pub fn new(title: impl Into<String>) -> Shell {
        Shell {
            title: title.into(),
            here: "",
            width: "wide",
            inside: false,
            operator: false,
            who: None,
            stamp: &STAMP,
        }
    }

    /// The same, as this entry of the navigation.
    #[must_use]
    pub fn at(mut self, here: &'static str) -> Shell {
        self.here = here;
        self
    }

    /// The same, as wide as a text or a form is read well.
    #[must_use]
    pub fn narrow(mut self) -> Shell {
        self.width = "narrow";
        self
    }

    /// The same under another title.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Shell {
        self.title = title.into();
        self
    }
}

/// The page as HTML.
///
/// # Errors
/// `Internal` where a template fails.
pub fn page(it: &impl Template) -> Result<String> {
    it.render()
        .map_err(|fault| Error::new(Kind::Internal, "making a page").because(fault))
}
