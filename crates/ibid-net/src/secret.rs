//! API keys that are not shown by `Debug`.
use std::fmt;

/// An API key. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key and trims surrounding white space.
    pub fn new(key: &str) -> ApiKey {
        ApiKey(key.trim().to_owned())
    }

    /// Returns the key itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
