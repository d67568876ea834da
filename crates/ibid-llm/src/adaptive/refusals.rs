//! Remembers between processes which parameters the models refused, in one small file of the cache.
//!
//! A service may accept tomorrow what it refuses today, so a refusal is forgotten after some days. If the file cannot be
//! read or written, refusals are learned anew.
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::capabilities::Parameter;
use ibid_core::files::{open_no_follow, private_dir, write_private};

/// How long a refusal is remembered, in days.
const KEEP_DAYS: u64 = 7;
/// The file in the cache.
const FILE: &str = "model-refusals.json";
/// Most bytes of the file.
const MAX_BYTES: u64 = 256 << 10;
/// Most refusals that are kept, of all models.
const MAX_KEPT: usize = 500;

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Refusal {
    /// `provider/model`.
    model: String,
    base_url: String,
    parameter: Parameter,
    /// The day, counted from 1970-01-01.
    day: u64,
}

/// The file of refusals.
#[derive(Debug)]
pub(super) struct RefusalFile(PathBuf);

impl RefusalFile {
    /// The file in `cache_dir`.
    pub(super) fn new(cache_dir: &Path) -> RefusalFile {
        RefusalFile(cache_dir.join(FILE))
    }

    /// What `model` at `base_url` refused, in the order in which it did.
    pub(super) fn of_model(&self, model: &str, base_url: &str) -> Vec<Parameter> {
        let all = self.read(today()).into_iter();
        let own = all.filter(|it| it.model == model && it.base_url == base_url);
        own.map(|it| it.parameter).collect()
    }

    /// Writes that `model` at `base_url` refused these parameters. What was known of it before keeps its day.
    pub(super) fn set(&self, model: &str, base_url: &str, refused: &[Parameter]) {
        self.set_on(today(), model, base_url, refused);
    }

    fn set_on(&self, day: u64, model: &str, base_url: &str, refused: &[Parameter]) {
        let is_own = |it: &Refusal| it.model == model && it.base_url == base_url;
        let (own, mut all): (Vec<Refusal>, Vec<Refusal>) =
            self.read(day).into_iter().partition(is_own);
        // Without a limit the budget is no wall: that is asked anew each time.
        let refused = refused.iter().filter(|it| **it != Parameter::MaxTokens);
        for (nth, parameter) in refused.enumerate() {
            let known = own.get(nth).filter(|it| it.parameter == *parameter);
            all.push(Refusal {
                model: model.to_owned(),
                base_url: base_url.to_owned(),
                parameter: *parameter,
                day: known.map_or(day, |it| it.day),
            });
        }
        all.drain(..all.len().saturating_sub(MAX_KEPT));
        // It is only a cache.
        let _ = self.write(&all);
    }

    fn read(&self, day: u64) -> Vec<Refusal> {
        let mut text = Vec::new();
        // Neither a link nor a pipe is opened, and no more is read than was written.
        if let Ok(file) = std::path::absolute(&self.0).and_then(|path| open_no_follow(&path)) {
            let _ = file.take(MAX_BYTES).read_to_end(&mut text);
        }
        let mut all: Vec<Refusal> = serde_json::from_slice(&text).unwrap_or_default();
        all.retain(|it| it.day <= day && day - it.day < KEEP_DAYS);
        all
    }

    /// Replaces the file, so that another process never reads half of it.
    fn write(&self, all: &[Refusal]) -> std::io::Result<()> {
        if let Some(dir) = self.0.parent() {
            private_dir(dir)?;
        }
        let next = self.0.with_extension(format!("{}.tmp", std::process::id()));
        write_private(&next, &serde_json::to_vec(all)?)?;
        std::fs::rename(&next, &self.0).inspect_err(|_| {
            let _ = std::fs::remove_file(&next);
        })
    }
}

fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / 86_400
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_remembered_for_a_week_and_for_its_model_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = RefusalFile::new(&dir.path().join("cache"));
        let read = |day| file.read(day).into_iter().map(|it| (it.model, it.parameter));
        assert_eq!(read(100).count(), 0);
        file.set_on(100, "custom/a", "http://a", &[Parameter::Schema]);
        file.set_on(100, "custom/b", "http://b", &[Parameter::Temperature]);
        let both = [Parameter::Schema, Parameter::Schema];
        file.set_on(103, "custom/a", "http://a", &both);
        file.set_on(103, "custom/a", "http://a", &both);
        assert_eq!(read(106).filter(|it| it.0 == "custom/a").count(), 2);
        assert_eq!(read(107).count(), 1, "the first is a week old");
        assert_eq!(read(110).count(), 0);
        file.set_on(110, "custom/c", "http://c", &[Parameter::MaxTokens]);
        assert_eq!(read(110).count(), 0, "the limit of an answer is never left out by heart");
        std::fs::write(&file.0, "broken").unwrap();
        assert_eq!(file.of_model("custom/a", "http://a"), []);
    }
}
