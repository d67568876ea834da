//! The embedding model, the vector index and the reranker of the settings.
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::known_models::BUNDLED;
use crate::config::{ServiceConfig, Settings};
use ibid_core::ports::{Embedder, PairScorer, Ranker, VectorIndex};
use ibid_core::{Error, ErrorKind, Result};
use ibid_index::folder::{SemanticIndex, passage_keys, vector_key};
use ibid_index::ranker::LexicalRanker;
use ibid_index::semantic::{
    HttpEmbedder, HttpReranker, HybridRanker, QdrantVectors, RerankApi, SentenceVectors,
    SqliteVectors,
};
use ibid_net::service::ServiceAccess;

#[cfg(feature = "embed")]
use ibid_encoder::Bert as LocalModel;
// Any type: without the feature `embed`, no model is ever loaded.
#[cfg(not(feature = "embed"))]
use ibid_index::semantic::HttpEmbedder as LocalModel;

/// The prefix of the directory of a model that runs in this process.
pub(super) const LOCAL: &str = "local:";

/// The embedding model of the settings, else the one that comes with Ibid, if it is found. Makes no call.
///
/// # Errors
/// `Usage` for an invalid name, `Setup` for a directory without a model and for a missing key or address.
pub fn embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>> {
    let named = &settings.embedding;
    let with_context = |cause: Error| {
        let hint = cause.hint().unwrap_or_default().to_owned();
        Error::new(cause.kind(), "opening the embedding model").with_source(cause).with_hint(hint)
    };
    if named.model == "none" {
        return Ok(None);
    }
    if named.model.is_empty() {
        // A damaged model is no reason to answer no question; `doctor` names the fault.
        return Ok(bundled_embedder(settings).ok().flatten());
    }
    if let Some(dir) = named.model.strip_prefix(LOCAL) {
        let opened = local(Path::new(dir)).map_err(with_context)?;
        return Ok(Some(opened as Arc<dyn Embedder>));
    }
    let target = super::models::role_target(&named.model, settings, &named.endpoint());
    let opened = target.and_then(HttpEmbedder::open).map_err(with_context)?;
    Ok(Some(Arc::new(opened)))
}

/// The model that comes with Ibid, if it is found. It is read once in a process.
///
/// # Errors
/// `Setup` if it is damaged.
pub fn bundled_embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>> {
    Ok(bundled_model(settings)?.map(|it| it as Arc<dyn Embedder>))
}

/// The cross-encoder that comes with Ibid, if it is found and `rerank.model` does not say `none`.
///
/// # Errors
/// `Setup` if it is damaged.
pub fn bundled_pair_scorer(settings: &Settings) -> Result<Option<Arc<dyn PairScorer>>> {
    if settings.rerank.model == "none" {
        return Ok(None);
    }
    let Some(model) = bundled_model(settings)? else {
        return Ok(None);
    };
    pair_scorer_of(&model)
}

/// The model that comes with Ibid, if it is found. It is read once in a process.
fn bundled_model(settings: &Settings) -> Result<Option<Arc<LocalModel>>> {
    type Loaded = Mutex<Option<(PathBuf, Arc<LocalModel>)>>;
    static LOADED: Loaded = Mutex::new(None);
    let Some(dir) = bundled_dir(settings) else {
        return Ok(None);
    };
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, model)) = loaded.as_ref().filter(|it| it.0 == dir) {
        return Ok(Some(Arc::clone(model)));
    }
    let model = local(&dir)?;
    *loaded = Some((dir, Arc::clone(&model)));
    Ok(Some(model))
}

/// The directory of the model that comes with Ibid: below `models_dir`; else in `models` beside the program or beside the `target`
/// that it was built in, or in `share/ibid/models`, as in a package; else where `ibid models get` installs models.
pub(super) fn bundled_dir(settings: &Settings) -> Option<PathBuf> {
    if cfg!(not(feature = "embed")) {
        return None;
    }
    let places: Vec<PathBuf> = match settings.models_dir.as_os_str().is_empty() {
        false => vec![settings.models_dir.clone()],
        true => {
            let program = std::env::current_exe().ok()?;
            let beside = program.parent()?;
            let target =
                program.ancestors().find(|dir| dir.file_name().is_some_and(|it| it == "target"));
            let package = beside.parent().map(|dir| dir.join("share/ibid/models"));
            let built = target.and_then(Path::parent).map(|dir| dir.join("models"));
            let installed = Some(settings.data_dir.join("models"));
            [Some(beside.join("models")), package, built, installed].into_iter().flatten().collect()
        }
    };
    places
        .into_iter()
        .map(|dir| dir.join(BUNDLED))
        .find(|dir| dir.join("model.safetensors").is_file())
}

