//! Audits a text: finds the pages that it cites, in files, folders, earlier runs and on the web.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::{StreamExt, stream};
use url::Url;

use super::components::ProgressFn;
use super::spending::SpendGrant;
use super::{App, document_reader, folders, models, semantic, web};
use ibid_core::Result;
use ibid_core::domain::{ModelRole, Page, PageHash, UrlProvenance};
use ibid_core::ports::Egress;
use ibid_extract::{DocumentOrigin, ExtractLimits, ReadItem, read_fetched, read_listed};
use ibid_index::folder::{Filter, Folder, SearchHit};
use ibid_net::web::fetch::{FetchError, FetchedPage};
use ibid_research::audit::{
    Audit, CitedSource, CitedText, SourceLookup, audit_by_code, audit_by_model, host_of, page_key,
    parse_citations,
};

/// Addresses fetched at a time.
const MAX_CONCURRENT: usize = 8;
/// Documents of one file that are compared.
const MAX_DOCUMENTS: usize = 200;
/// Pages of one address that are compared.
const MAX_PAGES: usize = 8;
/// Documents whose titles are compared with an entry.
const MAX_TITLES: usize = 10;
/// The shortest title that identifies a document, bytes of its normalized words. It must have two words, too.
const DISTINCTIVE_TITLE_BYTES: usize = 12;
/// Characters of an entry that are searched for.
const QUERY_CHARS: usize = 300;

/// The message for every file that may not be read, whether it exists or not: the caller must not learn which files exist.
const NO_FILE: &str = "there is no such file beside the text or in a folder that was named";

/// The files that an audited text may name.
#[derive(Debug, Clone, Copy)]
pub enum NamedFiles<'a> {
    /// Files below this directory, that of the text, and below the folders, by paths and `file:` URLs.
    Below(&'a Path),
    /// Files in these named folders, only as `folder:NAME/path/in/folder`.
    InFolders(&'a [(String, PathBuf)]),
}

/// A text to audit, and where the pages that it cites may come from.
pub struct AuditTask<'a> {
    /// The text, Markdown.
    pub text: String,
    /// The files that the text may name.
    pub files: NamedFiles<'a>,
    /// Folders in which pages are found by address and by title.
    pub folders: &'a [PathBuf],
    /// Whether pages that are found nowhere else are fetched from their addresses.
    pub web: bool,
}

impl App {
    /// Audits a text: compares its claims with the pages that they cite. A page comes from a file, a folder, an earlier run of the owner
    /// of this app, or its address. The verifier of the settings decides within `grant`; without one, the words are compared.
    ///
    /// # Errors
    /// `Usage` for a folder that does not exist, `Setup` for a model that cannot be opened or a store that
    /// cannot be read.
    pub async fn check(
        &self,
        task: AuditTask<'_>,
        on_progress: &ProgressFn,
        grant: SpendGrant,
    ) -> Result<Audit> {
        let AuditTask { text, files, folders, web } = task;
        let models = self.verifier(&grant)?;
        let cited = folders::spawn_blocking(move || Ok(parse_citations(&text))).await?;
        let opened = folders::open(&self.settings, folders, None).await?;
        if !cited.claims.is_empty() {
            for folder in &opened {
                let on_progress = Arc::clone(on_progress);
                folders::refresh(Arc::clone(folder), move |it| on_progress(it)).await?;
            }
        }
        let places = AllowedPaths::new(files, folders);
        let stored = self.stored_pages(&cited, &places).await?;
        let resolver = SourceResolver {
            places,
            limits: document_reader::limits_for(&self.settings, self.owner.as_ref()),
            folders: opened,
            stored,
        };
        let (cited, mut lookups) = folders::spawn_cancellable(move |stop| {
            let lookups = cited.sources.iter().map(|source| resolver.resolve(source, stop));
            let lookups = lookups.collect::<Result<Vec<SourceLookup>>>()?;
            Ok((cited, lookups))
        })
        .await?;
        if web {
            self.fetch(&cited, &mut lookups).await?;
        }
        let scorer = semantic::bundled_pair_scorer(&self.settings)?;
        let audit =
            folders::spawn_blocking(move || Ok(audit_by_code(cited, lookups, scorer.as_deref())))
                .await?;
        match models.get(ModelRole::Verifier) {
            Some(verifier) => audit_by_model(audit, verifier).await,
            None => Ok(audit),
        }
    }

