//! Who has signed in with a browser. A session is known by the hash of its cookie and holds the hash of a token, so that nothing
//! kept here lets anybody in, and a token that is taken back ends its sessions.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::surfaces::http::gate::hashed;

/// How long a session lasts, and how long it may lie unused.
pub(crate) const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// Sessions kept at most, of all and of one holder. Whoever has most gives way, and of theirs the one unused for longest: nobody
/// ends the sessions of others by signing in.
const MOST: usize = 10_000;
const MOST_EACH: usize = 100;

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// Whoever runs the server.
    Operator,
    /// The user whose token has this hash.
    User(String),
}

struct Session {
    holder: Holder,
    begun: Instant,
    used: Instant,
}

/// The sessions of this process: a restart ends them.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session and gives the word of its cookie. Its chance is the system's, whatever a run is seeded with.
    pub(crate) fn begin(&self, holder: Holder) -> String {
        let word = hex::encode(rand::random::<[u8; 32]>());
        let now = Instant::now();
        let mut all = self.all();
        all.retain(|_, it| lasts(it, now));
        if let Some(it) = gives_way(&all, &holder) {
            all.remove(&it);
        }
        let session = Session {
            holder,
            begun: now,
            used: now,
        };
        all.insert(hashed(&word), session);
        word
    }

    /// Whose session this cookie is of, if it still lasts.
    pub(crate) fn holder(&self, word: &str) -> Option<Holder> {
        let now = Instant::now();
        let mut all = self.all();
        let it = all.get_mut(&hashed(word)).filter(|it| lasts(it, now))?;
        it.used = now;
        Some(it.holder.clone())
    }

    /// Ends the session of this cookie.
    pub(crate) fn end(&self, word: &str) {
        self.all().remove(&hashed(word));
    }
}

/// The session that has to give way to a new one of `holder`, if any.
fn gives_way(all: &HashMap<[u8; 32], Session>, holder: &Holder) -> Option<[u8; 32]> {
    let own = all.values().filter(|it| it.holder == *holder).count();
    let holder = match own >= MOST_EACH {
        true => holder,
        false if all.len() < MOST => return None,
        false => {
            let mut counts: HashMap<&Holder, usize> = HashMap::new();
            for it in all.values() {
                *counts.entry(&it.holder).or_default() += 1;
            }
            counts.into_iter().max_by_key(|it| it.1)?.0
        }
    };
    let of_holder = all.iter().filter(|it| it.1.holder == *holder);
    of_holder.min_by_key(|it| it.1.used).map(|it| *it.0)
}

fn lasts(it: &Session, now: Instant) -> bool {
    now.duration_since(it.begun) < LONGEST && now.duration_since(it.used) < IDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_its_holders_until_it_ends() {
        let sessions = Sessions::default();
        let one = sessions.begin(Holder::Operator);
        let two = sessions.begin(Holder::User("h".to_owned()));
        assert_eq!(one.len(), 64);
        assert_ne!(one, two);
        assert_eq!(sessions.holder(&one), Some(Holder::Operator));
        assert_eq!(sessions.holder(&two), Some(Holder::User("h".to_owned())));
        assert_eq!(sessions.holder(""), None);
        // However often somebody signs in, the sessions of others last.
        let own: Vec<String> = (0..3 * MOST_EACH)
            .map(|_| sessions.begin(Holder::User("g".to_owned())))
            .collect();
        let lasting = own.iter().filter(|it| sessions.holder(it).is_some());
        assert_eq!(lasting.count(), MOST_EACH);
        assert_eq!(sessions.holder(&own[0]), None, "the oldest gave way");
        assert_eq!(sessions.holder(&one), Some(Holder::Operator));
        sessions.end(&one);
        assert_eq!(sessions.holder(&one), None);
        assert_eq!(sessions.holder(&two), Some(Holder::User("h".to_owned())));
    }
}
