//! Points of the write path at which a test can stop the program.

/// All crash points, in the order a run first passes them.
///
/// The crash tests kill the process at each of them and verify that each is reached.
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

/// The crash points of updating a folder index. An index that is already up to date passes none of them.
pub const INDEX_CRASH_POINTS: &[&str] = &["index.before_commit", "index.after_commit"];

/// The crash points of making the vectors of a folder.
pub const VECTOR_CRASH_POINTS: &[&str] = &["vectors.before_commit", "vectors.after_commit"];

/// Aborts the process, waits or panics at this point if `IBID_CRASH_AT`, `IBID_HOLD_AT` or `IBID_PANIC_AT` names it.
/// Does nothing in a build without debug assertions, such as a release.
///
/// `IBID_CRASH_AT=call.after_intent:3` aborts without clean-up the third time that point is passed; `IBID_PANIC_AT`
/// panics. `IBID_HOLD_AT` reads the pipe `IBID_HOLD_PIPE` to its end: a test that opens the pipe for writing learns
/// that the point was reached and continues the process by closing it.
pub fn crash_point(name: &'static str) {
    #[cfg(debug_assertions)]
    armed::pass(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct CrashTarget {
        name: String,
        left: AtomicU64,
    }

    impl CrashTarget {
        /// Parses the variable: a point and the number of its passing, as in `call.after_intent:3`.
        fn from_env(variable: &str) -> Option<CrashTarget> {
            let wanted = std::env::var(variable).ok()?;
            let (name, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
            Some(CrashTarget { name: name.to_owned(), left: AtomicU64::new(nth.parse().ok()?) })
        }

        fn is_reached(&self, name: &str) -> bool {
            self.name == name && self.left.fetch_sub(1, Ordering::Relaxed) == 1
        }
    }

    pub(super) fn pass(name: &str) {
        static CRASH: OnceLock<Option<CrashTarget>> = OnceLock::new();
        static HOLD: OnceLock<Option<CrashTarget>> = OnceLock::new();
        static PANIC: OnceLock<Option<CrashTarget>> = OnceLock::new();
        let reached = |target: &OnceLock<Option<CrashTarget>>, variable| {
            let target = target.get_or_init(|| CrashTarget::from_env(variable)).as_ref();
            target.is_some_and(|target| target.is_reached(name))
        };
        if reached(&CRASH, "IBID_CRASH_AT") {
            std::process::abort();
        }
        assert!(!reached(&PANIC, "IBID_PANIC_AT"), "IBID_PANIC_AT says so");
        if reached(&HOLD, "IBID_HOLD_AT")
            && let Some(pipe) = std::env::var_os("IBID_HOLD_PIPE")
        {
            // Without a pipe, nothing waits for this point.
            let _ = std::fs::read(pipe);
        }
    }
}
