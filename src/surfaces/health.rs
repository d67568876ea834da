//! Whether everything a run needs is there, and the exact fix where it is not.
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::folder::folder;
use crate::app::App;
use crate::app::engines;
use crate::app::meaning;
use crate::app::models;
use crate::app::reading::{self, Confinement, Escapes, PdfReader};
use crate::app::trials::{self, Outcome};
use crate::config::{Loaded, Origin, SETTINGS, Settings};
use crate::error::Error;

/// Free space below which a run may fail for want of it.
const LOW_BYTES: u64 = 1 << 30;
/// Free space below which the store cannot be trusted to take a run.
const TOO_LOW_BYTES: u64 = 50 << 20;
const SANDBOX: &str = "document sandbox";

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// It may do, or not.
    Doubtful,
    /// It will not do.
    Bad,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// How to mend it.
    pub fix: Option<String>,
}

fn good(name: &'static str, found: impl Into<String>) -> Finding {
    Finding {
        name,
        state: State::Good,
        found: found.into(),
        fix: None,
    }
}

fn amiss(
    name: &'static str,
    state: State,
    found: impl Into<String>,
    fix: impl Into<String>,
) -> Finding {
    Finding {
        name,
        state,
        found: found.into(),
        fix: Some(fix.into()),
    }
}

/// What a fault says, with its own hint or this one.
pub fn of_error(name: &'static str, fault: &Error, fix: &str) -> Finding {
    amiss(name, State::Bad, fault.chain(), fault.help().unwrap_or(fix))
}

/// What can be seen without asking anybody outside.
pub async fn inside(loaded: &Loaded) -> Vec<Finding> {
    let settings = &loaded.settings;
    let mut found = vec![good("settings", files(loaded))];
    found.extend(loaded.unknown.iter().map(|name| unknown(name)));
    found.push(writable("store", &settings.data_dir, "IBID_DATA_DIR"));
    found.push(integrity(loaded).await);
    found.push(writable("cache", &settings.cache_dir, "IBID_CACHE_DIR"));
    found.push(space(&settings.data_dir, "IBID_DATA_DIR"));
    if is_elsewhere(&settings.cache_dir, &settings.data_dir) {
        found.push(space(&settings.cache_dir, "IBID_CACHE_DIR"));
    }
    found.extend(folders(loaded));
    found.push(pdf(settings));
    found.push(sandbox(settings));
    found
}

/// Everybody that is set up, each asked once.
pub async fn outside(settings: &Settings) -> Vec<Finding> {
    let asked = trials::all(settings).await;
    let mut found = minds(settings, asked.models);
    found.push(ranking(settings));
    found.extend(
        asked
            .ranking
            .into_iter()
            .map(|it| of_outcome("ranking", it)),
    );
    found.extend(
        asked
            .engines
            .into_iter()
            .map(|it| of_outcome("engines", it)),
    );
    found.push(free_engines(settings));
    if let Err(fault) = engines::resolve(settings, &settings.engines) {
        found.push(of_error("engines", &fault, "mend the setting `engines`"));
    }
    found.extend(
        asked
            .readers
            .into_iter()
            .map(|it| of_outcome("readers", it)),
    );
    found.extend(asked.web.map(|it| of_outcome("web", it)));
    found.extend(asked.clock.map(|it| of_outcome("clock", it)));
    found
}

fn of_outcome(name: &'static str, outcome: Outcome) -> Finding {
    let fix = "see docs/configuration.md";
    match outcome {
        Outcome::Good(said) => good(name, said),
        Outcome::Bad(fault) => of_error(name, &fault, fix),
        Outcome::Doubtful(fault) => amiss(
            name,
            State::Doubtful,
            fault.chain(),
            fault.help().unwrap_or(fix),
        ),
    }
}

/// The engines that need nothing; they are only named.
fn free_engines(settings: &Settings) -> Finding {
    let all = engines::standing(settings);
    let free = all
        .iter()
        .filter(|it| it.ready && !it.configured && it.by_itself);
    let free: Vec<&str> = free.map(|it| it.name).collect();
    let named = free.join(", ");
    good(
        "engines",
        format!("{named} need no key; `ibid engines --try` asks them"),
    )
}

/// The models that are set, and what their providers say of them.
fn minds(settings: &Settings, asked: Vec<(models::Standing, Option<Outcome>)>) -> Vec<Finding> {
    if asked.is_empty() {
        let text = "none set: reports are made of the sources' own sentences; see `model`";
        return vec![good("models", text)];
    }
    let by_key = settings.models_by_key;
    let why = by_key.map_or_else(String::new, |it| format!(", because {it} is set"));
    asked
        .into_iter()
        .flat_map(|(it, outcome)| {
            let roles: Vec<&str> = it.roles.iter().map(|it| it.word()).collect();
            let found = match &it.found {
                Ok(found) => found,
                Err(fault) => return vec![of_error("models", fault, "set another model")],
            };
            let price = if found.priced { "" } else { ", price unknown" };
            let text = format!(
                "{} at {} for {}{price}{why}",
                it.spec,
                found.place,
                roles.join(", ")
            );
            match outcome {
                Some(Outcome::Good(said)) => vec![good("models", format!("{text}; {said}"))],
                Some(amiss) => vec![good("models", text), of_outcome("models", amiss)],
                None => vec![good("models", text)],
            }
        })
        .collect()
}

