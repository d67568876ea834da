//! The answers of judges, one JSON line each, so that a killed measurement goes on and a second one costs nothing.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ibid_core::ports::Prompt;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::Fault;

/// The answers of one judge, in memory and in a file.
pub(crate) struct AnswerCache {
    answers: Mutex<BTreeMap<String, String>>,
    file: Mutex<File>,
    /// Lines of the file that hold no answer: torn by a kill, or damaged.
    pub(crate) skipped: usize,
}

impl AnswerCache {
    /// Opens or creates the file.
    pub(crate) fn open(path: &Path) -> Result<AnswerCache, Fault> {
        let fault =
            |error: std::io::Error| format!("answers of judges, {}: {error}", path.display());
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(fault)?;
        }
        let mut file =
            File::options().create(true).read(true).append(true).open(path).map_err(fault)?;
        let bytes = fs::read(path).map_err(fault)?;
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            // The next answer must not be glued to a torn line.
            file.write_all(b"\n").map_err(fault)?;
        }
        let (mut answers, mut skipped) = (BTreeMap::new(), 0);
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Value = serde_json::from_slice(line).unwrap_or_default();
            match (row["key"].as_str(), row["answer"].as_str()) {
                (Some(key), Some(answer)) => {
                    answers.insert(key.to_owned(), answer.to_owned());
                }
                _ => skipped += 1,
            }
        }
        Ok(AnswerCache { answers: Mutex::new(answers), file: Mutex::new(file), skipped })
    }

    /// The key of what the judge called `judge` answers to `prompt` when asked for the `nth` time.
    pub(crate) fn key(judge: &str, prompt: &Prompt, nth: u32) -> String {
        let asked = json!([judge, prompt, nth]).to_string();
        let mut key = String::new();
        for byte in Sha256::digest(asked.as_bytes()) {
            let _ = write!(key, "{byte:02x}");
        }
        key
    }

    /// The answer with this key.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.answers().get(key).cloned()
    }

    /// Keeps an answer; it is on the disk when this returns.
    pub(crate) fn put(&self, key: &str, answer: &str) -> Result<(), Fault> {
        let line = format!("{}\n", json!({"key": key, "answer": answer}));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes())?;
        file.sync_data()?;
        self.answers().insert(key.to_owned(), answer.to_owned());
        Ok(())
    }

    fn answers(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_skipped_and_does_not_swallow_the_next_answer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/judge.jsonl");
        let prompt = Prompt::from_text("score", "How good is it?");
        let key = AnswerCache::key("m", &prompt, 0);
        AnswerCache::open(&path).unwrap().put(&key, "8").unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [whole.as_slice(), &whole[..20]].concat()).unwrap();
        let cache = AnswerCache::open(&path).unwrap();
        assert_eq!((cache.get(&key).as_deref(), cache.skipped), (Some("8"), 1));
        let second = AnswerCache::key("m", &prompt, 1);
        assert_ne!(key, second);
        assert_ne!(key, AnswerCache::key("n", &prompt, 0));
        cache.put(&second, "9").unwrap();
        let cache = AnswerCache::open(&path).unwrap();
        assert_eq!(cache.get(&second).as_deref(), Some("9"));
        assert_eq!(cache.get(&key).as_deref(), Some("8"));
    }
}
