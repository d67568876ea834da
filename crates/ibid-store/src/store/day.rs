//! Days, on which the limits of accounts are counted.

/// How many days reservations of tools and the cost of deleted runs are kept. Only the last two days are ever summed.
const KEPT_DAYS: i64 = 40;

/// The day of `at`, `YYYY-MM-DD`.
pub(super) fn day_of(at: &str) -> &str {
    at.get(..10).unwrap_or(at)
}

/// The first day that is still kept at `at`.
pub(super) fn oldest_day(at: &str) -> String {
    let now: jiff::Timestamp = at.parse().unwrap_or_default();
    let then = now.as_second().saturating_sub(KEPT_DAYS * 24 * 3600);
    let then = jiff::Timestamp::from_second(then).unwrap_or_default();
    then.strftime("%Y-%m-%d").to_string()
}
