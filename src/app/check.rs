//! Auditing a text: the pages of what it cites, from files, folders and earlier runs.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::{StreamExt, stream};
use url::Url;

use super::parts::Heard;
use super::spending::SpendGrant;
use super::{App, folders, models, reading, web};
use crate::adapters::documents::{Limits, Origin, Taken, read_fetched, read_listed};
use crate::adapters::folder::{Filter, Folder, Found};
use crate::adapters::model::Limiters;
use crate::adapters::web::fetch::{Fetched, Unfetched};
use crate::domain::{ModelRole, Page, PageHash, Witness};
use crate::error::Result;
use crate::research::audit::{
    Audit, Cited, Reference, Sought, by_model, by_words, host_of, key, read,
};
use crate::seams::Egress;

/// Addresses fetched at a time.
const AT_ONCE: usize = 8;
/// Documents of one file that are looked at.
const DOCUMENTS: usize = 200;
/// Pages of one address that are looked at.
const PAGES: usize = 8;
/// Documents whose titles are compared.
const TITLES: usize = 10;
/// Characters of an entry that are searched for.
const SEARCHED: usize = 300;

/// What is said of every file that may not be read, whether it is there or not: who asks must not learn which files exist.
const NO_FILE: &str = "there is no such file beside the text or in a folder that was named";

