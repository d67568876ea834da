//! The tokens of the calls of the last minute, in one process.
use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The window of limits.
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// The calls of the last minute with their tokens, oldest first.
#[derive(Debug, Default)]
pub(super) struct TokenWindow {
    calls: VecDeque<WindowCall>,
    next: u64,
}

#[derive(Debug)]
struct WindowCall {
    nth: u64,
    begun: Instant,
    tokens: u64,
}

/// Whether a call may start.
pub(super) enum TokenAdmission {
    /// Yes, with this number.
    Go(u64),
    /// Not before this time.
    Until(Instant),
}

impl TokenWindow {
    /// Admits a call of `tokens` tokens if those of the last minute are then at most `most`. A call that needs more counts as `most`.
    pub(super) fn admit(&mut self, tokens: u64, most: u64) -> TokenAdmission {
        let now = Instant::now();
        while self.calls.front().is_some_and(|it| it.begun + MINUTE <= now) {
            self.calls.pop_front();
        }
        let tokens = tokens.min(most);
        let mut left = self.calls.iter().fold(tokens, |sum, it| sum.saturating_add(it.tokens));
        for it in &self.calls {
            if left <= most {
                break;
            }
            left -= it.tokens;
            if left <= most {
                return TokenAdmission::Until(it.begun + MINUTE);
            }
        }
        self.next += 1;
        self.calls.push_back(WindowCall { nth: self.next, begun: now, tokens });
        TokenAdmission::Go(self.next)
    }

    /// The call with this number has used `tokens`.
    pub(super) fn settle(&mut self, nth: u64, tokens: u64) {
        if let Some(call) = self.calls.iter_mut().find(|it| it.nth == nth) {
            call.tokens = tokens;
        }
    }
}
