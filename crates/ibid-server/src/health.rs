//! Health checks for `ibid doctor` and the doctor page: what a run needs, and how to fix what is missing.
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::folder::resolve_folder;
use ibid::app::App;
use ibid::app::document_reader;
use ibid::app::document_reader::{Confinement, PdfBackend, SandboxEscapes};
use ibid::app::engines;
use ibid::app::health_checks;
use ibid::app::health_checks::CheckOutcome;
use ibid::app::models;
use ibid::app::semantic;
use ibid::config::{LoadedConfig, SETTINGS, SettingOrigin, Settings};
use ibid_core::Error;

/// Free disk space below which a run may fail, in bytes.
const LOW_BYTES: u64 = 1 << 30;
/// Free disk space below which the store may be unable to save a run, in bytes.
const TOO_LOW_BYTES: u64 = 50 << 20;
const SANDBOX: &str = "document sandbox";

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthState {
    /// It works.
    Ok,
    /// It may not work.
    Warning,
    /// It does not work.
    Error,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthFinding {
    /// What was checked.
    pub name: &'static str,
    /// Its state.
    pub state: HealthState,
    /// What was found.
    pub found: String,
    /// How to fix it.
    pub fix: Option<String>,
}

fn good(name: &'static str, found: impl Into<String>) -> HealthFinding {
    HealthFinding { name, state: HealthState::Ok, found: found.into(), fix: None }
}

fn problem(
    name: &'static str,
    state: HealthState,
    found: impl Into<String>,
    fix: impl Into<String>,
) -> HealthFinding {
    HealthFinding { name, state, found: found.into(), fix: Some(fix.into()) }
}

/// A failed check for `fault`, with the hint of the error or else `fix`.
pub fn finding_from_error(name: &'static str, fault: &Error, fix: &str) -> HealthFinding {
    problem(name, HealthState::Error, fault.chain(), fault.hint().unwrap_or(fix))
}

/// The checks that contact no service.
pub async fn local_findings(loaded: &LoadedConfig) -> Vec<HealthFinding> {
    let settings = &loaded.settings;
    let mut found = vec![good("settings", config_files(loaded))];
    found.extend(loaded.unknown.iter().map(|name| unknown(name)));
    found.push(writable("store", &settings.data_dir, "IBID_DATA_DIR"));
    found.push(integrity(loaded).await);
    found.push(writable("cache", &settings.cache_dir, "IBID_CACHE_DIR"));
    found.push(space(&settings.data_dir, "IBID_DATA_DIR"));
    if is_other_disk(&settings.cache_dir, &settings.data_dir) {
        found.push(space(&settings.cache_dir, "IBID_CACHE_DIR"));
    }
    found.extend(folders(loaded));
    found.push(pdf(settings));
    found.push(sandbox(settings));
    found
}

/// Checks every configured service with one request.
pub async fn service_findings(settings: &Settings) -> Vec<HealthFinding> {
    let outcomes = health_checks::run_all(settings).await;
    let mut found = model_findings(settings, outcomes.models);
    found.push(ranking(settings));
    found.extend(
        outcomes
            .ranking
            .into_iter()
            .map(|check_outcome| finding_from_outcome("ranking", check_outcome)),
    );
    found
        .extend(outcomes.engines.into_iter().map(|engine| finding_from_outcome("engines", engine)));
    found.push(free_engines(settings));
    if let Err(fault) = engines::resolve(settings, &settings.engines) {
        found.push(finding_from_error("engines", &fault, "correct the setting `engines`"));
    }
    found
        .extend(outcomes.readers.into_iter().map(|reader| finding_from_outcome("readers", reader)));
    found.extend(outcomes.pages.map(|pages| finding_from_outcome("pages", pages)));
    found.extend(outcomes.web.map(|web| finding_from_outcome("web", web)));
    found.extend(outcomes.clock.map(|clock| finding_from_outcome("clock", clock)));
    found
}

fn finding_from_outcome(name: &'static str, outcome: CheckOutcome) -> HealthFinding {
    let fix = "see docs/configuration.md";
    match outcome {
        CheckOutcome::Ok(text) => good(name, text),
        CheckOutcome::Error(fault) => finding_from_error(name, &fault, fix),
        CheckOutcome::Warning(fault) => {
            problem(name, HealthState::Warning, fault.chain(), fault.hint().unwrap_or(fix))
        }
    }
}

/// Lists the engines that need no setup, without contacting them.
fn free_engines(settings: &Settings) -> HealthFinding {
    let all = engines::statuses(settings);
    let free = all.iter().filter(|it| it.ready && !it.configured && it.in_auto);
    let free: Vec<&str> = free.map(|it| it.name).collect();
    let named = free.join(", ");
    good("engines", format!("{named} need no key; `ibid engines --try` tests them"))
}

/// The configured models with the outcome of each check.
fn model_findings(
    settings: &Settings,
    outcomes: Vec<(models::ModelStatus, Option<CheckOutcome>)>,
) -> Vec<HealthFinding> {
    if outcomes.is_empty() {
        let text = "none set: reports consist of sentences from the sources; see `model`";
        return vec![good("models", text)];
    }
    let key = settings.models_by_key;
    let why = key.map_or_else(String::new, |it| format!(", because {it} is set"));
    outcomes
        .into_iter()
        .flat_map(|(model, outcome)| {
            let roles: Vec<&str> = model.roles.iter().map(|role| role.as_str()).collect();
            let found = match &model.resolved {
                Ok(found) => found,
                Err(fault) => {
                    return vec![finding_from_error("models", fault, "set another model")];
                }
            };
            let price = if found.priced { "" } else { ", price unknown" };
            let text =
                format!("{} at {} for {}{price}{why}", model.spec, found.place, roles.join(", "));
            match outcome {
                Some(CheckOutcome::Ok(remark)) => {
                    vec![good("models", format!("{text}; {remark}"))]
                }
                Some(outcome) => {
                    vec![good("models", text), finding_from_outcome("models", outcome)]
                }
                None => vec![good("models", text)],
            }
        })
        .collect()
}

/// The configured ranking.
fn ranking(settings: &Settings) -> HealthFinding {
    let bundled = settings.embedding.model.is_empty();
    let embedder = match bundled {
        true => semantic::bundled_embedder(settings),
        false => semantic::embedder(settings),
    };
    let opened = embedder.and_then(|embedder| {
        Ok((embedder.clone(), semantic::ranker(settings, embedder, Vec::new(), None)?))
    });
    match opened {
        Ok((None, ranker)) => {
            let why = match settings.embedding.model.as_str() {
                "none" => "",
                _ => {
                    " (the model that comes with Ibid was not found: `models_dir` names its place)"
                }
            };
            good("ranking", format!("by words{why}; order by {}", ranker.name()))
        }
        Ok((Some(embedder), ranker)) => {
            let place = match settings.vectors.base_url.as_str() {
                "" => "the cache directory",
                url => url,
            };
            good(
                "ranking",
                format!(
                    "by words and by vectors of {} kept in {place}; order by {}",
                    embedder.name(),
                    ranker.name()
                ),
            )
        }
        Err(fault) => {
            let fix = match bundled {
                true => {
                    "restore the model that comes with Ibid, or set `embedding.model` to `none`"
                }
                false => "unset `embedding.model` and `rerank.model`",
            };
            finding_from_error("ranking", &fault, fix)
        }
    }
}

/// The reader of PDF documents, tested on a sample.
fn pdf(settings: &Settings) -> HealthFinding {
    let reader = document_reader::pdf_reader(settings);
    let named = match &reader {
        PdfBackend::Embedded => "the embedded reader".to_owned(),
        PdfBackend::Poppler { text, info: true } => format!("{} with pdfinfo", text.display()),
        PdfBackend::Poppler { text, info: false } => {
            format!("{} without pdfinfo, so titles are guessed", text.display())
        }
    };
    match document_reader::probe_pdf(settings) {
        Ok(()) => good("pdf", format!("read by {named}, in a child process")),
        Err(fault) => problem(
            "pdf",
            HealthState::Warning,
            format!("would be read by {named}, but the test failed: {}", fault.chain()),
            match reader {
                PdfBackend::Embedded => "reinstall ibid",
                PdfBackend::Poppler { .. } => {
                    "repair or remove that pdftotext; without one ibid uses its embedded reader"
                }
            },
        ),
    }
}

/// The sandbox of the document parsers, tested by a child process that tries to escape. Takes a moment.
pub fn sandbox(settings: &Settings) -> HealthFinding {
    match document_reader::probe_sandbox(settings) {
        Ok((confinement, escapes)) => sandbox_finding(confinement, escapes),
        Err(fault) => finding_from_error(SANDBOX, &fault, "reinstall ibid"),
    }
}

fn sandbox_finding(confinement: Confinement, escapes: SandboxEscapes) -> HealthFinding {
    let landlock = confinement.landlock.map(|landlock| format!("Landlock ABI {landlock}"));
    let seccomp = confinement.seccomp.then(|| "seccomp".to_owned());
    let layers: Vec<String> = landlock.into_iter().chain(seccomp).collect();
    let summary = if layers.is_empty() {
        "only limits on time, memory and files".to_owned()
    } else {
        layers.join(", ")
    };
    let can: Vec<&str> = [
        (escapes.read, "read files"),
        (escapes.write, "write files"),
        (escapes.network, "reach the network"),
        (escapes.program, "start programs"),
    ]
    .iter()
    .filter_map(|(possible, what)| possible.then_some(*what))
    .collect();
    if !can.is_empty() {
        let found = format!("{summary}; a document parser could {}", can.join(", "));
        let fix = "run ibid on Linux 5.13 or later where Landlock and seccomp are enabled";
        return problem(SANDBOX, HealthState::Warning, found, fix);
    }
    if layers.len() < 2 {
        let fix = "use Linux 5.13 or later with `landlock` among the security modules (`lsm=` on the kernel's command line)";
        return problem(SANDBOX, HealthState::Warning, summary, fix);
    }
    good(SANDBOX, summary)
}

fn config_files(loaded: &LoadedConfig) -> String {
    let files = &loaded.files;
    let user = Some(&files.user).filter(|it| it.exists());
    let read: Vec<String> = [user, files.project.as_ref(), files.env.as_ref()]
        .into_iter()
        .flatten()
        .map(|it| it.display().to_string())
        .collect();
    if read.is_empty() { "the defaults; no file found".to_owned() } else { read.join(", ") }
}

fn unknown(name: &str) -> HealthFinding {
    let near = SETTINGS
        .iter()
        .map(|setting| (strsim::jaro_winkler(name, &setting.env()), setting.env()))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let fix = match near {
        Some((close, near)) if close > 0.9 => format!("did you mean {near}?"),
        _ => format!("unset {name}, or see `ibid config get` for all settings"),
    };
    problem("settings", HealthState::Warning, format!("{name} is not a setting"), fix)
}

/// The nearest existing directory of `dir`.
fn existing_ancestor(dir: &Path) -> PathBuf {
    dir.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(dir).to_owned()
}

fn writable(name: &'static str, dir: &Path, variable: &str) -> HealthFinding {
    let place = existing_ancestor(dir);
    let probe = place.join(format!(".ibid-doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid");
    // A full disk leaves an empty file. Remove it, but report the first error.
    let removed = match std::fs::remove_file(&probe) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(()),
        it => it,
    };
    match written.and(removed) {
        Ok(()) if place == dir => good(name, format!("{} can be written", dir.display())),
        Ok(()) => good(name, format!("{} will be created when needed", dir.display())),
        Err(fault) => problem(
            name,
            HealthState::Error,
            format!("{} cannot be written: {fault}", dir.display()),
            write_fix(fault.kind(), &place, variable),
        ),
    }
}

/// How to make `place` writable after an error of this kind.
fn write_fix(kind: ErrorKind, place: &Path, variable: &str) -> String {
    let first = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some disk space".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "mount it for writing".to_owned(),
        ErrorKind::NotADirectory => format!("move {} away", place.display()),
        ErrorKind::PermissionDenied => format!("chmod u+rwx {}", place.display()),
        _ => format!("make {} writable", place.display()),
    };
    format!("{first}, or set {variable} to another directory")
}

