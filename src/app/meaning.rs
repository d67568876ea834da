//! What ranks by meaning: an embedding model, where its vectors are kept, and a reranker, as the settings name them.
use std::path::Path;
use std::sync::Arc;

use crate::adapters::folder::Meaning;
use crate::adapters::meaning::{HttpEmbedder, HttpReranker, Hybrid, Qdrant, Shape, SqliteVectors};
use crate::adapters::ranker::Lexical;
use crate::adapters::service::Access;
use crate::config::{Server, Settings};
use crate::error::{Error, Kind, Result};
use crate::seams::{Embedder, Ranker, VectorIndex};

/// Spelt before the directory of a model that runs here.
const LOCAL: &str = "local:";

/// The embedding model of the settings, where they name one. Nothing is sent yet.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a directory without a model, and for a key or an address that is missing.
pub fn embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>> {
    let named = &settings.embedding;
    let fault = |it: Error| {
        let hint = it.help().unwrap_or_default().to_owned();
        Error::new(it.kind(), "opening the embedding model")
            .because(it)
            .hint(hint)
    };
    if ["", "none"].contains(&named.model.as_str()) {
        return Ok(None);
    }
    if let Some(dir) = named.model.strip_prefix(LOCAL) {
        return local(Path::new(dir)).map(Some).map_err(fault);
    }
    let target = super::models::own_target(&named.model, settings, &named.endpoint());
    let opened = target.and_then(HttpEmbedder::open).map_err(fault)?;
    Ok(Some(Arc::new(opened)))
}

#[cfg(feature = "embed")]
fn local(dir: &Path) -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(crate::adapters::meaning::bert::Bert::open(dir)?))
}

#[cfg(not(feature = "embed"))]
fn local(dir: &Path) -> Result<Arc<dyn Embedder>> {
    Err(
        Error::new(Kind::Setup, format!("the model in {}: this ibid was built without embedding models", dir.display()))
            .hint("build it with the feature `embed`, or name a server, as in `openai:text-embedding-3-small`"),
    )
}

/// Who ranks: the reranker of the settings, else words and meaning where there is an `embedder`, else words alone.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a key or an address that is missing.
pub fn ranker(settings: &Settings, embedder: Option<Arc<dyn Embedder>>) -> Result<Arc<dyn Ranker>> {
    let named = &settings.rerank;
    if !["", "none"].contains(&named.model.as_str()) {
        return reranker(settings, named);
    }
    Ok(match embedder {
        Some(it) => Arc::new(Hybrid::new(it)),
        None => Arc::new(Lexical),
    })
}

fn reranker(settings: &Settings, named: &Server) -> Result<Arc<dyn Ranker>> {
    let (shape, model) = named
        .model
        .split_once([':', '/'])
        .unwrap_or((&named.model, ""));
    let Some((_, shape)) = Shape::ALL.into_iter().find(|it| it.0 == shape) else {
        let names = Shape::ALL.map(|it| it.0).join(", ");
        return Err(
            Error::new(Kind::Usage, format!("the reranker `{}`", named.model)).hint(format!(
                "write SHAPE:MODEL, with one of {names}, as in `cohere:rerank-v3.5`"
            )),
        );
    };
    let base_url = match named.base_url.as_str() {
        "" => shape.base_url(),
        own => own,
    };
    if base_url.is_empty() {
        let what = format!("no address is known for the reranker {}", named.model);
        return Err(Error::new(Kind::Setup, what).hint("set `rerank.base_url` to the server's URL"));
    }
    let key = match named.api_key_env.as_str() {
        "" => shape
            .key_vars()
            .iter()
            .find_map(|it| settings.variables.get(it)),
        own => settings.variables.get(own),
    };
    let needs_key = !shape.key_vars().is_empty() && named.base_url.is_empty();
    if key.is_none() && (needs_key || !named.api_key_env.is_empty()) {
        let variable = match named.api_key_env.as_str() {
            "" => shape.key_vars().join(" or "),
            own => own.to_owned(),
        };
        return Err(Error::new(
            Kind::Setup,
            format!("no key is set for the reranker {}", named.model),
        )
        .hint(format!("set {variable} to your key")));
    }
    let access = Access::bearer(base_url, key);
    Ok(Arc::new(HttpReranker::open(
        &named.model,
        shape,
        model,
        access,
    )?))
}

/// What makes and keeps the vectors of the folder at `path`.
///
/// # Errors
/// `Setup` where the vectors cannot be kept.
pub(super) async fn of_folder(
    settings: &Settings,
    path: &Path,
    embedder: &Arc<dyn Embedder>,
) -> Result<Meaning> {
    let vectors: Arc<dyn VectorIndex> = match settings.vectors.base_url.as_str() {
        "" => {
            let file = settings.cache_dir.join("vectors.db");
            let collection = format!("{} {}", embedder.name(), path.display());
            Arc::new(SqliteVectors::open(&file, &collection).await?)
        }
        url => {
            let key = settings.variables.get(&settings.vectors.api_key_env);
            let place = path.as_os_str().as_encoded_bytes();
            let collection =
                crate::adapters::folder::short_name(&[embedder.name().as_bytes(), place]);
            Arc::new(Qdrant::open(
                Access::bearer(url, key),
                &format!("ibid-{collection}"),
            )?)
        }
    };
    Ok(Meaning {
        embedder: Arc::clone(embedder),
        vectors,
    })
}