/// Loads the model in `dir` and embeds a sentence with it.
///
/// # Errors
/// `Setup` if the directory holds no model that can be used.
pub(super) async fn try_local(dir: &Path) -> Result<()> {
    let model: Arc<dyn Embedder> = local(dir)?;
    let vectors = model.embed(&["Rain fell on the roof for two days."]).await?;
    let sound = |vector: &Vec<f32>| vector.iter().all(|value| value.is_finite());
    let any = |vector: &Vec<f32>| vector.iter().any(|value| *value != 0.0);
    if vectors.first().is_some_and(|vector| sound(vector) && any(vector)) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Setup,
        format!("embedding a sentence with the model in {}", dir.display()),
    )
    .with_source("the vector has no direction")
    .with_hint("the weights may be damaged or of another model; get it from its publisher"))
}

#[cfg(feature = "embed")]
fn local(dir: &Path) -> Result<Arc<LocalModel>> {
    Ok(Arc::new(ibid_encoder::Bert::open(dir)?))
}

#[cfg(feature = "embed")]
fn pair_scorer_of(model: &LocalModel) -> Result<Option<Arc<dyn PairScorer>>> {
    Ok(model.cross_encoder()?.map(|it| Arc::new(it) as Arc<dyn PairScorer>))
}

#[cfg(not(feature = "embed"))]
fn pair_scorer_of(_: &LocalModel) -> Result<Option<Arc<dyn PairScorer>>> {
    Ok(None)
}

#[cfg(not(feature = "embed"))]
fn local(dir: &Path) -> Result<Arc<LocalModel>> {
    Err(
        Error::new(ErrorKind::Setup, format!("the model in {}: this ibid was built without embedding models", dir.display()))
            .with_hint("build it with the feature `embed`, or name a server, as in `openai:text-embedding-3-small`"),
    )
}

/// The ranker: the reranker of the settings, else a hybrid ranker where there is an `embedder`, else the lexical ranker. `stored` has the
/// vectors of the folders that are searched, `sentences` those of sentences of their documents.
///
/// # Errors
/// `Usage` for an invalid name, `Setup` for a missing key or address.
pub fn ranker(
    settings: &Settings,
    embedder: Option<Arc<dyn Embedder>>,
    stored: Vec<Arc<dyn VectorIndex>>,
    sentences: Option<SentenceVectors>,
) -> Result<Arc<dyn Ranker>> {
    let named = &settings.rerank;
    if !["", "none"].contains(&named.model.as_str()) {
        return reranker(settings, named);
    }
    Ok(match embedder {
        // A damaged adapter is no reason to answer no question: the run says so, and words decide alone.
        Some(it) => {
            let settings = settings.clone();
            let ranker = HybridRanker::new(it, Arc::new(move || bundled_pair_scorer(&settings)));
            let ranker = ranker.with_stored_vectors(stored, passage_keys);
            Arc::new(ranker.with_sentence_vectors(sentences))
        }
        None => Arc::new(LexicalRanker),
    })
}

