//! Storing and reading pages, whose bodies are in the database or in an object store.
//!
//! The object is written before the row that names it, so that a row never names an object that does not exist yet; an
//! object without a row costs only its space, until [`SqlStore::sweep_objects`] deletes it.
use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::backend::{Backend, SqlStore};
use super::page_objects::{PageObjects, digest_of};
use super::statement::query;
use super::write::StoredPage;
use ibid_core::domain::{Page, PageHash};
use ibid_core::ports::PageBodies;
use ibid_core::{Error, ErrorKind, Result};

/// The objects that one statement looks up.
const BATCH: usize = 500;

/// The objects that are deleted at once.
const DELETES: usize = 16;

impl<B: Backend> SqlStore<B> {
    /// Stores the bodies of pages in `bodies` from now on, or with `None` in the database. Those in the database stay there
    /// and can still be read.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn with_page_bodies(
        self,
        bodies: Option<Arc<dyn PageBodies>>,
    ) -> Result<SqlStore<B>> {
        let Some(bodies) = bodies else { return Ok(SqlStore { objects: None, ..self }) };
        let (folder,): (String,) = self.fetch_one(query("select name from object_folder")).await?;
        Ok(SqlStore { objects: Some(PageObjects { bodies, folder }), ..self })
    }

    /// Stores the body of `page` if it belongs in an object. Returns the columns of the row to write.
    pub(super) async fn place_page(&self, page: &Page) -> Result<StoredPage> {
        let stored = StoredPage::from_page(page)?;
        let Some(objects) = &self.objects else { return Ok(stored) };
        let digest = digest_of(stored.body.as_bytes());
        let known = query("select 1 from pages where hash = $1 and digest = $2 and object <> ''");
        let known = known.bind(stored.hash.as_str()).bind(&digest);
        if self.fetch_optional::<(i32,)>(known).await?.is_some() {
            // The row keeps its object. If the row is deleted before this write, the new row gets the body instead: the
            // object may be deleted at any time.
            return Ok(StoredPage { digest, ..stored });
        }
        let object = objects.new_key(&digest);
        objects.bodies.put(&object, stored.body).await?;
        Ok(StoredPage { body: String::new(), object, digest, ..stored })
    }

    /// The page with this hash, if it is within the scope. What comes from an object is verified.
    pub(super) async fn load_page(&self, hash: &PageHash) -> Result<Option<Page>> {
        let mut absent = None;
        loop {
            let Some((body, object, digest)) = self.page_row(hash).await? else { return Ok(None) };
            if object.is_empty() {
                let page = serde_json::from_str(&body);
                return page.map(Some).map_err(self.decode_error(format!("page {hash}")));
            }
            let objects = self.objects.as_ref().ok_or_else(|| no_object_store(hash))?;
            match objects.read(hash, &object, &digest).await? {
                Some(page) => return Ok(Some(page)),
                None if absent.as_ref() == Some(&object) => {
                    return Err(objects.missing(hash, &object));
                }
                // The row may have been replaced or deleted after it was read, and then its object.
                None => absent = Some(object),
            }
        }
    }

    /// Body, object and digest of a page within the scope.
    async fn page_row(&self, hash: &PageHash) -> Result<Option<(String, String, String)>> {
        let (user, org) = self.scope.parameters();
        let statement = query(
            "select body, object, digest from pages where hash = $1
             and (cast($2 as text) is null or exists (
             select 1 from held join runs on runs.id = held.run where held.page = pages.hash
             and owner_user = $2 and coalesce(owner_org, '') = $3))",
        );
        self.fetch_optional(statement.bind(hash.as_str()).bind(user).bind(org)).await
    }

    /// Deletes this database's objects that were stored before `before` and that no row names. Returns how many.
    ///
    /// A run may be storing the same page meanwhile. It never takes up an object again that has lost its row: it stores a
    /// new one, under a new key. So an object without a row either never gets one, or was stored moments ago and its row
    /// is about to be committed; the latter is later than `before`, which must be long ago. The rows are read after the
    /// list was made, so an object that got its row in between is kept.
    pub(super) async fn sweep_objects(&self, before: jiff::Timestamp) -> Result<u64> {
        let Some(PageObjects { bodies, folder }) = &self.objects else { return Ok(0) };
        let mut deleted = 0;
        for shard in 0..=u8::MAX {
            let old = bodies.list(&format!("{folder}/{shard:02x}"), before).await?;
            for batch in old.chunks(BATCH) {
                let named = self.named_objects(batch).await?;
                let unused: Vec<String> =
                    batch.iter().filter(|key| !named.contains(*key)).cloned().collect();
                deleted += unused.len() as u64;
                let deletes = unused.into_iter().map(|key| delete(Arc::clone(bodies), key));
                stream::iter(deletes).buffer_unordered(DELETES).try_collect::<()>().await?;
            }
        }
        Ok(deleted)
    }

    /// Those of `keys` that a row names.
    async fn named_objects(&self, keys: &[String]) -> Result<BTreeSet<String>> {
        let places: Vec<String> = (1..=keys.len()).map(|nth| format!("${nth}")).collect();
        let sql = format!(
            "select object from pages where object <> '' and object in ({})",
            places.join(", ")
        );
        let statement = keys.iter().fold(query(sql), |statement, key| statement.bind(key));
        let rows: Vec<(String,)> = self.fetch_all(statement).await?;
        Ok(rows.into_iter().map(|(object,)| object).collect())
    }
}

async fn delete(bodies: Arc<dyn PageBodies>, key: String) -> Result<()> {
    bodies.delete(&key).await
}

fn no_object_store(hash: &PageHash) -> Error {
    Error::new(ErrorKind::Setup, format!("page {hash} is in an object store"))
        .with_hint("set `pages.url` to what it was when the page was stored")
}

#[cfg(test)]
mod tests;
