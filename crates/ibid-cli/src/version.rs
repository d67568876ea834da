//! `ibid version`: which build of Ibid this is.
use serde_json::{Value, json};

use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use ibid::app::embedding_models::bundled_files;
use ibid::config::{ProcessEnv, layers};
use ibid_core::Result;

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The platform that it was built for, as Rust names it.
const TARGET: &str = env!("IBID_TARGET");
/// The commit that it was built from. Only `cargo xtask dist` knows it.
const COMMIT: Option<&str> = option_env!("SOURCE_COMMIT");

/// `ibid version`.
pub(super) fn version(as_json: bool, env: &ProcessEnv, console: Console) -> CommandResult {
    if as_json {
        console.print_line(&describe(env)?.to_string())?;
    } else {
        let commit = COMMIT.map(|commit| format!("commit {commit}, ")).unwrap_or_default();
        console.print_line(&format!(
            "ibid {VERSION} ({commit}{TARGET}, features: {})",
            features().join(" ")
        ))?;
    }
    Ok(ExitStatus::Delivered)
}

/// The optional parts that this build has, by the names of their Cargo features.
fn features() -> Vec<&'static str> {
    let all = [
        ("embed", cfg!(feature = "embed")),
        ("fleet", cfg!(feature = "fleet")),
        ("object-store", cfg!(feature = "object-store")),
        ("pdf", cfg!(feature = "pdf")),
    ];
    all.into_iter().filter(|feature| feature.1).map(|feature| feature.0).collect()
}

fn describe(env: &ProcessEnv) -> Result<Value> {
    let models: Vec<Value> = bundled_files(&layers::load(env, &[])?.settings)?
        .into_iter()
        .map(|model| json!({"name": model.name, "files": model.files}))
        .collect();
    Ok(json!({
        "name": "ibid",
        "version": VERSION,
        "commit": COMMIT,
        "target": TARGET,
        "features": features(),
        "models": models,
    }))
}
