//! Where the bodies of pages are kept outside the database.
use async_trait::async_trait;

use crate::Result;

/// Stores bodies of pages by key: an object store.
///
/// Contract: a body is stored whole or not at all, and synced when [`PageBodies::put`] has returned. Every call has a
/// deadline. Whether a body is the one that was stored is for the caller to check. Errors are of kind `Setup` or
/// `Transient` and contain no key of the service.
#[async_trait]
pub trait PageBodies: Send + Sync {
    /// Stores `body` under `key`, whose parts are separated by `/`.
    async fn put(&self, key: &str, body: String) -> Result<()>;
    /// Returns the body under `key`, or `None` if there is none.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;
    /// Deletes the body under `key`, if there is one.
    async fn delete(&self, key: &str) -> Result<()>;
    /// Returns the keys below `folder` that were stored before `before`, in any order.
    async fn list(&self, folder: &str, before: jiff::Timestamp) -> Result<Vec<String>>;
    /// The location for display.
    fn location(&self) -> String;
}