/// What finds and orders documents, as it is set.
fn ranking(settings: &Settings) -> Finding {
    let opened =
        meaning::embedder(settings).and_then(|it| Ok((it.clone(), meaning::ranker(settings, it)?)));
    match opened {
        Ok((None, ranker)) => good("ranking", format!("by words; order by {}", ranker.name())),
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
        Err(fault) => of_error(
            "ranking",
            &fault,
            "unset `embedding.model` and `rerank.model`",
        ),
    }
}

/// Who would read a PDF now, found out by having one read.
fn pdf(settings: &Settings) -> Finding {
    let reader = reading::pdf_reader();
    let named = match &reader {
        PdfReader::Embedded => "the embedded reader".to_owned(),
        PdfReader::Poppler { text, info: true } => format!("{} with pdfinfo", text.display()),
        PdfReader::Poppler { text, info: false } => {
            format!("{} without pdfinfo, so titles are guessed", text.display())
        }
    };
    match reading::try_pdf(settings) {
        Ok(()) => good("pdf", format!("read by {named}, in a child process")),
        Err(fault) => amiss(
            "pdf",
            State::Doubtful,
            format!(
                "would be read by {named}, but a trial failed: {}",
                fault.chain()
            ),
            match reader {
                PdfReader::Embedded => "install ibid anew",
                PdfReader::Poppler { .. } => {
                    "mend or remove that pdftotext; without one the embedded reader is used"
                }
            },
        ),
    }
}

/// What holds a document that takes its parser over, found out by having a parser try to get out, which takes a moment.
pub fn sandbox(settings: &Settings) -> Finding {
    match reading::try_sandbox(settings) {
        Ok((confinement, escapes)) => walls(confinement, escapes),
        Err(fault) => of_error(SANDBOX, &fault, "install ibid anew"),
    }
}

fn walls(confinement: Confinement, escapes: Escapes) -> Finding {
    let landlock = confinement.landlock.map(|it| format!("Landlock ABI {it}"));
    let seccomp = confinement.seccomp.then(|| "seccomp".to_owned());
    let walls: Vec<String> = landlock.into_iter().chain(seccomp).collect();
    let told = match walls.is_empty() {
        true => "none but limits on time, memory and files".to_owned(),
        false => walls.join(", "),
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
        let found = format!("{told}; a document parser could {}", can.join(", "));
        let fix = "run ibid on Linux 5.13 or later where Landlock and seccomp are enabled";
        return amiss(SANDBOX, State::Doubtful, found, fix);
    }
    if walls.len() < 2 {
        let fix = "use Linux 5.13 or later with `landlock` among the security modules (`lsm=` on the kernel's command line)";
        return amiss(SANDBOX, State::Doubtful, told, fix);
    }
    good(SANDBOX, told)
}

fn files(loaded: &Loaded) -> String {
    let files = &loaded.files;
    let user = Some(&files.user).filter(|it| it.exists());
    let read: Vec<String> = [user, files.project.as_ref(), files.env.as_ref()]
        .into_iter()
        .flatten()
        .map(|it| it.display().to_string())
        .collect();
    if read.is_empty() {
        "the defaults; no file found".to_owned()
    } else {
        read.join(", ")
    }
}

fn unknown(name: &str) -> Finding {
    let near = SETTINGS
        .iter()
        .map(|it| (strsim::jaro_winkler(name, &it.env()), it.env()))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let fix = match near {
        Some((close, near)) if close > 0.9 => format!("did you mean {near}?"),
        _ => format!("unset {name}, or see `ibid config get` for what there is"),
    };
    amiss(
        "settings",
        State::Doubtful,
        format!("{name} sets nothing"),
        fix,
    )
}

/// Where `dir` is, or would be made.
fn standing(dir: &Path) -> PathBuf {
    dir.ancestors()
        .find(|it| it.exists())
        .unwrap_or(dir)
        .to_owned()
}

fn writable(name: &'static str, dir: &Path, variable: &str) -> Finding {
    let place = standing(dir);
    let probe = place.join(format!(".ibid-doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid");
    // A full disk leaves an empty file behind: it goes too, but what came first is what is told.
    let removed = match std::fs::remove_file(&probe) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(()),
        it => it,
    };
    match written.and(removed) {
        Ok(()) if place == dir => good(name, format!("{} can be written", dir.display())),
        Ok(()) => good(name, format!("{} will be made when needed", dir.display())),
        Err(fault) => amiss(
            name,
            State::Bad,
            format!("{} cannot be written: {fault}", dir.display()),
            to_write(fault.kind(), &place, variable),
        ),
    }
}

