//! The embedding models on this machine: which there are, and how further ones are installed.
//!
//! A model is a directory with three files. It is installed if the SHA-256 of its files are those that are pinned here, or if
//! that of its weights is the one that the user names, and if it embeds a sentence.
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::known_models::{KNOWN, MODEL_FILES, WEIGHTS, known_model};
use super::model_source::{ModelSource, ProgressBytes};
use super::semantic;
use crate::config::Settings;
use ibid_core::files::create_private_dir;
use ibid_core::{Error, ErrorKind, Result};

/// Characters of a model's name.
const MAX_NAME_CHARS: usize = 100;

/// An embedding model that Ibid knows or finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmbeddingModelInfo {
    /// Its name.
    pub name: String,
    /// Its directory, if it is installed.
    pub path: Option<PathBuf>,
    /// Bytes of its files, or of what would be downloaded.
    pub bytes: u64,
    /// The languages it was trained on, if known.
    pub languages: Option<String>,
    /// Its licence, if known.
    pub licence: Option<String>,
    /// Whether its SHA-256 are pinned in this version of Ibid.
    pub pinned: bool,
    /// Whether it comes with Ibid.
    pub bundled: bool,
    /// Whether it is installed.
    pub installed: bool,
    /// Whether the settings choose it.
    pub in_use: bool,
}

/// The directory in which models are installed: `models_dir`, else `models` in the data directory.
pub fn models_folder(settings: &Settings) -> PathBuf {
    match settings.models_dir.as_os_str().is_empty() {
        true => settings.data_dir.join("models"),
        false => settings.models_dir.clone(),
    }
}

