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

/// The calls that all processes of a store together have in flight with one key.
///
/// Contract: while all processes name the same limit, no more places of a key are taken than that. Waiting processes get equal numbers
/// of places. A place is free when it is dropped, or some seconds after its process has ended.
#[async_trait]
pub trait CallPlaces: Send + Sync {
    /// Waits for a place of `key`, of which there are `limit`. `behind` more calls of this process wait for one. The caller sets the
    /// deadline: it drops the future.
    async fn acquire(&self, key: &CallKey, limit: usize, behind: usize) -> Box<dyn CallPlace>;
}

/// A call's place. Dropping it frees the place.
pub trait CallPlace: Send + Sync {}
