//! The object store of pages, as the settings say.
use std::sync::Arc;

use crate::config::Settings;
use ibid_core::Result;
use ibid_core::ports::PageBodies;

/// Opens the object store at `url`, with the credentials in the variables of `settings`; none for an empty `url`. Sends
/// nothing.
///
/// # Errors
/// `Setup` for an invalid URL or variable, or if this build has no object stores.
#[cfg(feature = "object-store")]
pub(super) fn open(url: &str, settings: &Settings) -> Result<Option<Arc<dyn PageBodies>>> {
    if url.is_empty() {
        return Ok(None);
    }
    let variables: Vec<(&str, &str)> = settings.variables.iter().collect();
    let bodies = ibid_store::store::ObjectBodies::open(url, &variables)?;
    Ok(Some(Arc::new(bodies)))
}

/// As above, in a build without object stores.
#[cfg(not(feature = "object-store"))]
pub(super) fn open(url: &str, _: &Settings) -> Result<Option<Arc<dyn PageBodies>>> {
    use ibid_core::{Error, ErrorKind};

    if url.is_empty() {
        return Ok(None);
    }
    Err(Error::new(ErrorKind::Setup, "opening `pages.url`")
        .with_source("this build of Ibid has no object stores")
        .with_hint("build it with the feature `object-store`, or unset `pages.url`"))
}