async fn integrity(loaded: &LoadedConfig) -> HealthFinding {
    let checked = match App::open(loaded.settings.clone()).await {
        Ok(app) => app.check_store().await,
        Err(fault) => Err(fault),
    };
    match checked {
        Ok(Some(place)) => good("database", format!("{place} is intact")),
        Ok(None) => good("database", "none yet; the first run creates it"),
        Err(fault) => finding_from_error(
            "database",
            &fault,
            "move the file away; the next run creates a new one",
        ),
    }
}

/// Whether two directories are on different disks, or would be once created.
fn is_other_disk(one: &Path, other: &Path) -> bool {
    let disk = |it| rustix::fs::stat(existing_ancestor(it)).map(|it| it.st_dev).ok();
    disk(one) != disk(other)
}

fn space(dir: &Path, variable: &str) -> HealthFinding {
    let place = existing_ancestor(dir);
    let free = match rustix::fs::statvfs(&place) {
        Ok(it) => it.f_bavail.saturating_mul(it.f_frsize),
        Err(fault) => {
            return problem(
                "disk",
                HealthState::Warning,
                format!("free space at {} is unknown: {fault}", place.display()),
                "check it with df -h",
            );
        }
    };
    space_finding(free, &place, variable)
}

fn space_finding(free: u64, place: &Path, variable: &str) -> HealthFinding {
    let found = format!("{:.1} GB free at {}", free as f64 / 1e9, place.display());
    let fix = format!("free some space, or set {variable} to a directory on another disk");
    match free {
        free if free < TOO_LOW_BYTES => problem("disk", HealthState::Error, found, fix),
        free if free < LOW_BYTES => problem("disk", HealthState::Warning, found, fix),
        _ => good("disk", found),
    }
}

