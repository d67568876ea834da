//! A folder of documents: found by what they say, read as they were indexed.
mod answer;
mod disk;
mod feedback;
mod filter;
mod intake;
mod lexicon;
mod meaning;
mod named;
mod nearness;
mod passages;
mod place;
mod postings;
mod rank;
mod refresh;
mod resident;
mod rows;
mod schema;
mod terms;
mod view;
mod walk;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy};

use self::answer::{at_address, find, order, read};
use self::place::{Label, Place, failed};
use self::rows::pages;
use self::schema::{Fields, VERSION};
use self::view::View;
use crate::adapters::documents::{Fault, Limits, Taken, read_listed};
use crate::domain::{Hit, Hits, Page, Query};
use crate::error::{Error, Kind, Result};
use crate::seams::{PageReader, SearchProvider};

pub use self::answer::Found;
pub use self::filter::Filter;
pub use self::meaning::Meaning;
pub use self::place::{forget, indexed};
pub use self::refresh::{Progress, Refreshed};
pub use self::walk::files_below;

/// A short name for what these parts say together, the same on every machine.
pub fn short_name(parts: &[&[u8]]) -> String {
    format!("{:016x}", walk::short_hash(parts))
}

/// What folders are called as a place to search and to read from.
pub const NAME: &str = "local";
/// How long to wait for another process that writes the same index.
const PATIENCE: Duration = Duration::from_secs(10);
/// Decompressed blocks of rows kept in memory a segment.
const BLOCKS: usize = 8;

/// Turns one file into drafts and faults. Once the flag is set it may give up, with a fault.
pub type ReadFile = dyn Fn(&Path, &AtomicBool, &mut dyn FnMut(Taken) -> ControlFlow<()>) -> Result<()>
    + Send
    + Sync;

/// How a folder is read.
#[derive(Clone)]
pub struct FolderOptions {
    /// Gitignore-style globs of what to leave out; a leading `!` takes back in.
    pub globs: Vec<String>,
    /// Reads one file.
    pub read: Arc<ReadFile>,
    /// What else than a file's bytes decides what is read of it: where it is another than before,
    /// files that seem unchanged are read again.
    pub salt: String,
}

impl FolderOptions {
    /// Files read by [`crate::adapters::documents`] within `limits`.
    pub fn new(globs: Vec<String>, limits: Limits) -> FolderOptions {
        let salt = format!(
            "{} {} {}",
            limits.max_bytes, limits.pdf_seconds, limits.pdf_memory_bytes
        );
        FolderOptions {
            globs,
            read: Arc::new(move |path, stop, each| read_listed(path, &limits, stop, each)),
            salt,
        }
    }
}

/// A folder of documents and its index.
pub struct Folder {
    shared: Arc<Shared>,
    meaning: Option<Meaning>,
}

struct Shared {
    path: PathBuf,
    cache_dir: PathBuf,
    options: FolderOptions,
    place: Place,
    state: Mutex<State>,
    refreshing: Mutex<()>,
}

/// The index as it is open now.
#[derive(Clone)]
struct State {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    view: Arc<View>,
    rebuilt: Option<String>,
    faults: Arc<Vec<Fault>>,
}