/// The models that Ibid knows and those that are installed, in the order of names.
///
/// # Errors
/// `Setup` if the directory of models cannot be read.
pub fn list(settings: &Settings) -> Result<Vec<EmbeddingModelInfo>> {
    let folder = models_folder(settings);
    let mut found: Vec<EmbeddingModelInfo> = Vec::new();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(why) => {
            let doing = format!("listing the models in {}", folder.display());
            return Err(Error::new(ErrorKind::Setup, doing).with_source(why));
        }
    };
    let bundled = semantic::bundled_dir(settings);
    for path in entries.into_iter().chain(bundled.clone()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_known = found.iter().any(|other| other.name == name);
        if !is_known && !name.starts_with('.') && path.join(WEIGHTS).is_file() {
            found.push(describe(settings, &name, Some(path), bundled.as_deref()));
        }
    }
    for known in &KNOWN {
        if found.iter().all(|other| other.name != known.name) {
            found.push(describe(settings, known.name, None, None));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The files of a model that the program finds beside itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The name of the model.
    pub name: String,
    /// The SHA-256 of each file, by name.
    pub files: BTreeMap<String, String>,
}

/// The files of the model that comes with Ibid; none if it is not found.
///
/// # Errors
/// `Setup` if a file cannot be read.
pub fn bundled_files(settings: &Settings) -> Result<Vec<ModelFiles>> {
    let Some(dir) = semantic::bundled_dir(settings) else {
        return Ok(Vec::new());
    };
    let reading = |why: std::io::Error| {
        let doing = format!("reading the model in {}", dir.display());
        Error::new(ErrorKind::Setup, doing).with_source(why)
    };
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&dir).map_err(reading)? {
        let path = entry.map_err(reading)?.path();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        if name.ends_with(".json") || name.ends_with(".safetensors") {
            files.insert(name, sha256(&path).map_err(reading)?);
        }
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(vec![ModelFiles { name, files }])
}

fn describe(
    settings: &Settings,
    name: &str,
    path: Option<PathBuf>,
    bundled: Option<&Path>,
) -> EmbeddingModelInfo {
    let known = known_model(name);
    let size = |path: &Path| {
        let bytes = |file: &str| std::fs::metadata(path.join(file)).map_or(0, |it| it.len());
        MODEL_FILES.iter().map(|file| bytes(file)).sum()
    };
    let is_bundled = path.is_some() && path.as_deref() == bundled;
    let in_use = match settings.embedding.model.strip_prefix(semantic::LOCAL) {
        Some(chosen) => path.as_deref().is_some_and(|path| is_same_dir(path, Path::new(chosen))),
        None => is_bundled && settings.embedding.model.is_empty(),
    };
    EmbeddingModelInfo {
        name: name.to_owned(),
        bytes: path.as_deref().map_or_else(|| known.map_or(0, |known| known.bytes), size),
        languages: known.map(|known| known.languages.to_owned()),
        licence: known.map(|known| known.licence.to_owned()),
        pinned: known.is_some(),
        bundled: is_bundled,
        installed: path.is_some(),
        in_use,
        path,
    }
}

fn is_same_dir(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(a) == real(b)
}

/// What to install.
#[derive(Debug, Clone, Default)]
pub struct ModelInstall {
    /// The name of a known model, a directory, a zip archive, or a URL of either.
    pub from: String,
    /// The name to install it under, if not that of the source.
    pub name: Option<String>,
    /// The SHA-256 of its weights.
    pub sha256: Option<String>,
}

/// Installs a model and returns its directory. `on_progress` reports the bytes that have arrived of each file.
///
/// # Errors
/// `Usage` for a source that is none of these, and where no SHA-256 is known; `Malformed` for one that differs; `Setup` for files
/// that cannot be read or written, or that are no model; the errors of the download.
pub async fn install(
    settings: &Settings,
    request: &ModelInstall,
    on_progress: &mut ProgressBytes<'_>,
) -> Result<PathBuf> {
    let (source, own_name) = ModelSource::from_request(&request.from)?;
    let name = request.name.clone().unwrap_or(own_name);
    check_name(&name)?;
    let folder = models_folder(settings);
    let target = folder.join(&name);
    let writing = |why: std::io::Error| {
        Error::new(ErrorKind::Setup, format!("writing the model {name} in {}", folder.display()))
            .with_source(why)
            .with_hint(
                "free some disk space, or name a directory that you may write to with `models_dir`",
            )
    };
    create_private_dir(&folder).map_err(writing)?;
    let staging = Staging(folder.join(format!(".{name}.{}.new", std::process::id())));
    staging.create().map_err(writing)?;
    source.copy_to(settings, &staging.0, on_progress).await?;
    let hashes = file_hashes(&staging.0).map_err(writing)?;
    verify(&name, request, &hashes)?;
    semantic::try_local(&staging.0).await?;
    if target.exists() {
        let installed = sha256(&target.join(WEIGHTS)).map_err(writing)?;
        if installed != hashes[2] {
            // Vectors are stored by the name of their model.
            let what = format!("a model called {name} with other weights is installed");
            return Err(Error::new(ErrorKind::Setup, what)
                .with_source(format!(
                    "its SHA-256 is {installed}, that of the new one {}",
                    hashes[2]
                ))
                .with_hint("give the new one another name: --name NAME"));
        }
        std::fs::remove_dir_all(&target).map_err(writing)?;
    }
    std::fs::rename(&staging.0, &target).map_err(writing)?;
    Ok(target)
}

/// A directory that is removed unless it is renamed.
struct Staging(PathBuf);

impl Staging {
    fn create(&self) -> std::io::Result<()> {
        if self.0.exists() {
            std::fs::remove_dir_all(&self.0)?;
        }
        create_private_dir(&self.0)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A name that is one directory and cannot be mistaken for an option, an address or a hidden file.
fn check_name(name: &str) -> Result<()> {
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(sound);
    if fits && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name != "default" {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("`{name}` cannot be the name of a model"))
        .with_hint("give it one of letters, digits, dots and hyphens: --name NAME"))
}

/// The SHA-256 of [`MODEL_FILES`] in `dir`.
fn file_hashes(dir: &Path) -> std::io::Result<[String; 3]> {
    let [config, tokenizer, weights] = MODEL_FILES.map(|file| sha256(&dir.join(file)));
    Ok([config?, tokenizer?, weights?])
}

fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Compares the hashes of the files of a model with those that are pinned and with the one that the user names.
fn verify(name: &str, request: &ModelInstall, hashes: &[String; 3]) -> Result<()> {
    let differs = |file: &str, wanted: &str, found: &str| {
        Err(Error::new(ErrorKind::Malformed, format!("checking {file} of the model {name}"))
            .with_source(format!("its SHA-256 is {found}, not {wanted}"))
            .with_hint("get it from its publisher; nothing was installed"))
    };
    let weights = &hashes[2];
    if let Some(wanted) = &request.sha256
        && !wanted.eq_ignore_ascii_case(weights)
    {
        return differs(WEIGHTS, wanted, weights);
    }
    let Some(known) = known_model(name) else {
        return match &request.sha256 {
            Some(_) => Ok(()),
            None => Err(Error::new(
                ErrorKind::Usage,
                format!("no SHA-256 is known for the model {name}; nothing was installed"),
            )
            .with_source(format!("that of its {WEIGHTS} is {weights}"))
            .with_hint(format!(
                "compare it with the one that the publisher states, and give it: --sha256 {weights}"
            ))),
        };
    };
    let same = |pins: &&[&str; 3]| pins[2] == weights.as_str();
    let pins = known.pins.iter().find(same).unwrap_or(&known.pins[0]);
    // The weights first: they are what most differs.
    for nth in [2, 1, 0] {
        if pins[nth] != hashes[nth] {
            return differs(MODEL_FILES[nth], pins[nth], &hashes[nth]);
        }
    }
    Ok(())
}

/// The value of `embedding.model` that chooses the model called `name`, after it has embedded a sentence; `None` for `default`
/// and for the model that comes with Ibid.
///
/// # Errors
/// `NotFound` if it is not installed, `Setup` if it cannot be used.
pub async fn choose(settings: &Settings, name: &str) -> Result<Option<String>> {
    if name == "default" {
        return Ok(None);
    }
    let installed = list(settings)?.into_iter().find(|it| it.name == name);
    let is_bundled = installed.as_ref().is_some_and(|it| it.bundled);
    let Some(path) = installed.and_then(|it| it.path) else {
        return Err(Error::new(ErrorKind::NotFound, format!("the model {name} is not installed"))
            .with_hint(format!("see `ibid models ls`, and install it: ibid models get {name}")));
    };
    semantic::try_local(&path).await?;
    if is_bundled {
        return Ok(None);
    }
    let path = path.canonicalize().unwrap_or(path);
    Ok(Some(format!("{}{}", semantic::LOCAL, path.display())))
}
