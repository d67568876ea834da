//! Reading JSONL files that arguments name.
use std::io::Read as _;
use std::path::Path;

use ibid_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// The values of a JSONL file with their line numbers, from 1. Blank lines are skipped. If `shown` is `-`, stdin is read
/// instead of `path`; `flag` and `shown` name the file in errors.
///
/// # Errors
/// `Usage` if the file cannot be read or a line is not JSON.
pub(super) fn json_lines(flag: &str, path: &Path, shown: &Path) -> Result<Vec<(usize, Value)>> {
    let doing = || format!("reading {flag} {}", shown.display());
    let bytes = if shown.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|fault| {
        Error::new(ErrorKind::Usage, doing())
            .with_source(fault)
            .with_hint("name a file with one JSON object per line")
    })?;
    let mut rows = Vec::new();
    for (nth, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row = serde_json::from_slice(line).map_err(|fault| {
            Error::new(ErrorKind::Usage, format!("{} line {}", doing(), nth + 1))
                .with_source(format!("this is not JSON: {fault}"))
                .with_hint("write one JSON object per line")
        })?;
        rows.push((nth + 1, row));
    }
    Ok(rows)
}