/// What makes `place` writable, by what stands in the way.
fn to_write(kind: ErrorKind, place: &Path, variable: &str) -> String {
    let first = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "mount it for writing".to_owned(),
        ErrorKind::NotADirectory => format!("move {} away", place.display()),
        ErrorKind::PermissionDenied => format!("chmod u+rwx {}", place.display()),
        _ => format!("see that {} can be written", place.display()),
    };
    format!("{first}, or set {variable} to a directory of yours")
}

async fn integrity(loaded: &Loaded) -> Finding {
    let checked = match App::open(loaded.settings.clone()).await {
        Ok(app) => app.check_store().await,
        Err(fault) => Err(fault),
    };
    match checked {
        Ok(Some(place)) => good("database", format!("{place} is whole")),
        Ok(None) => good("database", "none yet; the first run makes it"),
        Err(fault) => of_error(
            "database",
            &fault,
            "move the file away; the next run begins a new one",
        ),
    }
}

/// Whether two directories are, or would be made, on different disks.
fn is_elsewhere(one: &Path, other: &Path) -> bool {
    let disk = |it| rustix::fs::stat(standing(it)).map(|it| it.st_dev).ok();
    disk(one) != disk(other)
}

fn space(dir: &Path, variable: &str) -> Finding {
    let place = standing(dir);
    let free = match rustix::fs::statvfs(&place) {
        Ok(it) => it.f_bavail.saturating_mul(it.f_frsize),
        Err(fault) => {
            return amiss(
                "disk",
                State::Doubtful,
                format!("free space at {} is unknown: {fault}", place.display()),
                "check it with df -h",
            );
        }
    };
    enough(free, &place, variable)
}

fn enough(free: u64, place: &Path, variable: &str) -> Finding {
    let found = format!("{:.1} GB free at {}", free as f64 / 1e9, place.display());
    let fix = format!("free some space, or set {variable} to a directory on another disk");
    match free {
        free if free < TOO_LOW_BYTES => amiss("disk", State::Bad, found, fix),
        free if free < LOW_BYTES => amiss("disk", State::Doubtful, found, fix),
        _ => good("disk", found),
    }
}

fn folders(loaded: &Loaded) -> Vec<Finding> {
    if loaded.settings.folders.is_empty() {
        return vec![good("folders", "none set; name one with --folder")];
    }
    loaded
        .settings
        .folders
        .iter()
        .map(|path| match folder("folders", path) {
            Ok(path) => good("folders", format!("{path} can be read")),
            Err(fault) => of_error("folders", &fault, "mend the setting `folders`"),
        })
        .collect()
}

/// Name, value and origin of what somebody set: which variable won.
pub fn changed(loaded: &Loaded) -> Vec<(String, String, String)> {
    loaded
        .resolved
        .rows()
        .filter(|it| *it.2 != Origin::Default)
        .map(|(setting, value, origin)| {
            (setting.name.to_owned(), value.shown(), origin.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_mended_by_a_permission() {
        let fix = to_write(ErrorKind::StorageFull, Path::new("/data"), "IBID_DATA_DIR");
        assert_eq!(
            fix,
            "make room on the disk, or set IBID_DATA_DIR to a directory of yours"
        );
        let fix = to_write(
            ErrorKind::PermissionDenied,
            Path::new("/data"),
            "IBID_DATA_DIR",
        );
        assert!(fix.starts_with("chmod u+rwx /data"), "{fix}");
    }

    #[test]
    fn a_disk_that_is_nearly_full_is_told_before_a_run_fails_for_it() {
        let of = |free| enough(free, Path::new("/cache"), "IBID_CACHE_DIR");
        assert_eq!(of(2 << 30).state, State::Good);
        let low = of(800 << 20);
        assert_eq!(low.state, State::Doubtful);
        assert!(low.fix.unwrap().contains("IBID_CACHE_DIR"));
        assert_eq!(of(20 << 20).state, State::Bad);
        assert!(!is_elsewhere(Path::new("/proc/self"), Path::new("/proc")));
        assert!(is_elsewhere(Path::new("/proc"), Path::new("/")));
    }

    #[test]
    fn a_wall_that_is_missing_is_told_with_what_would_mend_it() {
        let both = Confinement {
            landlock: Some(7),
            seccomp: true,
        };
        let held = Escapes::default();
        assert_eq!(walls(both, held).state, State::Good);
        let one = Confinement {
            landlock: None,
            seccomp: true,
        };
        let found = walls(one, held);
        assert_eq!((found.state, &*found.found), (State::Doubtful, "seccomp"));
        assert!(found.fix.unwrap().contains("landlock"));
        let read = Escapes { read: true, ..held };
        assert!(walls(one, read).found.contains("read files"));
    }

    #[test]
    fn the_probe_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        writable("data", dir.path(), "IBID_DATA_DIR");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
