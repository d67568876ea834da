//! The licences of the libraries in the program, as their packages bring them.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// Beginnings of the names of files that state a licence.
const NAMES: [&str; 6] = ["license", "licence", "copying", "notice", "unlicense", "copyright"];
/// Bytes of a file that is read; the longest licence in the tree has 40 kB.
const MAX_BYTES: u64 = 1 << 20;

/// A text with every component of `bill`, its licence, and each text of a licence once.
///
/// # Errors
/// A message that names the file that cannot be read.
pub(crate) fn notices(metadata: &Value, bill: &Value) -> Result<String, String> {
    let components = bill["components"].as_array().into_iter().flatten();
    let shipped: BTreeSet<(String, String)> =
        components.map(|it| (text(&it["name"]), text(&it["version"]))).collect();
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let key = (text(&package["name"]), text(&package["version"]));
        // The crates of this repository come under its own licence.
        if !shipped.contains(&key) || package["source"].is_null() {
            continue;
        }
        let name = format!("{} {}", key.0, key.1);
        let manifest = text(&package["manifest_path"]);
        let texts = texts_beside(Path::new(&manifest))?;
        let licence = package["license"].as_str().unwrap_or("see its text");
        let note = if texts.is_empty() { ", without a text in its package" } else { "" };
        let _ = writeln!(list, "{name}: {licence}{note}");
        for licence_text in texts {
            users.entry(licence_text).or_default().insert(name.clone());
        }
    }
    let mut out = format!("Libraries in this program and their licences\n\n{list}");
    let mut texts: Vec<(BTreeSet<String>, String)> =
        users.into_iter().map(|(text, users)| (users, text)).collect();
    texts.sort();
    for (users, text) in texts {
        let users: Vec<String> = users.into_iter().collect();
        let _ = write!(out, "\n{}\n{}:\n\n{}\n", "-".repeat(80), users.join(", "), text.trim_end());
    }
    Ok(out)
}

/// The texts of licences in the directory of a manifest.
fn texts_beside(manifest: &Path) -> Result<BTreeSet<String>, String> {
    let Some(dir) = manifest.parent() else {
        return Ok(BTreeSet::new());
    };
    let failed = |fault: std::io::Error| format!("{}: {fault}", dir.display());
    let mut paths = vec![dir.to_owned(), dir.join("LICENSES")];
    let mut texts = BTreeSet::new();
    while let Some(dir) = paths.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let in_licences = dir.ends_with("LICENSES");
            let is_licence = in_licences || NAMES.iter().any(|start| name.starts_with(start));
            let is_code = name.ends_with(".rs") || name.ends_with(".sh") || name.ends_with(".py");
            let about = entry.path().metadata().map_err(failed)?;
            if is_licence && !is_code && about.is_file() && about.len() <= MAX_BYTES {
                let bytes = std::fs::read(entry.path()).map_err(failed)?;
                texts.insert(String::from_utf8_lossy(&bytes).replace('\r', ""));
            }
        }
    }
    Ok(texts)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
