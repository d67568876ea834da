//! Browser sessions. A session is stored under the hash of its cookie and holds the hash of a token: neither authenticates anyone if
//! leaked, and a revoked token ends its sessions.
use std::time::Duration;

use super::access_policy::hash_token;
use ibid_core::Result;
use ibid_core::ports::{BrowserSession, BrowserSessions, SessionLimits};

/// Maximum life of a session.
pub(super) const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum time a session may be unused.
const MAX_IDLE: Duration = Duration::from_secs(24 * 3600);
/// How often a use is noted.
const TOUCH_INTERVAL: Duration = Duration::from_secs(600);

/// Maximum number of sessions. The token with the most sessions loses the one unused for longest, so that signing in does not end the sessions of
/// others.
const MAX_SESSIONS: u32 = 10_000;
/// Maximum number of sessions of one token.
const MAX_SESSIONS_EACH: u32 = 100;

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn hash(cookie: &str) -> String {
    hex::encode(hash_token(cookie))
}

/// Creates a session of the token with this hash and returns the value of its cookie. The value is random even if runs are seeded.
pub(super) async fn create(
    sessions: &dyn BrowserSessions,
    token: &str,
    now_ms: u64,
) -> Result<String> {
    let cookie = hex::encode(rand::random::<[u8; 32]>());
    let session = BrowserSession {
        hash: hash(&cookie),
        token: token.to_owned(),
        begun_ms: now_ms,
        used_ms: now_ms,
    };
    let limits = SessionLimits {
        age_ms: ms(MAX_AGE),
        idle_ms: ms(MAX_IDLE),
        each: MAX_SESSIONS_EACH,
        all: MAX_SESSIONS,
    };
    sessions.begin_session(&session, limits).await?;
    Ok(cookie)
}

/// The hash of the token of the session with this cookie, if it is still valid. Counts as a use.
pub(super) async fn token_hash(
    sessions: &dyn BrowserSessions,
    cookie: &str,
    now_ms: u64,
) -> Result<Option<String>> {
    let session = sessions.session(&hash(cookie)).await?;
    let Some(session) = session.filter(|session| is_valid(session, now_ms)) else {
        return Ok(None);
    };
    if now_ms.saturating_sub(session.used_ms) >= ms(TOUCH_INTERVAL) {
        sessions.touch_session(&session.hash, now_ms).await?;
    }
    Ok(Some(session.token))
}

/// Ends the session with this cookie.
pub(super) async fn end(sessions: &dyn BrowserSessions, cookie: &str) -> Result<()> {
    sessions.end_session(&hash(cookie)).await
}

fn is_valid(session: &BrowserSession, now_ms: u64) -> bool {
    now_ms.saturating_sub(session.begun_ms) < ms(MAX_AGE)
        && now_ms.saturating_sub(session.used_ms) < ms(MAX_IDLE)
}
