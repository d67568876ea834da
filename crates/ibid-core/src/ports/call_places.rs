use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

/// A provider's address and the key that it is called with, as a hash: the key cannot be read from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey(String);

impl CallKey {
    /// The hash of `address` and `api_key`, which is empty for a provider without keys.
    pub fn new(address: &str, api_key: &str) -> CallKey {
        let mut hasher = Sha256::new();
        hasher.update((address.len() as u64).to_le_bytes());
        hasher.update(address.as_bytes());
        hasher.update(api_key.as_bytes());
        CallKey(hex::encode(hasher.finalize()))
    }

    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a call needs before it may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallDemand {
    /// The most calls in flight with the key.
    pub limit: usize,
    /// How many more calls of this process wait for a place.
    pub behind: usize,
    /// Its tokens, if those of a minute are bounded.
    pub tokens: Option<TokenDemand>,
}

/// The tokens of a call, and their bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenDemand {
    /// The most tokens that the call uses, prompt and answer together.
    pub tokens: u64,
    /// The most tokens of the calls that start within 60 seconds.
    pub per_minute: u64,
}

/// The calls that all processes of a store together have in flight with one key, and the tokens that they use in a minute.
///
/// Contract: while all processes name the same limits, no more places of a key are taken than that, and the calls of any 60 seconds
/// use no more tokens. A call that needs more tokens than the bound counts as one that needs all. Waiting processes get equal numbers
/// of places, and tokens in the order in which they began to wait. A place is free when it is dropped, or some seconds after its
/// process has ended; tokens that a process took and did not use are free about a minute after.
#[async_trait]
pub trait CallPlaces: Send + Sync {
    /// Waits for a place of `key`. The caller sets the deadline: it drops the future.
    ///
    /// # Errors
    /// How long the key is paused. A pause by another process is known within a second, and before the first call after a time without calls.
    async fn acquire(
        &self,
        key: &CallKey,
        demand: CallDemand,
    ) -> std::result::Result<Box<dyn CallPlace>, Duration>;

    /// No process starts a call with `key` for the next `wait`: its provider asked for that. Returns at once.
    fn pause(&self, key: &CallKey, wait: Duration);
}

/// A call's place. Dropping it frees the place.
pub trait CallPlace: Send + Sync {
    /// The call has used so many tokens, instead of those that it asked for.
    fn settle_tokens(&mut self, tokens: u64);
}
