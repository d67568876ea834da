//! Browser sessions. A session is stored under the hash of its cookie and holds the hash of a token: neither authenticates anyone if
//! leaked, and a revoked token ends its sessions.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::access_policy::hash_token;

/// Maximum life of a session.
pub(super) const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum time a session may be unused.
const MAX_IDLE: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of sessions. The owner with the most sessions loses the one unused for longest, so that signing in does not end the sessions of
/// others.
const MAX_SESSIONS: usize = 10_000;
/// Maximum number of sessions of one owner.
const MAX_SESSIONS_EACH: usize = 100;

/// The owner of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum SessionOwner {
    /// The operator.
    Operator,
    /// The user whose token has this hash.
    User(String),
}

struct Session {
    owner: SessionOwner,
    begun: Instant,
    used: Instant,
}

/// The sessions of this process. A restart ends them.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a session and returns the value of its cookie. The value is random even if runs are seeded.
    pub(super) fn create(&self, owner: SessionOwner) -> String {
        let cookie = hex::encode(rand::random::<[u8; 32]>());
        let now = Instant::now();
        let mut all = self.all();
        all.retain(|_, it| is_valid(it, now));
        if let Some(it) = eviction_candidate(&all, &owner) {
            all.remove(&it);
        }
        let session = Session { owner, begun: now, used: now };
        all.insert(hash_token(&cookie), session);
        cookie
    }

    /// The owner of the session with this cookie, if it is still valid. Counts as a use.
    pub(super) fn owner(&self, cookie: &str) -> Option<SessionOwner> {
        let now = Instant::now();
        let mut all = self.all();
        let session = all.get_mut(&hash_token(cookie)).filter(|session| is_valid(session, now))?;
        session.used = now;
        Some(session.owner.clone())
    }

    /// Ends the session with this cookie.
    pub(super) fn remove(&self, cookie: &str) {
        self.all().remove(&hash_token(cookie));
    }
}

/// The session to remove before `owner` gets a new one, if any.
fn eviction_candidate(all: &HashMap<[u8; 32], Session>, owner: &SessionOwner) -> Option<[u8; 32]> {
    let own = all.values().filter(|value| value.owner == *owner).count();
    let evicted = if own >= MAX_SESSIONS_EACH {
        owner
    } else if all.len() < MAX_SESSIONS {
        return None;
    } else {
        let mut counts: HashMap<&SessionOwner, usize> = HashMap::new();
        for session in all.values() {
            *counts.entry(&session.owner).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count)?.0
    };
    let sessions = all.iter().filter(|(_, it)| it.owner == *evicted);
    sessions.min_by_key(|(_, session)| session.used).map(|(hash, _)| *hash)
}

fn is_valid(session: &Session, now: Instant) -> bool {
    now.duration_since(session.begun) < MAX_AGE && now.duration_since(session.used) < MAX_IDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_belongs_to_its_owner_until_it_ends() {
        let sessions = Sessions::default();
        let one = sessions.create(SessionOwner::Operator);
        let two = sessions.create(SessionOwner::User("h".to_owned()));
        assert_eq!(one.len(), 64);
        assert_ne!(one, two);
        assert_eq!(sessions.owner(&one), Some(SessionOwner::Operator));
        assert_eq!(sessions.owner(&two), Some(SessionOwner::User("h".to_owned())));
        assert_eq!(sessions.owner(""), None);
        // Signing in often does not end the sessions of others.
        let own: Vec<String> = (0..3 * MAX_SESSIONS_EACH)
            .map(|_| sessions.create(SessionOwner::User("g".to_owned())))
            .collect();
        let lasting = own.iter().filter(|text| sessions.owner(text).is_some());
        assert_eq!(lasting.count(), MAX_SESSIONS_EACH);
        assert_eq!(sessions.owner(&own[0]), None, "the oldest gave way");
        assert_eq!(sessions.owner(&one), Some(SessionOwner::Operator));
        sessions.remove(&one);
        assert_eq!(sessions.owner(&one), None);
        assert_eq!(sessions.owner(&two), Some(SessionOwner::User("h".to_owned())));
    }
}