    /// Fetches the sources that were not found and have a web address, each address once.
    async fn fetch(&self, cited: &CitedText, lookups: &mut [SourceLookup]) -> Result<()> {
        let mut wanted: BTreeMap<String, &str> = BTreeMap::new();
        for (source, lookup) in cited.sources.iter().zip(&*lookups) {
            if let (SourceLookup::NotFound(_), Some(address)) = (lookup, &source.address)
                && let Some(key) = page_key(address)
            {
                wanted.entry(key).or_insert(address);
            }
        }
        let fetcher = &web::fetcher(&self.settings)?;
        let fetching: Vec<_> = wanted
            .into_iter()
            .map(|(key, url)| async move { (key, fetcher.fetch(url).await) })
            .collect();
        let mut fetched = BTreeMap::new();
        let mut answers = stream::iter(fetching).buffer_unordered(MAX_CONCURRENT);
        while let Some((key, answer)) = answers.next().await {
            let limits = document_reader::limits_for(&self.settings, self.owner.as_ref());
            fetched.insert(key, page_from_fetch(answer, &limits).await);
        }
        for (source, lookup) in cited.sources.iter().zip(lookups) {
            let key = source.address.as_deref().and_then(page_key);
            let answer = key.and_then(|key| fetched.get(&key));
            if let (SourceLookup::NotFound(_), Some(answer)) = (&lookup, answer) {
                *lookup = match answer {
                    Ok(page) => SourceLookup::Pages(vec![page.clone()]),
                    Err(why) => SourceLookup::NotFound(format!("not fetched: {why}")),
                };
            }
        }
        Ok(())
    }

    /// The verifier of the settings, if one is set.
    fn verifier(&self, grant: &SpendGrant) -> Result<ibid_core::ports::RoleModels> {
        let role = ModelRole::Verifier;
        let named: BTreeMap<ModelRole, String> = self
            .settings
            .models
            .get(&role)
            .map(|model| (role, model.clone()))
            .into_iter()
            .collect();
        let shared_models = Arc::clone(&self.components.models);
        Ok(models::open(&self.settings, &named, grant, shared_models, &Egress::default())?.0)
    }

    /// The pages of earlier runs at the cited addresses, the latest of each, by canonical address.
    async fn stored_pages(
        &self,
        cited: &CitedText,
        places: &AllowedPaths,
    ) -> Result<BTreeMap<String, Page>> {
        let mut found = BTreeMap::new();
        let Some(store) = self.store_if_any().await? else {
            return Ok(found);
        };
        let mut known: BTreeMap<String, Vec<PageHash>> = BTreeMap::new();
        for (hash, url) in store.page_urls().await? {
            known.entry(canonical_address(&url)).or_default().push(hash);
        }
        for source in cited.sources.iter().filter(|source| source.cited) {
            for address in source.address.iter().chain(&source.path) {
                let Some(address) =
                    places.to_address(address).map(|address| canonical_address(&address))
                else {
                    continue;
                };
                let named = known.get(&address).into_iter().flatten();
                for hash in named.take(MAX_PAGES) {
                    let page = self.page(hash).await?;
                    if let Some(page) = page.filter(|page| is_page_at(page, &address, source)) {
                        found.insert(address, page);
                        break;
                    }
                }
            }
        }
        Ok(found)
    }
}

/// The page of a fetched document, or why there is none.
async fn page_from_fetch(
    answer: std::result::Result<FetchedPage, FetchError>,
    limits: &ExtractLimits,
) -> std::result::Result<Page, String> {
    let fetched = answer.map_err(|fault| fault.why)?;
    let origin = DocumentOrigin::from_url(fetched.url, fetched.content_type);
    let read = read_fetched(fetched.bytes, origin, limits).await;
    read.map(Page::new).map_err(|fault| fault.chain())
}

/// Whether `page` was really fetched or read at `address`. An address that only the page itself states does not count; earlier versions
/// stored such addresses.
fn is_page_at(page: &Page, address: &str, cited: &CitedSource) -> bool {
    // A path names all documents of a file with several.
    let without_fragment = |file: &str| file.split('#').next().unwrap_or_default().to_owned();
    let named =
        |file: &String| cited.path.iter().any(|it| canonical_address(it) == without_fragment(file));
    match page.url_provenance {
        UrlProvenance::Fetcher | UrlProvenance::Engine => true,
        // The text names the file as well as the address that the file states.
        UrlProvenance::Folder => {
            address.starts_with("file:") || page.file.as_ref().is_some_and(named)
        }
        UrlProvenance::Unknown => false,
    }
}