impl State {
    fn of(index: Index, fields: Fields, rebuilt: Option<String>) -> tantivy::Result<State> {
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(BLOCKS)
            .try_into()?;
        let view = Arc::new(View::of(reader.searcher(), fields)?);
        Ok(State {
            index,
            reader,
            fields,
            view,
            rebuilt,
            faults: Arc::default(),
        })
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Folder {
    /// Opens the index of the folder at `path` as it was last left, or an empty one.
    ///
    /// An index that is damaged or of another version is begun anew; [`Refreshed::rebuilt`] tells it.
    ///
    /// # Errors
    /// `NotFound` where there is no such folder, `Setup` where `cache_dir` cannot be written.
    pub fn open(path: &Path, cache_dir: &Path, options: &FolderOptions) -> Result<Folder> {
        let doing = || format!("opening the folder {}", path.display());
        let path = path.canonicalize().map_err(|why| {
            let kind = match why.kind() {
                std::io::ErrorKind::NotFound => Kind::NotFound,
                _ => Kind::Setup,
            };
            Error::new(kind, doing())
                .because(why)
                .hint("name a folder that exists and can be read")
        })?;
        let place = Place::of(cache_dir, &path);
        place.prepare()?;
        let state = open_or_begin(&place, &path)?;
        Ok(Folder {
            shared: Arc::new(Shared {
                path,
                cache_dir: cache_dir.to_owned(),
                options: options.clone(),
                place,
                state: Mutex::new(state),
                refreshing: Mutex::new(()),
            }),
            meaning: None,
        })
    }

    /// The same folder, found by meaning too once it has [learnt](Folder::learn) what its passages mean.
    #[must_use]
    pub fn with_meaning(self, meaning: Meaning) -> Folder {
        Folder {
            meaning: Some(meaning),
            ..self
        }
    }

    /// Makes the vectors that passages lack, where there is something to make them; how many were made.
    ///
    /// # Errors
    /// What the embedder or the keeper of the vectors failed with; what was made until then is kept.
    pub async fn learn(&self, on: &mut (dyn FnMut(Progress) + Send)) -> Result<usize> {
        match &self.meaning {
            Some(it) => it.learn(&self.shared, on).await,
            None => Ok(0),
        }
    }

    #[cfg(test)]
    fn view(&self) -> Arc<View> {
        self.shared.state().view
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Documents that can be found.
    pub fn document_count(&self) -> u64 {
        lock(&self.shared.state).view.documents
    }

    /// What the last refresh in this process could not read.
    pub fn faults(&self) -> Vec<Fault> {
        lock(&self.shared.state).faults.to_vec()
    }

    /// Brings the index up to the folder as it is now; only what changed is read.
    ///
    /// # Errors
    /// `Setup` where the index cannot be written; `Transient` where another process keeps it and
    /// nothing is in it yet.
    pub fn refresh(&self, on: &mut dyn FnMut(Progress)) -> Result<Refreshed> {
        self.shared.refresh(&AtomicBool::new(false), on)
    }

    /// The same, until somebody sets `stop`: what was read by then is kept, and the next refresh
    /// goes on from there.
    ///
    /// # Errors
    /// As [`Folder::refresh`].
    pub fn refresh_until(
        &self,
        stop: &AtomicBool,
        on: &mut dyn FnMut(Progress),
    ) -> Result<Refreshed> {
        self.shared.refresh(stop, on)
    }

    /// The `n` documents whose words speak best to `query`, best first: one row a document, no id twice.
    pub fn find(&self, query: &str, n: usize, filter: &Filter) -> Result<Vec<Found>> {
        self.shared.find(query, n, filter, &[])
    }

    /// The `n` documents of [`Folder::find`] by the numbers they have here, and nothing read of them: for `evals retrieve`,
    /// whose peers give numbers too.
    #[doc(hidden)]
    pub fn order(&self, query: &str, n: usize) -> Result<Vec<u64>> {
        self.shared.guarded(|state| {
            order(&state.view, query, n).map_err(|why| failed("searching the index", why))
        })
    }

    /// The same by words and, where passages have vectors, by meaning. Words alone count where the embedder fails: less
    /// is found, but a search is never lost for it.
    pub async fn look(&self, query: &str, n: usize, filter: &Filter) -> Result<Vec<Found>> {
        let near = match &self.meaning {
            Some(it) => it.near(query).await.unwrap_or_default(),
            None => Vec::new(),
        };
        // In memory a search takes less time than to wake another thread.
        if self.shared.state().view.is_resident() {
            return self.shared.find(query, n, filter, &near);
        }
        let (shared, query, filter) = (Arc::clone(&self.shared), query.to_owned(), filter.clone());
        off_thread(move || shared.find(&query, n, &filter, &near)).await?
    }

    /// The pages that give an address at `host`, or at a site below it, which `wanted` accepts; at most `n`.
    pub fn at_address(
        &self,
        host: &str,
        wanted: &dyn Fn(&str) -> bool,
        n: usize,
    ) -> Result<Vec<Page>> {
        self.shared.guarded(|state| {
            at_address(&state.view, host, wanted, n)
                .map_err(|why| failed("searching the index", why))
        })
    }

    /// The page behind a document found here.
    ///
    /// # Errors
    /// `NotFound` where it is gone since.
    pub fn page(&self, found: Found) -> Result<Page> {
        self.shared.read(&found.into_hit(1))
    }
}

fn open_or_begin(place: &Place, path: &Path) -> Result<State> {
    let open = || {
        place.open().and_then(|(index, fields)| {
            State::of(index, fields, None).map_err(|why| why.to_string())
        })
    };
    if let Ok(state) = open() {
        return Ok(state);
    }
    let fresh = place.label().is_none();
    let Some(turn) = place.turn(PATIENCE)? else {
        return Err(Error::new(
            Kind::Transient,
            format!("opening the index of {}", path.display()),
        )
        .because("another process is building it")
        .hint("try again when it has finished"));
    };
    // Another process may have mended it while we waited.
    let why = match open() {
        Ok(state) => return Ok(state),
        Err(why) => why,
    };
    let (index, fields) = place.begin(path, &turn)?;
    State::of(index, fields, (!fresh).then_some(why)).map_err(|why| failed("opening an index", why))
}

impl Shared {
    fn state(&self) -> State {
        lock(&self.state).clone()
    }

    fn refresh(&self, stop: &AtomicBool, on: &mut dyn FnMut(Progress)) -> Result<Refreshed> {
        let _one = lock(&self.refreshing);
        let Some(turn) = self.place.turn(PATIENCE)? else {
            return self.busy();
        };
        // Another process may have committed, or begun anew, since we opened.
        let reloaded = self.place.label().is_some() && self.state().reader.reload().is_ok();
        if !reloaded {
            let rebuilt = self.state().rebuilt;
            let (index, fields) = self.place.begin(&self.path, &turn)?;
            let why = rebuilt.or(Some("it was damaged".to_owned()));
            *lock(&self.state) =
                State::of(index, fields, why).map_err(|why| failed("opening an index", why))?;
        }
        let mut refreshed = self.guarded(|state| {
            let searcher = state.reader.searcher();
            refresh::refresh(
                &self.path,
                &self.options,
                &self.cache_dir,
                &state.index,
                &searcher,
                state.fields,
                stop,
                on,
            )
        })?;
        self.reload()?;
        let mut state = lock(&self.state);
        refreshed.rebuilt = state.rebuilt.take();
        refreshed.documents = state.view.documents;
        state.faults = Arc::new(refreshed.faults.clone());
        drop(state);
        self.place.write_label(&Label {
            version: VERSION.to_owned(),
            path: self.path.clone(),
            documents: refreshed.documents,
            bytes: refreshed.bytes,
        })?;
        Ok(refreshed)
    }

    /// What can be said while another process writes.
    fn busy(&self) -> Result<Refreshed> {
        self.reload()?;
        let state = self.state();
        if state.view.documents == 0 {
            return Err(Error::new(
                Kind::Transient,
                format!("reading the folder {}", self.path.display()),
            )
            .because("another process is building its index")
            .hint("try again when it has finished"));
        }
        Ok(Refreshed {
            documents: state.view.documents,
            bytes: self.place.label().map_or(0, |it| it.bytes),
            busy: true,
            ..Refreshed::default()
        })
    }

    fn reload(&self) -> Result<()> {
        let doing = |why| failed("opening the index", why);
        let mut state = lock(&self.state);
        state.reader.reload().map_err(doing)?;
        let view = View::of(state.reader.searcher(), state.fields).map_err(doing)?;
        state.view = Arc::new(view);
        Ok(())
    }

    /// Runs `work` on the index. Rows that turn out damaged condemn it, so that the next to open it
    /// begins anew.
    fn guarded<T>(&self, work: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        let state = self.state();
        let done = catch_unwind(AssertUnwindSafe(|| work(&state))).unwrap_or_else(|_| {
            Err(Error::new(
                Kind::Internal,
                format!("reading the index of {}", self.path.display()),
            )
            .because("its rows are damaged")
            .hint("start again: the index is built anew from the folder"))
        });
        if done.as_ref().is_err_and(|it| it.kind() == Kind::Internal) {
            self.place.condemn();
        }
        done
    }

    fn find(
        &self,
        query: &str,
        n: usize,
        filter: &Filter,
        near: &[(u64, f32)],
    ) -> Result<Vec<Found>> {
        self.guarded(|state| {
            find(&state.view, query, n, filter, near)
                .map_err(|why| failed("searching the index", why))
        })
    }

    /// One living passage for each key of a vector.
    fn passages(&self) -> Result<BTreeMap<u64, DocAddress>> {
        self.guarded(|state| {
            meaning::keys(&state.view).map_err(|why| failed("reading the index", why))
        })
    }

    /// Key, address and words of each passage.
    fn words(&self, wanted: &[(u64, DocAddress)]) -> Result<Vec<(u64, String, String)>> {
        self.guarded(|state| {
            meaning::words(&state.view, wanted).map_err(|why| failed("reading the index", why))
        })
    }

    fn read(&self, hit: &Hit) -> Result<Page> {
        self.guarded(|state| {
            read(&state.view, hit).map_err(|why| failed("reading a page from the index", why))
        })?
        .ok_or_else(|| {
            Error::new(
                Kind::NotFound,
                format!("reading {} from {}", hit.key(), self.path.display()),
            )
        })
    }
}

#[async_trait]
impl SearchProvider for Folder {
    fn name(&self) -> &str {
        NAME
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let filter = Filter {
            domains: query.domains.clone(),
            not_domains: query.not_domains.clone(),
            since: query.since.clone(),
            until: query.until.clone(),
        };
        let found = self
            .look(query.text(), query.limit as usize, &filter)
            .await?;
        Ok((1..)
            .zip(found)
            .map(|(rank, it)| it.into_hit(rank))
            .collect::<Vec<Hit>>()
            .into())
    }
}

#[async_trait]
impl PageReader for Folder {
    fn name(&self) -> &str {
        NAME
    }

    fn reads(&self, hit: &Hit) -> bool {
        let known = |state: &State| pages(&state.view, hit.key());
        hit.provider == NAME && known(&self.shared.state()).is_ok_and(|it| !it.is_empty())
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let shared = Arc::clone(&self.shared);
        let hit = hit.clone();
        off_thread(move || shared.read(&hit)).await?
    }
}

/// Runs `work` where it may block.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|why| Error::new(Kind::Internal, "working on a folder's index").because(why))
}