fn reranker(settings: &Settings, named: &ServiceConfig) -> Result<Arc<dyn Ranker>> {
    let (api_name, model) = named.model.split_once([':', '/']).unwrap_or((&named.model, ""));
    let Some((_, api)) = RerankApi::ALL.into_iter().find(|pair| pair.0 == api_name) else {
        let names = RerankApi::ALL.map(|pair| pair.0).join(", ");
        return Err(Error::new(ErrorKind::Usage, format!("unknown reranker `{}`", named.model))
            .with_hint(format!(
                "write API:MODEL with one of {names}, as in `cohere:rerank-v3.5`"
            )));
    };
    let base_url = match named.base_url.as_str() {
        "" => api.base_url(),
        own => own,
    };
    if base_url.is_empty() {
        let what = format!("no address is known for the reranker {}", named.model);
        return Err(Error::new(ErrorKind::Setup, what)
            .with_hint("set `rerank.base_url` to the server's URL"));
    }
    let key = match named.api_key_env.as_str() {
        "" => api.key_vars().iter().find_map(|key_var| settings.variables.get(key_var)),
        own => settings.variables.get(own),
    };
    let needs_key = !api.key_vars().is_empty() && named.base_url.is_empty();
    if key.is_none() && (needs_key || !named.api_key_env.is_empty()) {
        let variable = match named.api_key_env.as_str() {
            "" => api.key_vars().join(" or "),
            own => own.to_owned(),
        };
        return Err(Error::new(
            ErrorKind::Setup,
            format!("no key is set for the reranker {}", named.model),
        )
        .with_hint(format!("set {variable} to your key")));
    }
    let access = ServiceAccess::bearer(base_url, key);
    Ok(Arc::new(HttpReranker::open(&named.model, api, model, access)?))
}

/// Sentences whose vectors are stored: 30 MB with 384 numbers each. Beyond, they begin anew.
const MAX_STORED_SENTENCES: usize = 20_000;
/// How the names of their collections end.
const SENTENCES: &str = " sentences";

/// Where the vectors of sentences of folders are stored, for `user` alone where there are several. `None` where vectors are stored
/// elsewhere, or cannot be stored: then sentences are embedded in each run.
pub(super) async fn sentence_vectors(
    settings: &Settings,
    embedder: &Arc<dyn Embedder>,
    user: Option<&str>,
) -> Option<SentenceVectors> {
    if !settings.vectors.base_url.is_empty() {
        return None;
    }
    let collection = format!("{} {}{SENTENCES}", embedder.name(), user.unwrap_or_default());
    let file = vectors_file(settings);
    let opened = SqliteVectors::open_bounded(&file, &collection, MAX_STORED_SENTENCES).await;
    opened.ok().map(|it| SentenceVectors { index: Arc::new(it), key: vector_key })
}

/// Removes the vectors of the folder at `path`, and those of sentences.
///
/// # Errors
/// `Setup` if the file cannot be written.
pub(super) async fn remove_vectors(settings: &Settings, path: &Path) -> Result<()> {
    let endings = [format!(" {}", path.display()), SENTENCES.to_owned()];
    SqliteVectors::remove_collections(&vectors_file(settings), &endings).await
}

fn vectors_file(settings: &Settings) -> PathBuf {
    settings.cache_dir.join("vectors.db")
}

/// Where the vectors of a folder are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorStorage {
    /// In the file; an error where it cannot be written.
    File,
    /// In the file, or in memory where it cannot be written: no question ends for it.
    FileOrMemory,
}

/// The semantic index of the folder at `path`.
///
/// # Errors
/// `Setup` if its vectors cannot be stored.
pub(super) async fn folder_vectors(
    settings: &Settings,
    path: &Path,
    embedder: &Arc<dyn Embedder>,
    storage: VectorStorage,
) -> Result<SemanticIndex> {
    let vectors: Arc<dyn VectorIndex> = match settings.vectors.base_url.as_str() {
        "" => {
            let file = vectors_file(settings);
            let collection = format!("{} {}", embedder.name(), path.display());
            Arc::new(match SqliteVectors::open(&file, &collection).await {
                Err(_) if storage == VectorStorage::FileOrMemory => {
                    SqliteVectors::in_memory(&collection).await?
                }
                opened => opened?,
            })
        }
        url => {
            let key = settings.variables.get(&settings.vectors.api_key_env);
            let place = path.as_os_str().as_encoded_bytes();
            let collection = ibid_index::folder::short_name(&[embedder.name().as_bytes(), place]);
            Arc::new(QdrantVectors::open(
                ServiceAccess::bearer(url, key),
                &format!("ibid-{collection}"),
            )?)
        }
    };
    let max_passages = settings.vectors.max_passages as usize;
    Ok(SemanticIndex { embedder: Arc::clone(embedder), vectors, max_passages })
}