/// Which files a text that is audited may name.
#[derive(Debug, Clone, Copy)]
pub enum NamedFiles<'a> {
    /// Those below this place, where the text stands, and below the folders: by their paths and `file:` URLs.
    Below(&'a Path),
    /// Those of these folders, by the folder's name alone: `folder:NAME/path/in/folder`.
    InFolders(&'a [(String, PathBuf)]),
}

impl App {
    /// Audits a Markdown text: its claims, held against the pages of what they cite. Pages come from the
    /// file that the text names (one of `files`), from `folders` by
    /// address and by title, from earlier runs of the owner of this app, and with `web`, where none of these has it, from the
    /// address itself. The verifier decides, where the settings name one, paid out of `grant`, else the words alone.
    ///
    /// # Errors
    /// `Usage` for a folder that is not there, `Setup` for a model that cannot be opened or a store that
    /// cannot be read.
    pub async fn check(
        &self,
        text: String,
        files: NamedFiles<'_>,
        folders: &[PathBuf],
        web: bool,
        heard: &Heard,
        grant: SpendGrant,
    ) -> Result<Audit> {
        let minds = self.verifier(&grant)?;
        let cited = folders::off_thread(move || Ok(read(&text))).await?;
        let opened = folders::open(&self.settings, folders, None).await?;
        if !cited.claims.is_empty() {
            for folder in &opened {
                let heard = Arc::clone(heard);
                folders::refresh(Arc::clone(folder), move |it| heard(it)).await?;
            }
        }
        let places = Places::new(files, folders);
        let stored = self.stored(&cited, &places).await?;
        let desk = Desk {
            places,
            limits: reading::limits_of(&self.settings, self.owner.as_ref()),
            folders: opened,
            stored,
        };
        let (cited, mut sought) = folders::until_dropped(move |stop| {
            let sought = cited.sources.iter().map(|it| desk.seek(it, stop));
            let sought = sought.collect::<Result<Vec<Sought>>>()?;
            Ok((cited, sought))
        })
        .await?;
        if web {
            self.fetch(&cited, &mut sought).await?;
        }
        let audit = folders::off_thread(move || Ok(by_words(cited, sought))).await?;
        match minds.of(ModelRole::Verifier) {
            Some(mind) => by_model(audit, mind).await,
            None => Ok(audit),
        }
    }

    /// Fetches what was found nowhere else and has an address of the web, each address once.
    async fn fetch(&self, cited: &Cited, sought: &mut [Sought]) -> Result<()> {
        let mut wanted: BTreeMap<String, &str> = BTreeMap::new();
        for (it, found) in cited.sources.iter().zip(&*sought) {
            if let (Sought::Nowhere(_), Some(address)) = (found, &it.address)
                && let Some(key) = key(address)
            {
                wanted.entry(key).or_insert(address);
            }
        }
        let fetcher = &web::fetcher(&self.settings)?;
        let fetching: Vec<_> = wanted
            .into_iter()
            .map(|(key, url)| async move { (key, fetcher.fetch(url).await) })
            .collect();
        let mut came = BTreeMap::new();
        let mut answers = stream::iter(fetching).buffer_unordered(AT_ONCE);
        while let Some((key, answer)) = answers.next().await {
            let limits = reading::limits_of(&self.settings, self.owner.as_ref());
            came.insert(key, page_of(answer, &limits).await);
        }
        for (it, found) in cited.sources.iter().zip(sought) {
            let came = it
                .address
                .as_deref()
                .and_then(key)
                .and_then(|it| came.get(&it));
            if let (Sought::Nowhere(_), Some(came)) = (&found, came) {
                *found = match came {
                    Ok(page) => Sought::Pages(vec![page.clone()]),
                    Err(why) => Sought::Nowhere(format!("not fetched: {why}")),
                };
            }
        }
        Ok(())
    }

    /// The model that checks claims, if one is set.
    fn verifier(&self, grant: &SpendGrant) -> Result<crate::seams::Models> {
        let role = ModelRole::Verifier;
        let named: BTreeMap<ModelRole, String> = self
            .settings
            .models
            .get(&role)
            .map(|it| (role, it.clone()))
            .into_iter()
            .collect();
        let limiters = Arc::new(Limiters::default());
        Ok(models::open(&self.settings, &named, grant, limiters, &Egress::default())?.0)
    }

    /// The pages of earlier runs at the addresses cited, those read last, by what addresses of one page
    /// have in common.
    async fn stored(&self, cited: &Cited, places: &Places) -> Result<BTreeMap<String, Page>> {
        let mut found = BTreeMap::new();
        let Some(store) = self.store_if_any().await? else {
            return Ok(found);
        };
        let mut known: BTreeMap<String, Vec<PageHash>> = BTreeMap::new();
        for (hash, url) in store.addresses().await? {
            known.entry(common(&url)).or_default().push(hash);
        }
        for it in cited.sources.iter().filter(|it| it.cited) {
            for address in it.address.iter().chain(&it.path) {
                let Some(address) = places.meant(address).map(|it| common(&it)) else {
                    continue;
                };
                let named = known.get(&address).into_iter().flatten();
                for hash in named.take(PAGES) {
                    let page = self.page(hash).await?;
                    if let Some(page) = page.filter(|page| is_of(page, &address, it)) {
                        found.insert(address, page);
                        break;
                    }
                }
            }
        }
        Ok(found)
    }
}

/// The page of what was fetched, or why there is none.
async fn page_of(
    answer: std::result::Result<Fetched, Unfetched>,
    limits: &Limits,
) -> std::result::Result<Page, String> {
    let fetched = answer.map_err(|it| it.why)?;
    let origin = Origin::fetched(fetched.url, fetched.content_type);
    let read = read_fetched(fetched.bytes, origin, limits).await;
    read.map(Page::new).map_err(|fault| fault.chain())
}

/// Whether it is known that `page` stands at `address`: a page of the web was fetched there, a file was read there. What an
/// earlier version stored, and what a file says of its address, is nobody's word but the page's.
fn is_of(page: &Page, address: &str, cited: &Reference) -> bool {
    // Of a file with several documents, the path names all.
    let whole = |file: &str| file.split('#').next().unwrap_or_default().to_owned();
    let named = |file: &String| cited.path.iter().any(|it| common(it) == whole(file));
    match page.witness {
        Witness::Fetcher | Witness::Engine => true,
        // The text that cites the stated address says itself which file it was read from.
        Witness::Folder => address.starts_with("file:") || page.file.as_ref().is_some_and(named),
        Witness::Unknown => false,
    }
}

/// What ways to write one address have in common; a path is what its `file:` URL is.
fn common(address: &str) -> String {
    key(address)
        .or_else(|| Url::from_file_path(address).ok().map(String::from))
        .unwrap_or_else(|| address.to_owned())
}

/// Where files may be read that a text names: it is a stranger's, and must not lead out of what was
/// given.
struct Places {
    /// Where paths begin that say nothing of it; nowhere where files are named by folders.
    base: Option<Url>,
    /// The folders that have a name.
    names: Vec<(String, Url)>,
    /// Below which places files may be read: as they are named, and as the file system resolves them.
    roots: Vec<PathBuf>,
}

impl Places {
    fn new(files: NamedFiles<'_>, folders: &[PathBuf]) -> Places {
        let (base, names) = match files {
            NamedFiles::Below(base) => (Some(base), &[][..]),
            NamedFiles::InFolders(names) => (None, names),
        };
        let given = base.into_iter().chain(folders.iter().map(PathBuf::as_path));
        let named = |(name, path): &(String, PathBuf)| {
            let url = Url::from_directory_path(path).ok()?;
            Some((name.clone(), url))
        };
        Places {
            base: base.and_then(|it| Url::from_directory_path(it).ok()),
            names: names.iter().filter_map(named).collect(),
            roots: given
                .flat_map(|it| [Some(it.to_owned()), it.canonicalize().ok()])
                .flatten()
                .collect(),
        }
    }

    /// The address that a text means by `place`: of the web as it is, of a file as a `file:` URL. `None` for a file that is named
    /// in a way that files may not be named here.
    fn meant(&self, place: &str) -> Option<String> {
        if key(place).is_some() {
            return Some(place.to_owned());
        }
        if let Some(base) = &self.base {
            return Some(place.to_owned()).filter(|it| base.join(it).is_ok());
        }
        let (name, inside) = place.strip_prefix("folder:")?.split_once('/')?;
        let is_named = |it: &&(String, Url)| {
            let last =
                it.1.path_segments()
                    .and_then(|mut it| it.rfind(|it| !it.is_empty()));
            it.0 == name
                || (it.0.contains(|it: char| !it.is_ascii_alphanumeric()) && last == Some(name))
        };
        let (_, root) = self.names.iter().find(is_named)?;
        // What leads out of the folder, be it and back, would tell how the folders above it are called.
        let plain = inside.to_lowercase().replace("%2e", ".");
        let mut parts = plain.split(['/', '\\']);
        if parts.any(|it| matches!(it, "." | "..")) || plain.contains(char::is_control) {
            return None;
        }
        let below = |it: &Url| it.path().starts_with(root.path());
        root.join(inside).ok().filter(below).map(String::from)
    }

    /// The file that a text means by `place`, where it may be read; `None` for what is no file.
    fn file(&self, place: &str) -> Option<std::result::Result<PathBuf, String>> {
        let refused = || Some(Err(NO_FILE.to_owned()));
        let Some(meant) = self.meant(place) else {
            return refused();
        };
        let url = match &self.base {
            Some(base) => base.join(&meant).ok()?,
            None => Url::parse(&meant).ok()?,
        };
        let path = url.to_file_path().ok()?;
        // The file system is asked only about what lies below a root: else how long it takes would tell what is there.
        let is_below = |path: &Path| {
            let hidden =
                |it: std::path::Component<'_>| it.as_os_str().as_encoded_bytes().starts_with(b".");
            let inside = self
                .roots
                .iter()
                .filter_map(|it| path.strip_prefix(it).ok());
            inside.into_iter().any(|it| !it.components().any(hidden))
        };
        if !is_below(&path) {
            return refused();
        }
        match path.canonicalize() {
            Ok(real) if is_below(&real) && real.is_file() => Some(Ok(real)),
            _ => refused(),
        }
    }
}

/// Where sources are looked for.
struct Desk {
    places: Places,
    limits: Limits,
    folders: Vec<Arc<Folder>>,
    stored: BTreeMap<String, Page>,
}

impl Desk {
    fn seek(&self, it: &Reference, stop: &AtomicBool) -> Result<Sought> {
        if !it.cited {
            return Ok(Sought::Unasked);
        }
        if it.unexplained() {
            let name = it.label.as_deref().unwrap_or_default();
            return Ok(Sought::Nowhere(format!(
                "no list of sources gives [{name}]"
            )));
        }
        let mut why = None;
        for place in it.path.iter().chain(&it.address) {
            let cited = it.address.as_deref().and_then(key);
            let read = match self.places.file(place) {
                Some(Ok(path)) => self.documents(&path, cited, stop),
                Some(Err(refused)) => Err(refused),
                None => continue,
            };
            match read {
                Ok(pages) => return Ok(Sought::Pages(pages)),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        if let Some(address) = &it.address {
            let pages = self.at(address)?;
            if !pages.is_empty() {
                return Ok(Sought::Pages(pages));
            }
        }
        for place in it.address.iter().chain(&it.path) {
            let known = self.places.meant(place).map(|it| common(&it));
            if let Some(page) = known.and_then(|it| self.stored.get(&it)) {
                return Ok(Sought::Pages(vec![page.clone()]));
            }
        }
        if let Some(page) = self.titled(it)? {
            return Ok(Sought::Pages(vec![page]));
        }
        Ok(Sought::Nowhere(why.unwrap_or_else(|| self.nowhere(it))))
    }

    /// Why nothing was found.
    fn nowhere(&self, it: &Reference) -> String {
        let place = match self.folders.len() {
            0 => "in earlier runs, and no folder is named",
            1 => "in the folder or in earlier runs",
            _ => "in the folders or in earlier runs",
        };
        match &it.address {
            Some(address) if key(address).is_some() => {
                format!("not {place}; --web fetches it")
            }
            Some(_) => format!("not {place}"),
            None => format!("it has no address, and its title is not {place}"),
        }
    }

    /// The documents of the file at `path`, those at the address that is cited where some are.
    fn documents(
        &self,
        path: &Path,
        cited: Option<String>,
        stop: &AtomicBool,
    ) -> std::result::Result<Vec<Page>, String> {
        let mut pages = Vec::new();
        let mut others = Vec::new();
        let mut why = None;
        let read = read_listed(path, &self.limits, stop, &mut |taken| {
            match taken {
                Taken::Draft(draft) if cited.is_none() || key(&draft.url) == cited => {
                    pages.push(Page::new(draft));
                }
                Taken::Draft(draft) if others.len() < DOCUMENTS => others.push(Page::new(draft)),
                Taken::Draft(_) => {}
                Taken::Fault(fault) => why = Some(fault.message),
            }
            if pages.len() < DOCUMENTS {
                std::ops::ControlFlow::Continue(())
            } else {
                std::ops::ControlFlow::Break(())
            }
        });
        let pages = if pages.is_empty() { others } else { pages };
        match (read, pages.is_empty()) {
            (Err(fault), _) => Err(fault.chain()),
            (Ok(()), false) => Ok(pages),
            (Ok(()), true) => {
                Err(why.unwrap_or_else(|| "there are no words in the file".to_owned()))
            }
        }
    }

    /// The pages that the folders have of an address.
    fn at(&self, address: &str) -> Result<Vec<Page>> {
        let (Some(host), Some(wanted)) = (host_of(address), key(address)) else {
            return Ok(Vec::new());
        };
        let same = |it: &str| key(it).as_ref() == Some(&wanted);
        let mut found = Vec::new();
        for folder in &self.folders {
            found.extend(folder.at_address(&host, &same, PAGES)?);
        }
        Ok(found)
    }

    /// The document whose whole title the entry says. One that gives another address of its own is
    /// another document.
    fn titled(&self, it: &Reference) -> Result<Option<Page>> {
        if !it.listed || self.folders.is_empty() {
            return Ok(None);
        }
        let said = plain(&it.text);
        let query: String = it
            .title
            .as_ref()
            .unwrap_or(&it.text)
            .chars()
            .take(SEARCHED)
            .collect();
        let web = it.address.as_deref().and_then(key);
        let mut best: Option<(usize, &Arc<Folder>, Found)> = None;
        for folder in &self.folders {
            for found in folder.find(&query, TITLES, &Filter::default())? {
                let title = plain(&found.title);
                let telling = title.trim().contains(' ') && title.len() >= 12;
                let another = web.is_some() && key(&found.url).is_some_and(|it| Some(it) != web);
                let longer = best.as_ref().is_none_or(|it| it.0 < title.len());
                if telling && longer && !another && said.contains(&title) {
                    best = Some((title.len(), folder, found));
                }
            }
        }
        best.map(|(_, folder, found)| folder.page(found))
            .transpose()
    }
}

/// The words of a text in lower case, a blank around each.
fn plain(text: &str) -> String {
    let mut out = String::from(" ");
    for word in text
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
    {
        out.push_str(&word.to_lowercase());
        out.push(' ');
    }
    out
}
