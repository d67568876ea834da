use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every named point, in the order a run first passes them.
///
/// The crash tests kill the process at each of them and prove that each is reached.
pub const CRASH_POINTS: &[&str] = &[
    "accept.before_commit",
    "accept.after_commit",
    "events.before_flush",
    "events.after_flush",
    "decision.before_commit",
    "decision.after_commit",
    "call.before_intent",
    "call.after_intent",
    "call.answer_in_memory",
    "call.after_result",
    "page.before_commit",
    "page.after_commit",
    "report.before_commit",
    "report.after_commit",
    "completed.before_commit",
    "completed.after_commit",
];

struct Target {
    name: String,
    left: AtomicU64,
}

/// Dies here, without any clean-up, if `IBID_CRASH_AT` says so.
///
/// `IBID_CRASH_AT=call.after_intent:3` aborts the process the third time that point is passed. It is
/// always compiled, so that the tests kill the program that is shipped; unset, it costs one load.
pub fn crash_point(name: &'static str) {
    static TARGET: OnceLock<Option<Target>> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let wanted = std::env::var("IBID_CRASH_AT").ok()?;
        let (name, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        Some(Target {
            name: name.to_owned(),
            left: AtomicU64::new(nth.parse().ok()?),
        })
    });
    if let Some(target) = target
        && target.name == name
        && target.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        std::process::abort();
    }
}