fn folders(loaded: &LoadedConfig) -> Vec<HealthFinding> {
    if loaded.settings.folders.is_empty() {
        return vec![good("folders", "none set; name one with --folder")];
    }
    loaded
        .settings
        .folders
        .iter()
        .map(|path| match resolve_folder("folders", path) {
            Ok(path) => good("folders", format!("{path} can be read")),
            Err(fault) => finding_from_error("folders", &fault, "correct the setting `folders`"),
        })
        .collect()
}

/// Name, value and origin of every setting that differs from its default.
pub fn changed_settings(loaded: &LoadedConfig) -> Vec<(String, String, String)> {
    loaded
        .resolved
        .rows()
        .filter(|row| *row.2 != SettingOrigin::Default)
        .map(|(setting, value, origin)| {
            (setting.name.to_owned(), value.to_display_string(), origin.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_fixed_by_a_permission() {
        let fix = write_fix(ErrorKind::StorageFull, Path::new("/data"), "IBID_DATA_DIR");
        assert_eq!(fix, "free some disk space, or set IBID_DATA_DIR to another directory");
        let fix = write_fix(ErrorKind::PermissionDenied, Path::new("/data"), "IBID_DATA_DIR");
        assert!(fix.starts_with("chmod u+rwx /data"), "{fix}");
    }

    #[test]
    fn a_disk_that_is_nearly_full_is_told_before_a_run_fails_for_it() {
        let of = |free| space_finding(free, Path::new("/cache"), "IBID_CACHE_DIR");
        assert_eq!(of(2 << 30).state, HealthState::Ok);
        let low = of(800 << 20);
        assert_eq!(low.state, HealthState::Warning);
        assert!(low.fix.unwrap().contains("IBID_CACHE_DIR"));
        assert_eq!(of(20 << 20).state, HealthState::Error);
        assert!(!is_other_disk(Path::new("/proc/self"), Path::new("/proc")));
        assert!(is_other_disk(Path::new("/proc"), Path::new("/")));
    }

    #[test]
    fn a_wall_that_is_missing_is_told_with_what_would_mend_it() {
        let both = Confinement { landlock: Some(7), seccomp: true };
        let held = SandboxEscapes::default();
        assert_eq!(sandbox_finding(both, held).state, HealthState::Ok);
        let one = Confinement { landlock: None, seccomp: true };
        let found = sandbox_finding(one, held);
        assert_eq!((found.state, &*found.found), (HealthState::Warning, "seccomp"));
        assert!(found.fix.unwrap().contains("landlock"));
        let read = SandboxEscapes { read: true, ..held };
        assert!(sandbox_finding(one, read).found.contains("read files"));
    }

    #[test]
    fn the_probe_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        writable("data", dir.path(), "IBID_DATA_DIR");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
