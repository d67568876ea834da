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

/// The points of bringing a folder's index up to date, apart from those of a run: an index that is
/// up to date already passes none of them.
pub const INDEX_CRASH_POINTS: &[&str] = &["index.before_commit", "index.after_commit"];

struct Target {
    name: String,
    left: AtomicU64,
}

impl Target {
    /// The point and the passing of it that the variable names: `call.after_intent:3`.
    fn named_by(variable: &str) -> Option<Target> {
        let wanted = std::env::var(variable).ok()?;
        let (name, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        Some(Target {
            name: name.to_owned(),
            left: AtomicU64::new(nth.parse().ok()?),
        })
    }

    fn is_now(&self, name: &str) -> bool {
        self.name == name && self.left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

/// Dies here, without any clean-up, if `IBID_CRASH_AT` says so; waits here, if `IBID_HOLD_AT` does; panics, if `IBID_PANIC_AT` does.
///
/// `IBID_CRASH_AT=call.after_intent:3` aborts the process the third time that point is passed, `IBID_PANIC_AT` panics there.
/// `IBID_HOLD_AT` names a point in the same way; there the pipe `IBID_HOLD_PIPE` is read to its end, so
/// that who opens it to write knows that the point is reached, and who closes it lets the process go
/// on: a test can send a signal at a moment of its choice. All are always compiled, so that the
/// tests work on the program that is shipped; unset, they cost three loads.
pub fn crash_point(name: &'static str) {
    static CRASH: OnceLock<Option<Target>> = OnceLock::new();
    static HOLD: OnceLock<Option<Target>> = OnceLock::new();
    static PANIC: OnceLock<Option<Target>> = OnceLock::new();
    let crash = CRASH.get_or_init(|| Target::named_by("IBID_CRASH_AT"));
    if crash.as_ref().is_some_and(|it| it.is_now(name)) {
        std::process::abort();
    }
    let panic = PANIC.get_or_init(|| Target::named_by("IBID_PANIC_AT"));
    assert!(
        !panic.as_ref().is_some_and(|it| it.is_now(name)),
        "IBID_PANIC_AT says so"
    );
    let hold = HOLD.get_or_init(|| Target::named_by("IBID_HOLD_AT"));
    if hold.as_ref().is_some_and(|it| it.is_now(name))
        && let Some(pipe) = std::env::var_os("IBID_HOLD_PIPE")
    {
        // Without a pipe to read there is nobody who wants this point held.
        let _ = std::fs::read(pipe);
    }
}