/// One form for all spellings of an address. A path becomes its `file:` URL.
fn canonical_address(address: &str) -> String {
    page_key(address)
        .or_else(|| Url::from_file_path(address).ok().map(String::from))
        .unwrap_or_else(|| address.to_owned())
}

/// The places where files that a text names may be read. The text is untrusted, so it must not lead out of them.
struct AllowedPaths {
    /// The base of relative paths; `None` if files are named by folder.
    base: Option<Url>,
    /// The named folders.
    names: Vec<(String, Url)>,
    /// The directories below which files may be read, as they are named and with symbolic links resolved.
    roots: Vec<PathBuf>,
}

impl AllowedPaths {
    fn new(files: NamedFiles<'_>, folders: &[PathBuf]) -> AllowedPaths {
        let (base, names) = match files {
            NamedFiles::Below(base) => (Some(base), &[][..]),
            NamedFiles::InFolders(names) => (None, names),
        };
        let given = base.into_iter().chain(folders.iter().map(PathBuf::as_path));
        let named = |(name, path): &(String, PathBuf)| {
            let url = Url::from_directory_path(path).ok()?;
            Some((name.clone(), url))
        };
        AllowedPaths {
            base: base.and_then(|base| Url::from_directory_path(base).ok()),
            names: names.iter().filter_map(named).collect(),
            roots: given
                .flat_map(|it| [Some(it.to_owned()), it.canonicalize().ok()])
                .flatten()
                .collect(),
        }
    }

    /// The address that a text means by `place`: a web address unchanged, a file as a `file:` URL. `None` for a file that is named in a
    /// form that is not allowed here.
    fn to_address(&self, place: &str) -> Option<String> {
        if page_key(place).is_some() {
            return Some(place.to_owned());
        }
        if let Some(base) = &self.base {
            return Some(place.to_owned()).filter(|it| base.join(it).is_ok());
        }
        let (name, inside) = place.strip_prefix("folder:")?.split_once('/')?;
        let is_named = |it: &&(String, Url)| {
            let last = it.1.path_segments().and_then(|mut it| it.rfind(|pair| !pair.is_empty()));
            it.0 == name
                || (it.0.contains(|c: char| !c.is_ascii_alphanumeric()) && last == Some(name))
        };
        let (_, root) = self.names.iter().find(is_named)?;
        // A path that leaves the folder, even if it returns, could reveal the names of the directories above.
        let plain = inside.to_lowercase().replace("%2e", ".");
        let mut parts = plain.split(['/', '\\']);
        if parts.any(|part| matches!(part, "." | "..")) || plain.contains(char::is_control) {
            return None;
        }
        let is_below = |url: &Url| url.path().starts_with(root.path());
        root.join(inside).ok().filter(is_below).map(String::from)
    }

