//! A figure of a run beside its limit.

/// A meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMeter {
    /// What it measures.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// The limit or another detail.
    pub more: String,
    /// The used share of its limit, percent.
    pub share: Option<u32>,
}
