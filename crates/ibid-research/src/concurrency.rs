//! How many calls a step hands over at once.

/// Model calls in flight at once. The answers are used in the order of the plan, whichever comes first.
pub(crate) const MAX_CALLS_IN_FLIGHT: usize = 32;

/// Searches and reads handed over at once. The setting `concurrency` decides how many of them are sent at a time.
pub(crate) const MAX_QUEUED_FETCHES: usize = 256;
