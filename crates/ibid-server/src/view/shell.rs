//! What all pages share: the frame, the script, the icon, rendering.
use std::sync::LazyLock;

use askama::Template;
use sha2::{Digest, Sha256};

use ibid_core::{Error, ErrorKind, Result};
use ibid_report::html::STYLE;

/// The script of every page. The pages also work without it.
pub const SCRIPT: &str = include_str!("script.js");

/// The icon of the browser tab.
pub(crate) const ICON: &str = include_str!("icon.svg");

/// The policy of every page: load resources from this server and send forms to it, nothing else.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The version of the stylesheet and the script, so that browsers may cache both.
static ASSET_VERSION: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::new().chain_update(STYLE).chain_update(SCRIPT).finalize();
    hex::encode(&digest[..6])
});

/// The page layout.
#[derive(Debug, Clone)]
pub struct PageLayout {
    /// The title of the tab.
    pub title: String,
    /// The active entry of the navigation.
    pub nav_entry: &'static str,
    /// The width: `wide` or `narrow`.
    pub width: &'static str,
    /// Whether the user is authenticated; shows the navigation.
    pub signed_in: bool,
    /// Whether the user is the operator.
    pub operator: bool,
    /// The name of the signed-in user.
    pub user_name: Option<String>,
    /// The version of the stylesheet and the script.
    pub asset_version: &'static str,
}

impl PageLayout {
    /// The layout for an unauthenticated user.
    pub fn new(title: impl Into<String>) -> PageLayout {
        PageLayout {
            title: title.into(),
            nav_entry: "",
            width: "wide",
            signed_in: false,
            operator: false,
            user_name: None,
            asset_version: &ASSET_VERSION,
        }
    }

    /// Sets the active entry of the navigation.
    #[must_use]
    pub(crate) fn with_nav_entry(mut self, nav_entry: &'static str) -> PageLayout {
        self.nav_entry = nav_entry;
        self
    }

    /// Makes the page narrow, for texts and forms.
    #[must_use]
    pub fn narrow(mut self) -> PageLayout {
        self.width = "narrow";
        self
    }

    /// Sets the title.
    #[must_use]
    pub(crate) fn with_title(mut self, title: impl Into<String>) -> PageLayout {
        self.title = title.into();
        self
    }
}

/// Renders the page as HTML.
///
/// # Errors
/// `Internal` if the template fails.
pub fn render(page: &impl Template) -> Result<String> {
    page.render()
        .map_err(|fault| Error::new(ErrorKind::Internal, "rendering a page").with_source(fault))
}