    /// The file that a text means by `place`, or why it may not be read; `None` for what is not a file.
    fn local_file(&self, place: &str) -> Option<std::result::Result<PathBuf, String>> {
        let refused = || Some(Err(NO_FILE.to_owned()));
        let Some(meant) = self.to_address(place) else {
            return refused();
        };
        let url = match &self.base {
            Some(base) => base.join(&meant).ok()?,
            None => Url::parse(&meant).ok()?,
        };
        let path = url.to_file_path().ok()?;
        // Only paths below a root are looked up: else the time of the look-up would reveal which files exist.
        let is_below = |path: &Path| {
            let hidden = |component: std::path::Component<'_>| {
                component.as_os_str().as_encoded_bytes().starts_with(b".")
            };
            let inside = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
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

/// Finds cited sources.
struct SourceResolver {
    places: AllowedPaths,
    limits: ExtractLimits,
    folders: Vec<Arc<Folder>>,
    stored: BTreeMap<String, Page>,
}

impl SourceResolver {
    /// The pages of a source: from its file, else the folders by address, else earlier runs, else the folders by title.
    fn resolve(&self, source: &CitedSource, stop: &AtomicBool) -> Result<SourceLookup> {
        if !source.cited {
            return Ok(SourceLookup::NotCited);
        }
        if source.is_unexplained() {
            return Ok(SourceLookup::NotFound("not in the list of sources".to_owned()));
        }
        let mut why = None;
        for place in source.path.iter().chain(&source.address) {
            let cited = source.address.as_deref().and_then(page_key);
            let read = match self.places.local_file(place) {
                Some(Ok(path)) => self.documents(&path, cited, stop),
                Some(Err(refused)) => Err(refused),
                None => continue,
            };
            match read {
                Ok(pages) => return Ok(SourceLookup::Pages(pages)),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        if let Some(address) = &source.address {
            let pages = self.pages_at(address)?;
            if !pages.is_empty() {
                return Ok(SourceLookup::Pages(pages));
            }
        }
        for place in source.address.iter().chain(&source.path) {
            let known = self.places.to_address(place).map(|address| canonical_address(&address));
            if let Some(page) = known.and_then(|it| self.stored.get(&it)) {
                return Ok(SourceLookup::Pages(vec![page.clone()]));
            }
        }
        if let Some(page) = self.page_by_title(source)? {
            return Ok(SourceLookup::Pages(vec![page]));
        }
        Ok(SourceLookup::NotFound(why.unwrap_or_else(|| self.not_found_reason(source))))
    }

    /// Where the source was looked for, as the reason why it was not found.
    fn not_found_reason(&self, source: &CitedSource) -> String {
        let place = match self.folders.len() {
            0 => "in earlier runs, and no folder is named",
            1 => "in the folder or in earlier runs",
            _ => "in the folders or in earlier runs",
        };
        match &source.address {
            Some(address) if page_key(address).is_some() => {
                format!("not {place}; --web fetches it")
            }
            Some(_) => format!("not {place}"),
            None => format!("it has no address, and its title is not {place}"),
        }
    }

    /// The documents of the file at `path`: those at the cited address, else all.
    fn documents(
        &self,
        path: &Path,
        cited: Option<String>,
        stop: &AtomicBool,
    ) -> std::result::Result<Vec<Page>, String> {
        let mut pages = Vec::new();
        let mut others = Vec::new();
        let mut why = None;
        let read = read_listed(path, &self.limits, stop, &mut |item| {
            match item {
                ReadItem::Draft(draft) if cited.is_none() || page_key(&draft.url) == cited => {
                    pages.push(Page::new(draft));
                }
                ReadItem::Draft(draft) if others.len() < MAX_DOCUMENTS => {
                    others.push(Page::new(draft))
                }
                ReadItem::Draft(_) => {}
                ReadItem::Fault(fault) => why = Some(fault.message),
            }
            if pages.len() < MAX_DOCUMENTS {
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

    /// The pages of an address in the folders.
    fn pages_at(&self, address: &str) -> Result<Vec<Page>> {
        let (Some(host), Some(wanted)) = (host_of(address), page_key(address)) else {
            return Ok(Vec::new());
        };
        let same = |text: &str| page_key(text).as_ref() == Some(&wanted);
        let mut found = Vec::new();
        for folder in &self.folders {
            found.extend(folder.pages_at(&host, &same, MAX_PAGES)?);
        }
        Ok(found)
    }

    /// The document whose whole title occurs in the entry. One that states another address does not match.
    fn page_by_title(&self, source: &CitedSource) -> Result<Option<Page>> {
        if !source.listed || self.folders.is_empty() {
            return Ok(None);
        }
        let entry = normalized_words(&source.text);
        let query: String =
            source.title.as_ref().unwrap_or(&source.text).chars().take(QUERY_CHARS).collect();
        let cited = source.address.as_deref().and_then(page_key);
        let mut best: Option<(usize, &Arc<Folder>, SearchHit)> = None;
        for folder in &self.folders {
            for found in folder.search_lexical(&query, MAX_TITLES, &Filter::default())? {
                let title = normalized_words(&found.title);
                let is_distinctive =
                    title.trim().contains(' ') && title.len() >= DISTINCTIVE_TITLE_BYTES;
                let is_elsewhere = cited.is_some()
                    && page_key(&found.url).is_some_and(|page_key| Some(page_key) != cited);
                let is_longer = best.as_ref().is_none_or(|pair| pair.0 < title.len());
                if is_distinctive && is_longer && !is_elsewhere && entry.contains(&title) {
                    best = Some((title.len(), folder, found));
                }
            }
        }
        best.map(|(_, folder, found)| folder.page(found)).transpose()
    }
}

/// The words of a text in lower case, with a space around each.
fn normalized_words(text: &str) -> String {
    let mut out = String::from(" ");
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        out.push_str(&word.to_lowercase());
        out.push(' ');
    }
    out
}
