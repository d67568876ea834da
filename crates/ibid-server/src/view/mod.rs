//! The pages of the web viewer, made from the same events, reports and pages as the API.
//!
//! Each page is a struct with its data and a template in `templates/` that escapes every text. Nothing here does I/O: the routes in
//! `http/viewer` load the data.
pub mod basic_pages;
pub mod draft;
pub mod evidence;
pub mod feed;
pub mod format;
pub mod gate;
pub mod live;
pub mod meter;
pub mod new_run;
pub mod outline;
pub mod overview;
pub mod quote;
pub mod report;
pub mod researchers;
pub mod runs;
pub mod share;
pub mod shell;
pub mod site;
pub mod timeline;
pub mod trace;

pub(crate) use shell::{CONTENT_SECURITY_POLICY, ICON};
pub use shell::{PageLayout, SCRIPT, render};
