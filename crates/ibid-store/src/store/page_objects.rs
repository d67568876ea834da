//! The objects that hold bodies of pages: their keys, and reading them verified.
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use ibid_core::domain::{Page, PageHash};
use ibid_core::ports::{PageBodies, Rng as _};
use ibid_core::system::SystemRng;
use ibid_core::{Error, ErrorKind, Result};

/// The objects of one database.
#[derive(Clone)]
pub(super) struct PageObjects {
    pub(super) bodies: Arc<dyn PageBodies>,
    /// The folder of the database's objects.
    pub(super) folder: String,
}

impl PageObjects {
    /// A key that was never used before, for a body with this digest.
    pub(super) fn new_key(&self, digest: &str) -> String {
        let shard = digest.get(..2).unwrap_or_default();
        format!("{}/{shard}/{digest}-{:016x}", self.folder, SystemRng.next_u128() as u64)
    }

    /// Reads the page `hash` from an object, or returns `None` if there is no such object.
    ///
    /// # Errors
    /// `Setup` if the object is not what was stored, and those of [`PageBodies::get`].
    pub(super) async fn read(
        &self,
        hash: &PageHash,
        object: &str,
        digest: &str,
    ) -> Result<Option<Page>> {
        let Some(body) = self.bodies.get(object).await? else { return Ok(None) };
        if digest_of(&body) != digest {
            return Err(self.damaged(hash, object));
        }
        // The digest is that of the database, which another program may have changed: the page states its own hash.
        let page: Page = serde_json::from_slice(&body)
            .map_err(|cause| self.damaged(hash, object).with_source(cause))?;
        if page.hash() != hash || !page.is_intact() {
            return Err(self.damaged(hash, object));
        }
        Ok(Some(page))
    }

    fn damaged(&self, hash: &PageHash, object: &str) -> Error {
        let location = self.bodies.location();
        let what = format!("page {hash} in the object store {location} does not have its hash");
        Error::new(ErrorKind::Setup, what)
            .with_hint(format!("restore the object {object} from a backup"))
    }

    /// The error for an object that does not exist.
    pub(super) fn missing(&self, hash: &PageHash, object: &str) -> Error {
        let what = format!("page {hash} is not in the object store {}", self.bodies.location());
        Error::new(ErrorKind::Setup, what).with_hint(format!(
            "check that `pages.url` is what it was when the page was stored, or restore the object {object} from a backup"
        ))
    }
}

/// The SHA-256 of `body`, in hexadecimal.
pub(super) fn digest_of(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}
