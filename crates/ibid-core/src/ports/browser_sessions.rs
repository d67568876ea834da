use async_trait::async_trait;

use crate::Result;

/// The session of a browser. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// The hash of its cookie.
    pub hash: String,
    /// The hash of the token with which it was begun.
    pub token: String,
    /// When it was begun.
    pub begun_ms: u64,
    /// When it was last used.
    pub used_ms: u64,
}

/// How long sessions are kept, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The longest life of a session, milliseconds.
    pub age_ms: u64,
    /// The longest time without use, milliseconds.
    pub idle_ms: u64,
    /// Sessions of one token. A new one ends the one that was unused for longest.
    pub each: u32,
    /// Sessions of all tokens. A new one ends one of the token with the most.
    pub all: u32,
}

/// The sessions of browsers, which all servers of a store know.
///
/// Contract: neither cookies nor tokens are stored, only their hashes. A session that was removed, or was found expired when another began,
/// is known to no server any more.
#[async_trait]
pub trait BrowserSessions: Send + Sync {
    /// Adds a session that begins now, and removes those that have expired or are too many.
    async fn begin_session(&self, session: &BrowserSession, limits: SessionLimits) -> Result<()>;
    /// Returns the session whose cookie has this hash, expired or not.
    async fn session(&self, hash: &str) -> Result<Option<BrowserSession>>;
    /// Notes that a session was used. One that has ended meanwhile stays so.
    async fn touch_session(&self, hash: &str, used_ms: u64) -> Result<()>;
    /// Removes a session, if there is one.
    async fn end_session(&self, hash: &str) -> Result<()>;
}
