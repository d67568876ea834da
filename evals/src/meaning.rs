//! Embedding models for measurements. Their vectors are kept in `target/evals`, so that they are made once.
use std::path::Path;
use std::sync::Arc;

use ibid::app::semantic;
use ibid::config::Settings;
use ibid_core::ports::Embedder;
use ibid_index::folder::{Folder, SemanticIndex};
use ibid_index::semantic::SqliteVectors;

/// The model that `embedding.model` would name so.
pub(crate) fn embedder(spec: &str) -> Result<Arc<dyn Embedder>, String> {
    let mut settings =
        Settings::defaults_in(&std::env::temp_dir()).map_err(|error| error.chain())?;
    settings.embedding.model = spec.to_owned();
    settings.variables = std::env::vars().collect();
    let found = semantic::embedder(&settings).map_err(|error| error.chain())?;
    found.ok_or_else(|| "name a model, as in `--embedder local:DIR`".to_owned())
}

/// `folder` with vectors of all its passages.
pub(crate) async fn learnt(
    folder: Folder,
    embedder: &Arc<dyn Embedder>,
    collection: &str,
) -> Result<Folder, String> {
    let name = format!("{} {collection}", embedder.name());
    let vectors = SqliteVectors::open(Path::new("target/evals/vectors.db"), &name)
        .await
        .map_err(|error| error.chain())?;
    let folder = folder.with_semantic_index(SemanticIndex {
        embedder: Arc::clone(embedder),
        vectors: Arc::new(vectors),
        max_passages: usize::MAX,
    });
    folder.update_vectors(&mut |_| {}).await.map_err(|error| error.chain())?;
    Ok(folder)
}
