//! What the measurements by a judge share: arguments, tasks, reports, texts that fit a window, figures with intervals.
pub(crate) mod args;
pub(crate) mod figures;
pub(crate) mod interval;
pub(crate) mod reports;
pub(crate) mod shorten;
pub(crate) mod tasks;
